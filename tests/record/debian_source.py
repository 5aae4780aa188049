"""Sources of Debian's packages for tests, fetched as the bench fetches them, with lists of their
own."""
import subprocess
import sys
from pathlib import Path

import setting

sys.path.insert(0, str(setting.SOURCE / "tests" / "bench"))
sys.dont_write_bytecode = True


class Place:
    """What fetching sources needs of a bench."""

    def __init__(self, work):
        self.work = work

    @staticmethod
    def call(command, **options):
        return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                              timeout=300, **options).stdout


def fetch(work, package, *tools):
    """The folder of the package's unpacked source; skips where it, or a tool, cannot be had."""
    import record_programs
    for tool in ("apt-get", "tar", *tools):
        setting.need_command(tool)
    try:
        return Path(record_programs.fetch(Place(work), package))
    except (record_programs.BenchError, OSError, subprocess.SubprocessError) as error:
        return setting.skip(f"the source of '{package}' cannot be had: {error}")
