#!/usr/bin/env python3
"""The page in a real browser: it paints, zooms, selects, opens what is pruned, finds, goes back,
restores a link, says what is lost, and shows hostile names as text; its console stays empty."""
import sys
import tempfile
from pathlib import Path

from view_page import Keys, Page, check, make_trace, problems
from view_client import Server


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
    page.press(Keys.CONTROL, "k")
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


def check_damaged(page, trace, folder):
    """One partition's bytes are others: its time is hatched, and the page says so; the rest is
    there."""
    damaged = Path(folder, "damaged.ttape")
    data = bytearray(trace.read_bytes())
    middle = len(data) // 2
    data[middle:middle + 8] = bytes(byte ^ 0x5a for byte in data[middle:middle + 8])
    damaged.write_bytes(data)
    with Server(damaged) as server:
        page.open(server.address)
        page.until("says that it is damaged", "return document.querySelector('header').textContent"
                   ".includes('damaged')")
        check("the rest is painted", page.colours() > 4)
        page.driver.get("about:blank")


def main():
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
            check_damaged(page, trace, folder)
            page.console()
        finally:
            page.driver.quit()
    print("\n".join(problems) or "view: the page does what it says")
    return 1 if problems else 0


sys.exit(main())
