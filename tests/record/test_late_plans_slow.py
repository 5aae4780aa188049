#!/usr/bin/env python3
"""How long a program waits for its plan: a recorder that is given a thousandth of a core for a
minute is waited for, as it has not used its time; one that is stopped is not waited for longer than
PLANNER_NS of recorder/runtime/patch/plan_wait.c for a process, and that is said."""
import concurrent.futures
from pathlib import Path

import late_plans
import setting
import traces

LONG_S = 60  # of both: more than PLANNER_NS, and less than WALL_NS


def main():
    setting.need_verb("record")
    checks = setting.Checks("late plans, for long")
    setting.build("p_tight.c", log=False, hooks=False)
    with setting.work_dir() as first, setting.work_dir() as second, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        trace, none = Path(first, "late.ttape"), Path(second, "none.ttape")
        starved = pool.submit(late_plans.record, first, trace, LONG_S, True)
        stopped = pool.submit(late_plans.record, second, none, LONG_S)
        status, err = starved.result()
        checks.equal(status, 0, f"status; {err}")
        checks.equal(traces.call_counts(trace)["enter"]["leaf"], 1000, f"calls; {err}")
        status, err = stopped.result()
        checks.that(status == 4 and "not made in time" in err and not none.exists(),
                    f"one that is stopped: status {status}", err)
    checks.verdict()


main()
