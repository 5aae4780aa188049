/* What a rollup file covers, and the sums of its rows: read and checked, then added. */
#include "answers/rollup/rollup_file.h"
#include "format/base/fail.h"

/* ---- traces ---- */

static bool read_text(struct ttp_reader_cursor *c, ttape_string *text)
{
    uint64_t size = ttp_read_varint(c);
    if (c->bad || size > TTP_ROLLUP_TEXT_MAX)
        return false;
    text->data = (const char *)ttp_read_bytes(c, (size_t)size);
    text->size_bytes = (size_t)size;
    return text->data != NULL;
}

static ttape_status read_ranges(struct ttp_rollup_file *f, struct ttp_rollup_trace *t,
                                ttape_error *err)
{
    uint64_t count = ttp_read_varint(&f->cursor), end = 0;
    if (f->cursor.bad || count > ttp_reader_left(&f->cursor) / 2)
        return ttp_rollup_corrupt(f, "R-TRC-02", "more ranges than bytes", err);
    t->ranges = ttp_region_take(&f->region, count, sizeof *t->ranges);
    if (t->ranges == NULL)
        return ttp_rollup_no_room(err);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = ttp_read_varint(&f->cursor), length = ttp_read_varint(&f->cursor);
        if (f->cursor.bad || gap > UINT32_MAX || length > UINT32_MAX || length == 0 ||
            (gap == 0 && i > 0) || end + gap + length > UINT32_MAX)
            return ttp_rollup_corrupt(f, "R-TRC-02", "ranges of partitions are not in order", err);
        t->ranges[i] = (ttape_rollup_range){(uint32_t)(end + gap), (uint32_t)length};
        end += gap + length;
    }
    t->range_count = (size_t)count;
    return TTAPE_OK;
}

static ttape_status read_trace(struct ttp_rollup_file *f, uint32_t number, ttape_error *err)
{
    struct ttp_rollup_number numbers[TTP_ROLLUP_FIELDS];
    struct ttp_rollup_trace *t = &f->traces[number];
    const uint8_t *id = ttp_read_bytes(&f->cursor, TTP_ROLLUP_ID_BYTES);
    if (id == NULL || !read_text(&f->cursor, &t->name) || !read_text(&f->cursor, &t->host))
        return ttp_rollup_corrupt(f, "R-TRC-01", "a trace is not whole, or its name is too long",
                                  err);
    memcpy(t->id, id, TTP_ROLLUP_ID_BYTES);
    if (number > 0 && memcmp(f->traces[number - 1].id, id, TTP_ROLLUP_ID_BYTES) >= 0)
        return ttp_rollup_corrupt(f, "R-TRC-01", "traces are not in order", err);
    TTP_TRY(read_ranges(f, t, err));
    uint64_t mask = ttp_rollup_read_numbers(&f->cursor, numbers, ttp_rollup_trace_kinds);
    if (f->cursor.bad)
        return ttp_rollup_corrupt(f, "R-SUM-01", "the sums of a trace are not as they are written",
                                  err);
    (void)ttp_rollup_add_numbers(&t->sums, ttp_rollup_trace_kinds, mask, numbers);
    if (ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_FLAGS) & ~(uint64_t)TTP_ROLLUP_TRACE_FLAGS)
        return ttp_rollup_corrupt(f, "R-TRC-03", "flags of a trace have no meaning", err);
    return TTAPE_OK;
}

ttape_status ttp_rollup_read_traces(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err)
{
    if (f->trace_count > ttp_reader_left(&f->cursor) / (TTP_ROLLUP_ID_BYTES + 4))
        return ttp_rollup_corrupt(f, "R-TRC-01", "more traces than bytes", err);
    f->traces = ttp_region_take(&f->region, f->trace_count, sizeof *f->traces);
    f->trace_numbers = ttp_region_take(&f->region, f->trace_count, sizeof *f->trace_numbers);
    if (f->traces == NULL || f->trace_numbers == NULL)
        return ttp_rollup_no_room(err);
    for (uint32_t i = 0; i < f->trace_count; i++) {
        TTP_TRY(read_trace(f, i, err));
        TTP_TRY(ttp_rollup_check_trace(r, &f->traces[i], err));
    }
    return TTAPE_OK;
}

