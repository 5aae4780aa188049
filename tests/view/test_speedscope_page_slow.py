#!/usr/bin/env python3
"""speedscope's own page, in Chromium from its npm package, shows what we export: the functions of
its table and their own times are those of report."""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TTAPE_SRC"])
sys.path.insert(1, str(SOURCE / "tests/cli"))

import npm_package
from view_client import COMMAND, check, end
from view_page import Page

TEXT = """process 1 prog
thread 1 1 main
1000 1 enter main
3000 1 enter work
10000 1 enter leaf
12000 1 exit
40000 1 exit
50000 1 enter leaf
57000 1 exit
101000 1 exit
"""


def run(*words, data=None):
    return subprocess.run([COMMAND, *map(str, words)], check=True, capture_output=True,
                          input=data).stdout


def own_times(trace):
    rows = json.loads(run("report", "--json", trace))["rows"]
    return {row["name"]: f"{row['self_ns'] / 1000:.2f}µs" for row in rows}


def main():
    release = npm_package.fetch("speedscope") / "dist/release"
    with tempfile.TemporaryDirectory(prefix="ttape-speedscope.") as folder:
        trace, script = Path(folder) / "in.ttape", Path(folder) / "profile.js"
        run("convert", "-", "-o", trace, data=TEXT.encode())
        profile = base64.b64encode(run("export", "--format", "speedscope", trace)).decode()
        script.write_text(f"speedscope.loadFileFromBase64('in.json', '{profile}')")
        page = Page("--allow-file-access-from-files", "--enable-unsafe-swiftshader")
        try:
            page.driver.get(f"file://{release}/index.html#localProfilePath={script}")
            page.until("the profile", "return document.body.innerText.includes('main (1/1)')")
            page.run("window.dispatchEvent(new KeyboardEvent('keypress', {key: '3'}))")
            page.until("the table", "return document.querySelectorAll('td').length > 3")
            shown = page.run("return document.body.innerText")
            for name, own in own_times(trace).items():
                found = re.search(rf"[^\n]*{re.escape(own)}[^\n]*\n?[^\n]*\n?[^\n]*{name}\b", shown)
                check(f"{name} {own}", bool(found), True)
        finally:
            page.driver.quit()
    end("speedscope shows our export")


main()
