/* Names by the batch, from a child that may die of any of them. The demangler is one of our own
 * here: it dies where it is told to. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program/names/demangle.h"
#include "program/names/demangle_all.h"
#include "tests/asserts.h"

#define NAMES 1400u

static unsigned receive_count;

/* In front of the C library's. */
ssize_t recv(int fd, void *data, size_t size, int flags)
{
    ssize_t (*real)(int, void *, size_t, int) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "recv");
    receive_count++;
    return real(fd, data, size, flags);
}

/* In the place of the command's. */
size_t tool_demangle(const char *name, char *out)
{
    if (strncmp(name, "_Zkill", 6) == 0)
        (void)kill(getpid(), SIGKILL);
    if (strncmp(name, "_Zlong", 6) == 0) {
        memset(out, 'x', TOOL_DEMANGLE_OUTPUT_MAX - 1);
        return TOOL_DEMANGLE_OUTPUT_MAX - 1;
    }
    return strncmp(name, "_Zplain", 7) == 0 ? 0 : (size_t)sprintf(out, "readable %s", name);
}

static char texts[NAMES][64];
static ttape_string names[NAMES], readable[NAMES];

static void fill(void)
{
    for (unsigned i = 0; i < NAMES; i++) {
        int size = snprintf(texts[i], sizeof(texts[i]), "_ZN%uinside%u", i * 7919u, i);
        names[i] = (ttape_string){texts[i], (size_t)size};
    }
}

static void put(unsigned i, const char *text)
{
    names[i] = (ttape_string){texts[i], (size_t)sprintf(texts[i], "%s%u", text, i)};
}

static void expect(unsigned i)
{
    char wanted[96];
    int size = snprintf(wanted, sizeof(wanted), "readable %s", texts[i]);
    ck_assert_uint_eq(readable[i].size_bytes, (size_t)size);
    ck_assert_mem_eq(readable[i].data, wanted, (size_t)size);
}

static void forget(void)
{
    for (unsigned i = 0; i < NAMES; i++)
        free((char *)readable[i].data);
}

START_TEST(many_names_are_few_messages)
{
    fill();
    receive_count = 0;
    tool_demangle_all(names, NAMES, readable);
    for (unsigned i = 0; i < NAMES; i++)
        expect(i);
    ck_assert_uint_lt(receive_count, 50);
    forget();
}
END_TEST

START_TEST(a_name_that_kills_is_lost_alone)
{
    fill();
    put(3, "_Zkill");
    put(700, "_Zlong");
    put(701, "_Zplain");
    put(1399, "_Zkill");
    tool_demangle_all(names, NAMES, readable);
    for (unsigned i = 0; i < NAMES; i++)
        if (i == 3 || i == 701 || i == 1399)
            ck_assert_ptr_null(readable[i].data);
        else if (i == 700)
            ck_assert_uint_eq(readable[i].size_bytes, TOOL_DEMANGLE_OUTPUT_MAX - 1);
        else
            expect(i);
    forget();
}
END_TEST

START_TEST(names_that_all_kill_come_to_an_end)
{
    fill();
    for (unsigned i = 20; i < NAMES; i++)
        put(i, "_Zkill");
    tool_demangle_all(names, NAMES, readable);
    for (unsigned i = 0; i < NAMES; i++)
        if (i < 20)
            expect(i);
        else
            ck_assert_ptr_null(readable[i].data);
    forget();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demangle_all");
    TCase *test_case = tcase_create("all");
    tcase_add_test(test_case, many_names_are_few_messages);
    tcase_add_test(test_case, a_name_that_kills_is_lost_alone);
    tcase_add_test(test_case, names_that_all_kill_come_to_an_end);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
