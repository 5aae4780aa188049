"""Order sections, full form (spec/order-full.md): sections 16 and 17 give symbols and codes."""
import copy

from mini_coder import Bits, Decoder, Number, need, unzigzag
from mini_partition import (ENTER, EXIT_ACROSS, GAP, LEAF, PUSHING, SIGNAL, STACKS, SWITCH,
                            UNWIND)
from mini_records import M32, Mixed, Records, clamp, hash3, opinions, scale

END, CLOSE = 0, 1                        # tokens (O-FUL-24): 2 + c is chain c
SPINE = 1 << 31                          # SPINE + s: symbol s as an event of the spine
LEVEL = 1 << 24
INSIDE = (ENTER, SIGNAL, LEAF, GAP)      # classes that a definition may hold (O-FUL-33)


class Context:
    """O-FUL-26: where the next token stands."""

    def __init__(self, frame, caller):
        self.frame, self.caller = frame, caller
        self.count = self.window = self.followed = 0
        self.path = hash3(frame, 77, 1)
        self.tokens = [0] * 20
        self.f1 = self.f2 = 0
        self.left = False
        self.repeat = None               # tokens left of a repeat (O-FUL-25)

    def advance(self, token, value):
        p20 = self.tokens[-20]
        self.window = (self.window - p20 * 0xF028D1B1) * 0x2545F491 + token & M32
        self.tokens.append(token)
        self.count += 1
        if self.count <= 16:
            self.path = hash3(self.path, token, 2)
        self.f1, self.f2 = value, self.f1

    def hashes(self):
        """O-FUL-30."""
        p1, p2, p3, p4, p5 = self.tokens[:-6:-1]
        far = p2 * 0x27D4EB2F + p3 * 0x165667B1 + p4 * 0xD3A2646D + p5 * 0xFD7046C5
        frame = self.frame
        return (hash3(frame, self.window, 3) if self.count >= 16 else self.path,
                hash3(frame + LEVEL, p1, far), hash3(frame + 2 * LEVEL, p1, p2),
                hash3(frame + 3 * LEVEL, p1, 0))


class Chain:
    """A chain: the span of codes of its first occurrence, its symbol and its height."""
    __slots__ = ("symbol", "begin", "end", "height")

    def __init__(self, symbol, begin):
        self.symbol, self.begin, self.end, self.height = symbol, begin, 0, 1


class Token:
    """What is known of a token while it is decoded."""

    def __init__(self):
        self.refused = []
        self.close_refused = False       # 0 or 1 was refused by a bit
        self.token = self.value = None
        self.lessons = []                # (table, hash, token or None for the value)


