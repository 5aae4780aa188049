/* Pieces by the writer with different options, put side by side with partitions in turns, and a
 * private chunk between them. */
#include "sweep_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/copy.h>

#include "format/base/bytes.h"
#include "fuzz/fuzz_events.h"
#include "fuzz/fuzz_file.h"
#include "fuzz/fuzz_read.h"

#define PIECES 6u

static void require(bool good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "sweep trace: %s\n", what);
        abort();
    }
}

/* Calls, leaves and now and then something odd, by two streams. */
static struct fuzz_program *make_program(uint32_t piece, uint64_t seed)
{
    static const uint8_t levels[PIECES] = {3, 10, 9, 3, 1, 4};
    struct fuzz_random random = {seed * PIECES + piece};
    struct fuzz_bytes p = {0};
    fuzz_put_number(&p, levels[piece], 1);
    fuzz_put_number(&p, piece == 3 ? 5 : piece == 4 ? 2 : 0, 1); /* no times, a coarse clock */
    fuzz_put_number(&p, 85, 2);
    fuzz_put_number(&p, 0, 1);
    fuzz_put_number(&p, 1, 1);
    fuzz_put_number(&p, 9, 1);
    fuzz_put_number(&p, piece == 0 ? 3 : 255, 1); /* models */
    fuzz_put_number(&p, piece == 5 ? 1 : 0, 1);
    fuzz_put_number(&p, 0, 7);
    for (int i = 0; i < 900; i++) {
        uint32_t what = fuzz_below(&random, 2) * 9, dice = fuzz_below(&random, 100);
        what = dice < 12 ? 18 : dice < 16 ? 21 + fuzz_below(&random, 9) : what;
        what |= dice == 20 ? 32 : dice >= 96 ? 64 : 0;
        fuzz_put_number(&p, what, 1);
        fuzz_put_number(&p, fuzz_below(&random, 4) ? 64 + fuzz_below(&random, 3) : dice, 1);
        fuzz_put_number(&p, piece == 5 ? fuzz_below(&random, 256) % 250 : fuzz_below(&random, 90),
                        1);
    }
    return fuzz_program_make((struct fuzz_input){p.data, p.size}, FUZZ_STEPS_ROOM, 64);
}

static struct fuzz_bytes make_piece(uint32_t piece, uint64_t seed)
{
    struct fuzz_bytes out;
    struct fuzz_program *p = make_program(piece, seed);
    p->options.has_trace_id = true;
    p->options.trace_id[0] = (uint8_t)piece;
    p->options.trace_id[1] = (uint8_t)seed;
    require(fuzz_program_write(p, &p->options, true, &out) == TTAPE_OK, "a piece is not written");
    return out;
}

