#!/usr/bin/env python3
"""When threads did not run, as `record` has it from the kernel: time on the CPU is what the kernel
itself counts, on a busy machine; report and the second decoder say the same; merging and cutting
keep it; where the kernel refuses, recording goes on and nothing is claimed. Run as root and as an
ordinary user."""
import contextlib
import ctypes
import json
import struct
import subprocess
import sys
from pathlib import Path

import setting
import traces

sys.path.insert(0, str(setting.SOURCE / "tests" / "conformance"))
from mini_partition import spent  # noqa: E402
import mini_reader  # noqa: E402

RUNS = setting.cut(10, 1)
TRIES = 8  # of what is compared with clocks that a busy machine reads at other moments than we do
NAP_NS = 2000000
SLACK_NS, SLACK_PART = 3000000, 0.2  # the kernel counts switching itself to one thread or the other
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
PUSHING, CALL = (0, 2, 3), 4


@contextlib.contextmanager
def busy(count):
    """Processes that compute meanwhile."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def deny_perf():
    """In the recorder's process: perf_event_open fails, as in a container."""
    number = PERF_EVENT_OPEN[setting.os.uname().machine]
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001),
            (0x06, 0, 0, 0x7fff0000)]
    program = b"".join(struct.pack("HBBI", *line) for line in code)
    room = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(room)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter_, 0, 0):
        setting.os._exit(99)


def report(trace, *options):
    done = subprocess.run([setting.COMMAND, "report", "--json", *options, trace], check=True,
                          capture_output=True, timeout=60)
    return json.loads(done.stdout)


def times_of(rows):
    return {row["name"]: [row["self_ns"], row["preempted_ns"], row["blocked_ns"], row["unknown_ns"]]
            for row in rows["rows"]}


def second_decoder(trace):
    """Self times by function, and how they were spent (F-SWI-06)."""
    reader, sums = mini_reader.Reader(trace.read_bytes()), {}
    for chunk, partition, (symbols, codes, ticks, _) in reader.decoded:
        at = 0
        sites = reader.file.scopes[chunk.scope].sites
        for segment, spans in zip(partition.segments, partition.read_switches()):
            stack, last = [frame.argument for frame in segment.frames], segment.base
            for event in range(at, at + segment.events):
                length, last = ticks[event] - last, ticks[event]
                if stack:
                    row = sums.setdefault(sites[stack[-1]][5].decode(), [0] * CALL)
                    for i, part in enumerate([length, *spent(spans, event, length)]):
                        row[i] += part
                kind, argument = symbols[codes[event] >> 1]
                if codes[event] & 1:
                    stack.pop()
                elif kind in PUSHING:
                    stack.append(argument)
            at += segment.events
    return sums


def differences(trace, told, rows):
    """Where this run is not what the kernel counted of it. Two clocks are read at two moments: one
    run of several may differ, but not each."""
    found = []
    threads = {row["tid"]: row for row in report(trace, "--by", "thread")["rows"]}
    for tid, cpu_ns, _ in told:
        row = threads[tid]
        off = row["preempted_ns"] + row["blocked_ns"]
        if row["unknown_ns"] * 100 > row["span_ns"]:
            found.append(f"much is unknown: {row}")
        on_ns, slack = row["span_ns"] - off, SLACK_NS + SLACK_PART * cpu_ns
        if abs(on_ns - cpu_ns) > slack + row["unknown_ns"]:
            found.append(f"on the CPU {on_ns} ns, the kernel counts {cpu_ns}: {row}")
    naps = sum(count for _, _, count in told)
    if rows["nap"][1] + rows["nap"][2] < naps * NAP_NS * 0.9:
        found.append(f"{naps} naps off the CPU: {rows['nap']}")
    if not any(row[1] for row in rows.values()):
        found.append(f"nothing was preempted: {rows}")
    return found


def check(checks, work, program, label, options=()):
    for left in range(TRIES - 1, -1, -1):
        trace, whole, unlike = check_once(checks, work, program, label, options)
        if not unlike:
            break
        print(f"{label}: {left} more tries: {unlike}", flush=True)
    checks.equal(unlike, [], f"{label}: as the kernel counts it")
    check_verbs(checks, trace, whole, label)
    return trace, whole


def check_once(checks, work, program, label, options):
    trace = work / "run.ttape"
    with busy(2):
        done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", program)
    checks.equal((done.status, done.err), (0, b""), f"{label}: status, messages")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    told = [tuple(map(int, line.split())) for line in done.out.decode().splitlines()]
    checks.equal(len(told), 4, f"{label}: threads")
    found = report(trace)
    checks.equal(found["idle_source"], "switches", f"{label}: what idle is made of")
    rows = times_of(found)
    checks.equal(rows, second_decoder(trace), f"{label}: as the second decoder has it")
    for row in report(trace, "--by", "thread")["rows"]:
        checks.that(row["idle_ns"] is not None, f"{label}: idle is known", row)
    return trace, found, differences(trace, told, rows)


