#!/usr/bin/env bash
# What is not ours to read gets one sentence that says what it is and what to type: the commands
# that it names are tried where they are here. Text that is no raw text, too, is refused at once.
. "${TTAPE_SRC:?}/tests/cli/common.sh"
export PYTHONPATH=$TTAPE_SRC/tests/cli

printf '0 1 enter main\n9 1 exit\n' >run.txt
status 0 "$T" convert run.txt -o want.ttape
trace='[{"ph":"B","ts":0,"name":"main","pid":1,"tid":1},{"ph":"E","ts":9,"pid":1,"tid":1}]'
printf '%s' "$trace" >t.json
status 0 "$T" convert t.json -o json.ttape
("$T" convert --from-format chrome /nonexistent -o x 2>&1 || true) >probe
grep -q 'not in this build' probe && trace=

# refused FILE WORDS...: with one sentence that has all of them, and without an output
refused() {
    local file=$1 word
    shift
    status 4 "$T" convert "$file" -o none.ttape
    lines err 1
    for word; do
        has err "$word"
    done
    absent none.ttape
}

# What another command unpacks: the sentence is the command.
unpacked() {
    refused "$1" "'$1' is "
    local command=${3-}
    command=$(sed 's/^[^:]*: [^:]*: //' err)
    command -v "${command%% *}" >/dev/null || return 0
    PATH=$(dirname "$T"):$PATH bash -c "$command" 2>err || fail "$command: $(cat err)"
    cmp -s none.ttape "$2" || fail "$command gives another trace"
    rm -f none.ttape
}

for name in run.txt:want t.json:json; do
    file=${name%:*}
    [ "$file" = t.json ] && [ -z "$trace" ] && continue
    gzip -kf "$file" && unpacked "$file.gz" "${name#*:}.ttape"
    python3 - "$file" <<'END'
import bz2, lzma, sys, zipfile
name = sys.argv[1]
data = open(name, "rb").read()
open(name + ".bz2", "wb").write(bz2.compress(data))
open(name + ".xz", "wb").write(lzma.compress(data))
zipfile.ZipFile(name + ".zip", "w").writestr(name, data)
open(name + ".16", "wb").write(data.decode().encode("utf-16"))
END
    for kind in bz2 xz zip 16; do
        unpacked "$file.$kind" "${name#*:}.ttape"
    done
done
if [ -n "$trace" ]; then
    iconv -f UTF-8 -t UTF-16BE t.json >t.be && unpacked t.be json.ttape
    iconv -f UTF-8 -t UTF-16LE t.json >t.le && unpacked t.le json.ttape
fi
got=0
gzip -c run.txt | "$T" convert - -o none.ttape 2>err || got=$?
[ "$got" = 4 ] || fail "status $got of a pipe"
has err 'is compressed by gzip: \.\.\. \| gunzip -c \| tracetape convert - -o none.ttape$'
printf '\x28\xb5\x2f\xfd....' >f.zst
refused f.zst 'zstd -dc f.zst \| tracetape convert - -o none.ttape'
printf '\x04\x22\x4d\x18....' >f.lz4
refused f.lz4 'lz4 -dc f.lz4'
tar cf f.tar run.txt
refused f.tar 'unpack it'

# What has samples, or sums, or is of the kernel.
printf 'PERFILE2h\0\0\0\0\0\0\0' >perf.data
refused perf.data 'samples, no calls; record the program with .tracetape record'
printf '%s\n' '# captured on: today' '' '   a b c  8777  6231.220477:  250000 cpu-clock:  7fb0 f' \
    >perf.txt
