#!/usr/bin/env bash
# What is installed names neither the folder of the sources nor that of the build: what would make
# its bytes differ from one folder to another (test_reproducible_slow builds in two and compares).
# Libraries are not looked for where the user stands: that is what an empty name in a path means.
set -euo pipefail
: "${TTAPE_SRC:?}" "${TTAPE_BUILD:?}"

if [ -n "${TTAPE_SANITIZE:-}" ]; then
    echo "SKIPPED: a sanitizer build is not for installing"
    exit 77
fi
failed=0
for name in tracetape libtracetape.so libtracetape-rt.so libtracetape-rt.a; do
    if grep -aqF -e "$TTAPE_SRC/" -e "$TTAPE_BUILD" "$TTAPE_BUILD/$name"; then
        printf "FAILED: '%s' names the folder that it was built in:\n" "$name"
        grep -aoE "($TTAPE_SRC/|$TTAPE_BUILD)[[:print:]]*" "$TTAPE_BUILD/$name" | sort -u |
            sed -n 1,5p
        failed=1
    fi
    paths=$(readelf -d "$TTAPE_BUILD/$name" 2>/dev/null |
        sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/:\2:/p')
    if [[ $paths == *::* ]]; then
        printf "FAILED: '%s' looks for libraries where its user stands: '%s'\n" "$name" "$paths"
        failed=1
    fi
done
[ "$failed" = 0 ] && echo "ok: no path of the build in what it made"
exit "$failed"