def ask(verb, *words):
    done = setting.tracetape(verb, "--json", *words)
    return json.loads(done.out)


def check_verbs(checks, trace, found, label):
    """graph and diff say the same of idle and preempted time as report does."""
    graph = ask("graph", "--all", trace)
    checks.equal([graph["idle_source"], graph["idle_ns"]],
                 [found["idle_source"], found["idle_ns"]], f"{label}: idle of graph")
    if found["idle_source"] == "switches":
        rows = {row["name"]: [row["self_ns"] - row["preempted_ns"], row["preempted_ns"]]
                for row in found["rows"]}
        idle = {row["name"]: row["blocked_ns"] for row in found["rows"]}
        nodes = dict.fromkeys(idle, 0)
        for node in graph["nodes"]: # a thread's first function is a node of its own
            if node["name"] in idle:
                nodes[node["name"]] += node["idle_ns"]
        checks.equal(nodes, idle, f"{label}: idle of graph's nodes")
        both = ask("diff", trace, "--against", trace, trace, "--all", "--min-change", "1%")
        checks.equal(both["functions"]["same"], len(rows), f"{label}: no difference")
        empty = trace.with_name("empty.ttape")
        setting.tracetape("cut", trace, "-f", "-o", empty, "--events", "0..0")
        gone = ask("diff", trace, empty)
        checks.equal({row["name"]: [row["a"]["self_ns"], row["a"]["preempted_ns"]]
                      for row in gone["functions"]["rows"]}, rows, f"{label}: functions of diff")
        sums = {}
        for row in gone["paths"]["rows"]:
            for i, key in enumerate(("self_ns", "preempted_ns")):
                sums.setdefault(row["name"], [0, 0])[i] += row["a"][key]
        checks.equal(sums, rows, f"{label}: paths of diff")


def check_pieces(checks, work, trace, whole):
    """What is cut in two adds up, and joins again."""
    halves = [work / "a.ttape", work / "b.ttape"]
    for half, events in zip(halves, ("0..20", "20..")):
        done = setting.tracetape("cut", trace, "-f", "-o", half, "--events", events)
        checks.equal(done.status, 0, f"cut: {done.err}")
    sums = {}
    for half in halves:
        for name, times in times_of(report(half)).items():
            sums[name] = [a + b for a, b in zip(sums.get(name, [0] * CALL), times)]
    checks.equal(sums, times_of(whole), "two pieces together")
    joined = work / "joined.ttape"
    done = setting.tracetape("merge", *halves, "-f", "-o", joined)
    checks.equal(done.status, 0, f"merge: {done.err}")
    checks.equal(times_of(report(joined)), times_of(whole), "joined again")
    checks.equal(times_of(report(trace, "--time", "..+5ms")) != {}, True, "a part of the time")
    parts = [report(trace, "--time", part) for part in ("..+9ms", "+9ms..")]
    for key in ("preempted_ns", "idle_ns", "unknown_ns"):
        checks.equal(sum(part[key] for part in parts), whole[key], f"{key} of two ranges")


def check_times(checks, trace, out):
    """Sums of what the kernel counts of each thread, as it was read last."""
    numbers = {entry["key"]: entry["value"] for entry in traces.info(trace)["metadata"]}
    told = sum(int(line.split()[1]) for line in out.decode().splitlines())
    checks.that(1 <= numbers.get("cpu_threads", 0) <= 5, "refused: threads that were read", numbers)
    checks.that(0 < numbers.get("on_cpu_ns", 0) <= told * 2 + 100000000,
                f"refused: on the CPU, of {told}", numbers)


def check_without(checks, work, program):
    trace = work / "without.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--no-switches", "--", program)
    checks.equal((done.status, done.err), (0, b""), "--no-switches")
    checks.that(report(trace)["idle_source"] != "switches", "--no-switches: source of idle")
    check_verbs(checks, trace, report(trace, "--exact"), "--no-switches")
    if setting.os.uname().machine not in PERF_EVENT_OPEN:
        return
    done = subprocess.run([setting.COMMAND, "record", "-f", "-o", trace, "--", program],
                          capture_output=True, check=False, preexec_fn=deny_perf, timeout=60)
    checks.equal(done.returncode, 0, f"refused: status; {done.stderr}")
    checks.equal(done.stderr.count(b"does not tell when threads run"), 1, "refused: said once")
    checks.that(report(trace)["idle_source"] != "switches", "refused: source of idle")
    checks.equal(traces.verify(trace), None, "refused: verify")
    check_times(checks, trace, done.stdout)


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("switches")
    with setting.work_dir() as folder:
        work = Path(folder)
        program = setting.build("p_switches.c", "gcc", flags=("-O1",), log=False)
        for _ in range(RUNS):
            trace, whole = check(checks, work, program, "as it is")
        check_pieces(checks, work, trace, whole)
        check(checks, work, program, "monotonic, live, small partitions",
              ["--clock", "monotonic", "--live", "-p", "50"])
        check_without(checks, work, program)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
