#!/usr/bin/env python3
"""`report` and `info` of folders, lists and several files; what is damaged, foreign or not there is
named and left out; builds are joined or kept apart; ranks of MPI say the same, or nothing."""
import json
import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

BIN = os.environ["TTAPE_BIN"]
RANKED = Path(os.environ.get("TTAPE_BUILD", "."), "tracetape-mpi")
LAUNCHER = shutil.which("mpiexec.mpich")
OK, USAGE, LOSS, CANNOT = 0, 2, 3, 4


def run(work, *words, tool=(BIN,), status=OK):
    done = subprocess.run([*tool, *words], cwd=work, text=True, capture_output=True, check=False)
    assert done.returncode == status, (words, done)
    return done


def rows(work, *words, status=OK):
    return {row["name"]: row for row in
            json.loads(run(work, "report", "--json", *words, status=status).stdout)["rows"]}


def make(path, symbol="alpha", turns=3, build="aa", first=0):
    """A trace of a program whose function has another place in each build."""
    lines = [f"process {first + 7} prog", f"thread {first + 7} {first + 70} main",
             f"module 0x1000 0x9000 /opt/{build}/app build-id={build * 8}",
             f"symbol 0x1{build[0]}00 {symbol}", "symbol 0x1200 beta"]
    for turn in range(turns):
        now = 100 * turn + first
        tid = first + 70
        lines += [f"{now} {tid} enter 0x1{build[0]}00", f"{now + 10} {tid} enter 0x1200",
                  f"{now + 30} {tid} exit", f"{now + 50} {tid} exit"]
    path.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([BIN, "convert", "-", "-o", path], input="\n".join(lines) + "\n",
                          text=True, capture_output=True, check=False)
    assert done.returncode == OK, done


def check_operands(work):
    (work / "d/a.txt").write_text("no trace\n")
    (work / "d/link.ttape").symlink_to(work / "1.ttape")
    (work / "d/loop").symlink_to(work / "d")
    (work / "lists").mkdir()
    (work / "lists/all").write_text("../1.ttape\n\n../d\n")
    shutil.copy(work / "1.ttape", work / "@odd")
    for operands, calls in ((["1.ttape", "d/2.ttape"], 7), (["d"], 9), (["@lists/all"], 12),
                            (["@@odd", "d/2.ttape"], 7)):
        assert rows(work, *operands)["alpha"]["calls"] == calls, operands
    assert "names no file" in run(work, "report", "@/dev/null", status=CANNOT).stderr
    assert "cannot open the list" in run(work, "report", "@none", status=CANNOT).stderr
    run(work, "report", "lists", status=CANNOT)
    (work / "latest").symlink_to("d")  # the user names it: it is followed
    assert rows(work, "latest")["alpha"]["calls"] == 9
    if os.geteuid() != 0:  # whom no folder shuts out
        (work / "d/deep").chmod(0o600)  # names can be read, files cannot be looked at
        done = run(work, "report", "d", status=CANNOT)
        (work / "d/deep").chmod(0o700)
        assert "cannot read 'd/deep/3.ttape'" in done.stderr, done
    text = run(work, "info", "1.ttape", "d", "--json").stdout
    assert text.count('"trace_id"') == 3, text


def check_left_out(work):
    whole = (work / "1.ttape").read_bytes()
    (work / "foreign.ttape").write_bytes(b"\x7fELF" + bytes(400))
    (work / "cut.ttape").write_bytes(whole[:100])
    (work / "cut.rollup").write_bytes(b"\x89TTROL1\n" + bytes(30))
    done = run(work, "report", "d", "foreign.ttape", "nothing.ttape", "cut.rollup", "--json",
               status=LOSS)
    assert json.loads(done.stdout)["files_left_out"] == 3, done
    for name in ("foreign.ttape", "nothing.ttape", "cut.rollup"):
        assert f"'{name}'" in done.stderr, (name, done.stderr)
    run(work, "report", "foreign.ttape", "nothing.ttape", status=CANNOT)
    done = run(work, "report", "1.ttape", "1.ttape", status=CANNOT)
    assert "partitions 0 to 0 of trace" in done.stderr and not done.stdout, done


