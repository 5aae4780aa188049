#!/usr/bin/env python3
"""W13 at length: ten thousand forks of a program with 16 busy threads."""
import forks
import oracle
import setting

setting.need_verb("record")
verdict = setting.Checks("W13, ten thousand forks")
with setting.work_dir() as place:
    oracle.observe(verdict, forks.case(10000, timeout=600), "gcc", place)
verdict.verdict()
