#!/usr/bin/env python3
"""`view` with a filter shows what verbs with the same filter say, and tells the page what to write
into the commands that it names."""
import json
import os
import subprocess
import tempfile
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        trace = make(folder)
        for options in FILTERS:
            with Server(trace, *options) as server:
                told, functions = server.ask("trace", "functions?count=50")
            check(f"functions of {options}", {
                row["site"]: (row["calls"], row["total"], row["self"])
                for row in functions["rows"]}, report(trace, options))
            check("as the page writes it", report(trace, ("--filter", told["filter"])),
                  report(trace, options))
        with Server(trace) as server:
            check("no filter", "filter" in server.ask("trace")[0], False)
    refused = subprocess.run([COMMAND, "view", "--no-browser", "x", "--filter", "f("], text=True,
                             capture_output=True, check=False, timeout=60)
    check("refused", (refused.returncode in (2, 4), refused.stdout), (True, ""))
    end("filter: ok")


main()
