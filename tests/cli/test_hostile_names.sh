#!/usr/bin/env bash
# Names that would act on a terminal, a spreadsheet or a parser, through every output.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

python3 - <<'END'
names = [b"\x1b[31mred\x1b[0m", b"\xc2\x9b31m", b"bidi\xe2\x80\xae\xe2\x81\xa6", b"nul\x00byte",
         b'"]}', b"</script>", b"${HOME}", b"=cmd|' /C calc'!A0", b"comma,quote\"", b"line\nfeed\r",
         b"\xff\xfe\x80bad", b"back\\slash \\x1b", b"\xed\xa0\x80", b"%s%n", b"x" * 400000,
         "gr\u00fc\u00df \u51fd\u6570".encode(), b"\x7f\x08\x07", b"\xe2\x80\xa8sep"]
quote = lambda b: b'"' + b"".join(b"\\x%02x" % c if c in b'"\\' or c < 32 else bytes([c])
                                  for c in b) + b'"'
with open("in.txt", "wb") as f:
    f.write(b"process 1 " + quote(names[0]) + b"\nthread 1 1 " + quote(names[2]) + b"\n")
    f.write(b"meta " + quote(names[8]) + b" " + quote(names[5]) + b"\n")
    for i, name in enumerate(names):
        f.write(b"%d 1 enter %s %s\n" % (i, quote(name), quote(name[:60000])))
END
status 0 "$T" convert in.txt -o a.ttape
status 0 "$T" verify a.ttape
for arguments in "dump" "dump --format csv" "dump --format ndjson" "info" "info --json"; do
    # shellcheck disable=SC2086 # words
    status 0 "$T" $arguments a.ttape
    clean out
    cp out "all-${arguments##* }.out"
done
python3 - <<'END' || fail "an output does not parse"
import csv, json
rows = list(csv.reader(open("all-csv.out", newline="", encoding="utf-8"), strict=True))
assert len(rows) == 19 and all(len(row) == 7 for row in rows), [len(row) for row in rows]
assert rows[1][6] == r"\x1b[31mred\x1b[0m" and rows[9][6] == 'comma,quote"'
assert rows[12][6] == r"back\\slash \\x1b" and rows[16][6] == "gr\u00fc\u00df \u51fd\u6570"
events = [json.loads(line) for line in open("all-ndjson.out", encoding="utf-8", errors="strict")]
assert len(events) == 18
assert events[0]["symbol"] == "\x1b[31mred\x1b[0m"
assert events[0]["values"] == ["\x1b[31mred\x1b[0m"]
assert events[3]["symbol"] == "nul\0byte" and events[5]["symbol"] == "</script>"
assert events[10]["symbol"] == r"\xff\xfe\x80bad" and events[11]["symbol"] == "back\\slash \\x1b"
json.load(open("all---json.out", encoding="utf-8", errors="strict"))
END
! grep -q '</script>' all-ndjson.out || fail "</script> in JSON"
verdict