refused perf.txt "perf script"
printf '%s\n' 'ls  8777/8778 [001]  6231.220477: cycles: ' '	7fb0 f' >perf.txt
refused perf.txt "perf script"
printf '%s\n' 'execve("/bin/ls", ["ls"], 0x7ffc /* 3 vars */) = 0' >strace.txt
refused strace.txt 'tracetape syscalls'
printf '%s\n' '[pid   12] 10:11:12.123456 close(3)        = -1 EBADF (Bad file)' >strace.txt
refused strace.txt 'tracetape syscalls'
printf 'main;work;f(int, int) 12\nmain 3\n' >folded
refused folded 'folded stacks: it has sums'
printf '# tracer: function_graph\n#\n' >ftrace.txt
refused ftrace.txt 'no event that could be used'
printf '# callgrind format\nversion: 1\n' >callgrind.out
refused callgrind.out 'sums, no calls'
cp "$BASH" program
refused program 'tracetape record -- program$'

# Perfetto, XRay's YAML, and files of JSON.
python3 - <<'END'
packets = b"\1\0ab", b"c\0", b"d"
open("perfetto", "wb").write(b"".join(b"\n" + bytes([len(p)]) + p for p in packets))
END
printf -- '---\nheader:\n  version: 3\n' >xray.yaml
refused xray.yaml 'convert the log'
refused perfetto 'traceconv json perfetto \| tracetape'
printf '{"exporter":"x","$schema":"https://www.speedscope.app/file-format-schema.json"}' >s.json
refused s.json "speedscope"
printf '{"meta":{"interval":1,"processType":0},"libs":[],"threads":[]}' >firefox.json
refused firefox.json 'profile of Firefox'
python3 - <<'END'
from json import dump
many = [{"name": "other", "color": "red"}] * 3000
for name, document in (("large", {"meta": {"categories": many}, "libs": many, "threads": []}),
                       ("nodes", {"nodes": many, "startTime": 1, "endTime": 2}),
                       ("records", {"type": "preamble", "version": 2}),
                       ("strange", {"version": 3, "a\\b": many, "rows": [1]})):
    with open(f"{name}.json", "w", encoding="utf-8") as file:
        dump(document, file)
END
if [ -n "$trace" ]; then
    refused large.json 'profile of Firefox'
    refused nodes.json 'profile of V8'
    refused strange.json 'JSON, but no trace of Chrome.s: it has "version", ' '"rows", no array'
fi
refused records.json 'metadata of a CTF trace'
printf 'version: 1\ncreator: callgrind-3.19.0\nevents: Ir\nfn=main\n1 100\n' >by.callgrind
refused by.callgrind "callgrind's output"
printf '{"nodes":[{"id":1,"callFrame":{}}],"startTime":1,"timeDeltas":[1]}' >x.cpuprofile
refused x.cpuprofile 'V8: it has samples, no calls'
printf '{"traceEvents":[{"ph":"i","ts":1,"name":"\\"nodes\\" \\"timeDeltas\\""}]}' >real.json
[ -z "$trace" ] || status 0 "$T" convert real.json -o real.ttape

# Files of folders; CTF 2; our own other forms.
mkdir ctf2
printf '\x1e{"type":"preamble","version":2}' >ctf2/metadata
refused ctf2 'a trace of CTF 2' 'ctf-version="1"'
refused ctf2/metadata 'convert the folder'
printf 'Ftrace!\0' >info
refused info 'convert the folder'
"$T" dump --format ndjson want.ttape >dump.ndjson
"$T" dump --format csv want.ttape >dump.csv
"$T" dump want.ttape >dump.txt
for kind in csv speedscope folded callgrind; do
    "$T" export --format "$kind" want.ttape >"export.$kind"
    refused "export.$kind" ': '
done
for kind in ndjson csv txt; do
    refused "dump.$kind" 'convert the recording that it was made of'
done

# Any other text, and what looks like none of these, is not raw text; raw text with mistakes is.
printf 'a line\nof some log\n' >log
refused log 'cannot tell the format'
printf 'a line\n# b\n\nof a log\n0 1 enter x\n' >mistakes
status 3 "$T" convert mistakes -o mistakes.ttape
printf '\n# nothing\n' >nothing
status 0 "$T" convert nothing -o nothing.ttape
status 4 "$T" convert log --from-format text -o none.ttape
has err 'line 2 skipped'
verdict
