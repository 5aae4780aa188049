#!/usr/bin/env bash
# recover: a damaged trace in, a sound one out; exit statuses tell the truth, the input stays as it
# is, and nothing half-written gets the final name. verify --json: stable, one object.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

# flip FILE OFFSET: inverts a byte
flip() {
    python3 - "$1" "$2" <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)
    f.seek(-1, 1)
    f.write(bytes([byte[0] ^ 0xFF]))
PY
}

# chunk FILE KIND NTH: offset and size of a chunk
chunk() {
    python3 - "$@" <<'PY'
import struct, sys
data, kind, nth = open(sys.argv[1], "rb").read(), int(sys.argv[2]), int(sys.argv[3])
at = 64
while data[at:at + 8] == b"\xf3TTchk\xb1\x1a":
    k, = struct.unpack_from("<H", data, at + 8)
    size = 64 + struct.unpack_from("<Q", data, at + 24)[0]
    if k == kind:
        if nth == 0:
            print(at, size)
            break
        nth -= 1
    at += size
PY
}

calls 3000 >calls.txt
status 0 "$T" convert calls.txt -o whole.ttape --partition-events 1000
"$T" dump whole.ttape >whole.txt

# nothing is lost: exit 0
status 0 "$T" recover whole.ttape -o out.ttape
status 0 "$T" verify out.ttape
"$T" dump out.ttape >out.txt
same whole.txt out.txt
status 4 "$T" recover whole.ttape -o out.ttape
has err 'exists already'
status 0 "$T" recover whole.ttape -o out.ttape --force --quiet
[ ! -s err ] || fail "--quiet says something"

# only the index is missing
read -r index _ < <(chunk whole.ttape 6 0)
head -c "$index" whole.ttape >cut.ttape
status 1 "$T" verify cut.ttape
status 0 "$T" recover cut.ttape -o out.ttape -f
status 0 "$T" verify out.ttape
"$T" dump out.ttape >out.txt
same whole.txt out.txt

# a partition is lost: the others stay, a gap event counts, exit 3
read -r at size < <(chunk whole.ttape 4 2)
cp whole.ttape bad.ttape
flip bad.ttape $((at + size - 3))
sum=$(md5sum <bad.ttape)
status 3 "$T" recover bad.ttape -o out.ttape -f
has err "byte $at: partition .*: lost, 1000 events: .*\[F-CHK-03\]"
has err '1 gap events mark'
has err '[0-9]+ events recovered, 1000 lost'
[ "$sum" = "$(md5sum <bad.ttape)" ] || fail "recover changed its input"
status 0 "$T" verify out.ttape
"$T" dump out.ttape >out.txt
has out.txt 'gap'
status 0 "$T" info out.ttape
has out '1,?000'
status 0 "$T" recover out.ttape -o again.ttape
status 0 "$T" cut out.ttape -o half.ttape --events 0..3500
status 0 "$T" verify half.ttape
status 0 "$T" cut whole.ttape -o rest.ttape --events 3500..
status 0 "$T" merge half.ttape rest.ttape -o both.ttape
status 0 "$T" verify both.ttape

# without an index too, and without its head: the numbers of the events around tell how many
cp cut.ttape bad2.ttape
flip bad2.ttape $((at + 30))
status 3 "$T" recover bad2.ttape -o out.ttape -f
has err '1 gap events mark'
has err 'recovered, 1000 lost$'
cp whole.ttape bad2.ttape
read -r last size < <(chunk whole.ttape 4 6)
flip bad2.ttape $((last + 30))
head -c "$index" bad2.ttape >bad3.ttape
status 3 "$T" recover bad3.ttape -o out.ttape -f
has err 'recovered, 0 lost, and those of 1 losses, which are not known$'

# verbose says what was kept too
status 3 "$T" recover bad.ttape -o out.ttape -f -v
has err 'partition .*: kept, 1000 events'
has err 'site table .*: kept'

# only names are lost: exit 3, every event is there
read -r at _ < <(chunk whole.ttape 2 0)
cp whole.ttape nameless.ttape
flip nameless.ttape $((at + 70))
status 3 "$T" recover nameless.ttape -o out.ttape -f
has err 'site table .*: lost'
has err 'definitions are lost'
status 0 "$T" verify out.ttape
[ "$("$T" dump out.ttape | wc -l)" -eq "$(wc -l <whole.txt)" ] || fail "events are lost with names"

# the header
cp whole.ttape headless.ttape
flip headless.ttape 20
status 4 "$T" info headless.ttape
status 0 "$T" recover headless.ttape -o out.ttape -f
has err 'file header is damaged'
status 0 "$T" verify out.ttape

# nothing to recover, and nothing is left behind
noise 5000 >noise
status 4 "$T" recover noise -o none.ttape
absent none.ttape none.ttape.*
: >empty
status 4 "$T" recover empty -o none.ttape
status 4 "$T" recover missing -o none.ttape
status 4 "$T" recover /dev/null -o none.ttape
mkdir -p folder
status 4 "$T" recover folder -o none.ttape
absent none.ttape

# never in place, by no name
ln bad.ttape link.ttape
ln -s bad.ttape soft.ttape
for name in bad.ttape ./bad.ttape link.ttape soft.ttape; do
    status 4 "$T" recover bad.ttape -o "$name" --force
    has err 'in place'
done
[ "$sum" = "$(md5sum <bad.ttape)" ] || fail "recover changed its input"
status 2 "$T" recover bad.ttape
status 2 "$T" recover bad.ttape -o none.ttape --clean

# a full disk, and a kill: no file, no half of one
if [ -w /dev/full ]; then
    status 4 "$T" recover bad.ttape -o /dev/full
fi
(ulimit -f 1; trap '' XFSZ; "$T" recover bad.ttape -o full.ttape 2>err) &&
    fail "no room, and it succeeds"
absent full.ttape
[ -z "$(find . -name '*full.ttape*')" ] || fail "half a file is left behind"

# one line per finding, and on to the next
flip bad.ttape $((at + 70))
status 1 "$T" verify bad.ttape
has out "byte [0-9]+: .*\[F-CHK-03\]"
[ "$(wc -l <out)" -ge 2 ] || fail "verify stops at the first finding"
status 1 "$T" verify --json bad.ttape
python3 - <<'PY' || fail "verify --json"
import json
report = json.load(open("out"))
assert report["file"] == "bad.ttape" and report["ok"] is False and report["verified"] is True
assert report["finding_count"] == len(report["findings"]) >= 2
for f in report["findings"]:
    assert list(f) == ["offset", "rule", "status", "chunk_kind", "partition", "message"], list(f)
first, kinds = report["findings"][0], {f["chunk_kind"] for f in report["findings"]}
assert first["rule"] == "F-CHK-03" and first["status"] == "checksum"
assert first["chunk_kind"] == "site table" and first["partition"] is None and first["offset"] > 64
assert "partition" in kinds
PY
status 0 "$T" verify --json whole.ttape
python3 -c 'import json
r = json.load(open("out"))
assert r["ok"] is True and r["findings"] == []' || fail "verify --json of a sound trace"
verdict
