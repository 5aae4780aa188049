#!/usr/bin/env bash
# Chrome trace JSON becomes a trace: both forms of the file, all kinds of events, any order, exact
# times; and whatever else a file may hold is skipped with a warning, never a crash.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
export PYTHONPATH=$TTAPE_SRC/tests/cli

("$T" convert --from-format chrome /nonexistent -o x 2>&1 || true) >probe
if grep -q 'not in this build' probe; then
    printf 'SKIPPED: built without jansson\n'
    exit 77
fi

# convert STATUS NAME < JSON: NAME.ttape, checked, and its events in NAME.csv
convert() {
    checks=$((checks + 1))
    cat >"$2.json"
    local got=0
    "$T" convert --force "$2.json" -o "$2.ttape" 2>err || got=$?
    [ "$got" -eq "$1" ] || { fail "status $got instead of $1 for $2"; head -n 3 err; }
    [ "$got" -eq 4 ] && { absent "$2.ttape"; return; }
    "$T" verify "$2.ttape" >out 2>&1 || fail "$2.ttape does not verify: $(head -n 1 out)"
    "$T" dump --format csv "$2.ttape" | cut -d, -f2-5,7 >"$2.csv"
}

# events NAME < LINES: what "tid,time,kind,depth,symbol" the trace holds
events() {
    (printf 'tid,time_ns,kind,depth,symbol\n'; cat) >want
    same "$1.csv" want
}

# Both forms, with names and exact times.
convert 0 object <<'END'
{"displayTimeUnit":"ns","junk":{"a":[1,{"b":"]}\""}]},"traceEvents":[
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"worker"}},
{"ph":"B","pid":1,"tid":2,"ts":1000000.001,"name":"main"},
{"ph":"X","pid":1,"tid":2,"ts":1000000.002,"dur":0.003,"name":"leaf","cat":"x"},
{"ph":"i","pid":1,"tid":2,"ts":"1000000.004","name":"mark","s":"t"},
{"ph":"E","pid":1,"tid":2,"ts":1000001e0},
{"ph":"M","pid":1,"tid":2,"name":"process_name","args":{"name":"prog"}}
],"otherData":{"x":[]}}
END
events object <<'END'
2,1000000001,enter,0,main
2,1000000002,enter,1,leaf
2,1000000004,marker,2,mark
2,1000000005,exit,1,leaf
2,1000001000,exit,0,main
END
status 0 "$T" info object.ttape
has out 'worker'

sed -n '/"ph":"B"/,/"ph":"E"/p' object.json | (printf '\xef\xbb\xbf [\n'; cat) >head.json
convert 0 array <head.json # no end, and a byte order mark: as a program that died leaves it
same array.csv object.csv
"$T" convert - -o - <object.json >piped.ttape 2>err || fail "from a pipe: $(cat err)"
cmp -s piped.ttape object.ttape || fail "a pipe gives other bytes than a file"
convert 0 empty <<<'[]'
convert 0 none <<<'{"traceEvents":[]}'

# X in the order of their ends, twins, lengths of 0, and times to be rounded.
convert 0 nested <<'END'
[{"ph":"X","ts":3,"dur":1,"name":"c"},{"ph":"X","ts":2,"dur":3,"name":"b"},
{"ph":"X","ts":5,"dur":0,"name":"d"},{"ph":"X","ts":1,"dur":4,"name":"a1"},
{"ph":"X","ts":1,"dur":9,"name":"a"},{"ph":"X","ts":5,"dur":1.0004,"name":"e"},
{"ph":"X","ts":5.9999,"dur":4.0006,"name":"f"},{"ph":"X","ts":5,"dur":0,"name":"d2"}]
END
events nested <<'END'
0,1000,enter,0,a
0,1000,enter,1,a1
0,2000,enter,2,b
0,3000,enter,3,c
0,4000,exit,3,c
0,5000,exit,2,b
0,5000,exit,1,a1
0,5000,enter,1,e
0,5000,enter,2,d
0,5000,exit,2,d
0,5000,enter,2,d2
0,5000,exit,2,d2
0,6000,exit,1,e
0,6000,enter,1,f
0,10000,exit,1,f
0,10000,exit,0,a
END

