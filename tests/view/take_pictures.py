"""Takes the pictures of `scripts/pictures`: take_pictures.py WORK INTO [TRACE]. WORK has a program
`minilang` with blocks; TRACE is a billion events."""
import os
import subprocess
import sys
from pathlib import Path

from view_page import Keys, Page
from view_client import COMMAND, Server, problems

SIZE = 1360, 1143  # of which the page has 1000
THEMES = "light", "dark"
PANES = ("1", "functions"), ("2", "calls"), ("3", "tree"), ("4", "callers"), ("5", "source")
SHARP = "return !view.isWaiting()"


def rest(page):
    page.until("sharp", SHARP)
    page.run("return new Promise((done) => setTimeout(done, 400))")
    page.until("sharp", SHARP)


def take(page, into, name):
    rest(page)
    page.driver.save_screenshot(str(Path(into, f"{name}.png")))


def take_panes(page, into, trace, theme):
    """Of a call of `run_block`, in the middle of the run."""
    with Server(trace) as server:
        page.emulate(prefers_color_scheme=theme)
        page.open(server.address)
        rest(page)
        page.palette("run")
        page.until("found", "return document.querySelectorAll('.palette li').length > 3")
        take(page, into, f"view-find-{theme}")
        page.keys(Keys.ENTER)
        page.until("calls", "return document.querySelectorAll('#pane-calls tbody tr').length > 9")
        page.until("focus", "return !!document.activeElement.closest('#pane-calls tbody tr')")
        page.keys(*[Keys.ARROW_DOWN] * 9, Keys.ENTER)
        page.until("call", "return !!document.querySelector('.details .way')")
        for key, name in PANES:
            page.keys(key)
            page.until(name, f"return !!document.querySelector('#pane-{name} [tabindex=\"0\"]')")
            if name == "callers":
                page.until("all", "return document.querySelector('#pane-callers progress').hidden")
            if name == "tree":
                page.keys("t")
                page.until("opened", "return !!document.querySelector('[aria-level=\"2\"]')")
                page.run("document.querySelector('.tree [tabindex=\"0\"]').focus()")
                page.keys(*[Keys.ARROW_RIGHT] * 12)
            page.run("document.activeElement.blur()")
            if name != "source":
                page.run(f"document.querySelector('#pane-{name} .scroll').scrollTop = 0")
            take(page, into, f"view-{name}-{theme}")
        page.driver.get("about:blank")


def take_large(page, into, trace, theme):
    with Server(trace) as server:
        page.emulate(prefers_color_scheme=theme)
        page.open(server.address)
        take(page, into, f"view-billion-{theme}")
        page.run("view.setWindow(view.trace.end / 3n, 1000)")
        rest(page)
        page.run("return view.timeline.pick(2, view.trace.end / 3n + 500n, 9)")
        page.until("call", "return !!document.querySelector('.details .way')")
        take(page, into, f"view-microsecond-{theme}")
        page.driver.get("about:blank")


def main():
    work, into, *large = sys.argv[1:]
    os.chdir(work)  # commands have short names then
    trace = Path("minilang.ttape")
    if large:
        Path("billion.ttape").symlink_to(large[0])
    subprocess.run([COMMAND, "record", "-o", trace, "./minilang", "5"], check=True,
                   capture_output=True)
    Path(into).mkdir(exist_ok=True)
    page = Page("--hide-scrollbars")
    page.driver.set_window_size(*SIZE)
    try:
        for theme in THEMES:
            take_panes(page, into, trace, theme)
            if large:
                take_large(page, into, "billion.ttape", theme)
        page.console()
    finally:
        page.driver.quit()
    print("\n".join(problems) or f"pictures: written to {into}/")
    return 1 if problems else 0


sys.exit(main())
