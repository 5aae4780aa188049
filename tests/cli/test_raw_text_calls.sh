#!/usr/bin/env bash
# System calls in the plain text form: their names, their paths, what ends which; bad lines.
. "${TTAPE_SRC:?}/tests/cli/common.sh"

cat >calls.txt <<'END'
module 0x1000 0x2000 /bin/x
1 1 enter main
2 1 syscall-enter read path="main;f(int, int);0x1010" depth=1 3 0x7ffe 10
3 1 signal 2
4 1 syscall-enter "write" path="main;f(int, int);0x1010" 1
5 1 syscall-exit write -32
6 1 signal-end 2
7 1 syscall-exit - 10
8 1 syscall-enter read path=-;g
9 1 syscall-enter poll
10 1 syscall-exit read
11 1 syscall read
12 1 syscall-exit nanosleep
13 1 exit
END
status 0 "$T" convert calls.txt -o calls.ttape
status 0 "$T" verify calls.ttape
status 0 "$T" dump calls.ttape --format csv
cat >expected.csv <<'END'
stream,tid,time_ns,kind,depth,address,symbol
0,1,1,enter,0,0x0,main
0,1,2,enter,1,0x0,read
0,1,3,signal,2,,
0,1,4,enter,3,0x0,write
0,1,5,exit,3,0x0,write
0,1,6,signal_end,2,,
0,1,7,exit,1,0x0,read
0,1,8,enter,1,0x0,read
0,1,9,enter,2,0x0,poll
0,1,10,exit,1,0x0,read
0,1,11,syscall,1,0x0,read
0,1,12,exit,1,0x0,nanosleep
0,1,13,exit,0,0x0,main
END
same out expected.csv

# Paths where they are asked for.
status 0 "$T" dump calls.ttape --paths
has out ' read\(3, 0x7ffe, 10\) \{ /\* by main;f\(int, int\);x\+0x10 \*/$'
has out ' read\(\) \{ /\* by \.\.\.;g \*/$'
has out ' poll\(\) \{$'
status 0 "$T" dump calls.ttape --paths --format ndjson
has out '"symbol":"read","path":\["main","f\(int, int\)","x\+0x10"\],"values":\[3,'
has out '"symbol":"read","path":\[null,"g"\]'
status 0 "$T" dump calls.ttape --paths --format csv
has out '^0,1,2,enter,1,0x0,read,"main;f\(int, int\);x\+0x10"$'
has out '^0,1,8,enter,1,0x0,read,\.\.\.;g$'
has out '^0,1,9,enter,2,0x0,poll,$'

status 0 "$T" info calls.ttape
has out '^defined .* 1 scope, 5 paths$'
status 0 "$T" info --json calls.ttape
has out '"paths": ?5'

# What is wrong in a line is said, and the line left out.
cat >bad.txt <<'END'
1 1 syscall-enter
2 1 syscall-exit
3 1 syscall-enter read path=
4 1 syscall-enter read path=a;;b
5 1 syscall-enter read path=a;-
6 1 syscall-enter read path="a;b
7 1 syscall-enter read path="a"c
8 1 syscall-enter read path=a
9 1 syscall-exit
END
status 3 "$T" convert bad.txt -o bad.ttape
for line in 1 2 3 4 5 6 7; do has err "line $line skipped"; done
checks=$((checks + 1))
! grep -q 'line 8 skipped' err || fail 'a good line was refused'
status 0 "$T" dump bad.ttape --format csv
lines out 3

# A call is one row of a report, whatever led to it; within itself its time counts once.
cat >rows.txt <<'END'
1us 1 syscall-enter read path=A
3us 1 signal 2
4us 1 syscall-enter read path=A;handler
6us 1 syscall-exit read
7us 1 signal-end 2
9us 1 syscall-exit read
10us 1 syscall-enter read
12us 1 syscall-exit read
END
for size in 3 1000; do
    status 0 "$T" convert rows.txt -o rows.ttape --force --partition-events $size
    status 0 "$T" report rows.ttape
    has out '^ *10.000 us +8.000 us +72.7 +3 .* read$'
