/* One recovery and what must hold of it: for the tests of recovery, short and slow. */
#ifndef TTEST_RECOVER_FIXTURE_H
#define TTEST_RECOVER_FIXTURE_H

#include <tracetape/recover.h>

#include "test_reader_fixture.h"
#include "tests/asserts.h"

/* Every kind of chunk but private ones: models, an early index. */
static const struct ttest_plan plan = {.resolution_ns = 1,
                                       .partition_events = 40,
                                       .level = 3,
                                       .streams = 2,
                                       .events = 320,
                                       .model_period = 3};
static const struct ttest_plan other_plan = {.resolution_ns = 1,
                                             .partition_events = 45,
                                             .level = 3,
                                             .streams = 2,
                                             .events = 300,
                                             .model_period = 4,
                                             .plain = true};

/* ---- events, one hash each, by stream and number ---- */

#define STREAMS    4u
#define PER_STREAM 512u

struct known {
    uint64_t hash[STREAMS][PER_STREAM];
    uint64_t count, lost, damage_gaps;
};

static inline uint64_t hash_item(const ttape_event_item *item)
{
    struct ttest_sum sum = {0};
    ttest_mix_item(&sum, item);
    return sum.hash;
}

static inline bool is_mark(const ttape_event_item *item)
{
    return item->event.kind == TTAPE_EVENT_GAP && item->event.argument == TTAPE_GAP_REASON_DAMAGE;
}

static inline void read_known(const void *data, size_t size_bytes, struct known *out)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_info info;
    ttape_source source = ttape_source_memory(data, size_bytes);
    memset(out, 0, sizeof *out);
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_le(info.stream_count, STREAMS);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        ttape_status status;
        TTEST_OK(ttape_cursor_open(&cursor, r, s, &err));
        while ((status = ttape_cursor_next(cursor, &item, &err)) == TTAPE_OK) {
            ck_assert_uint_lt(item.number, PER_STREAM);
            if (is_mark(&item)) {
                out->damage_gaps++;
                out->lost += item.event.lost_count;
                continue;
            }
            out->hash[s][item.number] = hash_item(&item);
            out->count++;
        }
        ck_assert_int_eq(status, TTAPE_END);
        ttape_cursor_close(cursor);
    }
    ttape_reader_close(r);
}

/* ---- places in a file ---- */

struct place {
    size_t offset, size_bytes;
    struct ttp_chunk head;
};

static inline size_t find_chunks(const struct ttest_file *file, struct place *places, size_t room)
{
    size_t count = 0, at = TTP_FILE_HEADER_BYTES;
    struct ttp_chunk chunk;
    while (at + TTP_FOOTER_BYTES < file->size_bytes &&
           ttp_chunk_read(file->data + at, at, &chunk, NULL) == TTAPE_OK) {
        size_t size = TTP_CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes;
        ck_assert_uint_lt(count, room);
        places[count++] = (struct place){at, size, chunk};
        at += size;
    }
    return count;
}

#define ROOM 128u
static struct known whole;
static struct ttest_file file, other;
static struct place places[ROOM];
static size_t place_count;

/* ---- one recovery ---- */

struct outcome {
    ttape_memory_sink out;
    ttape_status status;
    ttape_recover_report report;
    ttape_error err;
    uint64_t end, told[TTAPE_RECOVER_FATES], told_lost_events;
    bool cut_between_chunks; /* then nothing says that there was more */
};

/* Pieces cover the input without holes, in its order. */
static inline void take_piece(void *context, const ttape_recover_piece *piece)
{
    struct outcome *o = context;
    ck_assert_uint_lt(piece->fate, TTAPE_RECOVER_FATES);
    ck_assert_uint_lt(piece->kind, TTAPE_RECOVER_KINDS);
    ck_assert(o->end == 0 || piece->offset == o->end);
    if (piece->fate == TTAPE_RECOVER_KEPT)
        ck_assert_int_eq(piece->why.status, TTAPE_OK);
    else if (piece->fate != TTAPE_RECOVER_SKIPPED)
        ck_assert_msg(piece->why.status != TTAPE_OK && piece->why.message[0] != '\0' &&
                          piece->why.rule[0] != '\0' && piece->why.offset != TTAPE_ERROR_NO_OFFSET,
                      "a piece without a reason");
    o->end = piece->offset + piece->size_bytes;
    o->told[piece->fate]++;
    if (piece->fate == TTAPE_RECOVER_LOST && piece->events_known)
        o->told_lost_events += piece->event_count;
}

static inline void recover(const void *data, size_t size_bytes, struct outcome *o)
{
    memset(o, 0, sizeof *o);
    /* A copy of exactly the size, so that ASan sees one byte over. */
    void *copy = malloc(size_bytes == 0 ? 1 : size_bytes);
    memcpy(copy, data, size_bytes);
    ttape_source source = ttape_source_memory(copy, size_bytes);
    ttape_sink sink = ttape_sink_memory(&o->out);
    ttape_recover_options options = {.size = sizeof options, .context = o, .piece = take_piece};
    o->status = ttape_recover_trace(&source, &sink, &options, &o->report, &o->err);
    if (o->status == TTAPE_OK)
        ck_assert_uint_eq(o->end, size_bytes);
    ck_assert(memcmp(copy, data, size_bytes) == 0);
    free(copy);
}

static inline void release(struct outcome *o) { ttape_memory_sink_close(&o->out); }

