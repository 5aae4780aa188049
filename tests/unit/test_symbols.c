/* Symbols through the helper process: of this very program, and what happens when the helper is
 * killed, stopped, starved, or fed a file that shrinks under it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program/names/demangle.h"
#include "program/symbols/symbols_inside.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"
#include "tools/io/debug_files.h"

static char folder[64], path[128], self[512];
static struct tool_symbols *symbols;

int ttest_probe(int x);
enum { PROBE_LINE = __LINE__ + 1 };
__attribute__((noinline)) int ttest_probe(int x) { return x * 3 + (int)time(NULL); }

static ttape_string text(const char *t) { return (ttape_string){t, strlen(t)}; }

static const ttape_string no_id = {NULL, 0};

static void copy_self(void)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "cp %s %s", self, path);
    ck_assert_int_eq(system(command), 0);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/test_symbols.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    ssize_t got = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(got, 0);
    self[got] = '\0';
    symbols = tool_symbols_open(&(struct tool_symbols_options){.timeout_seconds = 100});
}

static void tear_down(void)
{
    tool_symbols_close(symbols);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The ELF address of a function of this program, from /proc/self/maps. */
static uint64_t own_address(const struct tool_elf_head *head, int (*function)(int))
{
    unsigned long start, end, offset;
    char rights[8], line[512];
    uint64_t address = 0, wanted = (uint64_t)(uintptr_t)function;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, rights, &offset) == 4 &&
            wanted >= start && wanted < end) {
            const struct tool_elf_mapping mapping = {start, offset, rights[2] == 'x'};
            ck_assert(tool_elf_address_in_mapping(head, &mapping, wanted, &address));
        }
    }
    (void)fclose(maps);
    return address;
}

/* Asks for the probe; true: its name came. */
static bool probe(struct tool_symbols_module *module, struct tool_symbol *found)
{
    struct tool_elf_head head;
    ck_assert_ptr_null(tool_elf_head_of(NULL, self, &head));
    const struct tool_symbols_query query = {.elf_address = own_address(&head, ttest_probe),
                                             .entry = true};
    return tool_symbols_find(symbols, module, &query, found) &&
           found->name.size_bytes == strlen("ttest_probe") &&
           memcmp(found->name.data, "ttest_probe", found->name.size_bytes) == 0;
}

START_TEST(finds_this_program)
{
    struct tool_symbol found;
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_READY);
    ck_assert(!tool_symbols_warn(module));
    ck_assert(probe(module, &found));
    ck_assert_uint_eq(found.line, PROBE_LINE);
    ck_assert_ptr_nonnull(memmem(found.file.data, found.file.size_bytes, "test_symbols.c", 14));
    const struct tool_elf_head *head = tool_symbols_module_head(module);
    ttape_string id = {(const char *)head->build_id, head->build_id_bytes};
    ck_assert_uint_gt(id.size_bytes, 0);
    struct tool_symbols_module *again = tool_symbols_module_open(symbols, text(self), id);
    ck_assert_ptr_ne(again, module); /* it was asked for in another way */
    ck_assert(probe(again, &found));
    ck_assert_ptr_eq(tool_symbols_module_open(symbols, text(self), id), again);
    tool_symbols_module_release(symbols, module);
    ck_assert(probe(module, &found));
    const struct tool_symbols_query nowhere = {.elf_address = 0x10, .entry = true};
    ck_assert(!tool_symbols_find(symbols, module, &nowhere, &found));
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_READY);
}
END_TEST

START_TEST(options_leave_things_out)
{
    struct tool_symbol found;
    tool_symbols_close(symbols);
    symbols = tool_symbols_open(&(struct tool_symbols_options){.no_lines = true});
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert(probe(module, &found));
    ck_assert_uint_eq(found.line, 0);
    ck_assert_uint_eq(found.file.size_bytes, 0);
}
END_TEST

