"""File header, chunks, definitions and footer (spec/format.md, sections 4 to 6 and 10)."""
import struct

from mini_coder import Cursor, Finding, need, unzigzag, unzstd
from xxh3 import xxh3_64

MAGIC = b"\x89TTAPE1\n"
SYNC = bytes.fromhex("F35454 63686B B11A")
FOOTER = bytes.fromhex("E55454 656E64 310A")
HEADER = 64                              # bytes of a file header, a chunk header and a footer
METADATA, SITES, STREAMS, PARTITION, MODEL, INDEX, PATHS, VALUE_NAMES, OVERVIEW = \
    1, 2, 3, 4, 5, 6, 7, 8, 9
KIND_NAMES = {1: "metadata", 2: "sites", 3: "streams", 4: "partition", 5: "model", 6: "index",
              7: "paths", 8: "value names", 9: "overview"}
IDS = 1 << 24                            # F-SIT-02, F-SIT-05
NEWEST_MINOR = 1


class NotATrace(Exception):
    """The file has not the magic of a trace."""


class Chunk:
    """One chunk: its header's fields, where it lies, and its payload."""

    def __init__(self, data, offset):
        head = data[offset:offset + HEADER]
        need(head[:8] == SYNC, "F-CHK-01", f"no chunk at offset {offset}")
        (self.kind, self.flags, self.scope, self.sequence, self.stored, self.content,
         self.hash, self.last_index, check) = struct.unpack("<HHIQQQQQQ", head[8:])
        need(check == xxh3_64(head[:56]), "F-CHK-02", f"header at offset {offset}")
        self.offset, self.end = offset, offset + HEADER + self.stored
        self.data = data

    def payload(self):
        """The checked payload, decompressed."""
        stored = self.data[self.offset + HEADER:self.end]
        need(xxh3_64(stored) == self.hash, "F-CHK-03", f"payload of chunk {self.sequence}")
        if self.flags & 1:
            return unzstd(stored, self.content, "F-CHK-05")
        return stored

    def check_header(self):
        need(not self.flags & ~3, "F-CHK-04", f"flags {self.flags:#x}")
        need(max(self.stored, self.content) <= 1 << 30, "F-CHK-06", "size of a payload")
        need(self.flags & 1 or self.stored == self.content, "F-CHK-05", "content bytes")


def read_file_header(data):
    """F-FIL: (minor, required minor, trace id)."""
    if data[:6] != MAGIC[:6] or data[7:8] != MAGIC[7:]:
        raise NotATrace
    need(data[6:7] == b"1", "F-FIL-02", f"major version {data[6:7]!r}, this reader knows 1")
    need(len(data) >= HEADER, "F-FIL-03", "shorter than a file header")
    check = struct.unpack_from("<Q", data, 56)[0]
    need(check == xxh3_64(data[:56]), "F-FIL-04", "hash of the file header")
    minor, required, flags = struct.unpack_from("<HHI", data, 8)
    need(required <= NEWEST_MINOR, "F-FIL-05", f"needs minor version {required}")
    need(not flags and not any(data[32:56]), "F-FIL-06", "reserved bytes")
    return minor, required, data[16:32]


# ---- metadata: a small subset of CBOR (F-MET) ----

def _cbor_head(cursor):
    first = cursor.byte()
    major, info = first >> 5, first & 31
    if info < 24:
        return major, info, info
    need(info <= 27 or info == 31, "F-MET-01", "CBOR: reserved additional information")
    if info == 31:
        need(major in (2, 3, 4, 5, 7), "F-MET-01", "CBOR: indefinite length")
        return major, info, None
    return major, info, int.from_bytes(cursor.take(1 << info - 24), "big")


def _cbor_string(cursor, major, size):
    if size is None:
        parts = []
        while cursor.data[cursor.offset:cursor.offset + 1] != b"\xff":
            part, _, size = _cbor_head(cursor)
            need(part == major and size is not None, "F-MET-01", "CBOR: chunk of a string")
            parts.append(cursor.take(size))
        cursor.byte()
        return b"".join(parts)
    return cursor.take(size)


def _cbor_items(cursor, count, depth, each):
    """The items of an array or map: count of them, or up to the break."""
    items = []
    while count is None or len(items) < count:
        if count is None and cursor.data[cursor.offset:cursor.offset + 1] == b"\xff":
            cursor.byte()
            break
        items.append([_cbor_value(cursor, depth + 1) for _ in range(each)])
    return items


