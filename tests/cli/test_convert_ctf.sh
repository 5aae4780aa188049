#!/usr/bin/env bash
# CTF traces of functions become traces: streams of CPUs put into threads by time, modules from the
# state dump, losses as gaps; our own exports come back; damage costs what it hits and nothing else.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
export PYTHONPATH=$TTAPE_SRC/tests/cli

("$T" convert --from-format ctf /nonexistent -o x 2>&1 || true) >probe
if grep -q 'not in this build' probe; then
    printf 'SKIPPED: built without babeltrace2\n'
    exit 77
fi

# events NAME < LINES: what "tid,time,kind,depth,address" the trace holds, times from the start
events() {
    status 0 "$T" verify "$1.ttape"
    status 0 "$T" dump --format csv "$1.ttape"
    awk -F, 'NR > 1 { print $2 "," substr($3, 13) + 0 "," $4 "," $5 "," $6 }' out >got
    cat >want
    same got want
}

python3 - <<'END'
from ctf_writer import *
A, B, C = 0x401000, 0x401100, 0x7f0000001000
state = [(1, 7, 7, BIN_INFO, 0x400000, 0x2000, "/usr/bin/traced"),
         (2, 7, 7, BUILD_ID, 0x400000, bytes(range(20))),
         (3, 7, 7, BIN_INFO, 0x7f0000000000, 0x10000, "/usr/lib/libx.so"), (4, 7, 7, OTHER, "x")]
one = [(10, 7, 7, ENTRY, A), (20, 7, 8, ENTRY, B), (30, 7, 7, ENTRY, C), (60, 7, 8, EXIT, B)]
two = [(40, 7, 7, EXIT, C), (50, 7, 8, ENTRY, C), (55, 7, 8, EXIT, C), (70, 7, 7, EXIT, A)]
write("plain/ust/uid/0/64-bit", [[(state + one, 0)], [(two, 0)]])
write("fast", [[([(10, 7, 7, FAST_ENTRY, A), (20, 7, 7, FAST_ENTRY, B), (30, 7, 7, FAST_EXIT),
                  (40, 7, 7, FAST_EXIT), (50, 7, 7, FAST_EXIT)], 0)]])
write("lost", [[(one[:2], 0), ([(60, 7, 8, EXIT, B), (70, 7, 7, EXIT, A)], 3)],
               [(two[:1], 0)]])
write("cpus", [[([(10, 0, 0, ENTRY, A), (20, 0, 0, EXIT, A)], 0)],
               [([(15, 0, 0, ENTRY, B), (25, 0, 0, EXIT, B)], 0)]], threads=False)
write("none", [[([(10, 7, 7, OTHER, "x")], 0)]])
write("discarded", [[([(10, 7, 7, OTHER, "x")], 0), ([(20, 7, 7, OTHER, "x")], 5)]])
write("pids/one", [[([(10, 7, 7, ENTRY, A), (30, 7, 7, EXIT, A)], 0)]])
write("pids/two", [[([(20, 9, 9, ENTRY, A), (40, 9, 9, EXIT, A)], 0)]])
END

# By time, whatever the CPU; modules by what was mapped where.
status 0 "$T" convert plain -o plain.ttape
events plain <<'END'
7,10,enter,0,0x401000
7,30,enter,1,0x7f0000001000
7,40,exit,1,0x7f0000001000
7,70,exit,0,0x401000
8,20,enter,0,0x401100
8,50,enter,1,0x7f0000001000
8,55,exit,1,0x7f0000001000
8,60,exit,0,0x401100
END
status 0 "$T" info --json plain.ttape
has out '"value": "realtime"'
has out '"modules": 2'
has out '"processes": 1'
has out '"name": "p7"'
status 0 "$T" convert plain/ust/uid/0/64-bit -o inner.ttape
cmp -s plain.ttape inner.ttape || fail "the folder above gives another trace"
status 0 "$T" convert --verbose plain -o again.ttape --force
has err '1 events of other kinds left out'
status 0 "$T" export --format csv plain.ttape
has out '/usr/bin/traced'
has out '/usr/lib/libx.so'

