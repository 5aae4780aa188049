#!/usr/bin/env python3
"""W13: hundreds of forks without exec of a program with 16 busy threads; children call, start
threads, exit, exec: no deadlock, each child's calls in streams of its own, none in the parent's.
With --files each process has a file of its own."""
import forks
import oracle
import setting
import traces


def separate(checks, work):
    """A file for each process that recorded something."""
    folder = oracle.Path(work, "separate")
    folder.mkdir()
    program = setting.build("p_fork_busy.c")
    out = folder / "out.ttape"
    words = setting.record_words(out, [program, 12, 3], "--files")
    done = setting.run(words, cwd=folder)
    checks.equal(done.status, 0, "--files: status")
    checks.equal(done.out, b"forks 12 bad 0\n", "--files: output")
    files = sorted(folder.glob("out*ttape*"))
    # those that exec /bin/true may leave a file without calls
    checks.that(13 <= len(files) <= 16, f"--files: files {[f.name for f in files]}")
    total = {}
    for path in files:
        problem = traces.verify(path)
        checks.that(problem is None, f"--files: {path.name}: {problem}")
        pids = {s["pid"] for s in traces.info(path)["stream_list"]}
        checks.that(len(pids) <= 1, f"--files: processes in {path.name}: {pids}")
        names = traces.call_counts(path)["enter"]
        both = names.get("busy_pair") and names.get("in_child")
        checks.that(not both, f"--files: parent and child in {path.name}")
        for name, count in names.items():
            total[name] = total.get(name, 0) + count
    checks.equal(total.get("child_life"), 12, "--files: calls of 'child_life'")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W13")
    with setting.work_dir() as work:
        for compiler in setting.COMPILERS:
            oracle.observe(checks, forks.case(60), compiler, work)
        oracle.observe(checks, forks.case(setting.cut(1000, 300)), "gcc", work)
        separate(checks, work)
    checks.verdict()


main()
