"""A server of `tracetape view`, and what asks it: over the loopback interface, byte by byte where a
test wants that."""
import http.client
import json
import os
import subprocess
import sys
import urllib.parse

COMMAND = os.environ["TTAPE_BIN"]
problems = []


def check(what, found, wanted=True):
    if found != wanted:
        problems.append(f"{what}: {found!r} instead of {wanted!r}")


def end(right):
    """Ends the test: with what went wrong, or with what is right."""
    print("\n".join(problems) or f"view: {right}")
    sys.exit(1 if problems else 0)


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


class Server:
    """`with Server(path) as server`: the address, and its key, are what the command printed."""

    def __init__(self, trace, *options):
        self.process = subprocess.Popen(
            [COMMAND, "view", "--no-browser", *options, str(trace)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            self.fail()
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.key = parts.port, urllib.parse.parse_qs(parts.fragment)["k"][0]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def fail(self):
        said = self.process.stderr.read()
        self.process.wait()
        if "built without" in said or "is missing" in said:
            skip(said.strip())
        sys.exit(f"view failed: {said}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.process.terminate()
        self.status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()

    def post(self, body, **headers):
        """(status, headers, body) of one request with the right key."""
        self.connection.request("POST", "/ask", body, {"X-Tracetape-Key": self.key, **headers})
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def post_to(self, path, body, key=None, filter=None):
        """The status of a request to another path."""
        kept = {} if filter is None else {"X-Tracetape-Filter": filter}
        self.connection.request("POST", path, body, {"X-Tracetape-Key": key or self.key, **kept})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def ask(self, *lines):
        """An object for each question."""
        answers = []
        for first in range(0, len(lines), 50):
            status, _, body = self.post("\n".join(lines[first:first + 50]))
            if status != 200:
                sys.exit(f"status {status}: {body[:300]}")
            answers += json.loads(body)
        return answers
