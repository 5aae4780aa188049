#!/usr/bin/env python3
"""The page in a real browser: it paints, zooms, selects, opens what is pruned, finds, goes back,
restores a link, folds time in which nobody works, says how far it is and what is lost, and shows
hostile names as text; its console stays empty."""
import subprocess
import tempfile
from pathlib import Path

from view_page import Keys, Page, make_trace
from view_client import COMMAND, Server, check, end


def check_painting(page, server):
    page.open(server.address)
    check("key in the address", server.key in page.driver.current_url, False)
    page.until("bars", "return [...document.querySelectorAll('.rows tbody tr')].length >= 3")
    page.paints("colours of the timeline")
    page.until("exact spans of threads", "return view.trace.threads[1].end !== undefined")
    spans = page.run("return view.trace.threads.map((t) => `${t.start} ${t.end}`)")
    check("spans of threads", spans, ["0 10003000", "5 10004000"])
    check("title", page.driver.title.startswith("prog"))
    page.until_true("losses", lambda: "7 events were lost" in page.text("header"))
    look = ("return [...document.querySelectorAll('.rows tbody .name')]"
            ".map((e) => e.textContent)")
    page.until_true("functions", lambda: {"main", "work"} <= set(page.run(look)))
    names = page.run(look)
    check("hostile name as text", any("<img src=x onerror=" in name for name in names) or names)
    check("elements out of names", page.run("return document.querySelectorAll('img').length"), 0)


def check_names(page):
    """Names that come in, of functions that it does not show, leave the table as it is."""
    before = page.run("window.row = document.querySelector('.rows tbody tr');"
                      "const before = view.timeline.frameTimes.length;"
                      "view.nameOf(4000000); return before")
    page.until("names", f"return view.timeline.frameTimes.length > {before}")
    check("the same rows", page.run("return window.row.isConnected"))


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
    page.until("place in the link", "return location.hash.includes(arguments[0])",
               f"n={wanted['id']}")
    place = page.run("return location.hash")
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
    page.palette("wor")
    page.until("found",
               "return document.querySelector('.palette li .name')?.textContent === 'work'")
    page.keys(Keys.ENTER)
    page.until("function of the palette", "return view.nameOf(view.state.site) === 'work'")
    page.until("histogram", "return document.querySelectorAll('.histogram rect').length > 0")
    page.until("longest", "return document.querySelectorAll('#pane-calls tbody tr').length === 20")
    page.until("longest call", "return document.querySelector('#pane-calls tbody tr')?.title"
               " === '1,000 ns'")
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
    page.open(f"{server.address}&n=s7e99999999&f=nobody&w=1&h=9999&t=5000000..5003000")
    page.until("what is wrong with it", "return !document.querySelector('.message').hidden")
    page.paints("what is right of it")
    check("its window", page.run("return String(view.state.from)"), "5000000")


def check_window(page, server):
    """The calls that end in what the timeline shows, and the command that prints them."""
    rows = "return document.querySelectorAll('#pane-calls tbody tr').length"
    page.keys("2")
    page.until("all calls", f"{rows} === 20")
    page.run("view.setWindow(5000000n, 3000)")
    page.run("document.querySelector('#calls-in-window').click()")
    page.until("calls of the window", f"{rows} === 3")
    found = page.run("return [...document.querySelectorAll('#pane-calls tbody tr')]"
                     ".map((row) => row.title)")
    wanted = server.ask("longest?from=5000000&to=5003000")[0]["calls"]
    check("times of these", found, [f"{int(call['time']):,} ns" for call in wanted])
    check("their command", "--time +5000000ns..+5003000ns" in page.text("#pane-calls code"))
    check("what a window means", "end there" in page.text("#pane-calls .tools"))
    page.run("document.querySelector('#calls-in-window').click()")
    page.until("all calls again", f"{rows} === 20")