def check_builds(work):
    """alpha is at two places of two builds of one program, and in another program, too."""
    make(work / "b/bb.ttape", build="bb", first=1000)
    files = ["1.ttape", "b/bb.ttape"]
    joined = rows(work, *files)
    assert joined["alpha"]["calls"] == 6 and "address" not in joined["alpha"], joined
    assert joined["alpha"]["build_id"] in ("aa" * 8, "bb" * 8), joined
    apart = json.loads(run(work, "report", *files, "--across", "none", "--json").stdout)["rows"]
    alphas = [row for row in apart if row["name"] == "alpha"]
    assert sorted(row["build_id"] for row in alphas) == ["aa" * 8, "bb" * 8], alphas
    by_build = rows(work, *files, "--by", "build")
    assert sorted(by_build) == ["app " + "aa" * 8, "app " + "bb" * 8], by_build
    subprocess.run([BIN, "convert", "-", "-o", work / "none.ttape"], text=True, check=True,
                   input="10 7 enter work\n20 7 exit\n", capture_output=True)
    assert list(rows(work, "none.ttape", "--by", "build")) == ["(no module)"]
    assert sorted(rows(work, *files, "--by", "trace")) == ["1.ttape", "bb.ttape"]
    make(work / "rust/1.ttape", symbol="_ZN3app4work17h0123456789abcdefE", first=5)
    make(work / "rust/2.ttape", symbol="_ZN3app4work17hfedcba9876543210E", first=6, build="cc")
    found = {name: row["calls"] for name, row in rows(work, "rust").items() if "work" in name}
    assert list(found.values()) == [6], found
    make(work / "rust2/1.ttape", symbol="_RINvCs4fqI2P2rA04_3app4workNtB2_3FooBp_E", first=7)
    make(work / "rust2/2.ttape", symbol="_RINvCs1_3app4workNtB2_3FooBf_E", first=8, build="cc")
    for words, count in (((), 1), (("--across", "none"), 2)):
        shown = json.loads(run(work, "report", "--json", "rust2", *words).stdout)["rows"]
        assert sum("work" in row["name"] for row in shown) == count, (words, shown)
    found = json.loads(run(work, "diff", "rust2/1.ttape", "rust2/2.ttape", "--json").stdout)
    assert not found["functions"]["rows"] and found["functions"]["same"] == 2, found["functions"]
    for words, count in (((), 1), (("--across", "none"), 2)):
        nodes = json.loads(run(work, "graph", "rust2", "--json", *words).stdout)["nodes"]
        builds = {node["build_id"] for node in nodes if "work" in node["name"]}
        assert len(builds) == count and builds <= {"aa" * 8, "cc" * 8}, (words, nodes)


def add_rows(one, other):
    """What doc/how-to/many.md says of whatever adds rows."""
    both = {name: (one[name] or 0) + (other[name] or 0) for name in
            ("calls", "ended", "self_ns", "total_ns", "idle_ns", "squares_ns2")}
    for name, choose in (("min_ns", min), ("max_ns", max)):
        known = [row[name] for row in (one, other) if row[name] is not None]
        both[name] = choose(known) if known else None
    return both


def check_added_rows(work):
    """Rows of each file for itself, grouped and added up by somebody else."""
    files = ("1.ttape", "d/2.ttape", "d/3.ttape", "b/bb.ttape")
    added = {}
    for words in [(file,) for file in files] + [files]:
        shown = run(work, "report", "--json", "--across", "none", *words).stdout
        found = {}
        for row in json.loads(shown)["rows"]:
            key = (row["build_id"] or row["module"], row["name"], row["file"], row["line"],
                   row["offset"])
            assert key not in found, key
            found[key] = row
        if words == files:
            break
        for key, row in found.items():
            added[key] = add_rows(added[key], row) if key in added else row
    assert len(found) == 4 and found.keys() == added.keys(), (found.keys(), added.keys())
    for key, row in found.items():
        assert add_rows(row, row) == add_rows(added[key], added[key]), (row, added[key])


