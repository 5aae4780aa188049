#!/usr/bin/env bash
# What fuzzing and reading for it found in the command, each with what must hold since.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

# strings_of_several_streams: strings of streams that take turns in a partition were written in the
# order of arrival, and read as those of other events.
cat >turns.txt <<'END'
1 1 enter a "first of one"
2 2 enter b "two"
3 1 enter c "second of one" hex:0102
4 2 exit b "two again, longer"
5 1 exit c ""
END
status 0 "$T" convert turns.txt -o turns.ttape
status 0 "$T" verify turns.ttape
status 0 "$T" dump turns.ttape
has out 'a\("first of one"\)'
has out 'b\("two"\)'
has out 'c\("second of one", hex:0102\)'
has out '= "two again, longer"'

# metadata_key_twice: a key that was set twice before the first partition stood twice in one map.
cat >meta.txt <<'END'
meta key first
meta other 5
meta key "the last stands"
meta source mine
1 1 enter a
END
status 0 "$T" convert meta.txt -o meta.ttape
status 0 "$T" verify meta.ttape
status 0 "$T" info meta.ttape
has out 'key +the last stands'
has out 'source +mine'
printf 'meta trace_id 5\n1 1 enter a\n' >own.txt
status 3 "$T" convert own.txt -o own.ttape
has err 'trace id'
status 0 "$T" verify own.ttape

# damaged_partition_is_not_merged: of a partition whose light sections are damaged, merge copied the
# bytes and read segments that it did not know.
calls 2000 >calls.txt
status 0 "$T" convert calls.txt -o calls.ttape --partition-events 500
python3 - <<'END'
import json, subprocess, os
info = json.loads(subprocess.run([os.environ["TTAPE_BIN"], "info", "--json", "--all",
                                  "calls.ttape"],
                                 check=True, capture_output=True).stdout)
data = bytearray(open("calls.ttape", "rb").read())
at = data.find(b"\xf3TTchk\xb1\x1a\x04\x00")
data[at + 64 + 12] ^= 1
open("head.ttape", "wb").write(data[:-64])  # without the footer: opened by a scan
open("indexed.ttape", "wb").write(data)
END
for name in head indexed; do
    status 4 timeout 100 "$T" merge "$name.ttape" -o "merged-$name.ttape"
    has err 'F-PAR-03|F-CHK-03|F-IDX-08'
    absent "merged-$name.ttape"
    status 4 timeout 100 "$T" cut "$name.ttape" --partition 0..9 -o "cut-$name.ttape"
    absent "cut-$name.ttape"
done

# nothing_to_draw: a timeline without a bar sorted no array (undefined).
python3 - <<'END'
data = bytearray(open("calls.ttape", "rb").read())
at = data.find(b"\xf3TTchk\xb1\x1a\x04\x00")
while at >= 0:
    data[at + 64 + 12] ^= 1
    at = data.find(b"\xf3TTchk\xb1\x1a\x04\x00", at + 64)
open("none.ttape", "wb").write(data)
END
status 3 "$T" export --format svg none.ttape -o none.svg
has none.svg '</svg>'