START_TEST(states_of_what_cannot_be_used)
{
    char other_id[20] = "xxxxxxxxxxxxxxxxxxx";
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text("/nowhere"), no_id);
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_MISSING);
    ck_assert_ptr_null(tool_symbols_module_head(module));
    module = tool_symbols_module_open(symbols, text(""), no_id);
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_MISSING);
    module = tool_symbols_module_open(symbols, (ttape_string){"a\0b", 3}, no_id);
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_MISSING);
    module = tool_symbols_module_open(symbols, text("/etc/passwd"), no_id);
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_UNREADABLE);
    ck_assert_int_eq(symbols->helper.pid, 0); /* not needed so far */
    module = tool_symbols_module_open(symbols, text(self), (ttape_string){other_id, 20});
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_MISMATCH);
    ck_assert_ptr_null(tool_symbols_module_head(module));
    ck_assert_ptr_nonnull(strstr(module->reason, "instead of 7878"));
    char *long_path = malloc(100001);
    memset(long_path, 'x', 100000);
    long_path[100000] = '\0';
    module = tool_symbols_module_open(symbols, text(long_path), (ttape_string){other_id, 20});
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_MISSING);
    module = tool_symbols_module_open(symbols, text(self), text(long_path));
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_MISMATCH);
    free(long_path);
}
END_TEST

START_TEST(an_idle_helper_is_replaced)
{
    struct tool_symbol found;
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert(probe(module, &found));
    for (int i = 0; i < 100; i++) { /* more than the number of deaths with a cause */
        pid_t pid = symbols->helper.pid;
        siginfo_t info;
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        ck_assert(probe(module, &found));
        ck_assert_int_ne(symbols->helper.pid, pid);
    }
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_READY);
}
END_TEST

START_TEST(a_helper_that_hangs_is_ended)
{
    struct tool_symbol found;
    copy_self();
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(path), no_id);
    struct tool_symbols_module *other = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert(probe(module, &found));
    ck_assert_int_eq(kill(symbols->helper.pid, SIGSTOP), 0);
    uint32_t usual = symbols->options.timeout_seconds;
    symbols->options.timeout_seconds = 3; /* of this request alone: others may take longer */
    ck_assert(!probe(module, &found));
    symbols->options.timeout_seconds = usual;
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_FAILED);
    ck_assert_str_eq(module->reason, "reading it took more than 3 seconds");
    ck_assert(!probe(module, &found)); /* for good */
    ck_assert(probe(other, &found));
}
END_TEST

START_TEST(a_helper_that_dies_costs_one_module)
{
    struct tool_symbol found;
    copy_self();
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(path), no_id);
    struct tool_symbols_module *other = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_READY);
    pid_t pid = symbols->helper.pid;
    ck_assert_int_eq(truncate(path, 0), 0); /* what is mapped is gone: SIGBUS */
    ck_assert(!probe(module, &found));
    ck_assert_int_eq(tool_symbols_module_state(module), TOOL_SYMBOLS_FAILED);
    char reason[64];
    (void)snprintf(reason, sizeof reason, "died of signal %d", SIGBUS);
    ck_assert_ptr_nonnull(strstr(module->reason, reason));
    ck_assert(probe(other, &found));
    ck_assert_int_ne(symbols->helper.pid, pid);
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct tool_symbol found;
    if (TTEST_SANITIZED)
        return; /* address space cannot be limited there */
    tool_symbols_close(symbols);
    symbols = tool_symbols_open(&(struct tool_symbols_options){.memory_bytes = 4096});
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert(!probe(module, &found));
    ck_assert_int_ne(tool_symbols_module_state(module), TOOL_SYMBOLS_READY);
}
END_TEST

START_TEST(the_helper_holds_nothing_of_ours)
{
    struct tool_symbol found;
    int ends[2];
    char byte;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[1], 500), 500);
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert(probe(module, &found));
    ck_assert_int_eq(close(ends[1]), 0);
    ck_assert_int_eq(close(500), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* nobody else can write */
    ck_assert_int_eq(close(ends[0]), 0);
    pid_t pid = symbols->helper.pid;
    ck_assert_int_eq(kill(pid, SIGINT), 0); /* it is not meant for the helper */
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert(probe(module, &found));
    ck_assert_int_eq(symbols->helper.pid, pid);
    tool_symbols_close(symbols);
    symbols = NULL;
    ck_assert_int_eq(kill(pid, 0), -1);
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

static void count_answer(void *context, size_t number, const struct tool_symbol *found)
{
    size_t *count = context;
    ck_assert_uint_eq(number, (*count)++);
    ck_assert(found->name.size_bytes < 100);
}

START_TEST(many_at_once)
{
    enum { COUNT = 100000 };
    struct tool_symbols_query *queries = calloc(COUNT, sizeof *queries);
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++)
        queries[i].elf_address = 0x1000 + i;
    struct tool_symbols_module *module = tool_symbols_module_open(symbols, text(self), no_id);
    ck_assert_uint_eq(tool_symbols_find_all(symbols, module, queries, COUNT, count_answer, &count),
                      COUNT);
    ck_assert_uint_eq(count, COUNT);
    free(queries);
}
END_TEST

