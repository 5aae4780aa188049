#!/usr/bin/env python3
"""The same bytes on other machines: row R15 of fuzz/README.md.

    s390x           big-endian, emulated by qemu-s390x
    i386            32 bits, sums in 80-bit registers (gcc -m32 where no other compiler is)
    i386-read       the same; only what reads, without threads (TTAPE_THREADS=OFF): programs linked
                    with it say of all vectors what they say here
    musl            another C library
    unsigned-char   -funsigned-char

Each is a build of its own in TTAPE_BUILD/other-machines, by the project's own CMake files,
warnings being errors; on other processors that is one without recording (TTAPE_RECORD). There
every vector is written byte for byte as it is in spec/vectors and read with its expectations, unit
tests of the codecs and fuzz targets run (seeds, findings, a few mutations), and the command prints
what TTAPE_BIN prints (not on musl, which has no elfutils; unit tests need Check, which it does not
have either).

`scripts/setup --slow` installs the compilers and the emulator. Libraries for s390x and i386 are
unpacked below the build folder, once, from the distribution's packages and through package lists of
this test's own: the system learns of no other architecture. A machine for which something is
missing is skipped, the others run; exit 77 then. `test_other_machines_slow.py NAME...`: only those.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

SKIPPED = 77
SOURCE = pathlib.Path(os.environ.get("TTAPE_SRC", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("TTAPE_BUILD", SOURCE / "build" / "release")).resolve()
BIN = os.environ.get("TTAPE_BIN", str(BUILD / "tracetape"))
JOBS = str(os.cpu_count() or 1)

PACKAGES = ["libzstd-dev", "libxxhash-dev", "libcbor-dev", "check", "libdw-dev", "libelf-dev",
            "libiberty-dev"]
VECTORS = ["vectors_test_vectors", "vectors_test_vectors_read"]
FUZZ = ["order_full", "order_literal", "times_mix", "times_static", "summary", "values", "index",
        "light", "definitions", "metadata", "open_index", "events", "verify", "roundtrip",
        "reports", "trees"]
UNITS = ["format_blocks", "format_bounds", "format_content", "format_light", "order_check",
         "report_stacks", "spec_rules", "tree_stacks", "wide"]
LONGER_UNITS = ["literal", "raw", "recover_folder", "report", "writer"]  # too long when emulated
READERS = ["sums", "slowest", "whocalls"]  # examples that only read
VERBS = [["verify", "--json"], ["dump", "--format", "csv"], ["info", "--json", "--all"],
         ["report", "--json"], ["tree", "--json"], ["export", "--format", "chrome"]]


class Missing(Exception):
    """Why a machine cannot be tested here."""


class Wrong(Exception):
    """What does not hold on a machine."""


class Machine:
    def __init__(self, name, compiler, tuple_=None, emulator=None, flag=""):
        self.name, self.compiler, self.tuple, self.emulator = name, compiler, tuple_, emulator
        self.flag = flag
        self.only_reads = name.endswith("-read")
        self.folder = BUILD / "other-machines" / name
        self.sysroot = BUILD / "other-machines" / name.removesuffix("-read") / "sysroot"
        self.has_check = self.has_command = name != "musl"

    def runner(self):
        return [self.emulator, "-L", str(self.sysroot)] if self.emulator else []


def i386(name):
    alone = shutil.which("i686-linux-gnu-gcc") is not None
    return Machine(name, "i686-linux-gnu-gcc" if alone else "gcc", "i386-linux-gnu",
                   flag="" if alone else " -m32")


MACHINES = [Machine("s390x", "s390x-linux-gnu-gcc", "s390x-linux-gnu", "qemu-s390x"),
            i386("i386"), i386("i386-read"),
            Machine("unsigned-char", os.environ.get("TTAPE_CC", "gcc"), flag=" -funsigned-char"),
            Machine("musl", "musl-gcc")]


def run(words, seconds=1800, error=Wrong, **more):
    """Output of a program that has to succeed."""
    try:
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False, **more)
    except subprocess.TimeoutExpired:
        raise error(f"{words[0]} takes more than {seconds} seconds") from None
    text = done.stdout.decode(errors="replace")
    if done.returncode == SKIPPED:
        raise Missing(text.strip())
    if done.returncode != 0:
        lines = [line for line in text.splitlines()
                 if any(word in line for word in ("error", "Error", "E: ", "FAILED", ":F:"))]
        raise error(f"{' '.join(map(str, words[:6]))}: status {done.returncode}\n" +
                    "\n".join(lines[:20] or text.splitlines()[-20:]))
    return text


def need(*commands):
    for command in commands:
        if shutil.which(command) is None:
            raise Missing(f"no {command}: scripts/setup --slow")


# ---- libraries of another architecture ----

fetching = threading.Lock()  # two machines may have one sysroot


def fetch(machine):
    """Fills the sysroot with PACKAGES and what they need, libc included."""
    if machine.sysroot.is_dir():
        return
    need("apt-get", "dpkg-deb")
    sources = run(["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
                   "Created-By: Packages", "Origin: Debian"], error=Missing)
    if not sources.strip():
        raise Missing("no package lists of Debian here: apt-get update")
    state = machine.folder / "apt"
    shutil.rmtree(state, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources").write_text("".join(sorted(set(sources.splitlines(keepends=True)))))
    architecture = machine.name.removesuffix("-read")
    settings = {"APT::Architecture": architecture, "APT::Architectures::": architecture,
                "APT::Sandbox::User": "root", "APT::Get::List-Cleanup": "0",
                "Dir::State": state, "Dir::State::lists": state / "lists",
                "Dir::State::status": state / "status", "Dir::Cache": state / "cache",
                "Dir::Etc::sourcelist": state / "sources", "Dir::Etc::sourceparts": "/dev/null",
                "Acquire::Languages": "none", "Acquire::http::Timeout": "20",
                "Debug::NoLocking": "1"}
    apt = ["apt-get", "-q"]
    for key, value in settings.items():
        apt += ["-o", f"{key}={value}"]
    try:
        run([*apt, "update"], seconds=300, error=Missing)
    except Missing:
        pass  # one list may be out of step with its mirror: what counts is whether packages come
    try:
        run([*apt, "install", "-y", "--no-install-recommends", "--download-only", *PACKAGES],
            seconds=600, error=Missing)
    except Missing as why:
        raise Missing(f"its packages do not come (no network?): {why}") from None
    part = machine.sysroot.parent / "sysroot.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part, ignore_errors=True)
    for package in sorted((state / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", package, part])
    if not (part / "lib").exists():
        (part / "lib").symlink_to("usr/lib")
    part.rename(machine.sysroot)
    shutil.rmtree(state)


# ---- builds ----

def foreign_settings(machine):
    """CMake's for a machine with a sysroot."""
    root, tuple_ = machine.sysroot, machine.tuple
    libraries = [root / "lib" / tuple_, root / "usr" / "lib" / tuple_]
    link = [f"-Wl,-rpath-link,{folder}" for folder in libraries]
    if not machine.emulator:  # run as it is, by the sysroot's own loader
        link = [f"-Wl,--dynamic-linker={root}/lib/ld-linux.so.2", "-Wl,--disable-new-dtags"]
        link += [f"-Wl,-rpath,{folder}" for folder in libraries]
    return {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": tuple_.split("-")[0],
            "CMAKE_SYSROOT": root, "CMAKE_FIND_ROOT_PATH": root,
            "CMAKE_FIND_ROOT_PATH_MODE_PROGRAM": "NEVER",
            "CMAKE_FIND_ROOT_PATH_MODE_LIBRARY": "ONLY",
            "CMAKE_FIND_ROOT_PATH_MODE_INCLUDE": "ONLY", "CMAKE_LIBRARY_ARCHITECTURE": tuple_,
            "CMAKE_EXE_LINKER_FLAGS": " ".join(link)}