/* What must hold of every output. */
static inline void check_output(const struct outcome *o, const char *what, size_t at)
{
    static struct known have;
    ttape_error err = {0};
    uint64_t findings = 0;
    ttape_source source = ttape_source_memory(o->out.data, o->out.size_bytes);
    TTEST_OK(ttape_verify(&source, NULL, ttest_print_finding, NULL, NULL, &findings, &err));
    ck_assert_msg(findings == 0, "%s %zu: the output does not verify", what, at);
    read_known(o->out.data, o->out.size_bytes, &have);
    for (uint32_t s = 0; s < STREAMS; s++)
        for (uint32_t i = 0; i < PER_STREAM; i++)
            ck_assert_msg(have.hash[s][i] == 0 || have.hash[s][i] == whole.hash[s][i],
                          "%s %zu: event %u of stream %u is not the original's", what, at, i, s);
    ck_assert_uint_eq(have.count, o->report.copied_events);
    ck_assert_uint_eq(have.damage_gaps, o->report.gap_count);
    ck_assert_msg(have.lost == o->report.lost_events,
                  "%s %zu: gaps count %llu events, the report says %llu", what, at,
                  (unsigned long long)have.lost, (unsigned long long)o->report.lost_events);
    if (have.count < whole.count && !o->cut_between_chunks)
        ck_assert_msg(o->report.loss_count != 0, "%s %zu: %llu of %llu events, and no loss told",
                      what, at, (unsigned long long)have.count, (unsigned long long)whole.count);
}

static inline void try_one(const void *data, size_t size_bytes, const char *what, size_t at,
                           struct outcome *o)
{
    recover(data, size_bytes, o);
    for (size_t i = 0; data != other.data && i < place_count; i++)
        o->cut_between_chunks |= size_bytes == places[i].offset;
    if (o->status == TTAPE_OK)
        check_output(o, what, at);
    else
        ck_assert_msg(o->status == TTAPE_E_NOT_TRACE, "%s %zu: %s", what, at, o->err.message);
}

/* Another trace id, in the header and in the first chunk. */
static inline void rename_trace(struct ttest_file *f)
{
    struct ttp_chunk chunk;
    uint8_t *at = f->data + TTP_FILE_HEADER_BYTES, *payload = at + TTP_CHUNK_HEADER_BYTES;
    uint8_t *id = f->data + TTP_FILE_TRACE_ID_AT;
    ck_assert_int_eq(ttp_chunk_read(at, TTP_FILE_HEADER_BYTES, &chunk, NULL), TTAPE_OK);
    uint8_t *place = memmem(payload, chunk.stored_bytes, id, TTP_TRACE_ID_BYTES);
    ck_assert_ptr_nonnull(place);
    id[15] = place[15] = 77;
    chunk.payload_hash = ttp_checksum(payload, chunk.stored_bytes);
    ttp_chunk_write(&chunk, at);
    uint64_t hash = ttp_checksum(f->data, TTP_FILE_HASH_AT);
    memcpy(f->data + TTP_FILE_HASH_AT, &hash, sizeof hash);
}

static inline void setup(void)
{
    file = ttest_write(&plan);
    other = ttest_write(&other_plan);
    rename_trace(&other);
    read_known(file.data, file.size_bytes, &whole);
    place_count = find_chunks(&file, places, ROOM);
    uint32_t kinds = 0;
    for (size_t i = 0; i < place_count; i++)
        kinds |= 1u << places[i].head.kind;
    ck_assert_uint_eq(kinds, 0x7e); /* every kind is there */
}

static inline void teardown(void)
{
    free(file.data);
    free(other.data);
}

static inline size_t find_kind(uint16_t kind, unsigned nth)
{
    for (size_t i = 0; i < place_count; i++)
        if (places[i].head.kind == kind && nth-- == 0)
            return i;
    ck_abort_msg("no such chunk");
    return 0;
}

static inline uint64_t events_of(size_t place)
{
    uint32_t count;
    memcpy(&count, file.data + places[place].offset + TTP_CHUNK_HEADER_BYTES + 12, sizeof count);
    return count;
}

/* R2: one flipped bit costs at most one chunk, and what depends on it. */
static inline void flip_bits(size_t step)
{
    uint64_t seed = 3;
    for (size_t bit = ttest_random(&seed, (uint32_t)step); bit < file.size_bytes * 8;
         bit += step == 1 ? 1 : 1 + ttest_random(&seed, (uint32_t)step * 2)) {
        struct outcome o;
        size_t byte = bit / 8, at = 0;
        while (at < place_count && places[at].offset + places[at].size_bytes <= byte)
            at++;
        uint64_t events =
            at < place_count && places[at].head.kind == TTP_CHUNK_PARTITION ? events_of(at) : 0;
        file.data[byte] ^= (uint8_t)(1u << (bit % 8));
        try_one(file.data, file.size_bytes, "bit", bit, &o);
        ck_assert_int_eq(o.status, TTAPE_OK);
        bool in_chunk = byte >= TTP_FILE_HEADER_BYTES && at < place_count;
        if (!in_chunk || places[at].head.kind == TTP_CHUNK_INDEX) {
            ck_assert_msg(o.report.loss_count == 0, "bit %zu: only a header or index is hit", bit);
            ck_assert_uint_eq(o.report.copied_events, whole.count);
        } else {
            ck_assert_msg(o.report.loss_count != 0, "bit %zu is lost silently", bit);
            if (places[at].head.kind == TTP_CHUNK_PARTITION) {
                ck_assert_uint_eq(o.report.copied_events, whole.count - events);
                ck_assert_uint_eq(o.report.lost_events, events);
                ck_assert_uint_ge(o.report.gap_count, 1);
            } else if (places[at].head.kind != TTP_CHUNK_MODEL) {
                ck_assert_uint_eq(o.report.copied_events, whole.count);
            }
        }
        release(&o);
        file.data[byte] ^= (uint8_t)(1u << (bit % 8));
    }
}

#endif
