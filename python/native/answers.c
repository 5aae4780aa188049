/* Tables that are made at once: report, the longest calls, sites, threads. */
#include "python/native/query.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 4096u

/* The last two only where they are asked for: rows of places. */
const struct column report_columns[] = {
    {"file", 'I', false, NULL},     {"site", 'I', true, NULL},
    {"stream", 'I', true, NULL},    {"name", COLUMN_TEXT, false, NULL},
    {"calls", 'Q', false, NULL},    {"exits", 'Q', false, NULL},
    {"self_ns", 'q', false, NULL},  {"total_ns", 'q', false, NULL},
    {"min_ns", 'q', true, NULL},    {"max_ns", 'q', true, NULL},
    {"mean_ns", 'd', false, NULL},  {"deviation_ns", 'd', false, NULL},
    {"from_site", 'I', true, NULL}, {"called_from", COLUMN_TEXT, false, NULL}};
const unsigned report_column_count = sizeof report_columns / sizeof report_columns[0];

const struct column slow_columns[] = {
    {"file", 'I', false, NULL},        {"stream", 'I', false, NULL},
    {"stack", 'I', false, NULL},       {"call", 'Q', true, NULL},
    {"depth", 'I', false, NULL},       {"site", 'I', true, NULL},
    {"start_ns", 'q', false, NULL},    {"duration_ns", 'q', false, NULL},
    {"self_ns", 'q', false, NULL},     {"ending", 'B', false, ending_words},
    {"name", COLUMN_TEXT, false, NULL}};
const unsigned slow_column_count = sizeof slow_columns / sizeof slow_columns[0];

static const char *const site_words[] = {"function", "block",  "branch",    "system call", "marker",
                                         "frame",    "target", "call site", "unknown",     NULL};
#define SITE_UNKNOWN (sizeof site_words / sizeof site_words[0] - 2)

const struct column site_columns[] = {{"file", 'I', false, NULL},
                                      {"site", 'I', false, NULL},
                                      {"symbol", COLUMN_TEXT, false, NULL},
                                      {"module", COLUMN_TEXT, false, NULL},
                                      {"build_id", COLUMN_TEXT, false, NULL},
                                      {"address", 'Q', false, NULL},
                                      {"offset", 'Q', true, NULL},
                                      {"source", COLUMN_TEXT, false, NULL},
                                      {"line", 'I', false, NULL},
                                      {"kind", 'B', false, site_words}};
const unsigned site_column_count = sizeof site_columns / sizeof site_columns[0];

const struct column stream_columns[] = {{"file", 'I', false, NULL},
                                        {"stream", 'I', false, NULL},
                                        {"pid", 'Q', false, NULL},
                                        {"tid", 'Q', false, NULL},
                                        {"process", COLUMN_TEXT, false, NULL},
                                        {"name", COLUMN_TEXT, false, NULL},
                                        {"first_event", 'Q', false, NULL},
                                        {"events", 'Q', false, NULL},
                                        {"missing", 'Q', false, NULL}};
const unsigned stream_column_count = sizeof stream_columns / sizeof stream_columns[0];

static void count_damage(void *context, uint32_t partition, const ttape_error *err)
{
    const struct part *part = context;
    (void)partition;
    (void)err;
    atomic_fetch_add(&part->file->damaged, 1);
}

static ttape_string text_of(const char *text) { return (ttape_string){text, strlen(text)}; }

static bool put_name(struct batch *batch, unsigned column, const struct part *part, uint32_t site)
{
    char name[NAME_BYTES];
    (void)ttape_site_name(part->file->reader, site, name, sizeof name);
    return batch_put_text(batch, column, text_of(name));
}

bool put_place(struct batch *batch, unsigned column, const struct part *part, uint32_t site)
{
    char name[NAME_BYTES] = "";
    if (site != TTAPE_NONE)
        (void)ttape_call_site_name(part->file->reader, site, name, sizeof name);
    return batch_put_text(batch, column, text_of(name));
}

/* ---- report ---- */

