/* Reading a pipe. Chunks are taken from the input one at a time; the reader inside sees them
 * through a source that only holds the present chunk, at its offset in the stream:
 *
 *   input -> [ chunk in memory ] -> source -> reader (definitions so far, one partition) */
#include <string.h>

#include "format/base/fail.h"
#include "reader/decoder_pool.h"
#include "reader/partition/model_reader.h"
#include "reader/reader_internal.h"

#define SKIP_BLOCK_BYTES 4096u

struct ttape_forward {
    ttape_input input;
    ttape_reader *reader;
    uint8_t *chunk; /* header and payload */
    uint64_t chunk_bytes, offset;
    uint64_t at;         /* bytes taken from the input */
    ttape_status status; /* the failure that ended it, or TTAPE_END */
    bool ended;
};

static ttape_status chunk_read_at(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                                  size_t *got_bytes, ttape_error *err)
{
    const ttape_forward *f = context;
    if (offset < f->offset || offset - f->offset > f->chunk_bytes ||
        size_bytes > f->chunk_bytes - (offset - f->offset))
        return ttp_fail(err, TTAPE_E_STATE, "", offset, "this part of the stream is gone");
    memcpy(buffer, f->chunk + (offset - f->offset), size_bytes);
    *got_bytes = size_bytes;
    return TTAPE_OK;
}

/* Up to size_bytes bytes; fewer only at the end of the input. */
static ttape_status take_bytes(ttape_forward *f, void *buffer, size_t size_bytes, size_t *got,
                               ttape_error *err)
{
    *got = 0;
    while (*got < size_bytes) {
        size_t more = 0;
        TTP_TRY(f->input.read(f->input.context, (uint8_t *)buffer + *got, size_bytes - *got, &more,
                              err));
        if (more == 0)
            break;
        *got += more;
        f->at += more;
    }
    f->reader->source.size_bytes = f->at;
    return TTAPE_OK;
}

static void drop_chunk(ttape_forward *f)
{
    ttp_memory_give(&f->reader->memory, f->chunk, f->chunk_bytes, 1);
    f->chunk = NULL;
    f->chunk_bytes = 0;
}

static ttape_status truncated(ttape_forward *f)
{
    f->reader->truncated = true;
    f->reader->truncated_at = f->offset;
    return TTAPE_END;
}

/* Unknown, index and overview chunks are not kept. */
static ttape_status skip_payload(ttape_forward *f, uint64_t size_bytes, ttape_error *err)
{
    uint8_t block[SKIP_BLOCK_BYTES];
    while (size_bytes > 0) {
        size_t got, wanted = size_bytes < sizeof block ? (size_t)size_bytes : sizeof block;
        TTP_TRY(take_bytes(f, block, wanted, &got, err));
        if (got < wanted)
            return truncated(f);
        size_bytes -= got;
    }
    return TTAPE_OK;
}

static ttape_status keep_payload(ttape_forward *f, const uint8_t *header,
                                 const struct ttp_chunk *chunk, ttape_error *err)
{
    size_t got;
    f->chunk_bytes = TTP_CHUNK_HEADER_BYTES + chunk->stored_bytes;
    f->chunk = ttp_memory_take(&f->reader->memory, f->chunk_bytes, 1, err);
    if (f->chunk == NULL) {
        f->chunk_bytes = 0;
        return f->reader->memory.status;
    }
    memcpy(f->chunk, header, TTP_CHUNK_HEADER_BYTES);
    TTP_TRY(
        take_bytes(f, f->chunk + TTP_CHUNK_HEADER_BYTES, (size_t)chunk->stored_bytes, &got, err));
    return got < chunk->stored_bytes ? truncated(f) : TTAPE_OK;
}

static bool wanted(uint16_t kind)
{
    return ttp_chunk_kind_known(kind) && kind != TTP_CHUNK_INDEX && kind != TTP_CHUNK_OVERVIEW;
}

