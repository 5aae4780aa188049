#!/usr/bin/env bash
# The recorder's list of automatic arguments names _ZdlPv; a program calls _ZdlPvm, the sized form.
# Both are "operator delete" to the recorder, so the argument is there and must be understood.
. "$(dirname "$0")/common.sh"

cat >make.py <<'END'
import os, struct
os.makedirs("rec")
def put(name, data):
    with open(os.path.join("rec", name), "wb") as f:
        f.write(data)
def record(time, kind, depth, address, more=0):
    return struct.pack("<QQ", time, kind | more << 2 | 5 << 3 | depth << 6 | address << 16)
base = 0x555500000000
header = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x77A, 0x3FFF, 1024, 0, 0)
put("info", header + b"exename:/bin/prog\ncmdline:prog\nargspec:lines=3\n"
    b"argspec:.*\nargauto:_Znwm@arg1/u;_ZdlPv@arg1/x;\nretauto:_Znwm@retval/x;\n"
    b"auto-args:1\npattern_type:regex\n")
put("task.txt", b'SESS timestamp=1.000000000 pid=10 sid=aa exename="/bin/prog"\n'
    b"TASK timestamp=1.000000001 tid=10 pid=10\n")
put("sid-aa.map", b"555500000000-555500010000 r-xp 00000000 00:00 0   /bin/prog build-id:0102\n")
put("prog.sym", b"# path name: /bin/prog\n# build-id: 0102\n"
    b"0000000000001000 T main\n0000000000001100 P _ZdlPvm\n0000000000001200 ? __sym_end\n")
s = 1000000000
put("10.dat", record(s + 10, 0, 0, base + 0x1000) +
    record(s + 20, 0, 1, base + 0x1100, 1) + struct.pack("<Q", 0xabc0) +
    record(s + 30, 1, 1, base + 0x1100) + record(s + 40, 1, 0, base + 0x1000))
END
python3 make.py
status 0 "$T" convert rec -o rec.ttape
status 0 "$T" dump rec.ttape --format csv
lines out 5
status 0 "$T" dump rec.ttape --format ndjson
has out '0xabc0|43968'
verdict
