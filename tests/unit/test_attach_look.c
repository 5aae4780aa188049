/* Which processes are refused, by the texts of /proc; and where a segment goes, by maps. */
#include <stdio.h>
#include <string.h>

#include "recorder/attach/attach_inside.h"
#include "tests/asserts.h"

#define GOOD                                                                                       \
    "Name:\tserver\nState:\tS (sleeping)\nTgid:\t77\nPid:\t77\nPPid:\t1\nTracerPid:\t0\n"          \
    "Uid:\t1000\t1000\t1000\t1000\nVmSize:\t  100 kB\nVmLck:\t  0 kB\nSeccomp:\t0\n"

static const char good_text[] = GOOD;
static const struct ttp_look_texts good = {.status = good_text, .own_user = 1000, .pid = 77};

/* The good text with one line as it is not good. */
static const char *refuse_with(const char *line, const char *other)
{
    static char text[1024];
    const char *at = strstr(good_text, line);
    ck_assert_ptr_nonnull(at);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good_text), good_text, other,
                   at + strlen(line));
    struct ttp_look_texts texts = good;
    texts.status = text;
    return ttp_look_refuse(&texts);
}

static void ck_says(const char *why, const char *wanted)
{
    ck_assert_msg(why != NULL && strstr(why, wanted) != NULL, "'%s' does not say '%s'",
                  why == NULL ? "nothing" : why, wanted);
}

START_TEST(test_processes)
{
    struct ttp_look_texts texts = good;
    ck_assert_ptr_null(ttp_look_refuse(&texts));
    texts.status = NULL;
    ck_says(ttp_look_refuse(&texts), "there is none");
    ck_says(refuse_with("Tgid:\t77", "Tgid:\t70"), "it is a thread");
    ck_says(refuse_with("S (sleeping)", "Z (zombie)"), "has ended");
    ck_says(refuse_with("S (sleeping)", "T (stopped)"), "is stopped");
    ck_says(refuse_with("Uid:\t1000", "Uid:\t1001"), "another user's");
    ck_says(refuse_with("VmSize:\t  100 kB\n", ""), "a thread of the kernel's");
    ck_says(refuse_with("VmLck:\t  0 kB", "VmLck:\t  64 kB"), "locks memory");
    ck_says(refuse_with("TracerPid:\t0", "TracerPid:\t12"), "traced already");
    ck_says(refuse_with("Seccomp:\t0", "Seccomp:\t2"), "a filter of system calls");
    ck_says(refuse_with("Seccomp:\t0", "x86_Thread_features:\tshstk wrss \nSeccomp:\t0"),
            "a shadow stack");
    ck_assert_ptr_null(refuse_with("Seccomp:\t0\n", "Seccomp:\t0\nx86_Thread_features:\t\n"
                                                    "x86_Thread_features_locked:\tshstk \n"));
}
END_TEST

START_TEST(test_rules)
{
    struct ttp_look_texts texts = good;
    texts.ptrace_scope = "0\n";
    ck_assert_ptr_null(ttp_look_refuse(&texts));
    texts.ptrace_scope = "1\n";
    ck_says(ttp_look_refuse(&texts), "own children only");
    texts.is_descendant = true;
    ck_assert_ptr_null(ttp_look_refuse(&texts));
    texts.ptrace_scope = "2\n";
    ck_says(ttp_look_refuse(&texts), "to root only");
    texts.has_all_rights = true;
    ck_assert_ptr_null(ttp_look_refuse(&texts));
    texts.ptrace_scope = "3\n";
    ck_says(ttp_look_refuse(&texts), "forbids all tracing");
    texts.ptrace_scope = NULL;
    texts.limits = "Limit   Soft Limit\nMax address space         unlimited  unlimited  bytes\n";
    ck_assert_ptr_null(ttp_look_refuse(&texts));
    texts.limits = "Limit   Soft Limit\nMax address space         4194304  unlimited  bytes\n";
    ck_says(ttp_look_refuse(&texts), "is limited");
}
END_TEST

#define MIB UINT64_C(0x100000)

/* Each address has the mapping that it lies in, or none. */
START_TEST(test_mappings)
{
    struct ttp_map list[] = {{.start = 0x1000, .end = 0x3000},
                             {.start = 0x3000, .end = 0x4000},
                             {.start = 0x9000, .end = 0xa000}};
    const struct ttp_maps maps = {.list = list, .count = 3}, none = {.list = list};
    for (uint64_t at = 0; at < 0xc000; at += 0x800) {
        const struct ttp_map *found = NULL;
        for (size_t i = 0; i < maps.count; i++)
            if (at >= list[i].start && at < list[i].end)
                found = &list[i];
        ck_assert_ptr_eq(ttp_maps_at(&maps, at), found);
        ck_assert_ptr_null(ttp_maps_at(&none, at));
    }
}
END_TEST

