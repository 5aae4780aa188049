"""What context values cost: hooks that only know open calls, over hooks that do nothing, in
processor time and in instructions; and asking for a value."""
import record_programs
from measure import Row
from sections_record import Recorded

HOOKS_MOST, HOOKS_AIM = 0.7, 0.35  # ns an event
ASK_MOST, NEW_MOST = 20, 2000      # ns
DEPTHS = (2, 25, 100)


def eager(bench):
    target = bench.work / "recorded" / "context_eager.so"
    bench.call(["gcc", "-O2", "-fPIC", "-shared", f"-I{bench.source / 'libtrace' / 'include'}",
                "-o", target, bench.source / "tests" / "bench" / "context_eager.c"])
    return target


def best(runs, way):
    return min(run["cpu"] for run in runs[way])


def hooks(bench, build):
    program = record_programs.minilang(bench)
    recorded = Recorded(bench, program, {})
    recorded.ours()  # counts events
    ways = {"empty hooks": record_programs.shared_library(bench, "hooks_empty"),
            "the value at each call, no frames": eager(bench),
            "open calls": build / "libtracetape-context.so.0"}
    runs = bench.interleave({name: lambda library=library: recorded.preloaded(library)
                             for name, library in ways.items()}, bench.repeats)
    for name in list(ways)[1:]:
        ns = (best(runs, name) - best(runs, "empty hooks")) * 1e9 / recorded.events
        bounds = (HOOKS_MOST, HOOKS_AIM) if name == "open calls" else (0, 0)
        yield Row(f"context, over empty hooks, ns an event: {name}", "-", f"{ns:.2f} ns", ns,
                  *bounds)


def asking(bench, build):
    target = bench.work / "recorded" / "context_measured"
    bench.call(["gcc", "-O2", "-finstrument-functions", "-o", target,
                f"-I{bench.source / 'libtrace' / 'include'}",
                bench.source / "tests" / "bench" / "context_measured.c", f"-L{build}",
                "-ltracetape-context", f"-Wl,-rpath,{build.resolve()}"])
    words = bench.work / "recorded" / "context_measured.words"
    for how, most in (("same", ASK_MOST), ("calls", ASK_MOST), ("new", NEW_MOST)):
        for depth in DEPTHS:
            words.unlink(missing_ok=True)
            ns = float(bench.call(["env", f"TRACETAPE_CONTEXT={words}", target, str(depth), how]))
            bounds = (most, most) if depth == DEPTHS[1] else (0, 0)
            yield Row(f"context, asking for it, depth {depth}, {how}", "-", f"{ns:.1f} ns", ns,
                      *bounds)
    words.unlink(missing_ok=True)


def context(bench):
    build = record_programs.runtime(bench).parent
    yield from hooks(bench, build)
    yield from asking(bench, build)
