/* Functions are called in all partitions, in few, or in a run of them: a bit of a mask is coded
 * under the one before it and the same one of the row before. Counts of a histogram stand between
 * the buckets of the least and the largest duration, which the summary has; the last is what is
 * left. */
#include "format/container/measures/overview.h"

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/coder.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

struct mask_models {
    struct ttp_prob is_full, bits[4];
    uint64_t before;
};

/* Models of counts, by how many are left. */
#define COUNT_MODELS 8u

struct calls_models {
    struct mask_models mask;
    struct ttp_number_model counts[COUNT_MODELS];
};

struct leaf_models {
    struct mask_models mask;
    struct ttp_number_model site, count;
};

static void mask_init(struct mask_models *m)
{
    ttp_prob_init(&m->is_full, 1, TTP_PROB_HALF);
    ttp_prob_init(m->bits, 4, TTP_PROB_HALF);
    m->before = 0;
}

static void calls_init(struct calls_models *m)
{
    mask_init(&m->mask);
    for (uint32_t i = 0; i < COUNT_MODELS; i++)
        ttp_number_init(&m->counts[i]);
}

static void leaf_init(struct leaf_models *m)
{
    mask_init(&m->mask);
    ttp_number_init(&m->site);
    ttp_number_init(&m->count);
}

static uint64_t full_mask(uint32_t partition_count)
{
    return UINT64_MAX >> (TTP_OVERVIEW_PARTITIONS - partition_count);
}

static struct ttp_prob *mask_bit(struct mask_models *m, uint64_t mask, uint32_t i)
{
    uint64_t left = i == 0 ? 0 : mask >> (i - 1) & 1;
    return &m->bits[left << 1 | (m->before >> i & 1)];
}

static void write_mask(struct ttp_encoder *e, struct mask_models *m, uint64_t mask,
                       uint32_t partition_count)
{
    bool is_full = mask == full_mask(partition_count);
    ttp_encode_bit(e, &m->is_full, is_full);
    for (uint32_t i = 0; i < partition_count && !is_full; i++)
        ttp_encode_bit(e, mask_bit(m, mask, i), mask >> i & 1);
    m->before = mask;
}

static uint64_t read_mask(struct ttp_decoder *d, struct mask_models *m, uint32_t partition_count)
{
    uint64_t mask = 0;
    if (ttp_decode_bit(d, &m->is_full))
        mask = full_mask(partition_count);
    else
        for (uint32_t i = 0; i < partition_count; i++)
            mask |= (uint64_t)ttp_decode_bit(d, mask_bit(m, mask, i)) << i;
    m->before = mask;
    return mask;
}

static struct ttp_number_model *count_model(struct calls_models *m, uint64_t left)
{
    uint32_t size = (63u - (uint32_t)__builtin_clzll(left)) / 4;
    return &m->counts[size < COUNT_MODELS ? size : COUNT_MODELS - 1];
}

uint64_t ttp_overview_identity(const struct ttp_overview_fact *facts, uint32_t count)
{
    uint8_t bytes[TTP_OVERVIEW_PARTITIONS * 32];
    for (uint32_t i = 0; i < count; i++) {
        ttp_store64(bytes + 32 * i, facts[i].event_count);
        ttp_store64(bytes + 32 * i + 8, facts[i].segment_count);
        ttp_store64(bytes + 32 * i + 16, (uint64_t)facts[i].first_tick);
        ttp_store64(bytes + 32 * i + 24, (uint64_t)facts[i].end_tick);
    }
    return ttp_checksum(bytes, 32 * (size_t)count);
}

/* ---- writing ---- */

size_t ttp_overview_head_write(const struct ttp_overview *in, uint8_t *out)
{
    struct ttp_writer_cursor c = ttp_writer_cursor_init(out, TTP_OVERVIEW_HEAD_BOUND);
    ttp_write_varint(&c, in->partition_count);
    ttp_write64(&c, in->identity);
    ttp_write_varint(&c, in->resolution_ns);
    ttp_write_svarint(&c, in->span_ticks);
    return ttp_written(&c);
}

