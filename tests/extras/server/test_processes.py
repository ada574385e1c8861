"""A server of several processes, started by its command on a free port of this machine."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import clew
from clew import plugins
from clew.extras.server.database import ServerDatabase
from clew.extras.server.jobs.queue import JobQueue
from clew.extras.server.keys import KeyOptions, Keys
from clew.models.loading import Specs
from clew.testing import small_documents
from tests.extras.server.provider import CLIENT, providing
from tests.extras.server.served import API, until
from tests.installed import install

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="several processes need Linux")

MODULE = '''
"""An embedder that waits at a gate with one question, and an LLM that counts what it takes."""

import os
import time

from clew.testing import HashTokenEmbedder, ScriptedChat


class Waiting(HashTokenEmbedder):
    gate = ""

    def embed(self, texts, **more):
        self.wait(texts)
        return super().embed(texts, **more)

    def embed_tokens(self, texts):
        self.wait(texts)
        return super().embed_tokens(texts)

    def wait(self, texts):
        while any("patience" in text for text in texts) and os.path.exists(Waiting.gate):
            time.sleep(0.01)


def waiting(name):
    Waiting.gate = name
    return Waiting()


def metered(name):
    def answer(prompt, turns):
        time.sleep(0.1)
        with open(name, "a") as file:
            file.write("x")
        return "ANSWER: Ola Eriksen built the Comet in Bakken [1]."

    return ScriptedChat(answer)
'''
ENTRY_POINTS = """
[clew.embedders]
waiting = patient_clew:waiting
[clew.llms]
metered = patient_clew:metered
"""
SEARCH, ASK = f"{API}/indexes/small/search", f"{API}/indexes/small/ask"
COMET = {"query": "Who built the Comet?", "method": "bm25"}


@dataclass
class Served:
    """A server that runs, with a key that may do all."""

    process: subprocess.Popen
    home: Path
    gate: Path
    headers: dict
    lines: list = field(default_factory=list)

    def __post_init__(self):
        first = json.loads(self.process.stderr.readline())["message"]
        self.port = int(re.search(r":(\d+)$", first)[1])
        self._reading = threading.Thread(target=lambda: self.lines.extend(self.process.stderr))
        self._reading.start()

    def connect(self):
        """Return a connection that a process of the server serves from now on."""
        found = Connection("127.0.0.1", self.port, timeout=60)
        found.headers = self.headers
        connections.append(found)
        assert found.ask("GET", "/healthz") == (200, {"status": "ok"})
        return found

    def connect_twice(self):
        """Return connections that different processes serve."""
        first = self.connect()
        served_by = self.find_process(first)

        def connect_elsewhere():
            found = self.connect()
            return None if self.find_process(found) == served_by else found

        return first, until(connect_elsewhere)

    def pids(self):
        of_it = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in of_it.read_text(encoding="utf-8").split()]

    def find_process(self, connection):
        """Return the process that serves a connection."""
        names = connection.sock.getpeername(), connection.sock.getsockname()
        ends = [f":{port:04X}" for _, port in names]  # others may have the same port elsewhere
        rows = [
            line.split()
            for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]
        ]
        pairs = [(row[1][-5:], row[2][-5:], row[9]) for row in rows]
        [inode] = [inode for *pair, inode in pairs if pair == ends and inode != "0"]
        links = ((pid, file) for pid in self.pids() for file in Path(f"/proc/{pid}/fd").iterdir())
        [found] = {pid for pid, file in links if read_link(file) == f"socket:[{inode}]"}
        return found

    def key(self, **options):
        database = ServerDatabase(self.home)
        try:
            key, text = Keys(database).add(str(options), KeyOptions(**options))
        finally:
            database.close()
        return key.id, {"Authorization": f"Bearer {text}"}

    def wait(self):
        status = self.process.wait(60)
        self._reading.join()
        return status


class Connection(http.client.HTTPConnection):
    headers: dict

    def send_request(self, method, path, body=None, headers=None):
        content = None if body is None else json.dumps(body)
        self.request(method, path, content, headers or self.headers)

    def ask(self, *request):
        """Send a request; return the status and the JSON, or the text, of its reply."""
        self.send_request(*request)
        reply = self.getresponse()
        text = reply.read().decode()
        return reply.status, json.loads(text) if text[:1] in {"{", "["} else text


connections = []  # of the test that runs


@pytest.fixture(autouse=True)
def _closed():
    yield
    while connections:
        connections.pop().close()


def read_link(file):
    try:
        return str(file.readlink())
    except OSError:  # it was closed meanwhile
        return ""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an index, and with a package that processes find."""
    folder = tmp_path_factory.mktemp("processes")
    install(folder / "site", "patient_clew", MODULE, ENTRY_POINTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "site"))
        plugins.read_registered.cache_clear()
        specs = Specs(embedder=f"waiting:{folder / 'gate'}")
        with clew.open(folder / "small.clew", specs=specs) as index:
            index.add(small_documents())
    plugins.read_registered.cache_clear()
    return folder