# Frames that lie across others are cut to fit, and counted.
convert 3 across <<'END'
[{"ph":"X","ts":1,"dur":5,"name":"a"},{"ph":"X","ts":3,"dur":9,"name":"b"},
{"ph":"X","ts":20,"dur":5,"name":"c"},{"ph":"B","ts":22,"name":"d"},{"ph":"E","ts":28,"name":"d"}]
END
has err '2 frames lie across'
events across <<'END'
0,1000,enter,0,a
0,3000,enter,1,b
0,6000,exit,1,b
0,6000,exit,0,a
0,20000,enter,0,c
0,22000,enter,1,d
0,25000,exit,1,d
0,25000,exit,0,c
END

# At one time E's of what is inside an X come first; of X and B the one that ends later is outside.
convert 0 tie <<END
[{"name":"work","ph":"X","ts":0,"dur":100,"pid":1,"tid":1},
{"name":"inner","ph":"B","ts":40,"pid":1,"tid":1},
{"name":"inner","ph":"E","ts":100,"pid":1,"tid":1},
{"name":"outer","ph":"B","ts":200,"pid":1,"tid":1},
{"name":"inner","ph":"X","ts":200,"dur":30,"pid":1,"tid":1},
{"name":"outer","ph":"E","ts":300,"pid":1,"tid":1},
{"name":"b","ph":"B","ts":400,"pid":1,"tid":1},
{"name":"x","ph":"X","ts":400,"dur":90,"pid":1,"tid":1},
{"name":"b","ph":"E","ts":460,"pid":1,"tid":1}]
END
events tie <<'END'
1,0,enter,0,work
1,40000,enter,1,inner
1,100000,exit,1,inner
1,100000,exit,0,work
1,200000,enter,0,outer
1,200000,enter,1,inner
1,230000,exit,1,inner
1,300000,exit,0,outer
1,400000,enter,0,x
1,400000,enter,1,b
1,460000,exit,1,b
1,490000,exit,0,x
END

# E's of one time in another order than their B's; an E before its own B; B's in another order.
convert 0 order <<'END'
[{"ph":"B","ts":1,"name":"a"},{"ph":"B","ts":2,"name":"b"},{"ph":"B","ts":3,"name":"c"},
{"ph":"E","ts":5,"name":"a"},{"ph":"E","ts":5,"name":"c","args":{"r":7}},
{"ph":"E","ts":5,"name":"b"},
{"ph":"E","ts":6,"name":"d"},{"ph":"B","ts":6,"name":"d"},{"ph":"B","ts":7,"name":"f"},
{"ph":"B","ts":7,"name":"e"},{"ph":"E","ts":8,"name":"f"},{"ph":"E","ts":9,"name":"e"}]
END
events order <<'END'
0,1000,enter,0,a
0,2000,enter,1,b
0,3000,enter,2,c
0,5000,exit,2,c
0,5000,exit,1,b
0,5000,exit,0,a
0,6000,enter,0,d
0,6000,exit,0,d
0,7000,enter,0,e
0,7000,enter,1,f
0,8000,exit,1,f
0,9000,exit,0,e
END
status 0 "$T" dump order.ttape
has out 'c\(\) = 7;'

# Twins of X: the first in the file is outside, the last one where X are written as they end.
convert 0 twins <<'END'
[{"ph":"X","tid":1,"ts":1,"dur":4,"name":"out"},{"ph":"X","tid":1,"ts":1,"dur":4,"name":"in"},
{"ph":"X","tid":2,"ts":2,"dur":1,"name":"in"},{"ph":"X","tid":2,"ts":2,"dur":1,"name":"out"},
{"ph":"X","tid":2,"ts":1,"dur":4,"name":"top"}]
END
events twins <<'END'
1,1000,enter,0,out
1,1000,enter,1,in
1,5000,exit,1,in
1,5000,exit,0,out
2,1000,enter,0,top
2,2000,enter,1,out
2,2000,enter,2,in
2,3000,exit,2,in
2,3000,exit,1,out
2,5000,exit,0,top
END

