#!/usr/bin/env python3
"""W25: large numbers, as far as a short test can have them: a symbol of 64 KiB, thousands of
functions, many streams, small partitions by the thousand: no count wraps, and the recorder's memory
is bounded. More streams than 16 bits count: test_faults_w16_slow.py."""
import sys
from pathlib import Path

import setting
import traces

FUNCTIONS = setting.cut(20000, 8000)
PEAK_KIB = 256 << 10
MEASURED = ("import resource, subprocess, sys; s = subprocess.run(sys.argv[1:]).returncode;"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(s)")
NAME = "f" + "x" * 65534


def compile_text(work, name, text):
    source, program = Path(work, f"{name}.c"), Path(work, name)
    source.write_text(text, encoding="ascii")
    setting.call(["gcc", "-O0", "-g0", "-finstrument-functions", "-o", program, source])
    return program


def record(checks, work, name, program, *options):
    """A verified recording, whose processes took little memory."""
    out = Path(work, f"{name}.ttape")
    words = [sys.executable, "-c", MEASURED, *setting.record_words(out, [program], *options)]
    done = setting.run(words, cwd=work, timeout=120)
    peak = int(done.out.split()[-1])
    print(f"{name}: {peak} KiB in the largest process")
    checks.that(peak < PEAK_KIB, f"{name}: {peak} KiB of memory, {PEAK_KIB} allowed")
    checks.equal(done.status, 0, f"{name}: status ({done.err.decode(errors='replace')[-200:]})")
    problem = traces.verify(out) if out.is_file() else "no trace"
    checks.that(problem is None, f"{name}: {problem}")
    return out if problem is None else None


def long_symbol(checks, work):
    text = f"void {NAME}(void) {{}}\nint main(void) {{ {NAME}(); {NAME}(); return 0; }}\n"
    out = record(checks, work, "long", compile_text(work, "long", text))
    if out:
        counts = traces.call_counts(out)["enter"]
        names = {len(name): count for name, count in counts.items() if name != "main"}
        checks.that(sum(names.values()) == 2, f"long symbol: calls {names}")
        checks.that(max(names, default=0) > 1000, f"long symbol: name of {names} bytes")


def many_functions(checks, work):
    lines = [f"void f{i}(void) {{}}" for i in range(FUNCTIONS)]
    lines.append("void (*const all[])(void) = {" + ",".join(f"f{i}" for i in range(FUNCTIONS)) +
                 "};")
    lines.append(f"int main(void) {{ for (int k = 0; k < 3; k++) for (int i = 0; i < {FUNCTIONS};"
                 " i++) all[i](); return 0; }")
    program = compile_text(work, "many", "\n".join(lines) + "\n")
    out = record(checks, work, "many", program)
    if out:
        counts = traces.call_counts(out)["enter"]
        checks.equal(len(counts), FUNCTIONS + 1, "many functions: different ones")
        checks.that(all(c == 3 for n, c in counts.items() if n != "main"),
                    "many functions: calls of each")
    out = record(checks, work, "many partitions", program, "--partition-events",
                 FUNCTIONS // 5)
    if out:
        about = traces.info(out)
        checks.that(about["partitions"] >= 10, f"partitions: {about['partitions']}")
        counts = traces.call_counts(out)
        checks.equal(sum(counts["enter"].values()) + sum(counts["exit"].values()),
                     6 * FUNCTIONS + 2, "many partitions: calls and their ends")


def main():
    setting.need_verb("record")
    checks = setting.Checks("W25")
    with setting.work_dir() as work:
        long_symbol(checks, work)
        many_functions(checks, work)
    checks.verdict()


main()
