#!/usr/bin/env python3
"""W20: the program closes every descriptor (close_range, closefrom), even the standard ones, or
puts its files at low and high numbers by dup2, and opens files of its own: they hold what it wrote,
byte for byte, and recording goes on."""
import oracle
import setting
from oracle import Case


def main():
    setting.need_verb("record")
    checks = setting.Checks("W20")
    with setting.work_dir() as work:
        for way in ("range", "from", "dup", "all"):
            for options in ([], ["--clock", "monotonic"], ["--buffer", "256K", "--block"]):
                oracle.observe(checks, Case(
                    f"W20 {way} {' '.join(options)}", "p_descriptors.c", [way, "{dir}"],
                    options=options, frames="counts", balanced=True,
                    expect={"own_file": 40, "fill": 40, "check": 40,
                            "leaf": 1000 + 40 * 50 * 20 + 100000 + 1000}), "gcc", work)
    checks.verdict()


main()
