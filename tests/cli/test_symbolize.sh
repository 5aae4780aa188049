#!/usr/bin/env bash
# Names, files and lines from real binaries of every kind that compilers and packagers make.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
# One that is asked a hundred times; subshells have descriptors, but no coprocess.
coproc ASKED { python3 "$TTAPE_SRC/tests/cli/symbol_tools.py" serve answer; }
exec 8>&"${ASKED[1]}" 9<&"${ASKED[0]}"
tools() {
    local IFS=$'\x1f' answered
    printf '%s\n' "$*" >&8
    read -r answered <&9 && [ "$answered" = done ] && cat answer
}
# what a sanitizer of the build under test adds would change nothing here but the time it takes
unset DEBUGINFOD_URLS

cat >part.c <<'END'
static __attribute__((noinline)) int hidden(int x)
{
    return x * 7;
}

int shown(int x)
{
    return hidden(x) + 1;
}

int main(int count, char **words)
{
    (void)words;
    return shown(count);
}
END
cat >part.cc <<'END'
namespace outer {
template <class T> struct box {
    T value;
    int get(int n);
};

template <class T> int box<T>::get(int n)
{
    return value + n;
}
template struct box<int>;
}

int main()
{
    return outer::box<int>{1}.get(2);
}
END

# trace NAME FILE BASE: NAME.ttape enters every function of FILE, loaded at BASE
trace() {
    tools text "$PWD/$2" "$3" >"$1.txt"
    "$T" convert "$1.txt" -o "$1.ttape" --force 2>err || fail "convert of $1"
}

# named STATUS NAME ARGUMENT...: NAME.ttape with names becomes NAME.sites
named() {
    local wanted=$1 name=$2
    shift 2
    status "$wanted" "$T" symbolize "$name.ttape" -o "$name-named.ttape" --force "$@"
    tools sites "$name-named.ttape" >"$name.sites" 2>&1
}

three() { # NAME: the functions of part.c, where they begin
    has "$1.sites" '^0x[0-9a-f]+ hidden .*/part\.c:2$'
    has "$1.sites" '^0x[0-9a-f]+ shown .*/part\.c:7$'
    has "$1.sites" '^0x[0-9a-f]+ main .*/part\.c:12$'
}

kinds=("-O0" "-O2" "-O2 -gdwarf-4" "-O2 -gdwarf-5" "-g3" "-O1 -gz" "-O2 -ffunction-sections"
    "-O1 -Wl,-z,noseparate-code" "-O1 -Wl,-z,separate-code" "-O1 -gsplit-dwarf"
    "-O1 -Wl,--build-id=none" "-O1 -Wl,--build-id=md5")
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null; then
        echo "without $compiler: its half is left out"
        continue
    fi
    for number in "${!kinds[@]}"; do
        # names and lines of clang are those of gcc's formats: each third
        [ "$compiler${TTAPE_THOROUGH:-}" != clang ] || [ $((number % 3)) -eq 1 ] || continue
        kind=${kinds[number]}
        # shellcheck disable=SC2086 # words
        $compiler -g $kind part.c -o pie -fPIE -pie || fail "$compiler $kind"
        trace pie pie 0x55d0c0de0000
        named 0 pie
        three pie
    done
    $compiler -g -O1 part.c -o fixed -no-pie
    trace fixed fixed 0x400000
    named 0 fixed
    three fixed
    $compiler -g -O1 -fPIC -shared part.c -o lib.so
    trace lib lib.so 0x7f1122330000
    named 0 lib
    three lib
    $compiler -g -O1 -fPIC -shared part.c -o high.so -Wl,-Ttext-segment=0x3a00000000
    trace high high.so 0x7f1122330000 # as after prelink: linked high, mapped elsewhere
    named 0 high
    three high
    $compiler -g -O1 -static part.c -o static 2>/dev/null && {
        trace static static 0x400000
        named 0 static
        three static
    }
    # shellcheck disable=SC2086 # words
    if $compiler -x c++ -g -O1 part.cc -o cpp 2>/dev/null; then
        trace cpp cpp 0x555555554000
        named 0 cpp
        has cpp.sites 'outer::box<int>::get\(int\) .*/part\.cc:[78]$'
        named 0 cpp --no-demangle
        has cpp.sites '_ZN5outer3boxIiE3getEi .*/part\.cc:[78]$'
        named 0 cpp --no-lines
        has cpp.sites 'outer::box<int>::get\(int\) :0$'
    fi
done

