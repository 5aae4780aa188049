#!/usr/bin/env python3
"""However a program ends, the trace says how and when: `record`, `last`, `info` and `dump` tell it,
and what was open then lasts until then, in every report and export (F-FCT-08 to F-FCT-11). Run as
root and as an ordinary user."""
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import setting
import traces

STUCK_MS = setting.cut(2000, 200)
# argument: how record says it, exit status, metadata, fact, the innermost open frame
CODES = {"segv": ("was killed by SIGSEGV", 139, ("signal", 11), (3, 11), "innermost"),
         "abort": ("was killed by SIGABRT", 134, ("signal", 6), (3, 6), "innermost"),
         "exit": ("exited with code 7", 7, ("exit_code", 7), (1, 7), "innermost"),
         "_exit": ("exited with code 8", 8, ("exit_code", 8), (2, 8), "innermost"),
         "return": ("exited with code 11", 11, ("exit_code", 11), (1, 11), None),
         "stuck": ("was killed by SIGKILL", 137, ("signal", 9), (3, 9), "stuck")}


# how the trace says it, where that is more than record and info say
SAID = {"_exit": "exited by _exit with code 8"}


def last(path):
    done = setting.tracetape("last", "--json", path)
    return json.loads(done.out) if done.status in (0, 3) else {"error": str(done)}


def open_names(thread):
    return [frame["function"] for frame in thread["open"]]


def check_ending(checks, trace, program, how):
    words, status, metadata, fact, innermost = CODES[how]
    begun = time.monotonic()
    done = setting.run(setting.record_words(trace, [program, how, STUCK_MS], "-f", quiet=False))
    took_ns = (time.monotonic() - begun) * 1e9
    checks.equal(done.status, status, f"{how}: status")
    verb = "last" if innermost and status > 128 else "report"
    said = f"tracetape: the command {words}: see tracetape {verb} '{trace}'"
    checks.equal(done.said()[-1].split(", or tracetape view ")[0], said,
                 f"{how}: what record says")
    info = traces.info(trace)
    events = re.search(r"(?m): (\d+) events of ", "\n".join(done.said()))
    checks.equal(events and int(events.group(1)), info["events"], f"{how}: events, as in info")
    found = [(item["key"], item["value"]) for item in info["metadata"]
             if item["key"] in ("exit_code", "signal", "exit_status")]
    checks.equal(found, [metadata], f"{how}: metadata")
    about = setting.tracetape("info", trace).out.decode()
    checks.that(f"\ncommand     {words}\n" in about, f"{how}: info", about)
    dump = setting.tracetape("dump", trace).out.decode()
    in_trace = SAID.get(how, words)
    checks.that(f"/* the process {in_trace} */" in dump, f"{how}: dump", dump[-400:])
    facts = re.findall(r"tracetape:process_end\((\d+), (\d+)\)", dump)
    checks.equal(facts, [tuple(map(str, fact))], f"{how}: facts of the process")
    checks.equal(sorted(re.findall(r"tracetape:thread_end\((\d+)\)", dump)), ["1", "2"],
                 f"{how}: facts of the threads")
    told = last(trace)
    checks.equal(told["processes"][0]["end"], in_trace, f"{how}: last, the process")
    threads = {thread["tid"]: thread for thread in told["threads"]}
    main = threads[told["processes"][0]["pid"]]
    stack = [] if innermost is None else ["innermost", "middle", "main"]
    stack = ["stuck", *stack] if innermost == "stuck" else stack
    checks.equal(open_names(main), stack, f"{how}: last, what is open")
    checks.that(any(call["function"] == "work" and call["count"] == 12 for call in main["calls"]),
                f"{how}: last, calls are folded", main["calls"])
    checks.equal(sorted(open_names(thread) for thread in threads.values() if thread is not main),
                 [[], ["sleeper"]], f"{how}: last, other threads")
    text = setting.tracetape("last", trace).out.decode()
    checks.that(in_trace in text and "1 more thread ended by itself" in text, f"{how}: last, text",
                text)
    checks.equal(traces.verify(trace), None, f"{how}: verify")
    return done, took_ns


