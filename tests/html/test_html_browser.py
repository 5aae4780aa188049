#!/usr/bin/env python3
"""A file of `tracetape export --format html` in a real Chromium, opened from a disk: it shows the
trace, asks nobody for anything, and says nothing in its console; so does the page that takes a
trace that is dropped on it, whole or damaged."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "view"))
from view_client import COMMAND, Server, check, end, skip  # noqa: E402
from view_page import Page, make_trace  # noqa: E402

REQUESTS = "return performance.getEntriesByType('resource').map((e) => e.name)"


def export(*words):
    done = subprocess.run([COMMAND, "export", "--format", "html", *map(str, words)],
                          capture_output=True)
    if b"not in this build" in done.stderr:
        skip(done.stderr.decode().strip())
    check(f"export {words}", done.returncode, 0)


def open_file(page, path, place=""):
    page.driver.get("about:blank")
    page.driver.get(f"file://{path}{place}")


def wait(page):
    page.until("page", "return !!window.view && !view.isWaiting()")


def check_quiet(page):
    check("requests", page.run(REQUESTS), [])
    page.console()


def check_page(page, folder, trace):
    path = Path(folder, "run.html")
    export(trace, "-o", path)
    open_file(page, path)
    wait(page)
    page.paints("colours")
    page.until_true("events", lambda: "20,0" in page.text("header"))
    page.until("table", "return [...document.querySelectorAll('.rows tbody .name')]"
               ".some((c) => c.textContent.includes('<img src=x onerror='))")
    check("title", page.run("return document.title").endswith("tracetape view"))
    check("elements of names", page.run("return document.querySelectorAll('img').length"), 0)
    page.run("view.showAll(); document.getElementById('tab-source').click();")
    page.run("location.hash = 'f=work&v=source'; dispatchEvent(new PopStateEvent('popstate'));")
    page.until("no source", "return document.querySelector('#pane-source').textContent"
               ".includes('--with-source')")
    check("reasons apart", " puts them there; this source " in page.text("#pane-source"))
    check_quiet(page)


def check_source(page, folder, trace):
    path = Path(folder, "source.html")
    export("--with-source", trace, "-o", path)
    open_file(page, path, "#n=s0e3&v=source")
    wait(page)
    page.until("selected", "return view.state.node?.id === 's0e3'")
    page.until("source", "return document.querySelector('#pane-source').textContent"
               ".includes('return ++calls; // <b>')")
    check("no lines of this call", page.run("return document.querySelector("
                                            "'#pane-source select').hidden"))
    check_quiet(page)


def check_syscall(page, folder):
    """It has no source, and nothing is offered or advised that would bring one."""
    text, trace, path = (Path(folder, f"syscall.{end}") for end in ("txt", "ttape", "html"))
    text.write_text("process 1 prog\nthread 1 1 main\nsymbol 0x10 main\n0 1 enter 0x10\n"
                    "10 1 syscall-enter read 3\n20 1 syscall-exit read 0\n30 1 exit\n")
    check("conversion", subprocess.run([COMMAND, "convert", text, "-o", trace]).returncode, 0)
    export(trace, "-o", path)
    open_file(page, path, "#n=s0e1&v=source")
    wait(page)
    page.until("why there is none", "return document.querySelector('#pane-source .advice')"
               ".textContent.startsWith('A system call has no source')")
    offers = page.run("return ['select', '.same'].filter((what) =>"
                      "!document.querySelector(`#pane-source ${what}`).hidden)")
    check("what is offered", offers, [])
    check_quiet(page)


def check_dropped(page, folder, trace):
    path, cut = Path(folder, "empty.html"), Path(folder, "damaged.ttape")
    export("--empty", "-o", path)
    bytes_ = trace.read_bytes()
    cut.write_bytes(bytes_[:len(bytes_) * 2 // 3])
    for file, words in ((trace, "events were lost"), (cut, "the file ends too early")):
        open_file(page, path)
        page.until("place to drop", "return !!document.querySelector('#trace-file')")
        page.driver.find_element("id", "trace-file").send_keys(str(file))
        wait(page)
        page.until_true(f"what {file.name} lost", lambda: words in page.text("header"))
        check_quiet(page)
    open_file(page, path)
    page.until("place to drop", "return !!document.querySelector('#trace-file')")
    page.driver.find_element("id", "trace-file").send_keys(__file__)
    page.until("no trace", "return document.querySelector('.message')?.textContent.length > 5")
    check_quiet(page)


def check_saved(page, folder, trace):
    """What the served page saves is such a file, of the time that it showed."""
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior",
                                {"behavior": "allow", "downloadPath": folder})
    with Server(trace) as server:
        page.open(f"{server.address}&t=2000000..3000000")
        page.keys("S")
        page.until("dialog", "return document.querySelector('dialog.save').open")
        page.run("document.querySelector('dialog.save button').click()")
        page.until("saved", "return !document.querySelector('dialog.save').open")
        check("nobody else's page", server.post_to("/save", "", key="0" * 32), 401)
        check("no time", server.post_to("/save", "from=9&to=3"), 500)
        path = Path(folder, "trace.html")
        page.until_true("file", lambda: path.exists() and
                        path.read_bytes().endswith(b"</html>\n"))  # all of it
        page.driver.get("about:blank") # it asks nothing of a server that has gone
    open_file(page, path)
    wait(page)
    check("time saved", page.run("return view.trace.info.events !== '20008' && "
                                 "Number(view.trace.info.events) > 1900"))
    check_quiet(page)


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        page = Page()
        try:
            check_page(page, folder, trace)
            check_source(page, folder, trace)
            check_syscall(page, folder)
            check_dropped(page, folder, trace)
            check_saved(page, folder, trace)
        finally:
            page.driver.quit()
    end("a file of HTML shows its trace, and asks nobody")


main()
