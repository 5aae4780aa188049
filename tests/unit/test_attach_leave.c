/* How processes are left: by what stands in a segment, here in one of the test's own that is in its
 * children. Nothing of them is patched. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"
#include "tests/asserts.h"

#define SHARED_AT  (UINT64_C(2) * TTP_PAGE)
#define STATES_AT  (CHANGES_AT - 16 * TTP_PAGE)
#define CHANGES_AT (UINT64_C(64) * TTP_PAGE)
#define BLOCKS_AT  (UINT64_C(65) * TTP_PAGE)
#define TIMEOUT    120 /* seconds: a segment is left for dead after a hundred stops */

struct left {
    uint8_t *memory;
    struct ttp_segment segment;
    struct ttp_agent_shared *shared;
    FILE *arena;
    uint64_t inode;
};

static void make_segment(struct left *left)
{
    struct stat about;
    const struct ttp_agent_head head = {.magic = TTP_AGENT_MAGIC,
                                        .version = TTP_AGENT_VERSION,
                                        .head_bytes = sizeof head,
                                        .code_bytes = TTP_PAGE,
                                        .shared = SHARED_AT};
    *left = (struct left){.arena = tmpfile()};
    left->memory = mmap(NULL, BLOCKS_AT + TTP_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(left->memory != MAP_FAILED && left->arena != NULL);
    ck_assert(mmap(left->memory + BLOCKS_AT, TTP_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
                   fileno(left->arena), 0) != MAP_FAILED);
    ck_assert_int_eq(fstat(fileno(left->arena), &about), 0);
    left->inode = (uint64_t)about.st_ino;
    left->segment = (struct ttp_segment){
        .at = (uintptr_t)left->memory, .bytes = BLOCKS_AT, .blocks = BLOCKS_AT};
    memcpy(left->memory, &head, sizeof head);
    left->shared = (struct ttp_agent_shared *)(void *)(left->memory + SHARED_AT);
    ck_assert_uint_le(SHARED_AT + sizeof *left->shared, STATES_AT);
    left->shared->region = left->segment.at;
    left->shared->changes = left->segment.at + CHANGES_AT;
}

static void drop_segment(struct left *left)
{
    ck_assert_int_eq(munmap(left->memory, BLOCKS_AT + TTP_PAGE), 0);
    ck_assert_int_eq(fclose(left->arena), 0);
}

struct child {
    pid_t pid;
    int end;
};

/* It waits, by `wait`, for a byte from us, and is as it was asked for when we have it. */
static struct child start_child(long (*wait)(int file, char *byte), bool is_strict)
{
    int ends[2], ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(pipe(ready), 0);
    struct child child = {.pid = fork(), .end = ends[1]};
    if (child.pid == 0) {
        if (is_strict && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
            (void)syscall(SYS_exit, 2);
        if (write(ready[1], "", 1) != 1)
            (void)syscall(SYS_exit, 3);
        (void)syscall(SYS_exit, wait(ends[0], &byte) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(ends[0]);
    return child;
}

static void end_child(const struct child *child)
{
    int status;
    ck_assert_int_eq(write(child->end, "x", 1), 1);
    ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
    ck_assert_int_eq(status, 0);
    (void)close(child->end);
}

static long read_byte(int file, char *byte) { return read(file, byte, 1); }

/* A list that cannot be read is no empty one: who leaves would take the segment away under code
 * that still leads there. */
START_TEST(test_no_list)
{
    struct left left;
    make_segment(&left);
    left.shared->later_count = 1;
    left.shared->later[0].changes = left.segment.at + BLOCKS_AT + TTP_PAGE * 16;
    left.shared->later[0].change_count = 1000000;
    struct child child = start_child(read_byte, false);
    struct ttp_leaving leaving = {.pid = (uint32_t)child.pid};
    ck_assert_int_ne(ttp_leave(&leaving, &left.segment, NULL), TTAPE_OK);
    ck_assert(!leaving.is_back && !leaving.is_unmapped && !leaving.is_gone);
    end_child(&child);
    drop_segment(&left);
}
END_TEST

/* A child that may make no call keeps the segment, and is one child all the same. */
START_TEST(test_children)
{
    struct left left;
    make_segment(&left);
    struct child strict = start_child(read_byte, true), other = start_child(read_byte, false);
    ck_assert_uint_eq(ttp_leave_children(&left.segment, (uint32_t)getpid(), left.inode), 2);
    ck_assert_uint_eq(ttp_leave_children(&left.segment, (uint32_t)getpid(), left.inode), 1);
    end_child(&strict);
    end_child(&other);
    drop_segment(&left);
}
END_TEST

/* Room that is taken stays as it is; other room is mapped where it was asked for. */
START_TEST(test_room)
{
    struct ttp_stop stop;
    struct ttp_stood stood = {0};
    struct ttp_maps maps, after;
    struct ttp_call_places places = {0};
    struct child child = start_child(read_byte, false);
    ck_assert_int_eq(ttp_stop_all(&stop, (uint32_t)child.pid, &stood, NULL), TTAPE_OK);
    ck_assert(ttp_maps_read(&maps, (uint32_t)child.pid));
    ck_assert(ttp_call_places_find(&places, &maps, stop.memory));
    uint64_t taken = places.call & ~(TTP_PAGE - 1);
    uint64_t at = ttp_maps_place(&maps, taken, taken + TTP_PAGE, TTP_PAGE);
    ck_assert_ptr_eq(ttp_segment_map_at(taken, TTP_PAGE, &stop, &places), ttp_segment_no_room);
    ck_assert(ttp_maps_read(&after, (uint32_t)child.pid));
    ck_assert_uint_eq(after.count, maps.count);
    ttp_maps_free(&after);
    ck_assert_ptr_null(ttp_segment_map_at(at, TTP_PAGE, &stop, &places));
    ck_assert(ttp_maps_read(&after, (uint32_t)child.pid));
    ck_assert(ttp_maps_at(&after, at)->can_execute && !ttp_maps_at(&after, at)->can_write);
    ttp_maps_free(&after);
    ttp_maps_free(&maps);
    ttp_stop_end(&stop, &stood);
    end_child(&child);
}
END_TEST

static uint64_t turn_ns(void)
{
    struct ttp_turns turns = {0};
    ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &turns, sizeof turns, 0), 0);
    return turns.runtime;
}

static bool is_held_off(int number)
{
    sigset_t mask;
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, number) == 1;
}

/* A recorder that stops a process has short turns then, where the kernel has any, and hears of it;
 * afterwards all is as before. */
START_TEST(test_recorder)
{
    struct ttp_stop stop;
    struct ttp_stood stood = {0};
    struct child child = start_child(read_byte, false);
    uint64_t before = turn_ns();
    ck_assert(!is_held_off(SIGCHLD));
    ck_assert_int_eq(ttp_stop_all(&stop, (uint32_t)child.pid, &stood, NULL), TTAPE_OK);
    uint64_t during = turn_ns();
    ck_assert(is_held_off(SIGCHLD) && stop.tasks[0].is_heard);
    ttp_stop_end(&stop, &stood);
    ck_assert(!is_held_off(SIGCHLD));
    ck_assert_uint_eq(turn_ns(), before);
    if (before != 0)
        ck_assert_uint_lt(during, before);
    end_child(&child);
}
END_TEST

static pthread_attr_t detached;

static void *start_next(void *unused)
{
    pthread_t next;
    while (pthread_create(&next, &detached, start_next, NULL) != 0)
        continue;
    return unused;
}

/* Threads that each start another one and end, in eight lines. */
static long start_threads(int file, char *byte)
{
    enum { LINES = 8 };
    (void)pthread_attr_init(&detached);
    (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < LINES; i++)
        (void)start_next(NULL);
    (void)syscall(SYS_exit_group, read(file, byte, 1) == 1 ? 0 : 1);
    return 0;
}

static bool is_running(pid_t tid)
{
    char state = ttp_task_state(tid);
    return state == 'R' || state == 'S' || state == 'D';
}

/* Nobody runs while a process stands, also where a list of threads ended before its end. */
START_TEST(test_stands_whole)
{
    enum { STOPS = 150 };
    struct child child = start_child(start_threads, false);
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/task", (int)child.pid);
    DIR *folder = opendir(name);
    ck_assert_ptr_nonnull(folder);
    for (int i = 0; i < STOPS; i++) {
        struct ttp_stop stop;
        struct ttp_stood stood = {0};
        ttape_error err = {0};
        if (ttp_stop_all(&stop, (uint32_t)child.pid, &stood, &err) != TTAPE_OK)
            continue;
        rewinddir(folder);
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
            ck_assert_msg(!is_running((pid_t)strtol(entry->d_name, NULL, 10)), "%s runs in stop %d",
                          entry->d_name, i);
        ttp_stop_end(&stop, &stood);
    }
    (void)closedir(folder);
    end_child(&child);
}
END_TEST

/* Pieces hold so many pages that are there, wherever they lie; the last one has the rest. */
START_TEST(test_pieces)
{
    enum { PAGES = 4096, EVERY = 16, MOST = 8 };
    const uint64_t some = 40 * EVERY * TTP_PAGE; /* that has forty pages */
    struct ttp_agent_range pieces[MOST];
    uint8_t *memory = mmap(NULL, PAGES * TTP_PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert(memory != MAP_FAILED);
    ck_assert_int_eq(madvise(memory, PAGES * TTP_PAGE, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < PAGES; i += EVERY)
        memory[i * TTP_PAGE] = 1;
    struct ttp_agent_range whole = {(uintptr_t)memory, (uintptr_t)memory + PAGES * TTP_PAGE};
    uint32_t own = (uint32_t)getpid();
    ck_assert_uint_eq(ttp_maps_cut(own, whole, 40, pieces, MOST), 7);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(pieces[i].low, i == 0 ? whole.low : pieces[i - 1].high);
        ck_assert_uint_eq(pieces[i].high, whole.low + (i + 1) * some - (EVERY - 1) * TTP_PAGE);
    }
    ck_assert_uint_eq(pieces[6].high, whole.high);
    ck_assert_uint_eq(ttp_maps_cut(own, whole, 1, pieces, MOST), MOST);
    ck_assert(pieces[MOST - 1].low == pieces[MOST - 2].high && pieces[MOST - 1].high == whole.high);
    ck_assert_uint_eq(ttp_maps_cut(own, whole, PAGES, pieces, MOST), 1);
    ck_assert(pieces[0].low == whole.low && pieces[0].high == whole.high);
    ck_assert_int_eq(munmap(memory, PAGES * TTP_PAGE), 0);
}
END_TEST

/* Memory goes before mappings, each in a stop of its own. */
START_TEST(test_goes_in_parts)
{
    const uint32_t least = 2 + 3 + 4 + 1; /* code, who is inside; memory; mappings; the rest */
    struct left left;
    struct ttp_maps maps;
    make_segment(&left);
    left.shared->states = left.segment.at + STATES_AT;
    memset(left.memory + STATES_AT, 1, CHANGES_AT - STATES_AT);
    struct child child = start_child(read_byte, false);
    struct ttp_leaving leaving = {.pid = (uint32_t)child.pid};
    ck_assert_int_eq(ttp_leave(&leaving, &left.segment, NULL), TTAPE_OK);
    ck_assert(leaving.is_back && leaving.is_unmapped && !leaving.is_gone);
    ck_assert_uint_ge(leaving.stood.stops, least);
    ck_assert(ttp_maps_read(&maps, (uint32_t)child.pid));
    ck_assert_ptr_null(ttp_maps_at(&maps, left.segment.at));
    ttp_maps_free(&maps);
    end_child(&child);
    drop_segment(&left);
}
END_TEST

enum { CODE_PAGES = 40, GAP = 20, CHANGES = 2 * (CODE_PAGES - 1) };

/* Each page has two, the second at its end; one page has none. */
static uint8_t *make_changes(struct ttp_change list[CHANGES])
{
    uint8_t *memory = mmap(NULL, CODE_PAGES * TTP_PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    for (uint32_t page = 0, i = 0; page < CODE_PAGES; page++)
        for (uint32_t second = 0; page != GAP && second < 2; second++, i++)
            list[i] = (struct ttp_change){.at = (uintptr_t)memory + page * TTP_PAGE +
                                                (second ? TTP_PAGE - 5 : 8),
                                          .becomes = 0xe9 + 0x100 * (uint64_t)(i + 1),
                                          .count = 5};
    return memory;
}

static uint32_t count_changed(const struct ttp_change *list, uint32_t but_page)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < CHANGES; i++)
        if (i / 2 != but_page)
            count += ttp_bytes_read((const uint8_t *)(uintptr_t)list[i].at, 5) == list[i].becomes;
    return count;
}

/* Pages that lie one behind the other are changed together, all of them or none; what cannot be
 * read keeps no other page from being put back. */
START_TEST(test_code)
{
    struct ttp_change list[CHANGES];
    uint8_t *memory = make_changes(list);
    struct ttp_changes changes = {.list = list, .count = CHANGES};
    struct ttp_restored restored;
    struct ttp_change some[CHANGES];
    struct ttp_changes all_but_three = {.list = some};
    for (uint32_t i = 0; i < CHANGES; i++)
        if (i != 14 && i != 15 && i != 31)
            some[all_but_three.count++] = list[i];
    int file = ttp_memory_open((uint32_t)getpid(), O_RDWR);
    ck_assert_int_ge(file, 0);
    ck_assert(ttp_code_apply(file, &all_but_three));
    ck_assert_uint_eq(count_changed(list, UINT32_MAX), CHANGES - 3);
    ck_assert(ttp_code_restore(file, &changes, &restored));
    ck_assert_uint_eq(restored.changed, CHANGES - 3);
    ck_assert_uint_eq(restored.foreign + count_changed(list, UINT32_MAX), 0);
    ck_assert(restored.low == (uintptr_t)memory && restored.high == restored.low + 40 * TTP_PAGE);
    *(uint8_t *)(uintptr_t)list[70].at = 9;
    ck_assert(!ttp_code_apply(file, &changes));
    ck_assert_uint_eq(count_changed(list, UINT32_MAX), 0);
    ck_assert_uint_eq(*(uint8_t *)(uintptr_t)list[70].at, 9);
    *(uint8_t *)(uintptr_t)list[70].at = 0;
    ck_assert(ttp_code_apply(file, &changes));
    ck_assert_int_eq(munmap(memory + 5 * TTP_PAGE, TTP_PAGE), 0);
    ck_assert(!ttp_code_restore(file, &changes, &restored));
    ck_assert_uint_eq(restored.changed, CHANGES - 2);
    ck_assert_uint_eq(count_changed(list, 5), 0);
    ck_assert_int_eq(close(file), 0);
    ck_assert_int_eq(munmap(memory, CODE_PAGES * TTP_PAGE), 0);
}
END_TEST

#define STUB_AT (UINT64_C(2) * TTP_PAGE)

static uint8_t *code; /* syscall; ret and, in a page of stubs, the same behind a jump */

static long wait_in_stub(int file, char *byte)
{
    long number = SYS_read;
    __asm__ volatile("call *%1"
                     : "+a"(number)
                     : "r"(code + STUB_AT + 24), "D"((long)file), "S"(byte), "d"(1L)
                     : "rcx", "r11", "memory");
    return number;
}

static void make_code(struct ttp_stub *stub)
{
    static const uint8_t jump[] = {0xe9, 0, 0, 0, 0, 0x0f, 0x05, 0xc3}, call[] = {0x0f, 0x05, 0xc3};
    memcpy(code, call, sizeof call);
    memcpy(stub->code + 3, jump, sizeof jump);
    stub->after = (uintptr_t)code + 2;
    ck_assert_int_eq(mprotect(code, 3 * TTP_PAGE, PROT_READ | PROT_EXEC), 0);
}

/* The place of a module that was looked at, and of which nothing was changed then, is empty: those
 * behind it are seen all the same. */
START_TEST(test_waits_in_stub)
{
    struct ttp_stop stop;
    struct ttp_stood stood = {0};
    struct ttp_agent_module modules[TTP_AGENT_MODULES] = {{0}};
    code = mmap(NULL, 3 * TTP_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(code != MAP_FAILED);
    make_code((struct ttp_stub *)(void *)(code + STUB_AT));
    modules[1] = (struct ttp_agent_module){.low = (uintptr_t)code,
                                           .high = (uintptr_t)code + TTP_PAGE,
                                           .calls = (uintptr_t)code + TTP_PAGE,
                                           .calls_bytes = 2 * TTP_PAGE};
    struct child child = start_child(wait_in_stub, false);
    uint64_t rip = 0;
    while (rip != (uintptr_t)code + 2) { /* it comes there */
        ck_assert_int_eq(ttp_stop_all(&stop, (uint32_t)child.pid, &stood, NULL), TTAPE_OK);
        ttp_calls_return(&stop, modules);
        rip = stop.tasks[0].registers.rip;
        bool is_inside = rip - ((uintptr_t)code + TTP_PAGE) < 2 * TTP_PAGE;
        ttp_stop_end(&stop, &stood);
        ck_assert(!is_inside || rip < (uintptr_t)code + STUB_AT + 26);
    }
    end_child(&child);
    ck_assert_int_eq(munmap(code, 3 * TTP_PAGE), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attach_leave");
    TCase *tests = tcase_create("leave");
    tcase_set_timeout(tests, TIMEOUT);
    tcase_add_test(tests, test_no_list);
    tcase_add_test(tests, test_children);
    tcase_add_test(tests, test_room);
    tcase_add_test(tests, test_recorder);
    tcase_add_test(tests, test_stands_whole);
    tcase_add_test(tests, test_code);
    tcase_add_test(tests, test_pieces);
    tcase_add_test(tests, test_goes_in_parts);
    tcase_add_test(tests, test_waits_in_stub);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
