/* System calls in a recording, played: their numbers, the paths that programs tell of them, in the
 * trace, in all pieces of one, and in what is recovered. */
#define _GNU_SOURCE 1
#include "recover_left.h"

#include <tracetape/recover.h>

#include "recorder/arena/verdicts.h"

static struct ttest_player player;

#define READ   (TTP_CALL_KEYS_PATH + 1)
#define WRITE  (TTP_CALL_KEYS_PATH + 2)
#define THIRD  (TTP_CALL_KEYS_PATH + 3)
#define FOURTH (TTP_CALL_KEYS_PATH + 4)

static void tell_call(struct ttest_block *b, uint64_t address, uint32_t number, const char *name)
{
    uint8_t bytes[64];
    uint32_t facts[2] = {TTAPE_SITE_SYSCALL, number};
    uint16_t size = (uint16_t)strlen(name);
    memcpy(bytes, &address, 8);
    memcpy(bytes + 8, facts, 8);
    memcpy(bytes + 16, &size, 2);
    memcpy(bytes + 18, name, size);
    ttest_message(b, TTP_MESSAGE_SITE, bytes, 18u + size);
}

/* Frames are said innermost first; 0 ends them. */
static void tell_path(struct ttest_block *b, uint64_t address, uint16_t flags,
                      const uint64_t *frames)
{
    uint8_t bytes[256];
    uint16_t facts[2] = {0, flags};
    for (; frames[facts[0]] != 0; facts[0]++)
        memcpy(bytes + 12 + 8 * (size_t)facts[0], &frames[facts[0]], 8);
    memcpy(bytes, &address, 8);
    memcpy(bytes + 8, facts, 4);
    ttest_message(b, TTP_MESSAGE_PATH, bytes, 12u + 8u * facts[0]);
}

#define PATH(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void call(struct ttest_block *b, uint64_t address)
{
    ttest_enter(b, address);
    ttest_exit(b, address);
}

/* Calls of a thread in order: "NUMBER name(frame;frame) ..."; "!" before an exit of another. */
static void expect_calls(ttape_reader *reader, uint32_t thread, const char *wanted)
{
    char text[1024] = "";
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_stream_info info = {0};
    uint32_t stream = 0, open = TTAPE_NONE;
    char name[] = {'t', (char)('0' + thread)};
    do
        ck_assert_int_eq(ttape_reader_get_stream(reader, stream++, &info), TTAPE_OK);
    while (info.stream.name.size_bytes != 2 || memcmp(info.stream.name.data, name, 2) != 0);
    TTEST_DONE(ttape_cursor_open(&cursor, reader, stream - 1, &err));
    while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK) {
        ttape_site site, frame_site;
        ttape_path step = {0};
        char path[256] = "", longer[256];
        if (item.event.kind == TTAPE_EVENT_EXIT && item.event.site == open)
            continue;
        if (ttape_reader_get_site(reader, item.event.site, &site) != TTAPE_OK ||
            site.kind == TTAPE_SITE_MARKER)
            continue;
        ck_assert(site.module == TTAPE_NONE || site.kind == TTAPE_SITE_FUNCTION);
        open = item.event.site;
        for (step.parent = site.path; step.parent != 0;) {
            (void)ttape_reader_get_path(reader, step.parent, &step);
            if (ttape_reader_get_site(reader, step.site, &frame_site) == TTAPE_OK)
                ck_assert(frame_site.kind == TTAPE_SITE_FRAME);
            (void)snprintf(longer, sizeof longer,
                           step.site == TTAPE_NONE ? "...%.*lx%s" : "%.*lx;%s",
                           step.site == TTAPE_NONE ? 0 : 1,
                           step.site == TTAPE_NONE ? 0 : (unsigned long)frame_site.address, path);
            memcpy(path, longer, sizeof path);
        }
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s%lu %.*s(%s)", used > 0 ? " " : "",
                       item.event.kind == TTAPE_EVENT_ENTER ? "" : "!", (unsigned long)site.address,
                       (int)site.symbol.size_bytes, site.symbol.data, path);
    }
    ttape_cursor_close(cursor);
    ck_assert_str_eq(text, wanted);
}

static uint32_t count_calls(const ttape_reader *reader)
{
    uint32_t calls = 0;
    ttape_site site;
    for (uint32_t i = 0; ttape_reader_get_site(reader, i, &site) == TTAPE_OK; i++)
        calls += site.kind == TTAPE_SITE_SYSCALL;
    return calls;
}

