"""Jobs: from an upload to an answer, in order, side by side, cancelled, killed, resumed."""

import json

from tests.server.served import API, ended, events, long_text

NOTES = {
    "fram.md": "# The Fram\n\nColin Archer built the Fram for Fridtjof Nansen in 1892.",
    "people/archer.md": "# Colin Archer\n\nColin Archer was a naval architect, born in Larvik.",
}


def upload(client, notes, index="notes", **params):
    files = [("files", (name, text.encode())) for name, text in notes.items()]
    return client.post(f"{API}/indexes/{index}/documents", files=files, params=params)


def test_from_an_upload_to_an_answer(jobs_home):
    """Files go in, a job indexes them, and a question is answered from them."""
    with jobs_home.client() as client:
        taken = upload(client, NOTES)
        assert taken.status_code == 202, taken.text
        job = ended(client, taken.json()["id"])
        assert job["state"] == "done", job
        assert job["result"]["added"]["ids"] == ["notes/fram.md", "notes/people/archer.md"]
        found = client.post(
            f"{API}/indexes/notes/ask",
            json={"question": "Where was Colin Archer born?", "min_support": 0},
        )
        assert "Larvik" in found.json()["text"]
        kinds = [kind for _, kind, _ in events(client, job["id"])]
        assert kinds[:2] == ["queued", "running"]
        assert kinds[-1] == "done"
