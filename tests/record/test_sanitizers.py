#!/usr/bin/env python3
"""Programs that are built with a sanitizer, by gcc and by clang, are recorded, started by a shell
as well; what the sanitizer reports, and their status, stays."""
import setting
import traces

SANITIZERS = ("address", "thread", "undefined", "leak")
NO_ROOM = b"unexpected memory mapping"  # where the kernel has put something at random


def build(compiler, sanitizer):
    try:
        return setting.build("p_sanitized.c", compiler, ("-O1", f"-fsanitize={sanitizer}"),
                             log=False)
    except RuntimeError:
        return None


def summary(result):
    """What was found, without addresses, process ids, and which of two accesses came second."""
    return sorted({line.split(b" /")[0] for line in result.program_err().splitlines()
                   if b"SUMMARY" in line or b"runtime error" in line})


def run(words):
    """Once more where the sanitizer does not even begin."""
    for _ in range(20):
        result = setting.run(words)
        if NO_ROOM not in result.err:
            break
    return result


def record(checks, work, label, words):
    alone = run(words)
    if alone.status == 0 and alone.out != b"done\n":
        print(f"left out: {label} does not run by itself")
        return
    trace = work / f"{label.replace(' ', '-')}.ttape"
    done = run(setting.record_words(trace, words, "-f"))
    checks.equal((done.status, done.out, summary(done)), (alone.status, alone.out, summary(alone)),
                 f"{label}: {done.err.decode(errors='replace')[-600:]}")
    if checks.that(trace.is_file(), f"{label}: no trace"):
        checks.equal(traces.call_counts(trace)["enter"]["leaf"], 1100, f"{label}: calls")
        checks.equal(traces.lost(traces.info(trace)), 0, f"{label}: lost")


def main():
    setting.need_verb("record")
    checks = setting.Checks("sanitizers")
    with setting.work_dir() as work:
        work = setting.Path(work)
        for compiler in setting.COMPILERS:
            if setting.shutil.which(compiler) is None:
                print(f"left out: no {compiler}")
                continue
            for sanitizer in SANITIZERS:
                label = f"{compiler} {sanitizer}"
                program = build(compiler, sanitizer)
                if program is None:
                    print(f"left out: {label} cannot be built")
                    continue
                record(checks, work, label, ["sh", "-c", '"$0"; exit $?', program])
                record(checks, work, f"{label}, wrong", [program, sanitizer])
    checks.verdict()


main()
