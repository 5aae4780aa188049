/* Functions that a program tells of, met before they are told: by another thread, whose block is
 * read first. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena_player.h"

static struct ttest_player player;
static struct ttest_block teller, caller;

/* As symbols name them: those of the first page have a file and a line. */
static void name_function(void *context, ttape_site *site, const ttape_module *module)
{
    (void)context;
    (void)module;
    site->symbol = (ttape_string){"one", 3};
    if (site->address < 0x2000) {
        site->file = (ttape_string){"a.c", 3};
        site->line = 7;
    }
}

static void set_up(void)
{
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rules.name = name_function};
    ttest_player_open(&player, &options);
    caller = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1); /* read first in a round */
    teller = ttest_block_take(&player, (uint32_t)getpid(), 1, 2, 1);
}

static void tear_down(void) { ttest_player_close(&player); }

/* As the runtime tells of a library's function: its name alone. */
static void tell_plain(uint64_t address, const char *name)
{
    uint8_t bytes[64] = {0};
    uint16_t size = (uint16_t)strlen(name);
    memcpy(bytes, &address, 8);
    memcpy(bytes + 16, &size, 2);
    memcpy(bytes + 18, name, size);
    ttest_message(&teller, TTP_MESSAGE_SITE, bytes, 18u + size);
}

/* The line of a system call is its number; the recorder knows its name. */
static void tell_call(uint64_t key, uint32_t number)
{
    uint8_t bytes[18] = {0};
    uint32_t kind = TTAPE_SITE_SYSCALL;
    memcpy(bytes, &key, 8);
    memcpy(bytes + 8, &kind, 4);
    memcpy(bytes + 12, &number, 4);
    ttest_message(&teller, TTP_MESSAGE_SITE, bytes, sizeof bytes);
}

static void call(struct ttest_block *b, uint64_t address)
{
    ttest_enter(b, address);
    ttest_exit(b, address);
}

/* Sites of the trace of a kind, in order: "NAME FILE:LINE; ...". */
static void expect_sites(uint32_t kind, const char *wanted)
{
    char text[512] = "";
    ttape_source source;
    ttape_site site;
    ttest_block_state(&teller, TTP_BLOCK_DONE);
    ttest_block_state(&caller, TTP_BLOCK_DONE);
    ttest_poll(&player);
    (void)ttest_finish(&player);
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    for (uint32_t i = 0; ttape_reader_get_site(reader, i, &site) == TTAPE_OK; i++)
        if (site.kind == kind)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s %.*s:%u; ",
                           (int)site.symbol.size_bytes, site.symbol.data, (int)site.file.size_bytes,
                           site.file.data, site.line);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    ck_assert_str_eq(text, wanted);
}

/* The message says no file, of which the symbols have one. */
START_TEST(a_name_alone_is_told_late)
{
    call(&caller, 0x1000);
    tell_plain(0x1000, "one");
    call(&teller, 0x1000);
    expect_sites(TTAPE_SITE_FUNCTION, "one a.c:7; ");
}
END_TEST

/* The symbols have none. */
START_TEST(a_file_is_told_late)
{
    call(&caller, 0x2000);
    ttest_site_message(&teller, 0x2000, TTAPE_SITE_FUNCTION, "one");
    call(&teller, 0x2000);
    expect_sites(TTAPE_SITE_FUNCTION, "one :0; ");
}
END_TEST

/* What was at that address is another function by now. */
START_TEST(another_function_is_told)
{
    call(&caller, 0x1000);
    call(&caller, 0x1010);
    tell_plain(0x1000, "two");
    call(&teller, 0x1000);
    ttest_site_message(&teller, 0x1000, TTAPE_SITE_FUNCTION, "two");
    call(&teller, 0x1000);
    ttest_site_message(&teller, 0x1010, TTAPE_SITE_FUNCTION, "one");
    call(&teller, 0x1010);
    expect_sites(TTAPE_SITE_FUNCTION, "one a.c:7; one a.c:7; two :0; one s.c:77; ");
}
END_TEST

/* A key that is another call's by now, of the call whose number is 0, too. */
START_TEST(another_system_call_is_told)
{
    tell_call(0x800, 56);
    call(&teller, 0x800);
    tell_call(0x800, 0);
    call(&teller, 0x800);
    tell_call(0x800, 0);
    call(&teller, 0x800);
    expect_sites(TTAPE_SITE_SYSCALL, "clone :56; read :0; ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording told");
    TCase *tests = tcase_create("told");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_name_alone_is_told_late);
    tcase_add_test(tests, a_file_is_told_late);
    tcase_add_test(tests, another_function_is_told);
    tcase_add_test(tests, another_system_call_is_told);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
