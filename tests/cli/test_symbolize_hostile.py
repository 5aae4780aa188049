#!/usr/bin/env python3
"""Binaries that are damaged, endless, or no binaries: names are lost, and nothing else.

Every run must end soon with status 0 or 3, say why in one line for each module, and leave the trace
with every site and every partition as it was."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import symbol_tools

BIN = os.environ["TTAPE_BIN"]
BASE = 0x7F0000000000
FUNCTIONS = ["f0", "f1", "f2", "f3"]
failures = []


def check(what, fine, detail=""):
    if not fine:
        failures.append(what)
        print(f"FAILED: {what}: {detail}")


def tracetape(*arguments):
    return subprocess.run([BIN, *arguments], capture_output=True, timeout=120, check=False)


def convert(text, name):
    Path("in.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = tracetape("convert", "in.txt", "-o", name, "--force")
    check(f"convert {name}", done.returncode == 0, done.stderr)
    return name


def symbolize(what, trace, *arguments, wanted=(0, 3), warnings=1):
    """The sites of the named trace; checks everything that must hold whatever the binary is."""
    done = tracetape("symbolize", trace, "-o", "named.ttape", "--force", *arguments)
    check(f"{what}: status", done.returncode in wanted, f"{done.returncode} {done.stderr[:300]}")
    check(f"{what}: warnings", done.stderr.count(b"\n") <= warnings, done.stderr[:500])
    check(f"{what}: silence", (done.returncode == 0) == (not done.stderr), done.stderr[:300])
    raw = [c for c in done.stderr if (c < 32 and c != 10) or c == 127]
    check(f"{what}: escaped", not raw and b"Sanitizer" not in done.stderr, done.stderr[:2000])
    if done.returncode not in (0, 3):
        return []
    old, new = list(symbol_tools.sites(trace)), list(symbol_tools.sites("named.ttape"))
    check(f"{what}: sites", [s[0] for s in old] == [s[0] for s in new], "other addresses")
    check(f"{what}: partitions", list(symbol_tools.payloads(trace)) ==
          list(symbol_tools.payloads("named.ttape")), "other payloads")
    return new


def compile_small():
    """A shared library of a few functions, with symbols, DWARF and nothing of the C library."""
    Path("small.c").write_text("".join(
        f"int f{i}(int x)\n{{\n    return x + {i};\n}}\n" for i in range(4)), encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-nostdlib", "small.c", "-o",
                    "small.so", "-Wl,-z,max-page-size=4096", "-Wl,-z,noseparate-code"], check=True)
    return Path("small.so").read_bytes()


def damage(image):
    """The file cut at many lengths, or with bytes changed; no build id keeps it from use."""
    trace = convert(symbol_tools.text(os.path.abspath("small.so"), BASE,
                                      os.path.abspath("hurt.so"), ""), "hurt.ttape")
    hurt, number = Path("hurt.so"), random.Random(20)
    hurt.write_bytes(image)
    sites = symbolize("whole", trace, wanted=(0,), warnings=0)
    check("whole: names", [s[1] for s in sites] == FUNCTIONS, sites)
    check("whole: lines", [s[3] for s in sites] == [2, 6, 10, 14], sites)
    lengths = sorted({*range(0, 130, 3), *range(130, len(image), len(image) // 90)})
    for length in lengths:
        hurt.write_bytes(image[:length])
        symbolize(f"cut at {length}", trace)
    for run in range(350):
        changed = bytearray(image)
        for _ in range(number.choice((1, 1, 1, 2, 5, 40))):
            where = number.choice((number.randrange(len(image)), number.randrange(64),
                                   len(image) - 1 - number.randrange(64 * 30)))
            changed[where] = number.choice((number.randrange(256), 0xFF, 0, 0x7F, 0x80))
        hurt.write_bytes(changed)
        symbolize(f"change {run}", trace)
        if failures:
            shutil.copy("hurt.so", os.path.join(tempfile.gettempdir(), "symbolize-hurt.so"))
            break
    print(f"  {len(lengths)} lengths, {run + 1} changes of {len(image)} bytes")


def name_bombs():
    """Names whose readable form has 2^300 bytes, that nest deeply, or that are just long."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    bomb = "_Z1f1AIiiE"
    for i in range(700):
        seq = digits[i] if i < 36 else digits[i // 36 - 1] + digits[i % 36]
        bomb += f"S_IS{seq}_S{seq}_E"
    names = [bomb[:4000], bomb, "_Z1f" + "P" * 4000 + "i", "_Z1f" + "P" * 200000 + "i",
             "n" * 300000]
    Path("bomb.s").write_text(".text\n" + "".join(
        f'.globl "{name}"\n.type "{name}",@function\n"{name}": nop\n.size "{name}",1\n'
        for name in names), encoding="ascii")
    subprocess.run(["gcc", "-shared", "-nostdlib", "bomb.s", "-o", "bomb.so"], check=True)
    sites = symbolize("bombs", convert(symbol_tools.text(os.path.abspath("bomb.so"), BASE),
                                       "bomb.ttape"), wanted=(0,), warnings=0)
    shown = [site[1] for site in sites]
    check("bombs: as they are", shown[:3] == names[:3], [name[:40] for name in shown])
    check("bombs: cut", [len(name) for name in shown[3:]] == [65535, 65535],
          [len(name) for name in shown])


def compression_bomb():
    """Debug sections that say that they unpack to 2^40 bytes."""
    subprocess.run(["gcc", "-g3", "-O1", "-gz=zlib", "-shared", "-fPIC", "-nostdlib", "small.c",
                    "-include", "stdio.h", "-o", "packed.so"], check=True)
    image = bytearray(Path("packed.so").read_bytes())
    start, = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    packed = 0
    for section in range(start, start + size * count, size):
        flags, _, offset = struct.unpack_from("<QQQ", image, section + 8)
        if flags & 0x800:
            struct.pack_into("<Q", image, offset + 8, 1 << 40)
            packed += 1
    check("compression: sections", packed > 0, packed)
    Path("packed.so").write_bytes(image)
    symbolize("compression", convert(symbol_tools.text(os.path.abspath("packed.so"), BASE),
                                     "packed.ttape"))


def strange_paths():
    """What is no file, and names that would act on a terminal."""
    os.mkfifo("fifo")
    os.mkdir("folder")
    os.symlink("loop", "loop")
    Path("script").write_text("#!/bin/sh\n", encoding="ascii")
    shutil.copy("small.so", "new\nline\x1b[31m")
    for name, why in (("fifo", b"not a regular file"), ("folder", b"not a regular file"),
                      ("/dev/zero", b"not a regular file"), ("loop", b"symbolic links"),
                      ("script", b"not an ELF file"), ("none", b"no such file"),
                      ("script/none", b"no such file"), ("x" * 3000, b"too long"),
                      ("y/" * 100000, b"names no file"), ("zero\0byte", b"names no file"),
                      ("gone\x1b]0;title\x07\n\u202e", b"no such file")):
        path = os.path.join(os.getcwd(), name)
        for wanted_id in ("", "00112233"):
            trace = convert(symbol_tools.text("small.so", BASE, path, wanted_id), "path.ttape")
            symbolize(f"path {name[:20]!r}", trace, wanted=(3,))
            done = tracetape("symbolize", trace, "-o", "named.ttape", "--force")
            check(f"path {name[:20]!r}: reason", why in done.stderr, done.stderr[:300])
    trace = convert(symbol_tools.text("small.so", BASE, os.path.abspath("new\nline\x1b[31m")),
                    "path.ttape")
    sites = symbolize("path with escapes", trace, wanted=(0,), warnings=0)
    check("path with escapes: names", [s[1] for s in sites] == FUNCTIONS, sites)


def strange_links():
    """Debug links to a FIFO, to the file itself, out of the folder; shared parts likewise."""
    for name in ("fifo", "linked.so", "../small.so", "/etc/passwd", "."):
        shutil.copy("small.so", "linked.so")
        trace = convert(symbol_tools.text("linked.so", BASE, os.path.abspath("linked.so")),
                        "linked.ttape")
        section = name.encode() + b"\0" * (4 - len(name) % 4) + b"\1\2\3\4"
        Path("link").write_bytes(section)
        subprocess.run(["strip", "linked.so"], check=True)
        subprocess.run(["objcopy", "--add-section", ".gnu_debuglink=link", "linked.so"], check=True)
        symbolize(f"debug link {name}", trace)
        shutil.copy("small.so", "linked.so")
        Path("link").write_bytes(name.encode() + b"\0" + b"\1" * 20)
        subprocess.run(["objcopy", "--add-section", ".gnu_debugaltlink=link", "linked.so"],
                       check=True)
        sites = symbolize(f"shared part {name}", trace, wanted=(0,), warnings=0)
        check(f"shared part {name}: names", [s[1] for s in sites] == FUNCTIONS, sites)


def bounds():
    """Little memory for everybody, and no descriptors left: status 0, 3 or 4, never a crash."""
    trace = convert(symbol_tools.text("small.so", BASE, os.path.abspath("small.so")), "small.ttape")
    if not os.environ.get("TTAPE_SANITIZE"):
        for limit in ("-v 60000", "-v 200000", "-n 5", "-n 6", "-n 8", "-n 12", "-s 64", "-t 2"):
            done = subprocess.run(["bash", "-c", f"ulimit {limit}; exec \"$@\"", "bash", BIN,
                                   "symbolize", trace, "-o", "named.ttape", "--force"],
                                  capture_output=True, timeout=60, check=False)
            check(f"ulimit {limit}", done.returncode in (0, 3, 4),
                  f"{done.returncode} {done.stderr}")


def main():
    for program in ("gcc", "strip", "objcopy", "readelf"):
        if not shutil.which(program):
            print(f"SKIPPED: no {program}")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="ttape-cli.") as folder:
        os.chdir(folder)
        image = compile_small()
        for part in (strange_paths, strange_links, name_bombs, compression_bomb, bounds):
            part()
        damage(image)
        left = [name for name in os.listdir(".") if name.endswith(".tmp")]
        check("nothing is left behind", not left, left)
        os.chdir("/")
    if failures:
        print(f"{len(failures)} checks failed")
        sys.exit(1)
    print("ok")


main()
