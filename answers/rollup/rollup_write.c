/* A rollup as bytes: what it says, in its order, twice alike. */
#include <tracetape/writer.h>

#include "answers/rollup/rollup_internal.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"

/* Bytes that grow. */
struct bytes {
    struct ttp_region *region;
    uint8_t *data;
    size_t size, capacity;
    bool is_short;
};

struct writing {
    ttape_rollup *rollup;
    struct bytes out;
    uint32_t *strings; /* by number: its number in the file, TTAPE_NONE: none of it is in there */
    uint32_t string_count;
    uint32_t *traces; /* the same */
};

/* ---- bytes ---- */

/* A cursor with room for so many bytes; take_written says how many there are now. */
static struct ttp_writer_cursor room_for(struct bytes *out, size_t size)
{
    if (!ttp_region_grow(out->region, &out->data, &out->capacity, out->size + size, 1)) {
        out->is_short = true;
        return ttp_writer_cursor_init(NULL, 0);
    }
    return ttp_writer_cursor_init(out->data + out->size, size);
}

static void take_written(struct bytes *out, const struct ttp_writer_cursor *c)
{
    out->size += ttp_written(c);
}

static void put_number(struct bytes *out, uint64_t value)
{
    struct ttp_writer_cursor c = room_for(out, TTP_VARINT_MAX);
    ttp_write_varint(&c, value);
    take_written(out, &c);
}

static void put_text(struct bytes *out, ttape_string text)
{
    struct ttp_writer_cursor c = room_for(out, TTP_VARINT_MAX + text.size_bytes);
    ttp_write_varint(&c, text.size_bytes);
    ttp_write_bytes(&c, text.data, text.size_bytes);
    take_written(out, &c);
}

static void put_sums(struct bytes *out, const struct ttp_rollup_sums *sums, const uint8_t *kinds)
{
    struct ttp_writer_cursor c = room_for(out, TTP_ROLLUP_SUMS_BYTES_MAX);
    ttp_rollup_write_sums(&c, sums, kinds);
    take_written(out, &c);
}

/* ---- sections ---- */

static bool number_strings(struct writing *w)
{
    ttape_rollup *r = w->rollup;
    w->strings = ttp_region_take(&r->region, r->string_count, sizeof *w->strings);
    w->traces = ttp_region_take(&r->region, r->trace_count, sizeof *w->traces);
    if (w->strings == NULL || w->traces == NULL)
        return false;
    memset(w->strings, 0xff, r->string_count * sizeof *w->strings);
    for (size_t i = 0; i < r->function_count; i++) {
        const struct ttp_rollup_function *f = &r->functions[i];
        w->strings[f->symbol] = w->strings[f->build] = w->strings[f->path] = 0;
        w->strings[f->file] = 0;
    }
    w->strings[0] = 0;
    for (size_t i = 0; i < r->string_count; i++) {
        uint32_t string = r->string_order[i];
        if (string != 0 && w->strings[string] != TTAPE_NONE)
            w->strings[string] = ++w->string_count;
    }
    for (uint32_t i = 0; i < r->trace_count; i++)
        w->traces[r->trace_order[i]] = i;
    return true;
}

/* R-STR-01: of each string what it does not share with the one before. */
static void put_strings(struct writing *w)
{
    ttape_string before = {"", 0};
    for (size_t i = 0; i < w->rollup->string_count; i++) {
        uint32_t number = w->rollup->string_order[i];
        if (number == 0 || w->strings[number] == TTAPE_NONE)
            continue;
        ttape_string text = ttp_rollup_text(w->rollup, number);
        size_t shared = 0;
        while (shared < before.size_bytes && shared < text.size_bytes &&
               text.data[shared] == before.data[shared])
            shared++;
        put_number(&w->out, shared);
        put_text(&w->out, (ttape_string){text.data + shared, text.size_bytes - shared});
        before = text;
    }
}

static void put_functions(struct writing *w)
{
    const ttape_rollup *r = w->rollup;
    uint32_t symbol = 0;
    for (size_t i = 0; i < r->function_count; i++) {
        const struct ttp_rollup_function *f = &r->functions[r->function_order[i]];
        put_number(&w->out, w->strings[f->symbol] - symbol); /* they ascend */
        put_number(&w->out, w->strings[f->build]);
        put_number(&w->out, w->strings[f->path]);
        put_number(&w->out, w->strings[f->file]);
        put_number(&w->out, f->line);
        put_number(&w->out, f->kind);
        put_number(&w->out, f->offset);
        symbol = w->strings[f->symbol];
    }
}

static void put_rows(struct writing *w)
{
    const ttape_rollup *r = w->rollup;
    uint32_t function = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct ttp_rollup_row *row = &r->rows[r->row_order[i]];
        uint32_t rank = r->functions[row->function].rank, caller = row->caller;
        if (caller >= TTP_ROLLUP_CALLER_FIRST)
            caller = r->functions[caller - TTP_ROLLUP_CALLER_FIRST].rank + TTP_ROLLUP_CALLER_FIRST;
        put_number(&w->out, rank - function);
        put_number(&w->out, caller);
        function = rank;
    }
}