/* ---- counts and calls: with row NULL they are checked only ---- */

static ttape_status read_unit(ttape_rollup *r, struct ttp_rollup_file *f,
                              struct ttp_rollup_row *row, uint64_t unit, ttape_error *err)
{
    uint64_t count = ttp_read_varint(&f->cursor), next = 0;
    uint32_t number = row != NULL && r->flags != 0 ? ttp_rollup_take_unit(r, unit) : 0;
    if (number == TTAPE_NONE)
        return ttp_rollup_fail_short(r, err);
    if (f->cursor.bad || count == 0 || count > TTP_ROLLUP_CLASSES_MAX)
        return ttp_rollup_corrupt(f, "R-CNT-01", "counts are not whole", err);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = ttp_read_varint(&f->cursor), durations = ttp_read_varint(&f->cursor);
        if (f->cursor.bad || durations == 0 || gap >= TTP_ROLLUP_CLASSES_MAX ||
            next + gap >= (unit == 0 ? TTP_ROLLUP_CLASSES : TTP_ROLLUP_BUCKETS))
            return ttp_rollup_corrupt(f, "R-CNT-02", "a count is of no size", err);
        next += gap;
        if (row != NULL && r->flags != 0)
            TTP_TRY(ttp_rollup_add_count(r, row, number << 16 | (uint32_t)next, durations, err));
        next++;
    }
    return TTAPE_OK;
}

static ttape_status read_counts(ttape_rollup *r, struct ttp_rollup_file *f,
                                struct ttp_rollup_row *row, ttape_error *err)
{
    uint64_t units = ttp_read_varint(&f->cursor), before = 0;
    if (f->cursor.bad || units > TTP_ROLLUP_UNITS_MAX - 1)
        return ttp_rollup_corrupt(f, "R-CNT-01", "counts are not whole", err);
    for (uint64_t i = 0; i < units; i++) {
        uint64_t unit = ttp_read_varint(&f->cursor);
        bool is_right = f->flags == TTP_ROLLUP_HAS_COUNTS ? unit == 0 && i == 0
                                                          : unit > before && unit <= INT64_MAX;
        if (f->cursor.bad || !is_right)
            return ttp_rollup_corrupt(f, "R-CNT-03", "a unit of counts is not in order", err);
        before = unit;
        TTP_TRY(read_unit(r, f, row, unit, err));
    }
    return TTAPE_OK;
}

static ttape_status read_calls(ttape_rollup *r, struct ttp_rollup_file *f,
                               struct ttp_rollup_row *row, ttape_error *err)
{
    uint64_t count = ttp_read_varint(&f->cursor);
    ttape_rollup_call before = {0};
    if (f->cursor.bad || count > f->longest)
        return ttp_rollup_corrupt(f, "R-LNG-01", "more calls of a row than the header says", err);
    for (uint64_t i = 0; i < count; i++) {
        ttape_rollup_call call = {.duration_ns = ttp_read_svarint(&f->cursor)};
        uint64_t trace = ttp_read_varint(&f->cursor), stream = ttp_read_varint(&f->cursor);
        call.enter_number = ttp_read_varint(&f->cursor);
        if (f->cursor.bad || trace >= f->trace_count || stream > UINT32_MAX)
            return ttp_rollup_corrupt(f, "R-LNG-01", "a call's trace is not there", err);
        call.trace = (uint32_t)trace; /* of the file, in the order of their ids */
        call.stream = (uint32_t)stream;
        bool is_behind = before.duration_ns != call.duration_ns
                             ? before.duration_ns > call.duration_ns
                         : before.trace != call.trace   ? before.trace < call.trace
                         : before.stream != call.stream ? before.stream < call.stream
                                                        : before.enter_number < call.enter_number;
        if (i > 0 && !is_behind)
            return ttp_rollup_corrupt(f, "R-LNG-02", "the calls of a row are not in order", err);
        before = call;
        call.trace = row != NULL ? f->trace_numbers[trace] : 0;
        if (row != NULL && r->options.longest != 0 && !ttp_rollup_add_call(r, row, &call))
            return ttp_rollup_fail_short(r, err);
    }
    return TTAPE_OK;
}

