#!/usr/bin/env bash
# The archive for other Linux: built in two folders it has the same bytes; unpacked in systems of
# Debian 11 and 13 it records, reads and serves the view there as an ordinary user. glibc 2.28
# itself, the oldest that it is for, is not to be had here: scripts/archive reads the versions.
set -euo pipefail

skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "other systems are made by root only"
for tool in mmdebstrap esbuild; do
    command -v "$tool" >/dev/null || skip "$tool is missing (apt-get)"
done

work=$(mktemp -d)
mounted=()
trap 'for place in "${mounted[@]}"; do umount "$place"; done; rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
one=$work/one another=$work/another/place/source
mkdir -p "$work/another/place"
git clone -q "${TTAPE_SRC:?}" "$one"
git clone -q "$TTAPE_SRC" "$another"
(cd "$one" && scripts/archive)
mkdir -p "$another/build"
cp -a "$one/build/archive" "$another/build/archive"
rm -rf "$another/build/archive/page"
(cd "$another" && scripts/archive --build)
archive=$(find "$one/build/archive" -maxdepth 1 -name '*x86_64.tar.xz')
cmp "$archive" "$another/build/archive/$(basename "$archive")"

build=$one/build/archive/system
cat >"$build/hooked.c" <<'END'
int twice(int n) { return 2 * n; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 7; i++)
        sum += twice(i);
    return sum == 42 ? 0 : 1;
}
END
chroot "$build" gcc -g -finstrument-functions /hooked.c -o /hooked

cat >"$work/try" <<'END'
set -eu
cd "$HOME"
command=$(echo /opt/tracetape-*/bin/tracetape)
"$command" record -q -f -o a.ttape -- /hooked
[ "$("$command" dump a.ttape | grep -c 'twice')" -ge 7 ]
"$command" syscalls -- cat /etc/passwd 2>counts >/dev/null
grep -q ' openat$' counts # new ones have their bytes copied without a read
"$command" export -f --format sqlite -o a.sqlite a.ttape
"$command" view --no-browser a.ttape >url &
server=$!
until [ -s url ]; do kill -0 "$server"; done
kill "$server"
grep -q 'http://127.0.0.1' url
"$command" record -f -o b.ttape -- ls / >/dev/null 2>said || true
[ -e b.ttape ] || grep -q 'glibc before' said
END
for release in bullseye trixie; do
    system=$work/$release
    mmdebstrap --quiet --variant=minbase "$release" "$system" \
        "deb ${TTAPE_DEBIAN_MIRROR:-http://deb.debian.org/debian} $release main"
    chmod 755 "$system"
    tar -C "$system/opt" -xf "$archive"
    cp "$build/hooked" "$work/try" "$system/"
    for place in proc dev; do
        mount --bind "/$place" "$system/$place"
        mounted+=("$system/$place")
    done
    chroot "$system" sh -c 'useradd -m someone
        HOME=/home/someone setpriv --reuid someone --regid someone --clear-groups bash /try'
    printf 'archive: recorded, read and served in a system of %s\n' "$release"
done
