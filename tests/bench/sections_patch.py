"""Functions that are patched: what a call costs more than without a recorder, beside compiled-in
hooks and beside uftrace's patches, on the same functions of one program, in the same turns."""
import os
import shutil
import subprocess
import time

from measure import BenchError, Row
from sections_syscalls import start_ms

FUNCTIONS = "^(leaf|inner|outer)$"
COUNT = 3000
CALLS = 40 * 4 * COUNT  # as the program has it
BOUNDS = {"hook": (0.5, 0.3), "recorder": (1.5, 1.1)}  # of one recorded: floor, aim
LONGER = 10 * COUNT  # hooks are told what is left out while the program runs


def uftrace_calls(bench):
    """That uftrace has of the functions: what it cannot patch it leaves out."""
    done = subprocess.run(["uftrace", "report", "-d", bench.work / "uftrace.data"], check=False,
                          capture_output=True, text=True, timeout=600)
    rows = [line.split() for line in done.stdout.splitlines()]
    return sum(int(row[-2]) for row in rows if row and row[-1] in ("leaf", "inner", "outer"))


def ways(bench):
    plain, hooked = (bench.programs / name for name in ("patch_measured", "patch_hooked"))
    record = [bench.command, "record", "-q", "--force", "-o"]
    found = {"native": [plain, COUNT],
             "patched": [*record, bench.work / "patched.ttape", "--patch", FUNCTIONS, "--", plain,
                         COUNT],
             "valued": [*record, bench.work / "valued.ttape", "--patch", FUNCTIONS,
                        f"--args={FUNCTIONS}@arg1/p,arg2/i64,retval/i64", "--", plain, COUNT],
             "hooks": [*record, bench.work / "hooked.ttape", "--", hooked, COUNT]}
    if shutil.which("uftrace"):
        uftrace = ["uftrace", "record", "-P", FUNCTIONS, "-d", bench.work / "uftrace.data"]
        found["uftrace"] = [*uftrace, plain, COUNT]
        found["uftrace valued"] = [
            *uftrace[:-1], bench.work / "uftrace-valued.data", "-A",
            f"{FUNCTIONS}@arg1/x64,arg2/i64", "-R", f"{FUNCTIONS}@retval/i64", plain, COUNT]
    return found


def left_ways(bench, left):
    """Of calls that are recorded, and of those that a filter leaves out: before they are patched,
    in hooks, or in the recorder."""
    plain, hooked = (bench.programs / name for name in ("patch_measured", "patch_hooked"))
    record = [bench.command, "record", "-q", "--force", "--patch", FUNCTIONS, "-o"]
    hooks = [*record[:4], "--no-patch", "-o"]
    named = ["--filter", "!leaf, inner, outer", "--"]
    return {"native": [plain, LONGER],
            "patched": [*record, bench.work / "patched.ttape", "--", plain, LONGER],
            "hooks": [*hooks, bench.work / "hooked.ttape", "--", hooked, LONGER],
            "trigger": [*record, bench.work / "trigger.ttape", "--on",
                        "leaf times 4000000000 do off; outer > 1000s do off", "--", plain, LONGER],
            "plan": [*record, left["plan"], *named, plain, LONGER],
            "hook": [*hooks, left["hook"], *named, hooked, LONGER],
            "recorder": [*record, left["recorder"], "--filter", "below nothing", "--", plain,
                         LONGER]}


def filters(bench):
    """What a call costs more than without a recorder that a filter leaves out (spec/filters.md)."""
    left = {way: bench.work / f"left_{way}.ttape" for way in ("plan", "hook", "recorder")}
    for path in left.values():
        path.unlink(missing_ok=True)
    best = bench.best_ns(left_ways(bench, left), ["taskset", "-c", bench.cpu])
    for path in left.values():
        if path.is_file():  # where nothing is recorded, there is none
            raise BenchError(f"{path.name} has calls")
    added = {way: max(ns - best["native"], 0.01) for way, ns in best.items()}
    yield Row("a call left out by plan, over native (ns)", f"{best['native']:.2f} native",
              f"{best['plan']:.2f}", added["plan"], 0.5, 0.1)
    yield Row("a call left out by the hook, over native (ns)", f"{best['native']:.2f} native",
              f"{best['hook']:.2f}", added["hook"], 0, 0)
    yield Row("triggers that do not fire, over a call recorded (ns)",
              f"{best['patched']:.2f} recorded", f"{best['trigger']:.2f}",
              max(best["trigger"] - best["patched"], 0.01), 1, 0.5)
    for way, kept in (("hook", "hooks"), ("recorder", "patched")):
        yield Row(f"a call left out by the {way}, of one recorded", f"{added[kept]:.1f} ns",
                  f"{added[way]:.1f} ns", added[way] / added[kept], *BOUNDS[way])


