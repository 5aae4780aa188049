#!/usr/bin/env bash
# The Debian packages: built in two folders they have the same bytes; in a clean system they install
# with their dependencies, and the test of debian/tests passes there as an ordinary user.
set -euo pipefail

skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "a clean system is made by root only"
for tool in dpkg-buildpackage mmdebstrap mandoc dh; do
    command -v "$tool" >/dev/null || skip "$tool is missing (apt-get)"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in one another/place; do
    mkdir -p "$work/$folder"
    git clone -q "${TTAPE_SRC:?}" "$work/$folder/source"
    (cd "$work/$folder/source" && scripts/package --build | tee "$work/sums.${folder%%/*}")
done
cmp "$work/sums.one" "$work/sums.another"

system=$work/system
mapfile -t packages < <(find "$work/one/source/build/package" -name '*.deb' ! -name '*dbgsym*')
mmdebstrap --quiet --variant=apt --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount \
    "${packages[@]/#/--include=}" --include=gcc,libc6-dev,pkgconf bookworm "$system" \
    >"$work/system.log" 2>&1 || {
    tail -n 5 "$work/system.log"
    grep -qiE 'failed to fetch|could not resolve' "$work/system.log" && skip "no network"
    exit 1
}
mount --bind /proc "$system/proc"
trap 'umount "$system/proc"; rm -rf "$work"' EXIT
cp "${TTAPE_SRC:?}/debian/tests/record" "$system/record"
chroot "$system" sh -c 'mkdir -m 777 /tmp/tried; useradd -m someone; chmod 755 /record
    AUTOPKGTEST_TMP=/tmp/tried setpriv --reuid someone --regid someone --clear-groups /record'
if [ -e /usr/local/src/zstd/lib/decompress/zstd_decompress.c ]; then # it was put in
    [ -s "$system/tmp/tried/sort.html" ]
    dpkg-deb -f "$work"/one/source/build/package/tracetape_*.deb Description |
        grep -q 'one HTML file'
fi
printf 'packages: installed, recorded and read in a clean system\n'
