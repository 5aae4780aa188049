"""C libraries that a program may have besides the one of this machine: musl, and glibc as an older
Debian has it, out of its package."""
import os
import shutil
import subprocess
from pathlib import Path

import setting

OLDER = "bullseye"  # glibc 2.31: before dlsym and threads were the C library's own
PACKAGES = ("libc6", "libc6-dev")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
OWN_LIBRARIES = "lib/x86_64-linux-gnu"


def musl(work, source, *flags, output="musl"):
    """A program of musl's, or None where there is no musl-gcc."""
    if shutil.which("musl-gcc") is None:
        return None
    program = Path(work) / output
    setting.call(["musl-gcc", "-g", "-D_GNU_SOURCE", "-w", *flags, source, "-o", program])
    return program


def fetch_older(work):
    """Where an older glibc lies, or None where no package of it can be had. TTAPE_OLDER_LIBC is a
    folder with its packages."""
    work = Path(work)
    place, given = work / "older", os.environ.get("TTAPE_OLDER_LIBC")
    packages = sorted(Path(given).glob("libc6*.deb")) if given else download(work)
    for package in packages:
        subprocess.run(["dpkg", "-x", package, place], check=False, capture_output=True,
                       timeout=120)
    loader = place / OWN_LIBRARIES / "ld-linux-x86-64.so.2"
    return place if loader.exists() and (place / LIBRARIES / "crt1.o").exists() else None


def download(work):
    folder = work / "packages"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    mirror = mirror_of("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
    if mirror is None:
        return []
    (folder / "sources.list").write_text(f"deb {mirror} {OLDER} main\n", encoding="ascii")
    words = ["apt-get", "-o", f"Dir::Etc::sourcelist={folder}/sources.list",
             "-o", "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={folder}/lists",
             "-o", f"Dir::Cache={folder}/cache"]
    for rest in (["update"], ["download", *(f"{name}/{OLDER}" for name in PACKAGES)]):
        subprocess.run([*words, *rest], check=False, capture_output=True, timeout=300, cwd=folder)
    return sorted(folder.glob("libc6*.deb"))


def mirror_of(*files):
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines() if Path(file).is_file() \
                else []:
            words = line.split()
            if len(words) > 1 and words[0] in ("URIs:", "deb"):
                return next(word for word in words[1:] if "://" in word)
    return None


def older(place, work, source, *flags, libraries=("libpthread.so.0", "libdl.so.2"), output="older"):
    """A program of that glibc: its start files, libraries and loader."""
    parts, own = place / LIBRARIES, place / OWN_LIBRARIES
    program = Path(work) / output
    setting.call(["gcc", "-g", "-D_GNU_SOURCE", "-w", *flags, "-nostdlib", "-no-pie", source,
                  "-o", program, parts / "crt1.o", parts / "crti.o",
                  *(own / name for name in libraries), own / "libc.so.6",
                  parts / "libc_nonshared.a", own / "ld-linux-x86-64.so.2", parts / "crtn.o",
                  f"-Wl,--dynamic-linker={own}/ld-linux-x86-64.so.2", f"-Wl,-rpath,{own}"])
    return program
