"""Traces as columns: `tracetape.open(file)`, then tables of events, calls, functions and threads.

Columns come without a copy: as numpy arrays, as buffers, and as Arrow's C stream. numpy and pandas
are loaded where they are asked for."""
import glob
import itertools
import math
import operator
import os
import re
import struct

from . import _tracetape

__all__ = ["open", "Trace", "Table", "Batch", "Error"]

_EVENTS, _CALLS, _REPORT, _SLOW, _SITES, _STREAMS = range(6)
_BY = {"function": 0, "name": 1, "module": 2, "file": 3, "thread": 4, "process": 5, "site": 8}
_LONG_BY = {"duration": 0, "self": 1, "start": 2, "on-cpu": 3}
_UNITS = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000,
          "h": 3_600_000_000_000}
_LAST = 2 ** 64 - 1
_NO_TIME = -2 ** 63
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Error(Exception):
    """A file that cannot be read: `path`, the `rule` of the format that it breaks ("": none), and
    at which `offset` (None: nowhere)."""

    def __init__(self, message, path="", status=0, rule="", offset=None, errno=0):
        super().__init__(f"{path}: {message}" if path else message)
        self.path, self.status, self.errno = path, status, errno
        self.rule, self.offset = rule, offset


def _raise(error, path):
    message, status, rule, offset, errno = error.args
    if rule or offset is not None:
        message += f" ({rule}{' ' if rule and offset is not None else ''}" \
                   f"{f'at byte {offset}' if offset is not None else ''})"
    raise Error(message, path, status, rule, offset, errno) from None


