#!/usr/bin/env python3
"""Types gate: the view's page as TypeScript's own compiler reads it. esbuild, which bundles the
page, checks no types."""
import shutil
import subprocess
import sys

import tidy

STRICT = ("--noEmit", "--strict", "--noUnusedLocals", "--noUnusedParameters", "--noImplicitReturns",
          "--noFallthroughCasesInSwitch", "--pretty", "false", "--target", "es2022", "--lib",
          "es2022,dom,dom.iterable", "--module", "es2022", "--moduleResolution", "node",
          "--typeRoots", "tools/view/page")


def main():
    if shutil.which("tsc") is None:
        print("SKIPPED: tsc is missing: no types of the page were checked "
              "(scripts/setup installs node-typescript)")
        sys.exit(77)
    sources = tidy.files(".ts", under=["tools"])
    if tidy.IN_HASTE and not tidy.recent(sources):
        print("page types: ok, none of the sources changed lately")
        return
    done = subprocess.run(["tsc", *STRICT, *map(str, sources)], cwd=tidy.ROOT, capture_output=True,
                          text=True, check=False)
    print(done.stdout[:4000] + done.stderr[:1000], end="")
    print(f"page types: {'FAILED' if done.returncode else 'ok'}, {len(sources)} sources")
    sys.exit(bool(done.returncode) or not sources)


main()
