#!/usr/bin/env python3
"""A file of 400,000 functions: the table shows what fits into the memory, says so, and offers more;
with more it has all of them."""
import subprocess
import tempfile
from pathlib import Path

from view_page import Page
from view_client import COMMAND, Server, check, end

FUNCTIONS = 400000
NOTE = "return document.querySelector('#pane-functions .note').textContent"


def make_many(folder):
    text, trace = Path(folder, "many.txt"), Path(folder, "many.ttape")
    with text.open("w", encoding="ascii") as lines:
        lines.write('process 1 "prog"\nthread 1 10 "first"\n')
        for i in range(FUNCTIONS):
            lines.write(f"symbol {0x1000 + 16 * i:#x} function_number_{i}\n")
        for i in range(FUNCTIONS):
            lines.write(f"{20 * i} 10 enter {0x1000 + 16 * i:#x}\n{20 * i + 1 + i % 19} 10 exit\n")
    subprocess.run([COMMAND, "convert", text, "-o", trace], check=True, capture_output=True)
    return trace


def check_opened(page, trace, *words):
    """(what its table says, what it advises)."""
    with Server(trace, *words) as server:
        page.open(server.address)
        page.until(f"table with {words}", f"{NOTE}.includes('functions')")
        found = page.run(NOTE), page.text("#pane-functions .advice")
        page.driver.get("about:blank")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = make_many(folder)
        page = Page()
        try:
            note, advice = check_opened(page, trace)
            check("not all fit", note.startswith("the first 200 of ") and "400,000" not in note)
            check("it says so", "400 k functions, more than fit" in advice and
                  "--memory 2G" in advice)
            note, advice = check_opened(page, trace, "--memory", "2G")
            check("all", (note, advice), ("the first 200 of 400,000 functions", ""))
            page.console()
        finally:
            page.driver.quit()
    end("400,000 functions")


main()
