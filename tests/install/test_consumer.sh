#!/usr/bin/env bash
# Installs the build to a temporary prefix, then builds and runs examples/consumer against it, by
# find_package and by pkg-config, for the shared library of this build and for a static one. The
# objects of both are the same: the static one takes them as they are, but for a long test.
set -euo pipefail
: "${TTAPE_SRC:?}" "${TTAPE_BUILD:?}"

skip() {
    printf 'SKIPPED: %s\n' "$1"
    exit 77
}

[ -z "${TTAPE_SANITIZE:-}" ] || skip "a sanitizer build is not for installing"
[ -n "$(find "$TTAPE_SRC/tools" -name '*.c' -print -quit)" ] || skip "tools/ has no sources yet"
header=$TTAPE_SRC/libtrace/include/tracetape/tracetape.h
[ -f "$header" ] || skip "'$header' is absent: nothing for a consumer to call"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check LABEL PROGRAM: it runs, and says the version that was installed
check() {
    local want got
    want=$(PKG_CONFIG_PATH=$pkgconfig pkg-config --modversion tracetape)
    got=$("$2")
    if ! grep -qF "libtracetape $want" <<<"$got" || ! grep -qxF "170 exit inner" <<<"$got"; then
        printf "FAILED: %s: said '%s', not version %s\n" "$1" "$got" "$want"
        exit 1
    fi
    printf 'ok: %s: %s\n' "$1" "$(head -n 1 <<<"$got")"
}

# consume LABEL BUILD [PKG_CONFIG_FLAG]: install BUILD, then build and run the consumer both ways
consume() {
    local label=$1 build=$2 flags=${3:-} prefix=$work/$1/prefix
    cmake --install "$build" --prefix "$prefix" >"$work/install.log"
    pkgconfig=$(dirname "$(find "$prefix" -name tracetape.pc)")
    local libdir
    libdir=$(dirname "$pkgconfig")

    cmake -S "$TTAPE_SRC/examples/consumer" -B "$work/$label/cmake" \
        -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log"
    cmake --build "$work/$label/cmake" >"$work/build.log"
    check "$label, find_package" "$work/$label/cmake/consumer"

    cp -r "$TTAPE_SRC/examples/consumer" "$work/$label/make"
    make -s -C "$work/$label/make" PKG_CONFIG_FLAGS="$flags" LDFLAGS="-Wl,-rpath,$libdir" \
        PKG_CONFIG="env PKG_CONFIG_PATH=$pkgconfig pkg-config"
    check "$label, pkg-config" "$work/$label/make/consumer"

    "$prefix/bin/tracetape" --version >/dev/null ||
        { printf 'FAILED: %s: the installed command does not run\n' "$label"; exit 1; }
    printf 'ok: %s: the installed command runs\n' "$label"
}

consume shared "$TTAPE_BUILD"

cmake -S "$TTAPE_SRC" -B "$work/static-build" -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=Debug \
    -G 'Unix Makefiles' >"$work/static-configure.log"
if [ "${TTAPE_THOROUGH:-0}" != 1 ]; then # newer than all they are made of: make leaves them alone
    (cd "$TTAPE_BUILD" && find . -path './tests' -prune -o -path './fuzz' -prune -o \
        \( -name '*.c.o' -o -path './engine/engine.wasm' -o -path './tools/page/*' \) \
        -exec cp --parents -t "$work/static-build" {} +)
fi
cmake --build "$work/static-build" >"$work/static-build.log" ||
    { tail -n 30 "$work/static-build.log"; exit 1; }
consume static "$work/static-build" --static