static void set_up(void) { ttest_player_open(&player, NULL); }

static void tear_down_player(void) { ttest_player_close(&player); }

static void expect(uint32_t thread, const char *wanted)
{
    ttape_source source;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    expect_calls(reader, thread, wanted);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}

static struct ttest_block begin(uint64_t serial)
{
    struct ttest_block b = ttest_block_take(&player, (uint32_t)getpid(), 1, serial, 1);
    return b;
}

static void done(const struct ttest_block *b)
{
    ttest_block_state(b, TTP_BLOCK_DONE);
    ttest_poll(&player);
    ttest_flush(&player);
}

/* Two threads tell of the same sites; of one a second path, which does not count; one has none, one
 * is a function. */
START_TEST(calls_and_paths)
{
    struct ttest_block b = begin(1);
    ttest_module_message(&b, 0x1000, 0x3000, "/bin/x");
    ttest_modules_end(&b, 1);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 0, PATH(0x2f00, 0x1100, 0x1000));
    call(&b, READ);
    tell_call(&b, WRITE, 1, "write");
    tell_path(&b, WRITE, 1, PATH(0x2f20, 0x1100));
    call(&b, WRITE);
    tell_call(&b, THIRD, 39, "getpid");
    call(&b, THIRD);
    call(&b, READ);
    done(&b);
    struct ttest_block other = begin(2); /* whose thread nobody finds alive */
    tell_call(&other, READ, 0, "read");
    tell_path(&other, READ, 0, PATH(0x2f00, 0x1100, 0x1000));
    call(&other, READ);
    tell_path(&other, READ, 2, PATH(0x1100));
    call(&other, READ);
    call(&other, 0x1100); /* where a frame is, too */
    done(&other);
    (void)ttest_finish(&player);
    expect(1, "0 read(1000;1100;2f00;) 1 write(...1100;2f20;) 39 getpid() 0 read(1000;1100;2f00;)");
    expect(2, "0 read(1000;1100;2f00;) 0 read(1000;1100;2f00;) 4352 ()");
}
END_TEST

/* Frames have modules, and are named by the call before the place where they go on. */
static void name_place(void *context, ttape_site *site, const ttape_module *module)
{
    static char text[64];
    (void)context;
    (void)snprintf(text, sizeof text, "at%lx%s", (unsigned long)site->address,
                   module != NULL ? "m" : "");
    site->symbol = (ttape_string){text, strlen(text)};
}

static uint32_t drop_all(void *context, const ttape_site *site, const ttape_module *module)
{
    (void)context;
    (void)site;
    (void)module;
    return TTAPE_SELECT_DROP;
}

START_TEST(frames_are_named)
{
    ttest_player_discard(&player);
    ttape_recording_options options = {.size = sizeof options,
                                       .clock = TTAPE_CLOCK_NONE,
                                       .rules = {.name = name_place, .select = drop_all}};
    ttest_player_open(&player, &options);
    struct ttest_block b = begin(1);
    ttest_module_message(&b, 0x1000, 0x2000, "/bin/x");
    ttest_modules_end(&b, 1);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 0, PATH(0x2000, 0x5000));
    call(&b, READ);
    call(&b, 0x1800); /* functions are left out, system calls are not */
    done(&b);
    (void)ttest_finish(&player);
    ttape_source source;
    ttape_site site;
    ttape_path path;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    expect_calls(reader, 1, "0 read(5000;2000;)");
    ck_assert_int_eq(ttape_reader_get_path(reader, 2, &path), TTAPE_OK);
    ck_assert_int_eq(ttape_reader_get_site(reader, path.site, &site), TTAPE_OK);
    ck_assert(site.symbol.size_bytes == 7 && memcmp(site.symbol.data, "at1fffm", 7) == 0);
    ck_assert(site.module != TTAPE_NONE);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

