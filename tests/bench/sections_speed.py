"""Speeds, each against zstd on the same events in the same run: converting, decoding, codecs."""
import json
import os

import recordings
from measure import MILLION, Row, geometric, median


def rate(events, seconds):
    return events / max(seconds, 1e-6) / 1e6


def medians(results, key):
    return {name: median([r[key] for r in runs]) for name, runs in results.items()}


def ratio_row(figure, label, measured, bounds):
    """measured: {recording: (events, {"ours", "others"} medians of cpu, and of wall)}."""
    ratios, ours, others, details = [], [], [], []
    for name, (events, cpu, wall) in measured.items():
        ratios.append(cpu["others"] / cpu["ours"])
        ours.append(rate(events, cpu["ours"]))
        others.append(rate(events, cpu["others"]))
        details.append(
            f"{name}: {events} events, {ours[-1]:.1f} against {others[-1]:.1f} M events/s of "
            f"user + system time: {ratios[-1]:.2f}; wall {wall['ours']:.3f} against "
            f"{wall['others']:.3f} s: {wall['others'] / wall['ours']:.2f}")
    return Row(figure, f"{geometric(others):.1f} M ev/s ({label})", f"{geometric(ours):.1f} M ev/s",
               geometric(ratios), *bounds, higher=True, details=details)


def convert_at(bench, options, label, bounds):
    """Whole tasks, one core, both as processes that read a file and write one."""
    measured = {}
    for name in bench.names:
        source, tid = bench.whole_task(name)
        dat = source / f"{tid}.dat"
        out, packed = bench.work / "speed.ttape", bench.work / "speed.zst"
        results = bench.interleave({
            "ours": lambda s=source, o=out: bench.convert(s, o, *options, cpu=bench.cpu),
            "others": lambda d=dat, p=packed: bench.run(
                ["zstd", "-3", "-q", "-f", d, "-o", p], cpu=bench.cpu)}, bench.repeats)
        events = dat.stat().st_size // recordings.RECORD_BYTES
        measured[name] = events, medians(results, "cpu"), medians(results, "wall")
    return ratio_row(f"convert, exact, {label}, one core / zstd -3", "zstd -3", measured, bounds)


def convert(bench):
    yield convert_at(bench, [], "default", (1.8, 2.5))
    yield convert_at(bench, ["--level", "1"], "level 1", (2.5, 5))


LEVELS = ((0, 0, 0, 0, 0), (1, 2.5, 5, 1, 3), (3, 1.8, 2.5, 0.8, 1.5), (9, 0, 0, 0, 0))
# level, then floor and aim of converting and of decoding


def level_bytes(bench, level):
    """The whole file beside the default's, each of a whole task's records."""
    ratios, details = [], []
    out = bench.work / "level.ttape"
    for name in bench.names:
        source, tid = bench.whole_task(name)
        sizes = {}
        for n in (level, 3):
            bench.convert(source, out, "--level", str(n))
            sizes[n] = out.stat().st_size
        records = (source / f"{tid}.dat").stat().st_size
        ratios.append(sizes[level] / sizes[3])
        details.append(f"{name}: {sizes[level]} bytes of {sizes[3]}, {records} of records")
    floor, aim = {1: (2.2, 1.5), 3: (1, 1)}.get(level, (0, 0))
    return Row(f"level {level}: bytes / the default's", "-", f"{geometric(ratios):.3f}",
               geometric(ratios), floor, aim, details=details)


def literal_time(bench):
    """Level 0 beside level 3, in turn."""
    ratios, details = [], []
    out = bench.work / "level.ttape"
    for name in bench.names:
        source, _ = bench.whole_task(name)
        results = medians(bench.interleave({
            level: lambda n=level, s=source: bench.convert(s, out, "--level", n, cpu=bench.cpu)
            for level in ("0", "3")}, bench.repeats), "cpu")
        ratios.append(results["0"] / results["3"])
        details.append(f"{name}: {results['0']:.3f} s against {results['3']:.3f} s: "
                       f"{ratios[-1]:.2f}")
    return Row("level 0: convert, time / level 3's", "-", f"{geometric(ratios):.2f}",
               geometric(ratios), 1, 0.7, details=details)


def levels(bench):
    """What each level takes: bytes beside the default's, both ways beside zstd's."""
    for level, convert_floor, convert_aim, decode_floor, decode_aim in LEVELS:
        yield level_bytes(bench, level)
        options = ["--level", str(level)]
        yield convert_at(bench, options, f"level {level}", (convert_floor, convert_aim))
        yield read_at(bench, "decode_all", options, f"decode all events, level {level}",
                      (decode_floor, decode_aim))
    yield literal_time(bench)