# Aliases: global and weak before local, then the shortest without its version, then the first by
# alphabet.
cat >alias.c <<'END'
static int local_one(void) { return 1; }
int weak_one(void) __attribute__((weak, alias("local_one")));
int global_long(void) __attribute__((alias("local_one")));
int global_b(void) __attribute__((alias("local_one")));
int global_a(void) __attribute__((alias("local_one")));
static int local_two(void) { return 2; }
int wk(void) __attribute__((weak, alias("local_two")));
__asm__(".text\n.type outside,@function\noutside: nop\ninside: nop\n.size outside,.-outside\n"
        "label: nop\nnop\n");
int (*kept[2])(void) = {local_one, local_two};
int __three(void) { return 3; }
int three(void) __attribute__((weak, alias("__three")));
int four_first(void) { return 4; }
int four64(void) __attribute__((weak, alias("four_first")));
__asm__(".symver four_first,four@@VERSION_1");
int main(void) { return kept[0]() + kept[1]() + __three() + four64(); }
END
echo 'VERSION_1 { };' >alias.map
gcc alias.c -o alias -rdynamic -Wl,--version-script=alias.map
tools text "$PWD/alias" 0x555555554000 >alias.txt
for label in inside label; do # no functions
    start=$(nm alias | sed -n "s/^0*\([0-9a-f]*\) t $label$/\1/p")
    python3 -c "print(f'9 1 enter {0x$start + 0x555555554000:#x}')" >>alias.txt
done
"$T" convert alias.txt -o alias.ttape
named 0 alias
has alias.sites ' global_a '
has alias.sites ' wk '
has alias.sites ' three '
has alias.sites ' four '
lines <(grep -cE ' (weak_one|global_long|global_b|local_one|local_two|__three) ' alias.sites |
    grep -v '^0' || true) 0
lines <(grep -E ' outside ' alias.sites) 2 # its own address, and the label inside of it
has alias.sites ' label '

# Where only exported names are left, nothing between two of them gets a name.
cat >gap.s <<'END'
.text
.globl exported, label
.type exported,@function
.type within,@function
exported: nop
nop
.size exported,.-exported
label: nop
within: nop
.size within,.-within
.section .note.GNU-stack,"",@progbits
END
gcc -shared -nostdlib gap.s -o gap.so
trace gap gap.so 0x7f0000000000
start=$(nm gap.so | sed -n 's/^0*\([0-9a-f]*\) . label$/\1/p')
python3 -c "print(f'9 1 enter {0x$start + 0x7f0000000000:#x}')" >>gap.txt
"$T" convert gap.txt -o gap.ttape --force
named 0 gap
has gap.sites ' within '
strip gap.so
named 3 gap
has gap.sites ' exported '
has gap.sites ' label '
lines <(grep -E '^0x[0-9a-f]+  :0$' gap.sites) 1

# A linker stub is known by what it jumps to.
printf 'int puts(const char *); int main(void) { return puts("x"); }' >plt.c
gcc -O1 -fPIE -pie plt.c -o plt
stub=$(objdump -d plt | sed -n 's/^0*\([0-9a-f]*\) <puts@plt>:.*/\1/p')
if [ -n "$stub" ]; then
    { tools text "$PWD/plt" 0 | head -n 1; echo "0 1 enter 0x$stub"; } >plt.txt
    "$T" convert plt.txt -o plt.ttape
    named 0 plt
    has plt.sites " puts@plt :0$"
fi

