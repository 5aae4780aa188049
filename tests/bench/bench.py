"""Prints each figure of the format beside the others', measured in one run: see scripts/bench.

  bench.py --source DIR --build DIR --work DIR [--quick] [--soak] [--only PATTERN] [--values N]"""
import argparse
import fnmatch
import json
import os
import platform
import sys
import time
from pathlib import Path

import measure
import recordings
import sections_attach
import sections_blocks
import sections_columns
import sections_context
import sections_contexts
import sections_export
import sections_file
import sections_hook
import sections_html
import sections_many
import sections_instructions
import sections_patch
import sections_record
import sections_report
import sections_search
import sections_size
import sections_speed
import sections_syscalls
import sections_view

SECTIONS = {  # name: generator of rows
    "sizes": sections_size.sizes,
    "overhead": sections_size.overhead,
    "children": sections_size.children,
    "random": sections_size.noise,
    "convert": sections_speed.convert,
    "level9": sections_speed.level9,
    "levels": sections_speed.levels,
    "decode": sections_speed.decode,
    "codecs": sections_speed.codecs,
    "memory": sections_file.memory,
    "large": sections_file.large,
    "curve": sections_file.curve,
    "report": sections_report.report,
    "many": sections_many.many,
    "columns": sections_columns.columns,
    "report_exact": sections_report.report_exact,
    "tree_open": sections_report.tree_open,
    "slow": sections_report.slow,
    "answers": sections_report.answers,
    "names": sections_report.names,
    "export": sections_export.chrome,
    "record": sections_record.record,
    "hook": sections_hook.hook,
    "blocks": sections_blocks.blocks,
    "context": sections_context.context,
    "contexts": sections_contexts.contexts,
    "search": sections_search.search,
    "syscalls": sections_syscalls.syscalls,
    "attach": sections_attach.attach,
    "patch": sections_patch.patch,
    "filters": sections_patch.filters,
    "instructions": sections_instructions.instructions,
    "view": sections_view.view,
    "html": sections_html.html,
    "soak": sections_record.soak,
}
SHORT, BROKEN = 1, 4
LAYOUT = "{:<50} {:>27} {:>17} {:>8} {:>7} {:>6}  {}"


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", add_help=False)
    for name in ("--source", "--build", "--work"):
        parser.add_argument(name, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--only", default="*")
    parser.add_argument("--values", type=int, default=0)
    return parser.parse_args()


def number(value):
    if value < 0.01:
        return f"{value:.2g}"
    return f"{value:.1f}" if value >= 100 else f"{value:.3f}" if value < 10 else f"{value:.2f}"


def bound(value):
    return f"{value:g}" if value else "-"


def print_row(row):
    print(LAYOUT.format(row.figure, row.others, row.ours, number(row.value), bound(row.floor),
                        bound(row.aim), row.verdict), flush=True)


def environment():
    model = [line.split(":", 1)[1].strip()
             for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
             if line.startswith("model name")]
    return {"machine": platform.machine(), "cpu": model[0] if model else "unknown",
            "cores": os.cpu_count(), "load": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d %H:%M:%S")}


def as_json(section, row):
    return {"section": section, "figure": row.figure, "others": row.others, "ours": row.ours,
            "value": row.value, "floor": row.floor, "aim": row.aim,
            "better": "higher" if row.higher else "lower", "verdict": row.verdict,
            "details": row.details}


def run_section(name, bench):
    """All rows of a section, and whether it broke."""
    rows = []
    try:
        for row in SECTIONS[name](bench):
            print_row(row)
            rows.append(row)
    except (measure.BenchError, ValueError, KeyError, OSError) as error:
        print(f"BROKEN: {name}: {type(error).__name__}: {error}", flush=True)
        return rows, True
    return rows, False


def print_details(rows):
    print("\nIn detail")
    for row in rows:
        if row.details:
            print(f"\n{row.figure}")
            for line in row.details:
                print(f"  {line}")


def main():
    options = arguments()
    chosen = [n for n in SECTIONS if fnmatch.fnmatch(n, options.only)]
    if not chosen:
        print(f"bench: no section '{options.only}': {' '.join(SECTIONS)}", file=sys.stderr)
        return 2
    corpus = recordings.corpus_dir(os.environ, options.source)
    bench = measure.Bench(options.source, options.build, options.work, corpus, options.quick)
    bench.soak, bench.values = options.soak, options.values
    if bench.fallback:
        print(f"SKIPPED: no recordings in '{corpus}': measuring a recording of examples/minilang")
    about = environment()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']:.2f}; medians of "
          f"{bench.repeats} interleaved runs; geometric means over {', '.join(bench.names)}\n")
    print(LAYOUT.format("figure", "others", "ours", "compared", "floor", "aim", ""), flush=True)
    rows, found, broken = [], [], []
    for name in chosen:
        some, failed = run_section(name, bench)
        rows += some
        found += [as_json(name, row) for row in some]
        broken += [name] if failed else []
    print_details(rows)
    short = [row.figure for row in rows if row.verdict == "short"]
    reached = [row.figure for row in rows if row.verdict.startswith("PASS")]
    latest = Path(options.source) / "tests" / "bench" / "latest.json"
    latest.write_text(json.dumps({"environment": about, "quick": options.quick,
                                  "only": options.only, "rows": found,
                                  "curve": bench.curve, "broken": broken},
                                 indent=1) + "\n", encoding="utf-8")
    sections_file.tidy_up(bench)
    print(f"\n{len(reached)} reach their floor, {len(short)} short, "
          f"{len(broken)} sections broken; written: tests/bench/latest.json")
    return BROKEN if broken else SHORT if short else 0


sys.exit(main())
