#!/usr/bin/env python3
"""Programs that were stripped: names and lines of their functions from separate debug files, in a
folder, by a debug link, in the cache that clients of debuginfod share, and from a server; without
them, one line that says how to get them."""
import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import setting
import traces

SOURCE = """
static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(""); return x * 7; }
__attribute__((noinline)) int middle(int x) { return hidden(x) + hidden(x + 1); }
#include <time.h>
#include <signal.h>
#include <stdio.h>
struct tm kept; siginfo_t told; FILE *file;
int main(int count, char **words)
{
    (void)words;
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += middle(i + count);
    return sum == 0;
}
"""
WANTED = {"hidden": 20, "middle": 10}
CHOSEN = "^(hidden|middle)$"
NO_LIBRARY = "libdebuginfod.so.1"
LISTS = Path("/var/lib/dpkg/info")


def words(*command, cwd=None):
    subprocess.run(command, check=True, capture_output=True, timeout=60, cwd=cwd)


class Server(http.server.ThreadingHTTPServer):
    """Serves /buildid/ID/debuginfo on the loopback, and keeps what it was asked for."""

    def __init__(self):
        self.files, self.asked = {}, []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class Stripped:
    """The program, its debug file, and a home whose caches are empty."""

    def __init__(self, checks, work):
        self.checks, self.work, self.number = checks, work, 0
        (work / "program.c").write_text(SOURCE, encoding="utf-8")
        words("gcc", "-g", "-O2", "-o", "program", "program.c", cwd=work)
        words("objcopy", "--only-keep-debug", "program", "program.debug", cwd=work)
        words("strip", "program", cwd=work)
        notes = subprocess.run(["readelf", "-n", work / "program"], capture_output=True, text=True,
                               check=True).stdout
        self.build_id = notes.split("Build ID: ")[1].split()[0]
        self.path = f"/buildid/{self.build_id}/debuginfo"
        self.debug = (work / "program.debug").read_bytes()
        self.fresh()

    def fresh(self, **more):
        self.number += 1
        home = self.work / f"home-{self.number}"
        (home / ".cache").mkdir(parents=True, mode=0o700)
        env = setting.environment(HOME=home, **more)
        for name in ("XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH"):
            env.pop(name, None)
        if "DEBUGINFOD_URLS" not in more:
            env.pop("DEBUGINFOD_URLS", None)
        self.env, self.cache = env, home / ".cache" / "debuginfod_client"

    def record(self, *options, chosen=CHOSEN):
        trace = self.work / "run.ttape"
        done = setting.tracetape("record", "-f", "-o", trace, "--patch", chosen, *options, "--",
                                 "./program", cwd=self.work, env=self.env)
        counts = dict(traces.call_counts(trace)["enter"]) if done.status == 0 else {}
        return done, counts

    def lines(self):
        """Which lines of which files the functions are at."""
        done = setting.tracetape("dump", "--places", self.work / "run.ttape", env=self.env)
        return b"program.c:2" in done.out

    def check_named(self, label, *options):
        done, counts = self.record(*options)
        self.checks.equal((done.status, counts), (0, WANTED), f"{label}: calls by name")
        self.checks.that(b"stripped" not in done.err, f"{label}: no word on names", done.err)
        self.checks.that(self.lines(), f"{label}: lines")


def check_advice(of):
    """Nothing has names: said once, with what brings them, and functions have addresses."""
    done, counts = of.record(chosen=".")
    said = [line for line in done.said() if "stripped" in line]
    of.checks.equal(len(said), 1, f"lines on names: {said}")
    advice = "or give its debug file's folder with --debug-dir" if LISTS.is_dir() else \
             "--debuginfod fetches names"  # it came with no package
    of.checks.that("is stripped (program+0x" in said[0] and len(said[0]) < 200 and
                   advice in said[0], "advice", said)
    shown = setting.tracetape("report", of.work / "run.ttape").out
    of.checks.that(counts and b" program+0x" in shown, "addresses", shown)
    for words in (["report", "--callers", "work"], ["slow", "-F", "work"], ["dump", "-F", "work"],
                  ["tree", "--find", "work"], ["graph", "--below", "work"],
                  ["tree", "--filter", "work"]):
        done = setting.tracetape(words[0], of.work / "run.ttape", *words[1:])
        said = done.err.decode().splitlines()
        of.checks.that(done.status == 4 and len(said) == 2 and "program' is stripped, it seems" in
                       said[1] and "(program+0x" in said[1] and "symbolize" in said[1],
                       f"{words}: where names are missing", done)
    done, _ = of.record()
    of.checks.that(b"no name matches" in done.err and b"; it is stripped: " in done.err and
                   advice.encode() in done.err, "a name that is not there", done.err)


