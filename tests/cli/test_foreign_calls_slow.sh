#!/usr/bin/env bash
# 10,000 random recordings of other tools (see test_foreign_calls.py).
TTAPE_SLOW=1 exec python3 "${TTAPE_SRC:?}/tests/cli/test_foreign_calls.py"