/* ---- sums ---- */

/* Few bits of a mask are set: this loop costs less than the call that a compiler makes without the
 * instruction. */
static unsigned count_bits(uint64_t mask)
{
    unsigned count = 0;
    for (; mask != 0; mask &= mask - 1)
        count++;
    return count;
}

ttape_status ttp_rollup_check_measures(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err)
{
    struct ttp_rollup_known *known = &r->known;
    if (f->row_count > ttp_reader_left(&f->cursor))
        return ttp_rollup_corrupt(f, "R-SUM-01", "more rows than bytes", err);
    if (!ttp_region_grow(&r->region, &known->masks, &known->mask_capacity, f->row_count + 1ull,
                         sizeof *known->masks))
        return ttp_rollup_no_room(err);
    f->measures = f->cursor.at;
    for (uint32_t i = 0; i < f->row_count; i++) {
        if (!ttp_region_grow(&r->region, &known->numbers, &known->number_capacity,
                             f->number_count + TTP_ROLLUP_FIELDS, sizeof *known->numbers))
            return ttp_rollup_no_room(err);
        known->masks[i] = ttp_rollup_read_numbers(&f->cursor, &known->numbers[f->number_count],
                                                  ttp_rollup_row_kinds);
        if (f->cursor.bad)
            return ttp_rollup_corrupt(f, "R-SUM-01",
                                      "the sums of a row are not as they are written", err);
        f->number_count += count_bits(known->masks[i]);
        if (f->flags != 0)
            TTP_TRY(read_counts(r, f, NULL, err));
        if (f->longest != 0)
            TTP_TRY(read_calls(r, f, NULL, err));
    }
    return ttp_reader_left(&f->cursor) == 0
               ? TTAPE_OK
               : ttp_rollup_corrupt(f, "R-HDR-04", "there is more behind the last row", err);
}

/* Counts and calls lie between the sums, which are skipped. */
static ttape_status take_more(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err)
{
    struct ttp_rollup_number numbers[TTP_ROLLUP_FIELDS];
    f->cursor.at = f->measures;
    for (uint32_t i = 0; i < f->row_count; i++) {
        struct ttp_rollup_row *row = &r->rows[r->known.at->rows[i]];
        (void)ttp_rollup_read_numbers(&f->cursor, numbers, ttp_rollup_row_kinds);
        if (f->flags != 0)
            TTP_TRY(read_counts(r, f, row, err));
        if (f->longest != 0)
            TTP_TRY(read_calls(r, f, row, err));
    }
    return TTAPE_OK;
}

ttape_status ttp_rollup_take_measures(ttape_rollup *r, struct ttp_rollup_file *f, ttape_error *err)
{
    const struct ttp_rollup_known *known = &r->known;
    const struct ttp_rollup_number *numbers = known->numbers;
    bool fits = true;
    for (uint32_t i = 0; i < f->row_count; i++) {
        fits = ttp_rollup_add_numbers(&r->rows[known->at->rows[i]].sums, ttp_rollup_row_kinds,
                                      known->masks[i], numbers) &&
               fits;
        numbers += count_bits(known->masks[i]);
    }
    r->is_settled = false;
    if (!fits)
        return ttp_rollup_fail_sum(r, err);
    for (uint32_t i = 0; i < f->trace_count; i++)
        TTP_TRY(ttp_rollup_add_trace(r, &f->traces[i], &f->trace_numbers[i], err));
    if (r->flags != 0 || r->options.longest != 0)
        return take_more(r, f, err);
    return TTAPE_OK;
}