def check_main(of):
    """What the first code of a program calls has a name all the same."""
    plain = (of.work / "program").read_bytes()
    for compiler in ("gcc", "clang"):
        for flags in ([], ["-no-pie"], ["-fcf-protection", "-O0"]):
            if shutil.which(compiler) is None:
                print(f"SKIPPED: no {compiler}")
                continue
            words(compiler, "-O2", *flags, "-s", "-o", "program", "program.c", cwd=of.work)
            of.fresh()
            _, counts = of.record(chosen="^main$")
            of.checks.equal(counts, {"main": 1}, f"main, {compiler} {flags}")
    (of.work / "program").write_bytes(plain)


def check_places(of):
    """What a trace calls program+0x12, record calls so, too, wherever the program is linked to."""
    plain = (of.work / "program").read_bytes()
    words("gcc", "-O2", "-fno-pie", "-no-pie", "-s", "-o", "program", "program.c", cwd=of.work)
    of.fresh()
    of.record(chosen=".")
    shown = setting.tracetape("report", of.work / "run.ttape").out.decode()
    name = re.search(r" 20 .* (program\+0x[0-9a-f]+)$", shown, re.M)
    of.checks.that(name, "a function without a name", shown)
    _, counts = of.record(chosen=f"^{re.escape(name[1])}$" if name else "none")
    of.checks.equal(counts, {"": 20}, "the same function by that name")
    (of.work / "program").write_bytes(plain)


def check_packaged(of):
    """What dpkg brought is found in its lists."""
    if not (LISTS / "coreutils.list").exists():
        print("SKIPPED: no dpkg")
        return
    done = setting.tracetape("record", "-f", "-o", of.work / "ls.ttape", "--patch", ".", "--",
                             "/bin/ls", "/", cwd=of.work, env=of.env)
    of.checks.that(re.search(rb"--debuginfod fetches names, or coreutils-dbgsym "
                             rb"(of debian-debug )?has them$", done.err, re.M), "package", done.err)


def check_folders(of):
    place = of.work / "folder" / ".build-id" / of.build_id[:2]
    place.mkdir(parents=True)
    (place / f"{of.build_id[2:]}.debug").write_bytes(of.debug)
    of.check_named("--debug-dir", "--debug-dir", of.work / "folder")
    done = setting.tracetape("binary", "--functions", "program", "--debug-dir", "folder",
                             cwd=of.work, env=of.env)
    of.checks.that(b"names        from its debug file; lines from its debug file\n" in done.out and
                   b"debug file   folder/.build-id/" in done.out and b" hidden" in done.out,
                   "binary says where names come from", done.out)
    done = setting.tracetape("binary", "--functions", "program", cwd=of.work, env=of.env)
    of.checks.that(b"names        from what it exports; lines from nowhere\n" in done.out and
                   b" main" in done.out, "binary of a stripped program", done.out)
    plain = (of.work / "program").read_bytes()
    words("objcopy", "--add-gnu-debuglink=program.debug", "program", cwd=of.work)
    of.fresh()
    of.check_named("debug link")
    with open(of.work / "program.debug", "ab") as file:
        file.write(b"x")
    of.fresh()
    done, _ = of.record()
    of.checks.that(b"no name matches" in done.err, "a debug file of another checksum", done.err)
    (of.work / "program").write_bytes(plain)
    of.fresh()
    place = of.cache / of.build_id
    place.mkdir(parents=True)
    (place / "debuginfo").write_bytes(of.debug)
    of.check_named("what another client of debuginfod fetched")


