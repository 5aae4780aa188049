#!/usr/bin/env python3
"""Traces of real binaries for the tests of symbolize, and what is in a trace's site table.

    symbol_tools.py text FILE BASE [PATH]   raw text that enters every function of FILE, which is
                                            loaded (as PATH) at BASE
    symbol_tools.py sites TRACE             ADDRESS SYMBOL FILE:LINE of every site
    symbol_tools.py payloads TRACE          hashes of the payloads of all partitions and models
    symbol_tools.py serve FILE              what standard input asks, a line each, into FILE: to
                                            start once instead of a hundred times; answers `done`
"""
import contextlib
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import mini_container  # noqa: E402  the decoder that is written from the specification alone


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def functions(path):
    """Addresses of the defined functions and code labels."""
    rows = (line.split() for line in run("readelf", "-sW", path).splitlines())
    rows = [row for row in rows if len(row) >= 8 and row[3] == "FUNC" and row[6] != "UND"]
    return sorted({int(row[1], 16) for row in rows})


def loaded_range(path):
    """Lowest page and end of the loaded segments."""
    loads = re.findall(r"LOAD +\S+ (\S+) \S+ \S+ (\S+)", run("readelf", "-lW", path))
    loads = [(int(address, 16), int(size, 16)) for address, size in loads]
    return min(a for a, _ in loads) & ~4095, (max(a + s for a, s in loads) + 4095) & ~4095


def build_id(path):
    found = re.search(r"Build ID: (\w+)", run("readelf", "-nW", path))
    return found.group(1) if found else ""


def quoted(path):
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\x{ord(c):02x}"
                         for c in path) + '"'


def text(path, base, shown=None, wanted_id=None, addresses=None):
    low, high = loaded_range(path)
    wanted_id = build_id(path) if wanted_id is None else wanted_id
    lines = [f"module {base:#x} {base + high - low:#x} {quoted(shown or path)}"
             + (f" build-id={wanted_id}" if wanted_id else "")]
    for number, address in enumerate(addresses or functions(path)):
        lines.append(f"{number} 1 enter {base + address - low:#x}\n{number} 1 exit")
    return "\n".join(lines) + "\n"


def sites(trace):
    """(address, symbol, file, line) of every site."""
    for scope in mini_container.File(Path(trace).read_bytes()).scopes:
        for _, _, address, source, line, symbol in scope.sites:
            file = scope.files[source].decode("latin-1") if source >= 0 else ""
            yield address, symbol.decode("latin-1"), file, line


def payloads(trace):
    for chunk, payload, _ in mini_container.File(Path(trace).read_bytes()).partitions:
        yield f"{chunk.scope} {len(payload)} {mini_container.xxh3_64(payload):016x}"


def serve(target):
    """The words of a line are apart by US (0x1f)."""
    for line in sys.stdin:
        with open(target, "w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
            try:
                main(*line.rstrip("\n").split("\x1f"))
            except Exception:  # pylint: disable=broad-except  the next question is another one
                traceback.print_exc(file=out)
        print("done", flush=True)


def main(verb, *arguments):
    if verb == "serve":
        serve(*arguments)
    elif verb == "text":
        path, base, *shown = arguments
        print(text(path, int(base, 16), *shown), end="")
    elif verb == "sites":
        for address, symbol, file, line in sites(*arguments):
            print(f"{address:#x} {symbol} {file}:{line}")
    else:
        print("\n".join(payloads(*arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
