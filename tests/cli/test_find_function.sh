#!/bin/bash
# Verbs that take one function find it by its name, also where a compiler has put something behind,
# and say which there are where there is none; the status is 4. A pattern that matches nothing is an
# answer: status 0, and a line that says so.
. "$(dirname "$0")/common.sh"

printf '%s\n' '0 1 enter main' '1 1 enter spin.isra.0' '3 1 exit' '4 1 enter spinner' '6 1 exit' \
    '7 1 enter parse.part.2.constprop.1' '8 1 exit' '9 1 exit' | "$T" convert - -o a.ttape
for words in "slow a.ttape spin" "report a.ttape --callers spin" "report a.ttape --callees spin" \
    "report a.ttape --butterfly spin" "graph a.ttape --reach spin" "tree a.ttape --find spin"; do
    # shellcheck disable=SC2086 # words
    status 0 "$T" $words
    checks=$((checks + 1))
    case $words in
    *--callees* | *--reach*) grep -q . out || fail "nothing: $words" ;;
    *) has out 'spin\.isra\.0' ;;
    esac
    # shellcheck disable=SC2086 # words
    status 4 "$T" ${words/spin/spi}
    has err "has no function 'spi'; it has 'spin.isra.0', 'spinner'"
    # shellcheck disable=SC2086 # words
    status 4 "$T" ${words/spin/nothing}
    has err "has no function 'nothing'$"
done
status 0 "$T" slow a.ttape parse
has out 'parse\.part\.2\.constprop\.1'
status 0 "$T" slow a.ttape spinner
checks=$((checks + 1))
grep -q isra out && fail "an exact name is not only that"
for words in "report a.ttape --function" "report a.ttape --group" "report a.ttape --below" \
    "graph a.ttape --below" "dump a.ttape --function"; do
    # shellcheck disable=SC2086 # words
    status 4 "$T" $words nothing
    has err "nothing that was called matches 'nothing'"
done
status 4 "$T" report a.ttape --time 5s..6s
has err "it is from \+0 to \+0\.000ms"
# what record would do without further words; and options that are of system calls
cat >loop.c <<'END'
int __attribute__((noinline)) turn(int n) { return n * 3 + 1; }
int main(int count, char **words) { return turn(count) == (words == 0); }
END
gcc -O1 loop.c -o loop || fail gcc
status 0 "$T" record --plan -- ./loop
has out 'turn'
gcc -O1 -finstrument-functions loop.c -o hooks || fail gcc
status 2 "$T" record --plan --no-patch -- ./hooks
has err "nothing of './hooks' is patched without --patch"
status 0 "$T" record -f -o loop.ttape --stacks -- ./loop
has err '1 process and 1 thread '
has err '.-stacks and --data are of system calls'
mkdir folder
status 4 "$T" report folder
has err "the folder 'folder' has no files .* is for 'tracetape recover'"
status 2 "$T" diff a.ttape
has err 'diff needs two files'
# What took far longer than is usual: g did. Of f, whose calls are in one another, that is unknown:
# its total counts the outermost alone.
{
    seq 0 10 290 | awk '{ printf "%dus 1 enter g\n%dus 1 exit g\n", $1, $1 + 1 }'
    printf '300us 1 enter g\n800us 1 exit g\n1000us 1 enter f\n'
    seq 1010 10 1290 | awk '{ printf "%dus 1 enter f\n%dus 1 exit f\n", $1, $1 + 1 }'
    printf '2000us 1 exit f\n'
} >unusual.txt
status 0 "$T" convert unusual.txt -o unusual.ttape
status 0 "$T" slow unusual.ttape
has out '^Far longer than USUAL'
sed '1,/^Far longer/d' out | awk 'NR > 1 { print $1, $2, $3, $4 }' >got
echo '500.000 us 1.000 us' >wanted
same got wanted
# Of calls that are all too short for the clock none is far longer.
seq 0 10 290 | awk '{ printf "%dus 1 enter g\n%dus 1 exit g\n", $1, $1 }' >short.txt
status 0 "$T" convert short.txt -o short.ttape
status 0 "$T" slow short.ttape
has out '^DURATION'
grep -q '^Far longer' out && fail 'calls of no time are called far longer than usual'
verdict
