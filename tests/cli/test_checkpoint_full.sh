#!/usr/bin/env bash
# Copies of a trace on a disk that is too small for them: one that would take more than half of the
# room is not made; where the disk fills in the middle of one, nothing of it stays. Both are said
# once, and the recording goes on.
[ "${1-}" = inside ] || {
    words=(unshare -m --propagation private)
    [ "$(id -u)" -eq 0 ] || words=(unshare -U -r -m --propagation private)
    "${words[@]}" mount -t tmpfs none /mnt 2>/dev/null || {
        echo "SKIPPED: mounts of its own are not allowed here"
        exit 77
    }
    exec "${words[@]}" bash "$0" inside
}
. "${TTAPE_SRC:?}/tests/cli/common.sh"
. "${TTAPE_SRC:?}/tests/cli/record_programs.sh"
make_stepper

# A disk that says that it has terabytes of room.
cat >boast.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/statvfs.h>
int fstatvfs(int fd, struct statvfs *room)
{
    int done = ((int (*)(int, struct statvfs *))dlsym(RTLD_NEXT, "fstatvfs"))(fd, room);
    room->f_bavail = 1u << 30;
    return done;
}
int fstatvfs64(int fd, struct statvfs64 *room) { return fstatvfs(fd, (struct statvfs *)room); }
END
"$cc" -shared -fPIC -o boast.so boast.c || exit 1

# steps_on WHY [VARIABLE=VALUE]...: the disk has room for less than the trace when the second step
# asks for a copy. WHY is what is said then.
steps_on() {
    local why=$1
    shift
    fresh
    mkdir small
    mount -t tmpfs -o size=32m none small
    background env "$@" "$T" record --no-patch -f -o small/got.ttape --level 0 --spill 512K \
        --checkpoint '^step_2' ./stepper 300000 20 20
    await pid
    step 1
    status 0 "$T" control "$(cat pid)" flush
    local trace room
    trace=$(stat -c %s small/got.ttape.recording/trace.0)
    [ "$trace" -gt 65536 ] || fail "a trace of $trace bytes is too small for this test"
    room=$(stat -f -c '%a * %S' small)
    head -c "$((room - trace * 3 / 4))" /dev/zero >small/ballast
    step 2
    until_true grep -q 'no snapshot' bg.err
    has bg.err "no snapshot of 'small/got.ttape': $why"
    status 4 "$T" control "$(cat pid)" snapshot
    rm small/ballast
    status 0 "$T" control "$(cat pid)" snapshot
    step 3
    ended 0
    equals "$(grep -c 'no snapshot' bg.err)" 1 'times that it is said'
    has bg.err '2 copies could not be written'
    equals "$(echo small/*)" 'small/got.ttape small/got.ttape.snapshot-3' 'files'
    status 0 "$T" verify small/got.ttape
    status 0 "$T" verify small/got.ttape.snapshot-3
    equals "$("$T" dump small/got.ttape --format csv | LC_ALL=C grep ',enter,.*,step_' |
        awk -F, '$4 == "enter" && $7 ~ /^step_/ { printf "%s ", $7 }')" \
        'step_1 step_2 step_3 ' 'steps in the whole'
    umount small
    rmdir small
}

steps_on '[0-9]+ bytes are more than half'
steps_on 'writing the trace failed: No space left' LD_PRELOAD="$PWD/boast.so"
verdict