# Sums of what programs have as doubles: calls that follow on each other do, at any time.
convert 0 sums <<'END'
[{"ph":"X","ts":0.1,"dur":0.2,"name":"a"},{"ph":"X","ts":0.30000000000000004,"dur":1,"name":"b"},
{"ph":"X","ts":5.0005,"dur":2.0005,"name":"c"},{"ph":"X","ts":7.001,"dur":3,"name":"d"},
{"ph":"X","ts":1700000000000000.0,"dur":10.3,"name":"e"},
{"ph":"X","ts":1700000000000010.25,"dur":9,"name":"f"}]
END
events sums <<'END'
0,100,enter,0,a
0,300,exit,0,a
0,300,enter,0,b
0,1300,exit,0,b
0,5001,enter,0,c
0,7001,exit,0,c
0,7001,enter,0,d
0,10001,exit,0,d
0,1700000000000000000,enter,0,e
0,1700000000000010250,exit,0,e
0,1700000000000010250,enter,0,f
0,1700000000000019250,exit,0,f
END

# A call that did not finish is open; times below 0 are shifted, and that is said.
convert 0 below <<'END'
[{"ph":"X","ts":-613000,"dur":613000,"name":"Launch Blaze"},{"ph":"B","tid":1,"ts":-5.5,"name":"b"},
{"ph":"E","tid":1,"ts":15},
{"ph":"X","ts":20,"name":"RunTask"},{"ph":"X","ts":21,"dur":2,"name":"in"}]
END
has err 'its times begin at -613000.000 us: that is 0 of the trace'
events below <<'END'
0,0,enter,0,Launch Blaze
0,613000000,exit,0,Launch Blaze
0,613020000,enter,0,RunTask
0,613021000,enter,1,in
0,613023000,exit,1,in
1,612994500,enter,0,b
1,613015000,exit,0,b
END
status 0 "$T" info below.ttape
has out 'time_shift_ns +613000000'
convert 0 origin <<'END'
{"otherData":{"time_origin_ns":"5000"},"traceEvents":[{"ph":"i","ts":-2,"name":"m"}]}
END
events origin <<<'0,3000,marker,0,m'

# What is no JSON costs the character or the value, not the call.
printf '[{"ph":"B","ts":1,"name":"\303\274 \374\t\\x \\ud800 \001"},
{"ph":"X","ts":2,"dur":5,"name":"x","args":
{"a":NaN,"b":-Infinity,"c":1e999,"d":undefined,"e":12345678901234567890,"e":7,"f":{"g":[1,,2,]},}},
{"ph":"X","ts":3,"ts":4,"dur":1,"name":"y"},{"ph":"X","ts":4.5,"dur":NaN,"name":"z"},
{"ph":"E","ts":"soon"}]' >odd.in
convert 3 odd <odd.in
for word in '4 values are no JSON .*: kept as texts; the first in the event at byte 46$' \
    '3 control characters or wrong escapes' '2 bytes or escapes in texts are no character' \
    '2 events with a key that comes twice' "1 calls \(X\) whose 'dur' is no length" \
    "1 events whose 'ts' is no time"; do
    has err "$word"
done
status 0 "$T" dump odd.ttape
has out 'x\("NaN", "-Infinity", "1e999", "undefined", 7, "\{.*1,2.*\}"\)'
printf 'tid,time_ns,kind,depth,symbol\n0,1000,enter,0,%s\n' 'ü �\x09\\x � \x01' >want
cat >>want <<'END'
0,2000,enter,1,x
0,4000,enter,2,y
0,4500,enter,3,z
0,5000,exit,2,y
0,7000,exit,1,x
0,7000,exit,0,ü �\x09\\x � \x01
END
same odd.csv want
convert 3 'no time' <<'END'
[{"ph":"B","name":"a"},{"ph":"B","ts":NaN,"name":"a"},{"ph":"i","ts":1,"name":"i"}]
END
events 'no time' <<<'0,1000,marker,0,i'
has err 'event at byte 1 skipped'

