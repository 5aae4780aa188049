"""Functions that are patched: what a call costs more than without a recorder, beside compiled-in
hooks and beside uftrace's patches, on the same functions of one program, in the same turns."""
import os
import shutil
import subprocess
import time

from measure import BenchError, Row

FUNCTIONS = "^(leaf|inner|outer)$"
COUNT = 3000
CALLS = 40 * 4 * COUNT  # as the program has it


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
             "hooks": [*record, bench.work / "hooked.ttape", "--", hooked, COUNT]}
    if shutil.which("uftrace"):
        found["uftrace"] = ["uftrace", "record", "-P", FUNCTIONS, "-d", bench.work / "uftrace.data",
                            plain, COUNT]
    return found


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


def patch(bench):
    best = bench.best_ns(ways(bench), ["taskset", "-c", bench.cpu])
    events = [bench.info(bench.work / name)["events"] for name in ("patched.ttape", "hooked.ttape")]
    if "uftrace" in best and uftrace_calls(bench) != CALLS:
        raise BenchError(f"uftrace recorded {uftrace_calls(bench)} of {CALLS} calls")
    if events[0] != events[1]:
        raise BenchError(f"events: {events[0]} patched, {events[1]} with hooks")
    added = {way: max(best[way] - best["native"], 0.01) for way in best}
    yield Row("a call of a patched function, over native (ns)", f"{best['native']:.1f} native",
              f"{best['patched']:.1f}", added["patched"], 0, 0)
    yield Row("the same, compiled-in hooks' part", f"{added['hooks']:.1f} ns",
              f"{added['patched']:.1f} ns", added["patched"] / added["hooks"], 1.35, 1.2)
    if "uftrace" in best:
        yield Row("the same, uftrace record -P's part", f"{added['uftrace']:.1f} ns",
                  f"{added['patched']:.1f} ns", added["patched"] / added["uftrace"], 0.4, 0.3)
    made, cached = plan_of_cc1(bench)
    yield Row("a patch plan of cc1, made; from the cache (s)", f"{made:.2f} made",
              f"{cached:.2f} cached", made, 0, 0)
