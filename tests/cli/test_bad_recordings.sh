#!/usr/bin/env bash
# uftrace directories made by hand: whole, cut, wrong, hostile. A loss is named with file and byte.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

cat >make.py <<'END'
import os, struct, sys
folder = sys.argv[1]
os.makedirs(folder)
def put(name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)
def record(time, kind, depth, address, more=0):
    return struct.pack("<QQ", time, kind | more << 2 | 5 << 3 | depth << 6 | address << 16)
base = 0x555500000000
header = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x77A, 0x3FFF, 1024, 0, 0)
put("info", header + b"exename:/bin/prog\ncmdline:prog \x1b[31m\nargspec:lines=2\n"
    b"argspec:f@arg1/s,arg2/d32,arg3/f32,arg4/c,arg5/t3;^g.*@fparg1/80\nretspec:f@retval/i16\n"
    b"pattern_type:regex\n")
put("task.txt", b'SESS timestamp=1.000000000 pid=10 sid=aa exename="/bin/prog"\n'
    b"TASK timestamp=1.000000001 tid=10 pid=10\n"
    b"WHAT is this\nTASK timestamp=1.000000900 tid=11 pid=10\n"
    b"FORK timestamp=1.000000500 pid=12 ppid=10\n"
    b'SESS timestamp=2.000000000 pid=12 sid=bb exename="/bin/other"\n')
put("sid-aa.map", b"555500000000-555500010000 r-xp 00000000 00:00 0   /bin/prog build-id:0102\n"
    b"7ffc00000000-7ffc00010000 rw-p 00000000 00:00 0   [stack]\n")
put("sid-bb.map", b"555500000000-555500010000 r-xp 00000000 00:00 0   /bin/other\n")
put("prog.sym", b"# path name: /bin/prog\n# build-id: 0102\n"
    b"0000000000001000 T main\n0000000000001100 t f\n0000000000001200 T g1\n"
    b"0000000000001300 ? end\n")
put("other.sym", b"# path name: /bin/other\n0000000000001000 00000010 T other_main\n")
s = 1000000000
text = b"hello\0"
args = struct.pack("<H", 6) + text + struct.pack("<if", -7, 0.5) + b"c\0\0\0" + b"abc\0"
args += bytes(-len(args) % 8)
extended = struct.pack("<QH", 0xC000000000000000, 16383) + bytes(6)
put("10.dat", record(s + 10, 0, 0, base + 0x1004) + record(s + 20, 0, 1, base + 0x1104, 1) + args +
    record(s + 30, 3, 0, 100002, 1) + struct.pack("<HQQ", 16, 3, 4) + bytes(6) +
    record(s + 40, 1, 1, base + 0x1104, 1) + struct.pack("<hxxxxxx", -3) +
    record(s + 50, 2, 0, 12345) + record(s + 60, 0, 1, base + 0x1200, 1) + extended +
    record(s + 70, 1, 1, base + 0x1200) + record(s + 80, 1, 0, base + 0x1004))
put("11.dat", record(s + 900, 0, 0, base + 0x9000) + record(s + 901, 1, 0, base + 0x9000))
put("12.dat", record(s + 500, 0, 3, base + 0x1104) + record(2 * s + 5, 0, 0, base + 0x1004) +
    record(2 * s + 6, 1, 0, base + 0x1004))
END
python3 make.py good
status 0 "$T" convert good -o good.ttape
[ ! -s err ] || fail "messages about a good recording: $(cat err)"
status 0 "$T" verify good.ttape
status 0 "$T" dump good.ttape --format csv
cat >want.csv <<'END'
stream,tid,time_ns,kind,depth,address,symbol
0,10,1000000010,enter,0,0x555500001004,main
0,10,1000000020,enter,1,0x555500001104,f
0,10,1000000030,marker,0,0x186a2,read:page-fault
0,10,1000000040,exit,1,0x555500001104,f
0,10,1000000050,gap,1,,
0,10,1000000060,enter,1,0x555500001200,g1
0,10,1000000070,exit,1,0x555500001200,g1
0,10,1000000080,exit,0,0x555500001004,main
1,11,1000000900,enter,0,0x555500009000,
1,11,1000000901,exit,0,0x555500009000,
2,12,1000000500,enter,3,0x555500001104,f
2,12,2000000005,enter,0,0x555500001004,other_main
2,12,2000000006,exit,0,0x555500001004,other_main
END
same out want.csv
status 0 "$T" dump good.ttape --stream 0
has out 'f\("hello.x00", -7, 0.5, "c", hex:616263\)'
has out '\} = -3 /\* f \*/'
has out 'read:page-fault\(3, 4\)'
has out 'g1\(1.5\);'
has out 'gap: 12345 events lost, reason: overflow'
clean out
status 0 "$T" info good.ttape
clean out
has out 'command +prog .x1b'