def _count(value, most, what, least=0):
    """A number from `least` to `most`, also one of numpy's."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a number, not {value!r}") from None
    if not least <= number <= most:
        bounds = f"of {least} or more" if most == math.inf else f"from {least} to {most}"
        raise ValueError(f"{what} is a number {bounds}, not {number}")
    return number


def _size(text):
    if not isinstance(text, str):
        return _count(text, _LAST, "memory")
    found = re.fullmatch(r"(\d+)([KMG]?)", text, re.ASCII)
    if not found:
        raise ValueError(f"no size: {text!r}: write it as '512M' or '4G'")
    return _count(int(found[1]) * _SIZES[found[2]], _LAST, "memory")


def _time(text, first):
    """Nanoseconds of the trace's clock; "+1s" is counted from its first event, and so is what has
    a unit and is before that."""
    if not isinstance(text, str):
        return min(_count(text, math.inf, "a time in nanoseconds"), _LAST)
    found = re.fullmatch(r"(\+?)(\d+)(?:\.(\d+))?(ns|us|ms|s|m|h)?", text, re.ASCII)
    if not found or (found[3] and not found[4]):
        raise ValueError(f"no time: {text!r}: write it as '+1.5s' or '20ms'")
    unit = _UNITS[found[4] or ""]
    digits = (found[3] or "")[:18]
    value = int(found[2]) * unit + int(digits or 0) * unit // 10 ** len(digits)
    is_early = found[4] and value < first
    return min(value + first if found[1] or is_early else value, _LAST)


def _range(time, first):
    """(from, to) of a pair like ("+1s", None)."""
    is_pair = isinstance(time, (tuple, list)) and len(time) == 2
    if not is_pair:
        raise TypeError(f"time is a pair like ('+1s', '+2s') or ('+1s', None), not {time!r}")
    start = 0 if time[0] is None else _time(time[0], first)
    end = _LAST if time[1] is None else _time(time[1], first)
    if start > end:
        raise ValueError(f"the time {time!r} ends before it starts")
    return start, end


def _threads(thread):
    """Thread numbers of one, or of several."""
    if isinstance(thread, (str, bytes)):
        raise TypeError(f"thread is a number, or several, not {thread!r}")
    try:
        several = iter(thread)
    except TypeError:
        several = (thread,)
    return {_count(tid, _LAST, "thread") for tid in several}


def _choice(word, words, what):
    if word not in words:
        raise ValueError(f"{what} is one of {', '.join(words)}, not {word!r}")
    return words[word]


def _name(symbol, module, offset, address):
    """As ttape_site_name says it."""
    if symbol:
        return symbol
    if module and offset != 2 ** 64 - 1:
        return f"{os.path.basename(module)}+{offset:#x}"
    return f"{address:#x}"


class Batch:
    """Some rows of a table, column by column."""

    def __init__(self, native, columns):
        self._native, self._columns = native, columns

    def __len__(self):
        return len(self._native)

    def column(self, name):
        """A buffer of numbers, or a list of texts."""
        return self._native.column(self._columns[name][0])

    def to_numpy(self):
        """{column: array}; numbers are not copied."""
        import numpy
        return {name: numpy.asarray(self.column(name), dtype=object) if kind == "s" else
                numpy.frombuffer(self.column(name), dtype=numpy.dtype(kind))
                for name, (_, kind, _, _) in self._columns.items()}


class Table:
    """Rows that are read when they are asked for, each time anew. Iterate over it for batches."""

    def __init__(self, trace, table, parts, *, more=False, exact=False, by=0, limit=0):
        self._trace, self._table, self._parts = trace, table, parts
        self._how = (more, exact, by, limit)
        self._columns = {name: (i, kind, has_none, words) for i, (name, kind, has_none, words) in
                         enumerate(_tracetape.columns(table, more))}

    @property
    def columns(self):
        return list(self._columns)

    def _start(self):
        trace = self._trace
        more, exact, by, limit = self._how
        return _tracetape.query(self._table, self._parts, trace._skips, more, exact, by, limit,
                                trace._jobs, trace._memory)

    def __iter__(self):
        try:
            for native in self._start():
                yield Batch(native, self._columns)
        except _tracetape.NativeError as error:
            _raise(error, self._trace._paths_said)

    def count(self):
        """How many rows; no len(), for which list() would ask, and everything be read twice."""
        return sum(len(batch) for batch in self)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._start().arrow()

    def column(self, name):
        """All of a column: an array of the standard library, or a list of texts."""
        batches = [batch.column(name) for batch in self]
        if self._columns[name][1] == "s":
            return [text for batch in batches for text in batch]
        import array
        whole = array.array(self._columns[name][1])
        for batch in batches:
            whole.frombytes(memoryview(batch).cast("B"))
        return whole

    def to_lists(self):
        """{column: list or array} of all rows, without numpy."""
        return {name: self.column(name) for name in self._columns}

    def to_numpy(self):
        """{column: array} of all rows."""
        try:
            return self._arrays()
        except _tracetape.NativeError as error:
            _raise(error, self._trace._paths_said)

    def _arrays(self):
        import numpy
        stream = self._start()
        batches = [Batch(native, self._columns) for native in itertools.islice(stream, 2)]
        if not batches:
            return {name: numpy.empty(0, dtype=object if kind == "s" else kind)
                    for name, (_, kind, _, _) in self._columns.items()}
        if len(batches) == 1:
            return batches[0].to_numpy()
        is_text = any(kind == "s" for _, kind, _, _ in self._columns.values())
        whole = {name: numpy.empty(self._most_rows, dtype=array.dtype)
                 for name, array in batches[0].to_numpy().items()}
        count = 0
        rest = (Batch(native, self._columns) for native in stream) if is_text else ()
        for batch in itertools.chain(batches, rest):
            for name, array in batch.to_numpy().items():
                whole[name][count:count + len(batch)] = array
            count += len(batch)
        if not is_text:  # where they are wanted, as they are read
            count += stream.fill([array[count:] for array in whole.values()])
        for array in whole.values():
            array.resize(count, refcheck=False)  # what was not filled never was in memory
        return whole

    @property
    def _most_rows(self):
        """No table has more rows than its files have events, sites and streams."""
        infos = [part[0].info() for part in self._parts]
        return sum(info["events"] + info["sites"] + info["streams"] for info in infos)

    def to_pandas(self):
        """A frame; kinds and endings in words, and of calls and events the functions' names."""
        import numpy
        import pandas
        columns = self.to_numpy()
        for name, (_, kind, has_none, words) in self._columns.items():
            if words:
                codes = columns[name].astype(numpy.int16)
                columns[name] = pandas.Categorical.from_codes(codes, words)
            elif kind == "q" and has_none:
                columns[name] = pandas.arrays.IntegerArray(columns[name].copy(),
                                                           columns[name] == _NO_TIME)
        if "site" in columns and self._table in (_EVENTS, _CALLS):
            columns["function"] = self._trace._name_column(columns["file"], columns["site"])
        return pandas.DataFrame(columns, copy=False)


