"""A page of `tracetape view` in a real Chromium, for tests that look at it."""
import os
import subprocess
import sys
import time
from pathlib import Path

DEBIAN = "/usr/bin/python3"  # whose packages Debian's selenium is one of

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver import ActionChains
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    if os.environ.get("TTEST_VIEW_AGAIN") or not os.access(DEBIAN, os.X_OK):
        print("SKIPPED: python3-selenium is missing (scripts/setup installs it)")
        sys.exit(77)
    os.environ["TTEST_VIEW_AGAIN"] = "1"
    os.execv(DEBIAN, [DEBIAN, *sys.argv])

from view_client import COMMAND, check, problems, skip

DRIVER, BROWSER = "/usr/bin/chromedriver", "/usr/bin/chromium"
HOSTILE = '<img src=x onerror=\\"document.title=1\\">\\xe2\\x80\\xae\\x00'
WAIT = 120  # seconds: the machine may be busy


def make_trace(folder):
    """Two threads, ten thousand calls, a gap, a function with a hostile name, one with source."""
    source = Path(os.path.realpath(folder), "work.c")
    source.write_text("static int calls;\nint work(void)\n{\n    return ++calls; // <b>\n}\n")
    text = Path(folder, "trace.txt")
    lines = ['process 1 "prog"', 'thread 1 10 "first"', 'thread 1 11 "second"',
             'symbol 0x10 main', f'symbol 0x20 work {source}:2', f'symbol 0x30 "{HOSTILE}"',
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


def start_browser(options):
    """The driver looks for a free port, and takes it later: somebody may have it by then. On a busy
    machine a browser may not begin in its minute."""
    for turn in range(4):
        try:
            return webdriver.Chrome(service=Service(DRIVER), options=options)
        except WebDriverException as why:
            print(f"the browser does not begin: {why}")
            if turn == 3:
                raise
    return None


class Page:
    def __init__(self, *words):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for word in (*words, "--headless=new", "--disable-gpu", "--window-size=1280,900",
                     "--disable-dev-shm-usage", "--force-device-scale-factor=1"):
            options.add_argument(word)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for program in (DRIVER, BROWSER):
            if not os.access(program, os.X_OK):
                skip(f"{program} is missing (scripts/setup installs it)")
        self.driver = start_browser(options)
        self.driver.set_script_timeout(2 * WAIT)  # axe looks at everything

    def run(self, script, *words):
        return self.driver.execute_script(script, *words)

    def until(self, what, script, *words):
        """Waits until the script is true, looking again and again."""
        return self.until_true(what, lambda: self.run(script, *words))

    @staticmethod
    def until_true(what, look):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            if look():
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

    def press(self, held, key):
        ActionChains(self.driver).key_down(held).send_keys(key).key_up(held).perform()

    def palette(self, *words):
        """Opens it, and writes there as soon as it takes keys."""
        self.press(Keys.CONTROL, "k")
        self.until("palette", "return document.querySelector('.palette').open &&"
                   "document.activeElement === document.querySelector('.palette input')")
        self.keys(*words)

    def paints(self, what):
        self.until_true(what, lambda: self.colours() > 4)

    def emulate(self, **features):
        """Of the user's wishes, as media queries name them (with _ for -)."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def console(self):
        """What is in its console becomes problems, but for what the tests' own reading of pixels
        brings."""
        for entry in self.driver.get_log("browser"):
            if "willReadFrequently" not in entry["message"]:
                problems.append(f"console: {entry['message']}")

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
