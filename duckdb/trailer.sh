#!/bin/sh
# Makes an extension of a library: DuckDB looks for 534 bytes at the end of one, which say for which
# interface and platform it is, and have room for a signature.
#
#   trailer.sh LIBRARY EXTENSION PLATFORM VERSION
#
# Fields are of 32 bytes, the last first: three that are not used, the kind of interface, the
# extension's version, the interface's version, the platform, and the number 4; then 256 bytes of
# signature.
set -eu

field() {
    printf %s "$1"
    head -c "$((32 - ${#1}))" /dev/zero
}

{
    cat "$1"
    printf '\000\223\004\020duckdb_signature\200\004' # a section, as of WebAssembly
    field ''
    field ''
    field ''
    field C_STRUCT
    field "$4"
    field v1.2.0
    field "$3"
    field 4
    head -c 256 /dev/zero
} >"$2.part"
mv "$2.part" "$2"