def check_durations(page, server):
    """A column of the histogram shows its calls, as its command does; the link says so."""
    rows = ("return [...document.querySelectorAll('#pane-calls tbody tr')]"
            ".map((row) => row.title)")
    page.palette("wor")
    page.until("found",
               "return document.querySelector('.palette li .name')?.textContent === 'work'")
    page.keys(Keys.ENTER)
    page.until("histogram", "return document.querySelectorAll('.histogram .hit').length > 0")
    site = page.run("return view.state.site")
    buckets = server.ask(f"function?site={site}")[0]["histogram"]
    bucket = buckets[0]
    page.run("document.querySelector('.histogram .hit').dispatchEvent(new MouseEvent('click'))")
    page.until("in the link", "return location.hash.includes('&d=')")
    wanted = server.ask(f"longest?site={site}&by=start&count=1000&least={bucket['least']}"
                        f"&most={bucket['most']}")[0]["calls"]
    check("as many as the column says", len(wanted), min(int(bucket["count"]), 1000))
    titles = [f"{int(call['time']):,} ns" for call in wanted[:20]]
    page.until_true("calls of the column", lambda: page.run(rows) == titles)
    command = page.text("#pane-calls code")
    check("its command", f"--first --min-time {bucket['least']}ns --max-time {bucket['most']}ns"
          in command)
    page.run("document.querySelector('.histogram .hit').focus()")
    page.keys(Keys.ENTER)
    page.until("the column has the keys still",
               "return document.activeElement?.matches('.hit[aria-pressed=false]')")
    page.until("all calls again", "return !location.hash.includes('&d=')")


def check_progress(page):
    """What takes long says how far it is, and can be stopped."""
    page.run("""
        window.usual = window.fetch;
        window.fetch = (path, how) => how.body?.startsWith('longest')
          ? new Promise((_, failed) => how.signal.addEventListener('abort', () =>
              failed(new DOMException('', 'AbortError')))) : usual(path, how);""")
    page.keys("2")
    page.run("document.querySelector('#pane-calls select').value = 'self';"
             "document.querySelector('#pane-calls select').dispatchEvent(new Event('change'))")
    page.until("progress", "return !document.querySelector('#pane-calls progress').hidden")
    page.run("[...document.querySelectorAll('#pane-calls button')]"
             ".find((b) => b.textContent === 'Stop').click()")
    page.until("stopped", "return document.querySelector('#pane-calls .note').textContent === "
               "'stopped'")
    page.run("window.fetch = window.usual")


def make_idle(folder):
    """Two threads that work now and then, and wait for longer and longer."""
    lines = ['process 1 "prog"', 'thread 1 10 "first"', 'thread 1 11 "second"',
             "symbol 0x10 main", "symbol 0x20 work", "symbol 0x30 poll", "symbol 0x40 nanosleep",
             "0 10 enter 0x10", "0 11 enter 0x10"]
    at = 1000
    for i in range(1, 4):
        lines += [f"{at} 10 enter 0x20", f"{at} 11 enter 0x20", f"{at + 90000} 10 exit",
                  f"{at + 90000} 11 exit", f"{at + 90100} 10 enter 0x30",
                  f"{at + 90100} 11 enter 0x40", f"{at + 100000 + 900000 * i} 10 exit",
                  f"{at + 100000 + 900000 * i} 11 exit"]
        at += 100100 + 900000 * i
    text, trace = Path(folder, "idle.txt"), Path(folder, "idle.ttape")
    text.write_text("\n".join([*lines, f"{at} 10 exit", f"{at} 11 exit"]) + "\n")
    subprocess.run([COMMAND, "convert", text, "-o", trace], check=True, capture_output=True)
    return trace


def check_fold(page, folder):
    """Time in which both threads wait takes little room, as long as somebody wants that; the link
    says so, and a place of the timeline is still the moment that it shows."""
    folds = "return view.timeline.axis.folds.length"
    with Server(make_idle(folder)) as server:
        page.open(server.address)
        check("no folds", page.run(folds), 0)
        page.keys("I")
        page.until("folds", f"{folds} === 3")
        page.until("in the link", "return location.hash.includes('&i=1')")
        errors = page.run("""
            const { axis } = view.timeline, end = Number(view.trace.end);
            return [0, 0.01, 0.1, 0.3, 0.5, 0.8, 1].map((part) => BigInt(Math.round(end * part)))
              .filter((time) => {
                const back = axis.timeAt(axis.xOf(time)), fold = axis.folds.find((f) =>
                  time >= f.from && time < f.to);
                const least = fold ? Number(fold.to - fold.from) / 50 : axis.nsPerPixel;
                return Math.abs(Number(back - time)) > least;
              }).length""")
        check("moments of places", errors, 0)
        first = page.run("const f = view.timeline.axis.folds[0];"
                         "return [Number(f.from), Number(f.to)]")
        check("what is folded", 91000 < first[0] < 200000 and 800000 < first[1] < 1001000)
        address = page.run("return location.hash.slice(1)")
        page.open(f"{server.address}&{address}")
        page.until("folds of the link", f"{folds} === 3")
        page.keys("I")
        page.until("unfolded", f"{folds} === 0")
        page.driver.get("about:blank")