def times_of_stuck(trace):
    report = json.loads(setting.tracetape("report", "--json", trace).out)
    row = [row for row in report["rows"] if row["name"] == "stuck"][0]
    yield "report, total", row["total_ns"]
    yield "report, self", row["self_ns"]
    slow = json.loads(setting.tracetape("slow", "--json", trace, "stuck").out)
    yield "slow", slow["calls"][0]["duration_ns"]
    folded = setting.tracetape("export", "--format", "folded", trace)
    if folded.status:
        folded = setting.tracetape("export", "--format", "folded", trace)
    yield "folded", int(re.search(r"(?m);stuck (\d+)$", folded.out.decode()).group(1))
    for verb in ("tree", "graph"):
        text = setting.tracetape(verb, trace).out.decode()
        line = [line for line in text.splitlines() if re.search(r"\bstuck( |$)", line) and
                "thread" not in line][0]
        number, unit = re.search(r"([0-9.]+) (s|ms|us)", line).groups()
        yield verb, float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3}[unit]


def check_stuck(checks, trace, done, took_ns):
    least_ns = int(re.search(rb"(?m)^(\d+)$", done.out).group(1))
    for what, found_ns in times_of_stuck(trace):
        checks.that(least_ns * 0.999 <= found_ns <= took_ns, f"time in stuck(): {what}",
                    f"{least_ns} <= {found_ns} <= {took_ns}")


def check_child(checks, trace, program):
    """It is waited for at once: so how it was killed may be unknown to old kernels, never wrong.
    What it says itself is known."""
    for how, wanted in {"exit": "exited with code 7", "_exit": "exited by _exit with code 8",
                        "quick_exit": "exited by _exit with code 10",
                        "return": "exited with code 11",
                        "segv": "was killed by SIGSEGV"}.items():
        setting.run(setting.record_words(trace, [program, how, 0, "child"], "-f"))
        ends = [process["end"] for process in last(trace)["processes"]]
        if how == "segv" and ends[1:] == ["ended, how is not known"]:
            continue
        checks.equal(ends, ["exited with code 0", wanted], f"a child, {how}")


def ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def check_ignored(checks, trace, program):
    """Who starts the recorder ignores children: the recorder waits, the program ignores them."""
    script = "import signal, sys; sys.exit(3 + 4 * (signal.getsignal(17) == signal.SIG_IGN))"
    done = setting.run(setting.record_words(trace, [program, "exit", 0], "-f"),
                       before=ignore_children)
    checks.equal(done.status, 7, "children are ignored: status")
    checks.equal(last(trace)["processes"][0]["end"], "exited with code 7",
                 "children are ignored: the end")
    done = setting.run(setting.record_words(trace, [sys.executable, "-c", script], "-f"),
                       before=ignore_children)
    checks.equal(done.status, 7, "children are ignored: in the program, too")


def check_fault(checks, trace, program):
    """Where it was (F-FCT-12), as the program's own handler is told; a signal sent is no fault."""
    for how, status, wanted in (("told", 139, 0x1234), ("untold", 139, None), ("sent", 11, None)):
        done = setting.run(setting.record_words(trace, [program, how], "-f"))
        checks.equal(done.status, status, f"a fault, {how}: status")
        main = [thread for thread in last(trace)["threads"] if thread["tid"] == thread["pid"]]
        checks.equal([thread.get("fault_address") for thread in main], [wanted],
                     f"a fault, {how}: address")
        said = "  SIGSEGV at address 0x1234\n" in setting.tracetape("last", trace).out.decode()
        checks.equal(said, wanted is not None, f"a fault, {how}: last")
        dump = setting.tracetape("dump", trace).out.decode()
        checks.equal(len(re.findall(r"tracetape:fault\(11, 0x1234\)", dump)),
                     int(wanted is not None), f"a fault, {how}: dump")
        checks.equal(traces.verify(trace), None, f"a fault, {how}: verify")


