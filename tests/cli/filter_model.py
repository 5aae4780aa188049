"""What a filter leaves of a trace, worked out from `tracetape dump` of all of it as plainly as can
be: calls as a tree with their values and times, rules as functions of a call, events one by one."""
import json
import re

INNER = ("unwind", "exit_across")
LEAVES = {"marker": "leaf", "block": "leaf", "branch": "leaf", "signal": "signal_begin"}


def read(lines):
    """Events of `dump --format ndjson`, of kinds that say what they are."""
    for line in lines:
        event = json.loads(line)
        event["kind"] = LEAVES.get(event["kind"], event["kind"])
        if event["kind"] == "exit" and event.get("unseen"):
            event["kind"] = "exit_unseen"
        elif event["kind"] == "exit" and event.get("frames"):
            event["kind"] = "exit_across"
        yield event


class Call:
    def __init__(self, parent, event, serial):
        self.parent, self.event, self.serial = parent, event, serial
        self.name = event.get("symbol") if event["kind"] != "signal_begin" else None
        self.arguments, self.results = event.get("values", []), None
        self.start, self.end, self.leads, self.children = event["time_ns"], None, False, []


class Thread:
    """The calls of a thread, and which of them begin and end at each event."""

    def __init__(self, events):
        self.events, self.calls, self.begun, self.ended, self.around = events, [], {}, {}, {}
        stacks, current = {0: []}, 0
        for at, event in enumerate(events):
            stack, kind = stacks[current], event["kind"]
            self.around[at] = stack[-1] if stack else None
            if kind in ("enter", "open", "signal_begin"):
                call = Call(stack[-1] if stack else None, event, len(self.calls))
                self.calls.append(call)
                stack.append(call)
                self.begun[at] = call
            elif kind in ("exit", "signal_end") or kind in INNER:
                count = event.get("frames", 0) if kind in INNER else 0
                count += kind != "unwind"
                ended = [stack.pop() for _ in range(min(count, len(stack)))]
                for place, call in enumerate(ended):
                    call.end = event["time_ns"]
                    if kind != "unwind" and place == len(ended) - 1:
                        call.results = event.get("values", [])
                self.ended[at] = ended
            elif kind == "switch":
                current = event["stack"]
                stacks.setdefault(current, [])
        for call in self.calls:
            call.end = events[-1]["time_ns"] if call.end is None else call.end


class Rule:
    """kind: only, without, below, not_below, to; `holds(call)` of name and values."""

    def __init__(self, kind, text, holds):
        self.kind, self.text, self.holds = kind, text, holds


def fits(rules, thing, is_named):
    only = [rule for rule in rules if rule.kind == "only"]
    return not is_named or ((not only or any(rule.holds(thing) for rule in only)) and
                            not any(rule.holds(thing) for rule in rules if rule.kind == "without"))


def chosen(rules, kind, thing):
    return any(rule.holds(thing) for rule in rules if rule.kind == kind)


def has(rules, kind):
    return any(rule.kind == kind for rule in rules)


def keep_calls(thread, rules, depth, min_ns):
    """The calls that are kept, as a set of serials."""
    for call in reversed(thread.calls):
        call.leads = call.leads or chosen(rules, "to", call)
        if call.leads and call.parent is not None:
            call.parent.leads = True
    kept, inside, outside, depths = set(), set(), set(), {}
    for call in thread.calls:
        up = call.parent.serial if call.parent is not None else None
        if up in inside or chosen(rules, "below", call):
            inside.add(call.serial)
        if up in outside or chosen(rules, "not_below", call):
            outside.add(call.serial)
        around = depths.get(up, 0)
        is_handler = call.name is None
        keeps = (fits(rules, call, not is_handler) and
                 (not has(rules, "below") or call.serial in inside) and
                 call.serial not in outside and (not has(rules, "to") or call.leads) and
                 (is_handler or min_ns is None or call.end - call.start >= min_ns) and
                 (is_handler or depth is None or around < depth))
        kept.update([call.serial] if keeps else [])
        depths[call.serial] = around + keeps
    return kept, inside, outside


def leaf_of(event):
    leaf = Call(None, event, -1)
    leaf.name = event.get("symbol")
    return leaf


def keeps_leaf(thread, at, rules, kept, inside, outside, min_ns):
    leaf, around = leaf_of(thread.events[at]), thread.around[at]
    up = around.serial if around is not None else None
    return (fits(rules, leaf, True) and
            (not has(rules, "below") or up in inside or chosen(rules, "below", leaf)) and
            up not in outside and not chosen(rules, "not_below", leaf) and
            (not has(rules, "to") or chosen(rules, "to", leaf)) and
            (min_ns is None or up is None or up in kept))


def row(event, kind=None, count=None):
    kind = kind or event["kind"]
    count = event.get("frames", 0) if count is None else count
    values = event.get("values", []) if kind != "unwind" else []
    symbol = event.get("symbol", "") if kind != "unwind" else ""
    return (event["time_ns"], kind, symbol, tuple(map(str, values)), count,
            event.get("signal"), event.get("stack"))


def expect(events, rules, depth=None, min_ns=None):
    """Rows of each thread's events that are left."""
    threads, left = {}, {}
    for event in events:
        threads.setdefault(event["stream"], []).append(event)
    for stream, own in threads.items():
        thread = Thread(own)
        for at, event in enumerate(own): # `to` may name what has no length
            if event["kind"] in ("leaf", "exit_unseen") and thread.around[at] is not None and \
                    chosen(rules, "to", leaf_of(event)):
                thread.around[at].leads = True
        kept, inside, outside = keep_calls(thread, rules, depth, min_ns)
        rows = left.setdefault(stream, [])
        for at, event in enumerate(own):
            kind = event["kind"]
            if at in thread.begun:
                rows += [row(event)] if thread.begun[at].serial in kept else []
            elif at in thread.ended:
                ended = [call.serial in kept for call in thread.ended[at]]
                exits = kind != "unwind" and bool(ended) and ended[-1]
                inner = sum(ended) - exits
                if kind in INNER and exits:
                    rows.append(row(event, "exit_across" if inner else "exit", inner))
                elif inner:
                    rows.append(row(event, "unwind", inner))
                elif exits:
                    rows.append(row(event))
            elif kind in ("leaf", "exit_unseen"):
                rows += [row(event)] if keeps_leaf(thread, at, rules, kept, inside, outside,
                                                   min_ns) else []
            else:
                rows.append(row(event))
    return {stream: rows for stream, rows in left.items() if rows}


def rows_of(events):
    left = {}
    for event in events:
        left.setdefault(event["stream"], []).append(row(event))
    return left


def named(pattern):
    compiled = re.compile(pattern)
    return lambda call: call.name is not None and compiled.search(call.name) is not None
