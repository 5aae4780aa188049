#!/usr/bin/env bash
# The plain text raw form: every kind of line, byte for byte in CSV; bad lines; determinism.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

cat >all.txt <<'END'
# every kind of line
process 7 "prog, \"x\"" start=1us
thread 7 70 worker start=2ns
module 0x1000 0x2000 /bin/x build-id=00ff
symbol 0x1010 main main.c:12
symbol 0x1020 "a, \"b\""
symbol 0x1030 loop kind=block
meta command "a b"
10 70 enter main 1 -2 0x7ffe 0.5 "te\x1b\"xt" null hex:00ff bare
+5 70 enter 0x1020 depth=1
	  - 70 leaf loop  
- 70 marker tick 42
20 70 exit - 99
21 70 gap 17 overflow
1.5us 70 signal 11
+1 70 enter handler
+1 70 exit
+1 70 signal-end 11
+1 70 enter "0x1010"
+1 70 unwind 1
+1 70 switch 1
+1 70 syscall write
+1 70 switch 0
+1 70 exit main
3000 71 enter f
2999 71 exit g
3001 71 enter 0x9999 depth=5
3002 71 exit
END
cat >expected.csv <<'END'
stream,tid,time_ns,kind,depth,address,symbol
0,70,10,enter,0,0x1010,main
0,70,15,enter,1,0x1020,"a, ""b"""
0,70,15,block,2,0x1030,loop
0,70,15,marker,2,0x0,tick
0,70,20,exit,1,0x1020,"a, ""b"""
0,70,21,gap,1,,
0,70,1500,signal,1,,
0,70,1501,enter,2,0x0,handler
0,70,1502,exit,2,0x0,handler
END
status 0 "$T" convert all.txt -o all.ttape
status 0 "$T" verify all.ttape
has out ': ok$'
status 0 "$T" dump all.ttape --format csv
head -n 10 out >head.csv
same head.csv expected.csv
lines out 21
has out '^0,70,1504,enter,1,0x0,0x1010$'
has out '^0,70,1505,unwind,1,,$'
has out ',syscall,0,0x0,write$'
has out '^0,70,1509,exit,0,0x1010,main$'
has out '^1,71,2999,exit,1,0x0,g$'
has out '^1,71,3001,enter,5,0x9999,$'
status 0 "$T" dump all.ttape --format csv --details
lines out 21
has out '^0,70,21,gap,1,,overflow 17$'
has out '^0,70,1500,signal,1,,11$'
has out '^0,70,1505,unwind,1,,$'
has out '^0,70,1506,switch,1,,1$'
has out '^0,70,10,enter,0,0x1010,main$'
status 0 "$T" dump all.ttape
has out 'main\(1, -2, 0x7ffe, 0.5, "te\\x1b\\"xt", null, hex:00ff, "bare"\) \{'
has out 'gap: 17 events lost, reason: overflow'
has out '\} = 99 /\* a, "b" \*/'
clean out
# each reason of a gap has its name
for reason in unknown overflow damage filter cut sandbox stopped; do
    printf '1 1 gap 3 %s\n' "$reason" >gap.txt
    status 0 "$T" convert gap.txt -o gap.ttape --force
    status 0 "$T" dump gap.ttape
    has out "gap: 3 events lost, reason: $reason"
done
# where functions are: symbols with a file, without one, and no symbol at all
cat >places.txt <<'END'
module 0x1000 0x2000 "/lib/so \x1bz"
symbol 0x1010 main /src/main.c:12
symbol 0x1020 bare
0 1 enter main
1 1 enter bare
2 1 enter 0x1030
3 1 exit
4 1 enter 0x9000
5 1 exit
6 1 exit
7 1 exit
END
status 0 "$T" convert places.txt -o places.ttape
status 0 "$T" dump places.ttape
has out ' main\(\) \{$'
has out ' bare\(\) \{$'
has out ' so \\x1bz\+0x30\(\);$'
has out ' 0x9000\(\);$'
status 0 "$T" dump --places places.ttape
has out ' main \(main.c:12\)\(\) \{$'
has out ' bare \(so \\x1bz\+0x20\)\(\) \{$'
has out ' so \\x1bz\+0x30\(\);$'
clean out
status 0 "$T" dump --places --format ndjson places.ttape
has out '"symbol":"main","module":"/lib/so .u001bz","offset":"0x10",'
has out ',"file":"/src/main.c","line":12\}$'
has out '"symbol":"","module":"/lib/so .u001bz","offset":"0x30"\}$'
has out '"address":"0x9000","symbol":""\}$'
status 2 "$T" dump --places --format csv places.ttape
for verb in report "tree --full" graph; do
    # shellcheck disable=SC2086
    status 0 "$T" $verb places.ttape --no-pager
    has out 'so \\x1bz\+0x30'
    has out '0x9000'
    clean out
