#!/usr/bin/env python3
"""The page in a real browser: it paints, zooms, selects, opens what is pruned, finds, goes back,
restores a link, says what is lost, and shows hostile names as text; its console stays empty."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEBIAN = "/usr/bin/python3"  # whose packages Debian's selenium is one of

try:
    from selenium import webdriver
    from selenium.webdriver import ActionChains
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    if os.environ.get("TTEST_VIEW_AGAIN") or not os.access(DEBIAN, os.X_OK):
        print("SKIPPED: python3-selenium is missing (scripts/setup installs it)")
        sys.exit(77)
    os.environ["TTEST_VIEW_AGAIN"] = "1"
    os.execv(DEBIAN, [DEBIAN, *sys.argv])

from view_client import COMMAND, Server, skip

DRIVER, BROWSER = "/usr/bin/chromedriver", "/usr/bin/chromium"
HOSTILE = '<img src=x onerror=\\"document.title=1\\">\\xe2\\x80\\xae\\x00'
WAIT = 30
problems = []


def check(what, found, wanted=True):
    if found != wanted:
        problems.append(f"{what}: {found!r} instead of {wanted!r}")


def make_trace(folder):
    """Two threads, ten thousand calls, a gap, and a function with a hostile name."""
    text = Path(folder, "trace.txt")
    lines = ['process 1 "prog"', 'thread 1 10 "first"', 'thread 1 11 "second"',
             'symbol 0x10 main', 'symbol 0x20 work', f'symbol 0x30 "{HOSTILE}"',
             "0 10 enter 0x10", "5 11 enter 0x30"]
    for i in range(10000):
        lines += [f"{1000 * i + 10} 10 enter 0x20", f"{1000 * i + 400 + i % 300} 10 exit"]
    lines += ["10000500 11 gap 7 overflow", "10001000 11 enter 0x20", "10002000 11 exit",
              "10003000 10 exit", "10004000 11 exit"]
    text.write_text("\n".join(lines) + "\n")
    trace = Path(folder, "trace.ttape")
    done = subprocess.run([COMMAND, "convert", text, "-o", trace, "--partition-events", "2000"],
                          capture_output=True, text=True)
    check("conversion", (done.returncode, done.stderr), (0, ""))
    return trace


class Page:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for word in ("--headless=new", "--disable-gpu", "--window-size=1280,900",
                     "--disable-dev-shm-usage", "--force-device-scale-factor=1"):
            options.add_argument(word)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)

    def run(self, script, *words):
        return self.driver.execute_script(script, *words)

    def until(self, what, script, *words):
        """Waits until the script is true, looking again and again."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            if self.run(script, *words):
                return True
            time.sleep(0.02)
        problems.append(f"{what}: never")
        return False

    def open(self, address):
        self.driver.get("about:blank")
        self.driver.get(address)
        self.until("page", "return !!window.view && !view.isWaiting()")

    def keys(self, *words):
        ActionChains(self.driver).send_keys(*words).perform()

    def text(self, selector):
        """What stands there; "" where nothing does."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def colours(self):
        """How many colours the timeline has right of the names."""
        return self.run(
            "const c = document.querySelector('.timeline'); const g = c.getContext('2d');"
            "const p = g.getImageData(168, 26, c.width - 168, c.height - 26).data;"
            "const s = new Set();"
            "for (let i = 0; i < p.length; i += 4) s.add(p[i] << 16 | p[i+1] << 8 | p[i+2]);"
            "return s.size")


def check_painting(page, server):
    page.open(server.address)
    check("key in the address", server.key in page.driver.current_url, False)
    page.until("bars", "return [...document.querySelectorAll('.rows tbody tr')].length >= 3")
    check("colours of the timeline", page.colours() > 4)
    page.until("exact spans of threads", "return view.trace.threads[1].end !== undefined")
    spans = page.run("return view.trace.threads.map((t) => `${t.start} ${t.end}`)")
    check("spans of threads", spans, ["0 10003000", "5 10004000"])
    check("title", page.driver.title.startswith("prog"))
    check("losses", "7 events were lost" in page.text("header"))
    names = page.run("return [...document.querySelectorAll('.rows tbody .name')]"
                     ".map((e) => e.textContent)")
    check("functions", {"main", "work"} <= set(names))
    check("hostile name as text", any("<img src=x onerror=" in name for name in names) or names)
    check("elements out of names", page.run("return document.querySelectorAll('img').length"), 0)


def check_zoom(page):
    span = "return view.state.span"
    before = page.run(span)
    page.keys("w", "w", "w")
    page.until("zoom", f"return view.state.span < {before} / 3")
    at = page.run("return String(view.state.from)")
    page.keys("d")
    page.until("move", "return String(view.state.from) !== arguments[0]", at)
    page.keys("0")
    page.until("whole run", f"return view.state.span >= {before} * 0.99")
    page.run("document.querySelector('.timeline').dispatchEvent(new WheelEvent('wheel',"
             "{deltaY: -120, ctrlKey: true, bubbles: true, cancelable: true}))")
    page.until("wheel", f"return view.state.span < {before} * 0.99")


def check_selection(page, server):
    page.run("view.setWindow(5000000n, 3000)")
    page.until("sharp", "return !view.isWaiting()")
    wanted = server.ask("stack?stream=0&time=5000100&depth=1")[0]["stack"][1]
    page.run("return view.timeline.pick(0, 5000100n, 1)")
    page.until("selected", "return view.state.node && view.state.node.id === arguments[0]",
               wanted["id"])
    page.until("details", "return document.querySelector('.details h2')?.textContent === 'work'")
    nanoseconds = f"{int(wanted['time']):,} ns"
    check("its time, to the nanosecond", nanoseconds in page.text(".details"))
    check("its command line", f"--open {wanted['id']}" in page.text(".details"))
    place = page.run("return location.hash")
    check("place in the link", f"n={wanted['id']}" in place)
    page.keys("]")
    page.until("next call", "return view.state.node.id !== arguments[0]", wanted["id"])
    second = page.run("return view.state.node.start")
    check("next call starts later", int(second) > int(wanted["start"]))
    page.driver.back()
    page.until("back", "return view.state.node && view.state.node.id === arguments[0]",
               wanted["id"])
    page.keys("u")
    page.until("caller", "return document.querySelector('.details h2')?.textContent === 'main'")
    return place, wanted


def check_panes(page):
    page.keys("2")
    page.until("calls", "return !document.querySelector('#pane-calls').hidden")
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    page.until("palette", "return document.querySelector('.palette').open")
    page.keys("wor")
    page.until("found",
               "return document.querySelector('.palette li .name')?.textContent === 'work'")
    page.keys(Keys.ENTER)
    page.until("function of the palette", "return view.nameOf(view.state.site) === 'work'")
    page.until("histogram", "return document.querySelectorAll('.histogram rect').length > 0")
    page.until("longest", "return document.querySelectorAll('#pane-calls tbody tr').length === 20")
    check("longest call", page.run(
        "return document.querySelector('#pane-calls tbody tr').title"), "1,000 ns")
    page.keys("3")
    page.until("tree",
               "return document.querySelectorAll('[role=row][aria-level=\"1\"]').length === 2")
    page.run("document.querySelector('[role=row][aria-level=\"1\"]').focus()")
    page.keys(Keys.ARROW_RIGHT)
    page.until("thread opened", "return !!document.querySelector('[aria-level=\"2\"]')")
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.until("main opened", "return !!document.querySelector('.pruned')")
    check("what is pruned", ", open" in page.text(".pruned"))
    page.keys("?")
    page.until("keys", "return document.querySelector('dialog.keys').open")
    page.keys(Keys.ESCAPE)


def check_link(page, server, place, wanted):
    page.open(f"{server.address}&{place[1:]}")
    page.until("link", "return view.state.node && view.state.node.id === arguments[0]",
               wanted["id"])
    check("window of the link", page.run("return String(view.state.from)"), "5000000")


def check_truncated(page, trace, folder):
    short = Path(folder, "short.ttape")
    short.write_bytes(trace.read_bytes()[:trace.stat().st_size * 2 // 3])
    with Server(short) as server:
        page.open(server.address)
        check("truncated", "ends too early" in page.text("header"))
        page.driver.get("about:blank")


def main():
    for program in (DRIVER, BROWSER):
        if not os.access(program, os.X_OK):
            skip(f"{program} is missing (scripts/setup installs it)")
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        page = Page()
        try:
            with Server(trace) as server:
                check_painting(page, server)
                check_zoom(page)
                place, wanted = check_selection(page, server)
                check_panes(page)
                check_link(page, server, place, wanted)
                requests = page.run("return performance.getEntriesByType('resource')"
                                    ".filter((e) => !e.name.startsWith(location.origin)).length")
                check("requests that leave the origin", requests, 0)
                page.driver.get("about:blank")
            check_truncated(page, trace, folder)
            for entry in page.driver.get_log("browser"):
                problems.append(f"console: {entry['message']}")
        finally:
            page.driver.quit()
    print("\n".join(problems) or "view: the page does what it says")
    return 1 if problems else 0


sys.exit(main())
