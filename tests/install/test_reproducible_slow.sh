#!/usr/bin/env bash
# Builds the same sources in two folders, shared and static, as a user does: everything that is
# installed has the same bytes.
set -euo pipefail
: "${TTAPE_SRC:?}" "${TTAPE_CC:?}"

if [ -n "${TTAPE_SANITIZE:-}" ]; then
    echo "SKIPPED: a sanitizer build is not for installing"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FOLDER SHARED: configures, builds and installs a copy of the sources that lies in FOLDER
build() {
    local source=$work/$1/source build=$work/$1/build-$2
    if [ ! -d "$source" ]; then
        mkdir -p "$source"
        (cd "$TTAPE_SRC" && cp -r CMakeLists.txt cmake base format writer reader answers recorder \
            libtrace program tools man "$source")
    fi
    cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER="$TTAPE_CC" -DBUILD_SHARED_LIBS="$2" \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$work/log"
    cmake --build "$build" --parallel "$(nproc)" >"$work/log" || { tail -n 30 "$work/log"; exit 1; }
    cmake --install "$build" --prefix "$work/$1/installed-$2" >"$work/log"
}

for shared in ON OFF; do
    build one "$shared"
    build another/and-deeper "$shared"
    if ! diff -r "$work/one/installed-$shared" "$work/another/and-deeper/installed-$shared"; then
        printf 'FAILED: two folders, other bytes (shared: %s)\n' "$shared"
        exit 1
    fi
    count=$(find "$work/one/installed-$shared" -type f | wc -l)
    [ "$count" -gt 20 ] || { printf 'FAILED: only %s files\n' "$count"; exit 1; }
    printf 'ok: %s files with the same bytes (shared: %s)\n' "$count" "$shared"
done