static bool put_row(struct batch *batch, const struct query *query, const struct part *part,
                    const ttape_report_row *row)
{
    const ttape_reader *reader = part->file->reader;
    ttape_module module = {0};
    ttape_process process = {0};
    ttape_stream_info stream = {0};
    ttape_site site = {0};
    bool is_put = true;
    size_t at = batch->rows;
    switch (query->by) {
    case TTAPE_REPORT_BY_MODULE:
        (void)ttape_reader_get_module(reader, row->module, &module);
        is_put = batch_put_text(batch, 3, module.path);
        break;
    case TTAPE_REPORT_BY_FILE:
        (void)ttape_reader_get_site(reader, row->site, &site);
        is_put = batch_put_text(batch, 3, site.file);
        break;
    case TTAPE_REPORT_BY_THREAD:
        (void)ttape_reader_get_stream(reader, row->stream, &stream);
        is_put = batch_put_text(batch, 3, stream.stream.name);
        break;
    case TTAPE_REPORT_BY_PROCESS:
        (void)ttape_reader_get_process(reader, row->process, &process);
        is_put = batch_put_text(batch, 3, process.name);
        break;
    default: is_put = put_name(batch, 3, part, row->site); break;
    }
    batch_words(batch, 0)[at] = part->number;
    batch_words(batch, 1)[at] = row->site;
    batch_words(batch, 2)[at] = query->by == TTAPE_REPORT_BY_THREAD ? row->stream : TTAPE_NONE;
    batch_longs(batch, 4)[at] = row->call_count;
    batch_longs(batch, 5)[at] = row->exit_count;
    batch_longs(batch, 6)[at] = (uint64_t)row->self_ns;
    batch_longs(batch, 7)[at] = (uint64_t)row->total_ns;
    bool has_ended = row->exit_count > 0;
    batch_longs(batch, 8)[at] = (uint64_t)(has_ended ? row->min_ns : INT64_MIN);
    batch_longs(batch, 9)[at] = (uint64_t)(has_ended ? row->max_ns : INT64_MIN);
    batch_doubles(batch, 10)[at] = row->mean_ns;
    batch_doubles(batch, 11)[at] = has_ended ? row->deviation_ns : (double)NAN;
    if (query->has_more) {
        batch_words(batch, 12)[at] = row->caller;
        is_put = is_put && put_place(batch, 13, part, row->caller);
    }
    batch->rows++;
    return is_put;
}

static bool is_wanted(const struct part *part, uint32_t site)
{
    return part->sites == NULL || (site < part->site_count && part->sites[site] != 0);
}

static ttape_status make_report(const struct query *query, const struct part *part,
                                const ttape_watch *watch, struct batch **out, ttape_error *err)
{
    ttape_report *report;
    uint32_t count;
    ttape_report_options how = {.size = sizeof how,
                                .by = query->by,
                                .exact = query->exact,
                                .has_range = part->has_range,
                                .from_ns = part->from_ns,
                                .to_ns = part->to_ns,
                                .streams = part->streams,
                                .stream_count = part->stream_count,
                                .jobs = query->jobs,
                                .memory_bytes = query->memory_bytes,
                                .damage = query->skips_damage ? count_damage : NULL,
                                .watch = watch,
                                .context = (void *)part};
    ttape_status status = ttape_report_make(&report, part->file->reader, &how, err);
    if (status != TTAPE_OK)
        return status;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    unsigned column_count;
    const struct column *columns = query_columns(query, &column_count);
    struct batch *batch = batch_make(columns, column_count, count);
    bool is_whole = batch != NULL;
    for (uint32_t i = 0; i < count && is_whole; i++)
        if (is_wanted(part, rows[i].site))
            is_whole = put_row(batch, query, part, &rows[i]);
    ttape_report_close(report);
    *out = batch;
    return is_whole ? TTAPE_OK : say_no_memory(err);
}

/* ---- the longest calls ---- */

static bool selects(void *context, uint32_t site) { return is_wanted(context, site); }

static bool put_longest(struct batch *batch, const struct part *part,
                        const ttape_longest_call *call)
{
    size_t at = batch->rows;
    batch_words(batch, 0)[at] = part->number;
    batch_words(batch, 1)[at] = call->stream;
    batch_words(batch, 2)[at] = call->stack;
    batch_longs(batch, 3)[at] = call->enter_number;
    batch_words(batch, 4)[at] = call->depth;
    batch_words(batch, 5)[at] = call->site;
    batch_longs(batch, 6)[at] = call->enter_ns;
    batch_longs(batch, 7)[at] = (uint64_t)call->duration_ns;
    batch_longs(batch, 8)[at] = (uint64_t)call->self_ns;
    batch_bytes(batch, 9)[at] = (uint8_t)call->end;
    bool is_put = put_name(batch, 10, part, call->site);
    batch->rows++;
    return is_put;
}

