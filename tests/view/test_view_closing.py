#!/usr/bin/env python3
"""`report` and `slow` end on a terminal with the command that shows the place in a browser, and
`view` takes what they print; elsewhere they print what they always did. `record` names it."""
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from view_client import COMMAND, Server, check, end

TRACE = Path(os.environ["TTAPE_SRC"], "spec", "vectors", "all-kinds.ttape")


def say(*words, terminal=True):
    """What the command writes to standard error, its output being a terminal, or not."""
    ours, theirs = pty.openpty()
    done = subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=theirs if terminal else subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    os.close(theirs)
    os.close(ours)
    return done.stderr


def place_of(text):
    """The words behind `tracetape view`, as a shell reads them."""
    found = re.search(r"in the browser: tracetape view (.*)", text)
    return shlex.split(found[1]) if found else None


with Server(TRACE) as server:  # skips where there is no page
    name = server.ask("functions?count=1")[0]["rows"][0]["site"]
    name = server.ask(f"sites?sites={name}")[0]["sites"][0]["name"]
    slowest = server.ask("longest?count=1")[0]["calls"][0]["id"]
trace = str(TRACE)
check("report", place_of(say("report", "--no-pager", trace)), [trace])
check("report of a time", place_of(say("report", "--no-pager", "--time", "+1ns..+5ns", trace)),
      [trace, "--at", "t=1..5&v=functions"])
check("report of a time without anything",
      place_of(say("report", "--no-pager", "--time", "+9s..+10s", trace)), None)
found = place_of(say("report", "--no-pager", "--butterfly", name, trace))
check("butterfly", found and found[-1].startswith("f=") and found[-1].endswith("&v=callers"))
check("slow", place_of(say("slow", "--no-pager", trace)), [trace, "--at", f"n={slowest}&v=calls"])
for words in (["report"], ["slow"], ["report", "--butterfly", name]):
    check(f"{words}, no terminal", place_of(say(*words, trace, terminal=False)), None)
    check(f"{words}, JSON", place_of(say(*words, "--json", trace)), None)
for place in (found, place_of(say("slow", "--no-pager", trace))):
    with Server(TRACE, *place[1:]) as server:
        check(f"{place} is taken", server.address.endswith("&" + place[-1]))
with tempfile.TemporaryDirectory() as folder:
    output = Path(folder, "true.ttape")
    done = subprocess.run([COMMAND, "record", "-o", output, "true"], capture_output=True, text=True)
    check("record", f"tracetape view '{output}'" in done.stderr or done.stderr)
end("verbs end with the place in the browser")
