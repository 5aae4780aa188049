"""Sizes: columns, levels, overhead, forked children, random data."""
import recordings
from measure import Row, geometric

CHILDREN_OF = "dash"


def size_row(bench, figure, setting, parts, against, bounds):
    """Geometric mean over the recordings of our `parts` over the baseline's `against`."""
    ratios, details, ours, theirs, events = [], [], 0, 0, 0
    for name in bench.names:
        base, (_, info) = bench.baseline(name), bench.million_info(name, setting)
        got = sum(info["bytes"][part] for part in parts)
        ratios.append(got / base[against])
        ours, theirs, events = ours + got, theirs + base[against], events + base["events"]
        details.append(f"{name}: {got} / {base[against]} = {ratios[-1]:.3f}")
    value = geometric(ratios)
    return Row(figure, f"{theirs / events:.4f} B/ev", f"{ours / events:.4f} B/ev", value, *bounds,
               details=details)


def other_sizes(bench):
    """The anchors beside us, as multiples of columns; ours counts every byte of the file."""
    details = []
    for name in bench.names:
        base, (_, info) = bench.baseline(name), bench.million_info(name, "default")
        shown = {"uftrace": base["uftrace"], "records zstd -3": base["zstd3"],
                 "records xz -9e": base["xz9e"], "tracetape, whole file": info["file_bytes"]}
        details.append(f"{name}: " + ", ".join(
            f"{label} {size / base['columns']:.2f}" for label, size in shown.items() if size))
    return details


def sizes(bench):
    yield size_row(bench, "order, default / columns' ids", "default", ["order"], "ids", (0.5, 0.4))
    row = size_row(bench, "order + exact time, default / columns", "default", ["order", "times"],
                   "columns", (0.84, 0.78))
    row.details += ["columns = 1:"] + other_sizes(bench)
    yield row
    yield size_row(bench, "order + exact time, level 9 / columns", "level9", ["order", "times"],
                   "columns", (0.80, 0.74))
    yield size_row(bench, "literal form, order / columns' ids", "literal", ["order"], "ids",
                   (3, 1.5))
    each = {}
    for name in bench.names:
        info = bench.million_info(name, "64ns")[1]
        each[name] = (info["bytes"]["order"] + info["bytes"]["times"]) / info["events"]
    value = geometric(each.values())
    yield Row("order + time at 64 ns, default, bytes/event", "-", f"{value:.4f} B/ev", value,
              0.13, 0.10, details=[f"{name}: {size:.4f}" for name, size in each.items()])


def overhead(bench):
    fixed, summaries, details = [], [], []
    for name in bench.names:
        for setting in ("default", "level9", "literal", "none"):
            info = bench.million_info(name, setting)[1]
            part = info["bytes"]
            fixed.append((part["other"] + part["sites"]) / (2048 + 40 * info["sites"]))
            if setting != "none":
                summaries.append(part["summaries"] / info["file_bytes"])
            if setting == "default":
                details.append(f"{name}: other {part['other']}, sites {part['sites']} "
                               f"({info['sites']} of them), summaries {part['summaries']} "
                               f"= {100 * summaries[-1]:.2f} %")
    yield Row("fixed bytes and sites, of 2 KiB + 40 per site", "-", f"{max(fixed):.3f} at most",
              max(fixed), 1, 1, details=details)
    yield Row("summaries, of a timed file", "-", f"{100 * max(summaries):.2f} % at most",
              max(summaries), 0.02, 0.02)


def children(bench):
    if CHILDREN_OF not in bench.names or bench.fallback:
        print(f"SKIPPED: no recording '{CHILDREN_OF}' with its forked children")
        return
    source = bench.recording(CHILDREN_OF)
    target = bench.data / "children" / CHILDREN_OF
    others = recordings.without_largest(source, target)
    numbers, column = {}, bytearray()
    for tid in others:
        _, seconds = recordings.words(recordings.records(target, tid))
        column += recordings.ids(seconds, numbers).tobytes()
    packed = bench.packed_bytes(bytes(column), ["xz", "-9e"])
    out = bench.work / "children.ttape"
    bench.convert(target, out)
    info = bench.info(out)
    value = info["bytes"]["order"] / len(others)
    yield Row(f"{len(others)} forked children, order, bytes/child",
              f"{packed / len(others):.1f} (xz of all)", f"{value:.2f}", value, 12, 6,
              details=[f"{info['events']} events, {info['partitions']} partitions, "
                       f"bytes {info['bytes']}"])


def noise(bench):
    events = 200_000 if bench.quick else recordings.MILLION
    worst, details = 0, []
    for balanced, functions in ((True, 256), (True, 60000), (False, 256), (False, 60000)):
        label = f"{'calls' if balanced else 'wild'} of {functions}"
        source = bench.work / "noise"
        recordings.write(source, recordings.uniform_events(events, functions, 7, balanced),
                         functions)
        for setting, options in (("default", []), ("level 9", ["--level", "9"]),
                                 ("level 0", ["--level", "0"]), ("none", ["--resolution", "none"])):
            out = bench.work / "noise.ttape"
            bench.convert(source, out, *options)
            info = bench.info(out)
            bytes_ = info["bytes"]
            raw = events * recordings.RECORD_BYTES
            size = bytes_["order"] + bytes_["times"]
            worst = max(worst, info["file_bytes"] / raw)
            details.append(f"{label}, {setting}: order + times {size / events:.3f} B/ev, sites "
                           f"{bytes_['sites']}, summaries {bytes_['summaries']}, "
                           f"file / records {info['file_bytes'] / raw:.3f}")
    yield Row("uniform random ids, whole file / raw records", "1.000", f"{worst:.3f} at most",
              worst, 1.01, 1.01, details=details)