def xz_rate(bench):
    """M events/s of xz -9e of the columns, once, on one recording: it takes its time."""
    if bench.quick:
        return "0.075 M ev/s (xz, cited)"
    source, tid = bench.first_million(bench.names[0])
    columns = recordings.columns(recordings.records(source, tid))
    place, spent = bench.work / "column", 0
    for column in columns:
        place.write_bytes(column)
        spent += bench.run(["xz", "-9e", "-c", place], cpu=bench.cpu)["cpu"]
    return f"{rate(len(columns[0]) // 4, spent):.3f} M ev/s (xz -9e)"


def level9(bench):
    seconds = {}
    for _ in range(1 if bench.quick else 3):
        for name in bench.names:
            source, _ = bench.first_million(name)
            run = bench.convert(source, bench.work / "level9.ttape", "--level", "9", cpu=bench.cpu)
            seconds.setdefault(name, []).append(run["cpu"])
    rates = {name: rate(bench.baseline(name)["events"], median(s)) for name, s in seconds.items()}
    value = geometric(rates.values())
    yield Row("convert, level 9, one core, M events/s", xz_rate(bench), f"{value:.2f} M ev/s",
              value, 1, 1, higher=True,
              details=[f"{name}: {r:.2f} M events/s" for name, r in rates.items()])


def read_at(bench, program, options, figure, bounds):
    """What a program makes of whole tasks, beside zstd -d of the records."""
    measured = {}
    for name in bench.names:
        source, tid = bench.whole_task(name)
        dat = source / f"{tid}.dat"
        out, packed = bench.work / "decode.ttape", bench.work / "decode.zst"
        bench.convert(source, out, *options)
        bench.call(["zstd", "-3", "-q", "-f", dat, "-o", packed])
        results = bench.interleave({
            "ours": lambda o=out: bench.run([bench.programs / program, o], cpu=bench.cpu,
                                            output=bench.work / "decoded"),
            "others": lambda p=packed: bench.run(["zstd", "-d", "-q", "-c", p], cpu=bench.cpu)},
            bench.repeats)
        events = dat.stat().st_size // recordings.RECORD_BYTES
        said = int((bench.work / "decoded").read_text(encoding="ascii").split()[0])
        if program == "decode_all" and said != events:
            print(f"  {name}: decoded {said} events of {events}")
        measured[name] = events, medians(results, "cpu"), medians(results, "wall")
    os.unlink(bench.work / "decode.zst")
    return ratio_row(f"{figure}, one core / zstd -d", "zstd -d", measured, bounds)


def decode(bench):
    yield read_at(bench, "decode_all", [], "decode all events, default", (0.8, 1.5))
    yield read_at(bench, "decode_all", ["--level", "1"], "decode all events, level 1", (1, 3))
    yield read_at(bench, "calls_by_caller", [], "calls by caller, default", (3, 10))
    yield read_at(bench, "calls_by_caller", ["--level", "1"], "calls by caller, level 1", (0, 0))


STEPS = (  # step, figure, floor, aim
    ("order_encode", "order-only encode in memory, M events/s", 40, 100),
    ("order_decode", "order-only decode in memory, M events/s", None, None),
    ("times_encode", "times (static) encode in memory, M events/s", None, None),
    ("times_decode", "times (static) decode in memory, M events/s", None, None),
    ("times_mixed_encode", "times (mix) encode in memory, M events/s", None, None),
    ("times_mixed_decode", "times (mix) decode in memory, M events/s", None, None),
)


def codecs(bench):
    """The codecs alone, on prepared codes, in one process; all steps interleaved."""
    found = {}
    for name in bench.names:
        path, _ = bench.million_info(name, "default")
        said = bench.call(["taskset", "-c", bench.cpu, bench.programs / "encode_order", path,
                           MILLION, 3 if bench.quick else 5])
        found[name] = json.loads(said)
    for step, figure, floor, aim in STEPS:
        rates = {name: rate(f["events"], median(f[step]["seconds"])) for name, f in found.items()}
        value = geometric(rates.values())
        details = [f"{name}: {rates[name]:.1f} M events/s, {found[name][step]['bytes']} bytes"
                   for name in rates]
        yield Row(figure, "-", f"{value:.1f} M ev/s", value, floor or 0, aim or 0, higher=True,
                  details=details)
