#!/usr/bin/env python3
"""Keys of the page that a visit (test_view_keyboard.py) does not need: times of day, only my code,
groups, depths, siblings, the tree of a call, and copies as text."""
import subprocess
import tempfile
from pathlib import Path

from view_page import Page
from view_client import COMMAND, Server, check, end

THREADS, DEPTH = 30, 60
TITLE = "return document.querySelector('.details h2')?.textContent === arguments[0]"
CLIPBOARD = ("Object.defineProperty(navigator.clipboard, 'writeText', { value: (text) => {"
             "window.copied = text; return Promise.resolve(); } })")


def make_crowd(folder):
    """Threads of one name, one with a deep stack; a function of the system's; two siblings."""
    text, trace = Path(folder, "crowd.txt"), Path(folder, "crowd.ttape")
    lines = ['process 1 "prog"', "meta realtime_offset_ns 1700000000000000000",
             "module 0x1000 0x2000 /opt/prog", "module 0x9000 0xa000 /usr/lib/libsystem.so",
             "symbol 0x1010 main", "symbol 0x1020 one", "symbol 0x1030 two", "symbol 0x1040 deep",
             "symbol 0x9010 of_the_system"]
    for i in range(THREADS):
        lines += [f'thread 1 {10 + i} "worker"', f"{i} {10 + i} enter 0x1010"]
    at = 100
    for function in ("0x1020", "0x1030", "0x9010"):
        lines += [f"{at} 10 enter {function}", f"{at + 900} 10 exit"]
        at += 1000
    lines += [f"{at + i} 10 enter 0x1040" for i in range(DEPTH)]
    lines += [f"{at + 500 + i} 10 exit" for i in range(DEPTH)]
    lines += [f"{9000 + i} {10 + i} exit" for i in range(THREADS)]
    text.write_text("\n".join(lines) + "\n")
    subprocess.run([COMMAND, "convert", text, "-o", trace], check=True, capture_output=True)
    return trace


def check_clock(page):
    page.keys("T")
    page.until("times of day", "return document.querySelector('.range').textContent"
               ".startsWith('2023-11-1')")
    page.until("in the link", "return location.hash.includes('&w=1')")
    page.keys("T")
    page.until("since the start", "return document.querySelector('.range').textContent"
               ".startsWith('0.000')")


def check_modules(page):
    names = ("[...document.querySelectorAll('#pane-functions tbody .name')]"
             ".map((cell) => cell.textContent)")
    page.until("all functions", f"return {names}.includes('of_the_system')")
    page.keys("o")
    page.until("only my code", f"return {names}.includes('one') && "
               f"!{names}.includes('of_the_system')")
    page.until("in the link", "return /[&]h=[0-9]+/.test(location.hash)")
    page.keys("o")
    page.until("all again", f"return {names}.includes('of_the_system')")


def check_rows(page):
    rows = page.run("return view.timeline.rows.length")
    page.keys("g")
    page.until("all of the group", f"return view.timeline.rows.length > {rows}")
    page.keys("g")
    page.until("the first ones", f"return view.timeline.rows.length === {rows}")
    page.keys("e")
    page.until("deep", f"return view.timeline.rows.some((row) => row.depths > {DEPTH})")
    page.keys("e")
    page.until("as it fits", f"return view.timeline.rows.every((row) => row.depths < {DEPTH})")


def check_family(page):
    page.run("return view.timeline.pick(0, 500n, 1)")
    page.until("first call", TITLE, "one")
    page.keys(".")
    page.until("the one behind it", TITLE, "two")
    page.keys(",")
    page.until("the one before it", TITLE, "one")
    page.keys("u")
    page.until("caller", TITLE, "main")
    page.keys("l")
    page.until("the longest in it", TITLE, "one")
    page.keys("t")
    page.until("the tree of it", "return document.querySelector('#pane-tree .crumbs strong')"
               "?.textContent === 'one'")


def check_copies(page, server):
    page.run(CLIPBOARD)
    page.keys("c")
    page.until("a link", "return window.copied?.includes('#t=')")
    check("no key in it", server.key not in page.run("return window.copied"))
    page.keys("1")
    page.until("functions", "return !document.getElementById('pane-functions').hidden")
    page.keys("y")
    page.until("the pane as text", "return window.copied.startsWith('Function\\tTotal')")
    check("a row of it", "\none\t900 ns\t900 ns\t1\t" in page.run("return window.copied"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = make_crowd(folder)
        page = Page()
        try:
            with Server(trace) as server:
                page.open(server.address)
                check_clock(page)
                check_modules(page)
                check_rows(page)
                check_family(page)
                check_copies(page, server)
                page.driver.get("about:blank")
            page.console()
        finally:
            page.driver.quit()
    end("keys do what they say")


main()