class Full:
    """The decoder of one partition, or of a model chunk."""

    def __init__(self, partition):
        self.start(partition)
        self.callee_limit = min(partition.events, 4096)
        size = (partition.events - 1).bit_length()
        self.mixed = Mixed(size)
        self.records = Records(clamp(size, 6, 16))
        self.functions = Records(clamp(size, 6, 14))
        self.sure, self.below = Bits(12, (60000, 0)), Bits(8)
        self.run, self.edge, self.rank, self.escape = Number(), Number(), Number(), Number()
        self.classes, self.arguments = Bits(16), [Number() for _ in range(3)]
        self.last, self.codes = [M32] * 9, []
        self.symbol_novelty = self.novelty = 0
        self.callees, self.callee_count = {}, 0
        self.chains, self.newest = [], {}        # newest: symbol to its chains, newest first
        self.begin = 0                           # codes of the model come before

    def start(self, partition):
        """The words and streams of a partition; the rest of the state may be a model's."""
        self.partition, self.symbols = partition, list(partition.given_symbols)
        self.header = Decoder(partition.section(16), "O-FUL-05")
        self.data = Decoder(partition.section(17), "O-FUL-05")
        self.chains_left = min(partition.events, partition.events // 40 + 1024)

    def go_on(self, partition):
        """A model's state, for a partition that names it (O-FUL-49)."""
        full = copy.deepcopy(self)
        full.start(partition)
        full.begin = len(full.codes)
        full.callee_limit = max(self.callee_limit, min(partition.events, 4096))
        return full

    # ---- a token (section 5) ----

    def misplaced(self, token, x, defining):
        """O-FUL-29."""
        if defining:
            return token == CLOSE or token >= SPINE
        return token == END or token == CLOSE and x.frame == 0

    def misplaced_value(self, value, x, defining):
        """O-FUL-33."""
        if value == 0:
            return not defining and x.frame == 0
        if value > len(self.symbols):
            return False
        return defining and self.symbols[value - 1][0] not in INSIDE

    def value_of(self, token):
        """The function value of a token (O-FUL-24)."""
        if token < 2:
            return 0
        return (token - SPINE if token >= SPINE else self.chains[token - 2].symbol) + 1

    def token(self, x, defining):
        """Decodes one token; a chain that is new has no token yet."""
        d = self.header if defining else self.data
        t, hashes = Token(), x.hashes()
        group = [self.records.find(h) for h in hashes]
        first = group[0]
        if x.repeat:
            need(first.count[0] and 2 <= first.successor[0] < SPINE, "O-FUL-25", "not a chain")
            x.repeat -= 1
            return self.known(t, first.successor[0])
        if x.repeat == 0:
            x.repeat = None
            if first.count[0] and 2 <= first.successor[0] < SPINE:
                t.refused.append(first.successor[0])
        elif self.is_sure(t, d, x, first, defining):
            t.lessons.append((self.records, hashes[0], False))
            x.followed += 1
            if x.followed == 256:
                x.repeat = self.run.get(d)
            return self.known(t, first.successor[0])
        self.levels(t, d, x, hashes, group, defining)
        if t.token is not None:
            return t
        self.steps(t, d, x, defining)
        self.token_of_value(t, d, x, defining)
        return t

    def known(self, t, token):
        t.token, t.value = token, self.value_of(token)
        return t

    def is_sure(self, t, d, x, first, defining):
        """O-FUL-31."""
        token = first.successor[0]
        if (first.count[0] < 8 or first.history & 7 != 7 or token == END
                or self.misplaced(token, x, defining)):
            return False
        if d.bit(self.sure, 4 * (scale(first.count[0]) - 5) + min(first.other, 3)):
            return True
        self.refuse(t, token)
        return False

    @staticmethod
    def refuse(t, token):
        t.refused.append(token)
        if token < 2:
            t.close_refused = True

    def levels(self, t, d, x, hashes, group, defining):
        """O-FUL-32."""
        x.followed = 0
        if not group[0].count[0]:
            x.left = True
        novelty = 1 + x.left if defining else 0
        for k, record in enumerate(group):
            t.lessons.append((self.records, hashes[k], False))
            for j in (0, 1):
                c = record.successor[j]
                if (not record.count[j] or c in t.refused or self.misplaced(c, x, defining)):
                    continue
                if k == 0 and c == END and x.count < 16:
                    t.refused.append(c)              # without a bit
                    continue
                place, before, closes = 2 * k + j, min(len(t.refused), 3), c < 2
                if self.mixed.bit(d, ("token", 4 * place + before),
                                  (1, 128 * k + record.trust(j), opinions(group, k, c)),
                                  (2, x.frame, (2 * place + closes) * 3 + novelty),
                                  (3, place, c), (4, x.caller, c)):
                    self.known(t, c)
                    return
                self.refuse(t, c)

    def steps(self, t, d, x, defining):
        """O-FUL-33 to O-FUL-40: the function value."""
        was_left, x.left = x.left, True
        ruled_out = [0] if t.close_refused else []
        hashes = (hash3(x.frame + 4 * LEVEL, x.f1, x.f2), hash3(x.frame + 5 * LEVEL, x.f1, 0),
                  hash3(x.frame + 6 * LEVEL, 0, 0))
        group = [self.functions.find(h) for h in hashes]
        tried, how = min(len(t.refused), 7), 1 + was_left if defining else 0
        for k, record in enumerate(group):
            t.lessons.append((self.functions, hashes[k], True))
            for j in (0, 1):
                v = record.successor[j]
                if (not record.count[j] or v in ruled_out
                        or self.misplaced_value(v, x, defining)):
                    continue
                before = min(len(ruled_out), 3)
                if self.mixed.bit(d, ("function", 4 * (2 * k + j) + before),
                                  (6, 128 * k + record.trust(j),
                                   2 * opinions(group, k, v) + (v == 0)),
                                  (7, x.frame, v), (8, 2 * k + j, record.history & 31),
                                  (9, 4 * tried + before, how), (28, x.f1, v)):
                    need(v <= len(self.symbols), "O-FUL-33", f"value {v} of no symbol")
                    t.value = v
                    self.to_front(x, v)
                    return
                ruled_out.append(v)
        t.value = self.callee(d, x, ruled_out, defining)
        if t.value is None:
            t.value = self.new_or_old(d, x, defining)
        self.to_front(x, t.value)

    def callee(self, d, x, ruled_out, defining):
        """O-FUL-34."""
        usable = [v for v in self.callees.get(x.frame, ())[:64]
                  if v not in ruled_out and not self.misplaced_value(v, x, defining)]
        if not usable or not d.bit(self.below, min(len(usable), 8) - 1):
            return None
        index = self.edge.get(d)
        need(index < len(usable), "O-FUL-34", f"index {index} of {len(usable)}")
        return usable[index]

    def to_front(self, x, value):
        """O-FUL-40."""
        values = self.callees.setdefault(x.frame, [])
        if value in values[:64]:
            values.remove(value)
            values.insert(0, value)
        elif self.callee_count < self.callee_limit:
            self.callee_count += 1
            values.insert(0, value)

    def new_or_old(self, d, x, defining):
        """O-FUL-35 to O-FUL-39."""
        first = defining and not self.newest.get(x.frame - 1)
        new = self.mixed.bit(d, "symbol", (11, x.frame, 0), (12, self.symbol_novelty & 255, 0),
                             (13, min(x.count, 3), defining + 2 * first), (14, x.f1 == 0, 0))
        self.symbol_novelty = 2 * self.symbol_novelty + new & M32
        if new:
            value = self.new_symbol()
        else:
            value = self.old_value(d, x)
        need(not self.misplaced_value(value, x, defining), "O-FUL-39", f"misplaced value {value}")
        return value

    def new_symbol(self):
        need(len(self.symbols) < self.partition.symbol_count, "O-FUL-38", "too many symbols")
        kind = 1
        for _ in range(4):
            kind = 2 * kind + self.header.bit(self.classes, kind)
        kind -= 16
        need(kind <= 8, "O-FUL-36", f"class {kind}")
        z = self.arguments[min(kind, 2)].get(self.header)
        need(z <= M32, "O-FUL-37", "argument")
        self.last[kind] = self.last[kind] + 1 + unzigzag(z) & M32
        self.symbols.append((kind, self.last[kind]))
        return len(self.symbols)

    def old_value(self, d, x):
        """O-FUL-39."""
        node = 1
        for i in range(15, -1, -1):
            if ((2 * node + 1) << i) - (1 << 16) > len(self.symbols):
                node = 2 * node
                continue
            node = 2 * node + self.mixed.bit(d, "value", (10, node, 0), (5, node, x.f1),
                                             (27, node, x.frame >> 3))
        return node - (1 << 16)

    def token_of_value(self, t, d, x, defining):
        """O-FUL-41 and O-FUL-42."""
        if t.value == 0:
            t.token = END if defining else CLOSE
            return
        symbol = t.value - 1
        kind = self.symbols[symbol][0]
        if kind not in INSIDE or not defining and self.mixed.bit(
                d, "spine", (19, t.value, 0), (20, x.frame, x.count == 0), (21, kind, 0)):
            t.token = SPINE + symbol
            return
        chains = self.newest.get(symbol)
        if not chains:
            return
        if kind in (LEAF, GAP):
            t.token = 2 + chains[0]
            return
        known = self.mixed.bit(d, "known", (22, t.value, defining), (23, t.value, x.frame),
                               (24, self.novelty & 255, 0), (25, x.frame, 0),
                               (26, min(len(t.refused), 7), defining))
        self.novelty = 2 * self.novelty + (not known) & M32
        self.known_chain(t, d, x, known, chains)

    def known_chain(self, t, d, x, known, chains):
        """O-FUL-43 to O-FUL-45."""
        v = t.value
        hashes = (hash3(x.frame + 7 * LEVEL, v, x.tokens[-1]), hash3(x.frame + 8 * LEVEL, v, 0),
                  hash3(x.caller + 9 * LEVEL, v, 0))
        group = [self.functions.find(h) for h in hashes]
        if not known:
            t.lessons += [(self.functions, h, False) for h in hashes]
            return
        for k, record in enumerate(group):
            t.lessons.append((self.functions, hashes[k], False))
            for j in (0, 1):
                c = record.successor[j]
                if not record.count[j] or c in t.refused:
                    continue
                before = min(len(t.refused), 3)
                if self.mixed.bit(d, ("chain", 4 * (2 * k + j) + before),
                                  (15, 128 * k + record.trust(j), opinions(group, k, c)),
                                  (16, x.frame, v), (17, c, 0),
                                  (18, 2 * k + j, record.history & 31)):
                    need(c - 2 in chains, "O-FUL-43", f"{c} is no chain of {v}")
                    t.token = c
                    return
                self.refuse(t, c)
        usable = [c for c in chains[:256] if 2 + c not in t.refused]
        rank = self.rank.get(d)
        if rank < len(usable):
            chain = usable[rank]
            chains.remove(chain)
            chains.insert(0, chain)
        else:
            need(rank == 256, "O-FUL-44", f"rank {rank} of {len(usable)}")
            chain = self.escape.get(d)
            need(chain in chains, "O-FUL-45", f"chain {chain}")
        t.token = 2 + chain

    # ---- what tokens do (section 6) ----

    def learn(self, t, x):
        """O-FUL-48."""
        for table, h, by_value in t.lessons:
            table.teach(h, t.value if by_value else t.token)
        x.advance(t.token, t.value)

    def emit(self, token, end):
        """The events of a known chain."""
        need(token - 2 < len(self.chains), "O-FUL-46", f"chain {token - 2}")
        chain = self.chains[token - 2]
        need(len(self.codes) + chain.end - chain.begin <= end, "O-FUL-10", "segment too short")
        self.codes += self.codes[chain.begin:chain.end]
        return chain.height

    def complete(self, chain):
        """O-FUL-47: a new chain gets its number."""
        chain.end = len(self.codes)
        need(self.chains_left, "O-FUL-11", "too many chains")
        self.chains_left -= 1
        self.newest.setdefault(chain.symbol, []).insert(0, len(self.chains))
        self.chains.append(chain)
        return len(self.chains) + 1                  # its token

    def define(self, t, x, end):
        """A new chain and all that are new within it."""
        open_ = []                                   # (token, its context, chain)
        token, context = t, x
        while True:
            if token.token is None:                  # new
                symbol = token.value - 1
                chain = Chain(symbol, len(self.codes))
                need(len(self.codes) < end, "O-FUL-10", "segment too short")
                self.codes.append(2 * symbol)
                open_.append((token, context, chain))
                if self.symbols[symbol][0] not in (LEAF, GAP):
                    need(len(open_) <= 1000, "O-FUL-12", "nested too deeply")
                    context = Context(token.value, context.frame)
                    token = self.token(context, True)
                    continue
            elif token.token == END:
                self.learn(token, context)
                need(len(self.codes) < end, "O-FUL-10", "segment too short")
                self.codes.append(2 * open_[-1][2].symbol + 1)
            else:
                height = self.emit(token.token, end)
                self.raise_height(open_[-1][2], height)
                self.learn(token, context)
                token = self.token(context, True)
                continue
            token, context, chain = open_.pop()      # a chain is complete
            token.token = self.complete(chain)
            self.learn(token, context)
            if not open_:
                return
            self.raise_height(open_[-1][2], chain.height)
            token = self.token(context, True)

    @staticmethod
    def raise_height(chain, height):
        chain.height = max(chain.height, height + 1)
        need(chain.height <= 1000, "O-FUL-12", "chain too high")

    def segment(self, segment, numbers):
        """One segment's spine (O-FUL-02, O-FUL-03, O-FUL-07, O-FUL-27)."""
        stacks, current = {}, segment.stack
        for frame in segment.frames:
            stacks.setdefault(frame.stack, []).append(numbers[frame.kind, frame.argument])
        end = len(self.codes) + segment.events
        stack = stacks.setdefault(current, [])
        x = Context(*self.top(stack))
        while len(self.codes) < end:
            t = self.token(x, False)
            if t.token is None:
                self.define(t, x, end)
            elif 2 <= t.token < SPINE:
                self.emit(t.token, end)
                self.learn(t, x)
            else:
                pushed = False
                if t.token == CLOSE:
                    need(stack, "O-FUL-29", "a close on an empty stack")
                    self.codes.append(2 * stack.pop() + 1)
                else:
                    symbol = t.token - SPINE
                    kind, argument = self.symbols[symbol]
                    self.codes.append(2 * symbol)
                    pushed = kind in PUSHING
                    if pushed:
                        stack.append(symbol)
                    elif kind in (UNWIND, EXIT_ACROSS):
                        gone = argument + (kind == EXIT_ACROSS)
                        del stack[max(0, len(stack) - gone):]
                    elif kind == SWITCH:
                        need(argument < STACKS, "O-CHK-06", f"stack {argument}")
                        stack = stacks.setdefault(argument, [])
                        need(len(stacks) <= self.stack_limit(), "O-FUL-08", "too many stacks")
                self.learn(t, x)
                if pushed:
                    x = Context(*self.top(stack))
            x.frame, x.caller = self.top(stack)
        need(not x.repeat, "O-FUL-25", "a segment ends in a repeat")

    def stack_limit(self):
        total = 2 * (self.partition.events + self.partition.start_frames + 1)
        return 3 * (1 << clamp((total - 1).bit_length(), 4, 14)) // 4

    @staticmethod
    def top(stack):
        """(frame, caller) of the spine."""
        return (stack[-1] + 1 if stack else 0), (stack[-2] + 1 if len(stack) > 1 else 0)

    def run_all(self):
        numbers = {symbol: i for i, symbol in enumerate(self.symbols)}
        for segment in self.partition.segments:
            self.segment(segment, numbers)
        for decoder in (self.header, self.data):
            need(decoder.next >= len(decoder.data), "O-FUL-06", "bytes that were not read")
        need(len(self.symbols) == self.partition.symbol_count, "O-FUL-38",
             f"{len(self.symbols)} symbols, the head says {self.partition.symbol_count}")
        return self.symbols, self.codes[self.begin:]


def read_full(partition, model=None):
    """Sections 16 and 17: (symbols, codes); model is the Full of the model chunk it names."""
    need(partition.symbol_count <= 65535, "O-FUL-04", f"{partition.symbol_count} symbols")
    full = model.go_on(partition) if model else Full(partition)
    return full.run_all()


def read_model(partition):
    """The state in which decoding a model chunk's order ends (F-MOD-03)."""
    full = Full(partition)
    full.run_all()
    return full
