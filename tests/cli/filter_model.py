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
    """kind: only, without, below, not_below, to, and depth_below, time_below, with a number;
    `holds(call)` of name and values."""

    def __init__(self, kind, text, holds, number=None):
        self.kind, self.text, self.holds, self.number = kind, text, holds, number


def fits(rules, thing, is_named):
    only = [rule for rule in rules if rule.kind == "only"]
    return not is_named or ((not only or any(rule.holds(thing) for rule in only)) and
                            not any(rule.holds(thing) for rule in rules if rule.kind == "without"))


def chosen(rules, kind, thing):
    return any(rule.holds(thing) for rule in rules if rule.kind == kind)


def has(rules, kind):
    return any(rule.kind == kind for rule in rules)


def limit(thing, rules, around, outer):
    """Where depths end in a call, and the least time in it, which have `around` kept ones around
    it."""
    depths = [rule.number for rule in rules if rule.kind == "depth_below" and rule.holds(thing)]
    times = [rule.number for rule in rules if rule.kind == "time_below" and rule.holds(thing)]
    return (around + min(depths) if depths else outer[0], max(times) if times else outer[1])


def keep_calls(thread, rules, off, limits_of_all):
    """The calls that are kept, as a set of serials, what is in what, and the least times, None:
    that of all calls. limits_of_all: depth and least time of all, by the serial of the call."""
    for call in reversed(thread.calls):
        call.leads = call.leads or chosen(rules, "to", call)
        if call.leads and call.parent is not None:
            call.parent.leads = True
    kept, inside, outside, depths, limits = set(), set(), set(), {}, {}
    for call in thread.calls:
        up = call.parent.serial if call.parent is not None else None
        if up in inside or chosen(rules, "below", call):
            inside.add(call.serial)
        if up in outside or chosen(rules, "not_below", call):
            outside.add(call.serial)
        around = depths.get(up, 0)
        is_handler = call.name is None
        limits[call.serial] = limit(call, rules, around, limits.get(up, (None, None)))
        depth_end, least = (of_all if own is None else own for own, of_all in
                            zip(limits[call.serial], limits_of_all[call.serial]))
        keeps = (call.serial not in off and fits(rules, call, not is_handler) and
                 (not has(rules, "below") or call.serial in inside) and
                 call.serial not in outside and (not has(rules, "to") or call.leads) and
                 (is_handler or least is None or call.end - call.start >= least) and
                 (is_handler or depth_end is None or around < depth_end))
        kept.update([call.serial] if keeps else [])
        depths[call.serial] = around + keeps
    return kept, inside, outside, {serial: least for serial, (_, least) in limits.items()}


def leaf_of(event):
    leaf = Call(None, event, -1)
    leaf.name = event.get("symbol")
    return leaf


def keeps_leaf(thread, at, rules, kept, inside, outside, least, least_of_all):
    leaf, around = leaf_of(thread.events[at]), thread.around[at]
    up = around.serial if around is not None else None
    return (fits(rules, leaf, True) and
            (not has(rules, "below") or up in inside or chosen(rules, "below", leaf)) and
            up not in outside and not chosen(rules, "not_below", leaf) and
            (not has(rules, "to") or chosen(rules, "to", leaf)) and
            (up is None or not (least_of_all if least[up] is None else least[up]) or up in kept))


class Trigger:
    """event: begin, end, signal, after; `holds(call)` of those of calls, each `times` of them.
    action: on, off, finish, depth, time; these with a value."""

    def __init__(self, event, action, holds=None, number=None, times=1, value=None):
        self.event, self.action, self.holds, self.value = event, action, holds, value
        self.number, self.times, self.came = number, times, 0

    def is_due(self, call):
        self.came += self.holds(call)
        return self.holds(call) and self.came % self.times == 0


def due_at(event, triggers, ended, begun, passed, now):
    """Triggers due at an event, in order: of times, signals, calls that end, that begin."""
    due = [each for each in triggers if each.event == "after" and passed < each.number <= now]
    due += [each for each in triggers if each.event == "signal" and
            event["kind"] == "signal_begin" and event["signal"] == each.number]
    for kind, calls in (("end", ended), ("begin", begun)):
        due += [each for call in calls if call.name is not None for each in triggers
                if each.event == kind and each.is_due(call)]
    return due


def switch(events, threads, triggers, limits):
    """Places of what begins while triggers have switched off, depth and least time of all calls at
    each place, and how many events there are of each thread up to where one of them ended it."""
    off, left, is_off, passed = set(), {stream: 0 for stream in threads}, False, -1
    limits, places = list(limits), {}
    for event in events:
        stream, now = event["stream"], event["time_ns"] - events[0]["time_ns"]
        thread, at, was_off = threads[stream], left[stream], is_off
        left[stream] += 1
        begun = [thread.begun[at]] if event["kind"] == "enter" else []
        begun += [leaf_of(event)] if event["kind"] == "leaf" else []
        due = due_at(event, triggers, thread.ended.get(at, ()), begun, passed, now)
        passed = now
        for each in due:
            is_off = {"off": True, "on": False}.get(each.action, is_off)
            was_off = is_off if each.event != "begin" else was_off
            if each.event == "begin":
                places.setdefault((stream, at), tuple(limits))
            if each.action in ("depth", "time"):
                limits[each.action == "time"] = each.value
        places.setdefault((stream, at), tuple(limits))
        if was_off and is_off and event["kind"] in ("enter", "open", "leaf", "exit_unseen"):
            off.add((stream, at))
        if any(each.action == "finish" for each in due):
            break
    return off, left, places


def row(event, kind=None, count=None):
    kind = kind or event["kind"]
    count = event.get("frames", 0) if count is None else count
    values = event.get("values", []) if kind != "unwind" else []
    symbol = event.get("symbol", "") if kind != "unwind" else ""
    return (event["time_ns"], kind, symbol, tuple(map(str, values)), count,
            event.get("signal"), event.get("stack"))


def expect(events, rules, depth=None, min_ns=None, triggers=()):
    """Rows of each thread's events that are left."""
    threads, left = {}, {}
    for event in events:
        threads.setdefault(event["stream"], []).append(event)
    threads = {stream: Thread(own) for stream, own in threads.items()}
    off, counts, places = switch(events, threads, triggers, (depth, min_ns))
    for stream, thread in threads.items():
        own = thread.events
        is_off = {at for of, at in off if of == stream}
        for at, event in enumerate(own): # `to` may name what has no length
            if event["kind"] in ("leaf", "exit_unseen") and thread.around[at] is not None and \
                    chosen(rules, "to", leaf_of(event)):
                thread.around[at].leads = True
        begun_off = {thread.begun[at].serial for at in is_off if at in thread.begun}
        limits = {call.serial: places.get((stream, at), (None, None))
                  for at, call in thread.begun.items()}
        kept, inside, outside, least = keep_calls(thread, rules, begun_off, limits)
        rows = left.setdefault(stream, [])
        for at, event in enumerate(own[:counts[stream]]):
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
                rows += [row(event)] if at not in is_off and \
                    keeps_leaf(thread, at, rules, kept, inside, outside, least,
                               places[stream, at][1]) else []
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