/* Hooks are told at the 64th call that was left out, and of that function alone. */
START_TEST(the_64th_call_left_out_is_told)
{
    const uint64_t image = 1, dropped = 0x1800, other = 0x1900;
    const uint64_t seed = ttp_verdict_seed(image);
    ttest_player_discard(&player);
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rules = {.select = drop_all}};
    ttest_player_open(&player, &options);
    const uint64_t *verdicts = (const uint64_t *)((const uint8_t *)player.head + TTP_VERDICTS_AT);
    struct ttest_block b = begin(1);
    ttest_module_message(&b, 0x1000, 0x2000, "/bin/x");
    ttest_modules_end(&b, 1);
    call(&b, other);
    for (unsigned i = 0; i < TTP_VERDICT_EVERY - 1; i++)
        call(&b, dropped);
    ttest_poll(&player);
    ck_assert(!ttp_verdict_is_there(verdicts, seed, image, dropped));
    call(&b, dropped);
    done(&b);
    ck_assert(ttp_verdict_is_there(verdicts, seed, image, dropped));
    ck_assert(!ttp_verdict_is_there(verdicts, seed, image, other));
    (void)ttest_finish(&player);
}
END_TEST

static char expected[256];

static void take_expected(void *context, const ttape_module *module, const uint64_t *addresses,
                          size_t count)
{
    (void)context;
    size_t used = strlen(expected);
    used += (size_t)snprintf(expected + used, sizeof expected - used,
                             "%.*s:", (int)module->path.size_bytes, module->path.data);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, " %lx",
                                 (unsigned long)addresses[i]);
    (void)snprintf(expected + used, sizeof expected - used, "; ");
}

/* New functions of a block are told together, each once, those of one module; what comes alone is
 * not told. */
START_TEST(functions_are_expected)
{
    ttest_player_discard(&player);
    ttape_recording_options options = {.size = sizeof options,
                                       .clock = TTAPE_CLOCK_NONE,
                                       .rules = {.name = name_place, .expect = take_expected}};
    ttest_player_open(&player, &options);
    struct ttest_block b = begin(1);
    ttest_module_message(&b, 0x1000, 0x2000, "/bin/x");
    ttest_module_message(&b, 0x5000, 0x6000, "/lib/y.so");
    ttest_modules_end(&b, 2);
    expected[0] = '\0';
    call(&b, 0x1300);
    call(&b, 0x1100);
    call(&b, 0x5100);
    call(&b, 0x1300);
    call(&b, 0x1200);
    call(&b, 0x9000); /* of no module */
    call(&b, 0x1400);
    done(&b);
    (void)ttest_finish(&player);
    ck_assert_str_eq(expected, "/bin/x: 1300 1100 1200 1400; ");
}
END_TEST

/* A key means the same call in all processes, also where a child has modules of its own. */
START_TEST(children_have_the_same_calls)
{
    struct ttest_block b = begin(1);
    ttest_process_message(&b, 0, 1, "/bin/first");
    ttest_module_message(&b, 0x1000, 0x2000, "/bin/first");
    ttest_modules_end(&b, 1);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 0, PATH(0x1000));
    call(&b, READ);
    ttest_poll(&player);
    struct ttest_block child = ttest_block_take(&player, (uint32_t)getppid(), 2, 2, 1);
    ttest_process_message(&child, 1, (uint32_t)getpid(), "/bin/first");
    ttest_module_message(&child, 0x1000, 0x2000, "/bin/first");
    ttest_module_message(&child, 0x5000, 0x6000, "/lib/y.so");
    ttest_modules_end(&child, 2);
    tell_call(&child, READ, 0, "read");
    tell_path(&child, READ, 0, PATH(0x1000));
    call(&child, READ);
    tell_call(&child, WRITE, 1, "write");
    tell_path(&child, WRITE, 0, PATH(0x5040, 0x1000));
    ttest_enter(&child, WRITE);
    ttest_poll(&player);
    tell_call(&b, THIRD, 2, "");
    tell_path(&b, THIRD, 0, PATH(0x1040, 0x1000));
    call(&b, THIRD);
    done(&b);
    ttest_exit(&child, WRITE);
    call(&child, READ);
    done(&child);
    (void)ttest_finish(&player);
    expect(1, "0 read(1000;) 2 open(1000;1040;)");
    expect(2, "0 read(1000;) 1 write(1000;5040;) 0 read(1000;)");
    ttape_source source;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    ck_assert_uint_eq(ttape_reader_path_count(reader), 4 - 1); /* the outermost frame is one */
    ck_assert_uint_eq(count_calls(reader), 3);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

