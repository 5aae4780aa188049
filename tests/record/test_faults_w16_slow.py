#!/usr/bin/env python3
"""W16 and W25 at length: 100,000 short threads, 1,000 at once; more streams than 16 bits count."""
import oracle
import setting
from matrix_cases import short_threads

setting.need_verb("record")
verdict = setting.Checks("W16, 100,000 threads")
with setting.work_dir() as place:
    oracle.observe(verdict, short_threads("W16 100,000 threads", 100000, 1000, timeout=900,
                                          loss=True), "gcc", place)
    oracle.observe(verdict, short_threads("W16 100,000 threads, --block", 100000, 1000,
                                          timeout=900, options=["--block"], slack=60.0), "gcc",
                   place)
verdict.verdict()
