/* The view's questions and responses: numbers of 64 bits, names that may hold any byte, limits,
 * what is no question, and the next and previous call of a function. That its numbers are those of
 * other answers, tests/view/ looks at. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/tiles.h>
#include <tracetape/view.h>
#include <tracetape/writer.h>

#include "tests/unit/report_model.h"

#define START_NS (UINT64_C(1) << 60)

enum { MAIN, WORK, HOSTILE, SITES };
enum { LONG_CALLS = 200000 };

static const char hostile[] = "<img onerror=\"x\">\x01\xff\xed\xa0\x80\xe2\x80\xae\n\\";

static void append(ttape_writer *w, uint32_t stream, uint64_t time_ns, ttape_event_kind kind,
                   uint32_t site)
{
    ttape_event e = {
        .time_ns = START_NS + time_ns, .kind = kind, .site = site, .depth = TTAPE_DEPTH_AUTO};
    ttape_error err = {0};
    TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
}

/* partition_events: 0 for the usual. */
static ttape_writer *open_writer(ttape_memory_sink *memory, uint32_t partition_events)
{
    const ttape_sink sink = ttape_sink_memory(memory);
    const ttape_writer_options how = {.size = sizeof how, .partition_events = partition_events};
    ttape_writer *w;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &how, NULL), TTAPE_OK);
    return w;
}

static struct ttest_file close_writer(ttape_writer *w, ttape_memory_sink *memory)
{
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(memory);
}

