/* Programs to a writer, and what must come back from a reader. */
#include <stdio.h>
#include <string.h>

#include "format/container/partition.h"
#include "fuzz_events.h"

#define RUN_MAX 256u

static ttape_string string(const char *text) { return (ttape_string){text, strlen(text)}; }

/* What names have in them that some output must not show as it is. */
static const char *const odd[] = {"",  "\x1b[m",   "\";",          "&lt;",         "a,b", "\\n", "",
                                  "<", "\xc2\x9b", "\xe2\x80\xae", "\xff\xed\xa0", " 1",  "\n"};
#define ODD_COUNT (sizeof odd / sizeof odd[0])

static ttape_status define(ttape_writer *w, const struct fuzz_program *p)
{
    uint32_t id;
    ttape_process process = {.pid = 7, .parent = TTAPE_NONE, .name = string("proc\x1b[0m")};
    ttape_module module = {.start = 4096, .end = 8192, .path = string("/bin/\xe2\x80\xae")};
    ttape_status status = ttape_writer_add_process(w, &process, &id, NULL);
    if (status == TTAPE_OK)
        status = ttape_writer_add_module(w, &module, &id, NULL);
    module.path = string("");
    if (status == TTAPE_OK)
        status = ttape_writer_add_module(w, &module, &id, NULL);
    if (status == TTAPE_OK)
        status = ttape_writer_set_text(w, "command", string("prog \"]}</script>"), NULL);
    for (uint32_t i = 0; i < p->stream_count && status == TTAPE_OK; i++) {
        ttape_stream stream = {.tid = 100 + i / 2, .name = string("thread")};
        status = ttape_writer_add_stream(w, &stream, &id, NULL);
    }
    for (uint32_t i = 0; i < p->site_count && status == TTAPE_OK; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%c%s", (char)('A' + i), odd[i % ODD_COUNT]);
        ttape_site site = {.address = 4096 + 16 * i,
                           .module = i % 3 == 2 ? TTAPE_NONE : i % 3,
                           .line = i,
                           .kind = i % 5,
                           .symbol = string(name),
                           .file = string(i % 2 ? odd[i % ODD_COUNT] : "")};
        status = ttape_writer_add_site(w, &site, &id, NULL);
    }
    return status;
}

/* Steps that go to the writer in one call. */
static uint32_t run_length(const struct fuzz_program *p, uint32_t at, bool in_runs)
{
    uint32_t count = 1;
    while (in_runs && at + count < p->step_count && count < RUN_MAX &&
           p->steps[at + count - 1].value_count == 0 && !p->steps[at + count].flush &&
           p->steps[at + count].stream == p->steps[at].stream)
        count++;
    return count;
}

static ttape_status append_all(ttape_writer *w, const struct fuzz_program *p, bool in_runs,
                               ttape_error *err)
{
    ttape_event events[RUN_MAX];
    ttape_status status = TTAPE_OK;
    for (uint32_t at = 0, count; at < p->step_count && status == TTAPE_OK; at += count) {
        const struct fuzz_step *last = &p->steps[at + (count = run_length(p, at, in_runs)) - 1];
        if (p->steps[at].flush)
            status = ttape_writer_flush(w, false, err);
        for (uint32_t i = 0; i < count; i++)
            events[i] = p->steps[at + i].event;
        if (status == TTAPE_OK)
            status = ttape_writer_append(w, last->stream, events, count, err);
        if (status == TTAPE_OK && last->value_count > 0)
            status = ttape_writer_attach(w, last->stream, last->values, last->value_count, err);
    }
    return status;
}

ttape_status fuzz_program_write(const struct fuzz_program *p, const ttape_writer_options *options,
                                bool in_runs, struct fuzz_bytes *out)
{
    struct fuzz_memory counted;
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = *options;
    ttape_error err = {0};
    ttape_writer *w;
    fuzz_memory_open(&counted, 1u << 30);
    o.allocator = &counted.allocator;
    FUZZ_REQUIRE(ttape_writer_open(&w, &sink, &o, &err) == TTAPE_OK);
    ttape_status status = define(w, p);
    FUZZ_REQUIRE(status == TTAPE_OK);
    status = append_all(w, p, in_runs, &err);
    if (status == TTAPE_OK)
        status = ttape_writer_finish(w, &err);
    else
        FUZZ_REQUIRE(err.status == status && ttape_writer_finish(w, NULL) == status);
    ttape_writer_close(w);
    fuzz_memory_close(&counted);
    *out = fuzz_copy(memory.data, memory.size_bytes);
    ttape_memory_sink_close(&memory);
    return status;
}