class Trace:
    """One file or several. Close it, or use it in a `with`."""

    def __init__(self, paths, memory, jobs, damaged):
        self.paths = paths
        self._memory, self._jobs, self._skips = memory, jobs, damaged == "skip"
        self._paths_said = paths[0] if len(paths) == 1 else ""
        self._files, self._sites = [], {}
        for path in paths:
            try:
                self._files.append(_tracetape.open(path, memory, jobs))
            except _tracetape.NativeError as error:
                self.close()
                _raise(error, path)

    def __enter__(self):
        for file in self._files:
            file.info()  # a closed one says so
        return self

    def __exit__(self, *what):
        self.close()

    def close(self):
        for file in self._files:
            file.close()

    @property
    def infos(self):
        """What each file is."""
        return [{"path": path, **file.info()} for path, file in zip(self.paths, self._files)]

    @property
    def info(self):
        """What the file is; of several, their sums."""
        infos = self.infos
        if len(infos) == 1:
            return infos[0]
        sums = ("bytes", "events", "partitions", "gaps", "lost", "sites", "streams", "damaged")
        return {"files": len(infos), **{key: sum(info[key] for info in infos) for key in sums}}

    @property
    def damaged(self):
        """Partitions that were left out so far."""
        return sum(file.info()["damaged"] for file in self._files)

    def _parts(self, match=None, thread=None, time=None):
        pattern = re.compile(match) if match is not None else None
        threads = None if thread is None else _threads(thread)
        parts = []
        for number, file in enumerate(self._files):
            streams = span = sites = None
            info = file.info()
            if threads is not None:
                tids = self._definitions(_STREAMS, number)["tid"]
                chosen = [i for i, tid in enumerate(tids) if tid in threads]
                streams = struct.pack(f"={len(chosen)}I", *chosen)
            if time is not None:
                span = _range(time, info["time_first_ns"])
            if pattern is not None:
                sites = bytes(pattern.search(name) is not None for name in self._names(number))
            if streams != b"":
                parts.append((file, number, streams, span, sites))
        return parts

    def _definitions(self, table, number):
        return Table(self, table, [(self._files[number], number, None, None, None)]).to_lists()

    def _names(self, number):
        if number not in self._sites:
            rows = self._definitions(_SITES, number)
            places = zip(rows["symbol"], rows["module"], rows["offset"], rows["address"])
            self._sites[number] = [_name(*place) for place in places]
        return self._sites[number]

    def _name_column(self, files, sites):
        """The functions' names, as categories over all files."""
        import numpy
        import pandas
        words = {}
        codes = numpy.full(len(sites), -1, dtype=numpy.int32)
        for number in range(len(self._files)):
            codes_here = [words.setdefault(name, len(words)) for name in self._names(number)]
            table = numpy.array(codes_here, dtype=numpy.int32)
            if len(self._files) == 1:
                known = sites < len(table)
                codes[known] = table[sites[known]]
            else:
                here = (files == number) & (sites < len(table))
                codes[here] = table[sites[here]]
        return pandas.Categorical.from_codes(codes, list(words))

    def events(self, thread=None, time=None, match=None, places=False):
        return Table(self, _EVENTS, self._parts(match, thread, time), more=places)

    def calls(self, match=None, thread=None, time=None, parents=False):
        return Table(self, _CALLS, self._parts(match, thread, time), more=parents)

    def report(self, by="function", match=None, thread=None, time=None, exact=False):
        kind = _choice(by, _BY, "by")
        if match is not None and by not in ("function", "name", "site"):
            raise ValueError(f"match is about functions: there are none by {by}")
        return Table(self, _REPORT, self._parts(match, thread, time), by=kind, exact=exact,
                     more=by == "site")

    def slow(self, match=None, limit=10, by="duration", thread=None, time=None):
        """The longest calls; of several files, of each."""
        return Table(self, _SLOW, self._parts(match, thread, time),
                     by=_choice(by, _LONG_BY, "by"), limit=_count(limit, 1 << 20, "limit", 1))

    def sites(self):
        return Table(self, _SITES, self._parts())

    def streams(self):
        return Table(self, _STREAMS, self._parts())


def _files(path):
    """A file, or those that a pattern means."""
    if not glob.has_magic(path) or os.path.exists(path):
        return [path]
    paths = sorted(glob.glob(path, recursive=True))
    if not paths:
        raise FileNotFoundError(f"no file matches {path!r}")
    return paths


def open(path, *, memory="256M", jobs=2, damaged="raise"):
    """A trace: one file, a list of files, or a pattern. `damaged`: "raise" an Error where a part of
    a file cannot be read, or "skip" it."""
    if damaged not in ("raise", "skip"):
        raise ValueError("damaged is 'raise' or 'skip'")
    one = [path] if isinstance(path, (str, bytes, os.PathLike)) else path
    if path is None or isinstance(path, int):
        raise TypeError(f"a trace is a file, a list of files or a pattern, not {path!r}")
    paths = [found for name in one for found in _files(os.fsdecode(name))]
    if not paths:
        raise ValueError("no file is named")
    return Trace(paths, _size(memory), _count(jobs, 1024, "jobs"), damaged)