def check_embedded(of):
    """The small table that distributions pack into stripped files has names without lines."""
    if shutil.which("xz") is None:
        print("SKIPPED: no xz")
        return
    plain = (of.work / "program").read_bytes()
    (of.work / "kept").write_text("hidden\nmiddle\nmain\n", encoding="utf-8")
    (of.work / "full.debug").write_bytes(of.debug)
    words("gcc", "-O2", "-o", "mini", "program.c", cwd=of.work)
    words("objcopy", "-S", "--keep-symbols=kept", "mini", cwd=of.work)
    words("xz", "-k", "mini", cwd=of.work)
    words("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "program", cwd=of.work)
    of.fresh()
    _, counts = of.record()
    of.checks.equal(counts, WANTED, "names of .gnu_debugdata")
    done = setting.tracetape("binary", "--json", "program", cwd=of.work, env=of.env)
    of.checks.that(b'"names_from":".gnu_debugdata"' in done.out.replace(b": ", b":"),
                   "binary of that", done.out[:300])
    (of.work / "program").write_bytes(plain)


def check_server(of, server):
    """From a server, once; where it has none, or none answers, that is said and all goes on."""
    server.files[of.path] = of.debug
    of.fresh(DEBUGINFOD_URLS=server.url)
    done, _ = of.record()
    of.checks.equal(server.asked, [], "requests without --debuginfod")
    of.check_named("--debuginfod", "--debuginfod")
    of.checks.equal(server.asked, [of.path], "requests")
    of.check_named("what was fetched before")
    of.checks.equal(len(server.asked), 1, "requests of what is in the cache")
    server.files.clear()
    of.fresh(DEBUGINFOD_URLS=server.url)
    done, counts = of.record("--debuginfod", chosen=".")
    of.checks.that(done.status == 0 and counts and
                   b"the servers in DEBUGINFOD_URLS do not have its debug file" in done.err,
                   "a server without it", done.err)
    server.files[of.path] = of.debug[:1000] + of.debug[:1000]
    of.fresh(DEBUGINFOD_URLS=server.url)
    done, counts = of.record("--debuginfod", chosen=".")
    of.checks.that(done.status == 0 and counts and b"stripped" in done.err, "nonsense", done.err)
    of.fresh(DEBUGINFOD_URLS="http://127.0.0.1:1")
    done, counts = of.record("--debuginfod", chosen=".")
    of.checks.that(done.status == 0 and counts and b"stripped" in done.err, "no server", done.err)
    of.fresh()
    done, _ = of.record("--debuginfod")
    of.checks.that(done.status == 2 and b"try DEBUGINFOD_URLS=https://" in done.err,
                   "no servers are known", done.err)


def check_silent(of):
    """A server that takes the question and says nothing is given up, once for all."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        of.fresh(DEBUGINFOD_URLS=f"http://127.0.0.1:{silent.getsockname()[1]}")
        done, counts = of.record("--debuginfod", "--stacks", chosen=".")
        of.checks.that(done.status == 0 and counts and
                       b"no server in DEBUGINFOD_URLS answers" in done.err, "silence", done.err)


def check_later(of, server):
    """symbolize fetches, too; and what debug files share with one another (dwz)."""
    of.fresh()
    of.record(chosen=".")
    trace, named = of.work / "run.ttape", of.work / "named.ttape"
    server.files[of.path] = of.debug
    of.fresh(DEBUGINFOD_URLS=server.url)
    if shutil.which("dwz") is not None:
        (of.work / "a.debug").write_bytes(of.debug)
        (of.work / "b.debug").write_bytes(of.debug)
        words("dwz", "-m", "shared.dwz", "a.debug", "b.debug", cwd=of.work)
        notes = subprocess.run(["readelf", "-n", of.work / "shared.dwz"], capture_output=True,
                               text=True, check=True).stdout
        shared = f"/buildid/{notes.split('Build ID: ')[1].split()[0]}/debuginfo"
        server.files[of.path] = (of.work / "a.debug").read_bytes()
        server.files[shared] = (of.work / "shared.dwz").read_bytes()
        (of.work / "shared.dwz").unlink()
    setting.tracetape("symbolize", trace, "-o", named, "-f", "--debuginfod", env=of.env)
    done = setting.tracetape("dump", "--places", named)
    of.checks.that(b" hidden" in done.out and b"program.c:2" in done.out, "symbolize --debuginfod",
                   done.out[:600], server.asked)


def check_libraries(of, server):
    """Of the libraries that a command starts with, those that --module chooses."""
    (of.work / "main.c").write_text("int middle(int); int main(void) { return middle(0) != 7; }\n",
                                    encoding="utf-8")
    words("gcc", "-g", "-O2", "-shared", "-fPIC", "-o", "libparts.so", "program.c", cwd=of.work)
    words("objcopy", "--only-keep-debug", "libparts.so", "parts.debug", cwd=of.work)
    words("strip", "libparts.so", cwd=of.work)
    words("gcc", "-O2", "-o", "user", "main.c", of.work / "libparts.so", cwd=of.work)
    notes = subprocess.run(["readelf", "-n", of.work / "libparts.so"], capture_output=True,
                           text=True, check=True).stdout
    path = f"/buildid/{notes.split('Build ID: ')[1].split()[0]}/debuginfo"
    server.files[path] = (of.work / "parts.debug").read_bytes()
    of.fresh(DEBUGINFOD_URLS=server.url)
    server.asked.clear()
    done = setting.tracetape("record", "-f", "-o", of.work / "run.ttape", "--patch", "^hidden$",
                             "--module", "libparts", "--debuginfod", "--", "./user", cwd=of.work,
                             env=of.env)
    of.checks.that(path in server.asked, "a library's debug file", server.asked)
    counts = dict(traces.call_counts(of.work / "run.ttape")["enter"]) if done.status == 0 else done
    of.checks.equal(counts, {"hidden": 2}, "calls in a library by the names that were fetched")
    of.checks.that(not any("libc" in line for line in done.said()), "no word on others", done.err)


def main():
    setting.need_verb("record", "symbolize")
    setting.need_command("gcc", "objcopy", "strip", "readelf")
    checks = setting.Checks("stripped")
    with setting.work_dir() as work:
        of = Stripped(checks, Path(work))
        check_advice(of)
        check_main(of)
        check_places(of)
        check_packaged(of)
        check_folders(of)
        check_embedded(of)
        libraries = subprocess.run(["ldconfig", "-p"], capture_output=True, check=False,
                                   env={**os.environ, "PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
        if NO_LIBRARY.encode() in libraries.stdout:
            server = Server()
            check_server(of, server)
            check_later(of, server)
            if setting.cut(True, False):  # half a minute
                check_silent(of)
            check_libraries(of, server)
            server.shutdown()
        else:
            print(f"SKIPPED: no {NO_LIBRARY}")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