/* Whatever it says lies in a gap, far from what is mapped, and within reach. */
START_TEST(test_places)
{
    char none[] = "", heap[] = "[heap]", stack[] = "[stack]";
    struct ttp_map list[] = {
        {.start = 0x555555554000, .end = 0x555555560000, .path = none},
        {.start = 0x555556000000, .end = 0x555556021000, .path = heap},
        {.start = 0x7ffff7c00000, .end = 0x7ffff7e00000, .path = none},
        {.start = 0x7ffffffdd000, .end = 0x7ffffffff000, .path = stack},
    };
    const struct ttp_maps maps = {.list = list, .count = 4};
    for (uint64_t bytes = 4096; bytes < 1024 * MIB; bytes *= 3) {
        uint64_t at = ttp_maps_place(&maps, list[0].start, list[0].end, bytes);
        ck_assert_uint_ne(at, 0);
        ck_assert_uint_eq(at % 0x10000, 0);
        for (size_t i = 0; i < maps.count; i++)
            ck_assert(at + bytes + MIB <= list[i].start || at >= list[i].end + MIB);
        ck_assert_uint_gt(at + 0x70000000, list[0].end);
    }
    /* at the bottom there is only the gap that the heap grows into: at its far end */
    list[0] = (struct ttp_map){.start = 0x400000, .end = 0x500000, .path = none};
    list[1] = (struct ttp_map){.start = 0x600000, .end = 0x700000, .path = heap};
    uint64_t low = ttp_maps_place(&maps, 0x400000, 0x500000, 64 * MIB);
    ck_assert_uint_gt(low, 0x400000 + 0x60000000);
    ck_assert_uint_lt(low + 64 * MIB, 0x400000 + 0x70000000);
    /* nothing in reach */
    list[1].end = 0x7ffff7c00000;
    ck_assert_uint_eq(ttp_maps_place(&maps, 0x400000, 0x500000, 64 * MIB), 0);
}
END_TEST

/* A runtime has taken all that lies below its libraries, as java does: above them, where the stack
 * is too far away to come, there is room. */
START_TEST(test_below_stack)
{
    char none[] = "", stack[] = "[stack]";
    struct ttp_map list[] = {
        {.start = 0x600000, .end = 0x7f7c37400000, .path = none},
        {.start = 0x7f7c37400000, .end = 0x7f7c38712000, .path = none},
        {.start = 0x7ffc87e47000, .end = 0x7ffc87e68000, .path = stack},
    };
    const struct ttp_maps maps = {.list = list, .count = 3};
    uint64_t at = ttp_maps_place(&maps, list[1].start, list[1].end, 512 * MIB);
    ck_assert_uint_ge(at, list[1].end + MIB);
    ck_assert_uint_lt(at + 512 * MIB, list[1].start + 0x70000000);
    list[2].start = list[1].end + UINT64_C(0x200000000); /* it may grow into all of it */
    ck_assert_uint_eq(ttp_maps_place(&maps, list[1].start, list[1].end, MIB), 0);
}
END_TEST

/* Nothing is random: what lies behind the stack is the kernel's. */
START_TEST(test_place_below_kernel)
{
    char none[] = "", heap[] = "[heap]", stack[] = "[stack]";
    struct ttp_map list[] = {
        {.start = 0x555555559000, .end = 0x555555600000, .path = heap},
        {.start = 0x7ffff7dcc000, .end = 0x7ffff7fff000, .path = none},
        {.start = 0x7ffffffde000, .end = 0x7ffffffff000, .path = stack},
        {.start = UINT64_C(0xffffffffff600000), .end = UINT64_C(0xffffffffff601000), .path = none},
    };
    const struct ttp_maps maps = {.list = list, .count = 4};
    uint64_t at = ttp_maps_place(&maps, list[1].start, list[1].end, MIB);
    ck_assert(at != 0 && at + MIB < list[1].start);
}
END_TEST

/* Stacks of threads lie in a row, with a page that guards each, or without. */
START_TEST(test_places_of_threads)
{
    static const uint32_t pages[] = {0x10,  0x11,  0x40,  0x41,  0x80,  0x81,  0x100, 0x101,
                                     0x200, 0x201, 0x400, 0x401, 0x800, 0x801, 0x802, 0x1000};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        bool is_taken[TTP_AGENT_SLOTS] = {false};
        for (uint64_t thread = 0; thread < 200; thread++) {
            uint64_t block = 0x7f12345676c0 - thread * pages[i] * TTP_AGENT_PAGE;
            uint32_t place = ttp_agent_place(block) / TTP_AGENT_PAGE;
            ck_assert_uint_lt(place, TTP_AGENT_SLOTS);
            ck_assert_msg(!is_taken[place], "two threads, %#x pages apart", pages[i]);
            is_taken[place] = true;
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attach_look");
    TCase *tests = tcase_create("look");
    tcase_add_test(tests, test_processes);
    tcase_add_test(tests, test_rules);
    tcase_add_test(tests, test_mappings);
    tcase_add_test(tests, test_places);
    tcase_add_test(tests, test_place_below_kernel);
    tcase_add_test(tests, test_places_of_threads);
    tcase_add_test(tests, test_below_stack);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