def check_rollups(work):
    run(work, "report", "d", "--rollup", "d.rollup")
    run(work, "report", "d", "--rollup", "d.rollup", status=CANNOT)  # it is there
    first = (work / "d.rollup").read_bytes()
    run(work, "report", "d/3.ttape", "d/2.ttape", "--rollup", "d.rollup", "--force")
    assert (work / "d.rollup").read_bytes() == first
    one, other = rows(work, "d.rollup", "1.ttape"), rows(work, "1.ttape", "d")
    assert one == other
    for words in (["--by", "thread"], ["--exact"], ["--time", "1.."], ["--below", "beta"]):
        done = run(work, "report", "d.rollup", *words, status=CANNOT)
        assert "'d.rollup'" in done.stderr, done
    done = run(work, "report", "d.rollup", "--on", "beta do off", status=CANNOT)
    assert "--on" in done.stderr and "--filter" not in done.stderr, done
    run(work, "report", "1.ttape", "--time", "1..", "--rollup", "x.rollup", status=USAGE)
    run(work, "report", "d.rollup", "--butterfly", "beta", status=USAGE)
    run(work, "report", "1.ttape", "--rollup", "1.ttape", "--force", status=CANNOT)
    assert not (work / "x.rollup").exists() and rows(work, "1.ttape")
    callers = json.loads(run(work, "report", "d", "--callers", "beta", "--json").stdout)["rows"]
    assert [(row["caller"], row["calls"]) for row in callers] == [("alpha", 9)], callers
    run(work, "report", "d", "--ids", "--rollup", "ids.rollup")
    found = rows(work, "ids.rollup", "--ids")["beta"]
    assert len(found["longest"]) == 9 and found["longest"][0]["duration_ns"] == 20, found


def check_namesakes(work):
    """So many functions of one name are refused, of many files as of one."""
    lines = ["process 7 prog", "thread 7 70 main", "module 0x1000 0x90000 /opt/app"]
    lines += [f"symbol {0x1000 + 16 * i:#x} same" for i in range(1025)]
    for i in range(1025):
        lines += [f"{10 * i} 70 enter {0x1000 + 16 * i:#x}", f"{10 * i + 5} 70 exit"]
    done = subprocess.run([BIN, "convert", "-", "-o", work / "same.ttape"], text=True, check=False,
                          input="\n".join(lines) + "\n", capture_output=True)
    assert done.returncode == OK, done
    for more in ((), ("--across", "none")):
        done = run(work, "report", "same.ttape", "--callers", "same", *more, status=CANNOT)
        assert "too many functions 'same'" in done.stderr, done


def check_slow(work):
    """The longest of all files, each with its file; as from one file where that has them all."""
    shown = json.loads(run(work, "slow", "--json", "-n", "4", "d", "1.ttape", "nothing.ttape",
                           status=LOSS).stdout)
    calls = [(call["name"], call["duration_ns"]) for call in shown["calls"]]
    assert calls == [("alpha", 50)] * 4 and shown["traces"] == 3, shown
    beta = run(work, "slow", "--json", "-F", "^beta$", "-n", "99", "d", "1.ttape").stdout
    beta = json.loads(beta)
    assert len(beta["calls"]) == 12 and {call["name"] for call in beta["calls"]} == {"beta"}, beta
    alone = json.loads(run(work, "slow", "--json", "-F", "^beta$", "1.ttape").stdout)["calls"]
    both = [{k: v for k, v in call.items() if k != "trace"} for call in beta["calls"]
            if call["trace"] == "1.ttape"]
    assert both == [{k: v for k, v in call.items() if k != "site"} for call in alone], both
    place = {(call["module"], call["build_id"], call["offset"]) for call in alone}
    assert place == {("/opt/aa/app", "aa" * 8, "0x200")}, place
    assert "TRACE" in run(work, "slow", "d").stdout
    kept = [shutil.copy(work / "1.ttape", work / f"kept{i}.ttape") for i in range(40)]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (30, before[1]))  # files, of which all stay open
    shown = json.loads(run(work, "slow", "--json", "-n", "999", *kept).stdout)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(shown["calls"]) == 240, len(shown["calls"])
    done = run(work, "slow", "1.ttape", "beta")
    assert "taken as a function" in done.stderr and "TRACE" not in done.stdout, done
    run(work, "slow", "d", "-F", "nobody", status=CANNOT)
    run(work, "slow", "1.ttape", "-F", "nobody", status=CANNOT)
    run(work, "slow", "1.ttape", "-F", "(", status=USAGE)