# Names: numbers are their texts; without one it is said.
convert 0 named <<'END'
[{"ph":"B","ts":1,"name":5},{"ph":"B","ts":2},{"ph":"B","ts":3,"name":""},
{"ph":"X","ts":4,"dur":1,"name":[1]},
{"ph":"E","ts":6,"name":""},{"ph":"E","ts":7,"name":null},{"ph":"E","ts":8,"name":5},
{"ph":"i","ts":9,"name":0.25}]
END
events named <<'END'
0,1000,enter,0,5
0,2000,enter,1,(no name)
0,3000,enter,2,(no name)
0,4000,enter,3,[1]
0,5000,exit,3,[1]
0,6000,exit,2,(no name)
0,7000,exit,1,(no name)
0,8000,exit,0,5
0,9000,marker,0,0.25
END

# Forms: beginnings of some writers, several arrays or objects in a file, one event a line.
two='{"ph":"B","ts":1,"name":"a"},{"ph":"E","ts":9}'
convert 0 simple <<<"[$two]"
for text in "[,$two" "[null,$two,null]" "[${two/,{/][{}]" "${two/,{/
{}" "$two," "{\"traceEvents\":[${two/,{/]\}
{\"a\":[1],\"traceEvents\":[{}]}" "[${two/,{/] {}"; do
    convert 0 form <<<"$text"
    same form.csv simple.csv
done

# Long numbers of threads stand apart from the times.
convert 0 wide <<<'[{"ph":"i","pid":1,"tid":140390667650624,"ts":5,"name":"c"}]'
status 0 "$T" dump wide.ttape
has out '^ +TIME \(s\) +TID  DURATION  EVENT$'
has out '^ +0.000000000 140390667650624 +marker c\(\)$'

# Threads whose numbers are texts are no others' threads.
convert 0 texts <<'END'
[{"ph":"B","pid":1,"tid":"a","ts":1,"name":"a"},
{"ph":"B","pid":1,"tid":1073741824,"ts":2,"name":"b"},{"ph":"E","pid":1,"tid":"a","ts":3},
{"ph":"E","pid":1,"tid":1073741824,"ts":4},
{"ph":"i","pid":1,"tid":18446744073709551615,"ts":5,"name":"c"},
{"ph":"i","pid":1,"tid":"18446744073709551615","ts":6,"name":"d"}]
END
events texts <<'END'
1073741824,1000,enter,0,a
1073741824,3000,exit,0,a
1073741824,2000,enter,0,b
1073741824,4000,exit,0,b
18446744073709551615,5000,marker,0,c
18446744073709551615,6000,marker,0,d
END

# An end names the frame that it ends: what is above was left; ends without a name are the top's.
convert 3 ends <<'END'
[{"ph":"B","ts":1,"name":"a"},{"ph":"B","ts":2,"name":"b"},{"ph":"B","ts":3,"name":"c"},
{"ph":"E","ts":4,"name":"a"},{"ph":"E","ts":5,"name":"z"},{"ph":"E","ts":6},
{"ph":"B","ts":7,"name":"q"},{"ph":"E","ts":8}]
END
has err '1 ends \(E\) without a begin'
events ends <<'END'
0,1000,enter,0,a
0,2000,enter,1,b
0,3000,enter,2,c
0,4000,exit,0,a
0,5000,exit,0,z
0,7000,enter,0,q
0,8000,exit,0,q
END

# Threads: numbers, texts, and none; arguments become values.
convert 0 threads <<'END'
[{"ph":"B","pid":"gpu","tid":"main","ts":1,"name":"a","args":{"x":1,"y":-2,"z":"t","n":null,
"f":0.5,"b":true,"o":{"k":[1]}}},{"ph":"E","pid":"gpu","tid":"main","ts":2,"args":{"r":9}},
{"ph":"B","pid":5,"ts":1,"name":"b"},{"ph":"E","pid":5,"ts":2},
{"ph":"B","pid":"5","tid":"5","ts":3,"name":"c"},{"ph":"E","pid":5,"tid":5,"ts":4}]
END
status 0 "$T" dump threads.ttape
has out 'a\(1, -2, "t", null, 0.5, 1, "\{\\"k\\":\[1\]\}"\)'
status 0 "$T" info --json threads.ttape
has out '"streams": 2'

# What a trace has no place for is counted; what cannot be read is skipped.
convert 3 others <<'END'
[{"ph":"C","ts":1,"name":"n","args":{"v":1}},{"ph":"C","ts":2,"name":"n"},{"ph":"b","ts":2},
{"ph":"B","ts":3,"name":"a"},{"ph":"E","ts":4},17,"text",{"ph":"B"},{"ph":"B","ts":-5,"name":"x"},
{"ph":"B","ts":"soon","name":"x"},{"ph":"X","ts":5,"name":"x"},{"ph":"X","ts":5,"dur":1e999},
{"ph":"B","ts":1e300,"name":"x"},{"ph":7,"ts":1},{"ph":"BE","ts":1},{},[],{"ph":"B","ts":[1]},
{"ph":"B","ph":"E","ts":9,"name":"twice"},{"ph":"B","ts":5,"name":"bad\x"},{"ph":"B","ts":6,},
{"ph":"i","ts":7,"name":"m","args":{"big":123456789012345678901234567890}}]
END
has err "2 events of phase 'C' left out"
has err "1 events of phase 'b' left out"
events others <<'END'
0,0,enter,0,x
0,0,enter,1,x
0,8000,enter,2,a
0,9000,exit,2,a
0,10000,enter,2,x
0,10000,enter,3,(no name)
0,10000,enter,4,x
0,10000,enter,5,(no name)
0,10000,enter,6,bad\\x
0,11000,enter,7,(no name)
0,12000,marker,8,m
0,14000,exit,8,twice
END
convert 4 nothing <<<'[{"ph":"B"}]'
convert 4 words <<<'{"a":1,"b":[2]}'
convert 3 cut <<<'{"traceEvents":[{"ph":"B","ts":1,"name":"a"},{"ph":"E","ts'
lines cut.csv 2
pair='[{"ph":"B","ts":1,"name":"a"},{"ph":"E","ts":9}]'
convert 3 behind <<<"$pair,{}"
has err 'left out from byte 48 on: the events have ended'
lines behind.csv 3
convert 3 behind <<<"{\"traceEvents\":$pair,\"b\":1} {"
has err 'left out from byte 71 on: the events have ended'
convert 3 behind <<<"{\"traceEvents\":$pair,]"
convert 0 behind <<<"{\"traceEvents\":$pair,\"b\":"
convert 4 ended <<<'[]x'
has err 'left out from byte 2 on: the events have ended'
convert 3 garbage <<<'[{"ph":"B","ts":1,"name":"a"} nonsense : }'

# Large and deep: bounded memory, and the rest of the file is read.
python3 - <<'END'
def write(name, *parts):
    with open(name + ".json", "w", encoding="utf-8") as file:
        file.write('[{"ph":"B","ts":1,"name":"a"},' + "".join(parts) + ',{"ph":"E","ts":9}]')
event = '{"ph":"B","ts":2,"name":"%s"}'
write("name", event % ("n" * 1_000_000), ",", event % ("m" * 3_000_000), ',{"ph":"E","ts":3}' * 2)
write("object", '{"ph":"i","ts":2,"name":"x","args":{"a":"' + "y" * 40_000_000 + '"}}')
write("deep", '{"ph":"i","ts":2,"name":"x","args":' + '{"a":[' * 200_000 + "]}" * 200_000 + "}")
write("deeper", "[" * 5_000_000 + "]" * 5_000_000)
write("args", '{"ph":"i","ts":2,"name":"x","args":{' +
      ",".join(f'"k{i}":{i}' for i in range(100_000)) + "}}")
write("spaces", " " * 30_000_000 + '{"ph":"i","ts":2,"name":"x"}')
END
for name in name object deep deeper args spaces; do
    wanted=3
    case $name in name | args | spaces) wanted=0 ;; esac
    mv $name.json in.json
    convert $wanted $name <in.json
    case $name in object | deep) has err '1 values are too long or too deep: null' ;; esac
    case $name in object | deep) has $name.csv '^0,2000,marker,1,x$' ;; esac
    has $name.csv '^0,1000,enter,0,a$'
    has $name.csv '^0,9000,exit,0,a$'
