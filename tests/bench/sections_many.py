"""Many files: reports of traces and of rollups, what a worker ships, decoding shared by workers,
what each different function takes."""
import json
import shutil

import recordings
from measure import MILLION, Row, median

FILES, EVENTS = 7, 1001 * MILLION
HOSTS, FUNCTIONS, BUILDS = 10_000, 2000, 8
TURNS = 3
OF_TRACE = 64  # bytes of each
DIFFERENT = 20_000, 60_000


def make_traces(bench, events):
    """Files of a recording each, so that each is another trace."""
    folder = bench.work / "many"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number, name in enumerate((bench.names * FILES)[:FILES]):
        source = bench.million_info(name, "default")[0]
        more = ["-t", 1 + number // len(bench.names)]
        bench.run([bench.programs / "make_big", *more, folder / f"{number}.ttape",
                   events // FILES, 2, source])
    return folder


def measured(runs):
    return (median([r["wall"] for r in runs]), median([r["cpu"] for r in runs]),
            max(r["max_rss_kib"] for r in runs) / 1024)


def report_row(bench, folder, events):
    runs = [bench.run([bench.command, "report", "--jobs", 1, folder]) for _ in range(5)]
    wall, cpu, peak = measured(runs)
    yield Row(f"report of {FILES} files, {events / 1e9:.2f} G events, ms", "-",
              f"{cpu * 1000:.0f} ms", cpu * 1000, 300, 50,
              details=[f"user + system; wall {wall * 1000:.0f} ms"])
    yield Row("... peak memory, MiB", "-", f"{peak:.0f} MiB", peak, 128, 64)


def shipped_rows(bench, folder):
    """Bytes of a rollup without names, by function and trace."""
    for options, most in (((), 64), (("--histogram",), 128)):
        path = bench.work / "shipped.rollup"
        bench.run([bench.command, "report", folder, *options, "--rollup", path, "--force"])
        info = json.loads(bench.call([bench.command, "info", "--json", path]))
        rows = json.loads(bench.call([bench.command, "report", "--json", "--across", "none",
                                      *options, path]))["rows"]
        names = {row[key] for row in rows for key in ("name", "module", "file", "build_id")}
        names = sum(len(name) for name in names - {None})
        names += sum(len(t["name"] + t["host"]) for t in info["traces"])
        own = path.stat().st_size - names - OF_TRACE * len(info["traces"])
        value = own / info["functions"]
        what = " ".join(options) or "without histograms"
        yield Row(f"bytes that a worker ships, a function, {what}", "-", f"{value:.1f}", value,
                  most, most / 2,
                  details=[f"{path.stat().st_size} bytes, {info['functions']} functions, "
                           f"{names} of names"])


def make_rollups(bench, count, functions, builds):
    folder = bench.work / "hosts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    bench.run([bench.programs / "make_rollups", folder, count, functions, builds])
    return folder


def hosts_rows(bench):
    count = HOSTS // 10 if bench.quick else HOSTS
    folder = make_rollups(bench, count, FUNCTIONS, BUILDS)
    runs = [bench.run([bench.command, "report", "--limit", 20, folder]) for _ in range(3)]
    wall, cpu, peak = measured(runs)
    value = cpu * HOSTS / count
    yield Row(f"report of {count} rollups of {FUNCTIONS} functions, {BUILDS} builds, s", "-",
              f"{value:.2f} s", value, 2, 1, details=[f"user + system; wall {wall:.2f} s"])
    yield Row("... peak memory, MiB", "-", f"{peak:.0f} MiB", peak, 256, 64)
    one = (folder / "host00000.rollup").stat().st_size / 1e3
    yield Row("... bytes of one, kB", "-", f"{one:.0f} kB", one, 150, 75)
    path = bench.work / "shipped.rollup"
    bench.run([bench.command, "report", folder, "--rollup", path, "--force"])
    whole = path.stat().st_size / 1e6
    yield Row("... bytes of all as one, MB", "-", f"{whole:.2f} MB", whole, 4, 2)
    shutil.rmtree(folder)


def different_rows(bench):
    """Memory by how many functions there are, from the difference of two numbers of them."""
    for what, options in (("added up", ["--rollup", bench.work / "shipped.rollup", "--force"]),
                          ("in a report", [])):
        peaks = []
        for functions in DIFFERENT:
            folder = make_rollups(bench, 2, functions, 1)
            run = bench.run([bench.command, "report", "--limit", 1, folder, *options])
            peaks.append(run["max_rss_kib"])
        value = (peaks[1] - peaks[0]) / (DIFFERENT[1] - DIFFERENT[0])
        yield Row(f"memory of a different function {what}, KiB", "-", f"{value:.1f} KiB", value,
                  4, 2)
    shutil.rmtree(folder)


def decoding_rows(bench, folder, events):
    """p99 by function: the processor time of all workers to the end of their shares. The least of
    some turns: one run alone differs from the next by more than workers do, by what else runs."""
    cpus = {}
    for workers in (1, 2, 4) * TURNS:
        out = bench.work / "workers.json"
        bench.run([bench.programs / "many_measured", out, workers, *sorted(folder.glob("*.ttape"))])
        cpu = json.loads(out.read_text(encoding="ascii"))["cpu_s"]
        cpus[workers] = min(cpu, cpus.get(workers, cpu))
    apart = max(cpus.values()) / min(cpus.values()) - 1
    scale = 1e9 / events
    yield Row("p99 by function of 10^9 events, CPU s", "-", f"{cpus[1] * scale:.1f} s",
              max(cpus.values()) * scale, 40, 20,
              details=[f"{workers} workers: {cpu:.1f} s" for workers, cpu in cpus.items()])
    yield Row("... 1, 2 and 4 workers apart", "-", f"{100 * apart:.1f} %", apart, 0.05, 0.02)


def many(bench):
    events = EVENTS // 10 if bench.quick else EVENTS
    folder = make_traces(bench, events)
    yield from report_row(bench, folder, events)
    yield from shipped_rows(bench, folder)
    yield from decoding_rows(bench, folder, events)
    shutil.rmtree(folder)
    yield from hosts_rows(bench)
    yield from different_rows(bench)