def musl_settings(machine):
    """The system's own libraries, but for the C library: musl's loader takes libc.so.6 for
    itself."""
    include = machine.folder / "include"
    headers = pathlib.Path(run(["pkg-config", "--variable=includedir", "libzstd"]).strip())
    include.mkdir(exist_ok=True)
    for name in ("zstd.h", "zstd_errors.h", "xxhash.h", "cbor.h", "cbor"):
        (include / name).unlink(missing_ok=True)
        (include / name).symlink_to(headers / name)
    checks = machine.folder / "glibc_checks.o"
    run([machine.compiler, "-c", SOURCE / "tests/vectors/musl/glibc_checks.c", "-o", checks])
    libraries = pathlib.Path(run(["gcc", "-print-file-name=libiberty.a"]).strip()).resolve().parent
    return {"CMAKE_C_FLAGS": f"-O1 -isystem {include}", "CMAKE_LIBRARY_PATH": libraries,
            "CMAKE_EXE_LINKER_FLAGS": f"{checks} -Wl,--as-needed"}


def units_of(machine):
    if not machine.has_check:
        return []
    return UNITS + ([] if machine.emulator else LONGER_UNITS)


def build(machine):
    settings = {"CMAKE_C_COMPILER": machine.compiler, "CMAKE_BUILD_TYPE": "",
                "CMAKE_C_FLAGS": "-O1" + machine.flag, "TTAPE_TESTS": "ON",
                "TTAPE_WARNINGS": "ON", "TTAPE_WERROR": "ON"}
    environment = dict(os.environ)
    if machine.tuple:
        settings.update(foreign_settings(machine))
        root = machine.sysroot
        environment.update(PKG_CONFIG_SYSROOT_DIR=str(root), PKG_CONFIG_LIBDIR=":".join(
            f"{root}/usr/{folder}/pkgconfig" for folder in (f"lib/{machine.tuple}", "share")))
    elif machine.name == "musl":
        settings.update(musl_settings(machine))
    if machine.only_reads:
        settings.update(TTAPE_THREADS="OFF", TTAPE_TESTS="OFF")
    tree = machine.folder / "build"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run(["cmake", *generator, "-S", SOURCE, "-B", tree,
         *(f"-D{key}={value}" for key, value in settings.items())], env=environment)
    if machine.only_reads:
        run(["cmake", "--build", tree, "-j", JOBS], env=environment)
        return tree
    targets = VECTORS + ["ttape_make_seeds"] + [f"fuzz_{name}" for name in FUZZ]
    targets += [f"unit_test_{name}" for name in units_of(machine)]
    targets += ["tracetape_command"] if machine.has_command else []
    run(["cmake", "--build", tree, "-j", JOBS, "--target", *targets], env=environment)
    return tree