def _cbor_value(cursor, depth):
    """One value as (major type, value); what F-MET-03 skips has no value."""
    need(depth <= 16, "F-MET-01", "CBOR: more than 16 levels")
    major, info, argument = _cbor_head(cursor)
    if major == 0:
        return 0, argument
    if major == 2:
        return 2, _cbor_string(cursor, 2, argument)
    if major == 3:
        text = _cbor_string(cursor, 3, argument)
        return 3, text.decode("utf-8", "surrogateescape")
    if major == 4:
        _cbor_items(cursor, argument, depth, 1)
    elif major == 5:
        keys = [repr(key) for key, _ in _cbor_items(cursor, argument, depth, 2)]
        need(len(keys) == len(set(keys)), "F-MET-01", "CBOR: duplicate key")
    elif major == 6:
        _cbor_value(cursor, depth + 1)
    elif major == 7:
        need(info != 31, "F-MET-01", "CBOR: break outside of an indefinite length")
        need(info != 24 or argument >= 32, "F-MET-01", "CBOR: simple value")
    return major, None


def read_metadata(data):
    """F-MET-01: text keys to (major type, value); values that F-MET-03 skips are None."""
    cursor = Cursor(data, "F-MET-01")
    major, _, count = _cbor_head(cursor)
    need(major == 5, "F-MET-01", "metadata is not a map")
    result = {}
    for (key_type, key), value in _cbor_items(cursor, count, 1, 2):
        need(key_type == 3, "F-MET-01", "a key that is not text")
        need(key not in result, "F-MET-01", f"duplicate key {key!r}")
        result[key] = value
    cursor.end()
    return result


# ---- definitions ----

class Scope:
    """What the chunks of a scope define: lists indexed by id."""

    def __init__(self, number):
        self.number = number
        self.metadata = {}
        self.modules, self.files, self.sites, self.processes, self.streams = [], [], [], [], []
        self.paths = []                  # (parent id, frame's site or -1, depth) of id 1 on
        self.links = {}                  # site to path id
        self.last_link = -1
        self.value_names = {}            # site to (name, type, enumeration) of enter and of exit
        self.models = {}                 # number to the state that it ends in (F-MOD)

    def range(self, cursor, rows, what):
        """A range of ids: the count of new rows (F-SIT-01, F-SIT-02)."""
        first, count = cursor.varint(), cursor.varint()
        need(first == len(rows), "F-SIT-02", f"{what} begin at {first}, not {len(rows)}")
        need(count <= cursor.left() and first + count <= IDS, "F-SIT-02", f"{count} {what}")
        return count

    def add_sites(self, data):
        """A site table (F-SIT)."""
        cursor = Cursor(data, "F-SIT-08")
        modules = self.range(cursor, self.modules, "modules")
        files = self.range(cursor, self.files, "files")
        sites = self.range(cursor, self.sites, "sites")
        for _ in range(modules):
            start, size, process = cursor.varint(), cursor.varint(), cursor.varint(IDS, "F-SIT-05")
            need(start + size < 1 << 64, "F-SIT-06", "module's start plus size")
            path, build_id = cursor.string("F-SIT-03"), cursor.string("F-SIT-03")
            self.modules.append((start, size, process - 1, path, build_id))
        self.files += [cursor.string("F-SIT-03") for _ in range(files)]
        kinds = [cursor.varint(0xFFFF, "F-SIT-07") for _ in range(sites)]
        owners = [cursor.varint(IDS, "F-SIT-05") - 1 for _ in range(sites)]
        addresses, address = [], 0
        for _ in range(sites):
            address = address + cursor.svarint() & (1 << 64) - 1
            addresses.append(address)
        sources = [cursor.varint(IDS, "F-SIT-05") - 1 for _ in range(sites)]
        lines = [cursor.varint((1 << 32) - 1, "F-SIT-07") for _ in range(sites)]
        symbols = [cursor.string("F-SIT-03") for _ in range(sites)]
        cursor.end()
        need(all(i < len(self.modules) for i in owners), "F-SIT-09", "module of a site")
        need(all(i < len(self.files) for i in sources), "F-SIT-09", "file of a site")
        self.sites += zip(kinds, owners, addresses, sources, lines, symbols)

    def add_streams(self, data):
        """A stream table (F-STR): new stream rows are (process, tid, start, name)."""
        cursor = Cursor(data, "F-STR-01")
        for _ in range(self.range(cursor, self.processes, "processes")):
            row = cursor.varint(), cursor.varint(IDS, "F-SIT-05") - 1, cursor.varint()
            self.processes.append((*row, cursor.string("F-SIT-03")))
        for _ in range(self.range(cursor, self.streams, "streams")):
            row = cursor.varint(), cursor.varint(), cursor.varint()
            need(row[0] < len(self.processes), "F-STR-02", "process of a stream")
            self.streams.append((*row, cursor.string("F-SIT-03")))
        cursor.end()

    def add_paths(self, data):
        """A path table (F-PTH)."""
        cursor = Cursor(data, "F-PTH-08")
        first, count = cursor.varint(rule="F-PTH-01"), cursor.varint(rule="F-PTH-01")
        need(first == len(self.paths) + 1, "F-PTH-01", f"paths begin at {first}")
        need(2 * count <= cursor.left() and first + count <= IDS, "F-PTH-01", f"{count} paths")
        parents = []
        for path in range(first, first + count):
            back = cursor.varint(path, "F-PTH-02")
            need(back > 0, "F-PTH-02", "a path is its own parent")
            parents.append(path - back)
        for parent in parents:
            site = cursor.varint(IDS, "F-PTH-03") - 1
            need(site >= 0 or parent == 0, "F-PTH-03", "a frame within a path is not known")
            need(site < len(self.sites), "F-PTH-07", "site of a frame")
            depth = self.paths[parent - 1][2] + 1 if parent else 1
            need(depth <= 65535, "F-PTH-04", f"{depth} frames")
            self.paths.append((parent, site, depth))
        links = cursor.varint(rule="F-PTH-05")
        need(2 * links <= cursor.left(), "F-PTH-05", f"{links} links")
        sites, site = [], -1
        for _ in range(links):
            site += cursor.varint(IDS, "F-PTH-05") + 1
            need(site > self.last_link, "F-PTH-05", "links do not ascend")
            need(site < len(self.sites), "F-PTH-07", "site of a link")
            sites.append(site)
        self.last_link = max(self.last_link, site)
        path = 0
        for site in sites:
            path += cursor.svarint()
            need(0 < path <= len(self.paths), "F-PTH-06", f"path {path} of a link")
            self.links[site] = path
        cursor.end()

    def add_value_names(self, data):
        """Names of values (F-VNM); an enumeration is (name, [(value, name)])."""
        cursor = Cursor(data, "F-VNM-09")

        def count(least, most, rule):
            number = cursor.varint(rule=rule)
            need(number <= most and number * least <= cursor.left(), rule, f"a count of {number}")
            return number

        def text():
            return cursor.string("F-SIT-03")

        enumerations, site = [None], -1
        for _ in range(count(2, IDS, "F-VNM-01")):
            name, constants, value = text(), [], 0
            for _ in range(count(2, 65535, "F-VNM-02")):
                value = value + unzigzag(cursor.varint(rule="F-VNM-03")) & (1 << 64) - 1
                constants.append((value - (value >> 63 << 64), text()))
            enumerations.append((name, constants))
        for _ in range(count(3, IDS, "F-VNM-04")):
            site += cursor.varint(IDS - 2 - site, "F-VNM-05") + 1
            need(site < len(self.sites), "F-VNM-08", f"site {site}")
            need(site not in self.value_names, "F-VNM-08", f"site {site} again")
            sides = count(3, 255, "F-VNM-06"), count(3, 255, "F-VNM-06")
            self.value_names[site] = [
                [(text(), text(), enumerations[cursor.varint(len(enumerations) - 1, "F-VNM-07")])
                 for _ in range(side)] for side in sides]
        cursor.end()

    def path_frames(self, site):
        """The sites of the frames that led to a site, outermost first; -1: more are not known."""
        frames, path = [], self.links.get(site, 0)
        while path:
            path, frame, _ = self.paths[path - 1]
            frames.append(frame)
        return frames[::-1]

    def check_end(self):
        """F-SIT-09: what may be named before it is defined."""
        last = len(self.processes)
        need(all(m[2] < last for m in self.modules), "F-SIT-09", "process of a module")
        need(all(p[1] < last for p in self.processes), "F-SIT-09", "parent of a process")


