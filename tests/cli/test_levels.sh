#!/usr/bin/env bash
# Levels differ in bytes and time, never in what is in a trace; partitions of several levels stand
# side by side in one file, and what is done with files does not depend on them.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

# Two threads with values, gaps, depths and a clock that steps; frames are open across partitions.
awk 'BEGIN { for (t = 1; t <= 2; t++) print "0 " t " enter main" t
    for (i = 1; i <= 6000; i++) { t = i % 2 + 1; time = i * 10 + i * i % 7
        if (i % 40 < 20) print time, t, "enter f" i % 11, i; else print time, t, "exit -", i
        if (i % 997 == 0) print time, t, "gap", i
        if (i == 3000) print 5, t, "marker back depth=9" } }' >in.txt

# forms FILE: into out, the forms of order and times of each partition, and the model it names
forms() {
    python3 - "$1" >out <<'PY'
import struct, sys
data, at = open(sys.argv[1], "rb").read(), 64
while data[at:at + 8] == b"\xf3TTchk\xb1\x1a":
    kind, = struct.unpack_from("<H", data, at + 8)
    if kind == 4:
        count, = struct.unpack_from("<I", data, at + 72)
        model, = struct.unpack_from("<I", data, at + 64 + 32)
        kinds = [struct.unpack_from("<H", data, at + 160 + 24 * i)[0] for i in range(count)]
        print(*(k for k in kinds if 16 <= k < 48), "-" if model == 0xffffffff else "model")
    at += 64 + struct.unpack_from("<Q", data, at + 24)[0]
PY
}

all_are() { # FORMS
    checks=$((checks + 1))
    [ "$(sort -u out)" = "$1" ] || fail "partitions have the forms $(sort -u out), not $1"
}

for level in 0 1 2 3 9; do
    status 0 "$T" convert in.txt -o "l$level.ttape" --partition-events 700 --level $level
    status 0 "$T" verify "l$level.ttape"
    status 0 "$T" dump "l$level.ttape" --format ndjson
    cp out "l$level.ndjson"
    same "l$level.ndjson" l0.ndjson
    status 0 "$T" report "l$level.ttape" --json
    sed "s/l$level.ttape/FILE/" out >"l$level.report"
    same "l$level.report" l0.report
    status 0 "$T" convert in.txt -o "j$level.ttape" --partition-events 700 --level $level --jobs 3
    same "j$level.ttape" "l$level.ttape"
done
same l2.ttape l3.ttape
forms l1.ttape
all_are "20 34 -"
forms l3.ttape
has out '^16 17 32 model$'
status 0 "$T" convert in.txt -o none.ttape --level 1 --resolution none
forms none.ttape
all_are "20 -"

# Level 0 is the literal form where that is smaller behind zstd, whatever it is before: chains of
# few functions are short. Where it is not, that is said.
python3 - <<'PY'
import random
draw = random.Random(3)
def write(name, count, functions, depths):
    with open(name, "w", encoding="ascii") as file:
        time = 0
        for _ in range(count):
            names = [draw.randrange(functions) for _ in range(draw.choice(depths))]
            for f in names:
                time += 3
                file.write(f"{time} 1 enter f{f}\n")
            for f in reversed(names):
                time += 2
                file.write(f"{time} 1 exit f{f}\n")
write("short.txt", 20000, 40, (1, 2))
write("random.txt", 4000, 60, (6, 7))
PY
status 0 "$T" convert short.txt -o short.ttape --level 0
lines err 0
forms short.ttape
all_are "18 19 34 -"
status 0 "$T" convert random.txt -o random.ttape --level 0
has err 'the order of 1 of 1 partitions has the raw form: the literal one does not pay'
forms random.ttape
all_are "20 34 -"
status 0 "$T" verify random.ttape

# Files of three levels, cut apart and put together, with models of those that have them.
status 0 "$T" cut l3.ttape -o a.ttape --time ..20000
status 0 "$T" cut l1.ttape -o b.ttape --time 20000..40000
status 0 "$T" cut l9.ttape -o c.ttape --time 40000..
status 0 "$T" merge -o mixed.ttape b.ttape c.ttape a.ttape
status 0 "$T" verify mixed.ttape
status 0 "$T" dump mixed.ttape --format ndjson
same out l1.ndjson
forms mixed.ttape
has out '^16 17 32'
has out '^20 34 -$'

# Without its end, and with a byte of a partition inverted.
head -c -300 mixed.ttape >short.ttape
status 0 "$T" recover short.ttape -o whole.ttape
status 0 "$T" verify whole.ttape
status 0 "$T" dump whole.ttape --format ndjson
same out l1.ndjson
head -c 10000 l1.ttape >half.ttape
status 3 "$T" recover half.ttape -o part.ttape
status 0 "$T" verify part.ttape
forms part.ttape
all_are "20 34 -"

verdict
