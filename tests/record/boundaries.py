"""W8: SIGKILL of the recorder at its writes: before it, after it, and in the middle of it. The
program comes to its end; `recover` gives all calls that it made, up to what found no room."""
import failing
import faults
import setting

WRITERS = ("write", "pwrite", "writev", "rename", "renameat", "renameat2", "linkat", "link",
           "unlink", "unlinkat", "ftruncate", "ftruncate64", "fallocate", "mmap", "open")
WAYS = {"write": ("kill", "after", "torn"), "pwrite": ("kill", "after", "torn")}


def main(most=None, seconds=None, milliseconds=60, options=()):
    """Ends the test. most: of each call; None: all of them."""
    setting.need_verb("record", "recover")
    setting.go_apart()
    checks, runs = setting.Checks("W8, write boundaries"), failing.Runs(seconds)
    with setting.work_dir() as work:
        # few enough calls for the buffers to hold them all when nobody drains them
        host = faults.Host(work, "p_steady.c", [milliseconds, 2, 200])
        counts = faults.calls_of_recorder(host, options)

        def one(name, how, number):
            label = f"{how} at {name} {number}"
            env = faults.disturbed(f"{name}:{how}:{number}")
            check(checks, host, host.run(label, options, env=env))
        for name in WRITERS:
            for number in faults.spread(counts.get(name, 0), most or counts.get(name, 0)):
                for how in WAYS.get(name, ("kill",)):
                    runs.add(one, name, how, number)
        checks.that(runs.run(checks) > 20, f"few kills: {counts}")
    checks.verdict()


def check(checks, host, outcome):
    label = outcome.label
    killed = outcome.result.status == setting.DIED + 9
    if outcome.status is None:  # before the program was started, or it was not killed: refused
        checks.that(killed or outcome.result.status == faults.NOT_RECORDED,
                    f"{label}: recorder ended with {outcome.result.status}")
        setting.forget_arena(outcome.recorder)
        return
    host.check_lives(checks, outcome, may_refuse=False)
    check_remains(checks, outcome)
    trace = faults.recover(checks, outcome)
    said = outcome.result.err[-200:]
    if checks.that(trace is not None, f"{label}: nothing is left; {said!r}"):
        faults.check_calls(checks, label, trace, host.made(outcome))


def check_remains(checks, outcome):
    """A folder beside a finished trace: it is recovered too, or recover says that all is done."""
    if not outcome.remains.exists() or not outcome.trace.is_file():
        return
    target, has_journal = outcome.folder / "again.ttape", (outcome.remains / "journal").exists()
    done = setting.tracetape("recover", outcome.remains, "-o", target)
    if has_journal:
        checks.that(done.status in faults.RECOVERED and target.is_file(),
                    f"{outcome.label}: recover ended with {done.status}",
                    done.err.decode(errors="replace"))
        return
    checks.that(not any(outcome.remains.iterdir()), f"{outcome.label}: files without a journal")
    checks.equal(done.status, faults.NOT_RECORDED, f"{outcome.label}: recover's status")
    checks.that(b"nothing is left to recover" in done.err and not target.exists(),
                f"{outcome.label}: recover says {done.err!r}")
