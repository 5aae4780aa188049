/* The folder of a killed recorder, of which a file is damaged: what must hold of what is recovered.
 * The folder holds a trace file of several partitions, and in the spill file what came behind. */
#ifndef TTEST_RECOVER_DAMAGE_H
#define TTEST_RECOVER_DAMAGE_H

#include <tracetape/recover.h>

#include "format/container/chunk.h"
#include "recover_left.h"

#define THREADS    3u
#define ROUNDS     6u /* each is a partition; the last one is not in the trace yet */
#define PAIRS      8u /* calls of a thread in one round */
#define PER_STREAM (ROUNDS * (2 * PAIRS + 2))
#define BYTES      (1u << 20)
#define CHUNKS     64u

/* Events by stream and number; 0: none. */
struct events {
    uint64_t of[2 * THREADS][PER_STREAM];
    uint64_t count, lost, gaps;
};

struct tried {
    ttape_status status;
    ttape_error err;
    ttape_recover_report report;
    struct events events;
    uint64_t told_pieces;
    bool is_named;    /* every piece came with its file's name */
    char lines[2048]; /* findings; losses begin with '!' */
};

struct chunk_place {
    size_t offset, size_bytes, events;
    uint32_t kind;
};

static struct events before;
static struct chunk_place chunks[CHUNKS];
static size_t chunk_count;
static bool has_other_numbers; /* behind gaps that are no event of the recording */

static inline void play_round(struct ttest_block *blocks)
{
    for (uint32_t t = 0; t < THREADS; t++) {
        ttest_enter(&blocks[t], 0x1000 + t);
        for (uint32_t i = 0; i < PAIRS; i++) {
            ttest_enter(&blocks[t], 0x2000 + i);
            ttest_exit(&blocks[t], 0x2000 + i);
        }
        ttest_exit(&blocks[t], 0x1000 + t);
    }
}

static inline void play_rounds(struct ttest_player *p)
{
    struct ttest_block blocks[THREADS];
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t pid = (uint32_t)ttest_process_start(); /* ends when the recorder is killed */
        blocks[t] = ttest_block_take(p, pid, t + 1, t + 1, 1);
        ttest_process_message(&blocks[t], 0, 1, "/bin/x");
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        play_round(blocks);
        if (round + 1 < ROUNDS)
            ttest_flush(p);
    }
    for (uint32_t t = 0; t < THREADS; t++)
        ttest_block_state(&blocks[t], TTP_BLOCK_DONE);
    for (int i = 0; i < 3; i++)
        ttest_poll(p);
}

static inline void take_item(struct events *out, uint32_t stream, const ttape_event_item *item,
                             const ttape_reader *reader)
{
    ttape_site site = {0};
    ck_assert_uint_lt(stream, 2 * THREADS);
    if (item->event.kind == TTAPE_EVENT_LEAF) /* the end of a thread: no program recorded it */
        return;
    if (item->event.kind == TTAPE_EVENT_GAP) {
        ck_assert_uint_eq(item->event.argument, TTAPE_GAP_REASON_DAMAGE);
        out->gaps++;
        out->lost += item->event.lost_count;
        return;
    }
    out->count++;
    if (has_other_numbers && item->number >= PER_STREAM)
        return;
    ck_assert_uint_lt(item->number, PER_STREAM);
    if (item->event.site != TTAPE_NONE)
        (void)ttape_reader_get_site(reader, item->event.site, &site);
    out->of[stream][item->number] = (uint64_t)item->event.kind << 32 | site.address << 1 | 1;
}

static inline void read_events(const ttape_memory_sink *out, struct events *events)
{
    ttape_reader *reader;
    ttape_info info;
    uint64_t findings = 0;
    ttape_source source = ttape_source_memory(out->data, out->size_bytes);
    TTEST_DONE(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
    TTEST_DONE(ttape_reader_open(&reader, &source, NULL, &err));
    ttape_reader_get_info(reader, &info);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        TTEST_DONE(ttape_cursor_open(&cursor, reader, s, &err));
        while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK)
            take_item(events, s, &item, reader);
        ttape_cursor_close(cursor);
    }
    ttape_reader_close(reader);
}

static inline void take_piece(void *context, const ttape_recover_piece *piece)
{
    struct tried *t = context;
    t->is_named &= piece->file != NULL && strcmp(piece->file, "trace.0") == 0;
    t->told_pieces++;
}

static inline void take_line(void *context, bool is_loss, const char *line)
{
    struct tried *t = context;
    size_t used = strlen(t->lines);
    (void)snprintf(t->lines + used, sizeof t->lines - used, "%s%s\n", is_loss ? "!" : "", line);
}

static inline void try_folder(struct tried *t)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    *t = (struct tried){.is_named = true};
    ttape_recover_options how = {
        .size = sizeof how, .found = take_line, .piece = take_piece, .context = t};
    t->status = ttape_recover_recording(left->directory, &sink, &how, &t->report, &t->err);
    if (t->status == TTAPE_OK)
        read_events(&out, &t->events);
    ttape_memory_sink_close(&out);
}

/* No event but those of the recording, each with its number, and gaps for the others: never more
 * than `most` of them. Where a function's address is lost, the rest of the event is not. */
