#!/usr/bin/env python3
"""`view` with a filter, of its command line or of a page, shows what verbs with the same filter
say, and tells the page what to write into the commands that it names."""
import http.client
import json
import os
import subprocess
import tempfile
import threading
import urllib.parse
from pathlib import Path

from view_client import COMMAND, Server, check, end

FILTERS = (("--filter", "b"), ("--below", "^b"), ("--filter", "!c", "--no-below", "d"),
           ("--filter", "b(n>1)"))


def make(folder):
    text = Path(folder) / "t.txt"
    lines, now = [], 0
    for n in range(200):
        lines += [f"{now} 1 enter a", f"{now + 1} 1 enter b {n % 4}", f"{now + 2} 1 enter c",
                  f"{now + 4} 1 exit", f"{now + 5} 1 exit - {n}", f"{now + 6} 1 enter d",
                  f"{now + 7} 1 enter c", f"{now + 9} 1 exit", f"{now + 10} 1 exit",
                  f"{now + 12} 1 exit"]
        now += 20
    text.write_text("\n".join(lines) + "\n")
    trace = Path(folder) / "t.ttape"
    subprocess.run([COMMAND, "convert", text, "-o", trace], check=True, capture_output=True)
    return trace


def report(trace, options):
    done = subprocess.run([COMMAND, "report", trace, "--json", *options], check=True,
                          capture_output=True, text=True)
    return {row["site"]: tuple(str(row[key]) for key in ("calls", "total_ns", "self_ns"))
            for row in json.loads(done.stdout)["rows"]}


class Visitor:
    """Another connection to a server."""

    def __init__(self, server):
        self.key = server.key
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    post = Server.post

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


def ask_with(server, text):
    """What a page is told that has this filter; a status other than 200 with its text."""
    status, _, body = server.post("trace\nfunctions?count=50", **{
        "X-Tracetape-Filter": urllib.parse.quote(text, safe="")})
    return json.loads(body) if status == 200 else (status, body.decode())


def rows_of(functions):
    return {row["site"]: (row["calls"], row["total"], row["self"]) for row in functions["rows"]}


def check_pages(server, trace):
    """More filters than are kept at once, each again; and at the same time, by several pages."""
    for text in ("b", "below b", "!c", "a(arg1=1), d", "", "to c; depth 2", "b", "b(arg1>1)"):
        told, functions = ask_with(server, text)
        check(f"filter of {text!r}", told["filter"], text)
        check(f"functions of {text!r}", rows_of(functions), report(trace, ("--filter", text)))
    for text, words in (("b(", "an argument's name is missing"), ("/(/", "cannot be used"),
                        ("nowhere", "nothing that was called matches"),
                        ("b c", "at 'c'")):
        status, said = ask_with(server, text)
        check(f"{text!r} is refused: {said}", (status, words in said), (400, True))
    check("without a filter", "filter" in server.ask("trace")[0], False)
    check("a file of it", server.post_to("/save", "", filter="b"), 200)


def check_together(server, trace):
    found = {}

    def visit(number, text):
        with Visitor(server) as visitor:
            found[number] = [rows_of(ask_with(visitor, text)[1]) for _ in range(3)]

    texts = ["b", "!c", "b", "below d", "b", "!c"]
    pages = [threading.Thread(target=visit, args=each) for each in enumerate(texts)]
    for page in pages:
        page.start()
    for page in pages:
        page.join()
    for number, text in enumerate(texts):
        check(f"page {number}", found.get(number), [report(trace, ("--filter", text))] * 3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        trace = make(folder)
        for options in FILTERS:
            with Server(trace, *options) as server:
                told, functions = server.ask("trace", "functions?count=50")
            check(f"functions of {options}", rows_of(functions), report(trace, options))
            check("as the page writes it", report(trace, ("--filter", told["filter"])),
                  report(trace, options))
        with Server(trace) as server:
            check_pages(server, trace)
            check_together(server, trace)
    refused = subprocess.run([COMMAND, "view", "--no-browser", "x", "--filter", "f("], text=True,
                             capture_output=True, check=False, timeout=60)
    check("refused", (refused.returncode in (2, 4), refused.stdout), (True, ""))
    end("filter: ok")


main()