def read_footer(data, offset):
    """F-FOO: (offset of the index, chunks); None where the file ends without one."""
    if offset == len(data):
        return None
    foot = data[offset:offset + HEADER]
    need(len(foot) == HEADER, "F-FOO-01", "the footer is cut")
    index, size, chunks = struct.unpack_from("<QQQ", foot, 8)
    need(struct.unpack_from("<Q", foot, 56)[0] == xxh3_64(foot[:56]), "F-FOO-02", "hash")
    need(not any(foot[32:56]), "F-FOO-03", "reserved bytes of the footer")
    need(size == len(data), "F-FOO-04", f"file has {len(data)} bytes, the footer says {size}")
    return index, chunks


class File:
    """A whole file: chunks in order, scopes, and the findings of the scan."""

    def __init__(self, data):
        self.data, self.findings = data, []
        self.chunks, self.scopes = [], []
        self.partitions = []             # (chunk, payload, sites and streams known); models too
        self.streams = []                # (scope, stream) in order of definition
        self.overviews = []              # (chunk, payload)
        self.unknown = 0                 # skipped chunks of unknown kinds (F-CHK-08)
        self.truncated, self.next_sequence = False, 0
        self.footer = None
        self.minor, self.required, self.trace_id = read_file_header(data)
        self.scan()

    def found(self, error):
        self.findings.append((error.rule, error.message))

    def scan(self):
        """Front to back: every chunk, then the footer."""
        offset, indexes = HEADER, 0
        while offset < len(self.data) and self.data[offset:offset + 8] != FOOTER:
            start = self.data[offset:offset + 8]
            if len(self.data) - offset < HEADER and SYNC.startswith(start):
                return self.cut(offset)
            if len(start) < 8 and FOOTER.startswith(start):
                break
            try:
                chunk = Chunk(self.data, offset)
                chunk.check_header()
            except Finding as error:
                self.found(error)
                offset = self.resync(offset)
                continue
            if chunk.end > len(self.data):
                return self.cut(offset)
            self.take(chunk, indexes)
            if chunk.kind == INDEX:
                indexes = offset
            offset = chunk.end
        for scope in self.scopes:
            self.guard(scope.check_end)
        return self.guard(self.take_footer, offset)

    def resync(self, offset):
        """Where the next chunk with a good header begins, or the footer, or the end."""
        at = self.data.find(SYNC, offset + 1)
        while at >= 0:
            try:
                Chunk(self.data, at)
                return at
            except (Finding, struct.error):
                at = self.data.find(SYNC, at + 1)
        at = self.data.find(FOOTER, offset + 1)
        return at if at >= 0 else len(self.data)

    def cut(self, offset):
        self.truncated = True
        self.findings.append(("F-CHK-10", f"the file ends inside the chunk at offset {offset}"))

    def guard(self, action, *arguments):
        """Run it; note a finding instead of passing it on."""
        try:
            return action(*arguments)
        except Finding as error:
            return self.found(error)

    def take_footer(self, offset):
        if offset < len(self.data) < offset + HEADER or offset == len(self.data):
            self.truncated = True
        self.footer = read_footer(self.data, offset)
        need(self.footer, "F-FOO-06", "no footer")
        last = self.chunks[-1] if self.chunks else None
        need(last and last.kind == INDEX and last.offset == self.footer[0], "F-FOO-05",
             f"index at {self.footer[0]}")
        need(self.footer[1] == len(self.chunks), "F-FOO-05", f"{self.footer[1]} chunks")

    def take(self, chunk, last_index):
        """Note a chunk; read it where it defines something."""
        if chunk.sequence != self.next_sequence:
            self.findings.append(("F-CHK-07", f"sequence number {chunk.sequence}"))
        if chunk.last_index != last_index:
            self.findings.append(("F-IDX-07", f"chunk {chunk.sequence} names another last index"))
        self.next_sequence = chunk.sequence + 1
        self.chunks.append(chunk)
        self.guard(self.define, chunk)

    def define(self, chunk):
        payload = chunk.payload()
        if chunk.kind not in KIND_NAMES:
            need(not chunk.flags & 2, "F-CHK-08", f"critical chunk of unknown kind {chunk.kind}")
            self.unknown += 1
            return
        critical = chunk.kind in (PARTITION, MODEL)
        need(bool(chunk.flags & 2) == critical, "F-CHK-04", "critical flag of a known kind")
        if chunk.kind == INDEX:
            need(chunk.scope == 0, "F-CHK-09", "scope of an index")
            return
        if chunk.kind == METADATA:
            self.define_metadata(chunk, payload)
            return
        need(chunk.scope < len(self.scopes), "F-CHK-09", f"scope {chunk.scope} not introduced")
        scope = self.scopes[chunk.scope]
        if chunk.kind == SITES:
            scope.add_sites(payload)
        elif chunk.kind == PATHS:
            scope.add_paths(payload)
        elif chunk.kind == VALUE_NAMES:
            scope.add_value_names(payload)
        elif chunk.kind == STREAMS:
            known = len(scope.streams)
            scope.add_streams(payload)
            self.streams += [(chunk.scope, i) for i in range(known, len(scope.streams))]
        elif chunk.kind == OVERVIEW:
            self.overviews.append((chunk, payload))
        else:
            need(not chunk.flags & 1, "F-PAR-01", "compressed as a whole")
            known = len(scope.sites), len(scope.streams)
            self.partitions.append((chunk, payload, known))

    def define_metadata(self, chunk, payload):
        need(not chunk.flags & 1, "F-MET-01", "compressed metadata")
        need(chunk.scope <= len(self.scopes), "F-CHK-09", f"scope {chunk.scope}")
        values = read_metadata(payload)
        if chunk.scope == len(self.scopes):
            kind, value = values.get("trace_id", (None, None))
            need(kind == 2 and len(value) == 16, "F-MET-02", "trace_id")
            need(chunk.scope or values["trace_id"] == (2, self.trace_id), "F-FIL-07", "trace id")
            self.scopes.append(Scope(chunk.scope))
        self.scopes[chunk.scope].metadata.update(values)