static ttape_status make_slow(const struct query *query, const struct part *part,
                              const ttape_watch *watch, struct batch **out, ttape_error *err)
{
    ttape_longest *longest;
    uint32_t count;
    ttape_longest_options how = {.size = sizeof how,
                                 .by = query->by,
                                 .count = query->limit,
                                 .has_range = part->has_range,
                                 .from_ns = part->from_ns,
                                 .to_ns = part->to_ns,
                                 .streams = part->streams,
                                 .stream_count = part->stream_count,
                                 .jobs = query->jobs,
                                 .memory_bytes = query->memory_bytes,
                                 .selects = part->sites != NULL ? selects : NULL,
                                 .damage = query->skips_damage ? count_damage : NULL,
                                 .watch = watch,
                                 .context = (void *)part};
    ttape_status status = ttape_longest_find(&longest, part->file->reader, &how, err);
    if (status != TTAPE_OK)
        return status;
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    struct batch *batch = batch_make(slow_columns, slow_column_count, count);
    bool is_whole = batch != NULL;
    for (uint32_t i = 0; i < count && is_whole; i++)
        is_whole = put_longest(batch, part, &calls[i]);
    ttape_longest_close(longest);
    *out = batch;
    return is_whole ? TTAPE_OK : say_no_memory(err);
}

/* ---- definitions ---- */

static bool put_build_id(struct batch *batch, unsigned column, ttape_string id)
{
    char text[2 * 64];
    size_t size = 0;
    for (; size < id.size_bytes && size < sizeof text / 2; size++) {
        static const char digits[] = "0123456789abcdef";
        text[2 * size] = digits[(uint8_t)id.data[size] >> 4];
        text[2 * size + 1] = digits[(uint8_t)id.data[size] & 15];
    }
    return batch_put_text(batch, column, (ttape_string){text, 2 * size});
}

static bool put_site(struct batch *batch, const struct part *part, uint32_t number)
{
    ttape_site site = {.module = TTAPE_NONE};
    ttape_module module = {0};
    size_t at = batch->rows;
    (void)ttape_reader_get_site(part->file->reader, number, &site);
    bool has_module = ttape_reader_get_module(part->file->reader, site.module, &module) == TTAPE_OK;
    batch_words(batch, 0)[at] = part->number;
    batch_words(batch, 1)[at] = number;
    batch_longs(batch, 5)[at] = site.address;
    batch_longs(batch, 6)[at] =
        has_module && site.address >= module.start ? site.address - module.start : UINT64_MAX;
    batch_words(batch, 8)[at] = site.line;
    batch_bytes(batch, 9)[at] = (uint8_t)(site.kind < SITE_UNKNOWN ? site.kind : SITE_UNKNOWN);
    bool is_put = batch_put_text(batch, 2, site.symbol) && batch_put_text(batch, 3, module.path) &&
                  put_build_id(batch, 4, module.build_id) && batch_put_text(batch, 7, site.file);
    batch->rows++;
    return is_put;
}

static bool put_stream(struct batch *batch, const struct part *part, uint32_t number)
{
    ttape_stream_info info = {0};
    ttape_process process = {0};
    size_t at = batch->rows;
    (void)ttape_reader_get_stream(part->file->reader, number, &info);
    (void)ttape_reader_get_process(part->file->reader, info.stream.process, &process);
    batch_words(batch, 0)[at] = part->number;
    batch_words(batch, 1)[at] = number;
    batch_longs(batch, 2)[at] = info.pid;
    batch_longs(batch, 3)[at] = info.stream.tid;
    batch_longs(batch, 6)[at] = info.first_event;
    batch_longs(batch, 7)[at] = info.event_count;
    batch_longs(batch, 8)[at] = info.missing_count;
    bool is_put =
        batch_put_text(batch, 4, process.name) && batch_put_text(batch, 5, info.stream.name);
    batch->rows++;
    return is_put;
}

static ttape_status make_definitions(const struct query *query, const struct part *part,
                                     struct batch **out, ttape_error *err)
{
    ttape_info info;
    unsigned column_count;
    bool is_sites = query->table == TABLE_SITES, is_whole = true;
    const struct column *columns = query_columns(query, &column_count);
    ttape_reader_get_info(part->file->reader, &info);
    uint32_t count = is_sites ? info.site_count : info.stream_count;
    struct batch *batch = batch_make(columns, column_count, count);
    *out = batch;
    if (batch == NULL)
        return say_no_memory(err);
    for (uint32_t i = 0; i < count && is_whole; i++)
        is_whole = is_sites ? put_site(batch, part, i) : put_stream(batch, part, i);
    return is_whole ? TTAPE_OK : say_no_memory(err);
}

ttape_status answer_make(const struct query *query, const struct part *part,
                         const ttape_watch *watch, struct batch **out, ttape_error *err)
{
    ttape_status status = query->table == TABLE_REPORT ? make_report(query, part, watch, out, err)
                          : query->table == TABLE_SLOW ? make_slow(query, part, watch, out, err)
                                                       : make_definitions(query, part, out, err);
    if (status != TTAPE_OK) {
        batch_drop(*out);
        *out = NULL;
    }
    return status;
}
