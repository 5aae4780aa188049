#!/usr/bin/env python3
"""The command line that each pane of the page shows prints the same numbers."""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from view_page import Page, make_trace
from view_client import COMMAND, Server, check, end

WORK = "f=work&t=5000000..5900000"


def run(folder, command, *words):
    """As somebody pastes it into a shell."""
    place = dict(os.environ, PATH=f"{Path(COMMAND).resolve().parent}:{os.environ['PATH']}")
    done = subprocess.run(f"{command} {' '.join(words)}", shell=True, cwd=folder, env=place,
                          capture_output=True, text=True)
    check(f"status of {command}: {done.stderr}", done.returncode in (0, 3))
    return done.stdout


def command_of(page, pane):
    return page.text(f"#pane-{pane} .same code")


def check_functions(page, server, folder):
    rows = ("return [...document.querySelectorAll('#pane-functions tbody tr')].map((row) =>"
            "row.title.replaceAll(',', '').match(/total (-?[0-9]+) ns self (-?[0-9]+) ns/)"
            ".slice(1, 3).join(' '))")
    for place in ("v=functions", "v=functions&s=-self", "v=functions&s=calls&q=WOR",
                  "v=functions&r=1&t=5000000..5900000", "v=functions&s=max&q=%3Cimg"):
        page.open(f"{server.address}&{place}")
        page.until(f"rows of {place}", f"return {rows[7:]}.length > 0 && "
                   "document.querySelector('#pane-functions .note').textContent !== '…'")
        report = json.loads(run(folder, command_of(page, "functions"), "--json"))
        wanted = [f"{row['total_ns']} {row['self_ns']}" for row in report["rows"]]
        check(f"rows of {place}", sorted(page.run(rows)), sorted(wanted))  # ties in any order


def check_calls(page, server, folder):
    rows = ("return [...document.querySelectorAll('#pane-calls tbody tr')]"
            ".map((row) => row.title.replaceAll(',', ''))")
    for place in ("v=calls", f"v=calls&{WORK}", f"v=calls&{WORK}&o=self", f"v=calls&{WORK}&r=1",
                  f"v=calls&{WORK}&o=start&d=512..520", "v=calls&o=start&d=256..511"):
        page.open(f"{server.address}&{place}")
        page.until(f"calls of {place}", "return document.querySelectorAll("
                   "'#pane-calls tbody tr').length > 0")
        command = command_of(page, "calls")
        wants_json = "--function" in command or "--first" in command
        text = run(folder, command, *(["--json"] if wants_json else []))
        if wants_json:
            wanted = [f"{call['duration_ns']} ns" for call in json.loads(text)["calls"]]
            check(f"calls of {place}", page.run(rows), wanted)
        else:  # for people: without callers of long calls
            check(f"calls of {place}", len(page.run(rows)), len(text.splitlines()) - 1)


def check_tree(page, server, folder):
    page.open(f"{server.address}&v=tree&n=s0e0")
    page.until("tree", "return document.querySelectorAll('[role=row][aria-level]').length > 0")
    tree = run(folder, command_of(page, "tree"))
    check("threads of the tree", all(name in tree for name in ("first", "second")))
    page.until("details", "return !!document.querySelector('.details .same code')")
    node = json.loads(run(folder, page.text(".details .same code"), "--json"))["nodes"][0]
    check("the chosen call", f"{node['time_ns']:,} ns" in page.text(".details"))


def check_callers(page, server, folder):
    for place in (f"v=callers&{WORK}", f"v=callers&{WORK}&r=1"):
        page.open(f"{server.address}&{place}")
        page.until(f"callers of {place}", "return document.querySelector('.butterfly-body') &&"
                   "document.querySelector('#pane-callers progress').hidden")
        calls = re.search(r"([\d,]+) call", page.text(".butterfly-body"))[1].replace(",", "")
        text = run(folder, command_of(page, "callers")).replace(",", "")
        check(f"calls of {place}", bool(re.search(rf"\b{calls}\b", text)) or text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        page = Page()
        try:
            with Server(trace) as server:
                for look in (check_functions, check_calls, check_tree, check_callers):
                    look(page, server, folder)
                page.driver.get("about:blank")
            page.console()
        finally:
            page.driver.quit()
    end("each command prints what its pane shows")


main()