def check_threads(work):
    """R-FUN-05: which trace, and which host, a thread or a process is of."""
    (work / "t").mkdir()
    for host in ("one", "two"):
        subprocess.run([BIN, "convert", "-", "-o", work / f"t/{host}.ttape"], text=True, check=True,
                       input=f"meta host {host}\nprocess 1 app\nthread 1 1 main\n"
                             "10 1 enter work\n20 1 exit\n", capture_output=True)
    run(work, "report", "t", "--by", "process", "--rollup", "t.rollup")
    for by, words in (("thread", ["t"]), ("process", ["t"]), ("process", ["t.rollup"])):
        shown = json.loads(run(work, "report", "--json", "--by", by, *words).stdout)["rows"]
        found = [(row["name"], row["pid"], row["host"], row["trace"]) for row in shown]
        name = "main" if by == "thread" else "app"
        assert sorted(found) == [(name, 1, host, f"{host}.ttape") for host in ("one", "two")], found
        assert all(("tid" in row) == (by == "thread") for row in shown), shown
        assert all(len(row["trace_id"]) == 32 and "stream" not in row for row in shown), shown
        text = run(work, "report", "--by", by, *words).stdout
        assert "HOST  TRACE" in text and "one   one.ttape" in text, text
        for more in (["--format", "csv"], ["--format", "csv", "--columns", "name,host,trace"]):
            lines = run(work, "report", "--by", by, *words, *more).stdout.splitlines()
            assert "host,trace" in lines[0] and len(lines) == 3, lines
            assert all(f"{host},{host}.ttape" in "".join(lines) for host in ("one", "two")), lines
    assert "HOST" not in run(work, "report", "t/one.ttape", "--by", "thread").stdout


def check_diff(work):
    """Of several runs a side one that cannot be read is left out; the only one is not."""
    run(work, "report", "1.ttape", "--rollup", "d/r.rollup")
    for words in (["1.ttape", "--against", "d"],
                  ["1.ttape", "foreign.ttape", "--against", "1.ttape"],
                  ["1.ttape", "--against", "foreign.ttape", "nothing.ttape", "1.ttape"]):
        done = run(work, "diff", "--json", *words, status=LOSS)
        assert json.loads(done.stdout), done
        for name in ("foreign.ttape", "nothing.ttape"):
            assert (f"'{name}'" in done.stderr) == (name in words), done
    (work / "d/r.rollup").unlink()
    for words in (["1.ttape", "foreign.ttape"], ["foreign.ttape", "1.ttape"],
                  ["1.ttape", "--against", "foreign.ttape", "nothing.ttape"]):
        done = run(work, "diff", *words, status=CANNOT)
        assert not done.stdout, done


def check_ranks(work):
    if LAUNCHER is None or not RANKED.exists():
        print("no tracetape-mpi: ranks were not tried")
        return
    ranked = lambda n: (LAUNCHER, "-n", str(n), str(RANKED))  # noqa: E731
    words = ["report", "d", "1.ttape", "foreign.ttape", "nothing.ttape", "/dev/null", "--json"]
    want = run(work, *words, status=LOSS).stdout
    for ranks in (1, 3):
        done = run(work, *words, tool=ranked(ranks), status=LOSS)
        assert done.stdout == want, done
        for name in ("nothing.ttape", "foreign.ttape", "/dev/null"):
            assert done.stderr.count(f"'{name}'") == 1, done
    done = run(work, "report", "1.ttape", "1.ttape", tool=ranked(2), status=CANNOT)
    assert not done.stdout, done
    alone = subprocess.run([RANKED, "report", "1.ttape"], cwd=work, text=True, capture_output=True,
                           env={**os.environ, "OMPI_COMM_WORLD_SIZE": "4"}, check=False)
    assert alone.returncode == CANNOT and "started 4 ranks" in alone.stderr, alone


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        make(work / "1.ttape")
        make(work / "d/2.ttape", turns=4, first=100)
        make(work / "d/deep/3.ttape", turns=5, first=200)
        check_operands(work)
        shutil.move(work / "d/deep/3.ttape", work / "d/3.ttape")
        (work / "d/loop").unlink()
        check_left_out(work)
        check_builds(work)
        check_added_rows(work)
        check_rollups(work)
        check_namesakes(work)
        check_slow(work)
        check_threads(work)
        check_diff(work)
        check_ranks(work)
    print("many files: ok")


main()
