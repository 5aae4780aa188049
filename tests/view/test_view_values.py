#!/usr/bin/env python3
"""Values of calls, modules that are hidden, and butterflies: what the view says is what `slow`,
`report` and the trace say; a search by value finds each event that has it, wherever it goes on."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from view_client import COMMAND, Server, check, end

MANY = 900_000  # events: more than one question looks at


def say(*words):
    return json.loads(subprocess.run([COMMAND, *map(str, words)], capture_output=True,
                                     check=True).stdout)


def convert(folder, name, lines):
    text, trace = Path(folder, f"{name}.txt"), Path(folder, f"{name}.ttape")
    text.write_text("\n".join(lines) + "\n")
    done = subprocess.run([COMMAND, "convert", text, "-o", trace], capture_output=True, text=True)
    check(f"conversion of {name}", (done.returncode, done.stderr), (0, ""))
    return trace


def make_small(folder):
    lines = ['process 1 "prog"', 'thread 1 10 "first"', 'thread 1 11 "second"',
             "module 0x1000 0x2000 /home/me/prog", "module 0x7000 0x8000 /usr/lib/libc.so.6",
             "symbol 0x1010 main", "symbol 0x1020 open_file", "symbol 0x7010 open"]
    for i in range(30):
        at, thread = 1000 * i, 10 + i % 2
        lines += [f"{at} {thread} enter 0x1010",
                  f'{at + 10} {thread} enter 0x1020 "/etc/file{i}" -{i} 0x{i:x}f null',
                  f"{at + 20} {thread} enter 0x7010", f"{at + 30 + i} {thread} exit open {i}",
                  f'{at + 100 + i} {thread} exit open_file "result {i}"',
                  f"{at + 200 + 3 * i} {thread} exit"]
    return convert(folder, "small", lines)


def find(server, text, **fields):
    """All that is found, question by question."""
    found, place, turns = [], {}, 0
    while True:
        words = "".join(f"&{name}={value}" for name, value in {**fields, **place}.items())
        answer = server.ask(f"find?text={text}{words}")[0]
        found += answer["found"]
        turns += 1
        if answer["complete"] or turns > 1000:
            return found, turns
        place = {"stream": answer["stream"], "event": answer["event"]}


def check_find(server):
    for text, count in [("file7", 1), ("file", 30), ("/etc/file2", 11), ("result%2012", 1),
                        ("-17", 1), ("0x1df", 1), ("0x1d", 0), ("nothing", 0), ("17", 3),
                        ("null", 0)]:
        found = find(server, text)[0]
        check(f"events with '{text}'", len(found), count)
        one_by_one, turns = find(server, text, count=1)
        check(f"'{text}', one by one", one_by_one, found)
        check(f"'{text}', one by one, turns", turns >= count)
    found = find(server, "file7")[0][0]
    check("what is found", (found["stream"], found["is_enter"], found["depth"], found["time"]),
          (1, True, 1, "7010"))
    check("as text", found["values_text"], '("/etc/file7", -7, 0x7f, null)')


def check_values(server, trace):
    for name in ("open_file", "open", "main"):
        for call in say("slow", "--json", "--limit", 30, trace, name)["calls"]:
            answer = server.ask(f"values?id={call['id']}")[0]
            for key in ("arguments", "results"):
                check(f"{key} of {call['id']}", len(answer.get(key, [])), len(call.get(key, [])))
            texts = [value.get("text", value.get("number")) for value in answer["results"]]
            check(f"results of {call['id']}", texts,
                  [str(word).strip('"') for word in call["results"]])
    check("no such call", "error" in server.ask("values?id=s0e9999")[0])
    check("no call", "error" in server.ask("values?id=s0")[0])


def check_modules(server):
    modules = server.ask("modules")[0]["modules"]
    check("modules", [(m["path"], m["functions"], m["unnamed"], m["system"]) for m in modules],
          [("/home/me/prog", 2, 0, False), ("/usr/lib/libc.so.6", 1, 0, True)])
    system = modules[1]["module"]
    rows = server.ask("functions")[0]["rows"]
    kept = server.ask(f"functions?hide={system}")[0]
    check("hidden", (len(rows), len(kept["rows"]), kept["matching"]), (3, 2, 2))
    check("what is left is the same", [r for r in rows if r in kept["rows"]], kept["rows"])
    ranges = server.ask(f"module_sites?modules={system}")[0]["sites"]
    check("its functions", {r["site"] for r in rows if r not in kept["rows"]},
          {site for at in range(0, len(ranges), 2)
           for site in range(ranges[at], ranges[at] + ranges[at + 1])})


def check_butterfly(server, trace, name, *times):
    """As `report --butterfly` has it."""
    site = server.ask(f"search?text={name}&count=1")[0]["sites"][0]["site"]
    fields = f"&from={times[0]}&to={times[1]}" if times else ""
    options = ["--time", f"+{times[0]}ns..+{times[1]}ns"] if times else []
    while not (answer := server.ask(f"butterfly?site={site}{fields}"))[0]["complete"]:
        pass
    answer, sums = answer[0], {"caller": {}, "callee": {}}
    report = say("report", "--json", "--butterfly", name, *options, trace)
    for row in report["rows"]:
        own = (row["calls"], row["total_ns"])
        if row["role"] == "function":
            check(f"{name} {times}", (answer["function"]["calls"], answer["function"]["total"]),
                  tuple(map(str, own)))
        else:
            other = row["caller"] if row["role"] == "caller" else row["name"]
            sums[row["role"]][other] = own
    for role in ("caller", "callee"):
        found = {}
        for row in answer.get(f"{role}s", []):
            if "site" in row:
                other = server.ask(f"sites?sites={row['site']}")[0]["sites"][0]["name"]
                found[other] = (int(row["calls"]), int(row["total"]))
        wanted = {key: value for key, value in sums[role].items() if key in found or value[0]}
        check(f"{role}s of {name} {times}", found, {k: v for k, v in wanted.items() if k})


def check_functions_that_fit(folder):
    """More functions than fit: those with most time are there, and any other one alone."""
    lines = []
    for i in range(60_000):
        length = 90_000 - i if i % 1000 == 7 else 5
        lines += [f"{100_000 * i} 1 enter f{i}", f"{100_000 * i + length} 1 exit"]
    with Server(convert(folder, "functions", lines), "--memory", "32M") as server:
        answer = server.ask("functions?count=50&sort=total")[0]
        check("not all fit", answer.get("partial"), True)
        names = [server.ask(f"sites?sites={row['site']}")[0]["sites"][0]["name"]
                 for row in answer["rows"]]
        check("those with most time", names, [f"f{i}" for i in range(7, 50_000, 1000)])
        check("their time", [row["total"] for row in answer["rows"]],
              [str(90_000 - i) for i in range(7, 50_000, 1000)])
        row = server.ask("function?site=59001")[0]["row"]
        check("another one", (row["calls"], row["total"]), ("1", "5"))


def check_call_sites(folder):
    """Details of a call say where it was made, as `slow` does."""
    program, trace = Path(folder, "program"), Path(folder, "places.ttape")
    source = Path(__file__).parents[1] / "record" / "programs" / "p_call_sites.c"
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", program, source], check=True)
    subprocess.run([COMMAND, "record", "-q", "-f", "-o", trace, "--patch", ".", "--call-sites",
                    "--", program], check=True)
    with Server(trace) as server:
        for call in say("slow", "--json", "--limit", 3, trace, "deep")["calls"]:
            answer = server.ask(f"values?id={call['id']}")[0]
            wanted = f"(from {call['argument_constants'][0]})"
            check(f"where {call['id']} was called", answer["arguments_text"], wanted)
            check(f"it is a line: {wanted}", wanted.startswith("(from p_call_sites.c:"))


with tempfile.TemporaryDirectory() as place:
    check_call_sites(place)
    check_functions_that_fit(place)
    small = make_small(place)
    with Server(small) as one:
        check_find(one)
        check_values(one, small)
        check_modules(one)
        for function in ("main", "open_file", "open"):
            check_butterfly(one, small, function)
            check_butterfly(one, small, function, 5005, 21025)
    many = ["symbol 0x10 work"]
    for step in range(MANY // 2):
        value = ' "late"' if step in (3, 250_000, MANY // 2 - 1) else ""
        many += [f"{10 * step} 1 enter 0x10{value}", f"{10 * step + 5} 1 exit"]
    with Server(convert(place, "many", many)) as one:
        late, asked = find(one, "late")
        check("found over several questions", [f["event"] for f in late],
              ["6", "500000", str(MANY - 2)])
        check("questions", asked >= 2)
end("values, modules and butterflies are those of the trace")