static void copy_pieces(ttape_writer *w, const struct fuzz_bytes *pieces, uint32_t count)
{
    ttape_reader **readers = calloc(count, sizeof *readers);
    ttape_copier **copiers = calloc(count, sizeof *copiers);
    ttape_source *sources = calloc(count, sizeof *sources);
    for (uint32_t i = 0; i < count; i++) {
        sources[i] = ttape_source_memory(pieces[i].data, pieces[i].size);
        require(ttape_reader_open(&readers[i], &sources[i], NULL, NULL) == TTAPE_OK, "a reader");
        require(ttape_copier_open(&copiers[i], w, readers[i], NULL) == TTAPE_OK, "a copier");
    }
    bool more = true;
    for (uint32_t p = 0; more; p++) {
        more = false;
        for (uint32_t i = 0; i < count; i++) {
            ttape_info info;
            ttape_reader_get_info(readers[i], &info);
            if (p >= info.partition_count)
                continue;
            more = true;
            require(ttape_copier_partition(copiers[i], p, NULL) == TTAPE_OK, "a copy");
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        ttape_copier_close(copiers[i]);
        ttape_reader_close(readers[i]);
    }
    free(readers);
    free(copiers);
    free(sources);
}

/* A chunk of a kind that nobody knows, in the middle; index, footer and numbers are made anew. */
static struct fuzz_bytes add_private(const struct fuzz_bytes *trace)
{
    struct fuzz_file *file = fuzz_file_parse(trace->data, trace->size);
    uint32_t at = file->chunk_count / 2;
    require(file->has_footer && file->chunk_count < FUZZ_MAX_CHUNKS, "a whole file");
    memmove(&file->chunks[at + 1], &file->chunks[at],
            (file->chunk_count++ - at) * sizeof file->chunks[0]);
    struct fuzz_chunk *chunk = &file->chunks[at];
    *chunk = (struct fuzz_chunk){.content = fuzz_copy("what only its writer knows", 26)};
    memcpy(chunk->header, TTP_CHUNK_SYNC, TTP_CHUNK_SYNC_BYTES);
    ttp_store16(chunk->header + TTP_CHUNK_KIND_AT, TTP_CHUNK_PRIVATE + 7);

    return fuzz_file_write(file, FUZZ_FIX_ALL);
}

static struct ttest_trace make(size_t size_bytes, uint64_t seed)
{
    struct fuzz_bytes trace = {0};
    struct ttest_trace out = {0};
    for (uint32_t count = PIECES; trace.size < size_bytes; count++) {
        ttape_memory_sink memory = {0};
        ttape_sink sink = ttape_sink_memory(&memory);
        ttape_writer_options options = {.size = sizeof options, .index_period = 8};
        ttape_writer *w;
        fuzz_release_all();
        struct fuzz_bytes *pieces = fuzz_take(count * sizeof *pieces);
        for (uint32_t i = 0; i < count; i++)
            pieces[i] = make_piece(i % PIECES, seed + i / PIECES);
        require(ttape_writer_open(&w, &sink, &options, NULL) == TTAPE_OK, "a writer");
        copy_pieces(w, pieces, count);
        require(ttape_writer_finish(w, NULL) == TTAPE_OK, "an end");
        ttape_writer_close(w);
        trace = fuzz_copy(memory.data, memory.size_bytes);
        trace = add_private(&trace);
        ttape_memory_sink_close(&memory);
    }
    out.size_bytes = trace.size;
    out.data = malloc(trace.size);
    require(out.data != NULL, "memory");
    memcpy(out.data, trace.data, trace.size);
    fuzz_release_all();
    return out;
}

struct ttest_trace ttest_sweep_trace(size_t size_bytes) { return make(size_bytes, 1); }

struct ttest_trace ttest_sweep_other(size_t size_bytes) { return make(size_bytes, 77); }

static ttape_status watch_read(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                               size_t *got_bytes, ttape_error *err)
{
    struct ttest_watch *w = context;
    (void)err;
    uint64_t left = offset < w->size_bytes ? w->size_bytes - offset : 0;
    *got_bytes = size_bytes < left ? size_bytes : (size_t)left;
    if (*got_bytes > 0)
        memcpy(buffer, w->data + offset, *got_bytes);
    for (size_t i = 0; w->touched != NULL && i < *got_bytes; i++)
        w->touched[offset + i] |= w->mark;
    return TTAPE_OK;
}

ttape_source ttest_watch_source(struct ttest_watch *watch)
{
    return (ttape_source){watch, watch_read, watch->size_bytes};
}

/* The events of one segment, by their numbers. */
static ttape_status read_events(ttape_reader *reader, const ttape_segment_info *segment,
                                struct fuzz_sum *sum, ttape_error *err)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    uint64_t first = segment->start.event_number;
    uint32_t left = segment->event_count;
    ttape_status status = ttape_cursor_open(&cursor, reader, segment->stream, err);
    if (status != TTAPE_OK)
        return status;
    status = ttape_cursor_seek_event(cursor, first, err);
    for (; status == TTAPE_OK && left > 0; left--) {
        status = ttape_cursor_next(cursor, &item, err);
        if (status == TTAPE_OK)
            fuzz_hash_item(sum, &item);
    }
    ttape_cursor_close(cursor);
    return status;
}

uint64_t ttest_read_partition(ttape_reader *reader, uint32_t partition, ttape_status *status,
                              ttape_error *err)
{
    struct fuzz_sum sum = {0};
    ttape_partition_info info;
    const ttape_summary_row *rows;
    uint32_t row_count = 0;
    *status = ttape_reader_get_partition(reader, partition, &info);
    if (*status == TTAPE_OK)
        *status = ttape_reader_get_summary(reader, partition, &rows, &row_count, err);
    for (uint32_t i = 0; *status == TTAPE_OK && i < row_count; i++)
        sum.hash = fuzz_hash(sum.hash, &rows[i].self_ns, sizeof rows[i].self_ns);
    for (uint32_t s = 0; *status == TTAPE_OK && (s == 0 || s < info.segment_count); s++) {
        ttape_segment_info segment;
        *status = ttape_reader_get_segment(reader, partition, s, &segment, err);
        if (*status != TTAPE_OK)
            break;
        uint64_t facts[] = {segment.stream,           segment.event_count,
                            segment.min_depth,        segment.start.event_number,
                            segment.end.event_number, segment.end.time_ns,
                            segment.end.frame_count};
        sum.hash = fuzz_hash(sum.hash, facts, sizeof facts);
        *status = read_events(reader, &segment, &sum, err);
    }
    return sum.hash;
}

uint64_t ttest_read_definitions(const ttape_reader *reader)
{
    return fuzz_read_definitions(reader).hash;
}
