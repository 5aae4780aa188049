#!/usr/bin/env python3
"""Every kind of program with gcc and with clang: the same behaviour as without tracing, and a trace
that says what the program logged by itself.

  test_matrix.py [PATTERN [COMPILER]]      names as in matrix_cases.py"""
import concurrent.futures
import fnmatch
import os
import sys

import matrix_cases
import oracle
import setting


def one(task):
    case, compiler, work = task
    checks = setting.Checks(case.name)
    try:
        oracle.observe(checks, case, compiler, work)
    except Exception as error:  # one broken case must not hide the others
        checks.that(False, f"{case.name} ({compiler}): {type(error).__name__}: {error}")
    return checks


def main():
    setting.need_verb("record")
    pattern = sys.argv[1] if len(sys.argv) > 1 else "*"
    compilers = sys.argv[2:] or list(setting.COMPILERS)
    checks = setting.Checks("matrix")
    with setting.work_dir() as work:
        tasks = [(case, compiler, work) for case in matrix_cases.all_cases()
                 for compiler in compilers
                 if compiler in case.compilers and fnmatch.fnmatch(case.name, pattern)]
        with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            for done in pool.map(one, tasks):
                checks.count += done.count
                checks.problems += done.problems
    print(f"{len(tasks)} cases")
    checks.verdict()


main()