done
status 0 "$T" report places.ttape --no-pager --callers 'so '$'\x1b''z+0x30'
has out 'bare'
status 0 "$T" dump all.ttape --format ndjson
has out '"values":\[1,-2,"0x7ffe",0.5,"te.u001b."xt",null,\{"hex":"00ff"\},"bare"\]'
python3 -c 'import json, sys
for line in open("out"): json.loads(line)' || fail "the NDJSON does not parse"
status 0 "$T" info --json all.ttape
python3 - <<'END' || fail "info --json is wrong"
import json
info = json.load(open("out"))
assert info["events"] == 20 and info["streams"] == 2 and info["gaps"] == 1 and info["lost"] == 17
assert sum(info["bytes"].values()) == info["file_bytes"], info["bytes"]
assert set(info["bytes"]) == {"order", "times", "values", "summaries", "sites", "models", "other"}
assert info["resolution_ns"] == 1 and info["complete"] and not info["truncated"]
assert info["time_first_ns"] == 10 and info["processes"] == 1 and info["by_index"]
assert {"command": "a b"}.items() <= {m["key"]: m["value"] for m in info["metadata"]}.items()
END

# The same input gives the same bytes; an id that is asked for is taken.
status 0 "$T" convert all.txt -o again.ttape
same all.ttape again.ttape
"$T" convert - -o - <all.txt >piped.ttape || fail "converting a pipe"
same all.ttape piped.ttape
status 0 "$T" convert all.txt -o id.ttape --trace-id 000102030405060708090a0b0c0d0e0f
status 0 "$T" info id.ttape
has out 'trace 000102030405060708090a0b0c0d0e0f'

# Without times.
status 0 "$T" convert all.txt -o order.ttape --resolution none
status 0 "$T" dump order.ttape --format csv
has out '^0,70,,enter,0,0x1010,main$'
status 4 "$T" dump order.ttape --time 1s..
status 0 "$T" info --json order.ttape
has out '"resolution_ns": null'

# Every level gives the same events.
status 0 "$T" dump all.ttape --format csv
cp out levels.csv
for level in 0 1 3 6 9; do
    status 0 "$T" convert all.txt -o level.ttape --force --level "$level" \
        --partition-events 4 --jobs 2
    status 0 "$T" verify level.ttape
    status 0 "$T" dump level.ttape --format csv
    same out levels.csv
done

# Bad lines are named, counted and skipped.
cat >bad.txt <<'END'
nonsense
0 1 enter main
x 1 enter f
0 y enter f
0 1 jump f
0 1 enter
0 1 enter "open
0 1 enter "bad \q escape"
0 1 unwind 5
0 1 signal-end 3
0 1 switch 99999999
0 1 enter f depth=99999999999
0 1 enter f hex:0
99999999999999999999 1 enter f
process x
symbol main
symbol 0x10 main kind=nothing
9 1 exit
9 1 exit
END
printf '5 1 enter zero\0byte\n' >>bad.txt
status 3 "$T" convert bad.txt -o bad.ttape --from-format text
lines err 18
has err "^tracetape: 'bad.txt': line 1 skipped: "
has err 'line 20 skipped: a zero byte'
status 0 "$T" dump bad.ttape --format csv
lines out 3
status 4 "$T" convert bad.txt -o none.ttape
has err 'cannot tell the format'
status 4 "$T" convert bad.txt -o strict.ttape --strict --from-format text
lines err 1
absent strict.ttape
awk 'BEGIN { print "0 1 enter f"; for (i = 0; i < 50; i++) print "what" }' >many.txt
status 3 "$T" convert many.txt -o many.ttape
lines err 21
has err '^tracetape: 50 warnings in all, 20 shown$'
printf 'only\nwords\n' >words.txt
status 4 "$T" convert words.txt -o words.ttape
absent words.ttape
head -c 3000000 /dev/zero | tr '\0' 'x' >long.txt
printf '\n0 1 enter f\n' >>long.txt
status 3 "$T" convert long.txt -o long.ttape
has err 'line 1 skipped: the line is too long'
printf '0 1 enter last' >noend.txt
status 0 "$T" convert noend.txt -o noend.ttape
printf '0 1 enter dos\r\n1 1 exit\r\n' >dos.txt
status 0 "$T" convert dos.txt -o dos.ttape
status 0 "$T" dump dos.ttape --format csv
has out ',dos$'
# the one time that has no tick: 1 ns earlier, and nothing else is lost
printf '0 1 enter f\n9223372036854775807 1 exit\n9223372036854775808 1 enter g\n' >last.txt
status 3 "$T" convert last.txt -o last.ttape
lines err 1
has err 'time 9223372036854775807 cannot be stored: taken 1 ns earlier$'
status 0 "$T" dump last.ttape --format csv
has out '^0,1,9223372036854775806,exit,0,0x0,f$'
has out '^0,1,9223372036854775808,enter,0,0x0,g$'
status 0 "$T" convert last.txt -o coarse.ttape --resolution 2ns
status 4 "$T" convert last.txt -o strict.ttape --strict
absent strict.ttape
verdict
