#!/usr/bin/env bash
# The Debian packages: built in two folders they have the same bytes; in a clean system they install
# with their dependencies, and the test of debian/tests passes there as an ordinary user.
set -euo pipefail

skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "a clean system is made by root only"
for tool in dpkg-buildpackage mmdebstrap mandoc dh; do
    command -v "$tool" >/dev/null || skip "$tool is missing: scripts/package installs it, or apt-get"
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
mmdebstrap --quiet --variant=apt bookworm "$system" ||
    skip "no clean system could be made (no network?)"
mkdir "$system/packages"
cp "$work"/one/source/build/package/*.deb "$system/packages"
rm "$system"/packages/*dbgsym*
mount --bind /proc "$system/proc"
trap 'umount "$system/proc"; rm -rf "$work"' EXIT
chroot "$system" sh -c 'apt-get -qq install -y --no-install-recommends /packages/*.deb gcc \
    libc6-dev pkgconf >/tmp/apt.log 2>&1 || { tail -n 5 /tmp/apt.log; exit 1; }'
cp "${TTAPE_SRC:?}/debian/tests/record" "$system/record"
chroot "$system" sh -c 'mkdir -m 777 /tmp/work; useradd -m someone; chmod 755 /record
    AUTOPKGTEST_TMP=/tmp/work setpriv --reuid someone --regid someone --clear-groups /record'
printf 'packages: installed, recorded and read in a clean system\n'