def check_late_exit(checks, work, program):
    """The recorder is killed, then the program exits: it has said so where `recover` looks."""
    trace = work / "late.ttape"
    process = setting.start(setting.record_words(trace, [program, "asks"]),
                            stdin=subprocess.PIPE)
    checks.equal(process.stdout.readline(), b"asks\n", "the program began")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.read()  # until the program has gone
    process.stdout.close()
    process.stderr.close()
    folder = work / "late.ttape.recording"
    told = last(folder)
    checks.equal([process["end"] for process in told["processes"]],
                 ["exited by _exit with code 8"], "it ends after its recorder")
    setting.tracetape("recover", "-q", folder, "-o", work / "late_again.ttape", "--clean")
    setting.forget_arena(process.pid)


def check_killed_recorder(checks, work, program):
    words = setting.record_words(work / "killed.ttape", [program, "waits"])
    process = setting.start(words)
    checks.equal(process.stdout.readline(), b"waits\n", "the program began")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    setting.kill_group(process)
    process.stdout.read()  # until the program has gone
    process.stdout.close()
    process.stderr.close()
    folder = work / "killed.ttape.recording"
    told = last(folder)
    threads = {thread["tid"]: thread for thread in told.get("threads", ())}
    checks.equal(len(threads), 3, "a recorder that was killed: threads")
    main = threads.get(min(threads, default=0), {"open": [], "end": ""})
    checks.equal(open_names(main), ["waits", "innermost", "middle", "main"],
                 "a recorder that was killed: what was open")
    checks.equal(main["end"], "was seen last when the recorder was killed",
                 "a recorder that was killed: the end")
    done = setting.tracetape("recover", "-q", folder, "-o", work / "again.ttape", "--clean")
    checks.equal((done.status, traces.verify(work / "again.ttape")), (0, None), "recover")
    setting.forget_arena(process.pid)


def check_stopped(checks, work, program):
    """Recording that ends before the program does: the command is gone, and somebody asks twice."""
    trace = work / "stopped.ttape"
    words = setting.record_words(trace, ["sh", "-c", '"$0" waits &', program], quiet=False)
    process = setting.start(words)
    checks.equal(process.stdout.readline(), b"waits\n", "the program began")
    said = next((line for line in process.stderr if b"Ctrl-C" in line), b"")
    pattern = rb"tracetape: the command has ended; '.+' \(process \d+\), which it started, runs on"
    checks.that(re.match(pattern, said), "what is waited for is said", said)
    while process.poll() is None:
        os.kill(process.pid, signal.SIGINT)
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    threads = last(trace).get("threads", [])
    checks.equal([thread["end"] for thread in threads if thread["open"]],
                 ["went on when recording ended"] * 2, "a recording that was stopped")
    setting.kill_group(process)
    process.stdout.close()
    process.stderr.close()


def check_small_stack(checks, trace, program):
    """What the recorder holds on its stacks fits into a small one, too."""
    done = setting.run(["sh", "-c", 'ulimit -s 64; exec "$@"', "sh",
                        *setting.record_words(trace, [program, "exit"], "-f")])
    checks.equal((done.status, traces.verify(trace)), (7, None), "a small stack")


def main():
    setting.need_verb("record", "last")
    setting.go_apart()
    checks = setting.Checks("endings")
    with setting.work_dir() as folder:
        work = Path(folder)
        program = setting.build("p_endings.c", "gcc", flags=("-O1",))
        for how in CODES:
            trace = work / f"{how}.ttape"
            done, took_ns = check_ending(checks, trace, program, how)
            if how == "stuck":
                check_stuck(checks, trace, done, took_ns)
        check_child(checks, work / "child.ttape", program)
        check_ignored(checks, work / "ignored.ttape", program)
        check_fault(checks, work / "fault.ttape", program)
        check_small_stack(checks, work / "stack.ttape", program)
        check_killed_recorder(checks, work, program)
        check_late_exit(checks, work, program)
        check_stopped(checks, work, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
