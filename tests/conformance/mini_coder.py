"""Numbers, zstd frames and the adaptive binary coder (spec/format.md, section 3)."""
import struct
import subprocess

U64 = (1 << 64) - 1


class Finding(Exception):
    """A rule of the specification that the bytes break."""

    def __init__(self, rule, message):
        super().__init__(f"{rule}: {message}")
        self.rule, self.message = rule, message


def need(condition, rule, message):
    """Raise the finding unless the condition holds."""
    if not condition:
        raise Finding(rule, message)


def wrap64(value):
    """The signed 64-bit number that a value is modulo 2^64 (F-NUM-07)."""
    value &= U64
    return value - (1 << 64) if value >> 63 else value


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


class Cursor:
    """Reads numbers front to back; running out breaks the rule that its owner names."""

    def __init__(self, data, rule, offset=0):
        self.data, self.rule, self.offset = data, rule, offset

    def left(self):
        return len(self.data) - self.offset

    def take(self, size, rule=None):
        need(size <= self.left(), rule or self.rule, "ends early")
        self.offset += size
        return self.data[self.offset - size:self.offset]

    def byte(self):
        return self.take(1)[0]

    def varint(self, limit=U64, rule=None):
        """F-NUM-02: LEB128 in its shortest form."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
            need(shift < 70, "F-NUM-02", "varint longer than 10 bytes")
        need(byte or shift == 7, "F-NUM-02", "varint not in its shortest form")
        need(value <= U64, "F-NUM-02", "varint above 64 bits")
        need(value <= limit, rule or self.rule, f"{value} is above {limit}")
        return value

    def svarint(self):
        return unzigzag(self.varint())

    def string(self, rule=None):
        size = self.varint()
        need(size > self.left() or size <= 1 << 20, "F-SIT-04", f"a string of {size} bytes")
        return self.take(size, rule)

    def end(self, rule=None):
        need(not self.left(), rule or self.rule, f"{self.left()} bytes too many")


# ---- zstd: exactly one frame (F-CHK-05, F-PAR-09) ----

def _frame_window(data, rule):
    """The frame header: (bytes of it, window bytes, checksum flag)."""
    need(data[:4] == b"\x28\xb5\x2f\xfd" and len(data) > 5, rule, "not a zstd frame")
    descriptor = data[4]
    single = descriptor >> 5 & 1
    need(not descriptor & 8, rule, "reserved bit of a zstd frame")
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    size_bytes = (single, 2, 4, 8)[descriptor >> 6]
    at = 6 - single
    need(len(data) >= at + dictionary + size_bytes, rule, "zstd frame ends early")
    need(not any(data[at:at + dictionary]), rule, "zstd frame with a dictionary")
    at += dictionary
    content = int.from_bytes(data[at:at + size_bytes], "little") + (256 if size_bytes == 2 else 0)
    base = 1 << 10 + (data[5] >> 3)
    window = content if single else base + base // 8 * (data[5] & 7)
    return at + size_bytes, window, descriptor >> 2 & 1


def unzstd(data, content_bytes, rule):
    """The content of exactly one zstd frame: walked here, decompressed by the command."""
    at, window, checksum = _frame_window(data, rule)
    need(window <= 1 << 27, rule, f"zstd window of {window} bytes")
    last = 0
    while not last:
        need(at + 3 <= len(data), rule, "zstd frame ends early")
        block = int.from_bytes(data[at:at + 3], "little")
        last, kind, size = block & 1, block >> 1 & 3, block >> 3
        need(kind != 3, rule, "reserved zstd block")
        at += 3 + (1 if kind == 1 else size)
    need(at + 4 * checksum == len(data), rule, "not exactly one zstd frame")
    done = subprocess.run(["zstd", "-dcq", "--long=27"], input=data, capture_output=True,
                          check=False)
    need(done.returncode == 0, rule, "zstd cannot decompress it")
    need(len(done.stdout) == content_bytes, rule,
         f"decompresses to {len(done.stdout)} bytes, not {content_bytes}")
    return done.stdout


# ---- the adaptive binary coder (F-COD) ----

RATES = [max(1310, 655350 // (10 * n + 16)) for n in range(49)]   # F-COD-03


class Bits:
    """A row of adaptive bits: probabilities and hit counts."""
    __slots__ = ("p", "n")

    def __init__(self, count, first=(32768, 0)):
        self.p, self.n = [first[0]] * count, [first[1]] * count

    def adapt(self, i, bit):
        """F-COD-03."""
        p, n = self.p[i], self.n[i]
        rate = RATES[n]
        self.p[i] = p + ((65535 - p) * rate >> 16) if bit else p - (p * rate >> 16)
        if n < 48:
            self.n[i] = n + 1


class Decoder:
    """One stream of the coder; `rule` is broken when the stream ends early (F-COD-01)."""

    def __init__(self, data, rule="F-COD-01", offset=0):
        self.data, self.rule = data, rule
        self.low, self.high = 0, 0xFFFFFFFF
        head = data[offset:offset + 4]
        self.code = int.from_bytes(head.ljust(4, b"\0"), "big")
        self.next = offset + 4            # the bytes that were asked for, also past the end

    def raw_bit(self, probability):
        """F-COD-02 with a probability that the caller keeps."""
        p = min(max(probability, 6), 65529)
        low, high, code = self.low, self.high, self.code
        mid = low + ((high - low) * p >> 16)
        if code <= mid:
            bit, high = 1, mid
        else:
            bit, low = 0, mid + 1
        while not (low ^ high) >> 24:
            at = self.next
            byte = self.data[at] if at < len(self.data) else 0
            self.next = at + 1
            low = low << 8 & 0xFFFFFFFF
            high = high << 8 & 0xFFFFFFFF | 255
            code = code << 8 & 0xFFFFFFFF | byte
        if self.next > len(self.data) + 4:
            raise Finding(self.rule, "the stream of bits ends early")
        self.low, self.high, self.code = low, high, code
        return bit

    def bit(self, bits, i=0):
        """One adaptive bit (F-COD-03)."""
        value = self.raw_bit(bits.p[i])
        bits.adapt(i, value)
        return value


class Number:
    """An adaptive number model (F-COD-04)."""

    def __init__(self):
        self.length, self.bits = Bits(64), Bits(256)

    def get(self, decoder):
        size = 0
        while size < 63 and decoder.bit(self.length, size):
            size += 1
        prefix = value = 1
        for i in range(size - 1, -1, -1):
            if size < 4:
                at = (1 << size) + (prefix & 7)
            else:
                at = 16 + 2 * size + (i == size - 1)
            bit = decoder.bit(self.bits, at)
            prefix = value = value << 1 | bit
        return value - 1


class Signed:
    """An adaptive signed model (F-COD-05)."""

    def __init__(self):
        self.least, self.number = Bits(1, (6, 0)), Number()

    def get(self, decoder):
        if decoder.bit(self.least):
            return -(1 << 63)
        return unzigzag(self.number.get(decoder))


def f64(data):
    return struct.unpack("<d", data)[0]