size_t ttp_overview_field_write(enum ttp_overview_field kind, size_t size_bytes, uint8_t *out)
{
    struct ttp_writer_cursor c = ttp_writer_cursor_init(out, TTP_OVERVIEW_HEAD_BOUND);
    ttp_write_varint(&c, kind);
    ttp_write_varint(&c, size_bytes);
    return ttp_written(&c);
}

/* A bit takes at most 14 bits, a count at most 63 of them. */
size_t ttp_overview_calls_bound(uint32_t row_count)
{
    return 64 + (size_t)row_count * (64 + TTP_OVERVIEW_BUCKETS * 64) * 2;
}

size_t ttp_overview_leaves_bound(uint32_t count) { return 64 + (size_t)count * (64 + 4 * 64) * 2; }

static void write_counts(struct ttp_encoder *e, struct calls_models *m,
                         const struct ttp_overview_calls *calls, const struct ttp_measure *row)
{
    uint64_t left = row->exit_count;
    uint32_t last = ttp_overview_bucket(row->max_ticks);
    for (uint32_t i = ttp_overview_bucket(row->min_ticks); i < last && left != 0; i++) {
        ttp_encode_number(e, count_model(m, left), calls->counts[i]);
        left -= calls->counts[i];
    }
}

size_t ttp_overview_calls_write(const struct ttp_overview_calls *calls,
                                const struct ttp_measure *rows, uint32_t row_count,
                                uint32_t partition_count, bool timed, uint8_t *out,
                                size_t out_bytes)
{
    struct calls_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    calls_init(&m);
    for (uint32_t i = 0; i < row_count; i++) {
        write_mask(&e, &m.mask, calls[i].mask, partition_count);
        if (timed)
            write_counts(&e, &m, &calls[i], &rows[i]);
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

size_t ttp_overview_leaves_write(const struct ttp_overview_leaf *leaves, uint32_t count,
                                 uint32_t partition_count, uint8_t *out, size_t out_bytes)
{
    struct leaf_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    uint32_t next_site = 0;
    leaf_init(&m);
    ttp_encode_number(&e, &m.site, count);
    for (uint32_t i = 0; i < count; i++) {
        ttp_encode_number(&e, &m.site, leaves[i].site - next_site);
        ttp_encode_number(&e, &m.count, leaves[i].count);
        write_mask(&e, &m.mask, leaves[i].mask, partition_count);
        next_site = leaves[i].site + 1;
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

/* ---- reading ---- */

static ttape_status broken(const char *rule, const struct ttp_reader_cursor *c, const char *what,
                           ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

static ttape_status open_fields(struct ttp_reader_cursor *c, struct ttp_overview *out,
                                ttape_error *err)
{
    uint64_t before = 0;
    while (ttp_reader_left(c) != 0) {
        uint64_t kind = ttp_read_varint(c), size = ttp_read_varint(c);
        if (c->bad || kind <= before || size > ttp_reader_left(c))
            return broken("F-OVR-01", c, "a field of an overview is out of range", err);
        const uint8_t *data = ttp_read_bytes(c, (size_t)size);
        if (kind < TTP_OVERVIEW_FIELDS) {
            out->fields[kind].data = data;
            out->fields[kind].size_bytes = (size_t)size;
        }
        before = kind;
    }
    if (out->fields[TTP_OVERVIEW_SUMMARY].data == NULL)
        return broken("F-OVR-01", c, "an overview has no summary", err);
    return TTAPE_OK;
}

static ttape_status read_ends(struct ttp_overview *in, const struct ttp_reader_cursor *c,
                              ttape_error *err)
{
    if (in->fields[TTP_OVERVIEW_UNKNOWN_ENDS].data == NULL)
        return TTAPE_OK;
    if (in->fields[TTP_OVERVIEW_UNKNOWN_ENDS].size_bytes == 8)
        in->ends_mask = ttp_load64(in->fields[TTP_OVERVIEW_UNKNOWN_ENDS].data);
    return in->ends_mask != 0 && in->ends_mask <= UINT64_MAX >> (64 - in->partition_count)
               ? TTAPE_OK
               : broken("F-OVR-15", c, "ends of an overview are out of range", err);
}

ttape_status ttp_overview_open(const uint8_t *data, size_t size_bytes, struct ttp_overview *out,
                               ttape_error *err)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(data, size_bytes);
    struct ttp_overview in = {0};
    uint64_t count = ttp_read_varint(&c);
    in.identity = ttp_read64(&c);
    in.resolution_ns = ttp_read_varint(&c);
    in.span_ticks = ttp_read_svarint(&c);
    if (c.bad || count == 0 || count > TTP_OVERVIEW_PARTITIONS || in.resolution_ns > INT64_MAX)
        return broken("F-OVR-01", &c, "head of an overview is out of range", err);
    in.partition_count = (uint32_t)count;
    TTP_TRY(open_fields(&c, &in, err));
    TTP_TRY(read_ends(&in, &c, err));
    *out = in;
    return TTAPE_OK;
}

static bool read_counts(struct ttp_decoder *d, struct calls_models *m,
                        const struct ttp_measure *row, struct ttp_overview_calls *out)
{
    uint64_t left = row->exit_count;
    uint32_t last = ttp_overview_bucket(row->max_ticks);
    for (uint32_t i = ttp_overview_bucket(row->min_ticks); i < last && left != 0; i++) {
        uint64_t count = ttp_decode_number(d, count_model(m, left));
        if (count > left)
            return false;
        out->counts[i] = (uint32_t)count;
        left -= count;
    }
    out->counts[last] += (uint32_t)left;
    return true;
}

ttape_status ttp_overview_calls_read(const struct ttp_overview *in, const struct ttp_measure *rows,
                                     uint32_t row_count, struct ttp_overview_calls *out,
                                     ttape_error *err)
{
    struct calls_models m;
    const uint8_t *data = in->fields[TTP_OVERVIEW_CALLS].data;
    size_t size_bytes = in->fields[TTP_OVERVIEW_CALLS].size_bytes;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    calls_init(&m);
    for (uint32_t i = 0; i < row_count; i++) {
        out[i] = (struct ttp_overview_calls){.mask = read_mask(&d, &m.mask, in->partition_count)};
        bool fits = in->resolution_ns == 0 || read_counts(&d, &m, &rows[i], &out[i]);
        if (!fits || ttp_decoder_cut(&d))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-05", 0,
                            "calls of an overview end early, or are more than ended");
    }
    return TTAPE_OK;
}

ttape_status ttp_overview_leaf_count(const struct ttp_overview *in, uint32_t *count,
                                     ttape_error *err)
{
    struct leaf_models m;
    const uint8_t *data = in->fields[TTP_OVERVIEW_LEAVES].data;
    *count = 0;
    if (data == NULL)
        return TTAPE_OK;
    struct ttp_decoder d = ttp_decoder_init(data, in->fields[TTP_OVERVIEW_LEAVES].size_bytes);
    leaf_init(&m);
    uint64_t found = ttp_decode_number(&d, &m.site);
    if (found > TTP_MAX_SITES || ttp_decoder_cut(&d))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-06", 0, "too many leaves in an overview");
    *count = (uint32_t)found;
    return TTAPE_OK;
}

ttape_status ttp_overview_leaves_read(const struct ttp_overview *in, uint32_t count,
                                      struct ttp_overview_leaf *out, ttape_error *err)
{
    struct leaf_models m;
    if (in->fields[TTP_OVERVIEW_LEAVES].data == NULL)
        return TTAPE_OK;
    struct ttp_decoder d = ttp_decoder_init(in->fields[TTP_OVERVIEW_LEAVES].data,
                                            in->fields[TTP_OVERVIEW_LEAVES].size_bytes);
    uint64_t next_site = 0;
    leaf_init(&m);
    (void)ttp_decode_number(&d, &m.site); /* the count, which the caller knows */
    for (uint32_t i = 0; i < count; i++) {
        uint64_t site = ttp_decode_number(&d, &m.site);
        out[i].count = ttp_decode_number(&d, &m.count);
        out[i].mask = read_mask(&d, &m.mask, in->partition_count);
        if (ttp_decoder_cut(&d) || site >= TTP_MAX_SITES - next_site)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-06", 0,
                            "leaves of an overview end early, or a site is out of range");
        out[i].site = (uint32_t)(next_site + site);
        next_site += site + 1;
    }
    return TTAPE_OK;
}
