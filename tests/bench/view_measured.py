"""What the page of `tracetape view` takes, in a headless Chromium with software rendering:

  view_measured.py COMMAND TRACE SECONDS

prints JSON: `paint_ms`, `paint_bytes`, `frames_ms`, `script_ms`, `late_tasks`, `sharp_ms`,
`server_mib`, `heap_mib` and `heap_before_mib` (before and after SECONDS of a random walk), `load`.
`frames_ms` is processor time of the page's main thread, from one frame to the next: script, style,
layout, painting, collection of garbage; what other programs take does not count. Run by Debian's
python, whose selenium it uses."""
import bisect
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "view"))
os.environ["TTAPE_BIN"] = sys.argv[1]
from view_client import Server  # noqa: E402, it looks at TTAPE_BIN

TRACED = "devtools.timeline,disabled-by-default-devtools.timeline"
PAINTS, PLACES, MOVING_SECONDS, WAIT = 5, 60, 10, 60

# Looks after each frame whether the picture is there: bars of several colours in the timeline, and
# more than one in the map.
WATCH = """
(() => {
  const colours = (canvas, x) => {
    if (!canvas || canvas.width <= x) return 0;
    const data = canvas.getContext('2d').getImageData(x, 0, canvas.width - x, canvas.height).data;
    const found = new Set();
    for (let i = 0; i < data.length; i += 404)
      found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return found.size;
  };
  const look = () => {
    if (window.view && !view.isWaiting() && colours(document.querySelector('.timeline'), 168) > 4 &&
        colours(document.querySelector('.map'), 168) > 2) window.paintedAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""

MOVE = """
view.timeline.frameTimes.length = 0;
window.moved = false;
window.late = [];
new PerformanceObserver((list) => list.getEntries().forEach((e) => window.late.push(e.duration)))
  .observe({ entryTypes: ['longtask'] });
const start = performance.now(), seconds = arguments[0];
const step = () => {
  const t = (performance.now() - start) / 1000;
  if (t > seconds) { window.moved = true; return; }
  if (t % 4 < 2) view.zoom(0.93, 0.3 + 0.4 * Math.sin(t));
  else if (t % 4 < 3) view.pan(0.03);
  else view.zoom(1.12, 0.5);
  requestAnimationFrame(step);
};
step();
"""

REST = """
const end = Number(view.trace.end);
view.setWindow(BigInt(Math.round(end * arguments[1])), end * Math.pow(10, -arguments[0]));
const start = performance.now();
window.sharpAfter = 0;
const look = () => requestAnimationFrame(() => setTimeout(() => {
  if (view.isWaiting()) look();
  else window.sharpAfter = performance.now() - start;
}, 0));
look();
"""

WALK = """
const end = Number(view.trace.end), seconds = arguments[0], start = performance.now();
let turn = 0;
window.walked = false;
const step = () => {
  if (performance.now() - start > seconds * 1000) { window.walked = true; return; }
  turn++;
  view.setWindow(BigInt(Math.round(end * Math.random() * 0.98)),
                 end * Math.pow(10, -7 * Math.random()));
  if (turn % 20 === 0) document.getElementById(
    ['tab-functions', 'tab-calls', 'tab-tree', 'tab-source'][(turn / 20) % 4]).click();
  setTimeout(step, 100);
};
step();
"""


def browser(is_traced=False):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--disable-gpu", "--window-size=1440,1000",
                 "--force-device-scale-factor=1", "--disable-dev-shm-usage"):
        options.add_argument(word)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    if is_traced:
        options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
        options.add_experimental_option("perfLoggingPrefs", {"traceCategories": TRACED})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def until(driver, script, seconds=WAIT):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = driver.execute_script(script)
        if found:
            return found
        time.sleep(0.005)
    sys.exit(f"never: {script}")


def read_bytes(server):
    for line in Path(f"/proc/{server.process.pid}/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    return 0


def peak_mib(server):
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0


def heap_mib(driver):
    driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    return driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"] / 2**20


def frame_work(driver):
    """Of each frame of the main thread that made most of them, in ms: all its tasks since the last
    one, up to and with the one that hands the frame over."""
    driver.get("about:blank")  # what was traced is handed over
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    events = [m["params"] for m in messages if m["method"] == "Tracing.dataCollected"]
    frames = [e for e in events if e["name"] == "Commit" and e["ph"] == "X"]
    main_thread = Counter((e["pid"], e["tid"]) for e in frames).most_common(1)[0][0]
    ends = sorted(e["ts"] for e in frames if (e["pid"], e["tid"]) == main_thread)
    work = [0.0] * len(ends)
    for e in events:
        if e["name"] != "RunTask" or (e["pid"], e["tid"]) != main_thread:
            continue
        frame = bisect.bisect_left(ends, e["ts"])
        if frame < len(work):
            work[frame] += e.get("tdur", 0) / 1000
    return work


def paint(driver, server):
    driver.get("about:blank")
    driver.get(server.address)
    return until(driver, "return window.paintedAt"), read_bytes(server)


def move(found, trace):
    """In a browser of its own: tracing costs, and what is traced has to be kept."""
    driver = browser(is_traced=True)
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        with Server(trace) as server:
            paint(driver, server)
            driver.get_log("performance")  # what was before is no frame of these
            driver.execute_script(MOVE, MOVING_SECONDS)
            until(driver, "return window.moved")
            found["script_ms"] = driver.execute_script("return view.timeline.frameTimes")
            found["late_tasks"] = driver.execute_script("return window.late")
            found["frames_ms"] = frame_work(driver)
    finally:
        driver.quit()


def rest_and_walk(found, driver, server, seconds):
    paint(driver, server)
    draw, sharp = random.Random(41), []
    for _ in range(PLACES):
        driver.execute_script(REST, draw.uniform(0, 7), draw.uniform(0, 0.95))
        sharp.append(until(driver, "return window.sharpAfter"))
    found["sharp_ms"] = sharp
    found["heap_before_mib"] = heap_mib(driver)
    driver.execute_script(WALK, seconds)
    until(driver, "return window.walked", seconds + WAIT)
    found["heap_mib"] = heap_mib(driver)
    found["server_mib"] = peak_mib(server)
    driver.get("about:blank")


def main():
    trace, seconds = sys.argv[2], float(sys.argv[3])
    found = {"load": os.getloadavg()[0]}
    driver = browser()
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        with Server(trace) as server:
            paint(driver, server)  # the browser's own first time
        paints = []
        for _ in range(PAINTS):
            with Server(trace) as server:
                paints.append(paint(driver, server))
        found["paint_ms"], found["paint_bytes"] = zip(*paints)
        with Server(trace) as server:
            rest_and_walk(found, driver, server, seconds)
    finally:
        driver.quit()
    move(found, trace)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
