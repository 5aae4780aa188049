"""What the view answers of a trace is what `report`, `tree`, `slow`, `lines` and `dump` say, to the
nanosecond."""
import json
import os
import re
import struct
import subprocess
from itertools import takewhile

from view_client import COMMAND, Server

CALLS, BUTTERFLIES, EVENTS, NODES = 20, 3, 1500, 120
FLOAT = 3  # TTAPE_VALUE_FLOAT


def say(*words):
    """JSON of a verb, or None where it cannot read the trace at all."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in (0, 3) and done.stdout else None


class Comparison:
    def __init__(self, trace):
        self.trace, self.problems, self.seen = trace, [], 0

    def same(self, what, found, wanted):
        self.seen += 1
        if found != wanted:
            self.problems.append(
                f"{self.trace}: {what}: the view says {found}, the command {wanted}")


def compare_functions(c, server):
    report = say("report", "--json", "--names", "mangled", c.trace)
    if report is None:
        return
    answer = server.ask("functions?count=2000")[0]
    if report["damaged_partitions"] != int(answer.get("damaged", 0)):
        return  # report reads switches as well, and leaves out what has damaged ones
    c.same("calls", answer.get("calls"), str(report["calls"]))
    c.same("events", answer.get("events"), str(report["events"]))
    rows = {row["site"]: row for row in answer.get("rows", [])}
    for row in report["rows"]:
        found = rows.get(row["site"] if row["site"] is not None else 2**32 - 1)
        name = f"function {row['name']}"
        c.same(f"{name}, there", found is not None, True)
        if found is None:
            continue
        times = ("total_ns", "self_ns", "min_ns", "max_ns")
        keys = ("total", "self", "min", "max")
        for wanted, key in zip(("calls", "ended", *times), ("calls", "ended", *keys)):
            if row.get(wanted) is not None:
                c.same(f"{name}, {key}", found[key], str(row[wanted]))


def compare_node(c, server, node, start, mode):
    wanted = {"time_ns": "time", "rest_ns": "rest", "self_ns": "self"}
    answer = server.ask(f"node?id={node['node']}&mode={mode}")[0].get("node")
    c.same(f"node {node['node']}, there", answer is not None, True)
    if answer is None:
        return
    for theirs, ours in wanted.items():
        if theirs in node:
            c.same(f"node {node['node']}, {ours}", answer[ours], str(node[theirs]))
    for theirs, ours in (("enter_ns", "enter"), ("start_ns", "start"), ("end_ns", "end"),
                         ("end_most_ns", "end_most")):
        if theirs in node and ours in answer:
            c.same(f"node {node['node']}, {ours}", int(answer[ours]) + start, node[theirs])
    if "end" in node:
        c.same(f"node {node['node']}, end_is", answer["end_is"], node["end"])
    if "pruned" in node:
        pruned = answer.get("pruned", {})
        for theirs, ours in (("partitions", "partitions"), ("events", "events"),
                             ("calls", "calls"), ("time_ns", "time")):
            if theirs in node["pruned"]:
                c.same(f"node {node['node']}, pruned {ours}", pruned.get(ours),
                       str(node["pruned"][theirs]))


def compare_tree(c, server, start, mode, *options):
    """Node by node, and each thread's calls in order."""
    tree = say("tree", "--json", "--min-time", "0ns", *options, c.trace)
    nodes = (tree or {"nodes": []})["nodes"]
    for node in nodes[:100]:
        if node["kind"] in ("thread", "call", "signal") and node.get("calls", 1) == 1:
            compare_node(c, server, node, start, mode)
    for at, thread in enumerate(nodes[:2000]):
        if thread["level"] != 0 or mode != "full":
            continue
        below = takewhile(lambda node: node["level"] > 0, nodes[at + 1:])
        wanted = [node["node"] for node in below if node["level"] == 1 and "node" in node]
        answer = server.ask(f"children?id={thread['node']}&mode=full&count=2000")[0]
        found = [node["id"] for node in answer.get("children", [])]
        if not answer.get("more") and "error" not in answer:
            c.same(f"calls of {thread['node']}", found, wanted)


