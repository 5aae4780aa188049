#!/usr/bin/env python3
"""The tools that exports are for read them, and say the same as report: Firefox Profiler's own
loader (profiler-cli, whose daemon is stopped), pprof-format, Arrow for JavaScript, speedscope's
schema by ajv."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import npm_package

TOOL, SOURCE = os.environ["TTAPE_BIN"], Path(os.environ["TTAPE_SRC"])
NODE = shutil.which("node")
READ_PPROF = """
const { Profile } = require(process.argv[1]);
const profile = Profile.decode(require('fs').readFileSync(process.argv[2]));
const text = i => profile.stringTable.strings[Number(i)];
const name = new Map(profile.function.map(f => [Number(f.id), text(f.name)]));
const place = new Map(profile.location.map(
    l => [Number(l.id), name.get(Number(l.line[0].functionId))]));
const sums = {};
for (const sample of profile.sample) {
    const leaf = place.get(Number(sample.locationId[0]));
    sums[leaf] = String(BigInt(sums[leaf] || 0) + BigInt(sample.value[0]));
}
console.log(JSON.stringify(sums));
"""
READ_ARROW = """
const { tableFromIPC } = require(process.argv[1]);
const table = tableFromIPC(require('fs').readFileSync(process.argv[2]));
const names = table.getChild('name'), own = table.getChild('self_ns'), sums = {};
for (let i = 0; i < table.numRows; i++)
    sums[names.get(i)] = String(BigInt(sums[names.get(i)] || 0) + own.get(i));
console.log(JSON.stringify(sums));
"""


def run(*words, data=None):
    done = subprocess.run([*map(str, words)], check=False, capture_output=True, input=data)
    assert done.returncode == 0, (words, done.stderr.decode()[-500:], done.stdout.decode()[-500:])
    return done.stdout


def make(folder, rounds):
    lines = ["process 7 prog", "thread 7 7 main", "thread 7 8 worker"]
    at = 1000
    for i in range(rounds):
        for tid in (7, 8):
            at += 13 + i % 5
            lines += [f"{at} {tid} enter f{i % 4}", f"{at + 1 + i % 3} {tid} enter leaf",
                      f"{at + 4 + i % 7} {tid} exit", f"{at + 12} {tid} exit"]
    trace = folder / "in.ttape"
    run(TOOL, "convert", "-", "-o", trace, data="\n".join(lines).encode())
    return trace


def own_times(trace, *options):
    rows = json.loads(run(TOOL, "report", "--json", *options, trace))["rows"]
    return Counter({row["name"]: row["self_ns"] for row in rows if row["self_ns"]})


def load(cli, profile):
    """Its daemon has half a second to begin, too little on a busy machine: then it is ended, and
    begins again."""
    for _ in range(50):
        done = subprocess.run([NODE, cli, "load", profile], check=False, capture_output=True,
                              text=True)
        if done.returncode == 0:
            return
        late = re.search(r"still be running as pid (\d+)", done.stderr)
        assert late, done.stderr
        os.kill(int(late[1]), signal.SIGKILL)
    raise AssertionError("profiler-cli's daemon never begins in time")


def check_firefox(folder, trace):
    cli = npm_package.fetch("@firefox-devtools/profiler-cli") / "dist/profiler-cli.js"
    run(TOOL, "export", "--format", "firefox", trace, "-o", folder / "profile.json")
    os.environ["PROFILER_CLI_SESSION_DIR"] = str(folder / "s")
    load(cli, folder / "profile.json")
    try:
        for thread, tid in (("t-0", 7), ("t-1", 8)):
            said = json.loads(run(NODE, cli, "thread", "functions", "--json", "--thread", thread))
            found = Counter({row["name"]: round(row["selfSamples"] * 1e6)
                             for row in said["functions"] if row["selfSamples"]})
            wanted = own_times(trace, "--thread", tid)
            assert said["weightType"] == "tracing-ms" and found == wanted, (found, wanted)
    finally:
        run(NODE, cli, "stop", "--all")


def check_pprof(folder, trace):
    reader = npm_package.fetch("pprof-format") / "dist/commonjs/index.js"
    run(TOOL, "export", "--format", "pprof", trace, "-o", folder / "profile.pb")
    found = json.loads(run(NODE, "-e", READ_PPROF, reader, folder / "profile.pb"))
    assert {name: int(value) for name, value in found.items()} == own_times(trace), found


def check_arrow(folder, trace):
    npm_package.link("flatbuffers", "tslib", "json-with-bigint")
    reader = npm_package.fetch("apache-arrow") / "Arrow.node.js"
    run(TOOL, "export", "--format", "arrow", trace, "-o", folder / "calls.arrows")
    found = json.loads(run(NODE, "-e", READ_ARROW, reader, folder / "calls.arrows"))
    assert {name: int(value) for name, value in found.items()} == own_times(trace), found


def check_speedscope(folder, traces):
    schemas = npm_package.fetch("speedscope") / "dist/release"
    os.environ["NODE_PATH"] = "/usr/share/nodejs"
    lines = []
    for trace in traces:
        done = subprocess.run([TOOL, "export", "--format", "speedscope", trace], check=False,
                              capture_output=True)
        if done.returncode in (0, 3):
            lines.append(json.dumps({"schema": "file-format-schema.json", "what": str(trace),
                                     "value": json.loads(done.stdout)}))
    assert len(lines) > 10
    done = subprocess.run([NODE, SOURCE / "tests/cli/check_schemas.js", schemas], check=False,
                          input="\n".join(lines), text=True, capture_output=True)
    print(done.stdout, done.stderr[-300:])
    return done.returncode


def main():
    if NODE is None or shutil.which("npm") is None:
        print("SKIPPED: node and npm are missing")
        return 77
    with tempfile.TemporaryDirectory(prefix="ttape-npm.") as name:
        folder = Path(name)
        trace = make(folder, 20000)
        check_firefox(folder, trace)
        check_pprof(folder, trace)
        check_arrow(folder, trace)
        vectors = sorted((SOURCE / "spec/vectors").glob("*.ttape"))
        return check_speedscope(folder, [trace, *vectors])


sys.exit(main())