/* Messages that are too short, of no call, with more frames than bytes. */
START_TEST(paths_that_lie)
{
    uint8_t bytes[64] = {0};
    const uint64_t address = READ, other = WRITE;
    struct ttest_block b = begin(1);
    tell_path(&b, READ, 0, PATH(0x1000)); /* of no site */
    tell_call(&b, READ, 0, "read");
    ttest_site_message(&b, 0x9040, TTAPE_SITE_SYSCALL, "api");
    tell_path(&b, 0x9040, 0, PATH(0x1000)); /* of a site of the API */
    memcpy(bytes, &address, 8);
    bytes[8] = 1;
    ttest_message(&b, TTP_MESSAGE_PATH, bytes, 11);
    ttest_message(&b, TTP_MESSAGE_PATH, bytes, 19);
    bytes[9] = bytes[8] = 0xff;
    ttest_message(&b, TTP_MESSAGE_PATH, bytes, 64);
    call(&b, READ);
    bytes[8] = bytes[9] = 0;
    ttest_message(&b, TTP_MESSAGE_PATH, bytes, 12); /* it is used already */
    call(&b, READ);
    tell_call(&b, WRITE, 1, "write");
    memcpy(bytes, &other, 8);
    bytes[10] = 0xff;
    ttest_message(&b, TTP_MESSAGE_PATH, bytes, 12); /* no frame, cut */
    call(&b, WRITE);
    call(&b, 0x9040);
    done(&b);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    expect(1, "0 read() 0 read() 1 write(...) 36928 api()");
}
END_TEST

static bool is_own(void *context, const ttape_module *module, ttape_string executable)
{
    (void)context;
    (void)executable;
    return module == NULL || module->path.data[1] == 'o';
}

/* Two stacks that differ in a library only are one path; one that has a library's frames only is
 * not known. */
START_TEST(only_the_application)
{
    ttest_player_discard(&player);
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rules = {.is_application = is_own}};
    ttest_player_open(&player, &options);
    struct ttest_block b = begin(1);
    ttest_module_message(&b, 0x1000, 0x2000, "/opt/own");
    ttest_module_message(&b, 0x2000, 0x3000, "/lib/c");
    ttest_modules_end(&b, 2);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 0, PATH(0x2100, 0x1100, 0x2200, 0x1000, 0x2300));
    call(&b, READ);
    tell_call(&b, WRITE, 0, "read");
    tell_path(&b, WRITE, 0, PATH(0x2180, 0x1100, 0x1000, 0x2300));
    call(&b, WRITE);
    tell_call(&b, THIRD, 1, "write");
    tell_path(&b, THIRD, 0, PATH(0x2100, 0x2300));
    call(&b, THIRD);
    tell_call(&b, FOURTH, 2, "open");
    tell_path(&b, FOURTH, 1, PATH(0x2100, 0x1100, 0x5000));
    call(&b, FOURTH);
    done(&b);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    expect(1, "0 read(1000;1100;) 0 read(1000;1100;) 1 write(...) 2 open(...5000;1100;)");
}
END_TEST

/* A file that follows another says the same of paths, and goes on with their ids. */
START_TEST(pieces_have_the_same_paths)
{
    ttest_player_discard(&player);
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rotate_bytes = 1};
    ttest_player_open(&player, &options);
    struct ttest_block b = begin(1);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 1, PATH(0x1100, 0x1000));
    call(&b, READ);
    tell_call(&b, WRITE, 1, "write");
    tell_path(&b, WRITE, 0, PATH(0x1200, 0x1000));
    ttest_enter(&b, WRITE);
    ttest_flush(&player);
    ttest_poll_ms(&player, 150);
    ttest_exit(&b, WRITE);
    call(&b, READ);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    ck_assert_uint_ge(ttest_finish(&player).file_count, 2);
    ttape_source source;
    ttape_reader *reader = ttest_read(&player, ttape_recording_file(player.recording, 0), &source);
    expect_calls(reader, 1, "0 read(...1000;1100;) 1 write(1000;1200;)");
    uint32_t paths = ttape_reader_path_count(reader);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    reader = ttest_read(&player, ttape_recording_file(player.recording, 1), &source);
    ck_assert_uint_eq(ttape_reader_path_count(reader), paths);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

/* Recovery */

static void play_killed(struct ttest_player *p)
{
    struct ttest_block b = ttest_block_take(p, (uint32_t)getpid(), 1, 1, 1);
    ttest_module_message(&b, 0x1000, 0x3000, "/bin/x");
    ttest_modules_end(&b, 1);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 1, PATH(0x1100, 0x1000));
    call(&b, READ);
    tell_call(&b, WRITE, 0, "read");
    tell_path(&b, WRITE, 0, PATH(0x1100, 0x1000));
    call(&b, WRITE);
    tell_call(&b, THIRD, 1, "write");
    ttest_enter(&b, THIRD);
    ttest_flush(p); /* all of this is behind a checkpoint */
    ttest_exit(&b, THIRD);
    call(&b, WRITE);
    tell_call(&b, FOURTH, 3, "close");
    tell_path(&b, FOURTH, 0, PATH(0x1200, 0x1000));
    call(&b, FOURTH);
    call(&b, READ);
    ttest_poll(p);
}