static uint64_t stored_time(const struct fuzz_program *p, uint64_t time_ns)
{
    uint64_t resolution = p->options.resolution_ns, origin = p->options.origin_ns;
    resolution += resolution == 0;
    if (resolution == TTAPE_TIME_NONE)
        return 0;
    return ttp_time_of(ttp_tick_of(time_ns, origin, resolution), origin, resolution);
}

/* An exit that could not be one was taken as what it must have been. */
static bool same_kind(const ttape_event *in, const ttape_event *out)
{
    if (in->kind == TTAPE_EVENT_EXIT)
        return out->kind == TTAPE_EVENT_EXIT || out->kind == TTAPE_EVENT_EXIT_ACROSS ||
               out->kind == TTAPE_EVENT_EXIT_UNSEEN;
    return in->kind == out->kind ||
           (in->kind == TTAPE_EVENT_SIGNAL_END && out->kind == TTAPE_EVENT_EXIT_ACROSS);
}

static void require_values(const struct fuzz_step *step, const ttape_event_item *item)
{
    FUZZ_REQUIRE(item->value_count == step->value_count);
    for (uint32_t i = 0; i < step->value_count; i++) {
        const ttape_value *in = &step->values[i], *out = &item->values[i];
        FUZZ_REQUIRE(in->type == out->type && in->bytes.size_bytes == out->bytes.size_bytes);
        FUZZ_REQUIRE(in->bytes.size_bytes > 0 || in->number == out->number ||
                     in->type == TTAPE_VALUE_BYTES || in->type == TTAPE_VALUE_STRING);
        FUZZ_REQUIRE(in->bytes.size_bytes == 0 ||
                     memcmp(in->bytes.data, out->bytes.data, in->bytes.size_bytes) == 0);
    }
}

/* F-END-01: right behind a gap, but for switches and what was left there before. */
static bool is_behind_gap(const struct fuzz_program *p, uint32_t at)
{
    uint32_t stream = p->steps[at].stream;
    while (at-- > 0) {
        const ttape_event *event = &p->steps[at].event;
        if (p->steps[at].stream != stream)
            continue;
        if (event->kind == TTAPE_EVENT_GAP)
            return event->argument != TTAPE_GAP_REASON_FILTER &&
                   event->argument != TTAPE_GAP_REASON_CUT;
        if (event->kind != TTAPE_EVENT_SWITCH && event->kind != TTAPE_EVENT_UNWIND &&
            event->kind != TTAPE_EVENT_EXIT && event->kind != TTAPE_EVENT_EXIT_ACROSS &&
            event->kind != TTAPE_EVENT_SIGNAL_END)
            return false;
    }
    return false;
}

void fuzz_program_require(const struct fuzz_program *p, const ttape_event_item *item,
                          uint32_t next[FUZZ_STREAMS])
{
    uint32_t *at = &next[item->stream];
    while (*at < p->step_count && p->steps[*at].stream != item->stream)
        ++*at;
    FUZZ_REQUIRE(*at < p->step_count);
    const struct fuzz_step *step = &p->steps[(*at)++];
    const ttape_event *in = &step->event, *out = &item->event;
    FUZZ_REQUIRE(out->time_ns == stored_time(p, in->time_ns));
    FUZZ_REQUIRE(same_kind(in, out));
    FUZZ_REQUIRE(in->site == out->site);
    FUZZ_REQUIRE(in->kind == TTAPE_EVENT_EXIT || in->kind != out->kind ||
                 in->argument == out->argument);
    bool is_unwound = out->kind == TTAPE_EVENT_UNWIND || out->kind == TTAPE_EVENT_EXIT_ACROSS;
    FUZZ_REQUIRE(in->lost_count == out->lost_count ||
                 (is_unwound && out->lost_count == TTAPE_UNWIND_LOST && is_behind_gap(p, *at - 1)));
    FUZZ_REQUIRE(in->depth == TTAPE_DEPTH_AUTO || in->depth == out->depth);
    require_values(step, item);
}