# ---- what must hold ----

def check_fuzz(machine, tree):
    seeds = tree / "seeds"
    shutil.rmtree(seeds, ignore_errors=True)
    run([*machine.runner(), tree / "fuzz/ttape_make_seeds", seeds, SOURCE / "spec/vectors"])
    corpora = dict(line.split(" ", 1) for line in
                   (tree / "fuzz/corpora.txt").read_text().splitlines())
    for name in FUZZ:
        paths = [seeds / corpus for corpus in corpora[name].split()]
        findings = SOURCE / "fuzz/findings" / name
        paths += [findings] if findings.is_dir() else []
        run([*machine.runner(), tree / f"fuzz/fuzz_{name}", "--mutate",
             20 if machine.emulator else 100, *paths], cwd=tree)


def said_by(words):
    done = subprocess.run(words, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout


native, native_lock = {}, threading.Lock()


def said_here(verb, path):
    """By TTAPE_BIN, once for all machines."""
    key = (verb[0], path)
    with native_lock:
        if key not in native:
            native[key] = said_by([BIN, *verb, path])
        return native[key]


def write_events(path):
    """A text for `convert`: loops, values of every kind, times of nine digits."""
    lines = ["process 7 prog", "thread 7 70 main", "thread 7 71 other"]
    for i in range(6000):
        time, thread, name = i * i * 97, 70 + i // 100 % 2, f"f{i // 2 % 13 * (i // 300 + 1)}"
        lines.append(f"{time} {thread} enter {name} {i - 1000} {(i - 500) * 0.37!r} 0x{i:x} "
                     f'"text {i % 11}"' if i % 2 == 0 else f"{time} {thread} exit")
    path.write_text("\n".join(lines) + "\n")


def check_command(machine, tree):
    """Traces that are new; valid vectors of our writer and of others, by every verb that reads."""
    count = 0
    events = machine.folder / "events.txt"
    write_events(events)
    for level in ("0", "1", "3", "9"):
        count += 1
        words = ["convert", str(events), "--level", level, "-o", "-"]
        made = said_by([*machine.runner(), str(tree / "tracetape"), *words])
        if made[0] != 0 or made != said_by([BIN, *words]):
            raise Wrong(f"convert --level {level} makes other bytes, with status {made[0]}")
    if machine.tuple:
        count += 1
        status, _ = said_by([*machine.runner(), str(tree / "tracetape"), "record", "true"])
        if status != 4:
            raise Wrong(f"record ends with {status}, and cannot be there")
    for expectation in sorted((SOURCE / "spec/vectors").glob("*.json")):
        if json.loads(expectation.read_text(encoding="utf-8"))["group"] in ("writer", "foreign"):
            path = str(expectation.with_suffix(".ttape"))
            for verb in VERBS:
                count += 1
                got = said_by([*machine.runner(), str(tree / "tracetape"), *verb, path])
                if got != said_here(verb, path):
                    raise Wrong(f"{verb[0]} of {expectation.stem} is {got}, not "
                                f"{said_here(verb, path)}")
    return count


def check_reading(machine, tree):
    """Programs linked with what reads alone, beside the same with the library here."""
    source = ["-std=c11", "-O1", f"-I{SOURCE / 'libtrace' / 'include'}"]
    here = [BUILD / "libtracetape.so", f"-Wl,-rpath,{BUILD}"]
    there = [tree / "libtracetape-read.a", "-lzstd", "-lxxhash", "-lcbor", "-lm"]
    if machine.tuple:
        there += foreign_settings(machine)["CMAKE_EXE_LINKER_FLAGS"].split()
        there.append(f"--sysroot={machine.sysroot}")
    count = 0
    for name in READERS:
        program = SOURCE / "examples" / name / f"{name}.c"
        pair = [machine.folder / name, machine.folder / f"{name}.here"]
        run([machine.compiler, *machine.flag.split(), *source, program, "-o", pair[0], *there])
        run([os.environ.get("TTAPE_CC", "gcc"), *source, program, "-o", pair[1], *here])
        for trace in sorted((SOURCE / "spec/vectors").glob("*.ttape")):
            count += 1
            got, wanted = (said_by([*prefix, str(one), str(trace)]) for prefix, one in
                           ((machine.runner(), pair[0]), ([], pair[1])))
            if got != wanted:
                raise Wrong(f"{name} of {trace.stem} is {got}, not {wanted}")
    return f"{count} answers of {len(READERS)} programs"


def check(machine):
    start = time.monotonic()
    need("cmake", machine.compiler, *([machine.emulator] if machine.emulator else []))
    machine.folder.mkdir(parents=True, exist_ok=True)
    if machine.tuple:
        with fetching:
            fetch(machine)
    fetched = time.monotonic()
    tree = build(machine)
    built = time.monotonic()
    if machine.only_reads:
        return (f"{check_reading(machine, tree)} ({fetched - start:.0f} s to fetch, "
                f"{built - fetched:.0f} to build, {time.monotonic() - built:.0f} to run)")
    environment = dict(os.environ, TTAPE_SRC=str(SOURCE))
    if machine.emulator:
        environment["CK_FORK"] = "no"
    lines = [run([*machine.runner(), tree / "tests" / name], env=environment).strip()
             for name in VECTORS]
    for name in units_of(machine):
        run([*machine.runner(), tree / f"tests/unit_test_{name}"], env=environment, cwd=tree)
    check_fuzz(machine, tree)
    said = f", {check_command(machine, tree)} outputs of the command" if machine.has_command else ""
    return (f"{'; '.join(lines)}; {len(units_of(machine))} unit tests, {len(FUZZ)} fuzz targets"
            f"{said} ({fetched - start:.0f} s to fetch, {built - fetched:.0f} to build, "
            f"{time.monotonic() - built:.0f} to run)")


def outcome(machine):
    try:
        return "ok", check(machine)
    except Missing as why:
        return "SKIPPED", str(why)
    except Wrong as why:
        return "FAILED", str(why)


def main():
    if not os.access(BIN, os.X_OK):
        print(f"SKIPPED: there is no command '{BIN}' to compare with")
        return SKIPPED
    names = sys.argv[1:] or [machine.name for machine in MACHINES]
    machines = [machine for machine in MACHINES if machine.name in names]
    states = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for machine, (state, text) in zip(machines, pool.map(outcome, machines)):
            states.append(state)
            print(f"SKIPPED: {machine.name}: {text}" if state == "SKIPPED"
                  else f"{machine.name}: {state}: {text}", flush=True)
    if not states or "FAILED" in states:
        return 1
    return SKIPPED if "SKIPPED" in states else 0


sys.exit(main())
