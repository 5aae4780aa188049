"""Recordings of other tools with random calls, and what they say: trees of calls on a coarse grid
of times, so that many begin and end together, written as Chrome trace JSON, as a folder of
uftrace's or as raw text; and the calls of a trace, to compare.

Where a file's times leave two nestings possible, either is right: `check` asks for what they tell.
"""
import json
import math
import random
from collections import Counter, defaultdict


class Call:
    """A call; `end` None: it has none of its own, and ends with what is around it."""

    def __init__(self, name, begin, end, kind="B"):
        self.name, self.begin, self.end, self.kind = name, begin, end, kind
        self.children, self.parent = [], None
        self.values = self.results = None  # counts of them, or they themselves

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def add(self, child):
        child.parent = self
        self.children.append(child)

    def ends(self):
        """When it is over: at its end, or at that of what is around it; None: it stays open."""
        return self.end if self.end is not None or self.parent is None else self.parent.ends()

    def __repr__(self):
        return f"{self.name}[{self.begin}, {self.end}]"


class Draw:
    """Trees of calls of one thread."""

    def __init__(self, seed, kinds="B", unique=False, grid=1, are_left=True, are_open=True):
        self.random = random.Random(seed)
        self.kinds, self.unique, self.grid = kinds, unique, grid
        self.are_left = are_left  # B's without an E in others that have one
        self.are_open = are_open  # B's without an E at all
        self.count = 0

    def name(self):
        self.count += 1
        return f"f{self.count}" if self.unique else f"f{self.random.randrange(6)}"

    def fill(self, calls, begin, end, depth, add):
        """Calls one behind the other in an interval."""
        at = begin
        most = 1 if depth > 6 else 5 if begin < end else 3 if depth < 5 else 1
        for _ in range(self.random.randrange(most)):
            start = self.random.randint(at, min(end, at + max(1, (end - begin) // 2)))
            stop = self.random.choice((start, end, self.random.randint(start, end)))
            call = Call(self.name(), start, stop, self.random.choice(self.kinds))
            add(call)
            self.fill(calls, start, stop, depth + 1, call.add)
            at = stop

    def tree(self, begin, length):
        top = []
        self.fill(top, begin, begin + length, 0, top.append)
        self.leave_open(top)
        for call in every(top):
            call.begin *= self.grid
            call.end = None if call.end is None else call.end * self.grid
        return top

    def leave_open(self, top):
        """Takes ends away, of last children only: what comes behind would be inside."""
        for call in list(every(top)):
            parent = call.parent
            row = parent.children if parent else top
            over = parent.ends() if parent else None
            may = call.kind == "X" or (self.are_open if over is None else self.are_left)
            closed = next((c for c in ancestors(call) if c.end is not None), None)
            may = may and (closed is None or (closed.begin < call.begin and
                                              all(c.begin < closed.end for c in call.walk())))
            if call is row[-1] and may and self.random.randrange(12) == 0:
                call.end = None


def every(top):
    for call in top:
        yield from call.walk()


# ---- Chrome trace JSON ----

def micros(ns, draw):
    """A time in one of the spellings that programs use."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    whole, rest = divmod(ns, 1000)
    if rest == 0 and draw.randrange(2):
        return f"{sign}{whole}"
    text = draw.choice((f"{sign}{whole}.{rest:03}", f"{sign}{ns}e-3",
                        f"{sign}{whole}.{rest:03}000"))
    return f'"{text}"' if draw.randrange(20) == 0 else text


ODD_VALUES = ("NaN", "Infinity", "-Infinity", "undefined", "0x1f", "1e999", "01", "-", "tRue",
              "123456789012345678901234567890")
VALUES = ("1", "-7", "0.5", "true", "null", '"text"', '"\\u00e9\\n"', "[1,{}]", '{"a":[]}')


class Chrome:
    """A file: events of all threads, in one of the orders in which writers have them."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.kinds = draw.choice(("B", "X", "BX", "BXX", "BX"))
        self.order = draw.choice(("told", "told", "by end", "shuffled", "loose"))
        self.grid = draw.choice((1000, 1000, 1, 500))
        self.offset = draw.choice((0, 0, 10 ** 9, 1_700_000_000_000_000_000, -10 ** 7, -3000))
        self.odd = draw.randrange(3) == 0
        self.named = self.order == "loose" or draw.randrange(2) == 0
        self.threads = {}
        for number in range(draw.randint(1, 3)):
            unique = self.order == "loose" or draw.randrange(2) == 0
            calls = Draw(draw.random(), self.kinds, unique=unique, grid=self.grid,
                         are_left=unique and self.named and self.order != "loose",
                         are_open=self.order != "loose")
            key = (draw.choice((1, 2)), 10 + number)
            self.threads[key] = calls.tree(0, draw.choice((4, 12, 40)))
            for call in every(self.threads[key]):
                call.begin += self.offset
                call.end = None if call.end is None else call.end + self.offset
        self.is_lossy = False

    def args(self):
        """(', "args":{...}' or nothing, how many there are)"""
        draw = self.draw
        if draw.randrange(4):
            return "", 0
        values = [draw.choice(VALUES) for _ in range(draw.randrange(4))]
        if self.odd and draw.randrange(3) == 0:
            values.append(draw.choice(ODD_VALUES))
        if self.odd and draw.randrange(6) == 0:
            values.append('"c\x01 \t \\x"')
        if self.odd and draw.randrange(6) == 0:
            values.append('"\udcff\udcc0"')  # bytes that are no UTF-8
        keys = [f"k{i}" if not self.odd or draw.randrange(9) else "twice"
                for i in range(len(values))]
        members = ",".join(f'"{k}":{v}' for k, v in zip(keys, values))
        return ',"args":{' + members + "}", len(set(keys))

    def event(self, phase, key, ts, call, rest=""):
        members = [f'"ph":"{phase}"', f'"pid":{key[0]}', f'"tid":{key[1]}',
                   f'"ts":{micros(ts, self.draw)}']
        if call is not None:
            members.append(f'"name":"{call.name}"')
        self.draw.shuffle(members)
        if self.odd and self.draw.randrange(9) == 0:
            members.insert(0, '"ts":17')  # the last one counts
        return "{" + ",".join(members) + rest + "}"

    def events(self, key, top):
        """Events of a thread as (time, place in time, text)."""
        out = []
        for call in top:
            rest, call.values = self.args()
            if call.kind == "X":
                length = ""
                if call.end is not None:
                    length = f',"dur":{micros(call.end - call.begin, self.draw)}'
                elif self.odd:
                    length = self.draw.choice(("", ',"dur":NaN', ',"dur":-1', ',"dur":null'))
                text = self.event("X", key, call.begin, call, length + rest)
                if self.order != "by end":
                    out.append((call.begin, text))
                out += self.events(key, call.children)
                if self.order == "by end":
                    out.append((call.ends() or math.inf, text))
            else:
                out.append((call.begin, self.event("B", key, call.begin, call, rest)))
                out += self.events(key, call.children)
                if call.end is not None:
                    named = call if self.named or self.draw.randrange(3) == 0 else None
                    results, call.results = self.args()
                    out.append((call.end, self.event("E", key, call.end, named, results)))
            if self.order == "told" and self.draw.randrange(9) == 0:
                out.append((call.ends() or call.begin, self.event("i", key, call.ends() or
                                                                  call.begin, call)))
        return out

    def texts(self):
        """All events in the file's order."""
        draw = self.draw
        parts = [self.events(key, top) for key, top in self.threads.items()]
        if self.order == "loose":
            # by time alone, as unstable sorts leave it
            events = sorted((time, draw.random(), text) for part in parts for time, text in part)
            return [text for _, _, text in events]
        parts = [[text for _, text in part] for part in parts]
        if self.order == "shuffled":
            # X anywhere, B and E of a thread in their order
            spread = []
            for part in parts:
                fixed = [text for text in part if '"ph":"X"' not in text]
                free = [text for text in part if '"ph":"X"' in text]
                for text in free:
                    fixed.insert(draw.randint(0, len(fixed)), text)
                spread.append(fixed)
            parts = spread
        out = []
        while any(parts):
            part = draw.choice([p for p in parts if p])
            count = draw.randint(1, len(part))
            out += part[:count]
            del part[:count]
        return out

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes())

    def bytes(self):
        draw, texts = self.draw, self.texts()
        texts.insert(0, '{"ph":"M","pid":1,"tid":10,"name":"thread_name","args":{"name":"t"}}')
        form = draw.randrange(6)
        comma = draw.choice((",", ",\n", " , "))
        if form == 0:
            text = '{"displayTimeUnit":"ns","traceEvents":[' + comma.join(texts) + '],"x":{}}'
        elif form == 1:
            text = draw.choice(("[,", "[null,", "[\n")) + comma.join(texts)  # no end
        elif form == 2:
            text = "\n".join(texts) + "\n"  # one a line
        elif form == 3:
            at = draw.randint(0, len(texts))
            text = "[" + comma.join(texts[:at]) + "]\n[" + comma.join(texts[at:]) + "]"
        else:
            text = draw.choice(("", "\ufeff")) + "[" + comma.join(texts) + "]"
        return text.encode("utf-8", "surrogateescape")

    def pairs(self, top):
        """Names whose calls are all of B and E in an order that tells their tree."""
        others = {call.name for call in every(top) if call.kind == "X"}
        return set() if self.order == "loose" else \
            {call.name for call in every(top)} - others

    def check(self, got):
        """`got`: the calls of a trace."""
        for key, top in self.threads.items():
            check(top, got[key[1]], self.pairs(top))
            want = Counter((c.name, c.begin, c.values, c.results or 0) for c in every(top))
            have = Counter((c.name, c.begin, len(c.values), len(c.results or ()))
                           for c in every(got[key[1]]))
            assert want == have, f"{want - have} is {have - want}"

    def shift(self):
        """What is taken from all times: they begin at 0 where they are below it."""
        least = min((call.begin for top in self.threads.values() for call in every(top)),
                    default=0)
        return min(least, 0)


# ---- the calls of a trace ----

def read_calls(lines, shift=0):
    """{tid: outermost calls} of lines of `dump --format ndjson`."""
    top, stacks = defaultdict(list), defaultdict(list)
    for line in lines:
        event = json.loads(line)
        tid, kind = event["tid"], event["kind"]
        time, stack = event["time_ns"] + shift, stacks[event["stream"]]
        if kind == "enter":
            call = Call(event["symbol"], time, None)
            call.values = tuple(event.get("values", []))
            if stack:
                stack[-1].add(call)
            else:
                top[tid].append(call)
            stack.append(call)
        elif kind == "unwind":
            del stack[-event["frames"]:]
        elif kind == "exit":
            assert not event.get("unseen"), event
            for _ in range(event.get("frames", 0)):
                stack.pop()
            call = stack.pop()
            assert call.name == event["symbol"], (call, event)
            call.end = time
            call.results = tuple(event.get("values", []))
    return top


def ancestors(call):
    while call.parent is not None:
        call = call.parent
        yield call


def extents(top):
    """How often each (name, begin, end or None, when it is over) is there."""
    return Counter((c.name, c.begin, c.end, c.ends()) for c in every(top))


def must_be_around(outer, inner):
    """Whether the times tell that one call is around another one."""
    begin, end = outer.begin, math.inf if outer.ends() is None else outer.ends()
    first, last = inner.begin, math.inf if inner.ends() is None else inner.ends()
    if first == last and first in (begin, end):
        return False
    return begin <= first and last <= end and (begin, end) != (first, last)


def around(top):
    """{(name, begin, over): what must be around such calls, and is}"""
    found = defaultdict(Counter)
    for call in every(top):
        for outer in ancestors(call):
            assert outer.begin <= call.begin and \
                (outer.ends() is None or call.ends() <= outer.ends()), (outer, call)
            if must_be_around(outer, call):
                found[call.name, call.begin, call.ends()][
                    outer.name, outer.begin, outer.ends()] += 1
    return found


def shape(call, names):
    """The tree of the calls of some names, through others."""
    inside = [part for child in call.children for part in shape(child, names)]
    return [(call.name, call.begin, call.end, inside)] if call.name in names else inside


def check(want, got, names=None):
    """Every call with its times, and in what must be around it. Of some names, or all: the same
    tree."""
    missing, extra = extents(want) - extents(got), extents(got) - extents(want)
    assert not missing and not extra, f"missing {dict(missing)}, extra {dict(extra)}"
    wanted, have = around(want), around(got)
    for key, outers in wanted.items():
        missing = outers - have[key]
        assert not missing, f"{key} is not inside {list(missing)}"
    if names is not None:
        for one, two in zip((p for c in want for p in shape(c, names)),
                            (p for c in got for p in shape(c, names))):
            assert one == two, f"{one} is {two}"