static inline void check_tried(const struct tried *t, uint64_t most, const char *what, size_t at)
{
    ck_assert_msg(t->status == TTAPE_OK, "%s %zu: %s", what, at, t->err.message);
    for (uint32_t s = 0; s < THREADS; s++)
        for (uint32_t i = 0; i < PER_STREAM; i++) {
            uint64_t have = t->events.of[s][i], was = before.of[s][i];
            bool is_same = have == was || have == ((was >> 32 << 32) | 1);
            ck_assert_msg(have == 0 || is_same, "%s %zu: event %u of stream %u is another one",
                          what, at, i, s);
        }
    ck_assert_msg(t->events.count + most >= before.count, "%s %zu: %lu of %lu events", what, at,
                  (unsigned long)t->events.count, (unsigned long)before.count);
    ck_assert_msg(t->events.lost == t->report.lost_events, "%s %zu: gaps count %lu, the report %lu",
                  what, at, (unsigned long)t->events.lost, (unsigned long)t->report.lost_events);
    ck_assert_uint_eq(t->events.gaps, t->report.gap_count);
    if (t->events.count < before.count)
        ck_assert_msg(t->report.loss_count != 0, "%s %zu: a loss is not told", what, at);
}

/* All that are in the trace file, with the number of events of partitions. */
static inline void find_places(const uint8_t *bytes, size_t size)
{
    struct ttp_chunk chunk;
    chunk_count = 0;
    for (size_t at = TTP_FILE_HEADER_BYTES;
         at + TTP_CHUNK_HEADER_BYTES <= size &&
         ttp_chunk_read(bytes + at, at, &chunk, NULL) == TTAPE_OK;) {
        uint32_t events = 0;
        if (chunk.kind == TTP_CHUNK_PARTITION)
            memcpy(&events, bytes + at + TTP_CHUNK_HEADER_BYTES + 12, sizeof events);
        size_t all = TTP_CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes;
        ck_assert_uint_lt(chunk_count, CHUNKS);
        chunks[chunk_count++] = (struct chunk_place){at, all, events, chunk.kind};
        at += all;
    }
}

/* Without the arena, so that recovery waits for nobody: all is in the trace and the spill file. */
static inline void leave_folder(void)
{
    static uint8_t bytes[BYTES];
    struct tried t;
    ttape_recording_options options = {.size = sizeof options, .clock = TTAPE_CLOCK_MONOTONIC};
    kill_with(&options, play_rounds);
    remove_arena(left->arena);
    try_folder(&t);
    ck_assert_msg(t.status == TTAPE_OK, "%s", t.err.message);
    ck_assert_uint_eq(t.report.loss_count, 1); /* the arena */
    ck_assert_uint_eq(t.report.gap_count, 0);
    ck_assert_uint_eq(t.report.partition_count, ROUNDS - 1);
    ck_assert_uint_eq(t.events.count, THREADS * PER_STREAM);
    ck_assert_uint_eq(t.report.recovered_events, THREADS * PER_STREAM / ROUNDS);
    before = t.events;
    char *path = path_of(left->directory, "trace.0");
    find_places(bytes, read_file(path, bytes, sizeof bytes));
    free(path);
}

/* The first of a kind but `nth`. */
static inline const struct chunk_place *nth_chunk(uint32_t kind, unsigned nth)
{
    for (size_t i = 0; i < chunk_count; i++)
        if (chunks[i].kind == kind && nth-- == 0)
            return &chunks[i];
    ck_abort_msg("no such chunk");
    return NULL;
}

/* Events that a flip of that byte of the trace file may cost. */
static inline uint64_t cost_of(size_t byte)
{
    for (size_t i = 0; i < chunk_count; i++)
        if (byte - chunks[i].offset < chunks[i].size_bytes)
            return chunks[i].kind == TTP_CHUNK_MODEL ? UINT64_MAX : chunks[i].events;
    return 0;
}

/* One bit of a file of the folder is another one. */
static inline void flip_in(const char *name, size_t bit, struct tried *t)
{
    static uint8_t bytes[BYTES];
    char *path = path_of(left->directory, name);
    size_t size = read_file(path, bytes, sizeof bytes);
    ck_assert_uint_lt(bit / 8, size);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_file(path, bytes, size);
    try_folder(t);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_file(path, bytes, size);
    free(path);
}

/* Bits of the journal or the spill file, and cuts of them: what they cost depends on what the
 * recorder had written over since, and behind a gap without a count numbers are others. */
static inline void sweep(const char *name, size_t step)
{
    static uint8_t bytes[BYTES];
    char *path = path_of(left->directory, name);
    size_t size = read_file(path, bytes, sizeof bytes);
    for (size_t bit = 1; bit < size * 8; bit += step) {
        struct tried t;
        if (bit % 2 == 0)
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_file(path, bytes, bit % 2 == 0 ? size : bit / 8);
        try_folder(&t);
        if (bit % 2 == 0)
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_msg(t.status == TTAPE_OK || t.status == TTAPE_E_NOT_TRACE, "%s, %zu: %s", name,
                      bit, t.err.message);
        ck_assert_uint_le(t.events.count, before.count);
        ck_assert_msg(t.events.lost == t.report.lost_events,
                      "%s, %zu: gaps count %lu, the report %lu", name, bit,
                      (unsigned long)t.events.lost, (unsigned long)t.report.lost_events);
    }
    write_file(path, bytes, size);
    free(path);
}

#endif
