#!/usr/bin/env python3
"""Where recording stops before the program, or is off for a time: the trace says when and why, what
was open then is open there and lasts until then, and nobody has ended who lives (F-FCT-13). Run as
root and as an ordinary user."""
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import setting
import traces

LATER = """#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

int main(int count, char **words)
{
    long end = now() + atol(words[1]) + 1;
    while (now() <= end && count == 3) {
    }
    return execv(words[2], words + 2);
}
"""
WENT_ON = "went on when recording ended"


def clock():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Run:
    """p_stops under `record`, told letter by letter what to call."""

    def __init__(self, trace, program, *options):
        self.trace = trace
        self.process = setting.start(setting.record_words(trace, [program], "-f", *options),
                                     stdin=subprocess.PIPE)
        self.begun = clock()

    def tell(self, letters):
        for letter in letters:
            self.process.stdin.write(letter.encode() + b"\n")
            self.process.stdin.flush()
            if letter != "k" and self.process.stdout.readline() != letter.encode() + b"\n":
                raise RuntimeError(f"after '{letter}': {self.process.stderr.read()}")

    def control(self, word):
        """When it was done, at the earliest and at the latest."""
        before = clock()
        done = setting.run([setting.COMMAND, "control", str(self.process.pid), word])
        if done.status:
            raise RuntimeError(f"control {word}: {done.err}")
        return before, clock()

    def is_on(self):
        done = setting.run([setting.COMMAND, "control", str(self.process.pid), "status", "--json"])
        return done.status == 0 and json.loads(done.out)["mode"] == "on"

    def end(self, letters="q"):
        self.tell(letters)
        self.process.stdin.close()
        self.process.stdin = None
        return setting.finish(self.process, [], 60)


def answer(*words):
    done = setting.tracetape(*words)
    return json.loads(done.out) if done.status in (0, 3) else {"error": str(done)}


def metadata(trace):
    return {item["key"]: item["value"] for item in traces.info(trace)["metadata"]}


def events_of(trace, stream=0):
    done = setting.tracetape("dump", "--format", "ndjson", "--stream", str(stream), trace)
    return [json.loads(line) for line in done.out.splitlines()]


def short(event):
    """+f -f of calls, o f of what was open, a fact's name, ..."""
    name = event.get("symbol", "")
    kind = event["kind"]
    if kind in ("enter", "exit", "open"):
        return {"enter": "+", "exit": "-", "open": "o"}[kind] + name
    return {"leaf": name.replace("tracetape:", "!"), "marker": name.replace("tracetape:", "!"),
            "gap": "gap " + str(event.get("reason", "")),
            "unwind": "~" + str(event.get("frames", event.get("argument", "")))}.get(kind, kind)


def check_off_and_on(checks, work, program):
    """Two different calls at one place: the first ended while it was off."""
    trace = work / "off.ttape"
    run = Run(trace, program)
    run.tell("sds")
    off = run.control("off")
    run.tell("srsds")
    on = run.control("on")
    done = run.end("srsq")
    checks.equal((done.status, traces.verify(trace)), (7, None), "off and on: status, verify")
    events = events_of(trace)
    words = [short(event) for event in events]
    steps = ["+step", "-step"] * 3
    checks.equal(words, ["+main", *steps, "+inside", *steps, "!stopped", "gap stopped", "~2",
                         "omain", "oinside", *steps, "-inside", *steps, "!process_end"],
                 "off and on: events")
    gap = [event for event in events if event["kind"] == "gap"]
    opened = [event for event in events if event["kind"] == "open"]
    checks.that(gap and off[0] <= gap[0]["time_ns"] <= off[1], "off and on: when it stopped",
                off, gap)
    checks.that(opened and on[0] <= opened[0]["time_ns"], "off and on: when it went on", on, opened)
    if gap and opened:
        checks.equal(metadata(trace).get("off_ns"), opened[0]["time_ns"] - gap[0]["time_ns"],
                     "off and on: for how long, as the metadata say")
    said = setting.tracetape("report", trace).err.decode()
    checks.that("recording was off for " in said, "off and on: report says so", said)
    text = setting.tracetape("last", "--all", "--limit", "20", trace).out.decode()
    checks.that("(recording was off for " in text, "off and on: last", text)


def check_begun_off(checks, work, program):
    """Where it begins while it is off, the trace says so, and from when on."""
    trace = work / "begun.ttape"
    before = clock()
    run = Run(trace, program, "--off")
    run.tell("sd")
    begun = clock()
    run.control("on")
    after = clock()
    done = run.end("srsq")
    checks.equal((done.status, traces.verify(trace)), (7, None), "begun off: status, verify")
    events = events_of(trace)
    steps = ["+step", "-step"] * 3
    checks.equal([short(event) for event in events],
                 ["!stopped", "gap stopped", *steps, "-inside", *steps, "!process_end"],
                 "begun off: events")
    times = [event["time_ns"] for event in events]
    checks.that(before <= times[0] <= begun and begun <= times[2] and times[0] == times[1],
                "begun off: when", before, begun, after, times[:4])
    off_ns = metadata(trace).get("off_ns", 0)
    checks.that(begun - times[0] <= off_ns <= times[2] - times[0], "begun off: for how long",
                off_ns, times)


def stop_by_time(trace, program):
    """When it stopped, between two looks. On a busy machine it may begin later than a second."""
    for seconds in (1, 4, 16, 64):
        run = Run(trace, program, "--max-time", f"{seconds}s")
        run.tell("tsd")
        before = clock()
        if run.is_on():
            break
        run.end("req")
    while run.is_on():
        pass  # until it has looked again
    return run, before, clock()