def check_nameless(page, folder):
    """A module without names of functions: the page says so, and what helps."""
    text, trace = Path(folder, "bare.txt"), Path(folder, "bare.ttape")
    text.write_text('process 1 "prog"\nthread 1 10 "first"\nmodule 0x1000 0x9000 /opt/bare\n' +
                    "".join(f"{9 * i} 10 enter {0x1010 + 16 * i:#x}\n{9 * i + 5} 10 exit\n"
                            for i in range(9)))
    subprocess.run([COMMAND, "convert", text, "-o", trace], check=True, capture_output=True)
    late = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const usual = window.fetch; // modules are known when all names have long been there
        window.fetch = async (path, how) => {
          if (how?.body?.includes('modules')) await new Promise((done) => setTimeout(done, 700));
          return usual(path, how);
        };"""})
    with Server(trace) as server:
        page.open(server.address)
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", late)
        page.until("no names", "return document.querySelector('#pane-functions .advice')"
                   ".textContent.startsWith('bare: no names of functions')")
        page.driver.get("about:blank")


def make_sleeper(folder):
    """A function whose name does not say that it waits sleeps 60 ms, four times."""
    source, program = Path(folder, "sleeper.c"), Path(folder, "sleeper")
    source.write_text("""
        #include <sys/syscall.h>
        #include <time.h>
        static volatile long sum;
        __attribute__((noinline)) void spin(void) { for (long i = 0; i < 2000000; i++) sum += i; }
        __attribute__((noinline)) void rests(void)
        {
            struct timespec t = {0, 60000000};
            long r;
            __asm__ volatile("syscall" : "=a"(r) : "0"(SYS_nanosleep), "D"(&t), "S"(0L)
                             : "rcx", "r11", "memory");
        }
        int main(void) { for (int i = 0; i < 4; i++) { spin(); rests(); } spin(); }
        """)
    trace = Path(folder, "sleeper.ttape")
    subprocess.run(["gcc", "-O1", source, "-o", program], check=True)
    subprocess.run([COMMAND, "record", "--quiet", "-o", trace, program], check=True)
    return trace


def check_off(page, folder):
    """So does time in which the thread did not run, as its switches say, whatever it was in."""
    with Server(make_sleeper(folder)) as server:
        main, *inner = server.ask("longest?count=9")[0]["calls"]
        if main.get("blocked", "0") == "0":
            print("here nobody says when threads do not run: their folds were not tested")
            return
        # one of its naps alone: on a busy machine the whole run is so long that none fills a fold
        nap = max(inner, key=lambda call: int(call["blocked"]))
        start, length = int(nap["enter"]), int(nap["blocked"])
        page.open(f"{server.address}&i=1&t={start}..{start + length * 5 // 4}")
        page.until("time off the CPU is folded", "return view.timeline.axis.folds.reduce("
                   f"(sum, f) => sum + Number(f.to - f.from), 0) > {length // 2}")
        page.driver.get("about:blank")


def check_truncated(page, trace, folder):
    short = Path(folder, "short.ttape")
    short.write_bytes(trace.read_bytes()[:trace.stat().st_size * 2 // 3])
    with Server(short) as server:
        page.open(server.address)
        page.until_true("truncated", lambda: "ends too early" in page.text("header"))
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
        page.paints("the rest")
        page.driver.get("about:blank")


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = make_trace(folder)
        page = Page()
        try:
            with Server(trace) as server:
                check_painting(page, server)
                check_names(page)
                check_zoom(page)
                place, wanted = check_selection(page, server)
                check_panes(page)
                check_link(page, server, place, wanted)
                check_window(page, server)
                check_durations(page, server)
                check_progress(page)
                requests = page.run("return performance.getEntriesByType('resource')"
                                    ".filter((e) => !e.name.startsWith(location.origin)).length")
                check("requests that leave the origin", requests, 0)
                page.driver.get("about:blank")
            check_fold(page, folder)
            check_off(page, folder)
            check_nameless(page, folder)
            check_truncated(page, trace, folder)
            check_damaged(page, trace, folder)
            page.console()
        finally:
            page.driver.quit()
    end("the page does what it says")


main()