# more_values_than_are_written: a file may say that an event has any number of values, and what
# Perfetto is told of it had room for those that our writer allows.
printf '0 1 enter a 1\n1 1 exit\n' >values.txt
status 0 "$T" convert values.txt -o values.ttape
PYTHONPATH=$TTAPE_SRC/tests/conformance python3 - <<'END'
import struct
from xxh3 import xxh3_64
data = open("values.ttape", "rb").read()
at = data.find(b"\xf3TTchk\xb1\x1a\x04\x00")
stored = struct.unpack_from("<Q", data, at + 24)[0]
head, payload = bytearray(data[at:at + 56]), bytearray(data[at + 64:at + 64 + stored])
end = 96 + 24 * struct.unpack_from("<I", payload, 8)[0]
last = end - 24  # the directory's entry of the values, which are the last section
assert struct.unpack_from("<H", payload, last)[0] == 48
payload = payload[:-struct.unpack_from("<I", payload, last + 4)[0]]
values = b"\x01\xd8\x04\x00\x00\xd8\x04" + bytes(600) + bytes(i % 128 for i in range(600))
struct.pack_into("<HHIIIQ", payload, last, 48, 0, len(values), len(values), 0, xxh3_64(values))
struct.pack_into("<Q", payload, 0, xxh3_64(bytes(payload[8:end])))
payload += values
struct.pack_into("<QQQ", head, 24, len(payload), len(payload), xxh3_64(bytes(payload)))
head += struct.pack("<Q", xxh3_64(bytes(head)))
open("values.ttape", "wb").write(data[:at] + head + payload)
END
status 0 "$T" dump values.ttape
has out ' 86, 87\)'
for format in perfetto chrome csv; do
    status 0 "$T" export --format "$format" values.ttape -o "values.$format"
done

# pattern_bombs: sixty bytes of a recording asked regcomp for gigabytes; a nested repeat, a chain of
# pluses, a deep nesting, a back reference.
mkdir bomb
python3 - <<'END'
import struct
header = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x77A, 0x3FFF, 1024, 0, 0)
plus = "(" * 30 + "a" + "+)" * 30
deep = "(" * 100000 + "a" + ")" * 100000
specs = ["((((a{200}){200}){200}){20})@arg1/d32", plus + "@arg1/d32", deep + "@arg1/d32",
         "(a*)*\\1\\1\\1b@arg1/d32", "(((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9})@arg1"]
open("bomb/info", "wb").write(header + b"exename:/bin/prog\npattern_type:regex\nargspec:" +
                              ";".join(specs).encode() + b";^ma.n$@arg1/d32\n")
open("bomb/task.txt", "w").write(
    'SESS timestamp=1.000000000 pid=10 sid=aa exename="/bin/prog"\n'
    "TASK timestamp=1.000000001 tid=10 pid=10\n")
open("bomb/sid-aa.map", "w").write(
    "555500000000-555500010000 r-xp 00000000 00:00 0   /bin/prog build-id:0102\n")
open("bomb/prog.sym", "w").write("# path name: /bin/prog\n# build-id: 0102\n"
                                 "0000000000001000 T main\n0000000000001100 ? end\n")
record = lambda time, kind, address, more: struct.pack(
    "<QQ", time, kind | more << 2 | 5 << 3 | address << 16)
open("bomb/10.dat", "wb").write(record(1000000010, 0, 0x555500001004, 1) +
                                struct.pack("<ixxxx", -7) +
                                record(1000000020, 1, 0x555500001004, 0))
END
(
    case ${TTAPE_SANITIZE:-} in *address*) ;; *) ulimit -v 1000000 ;; esac
    exec timeout 100 "$T" convert bomb -o bomb.ttape
) >out 2>err || fail "the bomb goes off: $(head -n 2 err)"
status 0 "$T" dump bomb.ttape
has out 'main\(-7\)' # other patterns still count

# recovered_findings_verify: what came out of damaged traces of a few hundred bytes took half a
# gigabyte (scope-without-metadata), or had numbers that step back (lost-numbers-wrap).
for finding in "$TTAPE_SRC"/fuzz/findings/recover/*; do
    name=${finding##*/}
    tail -c +17 "$finding" >"$name.ttape" # behind the parameters
    (
        case ${TTAPE_SANITIZE:-} in *address*) ;; *) ulimit -v 500000 ;; esac
        exec timeout 100 "$T" recover "$name.ttape" -o "$name.out.ttape"
    ) >out 2>err
    got=$?
    checks=$((checks + 1))
    [ $got -eq 3 ] || fail "recover $name: status $got: $(head -n 2 err)"
    status 0 "$T" verify "$name.out.ttape"
done
verdict