static void put_traces(struct writing *w)
{
    const ttape_rollup *r = w->rollup;
    for (size_t i = 0; i < r->trace_count; i++) {
        const struct ttp_rollup_trace *t = &r->traces[r->trace_order[i]];
        struct ttp_writer_cursor c = room_for(&w->out, TTP_ROLLUP_ID_BYTES);
        ttp_write_bytes(&c, t->id, TTP_ROLLUP_ID_BYTES);
        take_written(&w->out, &c);
        put_text(&w->out, t->name);
        put_text(&w->out, t->host);
        put_number(&w->out, t->range_count);
        uint64_t end = 0;
        for (size_t k = 0; k < t->range_count; k++) {
            put_number(&w->out, t->ranges[k].first - end);
            put_number(&w->out, t->ranges[k].count);
            end = (uint64_t)t->ranges[k].first + t->ranges[k].count;
        }
        put_sums(&w->out, &t->sums, ttp_rollup_trace_kinds);
    }
}

/* Units in ascending order, whatever their numbers here. */
static void put_counts(struct writing *w, const struct ttp_rollup_row *row)
{
    const ttape_rollup *r = w->rollup;
    size_t units = 0;
    for (size_t i = 0; i < row->count_count; i++)
        units += i == 0 || row->counts[i].key >> 16 != row->counts[i - 1].key >> 16;
    put_number(&w->out, units);
    for (uint64_t from = 0; units > 0; units--) {
        uint32_t least = TTAPE_NONE;
        for (size_t i = 0; i < row->count_count; i++) {
            uint32_t unit = row->counts[i].key >> 16;
            if (r->units[unit] >= from && (least == TTAPE_NONE || r->units[unit] < r->units[least]))
                least = unit;
        }
        size_t first = 0, end;
        while (row->counts[first].key >> 16 != least)
            first++;
        for (end = first; end < row->count_count && row->counts[end].key >> 16 == least;)
            end++;
        put_number(&w->out, r->units[least]);
        put_number(&w->out, end - first);
        for (size_t i = first, class = 0; i < end; class = (row->counts[i++].key & 0xffff) + 1) {
            put_number(&w->out, (row->counts[i].key & 0xffff) - class);
            put_number(&w->out, row->counts[i].count);
        }
        from = r->units[least] + 1;
    }
}

static void put_longest(struct writing *w, const struct ttp_rollup_row *row)
{
    put_number(&w->out, row->longest_count);
    for (uint32_t i = 0; i < row->longest_count; i++) {
        const ttape_rollup_call *call = &row->longest[i];
        put_number(&w->out, ttp_zigzag(call->duration_ns));
        put_number(&w->out, w->traces[call->trace]);
        put_number(&w->out, call->stream);
        put_number(&w->out, call->enter_number);
    }
}

static void put_measures(struct writing *w)
{
    const ttape_rollup *r = w->rollup;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct ttp_rollup_row *row = &r->rows[r->row_order[i]];
        put_sums(&w->out, &row->sums, ttp_rollup_row_kinds);
        if (r->flags != 0)
            put_counts(w, row);
        if (r->options.longest != 0)
            put_longest(w, row);
    }
}

static void fill_header(const struct writing *w)
{
    const ttape_rollup *r = w->rollup;
    uint8_t *head = w->out.data;
    memset(head, 0, TTP_ROLLUP_HEADER_BYTES);
    memcpy(head, TTP_ROLLUP_MAGIC, TTP_ROLLUP_MAGIC_BYTES);
    ttp_store16(head + TTP_ROLLUP_MINOR_AT, TTP_ROLLUP_MINOR);
    ttp_store32(head + TTP_ROLLUP_FLAGS_AT, r->flags);
    ttp_store64(head + TTP_ROLLUP_SIZE_AT, w->out.size);
    ttp_store64(
        head + TTP_ROLLUP_BODY_HASH_AT,
        ttp_checksum(head + TTP_ROLLUP_HEADER_BYTES, w->out.size - TTP_ROLLUP_HEADER_BYTES));
    ttp_store32(head + TTP_ROLLUP_BY_AT, r->options.by);
    ttp_store32(head + TTP_ROLLUP_STRINGS_AT, w->string_count);
    ttp_store32(head + TTP_ROLLUP_FUNCTIONS_AT, (uint32_t)r->function_count);
    ttp_store32(head + TTP_ROLLUP_ROWS_AT, (uint32_t)r->row_count);
    ttp_store32(head + TTP_ROLLUP_TRACES_AT, (uint32_t)r->trace_count);
    ttp_store32(head + TTP_ROLLUP_LONGEST_AT, r->options.longest);
    ttp_store64(head + TTP_ROLLUP_HASH_AT, ttp_checksum(head, TTP_ROLLUP_HASH_AT));
}

ttape_status ttape_rollup_write(ttape_rollup *r, const ttape_sink *sink, ttape_error *err)
{
    if (r->has_failed || r->is_partial || r->is_folded || !r->is_begun)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "this rollup is not what it says that it covers, or it is of nothing");
    if (r->options.by == TTAPE_REPORT_BY_SITE)
        return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                        "rollups of call sites are not written: their file has no such rows");
    struct writing w = {.rollup = r, .out = {.region = &r->region}};
    if (!ttp_rollup_settle(r) || !number_strings(&w))
        return ttp_rollup_fail_short(r, err);
    struct ttp_writer_cursor head = room_for(&w.out, TTP_ROLLUP_HEADER_BYTES);
    (void)ttp_claim(&head, TTP_ROLLUP_HEADER_BYTES);
    take_written(&w.out, &head);
    put_strings(&w);
    put_functions(&w);
    put_rows(&w);
    put_traces(&w);
    put_measures(&w);
    if (w.out.is_short)
        return ttp_rollup_fail_short(r, err);
    fill_header(&w);
    ttape_status status = sink->append(sink->context, w.out.data, w.out.size, err);
    ttp_region_give(&r->region, w.out.data);
    ttp_region_give(&r->region, w.strings);
    ttp_region_give(&r->region, w.traces);
    return status;
}