def plan_of_cc1(bench):
    """Of a large program: made, and found in the cache; with the names of all its functions."""
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], check=False, capture_output=True,
                              text=True).stdout.strip()
    cache = bench.work / "plan-cache"
    took = []
    for _ in range(2 * bench.repeats):
        if len(took) % 2 == 0:
            shutil.rmtree(cache, ignore_errors=True)
            cache.mkdir(mode=0o700)
        start = time.monotonic()
        done = subprocess.run([bench.command, "record", "--patch", "^none$", "--plan", "--",
                               compiler], env={**os.environ, "XDG_CACHE_HOME": str(cache)},
                              check=False, capture_output=True, timeout=600)
        took.append(time.monotonic() - start)
        if done.returncode != 0:
            raise BenchError(f"no plan of {compiler}: {done.stderr.decode()[-400:]}")
    return min(took[::2]), min(took[1::2])


def start_rows(bench):
    """What a program of three modules takes longer to start with all their functions patched, the
    C library's and the loader's included; of the whole command."""
    best = dict.fromkeys(("without", "cached", "cold"), float("inf"))
    options = ["--patch", ".", "--module", "."]
    for _ in range(4 * bench.repeats):
        for way, cache in (("cached", None), ("cold", bench.work / "cold")):
            best[way] = min(best[way], start_ms(bench, options, cache))
        best["without"] = min(best["without"], start_ms(bench, ["--no-patch"]))
    for way in ("cached", "cold"):
        yield Row(f"start with all modules patched, plans {way}, over none (ms)",
                  f"{best['without']:.1f} without", f"{best[way]:.1f}",
                  max(best[way] - best["without"], 0.01), 0, 0)


def library_rows(bench):
    """A call of the executable into the C library, with both its ends, beside uftrace's."""
    program = [bench.programs / "library_measured", COUNT]
    found = {"native": program,
             "ours": [bench.command, "record", "-q", "--force", "-o",
                      bench.work / "called.ttape", "--no-patch", "--libcalls", "--", *program]}
    if shutil.which("uftrace"):
        found["uftrace"] = ["uftrace", "record", "--force", "-d", bench.work / "uftrace.data",
                            *program]
    best = bench.best_ns(found, ["taskset", "-c", bench.cpu])
    calls = bench.info(bench.work / "called.ttape")["events"] // 2
    if calls < 40 * 2 * COUNT:
        raise BenchError(f"{calls} library calls were recorded")
    added = {way: max(best[way] - best["native"], 0.01) for way in best}
    yield Row("a recorded library call, over native (ns)", f"{best['native']:.1f} native",
              f"{best['ours']:.1f}", added["ours"], 0, 0)
    if "uftrace" in best:
        yield Row("the same, uftrace record --force's part", f"{added['uftrace']:.1f} ns",
                  f"{added['ours']:.1f} ns", added["ours"] / added["uftrace"], 0.4, 0.3)


def patch(bench):
    best = bench.best_ns(ways(bench), ["taskset", "-c", bench.cpu])
    events = [bench.info(bench.work / f"{name}.ttape")["events"]
              for name in ("patched", "hooked", "valued")]
    if "uftrace" in best and uftrace_calls(bench) != CALLS:
        raise BenchError(f"uftrace recorded {uftrace_calls(bench)} of {CALLS} calls")
    if len(set(events)) != 1:
        raise BenchError(f"events: {events} patched, with hooks, with values")
    added = {way: max(best[way] - best["native"], 0.01) for way in best}
    yield Row("a call of a patched function, over native (ns)", f"{best['native']:.1f} native",
              f"{best['patched']:.1f}", added["patched"], 0, 0)
    yield Row("the same, compiled-in hooks' part", f"{added['hooks']:.1f} ns",
              f"{added['patched']:.1f} ns", added["patched"] / added["hooks"], 1.35, 1.2)
    if "uftrace" in best:
        yield Row("the same, uftrace record -P's part", f"{added['uftrace']:.1f} ns",
                  f"{added['patched']:.1f} ns", added["patched"] / added["uftrace"], 0.4, 0.3)
    yield Row("with two arguments and what it returns (ns)", f"{best['patched']:.1f} without",
              f"{best['valued']:.1f}", added["valued"], 0, 0)
    if "uftrace" in best:
        yield Row("the same, uftrace record -P -A -R's part", f"{added['uftrace valued']:.1f} ns",
                  f"{added['valued']:.1f} ns", added["valued"] / added["uftrace valued"], 1, 0.5)
    yield from library_rows(bench)
    made, cached = plan_of_cc1(bench)
    yield Row("a patch plan of cc1, made (s)", "", f"{made:.2f}", made, 1, 0.7)
    yield Row("the same, from the cache, with its functions' names (s)", f"{made:.2f} made",
              f"{cached:.3f}", cached, 0.05, 0.03)
    yield from start_rows(bench)