def start(place, home, *options):
    paths = [str(place / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "clew", "serve", str(place / "small.clew")]
    given = ("--home", str(home), "--log-format", "json", *options)
    return subprocess.Popen(
        [*command, *given],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


@contextmanager
def serving(place, home, *options):
    database = ServerDatabase(home)
    _, text = Keys(database).add("admin", KeyOptions(scope="admin"))
    database.close()
    with start(place, home, "--port", "0", *options) as process:
        found = Served(process, home, place / "gate", {"Authorization": f"Bearer {text}"})
        try:
            yield found
        finally:
            (place / "gate").unlink(missing_ok=True)
            process.terminate()
            found.wait()


@pytest.fixture(scope="module")
def served(place):
    llm = f"metered:{place / 'calls'}"
    with serving(place, place / "home", "--processes", "2", "--llm", llm) as found:
        yield found


def test_connections_are_shared_out(served):
    """Each goes to the process that serves the fewest; one that ended counts no more."""
    some = [served.connect() for _ in range(6)]
    by_process = [[c for c in some if served.find_process(c) == pid] for pid in served.pids()]
    assert [len(each) for each in by_process] == [3, 3]
    for each in by_process[0]:
        each.close()
    until(lambda: served.find_process(served.connect()) == served.pids()[0])


def test_a_sign_in_ends_at_another_process(place, tmp_path, monkeypatch):
    """Which knows the session, too; no job would know the client's secret."""
    with providing() as provider:
        monkeypatch.setenv("CLEW_OIDC_SECRET", provider.secret)
        oidc = ("--oidc", provider.issuer, "--oidc-client", CLIENT, "--oidc-key", "*=admin")
        with serving(place, tmp_path / "home", "--processes", "2", *oidc) as served:
            first, second = served.connect_twice()
            address, cookie = follow(first, "/sign-in", {})
            back = urlsplit(provider.authorize(urlsplit(address).query))
            assert f"{back.scheme}://{back.netloc}" == f"http://127.0.0.1:{served.port}"
            page, session = follow(second, f"{back.path}?{back.query}", {"Cookie": cookie})
            assert page is None
            status, about = first.ask("GET", API, None, {"Cookie": session})
            assert (status, about["caller"], about["user"]) == (200, "admin", "anna@example.org")


def follow(connection, path, headers):
    """Return where a reply leads to, and the first cookie that it sets."""
    connection.send_request("GET", path, None, {"X": "1", **headers})
    reply = connection.getresponse()
    content = reply.read().decode()
    assert reply.status in {200, 303}, content
    return reply.getheader("location"), reply.getheader("set-cookie").partition(";")[0]


def test_metrics_are_summed(served):
    def counted(connection):
        text = connection.ask("GET", "/metrics")[1]
        name = 'clew_question_seconds_count{index="small",kind="search",method="bm25"} (.+)'
        memory = float(re.search(r"^process_resident_memory_bytes (.+)", text, re.MULTILINE)[1])
        return sum(float(each) for each in re.findall(name, text)), memory, text

    first, second = served.connect_twice()
    before, memory, _ = counted(first)
    for connection in (first, second, second):
        assert connection.ask("POST", SEARCH, COMET)[0] == 200
    until(lambda: counted(first)[0] == counted(second)[0] == before + 3)  # behind the reply
    own = Path(f"/proc/{served.pids()[0]}/statm").read_text(encoding="utf-8").split()[1]
    assert memory > 2 * int(own) * os.sysconf("SC_PAGESIZE")
    texts = [each.ask("GET", "/metrics")[1] for each in (first, second, first)]
    for text in texts:  # what is known elsewhere is told as it is, once
        names = re.findall(r"^(\w+(?:\{.*\})?) ", text, re.MULTILINE)
        assert len(names) == len(set(names))
        assert 'clew_jobs{state="running"} 0.0' in text
    until(lambda: "clew_requests_under_way 1.0" in counted(first)[2])


def test_a_rate_holds(served):
    _, headers = served.key(requests_per_minute=5)
    ways = cycle(served.connect_twice())
    codes = [next(ways).ask("GET", API, None, headers)[0] for _ in range(12)]
    assert codes == [200] * 5 + [429] * 7


def test_a_budget_holds(served):
    """Questions that both processes ask an LLM at one time spend no more than their key may."""
    calls = served.home.parent / "calls"
    key, headers = served.key(tokens=1_500)

    def ask(number):
        connection = served.connect()
        asked = {"question": f"Who built the Comet, and what is {number} of it?"}
        status, answer = connection.ask("POST", ASK, asked, headers)
        assert status == 200
        return answer["usage"]["completion_tokens"] > 0

    with ThreadPoolExecutor(8) as pool:
        answered = sum(pool.map(ask, range(16)))
    spent = served.connect().ask("GET", f"{API}/spend", None, headers)[1]["items"]
    [line] = [each for each in spent if each["key"] == key]
    assert line["tokens"] <= 1_500
    assert 1 < answered < 16
    assert len(calls.read_text()) == line["requests"]
    for _ in range(2):
        text = served.connect().ask("GET", "/metrics")[1]
        assert f"clew_model_tokens_total{{key=\"{{'tokens': 1500}}\"}} {line['tokens']}.0" in text


def test_a_job_and_its_generation_are_seen_by_all(served):
    first, second = served.connect_twice()
    before = first.ask("GET", f"{API}/indexes/small")[1]["n_documents"]
    assert second.ask("POST", SEARCH, {"query": "Zanzibar zither"})[0] == 200
    document = {"id": "zither", "text": "The zither of Zanzibar has forty strings."}
    asked = {"documents": [document]}
    status, job = first.ask("POST", f"{API}/indexes/small/documents", asked)
    assert status == 202
    until(lambda: second.ask("GET", f"{API}/jobs/{job['id']}")[1]["state"] == "done")
    for connection in (first, second):
        assert connection.ask("GET", f"{API}/indexes/small")[1]["n_documents"] == before + 1
        hits = connection.ask("POST", SEARCH, {**COMET, "query": "zither Zanzibar"})[1]["hits"]
        assert hits[0]["document_id"] == "zither"


def test_an_index_that_was_made_anew_is_another_one(served):
    """One process deletes it and makes it again; the other held what was deleted."""
    first, second = served.connect_twice()
    own = f"{API}/indexes/own"
    for n in range(2):
        assert first.ask("POST", f"{API}/indexes", {"name": "own"})[0] == 201
        if n:
            asked = {"documents": [{"id": "quagga", "text": "A quagga ran over the hill."}]}
            assert first.ask("POST", f"{own}/documents?wait=30", asked)[0] == 200
        for connection in (second, first):
            assert connection.ask("GET", own)[1]["n_documents"] == n
        assert first.ask("DELETE", own)[0] == 204
    assert second.ask("GET", own)[0] == 404


def test_a_process_that_is_killed_is_replaced(served):
    """Its requests are lost; no others are, and what it counted stays."""
    first, second = served.connect_twice()
    counts = re.compile(r"^clew_requests_total\{.*search.* (.+)", re.MULTILINE)
    before = counts.findall(second.ask("GET", "/metrics")[1])
    served.gate.touch()
    first.send_request("POST", SEARCH, {"query": "patience"})
    killed = served.find_process(first)
    os.kill(killed, signal.SIGKILL)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        first.getresponse()
    served.gate.unlink()
    for _ in range(3):
        assert served.connect().ask("POST", SEARCH, COMET)[0] == 200
    assert second.ask("POST", SEARCH, COMET)[0] == 200
    until(lambda: len(served.pids()) == 2)
    assert killed not in served.pids()
    until(lambda: served.find_process(served.connect()) != served.find_process(second))

    def is_counted():
        text = served.connect().ask("GET", "/metrics")[1]
        n_all = sum(map(float, counts.findall(text)))
        return n_all >= sum(map(float, before)) + 4 and "clew_requests_under_way 1.0" in text

    until(is_counted)
    said = "a process of the server ended by SIGKILL: another one is started"
    assert [line for line in map(json.loads, served.lines) if line["message"] == said]


def test_a_port_is_had_once(place, served):
    """A second server is refused in one sentence, whatever processes the first one has."""
    with start(place, place / "other", "--port", str(served.port)) as second:
        said = second.stderr.read()
    assert second.returncode == 1
    assert re.fullmatch(r".*127.0.0.1:\d+ is not available \(.*\): choose another --port\n", said)


def test_a_server_that_stops_ends_what_is_under_way(served):
    """The request under way gets its reply, a new connection is refused, and the status is 0."""
    first = served.connect()
    served.gate.touch()
    first.send_request("POST", SEARCH, {"query": "patience"})
    until(lambda: "clew_requests_under_way 2.0" in served.connect().ask("GET", "/metrics")[1])
    served.process.send_signal(signal.SIGTERM)
    until(lambda: "Clew stops" in "".join(served.lines))
    with pytest.raises(ConnectionRefusedError):
        until(served.connect)
    assert served.process.poll() is None
    served.gate.unlink()
    assert first.getresponse().status == 200
    assert served.wait() == 0
    lines = [json.loads(line) for line in served.lines]  # of all processes, none cut
    assert lines[-1]["message"] == "Clew has stopped"
    assert [each["message"][:10] for each in lines].count("Clew stops") == 1


FAILING = """
import sys
from pathlib import Path
from clew.errors import StoreError
from clew.extras.server import ServerSettings, run, supervisor
from clew.extras.server.child import _tell


def fail(settings, channel):
    if sys.argv[2] == "sentence":
        _tell(channel, StoreError("nothing is there"))
    raise SystemExit(7)


supervisor.serve_handed = fail
run.log_to_stderr("text")
run.serve(ServerSettings(home=Path(sys.argv[1]), port=0, processes=2), print)
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("sentence", "StoreError: nothing is there"),
        (
            "status",
            "InputError: a process of the server ended by status 7 while starting: see the log",
        ),
    ],
)
def test_a_process_that_cannot_start_ends_the_server(tmp_path, how, said):
    done = subprocess.run(
        [sys.executable, "-c", FAILING, str(tmp_path), how],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c(place, tmp_path, times):
    """It lets requests end; a second one does not wait for them. The status is 0."""
    with serving(place, tmp_path / "home", "--processes", "2") as served:
        first = served.connect()
        served.gate.touch()
        first.send_request("POST", SEARCH, {"query": "patience"})
        until(lambda: "clew_requests_under_way 2.0" in served.connect().ask("GET", "/metrics")[1])
        for _ in range(times):
            served.process.send_signal(signal.SIGINT)
            until(lambda: "Clew stops" in "".join(served.lines))
        if times == 1:
            served.gate.unlink()
            assert first.getresponse().status == 200
        assert served.wait() == 0


@pytest.mark.slow
def test_jobs_go_on_when_the_process_that_started_them_is_killed(place, tmp_path):
    """Another one looks after them, and starts what comes; none is done twice."""
    shutil.copytree(place / "small.clew", tmp_path / "own.clew")
    more = ("--processes", "2", str(tmp_path / "own.clew"))
    with serving(place, tmp_path / "home", *more) as served:
        added = f"{API}/indexes/own/documents"
        waiting, plain = ({"documents": [{"id": t, "text": t}]} for t in ("patience", "haste"))
        served.gate.touch()
        job = served.connect().ask("POST", added, waiting)[1]["id"]
        database = ServerDatabase(served.home)
        try:
            pid = until(lambda: JobQueue(database).get(job).pid)
        finally:
            database.close()
        parent = int(
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
        )
        assert parent in served.pids()
        os.kill(parent, signal.SIGKILL)
        looking = served.connect()
        last = looking.ask("POST", added, plain)[1]["id"]
        served.gate.unlink()
        for each in (job, last):
            until(lambda each=each: looking.ask("GET", f"{API}/jobs/{each}")[1]["state"] == "done")
        assert looking.ask("GET", f"{API}/jobs/{job}")[1]["attempt"] == 1


@pytest.mark.slow
def test_processes_end_with_the_one_that_hands_them_connections(place, tmp_path):
    with serving(place, tmp_path / "home", "--processes", "2") as served:
        pids = served.pids()
        served.process.kill()
        served.wait()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


@pytest.mark.slow
def test_questions_go_on_while_processes_are_killed(place, tmp_path):
    """For some seconds, one after the other: only connections to a killed one are lost."""
    with serving(place, tmp_path / "home", "--processes", "3") as served:
        lost, done, stop = [0], [0], threading.Event()

        def ask():
            while not stop.is_set():
                try:
                    connection = served.connect()
                    while not stop.is_set():
                        assert connection.ask("POST", SEARCH, COMET)[0] == 200
                        done[0] += 1
                except (OSError, http.client.HTTPException):
                    lost[0] += 1

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for each in threads:
            each.start()
        looking = served.connect()
        for _ in range(4):
            pids = until(lambda: len(served.pids()) == 3 and served.pids())
            before = done[0]
            os.kill(next(p for p in pids if p != served.find_process(looking)), signal.SIGKILL)
            until(lambda before=before: done[0] > before + 20)
            assert looking.ask("GET", "/metrics")[0] == 200
        stop.set()
        for each in threads:
            each.join()
        assert 0 < lost[0] <= 4 * 6
