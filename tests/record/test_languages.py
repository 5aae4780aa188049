#!/usr/bin/env python3
"""What stays empty, or nearly so, says why and what to do in one line, by language and kind: Go,
Rust, what is compiled while it runs, static programs, those of 32 bits. Files that say of
themselves what compilers write there."""
import os
import subprocess
import sys
from pathlib import Path

import setting

SECTION = '__attribute__((section("{}"))) const char made[32] = "made";\n'
PLAIN = "int main(void) { return 3; }\n"
RUST = 'asm(".section .comment\\n.asciz \\"rustc version 1.70.0\\"\\n.text\\n");\n'
START = "asm(\".globl _start\\n_start: mov $1,%eax\\nmov $3,%ebx\\nint $0x80\\n\");\n"

# name, source, flags, words of the line, the line begins with
CASES = [
    ("go", SECTION.format(".go.buildinfo") + PLAIN, ["-static"], "runtime/trace traces it", True),
    ("go_tables", SECTION.format(".gopclntab") + PLAIN, ["-static"], "a Go program", True),
    ("go_linked", SECTION.format(".go.buildinfo") + PLAIN, [], "a Go program's functions", False),
    ("rust", RUST + PLAIN, ["-static"], "x86_64-unknown-linux-gnu", True),
    ("static", PLAIN, ["-static"], "linked without -static", True),
    ("java", PLAIN, [], "what it compiles while it runs", False),
    ("plain", PLAIN, [], "those of libraries that it calls", False),
    ("bits", START, ["-m32", "-static", "-nostdlib"], "without -m32", True),
]


def check(checks, work, case):
    name, source, flags, wanted, is_empty = case
    (work / f"{name}.c").write_text(source, encoding="ascii")
    done = subprocess.run(["gcc", "-O1", "-w", *flags, "-o", work / name, work / f"{name}.c"],
                          check=False, capture_output=True, timeout=60)
    if done.returncode != 0:
        print(f"left out: {name} cannot be built")
        return
    try:
        status = subprocess.run([work / name], check=False, timeout=60).returncode
    except OSError as why:  # a kernel that runs no programs of 32 bits
        status = why
    if status != 3:
        print(f"left out: {name} does not run here: {status}")
        return
    trace = work / f"{name}.ttape"
    done = setting.run([setting.COMMAND, "record", "-o", trace, "--", work / name], timeout=60)
    lines = done.err.decode().splitlines()
    told = [line for line in lines if wanted in line]
    checks.equal((done.status != 0, len(told), trace.exists()), (True, 1, not is_empty),
                 f"{name}: {lines}")
    own = [line for line in lines if str(trace) in line]
    checks.that(not is_empty or own == told, f"{name}: in one line: {lines}")


def main():
    setting.need_verb("record")
    setting.need_command("gcc")
    checks = setting.Checks("languages")
    with setting.work_dir() as folder:
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(Path(folder) / "cache"))
        for case in CASES:
            check(checks, Path(folder), case)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