# Exits without an address; two traces as one; losses; CPUs where threads are not known.
status 3 "$T" convert fast -o fast.ttape
has err '1 events left out'
events fast <<'END'
7,10,enter,0,0x401000
7,20,enter,1,0x401100
7,30,exit,1,0x401100
7,40,exit,0,0x401000
END
status 0 "$T" convert pids -o pids.ttape
status 0 "$T" info --json pids.ttape
has out '"streams": 2'
has out '"processes": 2'
status 0 "$T" convert lost -o lost.ttape
status 0 "$T" dump --format ndjson lost.ttape
has out '"tid":8.*"kind":"gap".*"lost":3,"reason":"overflow"'
status 3 "$T" convert cpus -o cpus.ttape
has err "without a context 'vtid'"
lines <("$T" dump --format csv cpus.ttape) 5
status 4 "$T" convert none -o none.ttape
has err 'no event of lttng-ust-cyg-profile: what runs with LD_PRELOAD='
status 4 "$T" convert discarded -o none.ttape
has err 'no event of lttng-ust-cyg-profile: all were discarded, larger buffers'
absent none.ttape
mkdir empty
status 4 "$T" convert empty -o none.ttape
status 4 "$T" convert --from-format ctf empty -o none.ttape
absent none.ttape

# Links and pipes in a trace are not followed.
cp -r fast links
ln -s /etc/hostname links/channel0_9
status 4 "$T" convert links -o none.ttape
has err "no regular file"
rm links/channel0_9
mkfifo links/channel0_9
status 4 timeout 100 "$T" convert links -o none.ttape

