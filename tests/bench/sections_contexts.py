"""Context values of Lua, SQLite and tcc from Debian's sources, of contexts that are sampled at run
time: what a dictionary of that run and a recording of the next one say of them, whether the same
contexts have the same values in the next run, at other addresses; and by operation and depth, how
many share their value with another context."""
import json
import shutil
from collections import Counter, defaultdict

import record_programs
import sections_search
from measure import BenchError, Row

CONTEXTS, CONTEXTS_QUICK, AT_ONCE = 10000, 500, 1000
EVERY = {"lua": 1, "sqlite": 1, "tcc": 7}  # calls from one sample to the next
OPERATIONS = ("affine", "xor", "add", "multiply", "affine of addresses", "xor of addresses",
              "add of addresses", "multiply of addresses")
DEPTHS = ((1, 14), (15, 24), (25, 34), (35, 9999))
RIGHT = 100  # %
THERE_LEAST = 0.9


def count_of(bench):
    return bench.values or (CONTEXTS_QUICK if bench.quick else CONTEXTS)


def sampler(bench):
    library = bench.work / "recorded" / "context_sampled.so"
    bench.call(["gcc", "-O2", "-fPIC", "-shared", f"-I{bench.source / 'libtrace' / 'include'}",
                "-o", library, bench.source / "tests" / "bench" / "context_sampled.c",
                "-Wl,--unresolved-symbols=ignore-all"])
    return library


def run(bench, name, which, words, library, options):
    """A run that is sampled; the lines that it wrote."""
    log = bench.work / "recorded" / f"{name}.contexts.{which}.log"
    log.unlink(missing_ok=True)
    program, arguments, folder = words
    bench.call(["env", f"SAMPLE_TO={log}", f"SAMPLE_EVERY={EVERY[name]}", "SAMPLE_ONCE=1", *options,
                f"LD_PRELOAD={library}", program, *arguments], cwd=folder)
    return [line for line in log.read_text(encoding="ascii").splitlines()
            if not line.startswith("-")]  # in front of the first call none is open


def stacks_of(bench, words, values):
    """[(functions of each stack, how certain)] of values."""
    answers = []
    for at in range(0, len(values), AT_ONCE):
        text = bench.call(["sh", "-c", '"$@" || test $? -eq 1', "sh", bench.command, "context",
                           "--json", *words, *values[at:at + AT_ONCE]])
        answers += [([tuple(stack["functions"]) for stack in answer["stacks"]],
                     answer["certainty"]) for answer in json.loads(text)]
    return answers


def depth_of(value):
    depth = int(value.split("/")[1])
    return next(i for i, (_, most) in enumerate(DEPTHS) if depth <= most)


def words_of(place):
    least, most = DEPTHS[place]
    return f"depth {least} to {most}" if most < 9999 else f"depth {least} and more"


def by_depth(values, is_such):
    """How many of all, and a line for each depth."""
    all_of, such = Counter(), Counter()
    for value in values:
        all_of[depth_of(value)] += 1
        such[depth_of(value)] += is_such(value)
    return sum(such.values()), [f"{words_of(i)}: {such[i]} of {all_of[i]}" for i in sorted(all_of)]


def shares(name, lines):
    """Of distinct contexts, told apart by the first value, those that share one."""
    table = [line.split() for line in lines]
    for i, operation in enumerate(OPERATIONS):
        others = Counter(row[i].split("/")[0] for row in table)
        shared = {row[0] for row in table if others[row[i].split("/")[0]] > 1}
        count, details = by_depth([row[0] for row in table], lambda value: value in shared)
        share = 100 * (len(table) - count) / len(table)
        most = RIGHT if i == 0 else 0
        yield Row(f"contexts, {name}, {operation}: alone with their value, % of {len(table)}", "-",
                  f"{share:.2f} %", share, most, most, higher=True,
                  details=[f"share it, {line}" for line in details])


def right(name, how, values, is_right):
    count, details = by_depth(values, is_right)
    share = 100 * count / max(len(values), 1)
    return Row(f"contexts, {name}, {how}: right, % of {len(values)}", "-", f"{share:.2f} %", share,
               RIGHT, RIGHT, higher=True, details=details)


def one(bench, name, words):
    place = bench.work / "recorded"
    alone = record_programs.runtime(bench).parent / "libtracetape-context.so.0"
    library, logs, found = sampler(bench), [], []
    for number in range(2):
        dictionary = place / f"{name}.contexts.{number}.ctx"
        dictionary.unlink(missing_ok=True)
        lines = run(bench, name, number, words, f"{library} {alone}",
                    options=[f"TRACETAPE_CONTEXT={dictionary}"])
        values = sorted(set(lines))[:count_of(bench)]
        logs.append(values)
        found.append(dict(zip(values, stacks_of(bench, ["--dictionary", dictionary], values))))
    known = found[0]
    one_stack = {value for value, (stacks, sure) in known.items()
                 if len(stacks) == 1 and sure == "certain" and
                 len(stacks[0]) == int(value.split("/")[1])}
    yield right(name, "dictionary", logs[0], lambda value: value in one_stack)
    by_stack = [defaultdict(set), defaultdict(set)]
    for number in range(2):
        for value, (stacks, _) in found[number].items():
            for stack in stacks:
                by_stack[number][stack].add(value)
    common = [next(iter(by_stack[0][stack])) for stack in by_stack[0].keys() & by_stack[1].keys()]
    same = {value for stack, values in by_stack[0].items() for value in values
            if by_stack[1].get(stack) == values}
    yield right(name, "the next run, at other addresses", common, lambda value: value in same)
    yield from recorded(bench, name, words, known)
    yield from shares(name, run(bench, name, "operations", words, f"{library} {alone}",
                                options=["SAMPLE_OPERATIONS=1"]))


def recorded(bench, name, words, known):
    """The next run, recorded: of the contexts that it had it says what the dictionary does."""
    trace = bench.work / "recorded" / f"{name}.contexts.ttape"
    program, arguments, folder = words
    bench.call([bench.command, "record", "-q", "-f", "-o", trace, "--", program, *arguments],
               cwd=folder)
    told = dict(zip(known, stacks_of(bench, ["--recording", trace], list(known))))
    there = [value for value in known if told[value][0]]
    if len(there) < len(known) * THERE_LEAST:
        raise BenchError(f"{name}: of {len(known)} contexts only {len(there)} were recorded")
    yield right(name, f"recording of the next run, which has {len(there)} of {len(known)}", there,
                lambda value: told[value][0] == known[value][0])


def contexts(bench):
    missing = [tool for tool in ("apt-get", "tar", "tclsh", "make") if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: contexts: not installed: {' '.join(missing)}", flush=True)
        return
    for name, program, others, arguments, folder in sections_search.programs(bench):
        if name == "lua":  # more contexts than the search asks for
            arguments = [arguments[0], "1"]
        elif name == "sqlite":
            arguments = [*arguments, others[-1]]
        yield from one(bench, name, (program, arguments, folder))
