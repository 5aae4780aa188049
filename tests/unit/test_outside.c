/* Records that belong together are taken together: a process that writes for another one is stepped
 * through, and after each instruction what lies in front of the first empty place is whole. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/ptrace/outside.h"
#include "tests/asserts.h"

#define BLOCKS_AT 131072u
#define BYTES     (BLOCKS_AT + 2u * TTP_BLOCK_BYTES)
#define KEY       0x1000u

static struct ttp_outside make_arena(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    struct ttp_outside outside = {.head = memory, .file = memory, .bytes = BYTES};
    outside.head->blocks_offset = BLOCKS_AT;
    outside.head->block_ready = 2;
    outside.head->clock = TTP_CLOCK_NONE;
    return outside;
}

static void write_all(struct ttp_outside *outside)
{
    struct ttp_outside_thread thread = {.pid = 1, .tid = 1, .image = 1};
    const struct ttp_outside_field field = {"twenty bytes of text", 20};
    const struct ttp_outside_end enter = {TTP_TAG_ENTER, KEY, 0}, end = {TTP_TAG_EXIT, KEY, 0};
    (void)ttp_outside_message(outside, &thread, TTP_MESSAGE_SITE, &field, 1);
    (void)ttp_outside_call_open(outside, &thread, KEY);
    (void)ttp_outside_valued(outside, &thread, &enter, &field, 1);
    (void)ttp_outside_valued(outside, &thread, &end, &field, 1);
    ttp_outside_stopped(outside, &thread, 0, 7);
}

static uint32_t type_of(uint64_t record)
{
    return ttp_record_tag(record) == TTP_TAG_EXTENSION ? ttp_record_type(record) : UINT32_MAX;
}

/* How many records the group has that begins with this one. */
static uint32_t size_of(const uint64_t *at)
{
    uint64_t size = ttp_record_payload(*at) & 0xFFFFFF;
    if (type_of(*at) == TTP_EXT_MESSAGE)
        return 1 + (uint32_t)((size + TTP_DATA_BYTES - 1) / TTP_DATA_BYTES);
    if (type_of(*at) == TTP_EXT_OPEN || type_of(*at) == TTP_EXT_AGO)
        return 2;
    return type_of(*at) != UINT32_MAX          ? 1
           : type_of(at[1]) == TTP_EXT_MESSAGE ? 1 + size_of(at + 1)
                                               : TTP_BLOCK_RECORDS;
}

/* The number of groups that are there; UINT32_MAX: part of one is. */
static uint32_t count_groups(const struct ttp_outside *outside)
{
    const uint64_t *records =
        (const uint64_t *)(const void *)(outside->file + BLOCKS_AT + TTP_BLOCK_HEAD_BYTES);
    uint32_t count = 0, groups = 0, at = 0;
    while (count < TTP_BLOCK_RECORDS && records[count] != 0)
        count++;
    for (; at < count; groups++)
        at += size_of(records + at);
    return at == count ? groups : UINT32_MAX;
}

START_TEST(test_steps)
{
    int status;
    uint32_t groups = 0, looks = 0;
    struct ttp_outside outside = make_arena();
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0)
            _exit(1);
        write_all(&outside);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    for (; WIFSTOPPED(status); looks++) {
        groups = count_groups(&outside);
        ck_assert_uint_ne(groups, UINT32_MAX);
        ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
    }
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(groups, 5);
    ck_assert_uint_gt(looks, 100);
    (void)munmap(outside.file, BYTES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outside");
    TCase *tests = tcase_create("steps");
    tcase_add_test(tests, test_steps);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
