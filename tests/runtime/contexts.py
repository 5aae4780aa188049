"""Context values' dictionaries, read as spec/context.md says, by a reader of its own."""
import re
import struct
import subprocess

MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
HEAD, MODULE, MODULES, ENTRY = 4096, 4096, 255, 32
AFFINE, XOR, ADD, MULTIPLY = range(4)
STABLE, ADDRESS = range(2)
PAGE = 4096
NOTHING = bytes(PAGE)


def mix(word):
    word = (word ^ word >> 32) * 0xD6E8FEB86659FD93 & MASK
    word = (word ^ word >> 29) * 0xA0761D6478BD642F & MASK
    return word ^ word >> 32


def seed(data):
    word = 0xCBF29CE484222325
    for byte in data:
        word = (word ^ byte) * 0x100000001B3 & MASK
    return mix(word)


def identity(module_seed, offset):
    return mix(module_seed + offset * FACTOR & MASK)


def enter(operation, value, number):
    return {AFFINE: value * FACTOR + number, XOR: value ^ number, ADD: value + number,
            MULTIPLY: value * (number | 1)}[operation] & MASK


def value_of(operation, numbers):
    value = 1 if operation == MULTIPLY else 0
    for number in numbers:
        value = enter(operation, value, number)
    return value


def check(a, b, c):
    word = a * 0xD6E8FEB86659FD93 & MASK
    word = (word ^ word >> 32 ^ b) * 0xA0761D6478BD642F & MASK
    word = (word ^ word >> 29 ^ c) * FACTOR & MASK
    word ^= word >> 32
    return word + 2 if word <= 1 else word


def symbols(path):
    """Names by where they are in memory behind the module's first byte."""
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    heads = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True,
                           text=True).stdout
    low = min(int(m, 16) for m in re.findall(r"LOAD\s+\S+\s+(\S+)", heads)) & ~4095
    return {int(m[1], 16) - low: m[2]
            for m in re.finditer(r"^([0-9a-f]+) [tTwW] (\S+)$", lines, re.M)}


class Dictionary:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        (magic, version, self.operation, self.ids, self.count, own, self.lost,
         self.modules_lost) = struct.unpack_from("<QIIIIQQQ", data)
        assert magic.to_bytes(8, "little") == b"ttcontx\n" and version == 1
        assert own == check(magic ^ version, self.operation << 32 | self.ids, self.count)
        self.modules, self.entries, self.names, self.broken = {}, {}, {}, 0
        self.numbers = {}  # of entries, by value and depth
        for number in range(1, MODULES + 1):
            place = HEAD + (number - 1) * MODULE
            self.read_module(number, data[place:place + MODULE])
        start = HEAD + MODULES * MODULE
        end = start + self.count * ENTRY
        assert len(data) >= end
        for place in range(start, end, PAGE):
            page = data[place:min(place + PAGE, end)]
            if page != NOTHING[:len(page)]:  # most are
                self.read_entries((place - start) // ENTRY + 1, page)

    def read_entries(self, first, data):
        for number, words in enumerate(struct.iter_unpack("<4Q", data), first):
            if words[3] == check(*words[:3]):
                self.entries[number] = words
                self.numbers.setdefault((words[0], words[1] >> 32), []).append(number)
            elif any(words):
                self.broken += 1

    def read_module(self, number, data):
        own, module_seed, start, id_bytes, path_bytes = struct.unpack_from("<QQQII", data)
        if own > 1 and own == check(module_seed, id_bytes << 32 | path_bytes, start):
            build_id, path = data[32:32 + id_bytes], data[96:96 + path_bytes].decode()
            self.modules[number] = (module_seed, start, build_id, path)

    def name(self, place):
        number, offset = place >> 48, place & (1 << 48) - 1
        if number not in self.modules:
            return f"{offset:x}"
        path = self.modules[number][3]
        if path not in self.names:
            self.names[path] = symbols(path)
        return self.names[path].get(offset, f"{path}+{offset:x}")

    def identity(self, place):
        number, offset = place >> 48, place & (1 << 48) - 1
        module_seed, start = self.modules.get(number, (0, 0))[:2]
        return start + offset if self.ids == ADDRESS else identity(module_seed, offset)

    def places(self, number):
        found = []
        while number:
            _, around, place, _ = self.entries[number]
            found.append(place)
            number = around & 0xFFFFFFFF
        return found[::-1]

    def stacks(self, text):
        """All that a value VALUE/DEPTH may be, as main>call>call."""
        value, _, depth = text.partition("/")
        if not depth:
            return set()
        return {">".join(self.name(place) for place in self.places(number))
                for number in self.numbers.get((int(value, 16), int(depth)), ())}

    def problems(self):
        """Of each entry: what is around it is there, and the value is what the stack gives."""
        for number, (value, around, _, _) in self.entries.items():
            places = self.places(number)
            if len(places) != around >> 32:
                yield f"entry {number}: depth {around >> 32}, and {len(places)} functions"
            elif value_of(self.operation, map(self.identity, places)) != value:
                yield f"entry {number}: {value:x} is not the value of its stack"