static char out[TOOL_DEMANGLE_OUTPUT_MAX];

static void expect_name(const char *mangled, const char *wanted)
{
    size_t size = tool_demangle(mangled, out);
    if (wanted == NULL)
        ck_assert_uint_eq(size, 0);
    else
        ck_assert_str_eq(out, wanted);
    ck_assert_uint_eq(size, wanted != NULL ? strlen(wanted) : 0);
}

START_TEST(demangles_names)
{
    expect_name("_Z3fooi", "foo(int)");
    expect_name("_ZN1a1bIcE1dEv", "a::b<char>::d()");
    expect_name("_Z1fi.constprop.0", "f(int) [clone .constprop.0]");
    expect_name("_RNvC7mycrate3foo", "mycrate::foo");
    expect_name("_ZN4core3fmt3new17h0123456789abcdefE", "core::fmt::new");
    expect_name("main", NULL);
    expect_name("", NULL);
    expect_name("_Z", NULL);
    expect_name("_R", NULL);
    expect_name("_Zebra", NULL);
    char *name = malloc(TOOL_DEMANGLE_INPUT_MAX + 100);
    size_t size = (size_t)sprintf(name, "_ZN");
    while (size < TOOL_DEMANGLE_INPUT_MAX - 20)
        size += (size_t)sprintf(name + size, "10abcdefghij");
    strcpy(name + size, "1fEv");
    ck_assert_uint_gt(tool_demangle(name, out), 3000);
    memset(name, 'P', TOOL_DEMANGLE_INPUT_MAX + 50);
    memcpy(name, "_Z1f", 4);
    name[TOOL_DEMANGLE_INPUT_MAX + 50] = '\0';
    expect_name(name, NULL); /* too long to try */
    free(name);
}
END_TEST

/* Each argument is twice the one before: 2^300 bytes of output. */
START_TEST(bombs_are_cheap)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[4096];
    clock_t before = clock();
    size_t size = (size_t)sprintf(name, "_Z1f1AIiiE");
    for (int i = 0; size < sizeof name - 20; i++) {
        char id[3] = {i < 36 ? digits[i] : digits[i / 36 - 1], i < 36 ? '\0' : digits[i % 36]};
        size += (size_t)sprintf(name + size, "S_IS%s_S%s_E", id, id);
    }
    for (int i = 0; i < 100; i++)
        expect_name(name, NULL);
    ck_assert_int_lt(clock() - before, CLOCKS_PER_SEC); /* by its size, long before its time */
    for (const char *piece = "1AI\0P\0F\0M\0ZN\0DTng\0GR\0L\0N\0X\0Dp\0cv\0"; *piece != '\0';
         piece += strlen(piece) + 1) {
        size = (size_t)sprintf(name, "_Z1f");
        while (size + strlen(piece) < sizeof name - 1)
            size += (size_t)sprintf(name + size, "%s", piece);
        expect_name(name, NULL);
    }
    ck_assert_int_lt((clock() - before) / CLOCKS_PER_SEC, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbols");
    TCase *test_case = tcase_create("symbols");
    tcase_add_checked_fixture(test_case, set_up, tear_down);
    tcase_set_timeout(test_case, 120);
    tcase_add_test(test_case, finds_this_program);
    tcase_add_test(test_case, options_leave_things_out);
    tcase_add_test(test_case, states_of_what_cannot_be_used);
    tcase_add_test(test_case, an_idle_helper_is_replaced);
    tcase_add_test(test_case, a_helper_that_hangs_is_ended);
    tcase_add_test(test_case, a_helper_that_dies_costs_one_module);
    tcase_add_test(test_case, memory_is_bounded);
    tcase_add_test(test_case, the_helper_holds_nothing_of_ours);
    tcase_add_test(test_case, many_at_once);
    tcase_add_test(test_case, demangles_names);
    tcase_add_test(test_case, bombs_are_cheap);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
