"""What a reader without threads may not need."""
import subprocess

UNWANTED = ("pthread_", "thrd_", "mmap", "munmap", "madvise", "getrandom", "fork", "vfork", "execv",
            "posix_spawn", "dlopen")


def unwanted(objects):
    """Lines of nm on what they need and may not."""
    said = subprocess.run(["nm", "-A", "-u", "-P", *objects], check=True, capture_output=True,
                          text=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return [f"{row[0]} needs {row[1]}" for row in rows
            if len(row) > 1 and row[1].split("@")[0].removesuffix("64").startswith(UNWANTED)]
