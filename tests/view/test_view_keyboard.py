#!/usr/bin/env python3
"""One whole visit by keyboard alone: from the first picture into a call, its source, its callers,
its calls by duration, the tree, a link, and back. No element is clicked or focused by the test."""
import sys
import tempfile

from view_page import Keys, Page, make_trace
from view_client import Server, check, end, problems

FOCUSED = "return document.activeElement?.closest(arguments[0]) !== null"
PALETTE = "return document.querySelector('.palette li .name')?.textContent === arguments[0]"
ROWS = "return document.querySelectorAll(`#pane-${arguments[0]} tbody tr`).length"
TITLE = "return document.querySelector('.details h2')?.textContent === arguments[0]"


def pane(page, key, name):
    page.keys(key)
    page.until(f"pane {name}", f"return !document.getElementById('pane-{name}').hidden")
    page.until(f"focus in {name}", FOCUSED, f"#pane-{name}")


def find_function(page):
    page.palette("work")
    page.until("found", PALETTE, "work")
    page.keys(Keys.ENTER)
    page.until("its calls", f"{ROWS} === 20", "calls")
    page.until("focus on a call", FOCUSED, "#pane-calls tbody tr")


def choose_call(page):
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    page.until("a call is chosen", "return view.state.node?.site !== undefined")
    page.until("its details", TITLE, "work")
    first = page.run("return view.state.node.id")
    page.keys("i")
    page.until("timeline", FOCUSED, ".timeline")
    page.keys(Keys.ARROW_UP)
    page.until("caller", TITLE, "main")
    page.keys(Keys.ARROW_DOWN)
    page.until("longest call in it", TITLE, "work")
    page.keys("]")
    page.until("next call", "return view.state.node.id !== arguments[0]", first)
    page.keys(Keys.ENTER)
    page.until("all of it", "return view.state.span < 2 * Number(view.state.node.time)")


def read_source(page):
    pane(page, "5", "source")
    page.until_true("its source", lambda: "return ++calls; // <b>" in page.text(".source"))
    check("where it begins", page.text(".source .at .line-number"), "2")
    page.until_true("why there are no lines",
                    lambda: "trace-pc" in page.text("#pane-source .advice"))
    check("command", page.text("#pane-source code").startswith("tracetape lines "))


def see_callers(page):
    pane(page, "4", "callers")
    page.until("complete", "return document.querySelector('#pane-callers progress').hidden")
    check("caller", "main" in page.text("#pane-callers tbody"))
    check("its calls", "10,001 calls" in page.text(".butterfly-body") or
          page.text(".butterfly-body"))
    page.keys(Keys.ENTER)
    page.until("goes to the caller", "return view.nameOf(view.state.site) === 'main'")


def walk_tree(page):
    pane(page, "3", "tree")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_RIGHT)
    page.until("thread opened", "return !!document.querySelector('[aria-level=\"2\"]')")
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.until("what is pruned", "return !!document.querySelector('.pruned')")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    page.until("a pruned part opened", "return !!document.querySelector('[aria-level=\"4\"]')")


def measure(page):
    page.keys(Keys.ESCAPE, "0")
    page.until("whole run", "return view.state.node === null")
    page.keys("M", "w", "w", "d", "M")
    page.until("measured", "return view.state.mark && view.state.mark.to > view.state.mark.from")
    page.keys("f")
    page.until("in the link", "return location.hash.includes('m=')")
    page.keys("m")
    page.until("not measured", "return !view.state.mark")
    before = page.run("return String(view.state.from)")
    page.keys("s", "a")
    page.until("moved", "return String(view.state.from) !== arguments[0]", before)


def filter_table(page):
    pane(page, "1", "functions")
    page.palette("filter")
    page.until("command", PALETTE, "Filter functions by name")
    page.keys(Keys.ENTER)
    page.until("filter", FOCUSED, "input[type=search]")
    page.keys("wor")
    page.until("one row", f"{ROWS} === 1", "functions")
    page.keys(Keys.TAB, " ")
    page.until("only the window", "return document.querySelector('#in-window').checked")
    page.until("command of the window", "return document.querySelector('#pane-functions code')"
               ".textContent.includes('--time')")


def read_keys(page):
    page.keys(Keys.ESCAPE, "?")
    page.until("keys", "return document.querySelector('dialog.keys').open")
    page.keys(Keys.ESCAPE)
    page.until("no keys", "return !document.querySelector('dialog.keys').open")
    page.keys(Keys.BACKSPACE)
    page.until("back", "return document.querySelector('.details h2') !== null")


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        page = Page()
        try:
            with Server(trace) as server:
                page.open(server.address)
                for step in (find_function, choose_call, read_source, see_callers, walk_tree,
                             measure, filter_table, read_keys):
                    step(page)
                    if problems:
                        break
                page.driver.get("about:blank")
            page.console()
        finally:
            page.driver.quit()
    end("a whole visit by keyboard")


main()