done
lines out 4

# Stacks begin with the path that led to a call; what a handler does in it stands on it.
cat >folded.txt <<'END'
A;read 4000
A;read;signal 2 2000
A;handler;read 2000
read 2000
END
status 0 "$T" export --format folded rows.ttape
same out folded.txt
cat >cut.txt <<'END'
1us 1 enter f
2us 1 syscall-enter read path=-;A
4us 1 enter g
6us 1 exit
7us 1 syscall-exit
8us 1 syscall-enter read path=-;A
9us 1 syscall-exit
END
status 0 "$T" convert cut.txt -o cut.ttape
status 0 "$T" export --format folded cut.ttape
printf 'f 2000\n...;A;read 4000\n...;A;read;g 2000\n' >folded.txt
sort out >sorted
sort folded.txt >wanted
same sorted wanted

# Copies keep paths: cut, and merged with another trace, whose paths have other numbers.
status 0 "$T" convert calls.txt -o parts.ttape --partition-events 4
status 0 "$T" dump parts.ttape --paths --format csv
cp out whole.csv
status 0 "$T" cut parts.ttape -o cut2.ttape --partition 1..
status 0 "$T" dump cut2.ttape --paths --format csv
(head -n 1 whole.csv; tail -n +6 whole.csv) >wanted
same out wanted
status 0 "$T" merge rows.ttape parts.ttape -o merged.ttape
status 0 "$T" verify merged.ttape
status 0 "$T" dump merged.ttape --paths --format csv
has out ',1,2,enter,1,0x0,read,"main;f\(int, int\);x\+0x10"$'
has out ',4000,enter,2,0x0,read,A;handler$'

# In a graph the frames of a path are on the stack, and have no calls.
cat >nested.txt <<'END'
1us 1 syscall-enter S1 path=A1;A2
5us 1 syscall-enter S2 path=A1;A2;S1
7us 1 syscall-exit S2
9us 1 syscall-exit S1
11us 1 syscall-enter S1 path=A1;A3;A2;A1
21us 1 syscall-enter S2 path=A1;A3;A2;A1;S1
23us 1 syscall-exit S2
28us 1 syscall-exit S1
END
status 0 "$T" convert nested.txt -o nested.ttape
status 0 "$T" graph --all nested.ttape
sed -n 's/ *starts.*//; s/^ *[0-9.]* *//p' out | tail -n +3 | tr -s ' ' >got
cat >wanted <<'END'
25.000 us 0 0 A1
17.000 us <=17.000 us 1 S1
4.000 us 4.000 us 2 S2
17.000 us 0 0 A3
17.000 us 0 0 A2
17.000 us 0 0 A1 ^
8.000 us <=8.000 us 1 S1 ^
8.000 us 0 0 A2 ^
END
same got wanted

# A path of as many frames as there may be, and of one more.
frames() { printf '1 1 syscall-enter read path=f'; printf ';f%.0s' $(seq 2 "$1"); echo; }
frames 65535 >deep.txt
status 0 "$T" convert deep.txt -o deep.ttape
frames 65536 >deep.txt
echo '2 1 enter f' >>deep.txt
status 3 "$T" convert deep.txt -o deep.ttape --force
status 0 "$T" verify deep.ttape

# Two runs that begin alike are two traces; one file is one, each time.
run() { seq 0 2 19998 | awk '{ printf "%d 1 enter f\n%d 1 exit\n", $1, $1 + 1 }'; }
id() { status 0 "$T" convert "$1" -o "$1.ttape" --force; xxd -s 16 -l 16 -p "$1.ttape"; }
run >one.txt
cp one.txt same.txt
sed '$s/19999/20000/' one.txt >other.txt
[ "$(id one.txt)" = "$(id same.txt)" ] || fail "one text has two trace ids"
[ "$(id one.txt)" != "$(id other.txt)" ] || fail "two texts have one trace id"
verdict