# Our own export comes back: every frame, point, value and name.
python3 - "$T" <<'END' || fail "an export does not come back"
import subprocess, sys
from collections import Counter
import export_model
tool = sys.argv[1]
def run(*words, data=None):
    done = subprocess.run([tool, *words], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
def shape(trace):
    streams = export_model.dump(tool, trace)
    seen = export_model.Selection(streams)
    value, tid = lambda v: str(v), {number: e[0]["tid"] for number, e in streams.items()}
    return Counter((tid[f.stream], f.stack, f.start, f.end, f.site, tuple(map(value, f.values)),
                    tuple(map(value, f.results)) if f.ending == "exit" else ())
                   for f in seen.frames), \
        Counter((tid[p.stream], p.time, p.kind, p.name, tuple(map(value, p.values)), p.detail)
                for p in seen.points)
run("convert", "-", "-o", "model.ttape", data=export_model.make_text(8, 2000).encode())
run("export", "--format", "ctf", "model.ttape", "-o", "model.ctf")
run("convert", "model.ctf", "-o", "back.ttape")
run("verify", "back.ttape")
for want, got in zip(shape("model.ttape"), shape("back.ttape")):
    assert want == got and want, (list((want - got).items())[:3], list((got - want).items())[:3])
END
status 0 "$T" info back.ttape
has out 'thread3'

# Damage of any kind: what could be read, or a refusal; nothing is left running.
python3 - "$T" <<'END' || fail "damage is not survived"
import random, shutil, subprocess, sys
from pathlib import Path
draw = random.Random(3)
tool, source, place = sys.argv[1], Path("plain/ust/uid/0/64-bit"), Path("damaged")
statuses = set()
for turn in range(60):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    victim = place / draw.choice(["metadata", "channel0_0", "channel0_1", "channel0_0"])
    data = bytearray(victim.read_bytes())
    if turn % 3 == 0:
        del data[draw.randrange(len(data)):]
    else:
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
    victim.write_bytes(data)
    done = subprocess.run([tool, "convert", "--from-format", "ctf", place, "-o", "-"],
                          capture_output=True, check=False, timeout=100)
    assert done.returncode in (0, 3, 4), (turn, done.returncode, done.stderr[-300:])
    statuses.add(done.returncode)
    if done.returncode != 4:
        check = subprocess.run([tool, "verify", "-"], input=done.stdout, capture_output=True,
                               check=False)
        assert check.returncode == 0, (turn, check.stdout[:300])
assert statuses == {0, 3, 4}, statuses
END

# A stream file that ends in a packet, or whose packet has no head: what comes before it is kept,
# and all of the other streams; the message says which file, and where.
python3 - <<'END'
from pathlib import Path
from ctf_writer import *
A, B = 0x401000, 0x401100
one = [[(10, 7, 7, ENTRY, A), (20, 7, 7, ENTRY, B)], [(30, 7, 7, EXIT, B), (40, 7, 7, ENTRY, B)],
       [(100, 7, 7, EXIT, B), (110, 7, 7, EXIT, A)]]
two = [([(15, 7, 8, ENTRY, A), (25, 7, 8, ENTRY, B)], 0), ([(120, 7, 8, EXIT, B)], 0)]
size = len(packet(one[0], 0))
def damage(name, change):
    write(f"{name}/inner", [[(events, 0) for events in one], two])
    file = Path(name, "inner/channel0_0")
    file.write_bytes(change(file.read_bytes()))
damage("truncated", lambda data: data[:2 * size - 20])
damage("headless", lambda data: data[:size] + bytes(size) + data[2 * size:])
damage("first", lambda data: data[:size - 1])
END
for name in truncated headless; do
    status 3 env TMPDIR="$PWD/empty" "$T" convert "$name" -o "$name.ttape"
    has err "'inner/channel0_0' is damaged in the packet at byte 142"
    lines err 1
    events "$name" <<'END'
7,10,enter,0,0x401000
7,20,enter,1,0x401100
8,15,enter,0,0x401000
8,25,enter,1,0x401100
8,120,exit,1,0x401100
END
done
status 3 env TMPDIR="$PWD/empty" "$T" convert first -o first.ttape
has err "at byte 0: what is there and behind it, 141 bytes, is missing"
events first <<'END'
8,15,enter,0,0x401000
8,25,enter,1,0x401100
8,120,exit,1,0x401100
END
[ -z "$(ls -A empty)" ] || fail "temporary folders are left: $(ls -A empty)"

# Damage inside of a packet ends that stream and no other; so does a file that has nothing, or that
# only its index tells of.
python3 - <<'END'
from pathlib import Path
from ctf_writer import *
A, B = 0x401000, 0x401100
one = [[(10, 7, 7, ENTRY, A), (20, 7, 7, ENTRY, B)], [(30, 7, 7, EXIT, B), (40, 7, 7, ENTRY, B)],
       [(100, 7, 7, EXIT, B), (110, 7, 7, EXIT, A)]]
two = [([(15, 7, 8, ENTRY, A), (25, 7, 8, ENTRY, B)], 0), ([(120, 7, 8, EXIT, B)], 0)]
late = [([(130, 7, 9, ENTRY, A), (1 << 63, 7, 9, EXIT, A)], 0)]
def channels(name, *cpus):
    write(f"{name}/inner", [[(events, 0) for events in one], two, *cpus])
    return Path(name, "inner/channel0_0")
file = channels("inside")
data = file.read_bytes()
at = len(packet(one[0], 0) + packet(one[1][:1], 0))
file.write_bytes(data[:at] + b"\xff\xff" + data[at + 2:])
channels("hollow").write_bytes(b"")
file = channels("gone")
Path(file.parent, "index").mkdir()
for number, bytes_ in ((0, 96), (1, 96), (7, 24)):
    Path(file.parent, f"index/channel0_{number}.idx").write_bytes(bytes(bytes_))
file.unlink()
file = channels("late", late).with_name("channel0_2")
data = file.read_bytes()
file.write_bytes(data[:32] + (130).to_bytes(8, "little") + data[40:])  # the packet's end is told
END
other='8,15,enter,0,0x401000
8,25,enter,1,0x401100
8,120,exit,1,0x401100'
status 3 "$T" convert inside -o inside.ttape
has err "'inner/channel0_0' is damaged behind 3 events: the rest of it is missing"
lines err 1
events inside <<END
7,10,enter,0,0x401000
7,20,enter,1,0x401100
7,30,exit,1,0x401100
$other
END
status 3 "$T" convert hollow -o hollow.ttape
has err "'inner/channel0_0' is empty: what was in it is missing"
lines err 1
events hollow <<<"$other"
status 3 "$T" convert gone -o gone.ttape
has err "'inner/channel0_0' is not there, and its index is: what was in it is missing"
lines err 1
events gone <<<"$other"
status 3 "$T" convert late -o late.ttape
has err '1 events left out: their times cannot be told in nanoseconds'
status 0 "$T" dump --format csv late.ttape
has out ',9,.*130,enter'

# When the library dies over a trace, what it read until then is kept.
if [ -z "${TTAPE_SANITIZE:-}" ]; then
    cat >die.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
static int calls;
int bt_message_iterator_next(void *iterator, void *messages, void *count)
{
    int (*real)(void *, void *, void *) = (int (*)(void *, void *, void *))dlsym(
        RTLD_NEXT, "bt_message_iterator_next");
    if (++calls == 300)
        abort();
    return real(iterator, messages, count);
}
END
    if "${TTAPE_CC:-gcc}" -shared -fPIC -o die.so die.c -ldl 2>err; then
        status 3 env LD_PRELOAD="$PWD/die.so" "$T" convert model.ctf -o died.ttape
        has err 'babeltrace2 died'
        status 0 "$T" verify died.ttape
        "$T" info --json died.ttape | grep -qE '"events": [1-9]' || fail "nothing was kept"
    fi
fi
verdict