/* main calls work a hundred times; the hostile one lasts beyond 2^53 ns. */
static struct ttest_file make(void)
{
    ttape_memory_sink memory = {0};
    ttape_writer *w = open_writer(&memory, 50);
    uint32_t id;
    const ttape_process process = {.pid = 7, .parent = TTAPE_NONE, .name = {"prog", 4}};
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    const ttape_stream stream = {.process = id, .tid = UINT64_MAX};
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    const ttape_string names[SITES] = {{"main", 4}, {"work", 4}, {hostile, sizeof hostile - 1}};
    const ttape_string files[SITES] = {{"/src/main.c", 11}, {"../lib/work.c", 13}, {"", 0}};
    for (uint32_t i = 0; i < SITES; i++) {
        const ttape_site site = {
            .module = TTAPE_NONE, .address = i, .symbol = names[i], .file = files[i]};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    append(w, 0, 0, TTAPE_EVENT_ENTER, MAIN);
    for (uint64_t i = 1; i <= 100; i++) {
        append(w, 0, 10 * i, TTAPE_EVENT_ENTER, WORK);
        append(w, 0, 10 * i + 1 + i % 7, TTAPE_EVENT_EXIT, WORK);
    }
    append(w, 0, 2000, TTAPE_EVENT_ENTER, HOSTILE);
    append(w, 0, (UINT64_C(1) << 54) + 1, TTAPE_EVENT_EXIT, HOSTILE);
    append(w, 0, (UINT64_C(1) << 54) + 3, TTAPE_EVENT_EXIT, MAIN);
    return close_writer(w, &memory);
}

struct asked {
    struct ttest_trace trace;
    ttape_view *view;
};

/* main calls two functions of one name, which nothing says to be one, many times in turn. */
static struct ttest_file make_long(void)
{
    ttape_memory_sink memory = {0};
    const ttape_process process = {.pid = 7, .parent = TTAPE_NONE, .name = {"prog", 4}};
    const ttape_stream stream = {.tid = UINT64_MAX};
    ttape_writer *w = open_writer(&memory, 20000);
    uint32_t id;
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const ttape_site site = {
            .module = TTAPE_NONE, .address = i, .symbol = {i == 0 ? "main" : "same", 4}};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    append(w, 0, 0, TTAPE_EVENT_ENTER, 0);
    for (uint64_t i = 0; i < LONG_CALLS; i++) {
        append(w, 0, 10 * i + 1, TTAPE_EVENT_ENTER, 1 + (i % 4 == 0));
        append(w, 0, 10 * i + 4, TTAPE_EVENT_EXIT, 1 + (i % 4 == 0));
    }
    append(w, 0, 10 * LONG_CALLS, TTAPE_EVENT_EXIT, 0);
    return close_writer(w, &memory);
}

/* A hundred calls, each with its number as a value, in partitions of ten. */
static struct ttest_file make_valued(void)
{
    ttape_memory_sink memory = {0};
    ttape_writer *w = open_writer(&memory, 20);
    ttape_error err = {0};
    ttest_define(w, 1);
    for (uint64_t i = 0; i < 100; i++) {
        const ttape_value value = {.type = TTAPE_VALUE_UNSIGNED, .number = 1000 + i / 10 % 2};
        append(w, 0, 10 * i, TTAPE_EVENT_ENTER, 0);
        TTEST_OK(ttape_writer_attach(w, 0, &value, 1, &err));
        append(w, 0, 10 * i + 5, TTAPE_EVENT_EXIT, 0);
    }
    return close_writer(w, &memory);
}

/* A call in which its thread waits twice: 300 ns from 100 on, and 20 ns, of a thousand. */
static struct ttest_file make_waiting(void)
{
    ttape_memory_sink memory = {0};
    const ttape_off_span spans[] = {
        {.event = 1, .start_ns = 90, .length_ns = 300, .kind = TTAPE_OFF_BLOCKED},
        {.event = 1, .start_ns = 600, .length_ns = 20, .kind = TTAPE_OFF_PREEMPTED},
        {.event = 2, .start_ns = 0, .length_ns = 9000, .kind = TTAPE_OFF_PREEMPTED},
        {.event = 3, .start_ns = 0, .length_ns = 900, .kind = TTAPE_OFF_BLOCKED_NEAR}};
    ttape_writer *w = open_writer(&memory, 0);
    ttape_error err = {0};
    ttest_define(w, 1);
    TTEST_OK(ttape_writer_add_off(w, 0, spans, sizeof spans / sizeof *spans, &err));
    append(w, 0, 10, TTAPE_EVENT_ENTER, 0);
    append(w, 0, 1000, TTAPE_EVENT_EXIT, 0);
    append(w, 0, 1100, TTAPE_EVENT_ENTER, 0);
    append(w, 0, 2100, TTAPE_EVENT_EXIT, 0);
    return close_writer(w, &memory);
}

static void open_file(struct asked *a, struct ttest_file file, const ttape_view_options *options)
{
    a->trace = ttest_open_trace(file);
    ck_assert_int_eq(ttape_view_open(&a->view, a->trace.reader, options, NULL), TTAPE_OK);
}

static void open_view(struct asked *a, const ttape_view_options *options)
{
    open_file(a, make(), options);
}

static void open_long(struct asked *a, const ttape_view_options *options)
{
    open_file(a, make_long(), options);
}

static void close_view(struct asked *a)
{
    ttape_view_close(a->view);
    ttest_close_trace(&a->trace);
}

/* The response, which has an end. */
static const char *ask(struct asked *a, const char *request)
{
    static char text[1 << 16];
    ttape_string response;
    ttape_error err = {0};
    TTEST_OK(ttape_view_answer(a->view, request, strlen(request), &response, &err));
    ck_assert_uint_lt(response.size_bytes, sizeof text);
    memcpy(text, response.data, response.size_bytes);
    text[response.size_bytes] = '\0';
    return text;
}

static void has(struct asked *a, const char *request, const char *wanted)
{
    const char *text = ask(a, request);
    if (strstr(text, wanted) == NULL)
        ck_abort_msg("'%s': no '%s' in %.3000s", request, wanted, text);
}

START_TEST(numbers_of_64_bits_are_exact)
{
    struct asked a;
    open_view(&a, NULL);
    has(&a, "trace", "\"start_ns\":\"1152921504606846976\"");
    has(&a, "trace", "\"end\":\"18014398509481987\"");
    has(&a, "threads", "\"tid\":\"18446744073709551615\"");
    has(&a, "node?id=s0e201", "\"time\":\"18014398509479985\"");
    has(&a, "node?id=s0e201", "\"end\":\"18014398509481985\"");
    has(&a, "functions?from=2000&to=18014398509481985&sort=self", "\"self\":\"18014398509479985\"");
    has(&a, "functions?from=-5&to=0", "\"rows\":[]");
    has(&a, "stack?stream=0&time=9007199254740993", "\"s0p0f0\"");
    close_view(&a);
}
END_TEST

START_TEST(names_are_text)
{
    struct asked a;
    open_view(&a, NULL);
    has(&a, "sites?sites=2",
        "\"<img onerror=\\u0022x\\u0022>\\u0001\\ufffd\\ufffd\\ufffd\\ufffd\xe2\x80\xae\\u000a"
        "\\u005c\"");
    has(&a, "search?text=WOR", "\"name\":\"work\"");
    has(&a, "search?text=%57ork", "\"total\":\"1\"");
    has(&a, "sites?sites=4294967295,99", "\"name\":\"?\"");
    close_view(&a);
}
END_TEST

START_TEST(what_is_wrong_stands_in_its_line)
{
    static const char *const wrong[] = {
        "",
        "nothing",
        "trace?a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a",
        "node",
        "node?id=s0e",
        "node?id=s9",
        "node?id=s0e99999999999999999999",
        "node?id=s0&mode=all",
        "path?id=s0",
        "path?id=s0p0f9",
        "children?id=s0&count=2001",
        "children?id=s0&first=18446744073709551615",
        "stack?stream=1&time=0",
        "stack?stream=0&time=x",
        "functions?from=5&to=4",
        "functions?streams=7",
        "functions?sort=name",
        "function?site=3",
        "tiles?level=56&streams=0",
        "tiles?level=1&index=--1",
        "tiles?level=1&instants=17",
        "tiles?level=1&streams=0,,1",
        "longest?by=luck",
        "longest?count=-1",
        "longest?least=2&most=1",
        "longest?most=soon",
        "longest?least=1&callers=0",
        "next?site=1&stream=0",
        "next?stream=0&event=1",
    };
    struct asked a;
    open_view(&a, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char request[256];
        snprintf(request, sizeof request, "trace\n%s\ntrace", wrong[i]);
        const char *text = ask(&a, request);
        const char *error = strstr(text, "},{\"error\":{\"status\":\"");
        ck_assert_msg(error != NULL, "'%s' is answered: %s", wrong[i], text);
        ck_assert_ptr_nonnull(strstr(error, "},{\"trace_id\""));
    }
    close_view(&a);
}
END_TEST

START_TEST(requests_and_responses_have_limits)
{
    struct asked a;
    ttape_string response;
    ttape_error err = {0};
    char *long_request = calloc(1, TTAPE_VIEW_REQUEST_BYTES + 1);
    const ttape_view_options small = {.size = sizeof small, .response_bytes = 300};
    open_view(&a, &small);
    memset(long_request, 'x', TTAPE_VIEW_REQUEST_BYTES + 1);
    ck_assert_int_eq(
        ttape_view_answer(a.view, long_request, TTAPE_VIEW_REQUEST_BYTES + 1, &response, &err),
        TTAPE_E_ARGUMENT);
    memset(long_request, '\n', TTAPE_VIEW_REQUEST_LINES + 1);
    ck_assert_int_eq(
        ttape_view_answer(a.view, long_request, TTAPE_VIEW_REQUEST_LINES + 1, &response, &err),
        TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_view_answer(a.view, "trace", 5, &response, &err), TTAPE_E_LIMIT);
    ck_assert_uint_eq(response.size_bytes, 0);
    has(&a, "search?text=nothing", "[{\"sites\":[],\"total\":\"0\",\"complete\":true}]");
    free(long_request);
    close_view(&a);
}
END_TEST

/* Event 1 + 2 i enters call i of work. */
START_TEST(calls_come_one_after_the_other)
{
    struct asked a;
    char request[128], wanted[64];
    open_view(&a, NULL);
    for (unsigned from = 0; from < 204; from++) {
        unsigned next = from + 1 + from % 2, previous = from - 1 - from % 2;
        snprintf(request, sizeof request, "next?site=1&stream=0&event=%u", from);
        snprintf(wanted, sizeof wanted, next <= 199 ? "\"event\":\"%u\"" : "[{\"complete\":true}]",
                 next);
        has(&a, request, wanted);
        if (from < 3 || from > 200)
            continue;
        snprintf(request, sizeof request, "next?site=1&stream=0&event=%u&back=1", from);
        snprintf(wanted, sizeof wanted, "\"event\":\"%u\"", previous);
        has(&a, request, wanted);
    }
    has(&a, "next?site=1&stream=0&time=250", "\"event\":\"49\"");
    has(&a, "next?site=1&stream=0&time=251", "\"event\":\"51\"");
    has(&a, "next?site=1&stream=0&time=250&back=1", "\"event\":\"47\"");
    has(&a, "next?site=1&stream=0&time=18014398509481988", "[{\"complete\":true}]");
    has(&a, "next?site=1&stream=0&event=1&back=1", "[{\"complete\":true}]");
    close_view(&a);
}
END_TEST

/* main is of a file that is named in full, work of one that is named from a folder. */
static ttape_status give_source(void *context, ttape_string path, ttape_string *text,
                                ttape_error *err)
{
    unsigned *count = context;
    (void)err;
    (void)path;
    ++*count;
    *text = (ttape_string){"one\n<b>\xff\n\nfour", 14};
    return TTAPE_OK;
}

static ttape_status give_lines(void *context, const char *call, uint32_t site, ttape_string *json,
                               ttape_error *err)
{
    (void)context;
    (void)err;
    *json = call == NULL                ? (ttape_string){"{\n\"all\": 1\n}\n", 13}
            : strcmp(call, "s0e3") == 0 ? (ttape_string){"{}", 2}
                                        : (ttape_string){"[]", 2};
    return site == TTAPE_NONE || call == NULL ? TTAPE_OK : TTAPE_E_STATE;
}

START_TEST(sources_are_those_that_the_trace_names)
{
    unsigned count = 0;
    const ttape_view_options how = {
        .size = sizeof how, .source = give_source, .lines = give_lines, .context = &count};
    static const char *const refused[] = {
        "source",
        "source?file=",
        "source?file=/etc/passwd",
        "source?file=/src/main.",
        "source?file=/src/main.cc",
        "source?file=src/main.c",
        "source?file=/src/../src/main.c",
        "source?file=/src//main.c",
        "source?file=../lib/work.cc",
        "source?file=/home/../lib/work.c",
        "source?file=work.c",
        "source?file=/b/work.c",
        "source?file=/xlib/work.c",
        "source?file=lib/work.c",
        "source?file=/src/main.c%00",
        "source?file=/src/main.c&first=0",
        "source?file=/src/main.c&count=4001",
    };
    struct asked a;
    open_view(&a, &how);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        has(&a, refused[i], "[{\"error\"");
    ck_assert_uint_eq(count, 0);
    has(&a, "source?file=/src/main.c",
        "\"first\":1,\"lines\":[\"one\",\"<b>\\ufffd\",\"\",\"four\"],\"more\":false");
    has(&a, "source?file=%2fsrc%2Fmain.c&first=2&count=1", "\"first\":2,\"lines\":[\"<b>");
    has(&a, "source?file=%2fsrc%2Fmain.c&first=2&count=1", "\"more\":true");
    has(&a, "source?file=../lib/work.c&first=9", "\"lines\":[],\"more\":false");
    has(&a, "source?file=/home/me/lib/work.c", "\"one\"");
    has(&a, "lines?site=1", "[{\"lines\": {\"all\": 1} }]");
    has(&a, "lines?id=s0e3", "[{\"lines\": {} }]");
    has(&a, "lines?id=s0e03", "[{\"lines\": {} }]");
    has(&a, "lines?id=--frame", "[{\"error\"");
    has(&a, "lines?site=3", "[{\"error\"");
    close_view(&a);
    open_view(&a, NULL);
    has(&a, "source?file=/src/main.c", "no sources are shown");
    has(&a, "lines?site=1", "no lines are counted");
    close_view(&a);
}
END_TEST

START_TEST(a_butterfly_adds_up)
{
    struct asked a;
    open_view(&a, NULL);
    has(&a, "butterfly?site=1&wait=0", "\"done\":0,\"complete\":false}");
    has(&a, "butterfly?site=1",
        "\"complete\":true,\"function\":{\"calls\":\"100\",\"total\":\"397\",\"self\":\"397\","
        "\"recursion\":\"0\"},\"caller_count\":1,\"callers\":[{\"site\":0,\"calls\":\"100\","
        "\"total\":\"397\"}],\"callee_count\":0,\"callees\":[]}]");
    has(&a, "butterfly?site=0&wait=0", "\"callee_count\":2,\"callees\":[{\"site\":2");
    has(&a, "butterfly?site=1&from=100&to=120", "\"function\":{\"calls\":\"2\",\"total\":\"9\"");
    has(&a, "butterfly?site=2&from=0&to=10", "\"complete\":true}]");
    has(&a, "butterfly?site=3", "[{\"error\"");
    close_view(&a);
}
END_TEST

static bool is_stopped(void *context) { return *(const bool *)context; }

/* However often somebody does not wait, what was read before is not read again. */
START_TEST(a_butterfly_that_is_stopped_goes_on)
{
    struct asked a;
    bool stops = false;
    const ttape_view_options how = {
        .size = sizeof how, .jobs = 2, .stops = is_stopped, .context = &stops};
    open_long(&a, &how);
    has(&a, "butterfly?site=0", "\"done\":2,\"complete\":false");
    stops = true;
    has(&a, "butterfly?site=0", "[{\"error\"");
    stops = false;
    has(&a, "butterfly?site=0&wait=0", "\"done\":2,\"complete\":false");
    has(&a, "butterfly?site=0",
        "\"complete\":true,\"function\":{\"calls\":\"1\",\"total\":\"2000000\"");
    has(&a, "butterfly?site=0&wait=0", "{\"site\":1,\"calls\":\"200000\",\"total\":\"600000\"}");
    close_view(&a);
}
END_TEST

/* Pieces that do not fit into the memory side by side are read one after the other. */
START_TEST(a_butterfly_needs_little_memory)
{
    struct asked a;
    const ttape_view_options how = {.size = sizeof how, .jobs = 8, .memory_bytes = 60000};
    open_long(&a, &how);
    for (int i = 0; i < 10; i++)
        has(&a, "butterfly?site=0", "\"pieces\":7"); /* and no error */
    has(&a, "butterfly?site=0&wait=0",
        "\"complete\":true,\"function\":{\"calls\":\"1\",\"total\":\"2000000\"");
    close_view(&a);
}
END_TEST

/* Of the tile so many behind that in which the thread begins. */
static void check_off(struct asked *a, uint32_t level, int64_t behind, const char *off)
{
    ttape_tile_axis axis;
    ttape_error err = {0};
    char request[160], wanted[80];
    TTEST_OK(ttape_tile_get_axis(a->trace.reader, 0, &axis, &err));
    snprintf(request, sizeof request, "tiles?level=%u&index=%lld&streams=0&off=1", level,
             (long long)((axis.first_tick >> level >> 8) + behind));
    snprintf(wanted, sizeof wanted, "\"off\":%s", off);
    has(a, request, wanted);
}

/* No longer than their intervals, in whole buckets; a stretch of which nobody knows where it was,
 * and short ones, are none. */
START_TEST(tiles_say_when_threads_did_not_run)
{
    struct asked a;
    open_file(&a, make_waiting(), NULL);
    check_off(&a, 0, 0, "[100,156]");
    check_off(&a, 0, 1, "[0,144]");
    check_off(&a, 3, 0, "[13,37,125,12]");
    check_off(&a, 4, 0, "[63,5]");
    check_off(&a, 55, 0, "[]");
    has(&a, "tiles?level=0&index=0&streams=0", "\"gaps\":[]}");
    close_view(&a);
}
END_TEST

/* What a report says in two rows is two functions to all questions. */
START_TEST(rows_are_those_of_reports)
{
    struct asked a;
    open_long(&a, NULL);
    has(&a, "functions", "{\"site\":1,\"calls\":\"150000\"");
    has(&a, "function?site=1", "\"row\":{\"site\":1,\"calls\":\"150000\"");
    has(&a, "function?site=2", "\"row\":{\"site\":2,\"calls\":\"50000\"");
    has(&a, "search?text=same", "\"total\":\"2\",\"complete\":true}]");
    has(&a, "longest?site=2&by=start&count=1", "\"site\":2,\"enter\":\"1\"");
    has(&a, "longest?site=1&by=start&count=1", "\"site\":1,\"enter\":\"11\"");
    has(&a, "next?site=2&stream=0&event=1", "\"event\":\"9\"");
    close_view(&a);
}
END_TEST

struct told {
    uint64_t count, done, all;
};

static void note_told(void *context, uint64_t done, uint64_t all)
{
    struct told *told = context;
    told->count++;
    told->done = done;
    told->all = all;
}

static bool tell(void *context, uint64_t *done, uint64_t *all)
{
    const struct told *told = context;
    *done = told->done;
    *all = told->all;
    return told->count > 0;
}

START_TEST(long_answers_say_how_far_they_are)
{
    struct asked a;
    struct told told = {0};
    const ttape_view_options how = {
        .size = sizeof how, .tells = note_told, .progress = tell, .context = &told};
    open_long(&a, &how);
    ck_assert_str_eq(ask(&a, "progress"), "[{}]");
    has(&a, "longest?site=1&count=100&by=self", "\"calls\":[{");
    ck_assert_uint_gt(told.count, 0);
    told = (struct told){1, 3, 7};
    ck_assert_str_eq(ask(&a, "progress"), "[{\"done\":\"3\",\"all\":\"7\"}]");
    close_view(&a);
    open_view(&a, NULL);
    ck_assert_str_eq(ask(&a, "progress"), "[{}]");
    close_view(&a);
}
END_TEST

static uint32_t count_found(struct asked *a, const char *request)
{
    uint32_t count = 0;
    for (const char *at = ask(a, request); (at = strstr(at, "\"event\":")) != NULL; at++)
        count++;
    return count - 1; /* the last one is where to go on */
}

/* Values behind a partition that cannot be read are found, in the same answer, which counts it. */
START_TEST(values_are_found_behind_damage)
{
    struct asked a;
    ttape_partition_info about;
    struct ttest_file file = make_valued();
    open_file(&a, file, NULL);
    ck_assert_uint_eq(count_found(&a, "find?text=1000"), 50);
    ck_assert(strstr(ask(&a, "find?text=1000"), "damaged") == NULL);
    (void)ttape_reader_get_partition(a.trace.reader, 4, &about);
    ttape_view_close(a.view);
    ttape_reader_close(a.trace.reader);

    file.data[about.offset + about.stored_bytes - 2] ^= 1;
    open_file(&a, file, NULL);
    ck_assert_uint_eq(count_found(&a, "find?text=1000"), 40);
    has(&a, "find?text=1001", "\"event\":\"198\"");
    has(&a, "find?text=1000", "\"complete\":true");
    has(&a, "find?text=1000", "\"damaged\":\"1\"");
    has(&a, "find?text=1000&event=80", "\"found\":[{\"stream\":0,\"event\":\"120\"");
    close_view(&a);
}
END_TEST

START_TEST(misuse_is_refused)
{
    struct asked a;
    ttape_view *view;
    ttape_string response;
    const ttape_view_options odd = {.size = sizeof odd, .reserved_jobs = 1};
    open_view(&a, NULL);
    ck_assert_int_eq(ttape_view_open(NULL, a.trace.reader, NULL, NULL), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_view_open(&view, NULL, NULL, NULL), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(view);
    ck_assert_int_eq(ttape_view_open(&view, a.trace.reader, &odd, NULL), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_view_answer(NULL, "trace", 5, &response, NULL), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_view_answer(a.view, NULL, 5, &response, NULL), TTAPE_E_ARGUMENT);
    ck_assert_str_eq(ask(&a, ""), "[]");
    ttape_view_close(NULL);
    close_view(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *tests = tcase_create("view");
    tcase_add_test(tests, numbers_of_64_bits_are_exact);
    tcase_add_test(tests, names_are_text);
    tcase_add_test(tests, what_is_wrong_stands_in_its_line);
    tcase_add_test(tests, requests_and_responses_have_limits);
    tcase_add_test(tests, calls_come_one_after_the_other);
    tcase_add_test(tests, sources_are_those_that_the_trace_names);
    tcase_add_test(tests, a_butterfly_adds_up);
    tcase_add_test(tests, a_butterfly_that_is_stopped_goes_on);
    tcase_add_test(tests, a_butterfly_needs_little_memory);
    tcase_add_test(tests, rows_are_those_of_reports);
    tcase_add_test(tests, tiles_say_when_threads_did_not_run);
    tcase_add_test(tests, long_answers_say_how_far_they_are);
    tcase_add_test(tests, values_are_found_behind_damage);
    tcase_add_test(tests, misuse_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