# Separate debug files: what strip leaves, and every place where the rest may lie.
gcc -g -O1 part.c -o full
objcopy --only-keep-debug full full.debug
id=$(python3 -c "import sys; sys.path.insert(0, '$TTAPE_SRC/tests/cli')
import symbol_tools; print(symbol_tools.build_id('full'))")
trace apart full 0x555555554000
strip full
named 3 apart
has err "no symbols of '.*/full' at [0-9]+ of [0-9]+ addresses"
has apart.sites '^0x555555555[0-9a-f]+  :0$'
mkdir -p "debug/.build-id/${id:0:2}"
cp full.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
named 0 apart --debug-dir debug
three apart
mv full away # the debug file stands in for the binary itself
named 0 apart --debug-dir debug
three apart
mv away full
rm -r debug

objcopy --add-gnu-debuglink=full.debug full
for place in . .debug "debug$PWD" debug; do
    mkdir -p "$place"
    [ "$place" = . ] || mv full.debug "$place/"
    named 0 apart --debug-dir "$(mkdir -p debug && echo debug)"
    three apart
    [ "$place" = . ] || mv "$place/full.debug" .
done
rm -rf debug .debug
ln -s "$PWD/full" elsewhere # the debug file is beside what the link points to
mkdir links && mv elsewhere links/full
sed "s|$PWD/full|$PWD/links/full|" apart.txt >linked.txt
"$T" convert linked.txt -o linked.ttape
named 0 linked
three linked

# One of another build is refused, by build id and by checksum.
sed 's/x \* 7/x * 8/' part.c >other.c
gcc -g -O1 other.c -o other && objcopy --only-keep-debug other full.debug
named 3 apart
lines <(grep ' hidden ' apart.sites) 0
mkdir -p "debug/.build-id/${id:0:2}"
cp full.debug "debug/.build-id/${id:0:2}/${id:2}.debug" # in the right place, and still another
named 3 apart --debug-dir debug
lines <(grep ' hidden ' apart.sites) 0
rm -r debug
gcc -g -O1 -Wl,--build-id=none part.c -o nameless
objcopy --only-keep-debug nameless nameless.debug
trace nameless nameless 0x555555554000
strip nameless && objcopy --add-gnu-debuglink=nameless.debug nameless
named 0 nameless
three nameless
printf 'x' >>nameless.debug # the checksum is all that it has
named 3 nameless
lines <(grep ' hidden ' nameless.sites) 0

# The recorded build is another than that of the binary.
other=00${id:2}
[ "$other" != "$id" ] || other=ff${id:2}
sed "s/build-id=../build-id=${other:0:2}/" apart.txt >wrong.txt
gcc -g -O1 part.c -o full
"$T" convert wrong.txt -o wrong.ttape
named 3 wrong
has err "no symbols of '.*/full': its build id is ${id} instead of $other"
lines err 1
lines <(grep -vE '^0x[0-9a-f]+  :0$' wrong.sites) 0
sed "s/ build-id=.*//" apart.txt >any.txt # it does not say: what is there has to do
"$T" convert any.txt -o any.ttape
named 0 any
three any
sed "s|$PWD/full|$PWD/gone|" apart.txt >gone.txt
"$T" convert gone.txt -o gone.ttape
named 3 gone
has err "no symbols of '.*/gone': no such file"
sed "s|$PWD/full|& (deleted)|; s|\"[^\"]*|&|" apart.txt >deleted.txt
"$T" convert deleted.txt -o deleted.ttape
named 0 deleted
three deleted

# Two debug files that share what they have in common (dwz).
if command -v dwz >/dev/null; then
    for name in one two; do
        { # enough for two that it pays to keep it once
            cat part.c
            printf '#include <stdio.h>\n#include <time.h>\n#include <signal.h>\n'
            echo 'FILE *f; struct tm t; siginfo_t s; ucontext_t c;'
        } >part-$name.c
        gcc -g -O1 part-$name.c -o $name -Wl,--build-id
        trace $name $name 0x555555554000
        objcopy --only-keep-debug $name $name.debug && strip $name
        objcopy --add-gnu-debuglink=$name.debug $name
    done
    if dwz -m shared.dwz one.debug two.debug 2>/dev/null && [ -e shared.dwz ]; then
        for name in one two; do # dwz changed what the checksum is over
            objcopy -R .gnu_debuglink $name && objcopy --add-gnu-debuglink=$name.debug $name
            named 0 $name
            has $name.sites ' hidden .*/part-'$name'\.c:2$'
        done
        mv shared.dwz gone.dwz # half of it is of no use
        named 0 one
        has one.sites ' hidden :0$'
    fi
fi

# The small table that distributions pack into stripped files.
if command -v xz >/dev/null; then
    gcc -O1 part.c -o packed
    trace packed packed 0x555555554000
    printf 'hidden\nshown\nmain\n' >kept
    objcopy -S --keep-symbols=kept packed mini && xz -k mini
    strip packed && objcopy --add-section .gnu_debugdata=mini.xz packed
    named 3 packed
    has packed.sites ' hidden :0$'
fi

# Inside a sysroot, links count from there.
mkdir -p root/opt root/real && cp full root/real/program && ln -s /real/program root/opt/program
sed "s|$PWD/full|/opt/program|" apart.txt >rooted.txt
"$T" convert rooted.txt -o rooted.ttape
named 0 rooted --sysroot root
three rooted
named 3 rooted
has err "'/opt/program': no such file"

# Everything but names stays: numbers of sites, partitions byte for byte, other names.
{
    cat apart.txt
    echo 'symbol 0x10 "kept name" kept.c:5'
    for i in $(seq 2000); do echo "$((100 + i)) $((i % 3 + 2)) enter 0x10 $i"; done
    sed -n 's/^[0-9]* 1 enter/5000 9 enter/p' apart.txt
} >mixed.txt
"$T" convert mixed.txt -o mixed.ttape --partition-events 300
named 0 mixed
three mixed
has mixed.sites '^0x10 kept name kept.c:5$'
tools payloads mixed.ttape >before
tools payloads mixed-named.ttape >after
same before after
tools sites mixed.ttape | cut -d' ' -f1 >before
cut -d' ' -f1 mixed.sites >after
same before after
status 0 "$T" verify mixed-named.ttape
"$T" dump mixed.ttape --format ndjson | sed 's/"symbol":.*//' >before
"$T" dump mixed-named.ttape --format ndjson | sed 's/"symbol":.*//' >after
same before after
cp mixed-named.ttape first.ttape
named 0 mixed -j 4
same first.ttape mixed-named.ttape
status 0 "$T" symbolize first.ttape -o second.ttape # nothing is left to do
same first.ttape second.ttape
start=$(nm full | sed -n 's/^0*\([0-9a-f]*\) . main$/\1/p')
{ # main has a name already
    sed 1q apart.txt
    python3 -c "print(f'symbol {0x$start + 0x555555554000:#x} old')"
    sed 1d apart.txt
} >old.txt
"$T" convert old.txt -o old.ttape
named 0 old
has old.sites ' old :0$'
named 0 old --again
three old

cp apart.ttape itself.ttape # the input as output
status 0 "$T" symbolize itself.ttape -o itself.ttape --force
named 0 apart
same itself.ttape apart-named.ttape

# Two traces in one file, a module of several processes, an address in no module.
thread=20
for name in apart mixed cpp; do # one trace id, other threads
    thread=$((thread + 1))
    sed "s/^\([0-9]*\) 1 /\1 $thread /" $name.txt |
        "$T" convert - -o same-$name.ttape --trace-id 00112233445566778899aabbccddeeff
done
status 0 "$T" merge same-apart.ttape same-mixed.ttape same-cpp.ttape -o merged.ttape
tools payloads merged.ttape >before
named 0 merged
tools payloads merged-named.ttape >after
same before after
status 0 "$T" verify merged-named.ttape
has merged.sites ' outer::box<int>::get'
{
    echo 'process 1'
    sed 1q apart.txt
    echo 'process 2'
    sed '1q' apart.txt | sed 's/0x5555555/0x5666555/g'
    sed 1d apart.txt
    sed 1d apart.txt | sed 's/0x5555555/0x5666555/g'
} >twice.txt
"$T" convert twice.txt -o twice.ttape
named 0 twice
lines <(grep -c . twice.sites | grep -v '^0$') 1
three twice
lines <(grep ' hidden ' twice.sites) 2
echo '0 1 enter 0xdead' >lost.txt
"$T" convert lost.txt -o lost.ttape
named 3 lost
has err 'no symbols of 1 addresses that lie in no module'

# Traces without anything, through pipes, cut short; and what is refused.
printf '' | "$T" convert - -o empty.ttape
named 0 empty
status 0 "$T" verify empty-named.ttape
"$T" symbolize - -o - <apart.ttape >piped.ttape || fail "through pipes"
named 0 apart
same piped.ttape apart-named.ttape
head -c $(($(wc -c <apart.ttape) - 20)) apart.ttape >short.ttape
status 3 "$T" symbolize short.ttape -o short-named.ttape
has err 'truncated|ends inside'
status 4 "$T" symbolize apart.ttape -o apart-named.ttape
has err 'exists already'
status 2 "$T" symbolize apart.ttape
status 2 "$T" symbolize -o none.ttape
status 4 "$T" symbolize apart.ttape -o none.ttape --sysroot nowhere
status 4 "$T" symbolize apart.ttape -o none.ttape --debug-dir part.c
status 4 "$T" symbolize apart.txt -o none.ttape
status 4 "$T" symbolize apart.ttape -o no/where.ttape
absent none.ttape
lines <(find . -name '*.tmp*' -o -name '.*ttape*') 0

# A trace without its binaries opens all the same, with addresses for names.
rm -f full
status 0 "$T" info gone.ttape
status 0 "$T" dump gone.ttape
has out 'gone\+0x10'
# A frame goes on behind its call: where that is a function's end, the next one is not its name.
${CC:-cc} -g -O0 -o frames part.c || fail "cc"
symbol() { nm frames | awk -v name="$1" '$3 == name { print $1 }'; }
behind=$(printf %x $((0x400000 + 0x$(symbol shown))))
inside=$(printf %x $((0x400004 + 0x$(symbol hidden))))
cat >frames.txt <<END
module 0x400000 0x500000 $PWD/frames
1 1 syscall-enter read path=0x$behind;0x$inside
2 1 syscall-exit
END
status 0 "$T" convert frames.txt -o frames.ttape
status 0 "$T" symbolize frames.ttape -o frames-named.ttape
status 0 "$T" dump frames-named.ttape --paths
has out ' /\* by hidden;hidden \*/$'

verdict
