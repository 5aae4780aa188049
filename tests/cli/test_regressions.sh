#!/usr/bin/env bash
# Inputs that once went wrong, each with what must hold.
. "$(dirname "$0")/common.sh"

# Depths recorded too low, then a switch to an empty stack: the state between two events may be out
# of range as long as no event is (F-EVT-05). Readers refused the file that the writer had written.
cat >"switch.txt" <<'EOF'
1 1 enter a
2 1 enter b
3 1 enter c depth=0
4 1 switch 1
5 1 enter d depth=0
6 1 exit d depth=0
EOF
status 0 "$T" convert "switch.txt" -o "switch.ttape"
status 0 "$T" verify "switch.ttape"

# A depth recorded too low, then exits without one: depths stop at the outermost.
cat >"low.txt" <<'EOF'
1 1 enter a
2 1 enter b
3 1 enter c depth=0
4 1 exit c
5 1 exit b
6 1 exit a
EOF
status 0 "$T" convert "low.txt" -o "low.ttape"
status 0 "$T" verify "low.ttape"

# An event at the last time there is: graph took it for one behind an alarm that never comes, and
# asked for the next one for ever; diff has no alarms, and called one.
cat >"last.txt" <<'EOF'
1 1 enter a
18446744073709551615 1 exit a
EOF
status 0 "$T" convert "last.txt" -o "last.ttape"
for form in --json --format=dot --summary; do
    status 0 timeout 60 "$T" graph "$form" "last.ttape"
done
status 0 "$T" diff "last.ttape" "last.ttape"

# The longest time there is: its mean, as a double, is one nanosecond longer than that.
cat >"longest.txt" <<'EOF'
0 1 enter a
9223372036854775806 1 exit a
EOF
status 0 "$T" convert "longest.txt" -o "longest.ttape"
status 0 "$T" report "longest.ttape"
has out 'TOTAL'
has out ' a$'
if grep -q -e '-9223372036' out; then
    fail "a mean below zero"
fi
# Stacks of two threads whose times together pass 2^63: their line was left out, and the sum of them
# ended a command that was built with a sanitizer.
cat >"sums.txt" <<'EOF'
0 1 enter a
1 1 enter b
9223372036854775806 1 exit b
9223372036854775806 1 exit a
0 2 enter a
1 2 enter b
9223372036854775806 2 exit b
9223372036854775806 2 exit a
EOF
status 0 "$T" convert "sums.txt" -o "sums.ttape"
for least in 0 1; do
    status 0 "$T" export "sums.ttape" --format folded --min-time "$least"
    has out '^a;b 18446744073709551610$'
    has out '^a 2$'
done
verdict
