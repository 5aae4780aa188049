"""Exporting, against uftrace on the same recordings in the same run, as MB of output a second."""
import os

from measure import Row, geometric, median

RECORDINGS = ("lua", "sqlite", "tcc", "redis")  # dash has 781 tasks: uftrace takes minutes
MEGABYTE = 1e6


def megabytes(bench, command):
    """Size of what a command writes to standard output."""
    place = bench.work / "export.out"
    bench.run(command, output=place)
    size = place.stat().st_size / MEGABYTE
    os.unlink(place)
    return size


def chrome(bench):
    """Chrome trace JSON to /dev/null: formatting, not the disk."""
    ratios, walls, ours, others, details = [], [], [], [], []
    for name in [n for n in bench.names if n in RECORDINGS] or bench.names:
        source, out = bench.recording(name), bench.work / "export.ttape"
        bench.convert(source, out)
        commands = {"ours": [bench.command, "export", "--to", "chrome", "--jobs", 1, out],
                    "others": ["uftrace", "dump", "--chrome", "-d", source]}
        sizes = {side: megabytes(bench, command) for side, command in commands.items()}
        plain = [word for word in commands["ours"] if word not in ("--jobs", 1)]
        results = bench.interleave(
            {**{side: lambda c=command: bench.run(c, cpu=bench.cpu)
                for side, command in commands.items()},
             "plain": lambda c=plain: bench.run(c)}, min(bench.repeats, 5))
        cpu = {side: median([r["cpu"] for r in runs]) for side, runs in results.items()}
        wall = {side: median([r["wall"] for r in runs]) for side, runs in results.items()}
        rate = {side: sizes[side] / max(cpu[side], 1e-6) for side in sizes}
        ratios.append(rate["ours"] / rate["others"])
        ours.append(rate["ours"])
        others.append(rate["others"])
        details.append(
            f"{name}: {sizes['ours']:.1f} MB at {rate['ours']:.0f} MB/s against "
            f"{sizes['others']:.1f} MB at {rate['others']:.0f} MB/s: {ratios[-1]:.2f}; wall "
            f"{wall['ours']:.3f} s, {wall['plain']:.3f} s on two cores, against "
            f"{wall['others']:.3f} s: {wall['others'] / wall['plain']:.2f} on two")
        walls.append(sizes["ours"] / wall["plain"] / (sizes["others"] / wall["others"]))
        os.unlink(out)
    yield Row("export to Chrome JSON, MB/s, one core", f"{geometric(others):.0f} MB/s (uftrace)",
              f"{geometric(ours):.0f} MB/s", geometric(ratios), 3, 10, higher=True,
              details=details)
    yield Row("export to Chrome JSON, MB/s, as it is run", "1", f"{geometric(walls):.1f}",
              geometric(walls), 3, 10, higher=True)