# Cut at every byte, or at every seventh: converts what is there, and says where it ends.
step=7
[ "${TTAPE_THOROUGH:-}" != 1 ] || step=1
size=$(stat -c %s good/10.dat)
for cut in $(seq 0 $step "$size"); do
    rm -rf cut
    cp -r good cut
    truncate -s "$cut" cut/10.dat
    got=0
    "$T" convert cut -o cut.ttape --force 2>err || got=$?
    checks=$((checks + 1))
    [ "$got" -eq 0 ] || [ "$got" -eq 3 ] || fail "cut at $cut: status $got: $(cat err)"
    [ "$got" -eq 0 ] || has err "truncated record at byte [0-9]+ of '10.dat'"
    "$T" verify -q cut.ttape || fail "cut at $cut: the output does not verify"
done

damage() { # NAME: a fresh copy
    rm -rf "$1"
    cp -r good "$1"
}
damage magic
printf '\377' | dd of=magic/10.dat bs=1 seek=8 conv=notrunc 2>/dev/null
status 3 "$T" convert magic -o magic.ttape
has err "wrong magic.*at byte 0 of '10.dat'"
lines err 1
damage spec
sed -i 's/retspec:f@retval.i16/retspec:other@retval/' spec/info
status 3 "$T" convert spec -o spec.ttape
has err "without a specification.* at byte [0-9]+ of '10.dat'"
damage links
mv links/11.dat elsewhere.dat
ln -s ../elsewhere.dat links/11.dat
ln -sf ../good/prog.sym links/prog.sym
mkdir links/13.dat
mkfifo links/14.dat
status 3 timeout 100 "$T" convert links -o links.ttape
has err "cannot read '11.dat'"
has err "cannot read '14.dat'"
status 0 "$T" dump links.ttape --format csv
! grep -q ',11,' out || fail "a link was followed"
damage notask
rm notask/task.txt
status 3 "$T" convert notask -o notask.ttape
has err "cannot open 'task.txt'"
damage noinfo
rm noinfo/info
status 4 "$T" convert noinfo -o no.ttape
status 4 "$T" convert noinfo -o no.ttape --from-format uftrace
damage nodata
rm nodata/*.dat
status 4 "$T" convert nodata -o no.ttape
has err 'has no records'
damage version
printf '\007' | dd of=version/info bs=1 seek=8 conv=notrunc 2>/dev/null
status 4 "$T" convert version -o no.ttape
lines err 1
damage sessions
sed -i 's/sid=aa/sid=..\/..\/x/' sessions/task.txt
status 3 "$T" convert sessions -o sessions.ttape
absent no.ttape

# Few descriptors and many tasks: the same bytes. Each record is read alone, with all that are
# behind it in a buffer.
records=500
[ "${TTAPE_THOROUGH:-}" != 1 ] || records=3000
cat >many.py <<'END'
import struct, sys
for task in range(100, 300):
    with open(f"many/{task}.dat", "wb") as f:
        for i in range(int(sys.argv[1])):
            f.write(struct.pack("<QQ", 10**9 + i * 1000 + task,
                                i & 1 | 5 << 3 | (0x555500001000 + task) << 16))
END
damage many
python3 many.py $records
status 3 "$T" convert many -o many.ttape
(ulimit -n 12 && "$T" convert many -o few.ttape 2>/dev/null)
same many.ttape few.ttape
status 0 "$T" verify many.ttape
status 0 "$T" dump many.ttape --format csv
awk -F, 'NR > 10 && $2 == last && $3 + 0 < time { exit 1 } { last = $2; time = $3 + 0 }' out ||
    fail "records out of order"

# Random damage: never a crash, never a hang, always an output that verifies.
python3 - <<'END' || fail "random damage"
import os, random, shutil, subprocess
tool = os.environ["TTAPE_BIN"]
for seed in range(120 if os.environ.get("TTAPE_THOROUGH") == "1" else 15):
    rng = random.Random(seed)
    shutil.rmtree("random", ignore_errors=True)
    shutil.copytree("good", "random")
    for _ in range(rng.randrange(1, 6)):
        path = os.path.join("random", rng.choice(sorted(os.listdir("random"))))
        data = bytearray(open(path, "rb").read())
        for _ in range(rng.randrange(1, 4)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        open(path, "wb").write(data)
    run = subprocess.run([tool, "convert", "random", "-o", "random.ttape", "--force"], timeout=100,
                         stderr=subprocess.PIPE)
    assert run.returncode in (0, 3, 4), (seed, run)
    assert b"\x1b" not in run.stderr, seed
    if run.returncode != 4:
        check = subprocess.run([tool, "verify", "random.ttape"], stdout=subprocess.PIPE,
                               timeout=100)
        assert check.returncode == 0, (seed, check)
END
# One time has no tick: it is taken 1 ns earlier, and the rest stays.
cat >late.py <<'END'
import struct
base, last = 0x555500001004, 2**63 - 1
def record(time, kind, depth, address):
    return struct.pack("<QQ", time, kind | 5 << 3 | depth << 6 | address << 16)
with open("late/11.dat", "wb") as file:
    file.write(b"".join(record(last + i - 2, i % 2, 0, base) for i in range(6)))
END
python3 make.py late
python3 late.py
status 3 "$T" convert late -o late.ttape
has err 'time 9223372036854775807 cannot be stored'
status 0 "$T" dump late.ttape --format csv
[ "$(grep -c ',92233720368547758' out)" -eq 6 ] || fail "late events are missing: $(cat out)"
verdict
