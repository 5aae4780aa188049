"""System calls: what one costs more when it is not chosen, recorded, recorded with the stack of 26
frames; what strace adds to the same call, in the same turns; bytes of a stack that comes again.
Once as the machine schedules, once with everything on one processor. And what a program of no
length takes longer, with the plans of its modules in the cache, and without."""
import os
import shutil
import subprocess
import time

from measure import BenchError, Row

FRAMES = 22  # and main and three of the C library's below, getppid above
COUNT = {"plain": 2000, "traced": 40}


def has_perf_trace():
    """Not where the kernel's rules, or a machine without its event of system calls, forbid it."""
    runs = shutil.which("perf") is not None and subprocess.run(
        ["perf", "trace", "-o", "/dev/null", "true"], check=False, capture_output=True,
        timeout=60).returncode == 0
    if not runs:
        print("SKIPPED: perf trace does not run here")
    return runs


def ways(bench):
    trace = bench.work / "calls.ttape"
    program = [bench.programs / "calls_measured", COUNT["plain"], FRAMES]
    few = [program[0], COUNT["traced"], FRAMES]
    record = [bench.command, "record", "-q", "--no-patch", "--force", "-o"]
    found = {"native": program,
             "not chosen": [*record, trace, "--syscalls=write", "--", *program],
             "chosen": [*record, trace, "--syscalls", "--", *program],
             "stack": [*record, bench.work / "stacks.ttape", "--syscalls", "--stacks", "--",
                       *program],
             "numbers": [*record, trace, "--syscalls", "--args", "--", *program],
             "native path": [*program, "/"],
             "path": [*record, trace, "--syscalls=access", "--args", "--", *program, "/"]}
    outside = [*record, bench.work / "outside.ttape", "--engine", "ptrace"]
    found["ptrace"] = [*outside, "--", *few]
    found["ptrace, stack"] = [*outside, "--stacks", "--", *few]
    if shutil.which("strace"):
        found["strace"] = ["strace", "-f", "-o", "/dev/null", *few]
        found["strace -k"] = ["strace", "-f", "-k", "-o", "/dev/null", *few]
    if has_perf_trace():
        found["perf trace"] = ["perf", "trace", "-o", "/dev/null", *few]
    return found


def rows_of(best, where):
    native = best["native"]
    added = {way: max(best[way] - native, 0.01) for way in best}
    yield Row(f"a call that was not chosen, over native, {where} (ns)", f"{native:.0f} native",
              f"{best['not chosen']:.1f}", added["not chosen"], 5, 1)
    yield Row(f"a chosen call, over native, {where} (ns)", f"{native:.0f} native",
              f"{best['chosen']:.1f}", added["chosen"], 60, 10)
    yield Row(f"with its stack of 26 frames, {where} (ns)", f"{native:.0f} native",
              f"{best['stack']:.1f}", added["stack"], 400, 100)
    yield Row(f"with what it is given, six numbers, over without, {where} (ns)",
              f"{best['chosen']:.0f} without", f"{best['numbers']:.1f}",
              max(best["numbers"] - best["chosen"], 0.01), 150, 50)
    yield Row(f"a call that is given a path, over native, {where} (ns)",
              f"{best['native path']:.0f} native", f"{best['path']:.1f}",
              best["path"] - best["native path"], 1500, 500)
    if "strace" in best:
        yield Row(f"added by a chosen call, strace -f's part, {where}", f"{added['strace']:.0f} ns",
                  f"{added['chosen']:.1f} ns", added["chosen"] / added["strace"], 0.01, 0.001)
        yield Row(f"added by a stack, strace -k's part, {where}", f"{added['strace -k']:.0f} ns",
                  f"{added['stack']:.1f} ns", added["stack"] / added["strace -k"], 0.001, 0.0002)
        yield Row(f"added by ptrace, strace -f's part, {where}", f"{added['strace']:.0f} ns",
                  f"{added['ptrace']:.0f} ns", added["ptrace"] / added["strace"], 1, 0.3)
        yield Row(f"added by ptrace with a stack, strace -k's part, {where}",
                  f"{added['strace -k']:.0f} ns", f"{added['ptrace, stack']:.0f} ns",
                  added["ptrace, stack"] / added["strace -k"], 1 / 25, 1 / 30)
    if "perf trace" in best:
        yield Row(f"added by ptrace, perf trace's part, {where}", f"{added['perf trace']:.0f} ns",
                  f"{added['ptrace']:.0f} ns", added["ptrace"] / added["perf trace"], 1, 0.3)


def start_ms(bench, options, cache=None):
    """Of the whole command; without a cache each time where cache is given."""
    trace = bench.work / "start.ttape"
    words = [bench.command, "record", "-q", "--force", "-o", trace, *options, "--",
             bench.programs / "calls_hooked", 1, 1]
    environment = {**os.environ, "BENCH_RESULT": str(bench.work / "start_ns"),
                   "XDG_CACHE_HOME": str(cache or bench.work / "cache")}
    if cache:
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(mode=0o700)
    begin = time.perf_counter()
    done = subprocess.run([*map(str, words)], env=environment, check=False, capture_output=True,
                          timeout=600)
    taken = (time.perf_counter() - begin) * 1e3
    if done.returncode != 0:
        raise BenchError(f"{words}: {done.stderr.decode()[-400:]}")
    return taken


def start_rows(bench):
    best = dict.fromkeys(("without", "cached", "cold"), float("inf"))
    for _ in range(8 * bench.repeats):
        for way, options, cache in (("without", [], None), ("cached", ["--syscalls=write"], None),
                                    ("cold", ["--syscalls=write"], bench.work / "cold")):
            best[way] = min(best[way], start_ms(bench, options, cache))
    for way, most, aim in (("cached", 2, 1), ("cold", 60, 30)):
        yield Row(f"start with plans {way}, over a recording without calls (ms)",
                  f"{best['without']:.1f} without", f"{best[way]:.1f}",
                  max(best[way] - best["without"], 0.01), most, aim)


def syscalls(bench):
    yield from start_rows(bench)
    found = ways(bench)
    yield from rows_of(bench.best_ns(found), "as scheduled")
    yield from rows_of(bench.best_ns(found, ["taskset", "-c", bench.cpu]), "one CPU")
    plain, stacks = (bench.info(bench.work / name) for name in ("calls.ttape", "stacks.ttape"))
    per = [about["file_bytes"] / about["events"] for about in (plain, stacks)]
    yield Row("bytes an event of a stack that comes again, over none", f"{per[0]:.3f}",
              f"{per[1]:.3f}", max(per[1] - per[0], 0), 1, 0.1)
