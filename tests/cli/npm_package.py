"""Packages of npm that read what we write, each of one version and with these bytes: they are
fetched once, unpacked in the build, and none of their scripts runs."""
import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGES = {
    "@firefox-devtools/profiler-cli": (
        "0.10.0", "f9fqdHh7B6ddQIYrwrEs4FE5D8BMOsXSorYF4NRFfwPa"
        "GikVBlhorBxHT7zrb6WMgJgKQYHC9kazkRjbItLx8Q=="),
    "speedscope": ("1.25.0", "cpf9HWTZf1ijLXBJrk87Ve/54tnYx6rlf0gUThvn3ook"
                   "6h63hLXVOQiMf44PT+XoV503cPfvfiT5gP5vojp6Ag=="),
    "apache-arrow": ("21.2.0", "Hxe6Agq26gQOM954qpzYSllJBPJl+e16U5CkfuMUhLrN"
                     "ba+5nKkttIVlflaovN6oaTratqMGAO8H5u/aNhmHWQ=="),
    "flatbuffers": ("25.9.23", "MI1qs7Lo4Syw0EOzUl0xjs2lsoeqFku44KpngfIduHBY"
                    "vzm8h2+7K8YMQh1JtVVVrUvhLpNwqVi4DERegUJhPQ=="),
    "tslib": ("2.9.1", "a4Ux9VKuIMHsOS7ENbEq6hK2ZGYIT27Rtl0E4eD9KqwxhKiQ"
              "eMZE/9xb3IdYwWaSOyIBQLExhQgXDTYoiCxnWA=="),
    "json-with-bigint": ("3.5.12", "uwbF/wSSuOgC7qqlq27Xp5B6a2MHVug3t0idZdTqu0Jn"
                         "lFvgJuH7ju+KAk/J06C7GfhoYy2gnb9wz2INqcne7w=="),
    "hyparquet": ("1.33.0", "8EKLe73vRIMEKVEOe5y+kIzFxo6AvbLvd5ukd7P+yv3R"
                  "vG0+TZM4qO8imbqxU6zds5pV+OeWRTMwy95mhHUheg=="),
    "fzstd": ("0.1.1", "dkuVSOKKwh3eas5VkJy1AW1vFpet8TA/fGmVA5krThl8"
              "YcOVE/8ZIoEA1+U1vEn5ckxxhLirSdY837azmbaNHA=="),
    "pprof-format": ("2.3.2", "fcMM+sgKMOveSurz7i0BMHfy1hHNnI9+VWjd4kdclqQj"
                     "STuiHWaP69DGwvkw3zcLkM/F76LhVIKvPyrxmp6iiw=="),
}


# Without a network it says so in seconds.
SOON = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000")


class Absent(Exception):
    """npm does not give a package."""


def unpack(name, folder):
    """Fetches a package, and unpacks it there."""
    version, wanted = PACKAGES[name]
    try:
        done = subprocess.run(["npm", "pack", "--silent", *SOON, f"{name}@{version}"], check=False,
                              cwd=folder, capture_output=True, text=True, timeout=200)
    except subprocess.TimeoutExpired as why:
        raise Absent(f"npm does not give {name}: it hangs") from why
    if done.returncode != 0:
        raise Absent(f"npm does not give {name}: {done.stderr[-200:]}")
    archive = folder / f"{plain_name(name)}.tgz"
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    assert found == wanted, f"{archive} has other bytes: {found}"
    with tarfile.open(archive) as packed:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian 12: no
        packed.extractall(folder, **safely)


def plain_name(name):
    return f"{name.strip('@').replace('/', '-')}-{PACKAGES[name][0]}"


def find(name):
    """The folder of a package; all of it is there, as tests beside this one look for it, too."""
    folder = Path(os.environ["TTAPE_BUILD"]) / "npm" / plain_name(name)
    if not list(folder.glob("*/package.json")):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            own = Path(place, "whole")
            own.mkdir()
            unpack(name, own)
            try:
                own.rename(folder)
            except OSError:
                assert list(folder.glob("*/package.json")), f"{folder} cannot be replaced"
    return folder / next(folder.glob("*/package.json")).parent.name


def fetch(name):
    """The same; ends the test as skipped where it cannot be had."""
    try:
        return find(name)
    except Absent as why:
        print(f"SKIPPED: {why}")
        sys.exit(77)


def link(*names):
    """So that packages find each other."""
    modules = Path(os.environ["TTAPE_BUILD"]) / "npm" / "node_modules"
    modules.mkdir(parents=True, exist_ok=True)
    for name in names:
        folder = fetch(name)
        try:
            (modules / name).symlink_to(folder)
        except FileExistsError:
            pass
