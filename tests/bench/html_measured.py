"""What a file of `tracetape export --format html` takes until it shows something, in a headless
Chromium with software rendering:

  html_measured.py COMMAND CUT EMPTY TRACE

prints JSON: `open_ms` of the page CUT from a disk, `drop_ms` of TRACE that is dropped on the page
EMPTY, `asked` (what they loaded: nothing), `load`. Run by Debian's python, whose selenium it
uses."""
import json
import os
import sys

from view_measured import WATCH, browser, until

TIMES = 5
DROPPED = """
addEventListener('change', () => { window.droppedAt = performance.now(); }, true);
"""
ASKED = "return performance.getEntriesByType('resource').map((entry) => entry.name)"


def open_page(driver, path):
    driver.get("about:blank")
    driver.get(f"file://{os.path.realpath(path)}")


def main():
    cut, empty, trace = sys.argv[2:5]
    found = {"load": os.getloadavg()[0], "open_ms": [], "drop_ms": [], "asked": []}
    driver = browser()
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument",
                               {"source": WATCH + DROPPED})
        open_page(driver, empty)  # the browser's own first time
        for _ in range(TIMES):
            open_page(driver, cut)
            found["open_ms"].append(until(driver, "return window.paintedAt"))
            found["asked"] += driver.execute_script(ASKED)
            open_page(driver, empty)
            until(driver, "return document.querySelector('#trace-file') !== null")
            driver.find_element("id", "trace-file").send_keys(os.path.realpath(trace))
            found["drop_ms"].append(until(
                driver, "return window.paintedAt && window.paintedAt - window.droppedAt"))
            found["asked"] += driver.execute_script(ASKED)
    finally:
        driver.quit()
    print(json.dumps(found))


main()