/* Reads the next chunk and takes it in. TTAPE_END behind the last. */
static ttape_status next_chunk(ttape_forward *f, struct ttp_chunk *chunk, ttape_error *err)
{
    uint8_t header[TTP_CHUNK_HEADER_BYTES];
    struct ttp_footer footer;
    size_t got;
    f->offset = f->at;
    TTP_TRY(take_bytes(f, header, sizeof header, &got, err));
    if (got == 0)
        return TTAPE_END;
    if (got < sizeof header)
        return truncated(f);
    if (memcmp(header, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES) == 0) {
        TTP_TRY(ttp_footer_read(header, f->offset, &footer, err));
        f->reader->complete = footer.chunk_count == f->reader->chunk_count;
        return TTAPE_END;
    }
    TTP_TRY(ttp_chunk_read(header, f->offset, chunk, err));
    if (wanted(chunk->kind))
        TTP_TRY(keep_payload(f, header, chunk, err));
    else
        TTP_TRY(skip_payload(f, chunk->stored_bytes, err));
    return ttp_reader_add_chunk(f->reader, f->offset, chunk, err);
}

/* The partition before is over. */
static void retire(ttape_forward *f)
{
    ttape_reader *r = f->reader;
    if (r->partition_count != 0)
        ttp_reader_retire_partitions(r);
    ttp_pool_clear(r, false);
    drop_chunk(f);
    r->partition_count = r->segment_count = r->damaged_count = r->overview_count = 0;
}

ttape_status ttape_forward_open(ttape_forward **out, const ttape_input *input,
                                const ttape_reader_options *options, ttape_error *err)
{
    ttape_reader *r = NULL;
    ttape_source source = {.read_at = chunk_read_at};
    uint8_t header[TTP_FILE_HEADER_BYTES];
    size_t got = 0;
    if (out == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no place for a handle");
    *out = NULL;
    if (input == NULL || input->read == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no input to read from");
    TTP_TRY(ttp_reader_create(&r, &source, options, err));
    ttape_forward *f = ttp_memory_take(&r->memory, 1, sizeof *f, err);
    if (f == NULL) {
        ttape_status status = r->memory.status;
        ttape_reader_close(r);
        return status;
    }
    *f = (ttape_forward){.input = *input, .reader = r};
    r->source.context = f;
    r->is_forward = true;
    ttape_status status = take_bytes(f, header, sizeof header, &got, err);
    if (status == TTAPE_OK)
        status = ttp_file_header_read(header, got, &r->header, err);
    if (status != TTAPE_OK) {
        ttape_forward_close(f);
        return status;
    }
    *out = f;
    return TTAPE_OK;
}

void ttape_forward_close(ttape_forward *f)
{
    if (f == NULL)
        return;
    ttape_reader *r = f->reader;
    ttp_pool_clear(r, false);
    drop_chunk(f);
    ttp_memory_give(&r->memory, f, 1, sizeof *f);
    ttape_reader_close(r);
}

static ttape_status read_on(ttape_forward *f, ttape_error *err)
{
    for (;;) {
        struct ttp_chunk chunk;
        TTP_TRY(next_chunk(f, &chunk, err));
        if (chunk.kind == TTP_CHUNK_PARTITION)
            return TTAPE_OK;
        if (chunk.kind == TTP_CHUNK_MODEL)
            TTP_TRY(ttp_model_load(&f->reader->pool.first, f->reader->model_count - 1, err));
        drop_chunk(f);
    }
}

ttape_status ttape_forward_next(ttape_forward *f, ttape_reader **reader, ttape_error *err)
{
    *reader = NULL;
    if (f->ended && f->status != TTAPE_END)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "reading failed before at this handle");
    *reader = f->reader;
    if (f->ended)
        return TTAPE_END;
    retire(f);
    ttape_error problem = {0};
    ttape_status status = read_on(f, &problem), settled = TTAPE_OK;
    if (status == TTAPE_OK || status == TTAPE_END) {
        settled = ttp_definitions_settle(&f->reader->definitions, &problem);
        if (settled == TTAPE_OK)
            settled = ttp_reader_link_segments(f->reader, &problem);
    }
    status = settled != TTAPE_OK ? settled : status;
    if (status == TTAPE_OK)
        return TTAPE_OK;
    f->ended = true;
    f->status = status;
    if (status == TTAPE_END)
        return TTAPE_END;
    *reader = NULL;
    if (err != NULL)
        *err = problem;
    return status;
}
