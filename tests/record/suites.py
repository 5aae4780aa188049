"""Fixed subsets of the test suites of four programs, for suite_runs.py: where they come from, which
of their scripts are run, how, and what in their output names a test.

  lua      the Lua 5.1 suite of its authors, which the source of golang-github-yuin-gopher-lua
           has (Debian's own sources of Lua have no tests)
  perl     t/ of the source of perl, with the system's modules in the place of lib/
  python3  test modules of libpython3.11-testsuite
  sqlite3  test/ of its source, by its testfixture, which is built here"""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from dataclasses import dataclass
from pathlib import Path

import debian_source

LUA = "attrib calls checktable closure code constructs db errors events files gc literals locals " \
      "main math nextvar pm sort strings vararg"
PERL = "base/*.t cmd/*.t comp/*.t mro/*.t io/[a-o]*.t io/[q-s]*.t op/*.t re/r*.t re/s*.t re/q*.t"
PERL_SLOW = "crlf_through through fork sigdispatch alarm sselect regexp_qr_embed_thr sleep"
PYTHON = "argparse array ast asyncgen bytes bz2 call class cmath code codecs collections compile " \
         "complex contextlib copy coroutines ctypes datetime decimal descr dict dis dynamic " \
         "exceptions faulthandler fileio float fork1 format fractions frame functools future gc " \
         "generators genericpath getopt glob grammar hashlib heapq int io itertools json list " \
         "long lzma marshal math memoryview mmap opcodes operator os pickle pipes posix pty " \
         "queue random re resource scope select set shlex shutil signal slice sqlite3 " \
         "statistics str string struct subprocess sys syntax tempfile textwrap threading thread " \
         "time trace traceback tuple typing unicode userdict uuid wait3 wait4 weakref zipfile zlib"
# Not socket: untraced it does not end within TIMEOUT_S where this was tried.
SQLITE = "select* join* where[0-9]* func* trans[0-9] wal[0-9] trigger* index* window[1-8] json1* " \
         "with[0-9]* attach* collate* expr* in[0-9]* insert* misc[0-9] savepoint* subquery* " \
         "types* update* upsert* view* vtab[1-9]"
# How often these allocate depends on the environment's size, and they count it; or they take long.
SQLITE_NOT = "malloc|fault|ioerr|selectG|where5|wal3|join7|savepoint[46]"


@dataclass(frozen=True)
class Script:
    """One program's start: what is run, in which folder below a copy of the suite."""
    name: str
    words: tuple
    folder: str = "."


def copy_source(place, package, target, part):
    source = debian_source.fetch(place, package)
    shutil.copytree(source / part, target, symlinks=True)


def make_lua(place):
    copy_source(place, "golang-github-yuin-gopher-lua", place / "lua", "_lua5.1-tests")


def make_perl(place):
    copy_source(place, "perl", place / "perl" / "t", "t")
    for folder in subprocess.run(["/usr/bin/perl", "-e", "print join qq(\\n), reverse @INC"],
                                 capture_output=True, text=True,
                                 check=True).stdout.splitlines():
        if re.match("/usr/(lib|share)/.*perl", folder) and Path(folder).is_dir():
            shutil.copytree(folder, place / "perl" / "lib", dirs_exist_ok=True)
    (place / "perl" / "t" / "perl").symlink_to("/usr/bin/perl")


def make_python3(place):
    (place / "python3").mkdir()


def make_sqlite3(place):
    source = Path(debian_source.fetch(place, "sqlite3", "make", "tclsh"))
    made = place / "sqlite3.making"
    made.mkdir(exist_ok=True)
    with open(place / "sqlite3.log", "wb") as log:
        for words in ([source / "configure", "--enable-all"],
                      ["make", f"-j{os.cpu_count()}", "testfixture"]):
            subprocess.run([str(word) for word in words], cwd=made, check=True, stdout=log,
                           stderr=log)
    target = place / "sqlite3"
    target.mkdir()
    shutil.copy(made / "testfixture", target)
    shutil.copytree(source / "test", target / "test")
    shutil.copytree(source / "ext", target / "ext")


def lua_scripts(_):
    return [Script(name, ("lua5.1", f"{name}.lua")) for name in LUA.split()]


def perl_scripts(place):
    found = sorted({path for pattern in PERL.split() for path in (place / "perl/t").glob(pattern)})
    return [Script(f"{path.parent.name}/{path.name}",
                   ("./perl", f"{path.parent.name}/{path.name}"), "t")
            for path in found if path.stem not in PERL_SLOW.split()]


def python3_scripts(_):
    return [Script(name, ("/usr/bin/python3", "-m", "test", "--junit-xml", "made.xml",
                          f"test_{name}")) for name in PYTHON.split()]


def sqlite3_scripts(place):
    found = sorted({path.stem for pattern in SQLITE.split()
                    for path in (place / "sqlite3/test").glob(f"{pattern}.test")})
    return [Script(name, ("../testfixture", f"../test/{name}.test"), "made")
            for name in found if not re.search(SQLITE_NOT, name)]


def lines(pattern):
    """Each line of the output that says how a test ended."""
    return lambda _, out: sorted(re.findall(pattern, out, re.M))


def python3_tests(folder, _):
    """How each test of a module ended, without times."""
    made = folder / "made.xml"
    if not made.is_file():
        return []
    return sorted(f"{case.get('name')}: " + (", ".join(sorted({part.tag for part in case})) or
                                            case.get("result"))
                  for case in xml.etree.ElementTree.parse(made).iter("testcase"))


@dataclass(frozen=True)
class Suite:
    """`tests` takes the folder and the output, and says how each test ended."""
    make: object
    scripts: object
    tests: object
    linked: bool = False
    environment: tuple = ()


SUITES = {
    "lua": Suite(make_lua, lua_scripts, lines(r"^(?:OK|testing .*|.*: assertion failed!)$"),
                 environment=(("LUA_INIT", "package.path = '?;'..package.path"),
                              ("LUA_PATH", "./?.lua;;"))),
    "perl": Suite(make_perl, perl_scripts, lines(r"^(?:not )?ok \d+"), linked=True),
    "python3": Suite(make_python3, python3_scripts, python3_tests),
    "sqlite3": Suite(make_sqlite3, sqlite3_scripts,
                     lines(r"^(?:\S+\.\.\. Ok|! .*|!.*on these tests: .*|\d+ errors out of .*)$"),
                     linked=True),
}


def make(place):
    """All suites, where they are not yet there; as whoever may build."""
    for name, suite in SUITES.items():
        if (place / f"{name}.made").is_file():
            continue
        shutil.rmtree(place / name, ignore_errors=True)
        print(f"making {name}", flush=True)
        suite.make(place)
        (place / f"{name}.made").touch()


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    make(Path(sys.argv[1]).resolve())
