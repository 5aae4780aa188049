/* Lines of source as an answer: of this test's own code, whose blocks tell by calls of mark(). What
 * is refused, and that too little memory, a caller that does not wait and a module that is not
 * there end the answer alone. */
#include <string.h>
#include <unistd.h>

#include "program/lines/lines_answer.h"
#include "tests/unit/every.h"
#include "tests/unit/test_reader_fixture.h"

#if defined(__clang__)
#define AS_WRITTEN __attribute__((noinline, optnone))
#else
#define AS_WRITTEN __attribute__((noinline, noclone, optimize("O0")))
#endif

extern const char __ehdr_start[]; /* where this program's file begins in memory */

enum { MARKS_MAX = 64, TURNS = 5 };

static struct {
    uint64_t places[MARKS_MAX];
    uint32_t count;
} marks;

static AS_WRITTEN void mark(void)
{
    ck_assert_uint_lt(marks.count, MARKS_MAX);
    marks.places[marks.count++] = (uint64_t)(uintptr_t)__builtin_return_address(0) - 1;
}

enum { LINE_OF_WALK = __LINE__ + 1 };
static AS_WRITTEN int walk(int turns)
{
    int sum = 0;
    mark();
    for (int i = 0; i < turns; i++) {
        mark();
        sum += i; /* LINE_OF_WALK + 6 */
        if (i == 1) {
            mark();
            sum *= 3; /* LINE_OF_WALK + 9 */
        }
        if (i == TURNS) {
            mark();
            sum = 7; /* LINE_OF_WALK + 13 */
        }
    }
    return sum;
}

/* Both calls of a run are the same. */
static struct ttest_file make(const char *path)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    uint32_t id, site_of[MARKS_MAX], module;
    marks.count = 0;
    ck_assert_int_eq(walk(TURNS), 12);
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    const ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    const ttape_module self = {.path = ttest_string(path),
                               .start = (uint64_t)(uintptr_t)__ehdr_start,
                               .end = (uint64_t)(uintptr_t)__ehdr_start + (1u << 30),
                               .process = id};
    ck_assert_int_eq(ttape_writer_add_module(w, &self, &module, NULL), TTAPE_OK);
    ttape_site site = {.module = module,
                       .kind = TTAPE_SITE_FUNCTION,
                       .address = (uint64_t)(uintptr_t)&walk,
                       .symbol = ttest_string("walk")};
    ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < marks.count; i++) {
        uint32_t same = 0;
        while (marks.places[same] != marks.places[i])
            same++;
        site = (ttape_site){.module = module, .kind = TTAPE_SITE_BLOCK, .address = marks.places[i]};
        if (same == i)
            ck_assert_int_eq(ttape_writer_add_site(w, &site, &site_of[i], NULL), TTAPE_OK);
        site_of[i] = site_of[same];
    }
    const ttape_stream stream = {.tid = 1};
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    for (uint64_t call = 0, time = 100; call < 2; call++)
        for (uint32_t i = 0; i < marks.count + 2; i++) {
            const ttape_event event = {.time_ns = time++,
                                       .kind = i == 0             ? TTAPE_EVENT_ENTER
                                               : i <= marks.count ? TTAPE_EVENT_LEAF
                                                                  : TTAPE_EVENT_EXIT,
                                       .site = i == 0 || i > marks.count ? 0 : site_of[i - 1],
                                       .depth = TTAPE_DEPTH_AUTO};
            ck_assert_int_eq(ttape_writer_append(w, id, &event, 1, NULL), TTAPE_OK);
        }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

struct asked {
    struct ttest_trace trace;
    struct tool_lines_options how;
    struct tool_symbols *symbols;
    char reason[200];
};

static void note_trouble(void *context, const char *path, const char *reason, bool is_code)
{
    struct asked *a = context;
    (void)snprintf(a->reason, sizeof a->reason, "%s: %s, %d", path, reason, is_code);
}

static void open_asked(struct asked *a, const char *path)
{
    const struct tool_symbols_options usual = {0};
    char own[4096];
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    ck_assert_int_gt(size, 0);
    own[size] = '\0';
    *a = (struct asked){.trace = ttest_open_trace(make(path != NULL ? path : own))};
    a->symbols = tool_symbols_open(&usual);
    a->how = (struct tool_lines_options){
        .symbols = a->symbols, .trouble = note_trouble, .context = a, .wants_edges = true};
}

static void close_asked(struct asked *a)
{
    tool_symbols_close(a->symbols);
    ttest_close_trace(&a->trace);
}

static const struct tool_source_line *line_at(const struct tool_source_lines *lines, uint32_t line)
{
    size_t count;
    const struct tool_source_line *rows = tool_source_lines_get_rows(lines, &count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].line == line &&
            strstr(tool_source_lines_file(lines, rows[i].file), "test_source_lines.c") != NULL)
            return &rows[i];
    ck_abort_msg("no line %u", line);
    return NULL;
}

