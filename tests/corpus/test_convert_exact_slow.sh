#!/usr/bin/env bash
# Every record of every recording (see test_convert_exact.py).
TTAPE_SLOW=1 exec python3 "${TTAPE_SRC:?}/tests/corpus/test_convert_exact.py"
