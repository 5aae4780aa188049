#!/usr/bin/env python3
"""W2: the k-th write, open, fsync, ftruncate, fallocate, rename ... returns an error, once and from
then on, in the recorder and in the program's runtime: the program does not notice, one message at
most, and what was written before verifies."""
import faults
import setting

MOST = 6
ERRORS = {"write": ("ENOSPC", "EIO", "EINTR"), "pwrite": ("ENOSPC", "EDQUOT", "EAGAIN"),
          "writev": ("ENOSPC", "EINTR"), "open": ("EMFILE", "EACCES", "ENFILE"),
          "fsync": ("EIO",), "fdatasync": ("EIO",), "ftruncate": ("EIO", "EROFS"),
          "ftruncate64": ("EIO",), "fallocate": ("ENOSPC", "EINTR"),
          "fallocate64": ("ENOSPC",), "rename": ("EACCES", "ENOSPC"), "renameat": ("EROFS",),
          "renameat2": ("EROFS",), "link": ("EACCES",), "linkat": ("EACCES",),
          "mkdir": ("EROFS", "ENOSPC"), "mkdirat": ("EROFS",), "unlink": ("EACCES",),
          "unlinkat": ("EACCES",)}
PASSING = ("EINTR", "EAGAIN")  # these a second try gets over


def plans(counts):
    for name, errors in ERRORS.items():
        for number in faults.spread(counts.get(name, 0), MOST):
            for error in errors:
                yield name, number, "", error
                if error not in PASSING:
                    yield name, number, "+", error


def recorder_calls(checks, host):
    counts = faults.calls_of_recorder(host)
    checks.that(counts.get("write", 0) + counts.get("pwrite", 0) > 0,
                f"the recorder's calls were not seen: {counts}")
    for name, number, plus, error in plans(counts):
        label = f"recorder: {name} {number}{plus}: {error}"
        outcome = host.run(label, env=faults.disturbed(
            f"{name}:error={faults.ERRNO[error]}:{number}{plus}"))
        if not host.check_lives(checks, outcome):
            continue
        trace = faults.recover(checks, outcome)
        if error in PASSING and trace:
            checks.that(outcome.result.status in (0, faults.LOSS),
                        f"{label}: the recorder gave up: {outcome.result.status}",
                        outcome.result.err.decode(errors="replace"))


def runtime_calls(checks, host):
    found = faults.runtime_calls(host, ("openat", "read", "fstat", "newfstatat", "close", "gettid",
                                        "getpid", "readlink"))
    for name, numbers in found.items():
        for number in numbers:
            for error in ("EMFILE", "EINTR") if name == "openat" else ("EIO",):
                label = f"runtime: {name} {number}: {error}"
                rule = f"inject={name}:error={error}:when={number}"
                outcome = host.run(label, inner=faults.strace_words(f"trace={name}", rule))
                if host.check_lives(checks, outcome, may_refuse=False):
                    faults.recover(checks, outcome)


def main():
    setting.need_verb("record", "recover")
    faults.need_strace()
    checks = setting.Checks("W2")
    with setting.work_dir() as work:
        recorder_calls(checks, faults.Host(work, "p_steady.c", [40, 2]))
        runtime_calls(checks, faults.Host(work, "p_calls.c", [3]))
    checks.verdict()


main()
