#!/usr/bin/env python3
"""W3: every write falls short, by all but one byte or by half: a conversion's file is the same byte
for byte, a recording holds all calls."""
import faults
import setting
import traces

SHORT = ("short=1", "short=7", "short=0")
WRITERS = ("write", "pwrite", "writev")


def converted(checks, work):
    text = "0 1 enter main\n" + "".join(f"{i * 10} 1 enter f{i % 7}\n{i * 10 + 3} 1 exit\n"
                                        for i in range(1, 3000)) + "40000 1 exit\n"
    source, whole = work / "calls.txt", work / "whole.ttape"
    source.write_text(text, encoding="ascii")
    setting.tracetape("convert", source, "-o", whole)
    for how in SHORT:
        target = work / f"{how}.ttape"
        plan = ",".join(f"{name}:{how}:1+" for name in WRITERS)
        done = setting.tracetape("convert", source, "-o", target,
                                 env=setting.environment(**faults.disturbed(plan)))
        checks.equal(done.status, 0, f"convert, {how}: status")
        checks.that(target.is_file() and target.read_bytes() == whole.read_bytes(),
                    f"convert, {how}: other bytes")


def recorded(checks, work):
    host = faults.Host(work, "p_calls.c", [6])
    whole = host.run("whole")
    wanted = dict(traces.call_counts(whole.trace)["enter"])
    checks.that(sum(wanted.values()) > 1000, f"too few calls: {wanted}")
    for how in SHORT:
        for names in (*[(name,) for name in WRITERS], WRITERS):
            label = f"record, {how} of {names}"
            plan = ",".join(f"{name}:{how}:1+" for name in names)
            outcome = host.run(label, env=faults.disturbed(plan))
            host.check_lives(checks, outcome, may_refuse=False, messages=0)
            checks.equal(outcome.result.status, 0, f"{label}: status")
            trace = faults.recover(checks, outcome)
            if checks.that(trace == outcome.trace, f"{label}: no trace"):
                faults.check_calls(checks, label, trace, wanted)


def main():
    setting.need_verb("record", "recover")
    checks = setting.Checks("W3")
    with setting.work_dir() as work:
        converted(checks, faults.Path(work))
        recorded(checks, work)
    checks.verdict()


main()
