"""The programs that the bench records: the example, and Lua and SQLite from Debian's source
packages, each built plain and with -finstrument-functions, with a fixed workload."""
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from measure import BenchError

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
FLAGS = ["-O2", "-g"]
HOOKS = "-finstrument-functions"


@dataclass
class Program:
    """A program and its work; `plain` has no hooks, `hooked` calls them around each function."""
    name: str
    plain: Path
    hooked: Path
    arguments: list = field(default_factory=list)


def compile_pair(bench, name, sources, options=(), libraries=()):
    """Both builds, made once."""
    place = bench.work / "recorded"
    place.mkdir(exist_ok=True)
    clock = bench.source / "tests" / "bench" / "run_clock.c"
    texts = "".join(hashlib.sha256(Path(s).read_bytes()).hexdigest() for s in (*sources, clock))
    key = hashlib.sha256(f"{texts}{options}{libraries}{FLAGS}".encode()).hexdigest()[:8]
    pair = [place / f"{name}-{key}-{kind}" for kind in ("plain", "hooked")]
    bench.call(["gcc", *FLAGS, "-c", clock, "-o", place / "run_clock.o"])
    for target, more in zip(pair, ([], [HOOKS])):
        if not target.is_file():
            bench.call(["gcc", *FLAGS, *more, *options, "-o", f"{target}.making", *sources,
                        place / "run_clock.o", *libraries])
            Path(f"{target}.making").rename(target)
    return pair


def minilang(bench):
    sources = sorted((bench.source / "examples" / "minilang").glob("*.c"))
    plain, hooked = compile_pair(bench, "minilang", sources)
    return Program("minilang", plain, hooked, ["6" if bench.quick else "9"])


# ---- Debian's sources ----

def fetch(bench, package):
    """The unpacked upstream source of a Debian package, by apt-get with lists of its own, so that
    the machine's configuration stays as it is."""
    place = (bench.work / "sources").resolve()  # apt takes others from its own folder
    found = sorted(p for p in place.glob(f"{package}*") if p.is_dir())
    if found:
        return found[0]
    for name in ("lists/partial", "cache/archives/partial"):
        (place / name).mkdir(parents=True, exist_ok=True)
    release = debian_release()
    listed = place / "deb.list"
    listed.write_text(f"deb-src [signed-by={KEYRING}] {MIRROR} {release} main\n", encoding="ascii")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={listed}", "-o",
           "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={place / 'lists'}",
           "-o", f"Dir::Cache={place / 'cache'}", "-o", "APT::Sandbox::User=root"]
    bench.call([*apt, "update"])
    refused = None
    try:
        bench.call([*apt, "source", "--download-only", package], cwd=place)
    except subprocess.CalledProcessError as error:  # a mirror may lack what Debian has added
        refused = error
    tar = [p for p in sorted(place.glob(f"{package}_*.orig.tar.*")) if p.suffix != ".asc"]
    if not tar:
        raise BenchError(f"no source of '{package}' came: {refused}")
    target = place / f"{package}.unpacking"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    names = bench.call(["tar", "tf", tar[0]]).decode().splitlines()
    whole = len({name.removeprefix("./").split("/")[0] for name in names}) == 1
    bench.call(["tar", "xf", tar[0], "-C", target, f"--strip-components={int(whole)}"])
    target.rename(place / f"{package}-source")
    return place / f"{package}-source"


def debian_release():
    for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.split("=", 1)[1].strip('"')
    raise BenchError("this is no Debian")


def lua(bench):
    source = fetch(bench, "lua5.4") / "src"
    files = sorted(p for p in source.glob("*.c") if p.name != "luac.c")
    plain, hooked = compile_pair(bench, "lua", files, ["-DLUA_USE_POSIX"], ["-lm"])
    scale = "0.2" if bench.quick else "1"
    return Program("lua", plain, hooked, [bench.source / "tests" / "bench" / "workload.lua", scale])


def sqlite(bench):
    source = fetch(bench, "sqlite3")
    place = (bench.work / "sources" / "sqlite3-made").resolve()
    place.mkdir(exist_ok=True)
    if not (place / "shell.c").is_file():  # the amalgamation is made by the package's own scripts
        bench.call([source / "configure"], cwd=place)
        bench.call(["make", "sqlite3.c", "shell.c"], cwd=place)
    plain, hooked = compile_pair(bench, "sqlite", [place / "sqlite3.c", place / "shell.c"],
                                 ["-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_THREADSAFE=0"],
                                 ["-lm"])
    script = bench.source / "tests" / "bench" / "workload.sql"
    return Program("sqlite", plain, hooked, ["-batch", ":memory:", f".read {script}"])


def tcc(bench):
    """Built with hooks, and the folder of its sources."""
    source = fetch(bench, "tcc")
    target = (bench.work / "recorded" / "tcc-hooked").resolve()
    target.parent.mkdir(exist_ok=True)
    if not target.is_file():
        bench.call(["./configure"], cwd=source)
        bench.call(["make", "config.h"], cwd=source)
        bench.call(["gcc", *FLAGS, HOOKS, "-DONE_SOURCE=1", "-DTCC_TARGET_X86_64", "-I.", "-o",
                    target, "tcc.c", "-ldl", "-lm", "-lpthread"], cwd=source)
    return target, source


def available(bench):
    """All that can be had here; says loudly what cannot."""
    programs = [minilang(bench)]
    for name, make, needs in (("lua", lua, ("apt-get", "tar")),
                              ("sqlite", sqlite, ("apt-get", "tar", "tclsh", "make"))):
        missing = [tool for tool in needs if shutil.which(tool) is None]
        if missing:
            print(f"SKIPPED: {name}: not installed: {' '.join(missing)}", flush=True)
            continue
        try:
            programs.append(make(bench))
        except (BenchError, OSError, subprocess.SubprocessError) as error:
            print(f"SKIPPED: {name}: its source cannot be had: {error}", flush=True)
    return programs


def shared_library(bench, name):
    target = bench.work / "recorded" / f"{name}.so"
    target.parent.mkdir(exist_ok=True)
    bench.call(["gcc", "-O2", "-fPIC", "-shared", "-o", target,
                bench.source / "tests" / "bench" / f"{name}.c"])
    return target


def runtime(bench):
    """The library that `record` preloads."""
    found = sorted(Path(bench.command).parent.glob("**/libtracetape-rt.so.0"))
    if not found:
        raise BenchError("this build has no libtracetape-rt.so.0")
    return found[0]


def lttng_library():
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = Path(folder, "liblttng-ust-cyg-profile-fast.so.1")
        if path.is_file() and shutil.which("lttng"):
            return path
    return None


def clean_environment():
    return {k: v for k, v in os.environ.items()
            if not k.startswith(("TRACETAPE", "LD_PRELOAD", "BENCH_"))}
