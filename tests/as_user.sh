#!/usr/bin/env bash
# as_user.sh RUNNER TEST...: a test, as an ordinary user without any of root's rights and with a
# folder of its own for temporary files, where the tests themselves run as root.
set -uo pipefail
: "${TTAPE_BIN:?}"

skip() {
    printf 'SKIPPED: %s\n' "$1"
    exit 77
}

[ "$(id -u)" -eq 0 ] || skip "all tests run as an ordinary user here"
command -v setpriv >/dev/null || skip "'setpriv' is not installed"
uid=$(id -u nobody) && gid=$(id -g nobody) || skip "there is no user 'nobody'"
user=(setpriv --reuid "$uid" --regid "$gid" --clear-groups --bounding-set=-all --inh-caps=-all)
"${user[@]}" "$TTAPE_BIN" --version >/dev/null 2>&1 ||
    skip "an ordinary user may not read '$TTAPE_BIN'"

runner=$1
shift
"${user[@]}" test -x "$runner" || # root's own: there may be another one
    runner=$(PATH=/usr/local/bin:/usr/bin:/bin command -v "${runner##*/}") ||
    skip "an ordinary user has no '$runner'"

home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
chown "$uid:$gid" "$home"
# plans of the system's libraries are made once for all of these tests, not in each
plans=${TTAPE_BUILD:?}/tests/plans-of-nobody
mkdir -p "$plans" && chown "$uid:$gid" "$plans" && chmod 700 "$plans" || exit 1
# shared memory of its own: no other test's recorder finds there what a killed one has left
apart=(unshare -m sh -c 'size=$(df -Pk /dev/shm | tail -n 1 | tr -s " " | cut -d " " -f 2) &&
    mount -t tmpfs -o "mode=1777,size=${size}k" none /dev/shm && exec "$@"' sh)
"${apart[@]}" true 2>/dev/null || apart=()
# who may not write where Python keeps what it compiled would compile all of it each time
${apart[@]+"${apart[@]}"} "${user[@]}" env -u PYTHONPYCACHEPREFIX PYTHONDONTWRITEBYTECODE=1 \
    HOME="$home" TMPDIR="$home" XDG_CACHE_HOME="$plans" PATH="/usr/local/bin:/usr/bin:/bin" \
    "$runner" "$@"