def compare_longest(c, server, start):
    for by, option in (("duration", []), ("self", ["--self"]), ("start", ["--first"])):
        slow = say("slow", "--json", "--limit", CALLS, *option, c.trace)
        if slow is None:
            continue
        answer = server.ask(f"longest?by={by}&count={CALLS}")[0]
        c.same(f"longest by {by}", len(answer.get("calls", [])), len(slow["calls"]))
        for mine, theirs in zip(answer.get("calls", []), slow["calls"]):
            found = (mine.get("id"), mine["stream"], mine["site"], int(mine["enter"]) + start,
                     int(mine["time"]), int(mine["self"]), mine["end_is"])
            wanted = (theirs["id"], theirs["stream"], theirs["site"], theirs["start_ns"],
                      theirs["duration_ns"], theirs["self_ns"], theirs["end"])
            c.same(f"longest by {by}", found, wanted)


def compare_durations(c, server, start):
    """A column of a function's histogram has so many calls, and they are those of `slow`."""
    rows = server.ask("functions?count=1&sort=calls")[0].get("rows", [])
    if not rows or rows[0]["site"] == 2**32 - 1:
        return
    answer = server.ask(f"function?site={rows[0]['site']}")[0]
    name = server.ask(f"sites?sites={rows[0]['site']}")[0]["sites"][0]["name"]
    for bucket in [b for b in answer.get("histogram", []) if int(b["count"]) > 0][:4]:
        least, most = max(int(bucket["least"]), 0), int(bucket["most"])
        calls = server.ask(f"longest?site={rows[0]['site']}&by=start&count=1000&least={least}"
                           f"&most={most}")[0].get("calls", [])
        whole = [call for call in calls if call["end_is"] in ("returned", "unwound")]
        if least > 0 and len(calls) < 1000:
            c.same(f"calls of {least}..{most} ns", len(whole), int(bucket["count"]))
        slow = say("slow", "--json", "--limit", 1000, "--first", "--min-time", f"{least}ns",
                   "--max-time", f"{most}ns", "--function",
                   "^" + re.sub(r"[.\[\\()*+?{|^$]", r"\\\g<0>", name) + "$", c.trace)
        sites = {call["site"] for call in calls}  # others may have the same name
        if slow is not None and len(slow["calls"]) < 1000:
            c.same(f"calls of {least}..{most} ns", [int(call["enter"]) + start for call in calls],
                   [call["start_ns"] for call in slow["calls"] if call["site"] in sites])