def stop_by_request(trace, program):
    run = Run(trace, program)
    run.tell("tsd")
    return run, *run.control("stop")


def check_stop(checks, work, program, word, stop, reason):
    """At all ends it is the stop that counts, whatever comes later."""
    trace = work / f"{word}.ttape"
    run, before, after = stop(trace, program)
    done = run.end("srseq")
    checks.equal((done.status, traces.verify(trace)), (7, None), f"{word}: status, verify")
    told = answer("last", "--json", trace)
    threads = {tuple(frame["function"] for frame in thread["open"]): thread
               for thread in told.get("threads", [])}
    checks.equal(sorted(threads), [("inside", "main"), ("waits", "run")], f"{word}: what is open")
    for thread in threads.values():
        checks.equal((thread["end"], thread["stop_reason"]), (WENT_ON, reason), f"{word}: an end")
        checks.that(before <= thread["end_time_ns"] <= after, f"{word}: when",
                    before, thread["end_time_ns"], after)
    checks.equal(len({thread["end_time_ns"] for thread in threads.values()}), 1,
                 f"{word}: all at once")
    rows = {row["name"]: row for row in answer("report", "--json", trace).get("rows", [])}
    for name in ("waits", "inside"):
        row = rows.get(name, {"calls": None, "total_ns": -1})
        checks.that(row["calls"] == 1 and 0 <= row["total_ns"] <= after - run.begun,
                    f"{word}: {name} lasts until then", row)
    checks.equal(metadata(trace).get("stopped_by"), word, f"{word}: metadata")
    said = setting.tracetape("slow", trace).err.decode()
    checks.that("recording stopped before the program ended" in said, f"{word}: slow says so", said)
    dump = setting.tracetape("dump", trace).out.decode()
    checks.equal(len(re.findall(r"gap: nothing was recorded from here on, reason: stopped", dump)),
                 2, f"{word}: gaps")


def check_ends_while_off(checks, work, program):
    """Of who ends while it is off, the end is told, and what was open when it was switched off."""
    for letters, words, status in (("q", "exited with code 7", 7),
                                   ("k", "was killed by SIGKILL", 137)):
        trace = work / f"ends_{letters}.ttape"
        run = Run(trace, program)
        run.tell("tsd")
        off = run.control("off")
        done = run.end("srdd" + letters)
        label = f"while off, {words}"
        checks.equal((done.status, traces.verify(trace)), (status, None),
                     f"{label}: status, verify")
        told = answer("last", "--json", trace)
        checks.equal([process["end"] for process in told["processes"]], [words], f"{label}: how")
        found = {tuple(frame["function"] for frame in thread["open"]): thread["off_since_ns"]
                 for thread in told["threads"]}
        checks.equal(sorted(found), [("inside", "main"), ("waits", "run")], f"{label}: open")
        checks.that(all(since and off[0] <= since <= off[1] for since in found.values()),
                    f"{label}: since when", off, found)
        rows = {row["name"]: row for row in answer("report", "--json", trace)["rows"]}
        checks.that(rows["waits"]["total_ns"] <= off[1] - run.begun, f"{label}: waits", rows)
        text = setting.tracetape("last", trace).out.decode()
        checks.that("recording was off for the last" in text and
                    "open when it was switched off" in text, f"{label}: text", text)


def check_thread_ends_off(checks, work, program):
    """A thread that ends by itself while it is off has ended by itself, and its call before."""
    trace = work / "thread.ttape"
    run = Run(trace, program)
    run.tell("ts")
    off = run.control("off")
    run.tell("es")
    run.control("on")
    done = run.end("sq")
    checks.equal((done.status, traces.verify(trace)), (7, None), "a thread: status, verify")
    ends = {thread["end"] for thread in answer("last", "--json", trace)["threads"]}
    checks.equal(ends, {"ended by itself", "ended with its process"}, "a thread: ends")
    rows = {row["name"]: row for row in answer("report", "--json", trace)["rows"]}
    checks.that(rows["waits"]["total_ns"] <= off[1] - run.begun, "a thread: its call", rows)


def check_begins_late(checks, work, program):
    """--max-time counts from the first thread that is recorded: one that is not takes all of it,
    and executes the program then. A busy machine may need more time for the program itself."""
    (work / "later.c").write_text(LATER, "ascii")
    subprocess.run(["gcc", "-O1", "-static", "later.c", "-o", "later"], cwd=work, check=True)
    trace = work / "later.ttape"
    for milliseconds in (100, 1000, 8000):
        words = [work / "later", milliseconds, program]
        run = setting.start(setting.record_words(trace, words, "-f", "--max-time",
                                                 f"{milliseconds}ms", quiet=False),
                            stdin=subprocess.PIPE)
        said = run.communicate(b"d\nq\n", 60)[1]
        if b"before a call was seen" not in said:
            break
    checks.equal((run.returncode, traces.verify(trace)), (7, None), f"begins late: {said}")


def main():
    setting.need_verb("record", "control", "last")
    checks = setting.Checks("stops")
    with setting.work_dir() as folder:
        work = Path(folder)
        program = setting.build("p_stops.c", flags=("-O1",), log=False)
        check_off_and_on(checks, work, program)
        check_begun_off(checks, work, program)
        check_stop(checks, work, program, "request", stop_by_request, 4)
        check_stop(checks, work, program, "time", stop_by_time, 2)
        check_ends_while_off(checks, work, program)
        check_thread_ends_off(checks, work, program)
        check_begins_late(checks, work, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
