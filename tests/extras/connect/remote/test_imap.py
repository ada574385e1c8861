"""A mailbox over IMAP, by a server of this machine that knows what is asked here."""

import re
import socketserver
import threading

import pytest

import clew
from clew.errors import InputError
from clew.testing import models

TEXT = "From: Ada Lund <ada@a.invalid>\r\nSubject: {}\r\n\r\nThe ship {} sailed far.\r\n"


class Mailbox(socketserver.ThreadingTCPServer):
    """Messages by their numbers, and what was asked."""

    allow_reuse_address = daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Session)
        self.messages, self.asked = {}, []


class Session(socketserver.StreamRequestHandler):
    def handle(self):
        self.say("* OK IMAP4rev1 ready")
        for line in self.rfile:
            tag, _, command = line.decode().strip().partition(" ")
            self.server.asked.append(command)
            for said in self.answer(command):
                self.say(said)
            if self.refused:
                self.say(f"{tag} NO {self.refused}")
            else:
                self.say(f"{tag} OK done")
            if command == "LOGOUT":
                return

    def say(self, line):
        self.wfile.write((line if isinstance(line, bytes) else line.encode()) + b"\r\n")

    def answer(self, command):
        self.refused, messages = "", self.server.messages
        if command == "CAPABILITY":
            yield "* CAPABILITY IMAP4rev1"
        elif command.startswith("LOGIN") and '"secret"' not in command:
            self.refused = "wrong password"
        elif command.startswith(("SELECT", "EXAMINE")):
            if '"Ships"' not in command:
                self.refused = "no such mailbox"
            yield from (f"* {len(messages)} EXISTS", "* OK [UIDVALIDITY 7] valid")
        elif command == "UID SEARCH ALL":
            yield "* SEARCH " + " ".join(map(str, messages))
        elif match := re.fullmatch(r"UID FETCH (\S+) \(UID RFC822.SIZE\)", command):
            for number in map(int, match[1].split(",")):
                yield f"* {number} FETCH (UID {number} RFC822.SIZE {len(messages[number])})"
        elif match := re.fullmatch(r"UID FETCH (\d+) \(BODY.PEEK\[\]\)", command):
            data = messages[int(match[1])].encode()
            yield (
                f"* 1 FETCH (UID {match[1]} BODY[] {{{len(data)}}}".encode() + b"\r\n" + data + b")"
            )


@pytest.fixture
def mailbox():
    with Mailbox() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_messages_are_fetched_once_and_stay_unread(mailbox, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # without a .netrc
    address = f"imap://ada@127.0.0.1:{mailbox.server_address[1]}/Ships"
    mailbox.messages |= {n: TEXT.format(name, name) for n, name in ((3, "Fram"), (5, "Gjoa"))}
    both = [f"{address}/3", f"{address}/5"]
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        with pytest.raises(InputError, match="is fetched only with --web"):
            index.add(address)
        with pytest.raises(InputError, match="set CLEW_IMAP_PASSWORD"):
            index.add(address, web=True)
        with pytest.raises(InputError, match="would send a password unencrypted"):
            index.add("imap://ada@mail.invalid/Ships", web=True)
        monkeypatch.setenv("CLEW_IMAP_PASSWORD", "secret")
        assert index.add(address, web=True).report.added == both
        assert index.show(both[0])["title"] == "Fram"
        mailbox.asked.clear()
        assert index.add(address, web=True).report.n_unchanged == 2
        assert not [each for each in mailbox.asked if "BODY" in each or each.startswith("SELECT")]
        del mailbox.messages[5]
        mailbox.messages[8] = TEXT.format("Maud", "Maud")
        report = index.add(address, web=True, prune=True).report
        assert (report.added, report.gone) == ([f"{address}/8"], both[1:])
        [problem] = index.add(address.replace("Ships", "None"), web=True).report.skipped
        assert problem.reason == "is refused by the server: no such mailbox"
        monkeypatch.setenv("CLEW_IMAP_PASSWORD", "wrong")
        [problem] = index.add(address, web=True).report.skipped
        assert problem.reason == "cannot be read: wrong password"
        assert index.documents() == [both[0], f"{address}/8"]