START_TEST(recovered)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_recover_options how = {.size = sizeof how};
    ttape_recover_report report;
    ttape_recording_options options = {.size = sizeof options, .clock = TTAPE_CLOCK_NONE};
    ttape_reader *reader;
    kill_with(&options, play_killed);
    TTEST_DONE(ttape_recover_recording(left->directory, &sink, &how, &report, &err));
    ttape_source source = ttape_source_memory(out.data, out.size_bytes);
    TTEST_DONE(ttape_reader_open(&reader, &source, NULL, &err));
    expect_calls(reader, 1,
                 "0 read(...1000;1100;) 0 read(1000;1100;) 1 write() 0 read(1000;1100;) "
                 "3 close(1000;1200;) 0 read(...1000;1100;)");
    ck_assert_uint_eq(ttape_reader_path_count(reader), 6);
    ck_assert_uint_eq(count_calls(reader), 4); /* each has the id that it had */
    ttape_reader_close(reader);
    ttape_memory_sink_close(&out);
    tear_down();
}
END_TEST

static void play_application(struct ttest_player *p)
{
    struct ttest_block b = ttest_block_take(p, (uint32_t)getpid(), 1, 1, 1);
    ttest_module_message(&b, 0x1000, 0x2000, "/opt/own");
    ttest_module_message(&b, 0x2000, 0x3000, "/lib/c");
    ttest_modules_end(&b, 2);
    tell_call(&b, READ, 0, "read");
    tell_path(&b, READ, 0, PATH(0x2100, 0x1100, 0x1000, 0x2300));
    call(&b, READ);
    tell_call(&b, THIRD, 1, "write");
    tell_path(&b, THIRD, 0, PATH(0x2100));
    call(&b, THIRD);
    ttest_flush(p); /* all of this is behind a checkpoint */
    call(&b, READ);
    call(&b, THIRD);
    tell_call(&b, WRITE, 0, "read");
    tell_path(&b, WRITE, 0, PATH(0x2180, 0x1100, 0x1000, 0x2300));
    call(&b, WRITE);
    ttest_poll(p);
}

/* The rest has no more frames than what was written before, where the caller can say which. */
static void recover_application(bool (*rule)(void *, const ttape_module *, ttape_string),
                                const char *wanted)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_recover_options how = {.size = sizeof how, .is_application = rule};
    ttape_recover_report report;
    ttape_reader *reader;
    TTEST_DONE(ttape_recover_recording(left->directory, &sink, &how, &report, &err));
    ttape_source source = ttape_source_memory(out.data, out.size_bytes);
    TTEST_DONE(ttape_reader_open(&reader, &source, NULL, &err));
    expect_calls(reader, 1, wanted);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&out);
}

START_TEST(recovered_application)
{
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rules = {.is_application = is_own}};
    kill_with(&options, play_application);
    recover_application(is_own, "0 read(1000;1100;) 1 write(...) 0 read(1000;1100;) "
                                "1 write(...) 0 read(1000;1100;)");
    recover_application(NULL, "0 read(1000;1100;) 1 write(...) 0 read(1000;1100;) "
                              "1 write(...) 0 read(2300;1000;1100;2180;)");
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording calls");
    TCase *tests = tcase_create("calls"), *killed = tcase_create("killed");
    tcase_add_checked_fixture(tests, set_up, tear_down_player);
    tcase_set_timeout(tests, 60);
    tcase_set_timeout(killed, 60);
    tcase_add_test(tests, calls_and_paths);
    tcase_add_test(tests, frames_are_named);
    tcase_add_test(tests, the_64th_call_left_out_is_told);
    tcase_add_test(tests, functions_are_expected);
    tcase_add_test(tests, children_have_the_same_calls);
    tcase_add_test(tests, paths_that_lie);
    tcase_add_test(tests, only_the_application);
    tcase_add_test(tests, pieces_have_the_same_paths);
    tcase_add_test(killed, recovered);
    tcase_add_test(killed, recovered_application);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, killed);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
