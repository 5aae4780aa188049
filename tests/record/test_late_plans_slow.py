#!/usr/bin/env python3
"""How long a program waits for its plan: a recorder that is given no core for a minute is waited
for, as it has not used its time; one that never comes back is not waited for longer than
WALL_NS of recorder/runtime/patch/plan_wait.c, and that is said."""
import concurrent.futures
from pathlib import Path

import late_plans
import setting
import traces

LONG_S, FOR_EVER_S = 60, 330


def main():
    setting.need_verb("record")
    checks = setting.Checks("late plans, for long")
    setting.build("p_tight.c", log=False, hooks=False)
    with setting.work_dir() as first, setting.work_dir() as second, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        trace, none = Path(first, "late.ttape"), Path(second, "none.ttape")
        waited = pool.submit(late_plans.record, first, trace, LONG_S)
        left = pool.submit(late_plans.record, second, none, FOR_EVER_S)
        status, err = waited.result()
        checks.equal(status, 0, f"status; {err}")
        checks.equal(traces.call_counts(trace)["enter"]["leaf"], 1000, f"calls; {err}")
        status, err = left.result()
        checks.that(status == 4 and "not made in time" in err and not none.exists(),
                    f"one that is stopped for {FOR_EVER_S} s: status {status}", err)
    checks.verdict()


main()
