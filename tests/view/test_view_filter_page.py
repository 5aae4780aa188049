#!/usr/bin/env python3
"""The page's box for a filter: what is shown, the link, commands, the way back, and what is no
filter."""
import tempfile

from view_page import Keys, Page, make_trace
from view_client import Server, check, end

NAMES = ("return [...document.querySelectorAll('#pane-functions tbody tr')]"
         ".map((row) => row.textContent)")
KEPT = "return !!window.view && !view.isWaiting() && view.trace.info.filter === arguments[0]"
ALL = "return !!window.view && !view.isWaiting() && view.trace.info.filter === undefined"


def write(page, text):
    page.run("const box = document.getElementById('calls-filter'); box.focus(); box.select()")
    page.keys(Keys.DELETE, text, Keys.ENTER)


def names(page, wanted):
    page.until(f"{wanted} functions", f"{NAMES}.length === arguments[0]", wanted)
    return page.run(NAMES)


def main():
    with tempfile.TemporaryDirectory() as folder, Server(make_trace(folder)) as server:
        page = Page()
        page.open(f"{server.address}&v=functions")
        names(page, 3)
        write(page, "work")
        page.until("filtered", KEPT, "work")
        check("functions", ["work" in name for name in names(page, 1)], [True])
        check("link", page.run("return location.hash.includes('filter=work')"))
        check("command", " --filter work" in page.text("#pane-functions .same code"))
        page.run("history.back()")
        page.until("all again", ALL)
        names(page, 3)
        write(page, "work(")
        page.until("refused", "return document.querySelector('.message')?.textContent"
                   ".includes('argument')")
        write(page, "!work")
        page.until("mended", KEPT, "!work")
        names(page, 2)
        page.driver.quit()
    end("a page's filter: ok")


main()
