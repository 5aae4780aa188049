#!/usr/bin/env python3
"""What the runtime learns from a system call it learns from its result. What the kernel refuses
changes nothing: names that cannot be read, filters that are none, processes that cannot be made
(N-A1, U2). What a program has forbidden itself on pain of death, the runtime does not do either:
forks, threads, libraries, waiting, executing under such a filter; and the trace says from when on
events are lost, and why. Run as root and as an ordinary user."""
import re
from pathlib import Path

import setting
import traces

CALLS = 20_000
SILENT = ("strict", "beside", "counter")  # ways on which events are lost for certain
REFUSED = 39  # questions, behind each of which there are calls
# Of leaf's: before and behind the filter, and by whoever was made.
WAYS = {"fork": 4, "vfork": 2, "thread": 5, "load": 2, "wait": 2, "name": 2, "execute": 5,
        "raw": 4, "beside": 3, "strict": 2, "counter": 3}
HOOKS = [[], ["--syscalls", "--stacks", "--args", "--retval"], ["--clock", "monotonic"],
         ["--block"], ["--drop", "--buffer", "128K"]]
PATCHES = [["--patch", "."], ["--patch", ".", "--module", "."], ["--nest-libcalls"]]


def record(trace, words, options):
    """Patched, where that is asked for; else by hooks."""
    way = options if any("patch" in o or "libcalls" in o for o in options) else \
        ["--no-patch", *options]
    return setting.run([setting.COMMAND, "record", "-f", "-o", trace, *way, "--", *words])


def said_of_losses(done):
    return [line for line in done.said() if "events were lost" in line]


def refused(checks, work, programs):
    for label, program, options in programs:
        for way in ([], ["instruction"]):
            words = [program, "20", *way]
            alone = setting.run(words)
            trace = work / "refused.ttape"
            done = record(trace, words, options)
            label = " ".join(["refused", *way, *options])
            checks.equal((done.status, done.out, done.program_err()),
                         (11, alone.out, b""), f"{label}: status and output")
            checks.equal(said_of_losses(done), [], f"{label}: losses")
            if not checks.that(trace.is_file(), f"{label}: no trace", done.err):
                continue
            about = traces.info(trace)
            checks.equal((about["lost"], about["dropped"], about["sandboxed"]), (0, 0, 0),
                         f"{label}: losses in the trace")
            checks.equal({s["name"] for s in about["stream_list"]}, {"refused"}, f"{label}: name")
            if "--nest-libcalls" not in options:
                checks.equal(traces.call_counts(trace)["enter"]["leaf"], REFUSED * 20 + 1,
                             f"{label}: calls")


def check_losses(checks, label, way, done, about):
    """Each event is there or counted; what was lost behind the filter has its reason."""
    said = said_of_losses(done)
    lost = about["lost"] + about["dropped"] + traces.number(about, "silenced_events")
    told = sum(int(re.search(r"(\d+) events were lost", line)[1]) for line in said)
    checks.equal(told, lost, f"{label}: losses that are told")
    sandboxed = [line for line in said if "in a sandbox" in line]
    checks.equal(bool(sandboxed), about["sandboxed"] != 0, f"{label}: reason of losses")
    if way in SILENT and "--nest-libcalls" not in label and "--drop" not in label:
        checks.that(about["sandboxed"] >= 2 * CALLS, f"{label}: events lost in the sandbox", said)
    return lost


def ways(checks, work, programs):
    for program, plugin, option_list in programs:
        for way, times in WAYS.items():
            for options in option_list:
                one_way(checks, work, [program, way, str(CALLS), plugin], options, times)


def one_way(checks, work, words, options, times):
    way, label = words[1], " ".join([words[1], *options])
    alone = setting.run(words)
    if alone.status == 77:
        print(f"left out: the kernel has no {way}")
        return
    checks.equal((alone.status, alone.out), (17, b"called\n"), f"{way}, alone: {alone.err}")
    trace = work / "way.ttape"
    done = record(trace, words, options)
    checks.equal((done.status, done.out, done.program_err()), (17, b"called\n", b""),
                 f"{label}: status and output")
    if not checks.that(trace.is_file(), f"{label}: no trace", done.err):
        return
    about = traces.info(trace)
    lost = check_losses(checks, label, way, done, about)
    is_narrow = "--drop" in options or "--nest-libcalls" in options
    if not is_narrow and way not in SILENT:
        checks.equal(lost, 0, f"{label}: lost; {said_of_losses(done)}")
    if way == "name" and "--drop" not in options:
        checks.equal({s["name"] for s in about["stream_list"]}, {"confined"}, f"{label}: name")
    if "--nest-libcalls" not in options and not (way == "execute" and "--patch" in options):
        found = traces.call_counts(trace)
        leaves = found["enter"]["leaf"] + found["exit"]["leaf"]
        wanted = 2 * CALLS * times
        checks.that(wanted <= leaves + lost <= wanted + 1000 + len(WAYS) * times,
                    f"{label}: {leaves} events of leaf and {lost} lost, wanted {wanted}")
    if about["sandboxed"] != 0:
        dump = setting.tracetape("dump", trace).out
        checks.that(b"reason: sandbox" in dump, f"{label}: no gap says from when on")
    checks.equal(traces.verify(trace), None, f"{label}: verify")


def main():
    setting.need_verb("record", "info")
    checks = setting.Checks("results")
    flags = {"hooks": ("-O2",), "patched": ("-O2",)}
    made = {kind: [setting.build(name, flags=flags[kind], log=False, hooks=kind == "hooks")
                   for name in ("p_refused.c", "p_sandbox_ways.c")] for kind in flags}
    plugins = {kind: setting.build("p_sandbox_ways.c", flags=("-O2", "-shared", "-fPIC",
                                                              "-DPLUGIN"),
                                   log=False, hooks=kind == "hooks") for kind in flags}
    few = setting.cut(99, 2)
    with setting.work_dir() as folder:
        work = Path(folder)
        refused(checks, work,
                [("hooks", made["hooks"][0], options) for options in HOOKS[:few]]
                + [("patched", made["patched"][0], options) for options in PATCHES[:few]])
        ways(checks, work, [(made["hooks"][1], plugins["hooks"], HOOKS[:few] + HOOKS[4:]),
                            (made["patched"][1], plugins["patched"], PATCHES[1:few])])
    checks.verdict()


if __name__ == "__main__":
    main()
