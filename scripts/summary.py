"""Adds up ctest's reports: summary.py COUNT [FAILED STEP]... -- [JUNIT FILE]...

Names what failed and what was skipped, ends with `N passed, N failed, N skipped`, and exits 1
unless something passed and nothing failed."""
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def main():
    divider = sys.argv.index("--")
    broken, reports = sys.argv[2:divider], sys.argv[divider + 1:]
    counts = {"passed": 0, "failed": len(broken), "skipped": 0}
    for step in broken:
        print(f"failed   {step}")
    for report in reports:
        preset = Path(report).name.removesuffix("-junit.xml")
        for case in ET.parse(report).getroot().iter("testcase"):
            status = {"run": "passed", "notrun": "skipped"}.get(case.get("status"), "failed")
            skipped = case.find("skipped")
            if status == "skipped" and skipped is not None \
                    and "SKIP_RETURN_CODE" not in (skipped.get("message") or ""):
                status = "failed"  # not built, or its fixture broke: nobody asked for that
            counts[status] += 1
            if status != "passed":
                print(f"{status:8} {preset}: {case.get('name')}")
                if status == "skipped":
                    output = case.findtext("system-out") or ""
                    lines = [s for s in output.splitlines() if "SKIPPED" in s]
                    print("".join(f"         {line}\n" for line in lines[:2]), end="")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


main()