START_TEST(lines_ran_as_often_as_their_blocks)
{
    struct asked a;
    struct tool_source_lines *lines;
    struct tool_lines_info info;
    ttape_error err = {0};
    size_t count;
    const struct tool_lines_call call = {0, 0};
    open_asked(&a, NULL);
    for (uint64_t calls = 2; calls > 0; calls--) {
        a.how.call = calls == 1 ? &call : NULL;
        TTEST_OK(tool_source_lines_make(&lines, a.trace.reader, &a.how, &err));
        tool_source_lines_get_info(lines, &info);
        ck_assert_uint_eq(info.call_count[0], calls);
        ck_assert(!info.is_partial[0] && !info.has_second && !info.lists_calls);
        const struct tool_source_line *often = line_at(lines, LINE_OF_WALK + 6);
        ck_assert_int_eq(often->state[0], TOOL_LINE_RAN);
        ck_assert_uint_eq(often->count[0], calls * TURNS);
        ck_assert_uint_eq(line_at(lines, LINE_OF_WALK + 9)->count[0], calls);
        ck_assert_int_eq(line_at(lines, LINE_OF_WALK + 13)->state[0], TOOL_LINE_NEVER);
        const struct tool_lines_edge *edges = tool_source_lines_get_edges(lines, &count);
        ck_assert_uint_eq(count, 4);
        ck_assert_uint_eq(edges[0].count, calls);
        tool_source_lines_close(lines);
    }
    close_asked(&a);
}
END_TEST

START_TEST(a_line_has_the_calls_in_which_it_ran)
{
    struct asked a;
    struct tool_source_lines *lines;
    ttape_error err = {0};
    size_t count;
    open_asked(&a, NULL);
    a.how.file = "test_source_lines.c";
    a.how.line = LINE_OF_WALK + 9;
    TTEST_OK(tool_source_lines_make(&lines, a.trace.reader, &a.how, &err));
    const ttape_passes_call *calls = tool_source_lines_get_calls(lines, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(calls[1].count, 1);
    tool_source_lines_close(lines);
    a.how.line = LINE_OF_WALK + 13;
    ck_assert_int_eq(tool_source_lines_make(&lines, a.trace.reader, &a.how, &err),
                     TTAPE_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "it never did"));
    close_asked(&a);
}
END_TEST

static bool wait_a_while(void *context, uint64_t done, uint64_t all)
{
    uint64_t *left = context;
    (void)done;
    (void)all;
    return (*left)-- > 0;
}

START_TEST(what_cannot_be_answered_ends_nothing_else)
{
    struct asked a;
    struct tool_source_lines *lines;
    ttape_error err = {0};
    uint64_t left = 0, memory_bytes = 256, refused = 0;
    const uint32_t shift = ttest_every(3);
    const ttape_watch watch = {wait_a_while, &left};
    open_asked(&a, "/nowhere/program");
    ck_assert_int_eq(tool_source_lines_make(&lines, a.trace.reader, &a.how, &err),
                     TTAPE_E_NOT_FOUND);
    ck_assert_ptr_null(lines);
    ck_assert_ptr_eq(strstr(a.reason, "/nowhere/program: "), a.reason);
    close_asked(&a);
    open_asked(&a, NULL);
    for (ttape_status status = TTAPE_E_LIMIT; status != TTAPE_OK; refused++) {
        a.how.memory_bytes = memory_bytes;
        status = tool_source_lines_make(&lines, a.trace.reader, &a.how, &err);
        ck_assert(status == TTAPE_OK ||
                  (status == TTAPE_E_LIMIT && lines == NULL && err.status == TTAPE_E_LIMIT));
        memory_bytes <<= shift;
    }
    ck_assert_uint_gt(refused, 4);
    tool_source_lines_close(lines);
    a.how.watch = &watch;
    for (uint64_t rounds = 0; rounds < 2; rounds++) {
        left = rounds;
        ck_assert_int_eq(tool_source_lines_make(&lines, a.trace.reader, &a.how, &err),
                         TTAPE_E_STATE);
    }
    const struct tool_lines_call none = {0, 5};
    a.how.watch = NULL;
    a.how.call = &none;
    ck_assert_int_eq(tool_source_lines_make(&lines, a.trace.reader, &a.how, &err),
                     TTAPE_E_NOT_FOUND);
    ck_assert_str_eq(err.message, "it has no call 's0e5'");
    close_asked(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("source lines");
    TCase *tests = tcase_create("source lines");
    tcase_add_test(tests, lines_ran_as_often_as_their_blocks);
    tcase_add_test(tests, a_line_has_the_calls_in_which_it_ran);
    tcase_add_test(tests, what_cannot_be_answered_ends_nothing_else);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