def read_events(trace):
    """The first events of each stream, by stream and number."""
    done = subprocess.run([COMMAND, "dump", "--format", "ndjson", "--events", f"0..{EVENTS}",
                           trace], capture_output=True, text=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return {(event["stream"], event["event"]): event for event in events if "event" in event}


def compare_call(c, node, event, events, start):
    """A call is entered and left when the events say so."""
    name = f"call {node['id']}"
    c.same(f"{name}, enter", int(node["enter"]) + start, event["time_ns"])
    if node.get("end_is") != "ended" or "events" not in node:
        return
    own = [events.get((event["stream"], event["event"] + n)) for n in range(int(node["events"]))]
    last = own[-1]
    is_there = all(e and e["kind"] != "switch" for e in own)  # all of them on one stack
    if is_there and last["kind"] == "exit":
        c.same(f"{name}, end", int(node["end"]) + start, last["time_ns"])
        c.same(f"{name}, time", int(node["time"]), last["time_ns"] - event["time_ns"])


def number_of(value):
    """A value as a text; a fraction that is a whole number as `dump` writes that."""
    said = value.get("number", value.get("text", value.get("hex")))
    if value["type"] != FLOAT:
        return said
    number = struct.unpack("<d", struct.pack("<Q", int(said)))[0]
    return str(int(number)) if number.is_integer() else said


def compare_events(c, server, start):
    """Calls, what they were given, and the next one of their function, as `dump` has them."""
    events = read_events(c.trace)
    enters = [e for _, e in sorted(events.items()) if e["kind"] == "enter"]
    for event in enters[::max(len(enters) // NODES, 1)]:
        place = f"s{event['stream']}e{event['event']}"
        node, values = server.ask(f"node?id={place}", f"values?id={place}")
        if "node" not in node:  # what is damaged, neither has
            c.same(f"call {place}", say("tree", "--json", "--open", place, c.trace), None)
            continue
        compare_call(c, node["node"], event, events, start)
        found = [number_of(v) for v in values.get("arguments", [])]
        wanted = event.get("values", [])
        c.same(f"call {place}, how many values", len(found), len(wanted))
        whole = [(mine, str(theirs)) for mine, theirs in zip(found, wanted)
                 if isinstance(theirs, int) and mine is not None]
        c.same(f"call {place}, numbers", [mine for mine, _ in whole], [own for _, own in whole])
        if node["node"]["id"] != place:  # it has another name, and says the same
            again = server.ask(f"values?id={node['node']['id']}")[0]
            c.same(f"call {place}, by its other name", again, values)
        site = node["node"]["site"]
        later = server.ask(f"next?site={site}&stream={event['stream']}&event={event['event']}")[0]
        if "event" in later and (event["stream"], int(later["event"])) in events:
            mine = events[(event["stream"], int(later["event"]))]
            c.same(f"next call of {place}", (mine["kind"], mine["symbol"]),
                   ("enter", event["symbol"]))
            between = [e for n in range(event["event"] + 1, int(later["event"]))
                       if (e := events.get((event["stream"], n))) and e["kind"] == "enter" and
                       (e["symbol"], e["address"]) == (event["symbol"], event["address"])]
            c.same(f"calls between {place} and the next", between, [])


def compare_lines(c, server):
    """Functions that have a row have the same lines, where there are any."""
    for row in server.ask("functions?count=12")[0].get("rows", []):
        answer = server.ask(f"lines?site={row['site']}")[0]
        if "lines" not in answer:
            continue
        name = server.ask(f"sites?sites={row['site']}&all=1")[0]["sites"][0]["name"]
        c.same(f"lines of {name}", answer["lines"],
               say("lines", "--json", "--function", f"^{re.escape(name)}$", c.trace))


def ask_butterfly(server, site):
    """All of it: each question reads some more."""
    while True:
        answer = server.ask(f"butterfly?site={site}")[0]
        if "error" in answer or answer["complete"]:
            return answer


def edges_of(rows):
    """Calls and time of each, without those that no function made."""
    return sorted((int(row["calls"]), int(row["total"])) for row in rows if "site" in row)


def compare_butterflies(c, server):
    """Of the functions with most time whose names are theirs alone."""
    answer = server.ask("functions?count=200")[0]
    names = {site["site"]: site["name"] for row in answer.get("rows", [])
             for site in server.ask(f"sites?sites={row['site']}")[0]["sites"]}
    alone = [site for site, name in names.items() if list(names.values()).count(name) == 1]
    for site in alone[:BUTTERFLIES]:
        name = names[site]
        report = say("report", "--json", "--butterfly", name, c.trace)
        answer = ask_butterfly(server, site)
        if report is None or "damaged" in answer or "function" not in answer:
            continue
        rows = report["rows"]
        own = [row for row in rows if row["role"] == "function"][0]
        c.same(f"butterfly of {name}", (answer["function"]["calls"], answer["function"]["total"]),
               (str(own["calls"]), str(own["total_ns"])))
        for role in ("caller", "callee"):
            if any("starts" in row or "signal" in row for row in answer[f"{role}s"]):
                continue  # a report does not say who starts threads and stacks
            wanted = sorted((row["calls"], row["total_ns"]) for row in rows
                            if row["role"] == role and (role == "callee" or row["caller"]))
            c.same(f"{role}s of {name}", edges_of(answer[f"{role}s"]), wanted)


def compare(trace):
    """(numbers compared, problems)."""
    c, about = Comparison(trace), say("info", "--json", trace)
    if about is None:
        return 0, []
    with Server(trace) as server:
        info = server.ask("trace")[0]
        start = int(info["start_ns"])
        compare_functions(c, server)
        if info["has_times"]:
            compare_tree(c, server, start, "pruned", "--partitions")
            compare_tree(c, server, start, "full", "--full")
            compare_longest(c, server, start)
            compare_durations(c, server, start)
            compare_events(c, server, start)
            compare_lines(c, server)
            if not about["paths"]:  # whose frames a graph counts as callers, and a report does not
                compare_butterflies(c, server)
    return c.seen, c.problems


def compare_all(traces):
    seen, problems = 0, []
    for trace in traces:
        count, found = compare(trace)
        seen += count
        problems += found
    for problem in problems[:20]:
        print(problem)
    print(f"view: {len(problems)} of {seen} numbers differ, in {len(traces)} traces")
    return 1 if problems or not seen else 0


SOURCE = os.environ["TTAPE_SRC"]