done
python3 - "$T" <<'END' || fail "memory is not bounded"
import os, resource, subprocess, sys
subprocess.run([sys.argv[1], "convert", "-f", "object.json", "-o", "x.ttape"], check=False,
               stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert os.environ.get("TTAPE_SANITIZE") or used < 150_000, used
END

# Our own export comes back: every frame, point and value, of thread after thread.
python3 - "$T" <<'END' || fail "an export does not come back"
import subprocess, sys
from collections import Counter
import export_model, export_readers
tool = sys.argv[1]
def run(*words, good=(0,), data=None):
    done = subprocess.run([tool, *words], input=data, capture_output=True, check=False)
    assert done.returncode in good, done.stderr
    return done.stdout
def frames(trace):
    tracks, threads, _ = export_readers.read_chrome(run("export", "--format", "chrome", trace))
    return Counter((threads[key], *frame[:3], *(v for _, v in frame[4]))
                   for key, track in tracks.items() for frame in track.frames)
for name, base in (("plain", 0), ("epoch", 1_700_000_000_000_000_000)):
    source = export_model.make_text(7, 2000, base=base)
    run("convert", "-", "-o", f"{name}.ttape", data=source.encode())
    with open(f"{name}.json", "wb") as file:
        file.write(run("export", "--format", "chrome", f"{name}.ttape"))
    run("convert", f"{name}.json", "-o", f"{name}2.ttape")
    want, got = frames(f"{name}.ttape"), frames(f"{name}2.ttape")
    assert want == got and sum(want.values()) > 1000, \
        (list((want - got).items())[:3], list((got - want).items())[:3])
END

# Damage of any kind: a trace or a refusal.
python3 - "$T" <<'END' || fail "damage is not survived"
import random, subprocess, sys
draw = random.Random(5)
whole = b"".join(open(f"{name}.json", "rb").read() for name in ("threads", "others", "nested"))
alphabet = b'{}[]",:\\0123456789.eE-+ntfu \x00\xff"ph""ts"BEX'
for turn in range(150):
    data = bytearray(whole)
    for _ in range(draw.randrange(1, 8)):
        at = draw.randrange(len(data))
        what = draw.randrange(3)
        if what == 0:
            data[at] = draw.choice(alphabet)
        elif what == 1:
            del data[at:at + draw.randrange(1, 30)]
        else:
            data[at:at] = bytes(draw.choice(alphabet) for _ in range(draw.randrange(1, 9)))
    if turn % 3 == 0:
        del data[draw.randrange(len(data)):]
    done = subprocess.run([tool := sys.argv[1], "convert", "--from-format", "chrome", "-", "-o",
                           "-"], input=bytes(data), capture_output=True, check=False, timeout=100)
    assert done.returncode in (0, 3, 4), (turn, done.returncode, done.stderr[-500:])
    if done.returncode != 4:
        check = subprocess.run([tool, "verify", "-"], input=done.stdout, capture_output=True,
                               check=False)
        assert check.returncode == 0, (turn, check.stdout[:300])
END
# A byte order mark counts, where a message says which byte; and one time that has no tick.
bad='[{"ph":"B","ts":9223372036854775.807,"name":"a","pid":1,"tid":1},{"ph":"X","ts":}]'
printf '%s' "$bad" >unmarked.json
printf '\xef\xbb\xbf%s' "$bad" >marked.json
for name in unmarked marked; do
    status 3 "$T" convert "$name.json" -o "$name.ttape"
    has err 'time 9223372036854775807 cannot be stored'
    at=$(sed -n 's/.*event at byte \([0-9]*\) skipped.*/\1/p' err)
    [ "$(tail -c +$((at + 1)) "$name.json")" = '{"ph":"X","ts":}]' ] || fail "no event at byte $at"
    status 0 "$T" dump "$name.ttape" --format csv
    has out ',9223372036854775806,enter,0,0x0,a$'
done
verdict
