#!/usr/bin/env bash
# R11: folders made to lead out of themselves. Whatever their names and links say, the converter
# opens nothing below another folder, writes nothing but its output, and prints names escaped.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
command -v strace >/dev/null || {
    printf 'SKIPPED: no strace to see what is opened\n'
    exit 77
}
# The leak checker and strace exclude each other: what strace sees is not checked for leaks.
under_strace=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

cat >make.py <<'END'
import os, struct, sys
folder, sid, program = sys.argv[1:4]
os.makedirs(folder)
header = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x77A, 0x3FFF, 1024, 0, 0)
put = lambda name, data: open(os.path.join(os.fsencode(folder), name), "wb").write(data)
put(b"info", header + b"exename:" + os.fsencode(program) + b"\n")
put(b"task.txt", b'SESS timestamp=1.000000000 pid=10 sid=' + os.fsencode(sid) + b' exename="' +
    os.fsencode(program) + b'"\nTASK timestamp=1.000000001 tid=10 pid=10\n')
if "/" not in sid:
    put(b"sid-" + os.fsencode(sid) + b".map",
        b"555500000000-555500010000 r-xp 00000000 00:00 0   " +
        os.fsencode(program) + b" build-id:0102\n")
base = os.path.basename(program) or "x"
put(os.fsencode(base) + b".sym", b"# path name: " + os.fsencode(program) +
    b"\n0000000000001000 T na\x1b[31mme\n0000000000001100 ? end\n")
record = lambda time, kind, address: struct.pack("<QQ", time, kind | 5 << 3 | address << 16)
put(b"10.dat", record(1000000010, 0, 0x555500001004) + record(1000000020, 1, 0x555500001004))
END

# try NAME: converts it under strace; nothing is opened below `secret`, nothing written elsewhere
try() {
    checks=$((checks + 1))
    local got=0
    ASAN_OPTIONS=$under_strace timeout 100 strace -f -o trace \
        -e trace=openat,open,creat,rename,renameat,unlink,mkdir \
        "$T" convert "$1" -o out.ttape --force >out 2>err || got=$?
    [ "$got" -le 4 ] || fail "$1: status $got: $(cat err)"
    clean err
    if grep -E 'secret' trace | grep -vE 'ENOENT|ELOOP|EINVAL' | grep -q ' = [0-9]'; then
        fail "$1: $(grep secret trace | head -n 2)"
    fi
    if grep -E 'O_WRONLY|O_RDWR|O_CREAT|rename|unlink|mkdir' trace |
        grep -vE 'out\.ttape|/dev/(null|tty)|\.ttape' | grep -q ' = [0-9]'; then
        fail "$1 writes: $(grep -E 'O_WRONLY|O_RDWR|O_CREAT' trace | head -n 2)"
    fi
    [ "$got" -gt 3 ] || "$T" verify -q out.ttape || fail "$1: the output does not verify"
}
mkdir secret
printf '555500000000-555500010000 r-xp 00000000 00:00 0   /bin/stolen\n' >secret/x.map
printf '0000000000001000 T stolen\n' >secret/prog.sym
python3 make.py plain aa /bin/prog
try plain
python3 make.py upwards ../secret/x /bin/prog
try upwards
python3 make.py absolute "$PWD/secret/x" /bin/prog
try absolute
python3 make.py above aa ../secret/prog
try above
python3 make.py dots aa /bin/..
try dots
for name in info task.txt sid-aa.map prog.sym 10.dat; do
    rm -rf links
    python3 make.py links aa /bin/prog
    mv "links/$name" "secret/${name}"
    ln -s "../secret/$name" "links/$name"
    try links
    "$T" dump out.ttape 2>/dev/null | grep -q stolen && fail "links/$name was followed"
    rm -f "secret/$name"
    printf '0000000000001000 T stolen\n' >secret/prog.sym
done
rm -rf links
mkdir real
ln -s "$PWD/real" links
python3 make.py real/inner aa /bin/prog
try links # a link given by the user is the user's
python3 make.py odd aa "$(printf '/bin/pr\033[31mog')"
try odd
python3 make.py twins aa /bin/prog
printf '0000000000001000 T OTHER\n' >twins/PROG.SYM
printf 'x' >twins/INFO
try twins
python3 - <<'END'
import os
for name in (b"11\x1b[2J.dat", b"12\n.dat", b"13.dat\xff", b"-1.dat", b"99999999999999999999.dat",
             b"0x10.dat", b"14 .dat"):
    open(b"twins/" + name, "wb").write(bytes(32))
END
try twins
status 0 "$T" info out.ttape
clean out
verdict
