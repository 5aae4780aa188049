#!/usr/bin/env python3
"""Each file that an installation has is in one of Debian's packages, by debian/*.install, or
belongs to a part that debian/rules leaves out. Building the packages is test_package_slow.sh."""
import fnmatch
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BUILD = Path(os.environ["TTAPE_SRC"]), Path(os.environ["TTAPE_BUILD"])
LEFT_OUT = {"usr/bin/tracetape-mpi": "-DTTAPE_MPI=OFF"}


def packed():
    for path in sorted((SOURCE / "debian").glob("*.install")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("build-html"):
                yield line.split()[0]


def installed(folder):
    # as on Debian, whose libraries are in a folder of the processor's
    subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], check=True,
                   env={**os.environ, "DESTDIR": str(folder)}, stdout=subprocess.DEVNULL)
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))
            if path.is_symlink() or not path.is_dir()]


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: a sanitizer build is not for installing")
        sys.exit(77)
    patterns = [pattern for line in packed() for pattern in (line, f"{line}/*")]
    patterns += [pattern.replace("usr/lib/*/", "usr/lib/") for pattern in patterns]
    rules = (SOURCE / "debian" / "rules").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        names = installed(Path(folder))
    assert len(names) > 50, names
    left = [name for name in names if not any(fnmatch.fnmatch(name, p) for p in patterns)
            and LEFT_OUT.get(name, "not in rules") not in rules]
    assert not left, f"in no package: {left}"
    print(f"package lists: ok, {len(names)} files")


main()
