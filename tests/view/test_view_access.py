#!/usr/bin/env python3
"""What axe-core finds in each pane and dialog of the page, in light and dark: nothing. In forced
colours it paints, and says by marks and words what it says by colours. axe-core comes from npm when
the test runs; where it cannot be had, the rest is tried, and the test says so."""
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from view_page import Keys, Page, make_trace
from view_client import Server, check, problems

PALETTE = "return document.querySelector('.palette li .name')?.textContent === arguments[0]"
AXE = "axe-core@4.10.2"
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found.violations.map((v) =>
  `${v.id}: ${v.help}: ` + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.html.slice(0, 120) +
  ' ' + (n.any[0]?.message ?? n.all[0]?.message ?? '')).join('; '))), (why) => done([String(why)]));
"""


def fetch_axe():
    """Its text, kept in the build; None where it cannot be had."""
    kept = Path(os.environ["TTAPE_BUILD"], "axe-core", f"{AXE}.js")
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(["npm", "pack", "--silent", AXE], cwd=folder, timeout=60,
                                  capture_output=True, text=True)
        except (OSError, subprocess.TimeoutExpired):
            return None
        packed = list(Path(folder).glob("*.tgz"))
        if done.returncode or not packed:
            return None
        with tarfile.open(fileobj=io.BytesIO(packed[0].read_bytes())) as archive:
            text = archive.extractfile("package/axe.min.js").read().decode()
    kept.parent.mkdir(exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")  # never half of it, whenever it is ended
    part.write_text(text, encoding="utf-8")
    part.rename(kept)
    return text


def look(page, axe, what):
    if axe is None:
        return
    page.run(axe)
    for found in page.driver.execute_async_script(RUN):
        problems.append(f"{what}: {found}")


def visit(page, axe, theme):
    page.emulate(prefers_color_scheme=theme)
    page.until("rows", "return document.querySelectorAll('#pane-functions tbody tr').length >= 3")
    look(page, axe, f"{theme}, at first")
    page.run("return view.timeline.pick(0, 5000100n, 1)")
    page.until("selected", "return document.querySelector('.details h2')?.textContent === 'work'")
    for key, name in ("2", "calls"), ("3", "tree"), ("4", "callers"), ("5", "source"):
        page.keys(key)
        page.until(name, f"return !!document.querySelector('#pane-{name} [tabindex=\"0\"]')")
        look(page, axe, f"{theme}, {name}")
    page.palette("work")
    page.until("found", PALETTE, "work")
    look(page, axe, f"{theme}, palette")
    page.keys(Keys.ESCAPE, "?")
    look(page, axe, f"{theme}, keys")
    page.keys(Keys.ESCAPE, Keys.ESCAPE, "1")


def check_forced_colours(page):
    page.emulate(forced_colors="active", prefers_color_scheme="dark")
    page.run("view.setWindow(0n, 3000)")
    page.until("sharp", "return !view.isWaiting()")
    check("forced colours", page.run("return matchMedia('(forced-colors: active)').matches"))
    page.paints("it paints")
    text, back = page.run("const s = getComputedStyle(document.body);"
                          "return [s.color, s.backgroundColor]")
    check("text is not as its ground", text != back)


def main():
    axe = fetch_axe()
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        page = Page()
        try:
            with Server(trace) as server:
                page.open(server.address)
                visit(page, axe, "light")
                visit(page, axe, "dark")
                check_forced_colours(page)
                page.driver.get("about:blank")
            page.console()
        finally:
            page.driver.quit()
    print("\n".join(problems) or "view: axe finds nothing")
    if axe is None and not problems:
        print(f"SKIPPED: {AXE} cannot be had from npm: only forced colours were tried")
        return 77
    return 1 if problems else 0


sys.exit(main())
