"""What a hook costs, part by part (hooks_parts.c): each is over the part before it. The best of
some interleaved runs: what disturbs only adds."""
import record_programs
from measure import Row
from sections_record import Recorded

PARTS = ("clock", "store", "place", "shadow stack")  # PARTS of hooks_parts.c, from 1
FORM = "hook, ns an event: {}"


def part_library(bench, number):
    target = bench.work / "recorded" / f"hooks_parts_{number}.so"
    bench.call(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", f"-DPARTS={number}",
                f"-I{bench.source}", "-o", target,
                bench.source / "tests" / "bench" / "hooks_parts.c"])
    return target


def best(runs, way):
    return min(run["cpu"] for run in runs[way])


def hook(bench):
    program = record_programs.minilang(bench)
    empty = record_programs.shared_library(bench, "hooks_empty")
    recorded = Recorded(bench, program, {})
    libraries = {"calls of empty hooks": empty}
    libraries |= {name: part_library(bench, i + 1) for i, name in enumerate(PARTS)}
    ways = {"plain": lambda: recorded.alone(program.plain)}
    ways |= {name: lambda library=library: recorded.preloaded(library)
             for name, library in libraries.items()}
    ways["gate, epoch, room, new blocks"] = recorded.ours
    runs = bench.interleave(ways, bench.repeats)
    names = list(ways)
    for before, name in zip(names, names[1:]):
        ns = (best(runs, name) - best(runs, before)) * 1e9 / recorded.events
        yield Row(FORM.format(name), "-", f"{ns:.2f} ns", ns, 0, 0)
    whole = (best(runs, names[-1]) - best(runs, "plain")) * 1e9 / recorded.events
    yield Row(FORM.format("all"), "-", f"{whole:.2f} ns", whole, 0, 0)
