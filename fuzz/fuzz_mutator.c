/* The structure-aware mutator of the targets that read whole traces.
 *
 *   parameters (FUZZ_PARAMETER_BYTES) | trace [| trace ...]
 *
 * One trace of the input is taken apart, one thing in it is changed - a field, a chunk, a section's
 * bytes before compression, a decoded value - and everything around is made right again. Some
 * mutations are plain, so that the checksums themselves stay tested. */
#include <string.h>

#include "format/base/bytes.h"
#include "fuzz_recode.h"
#include "fuzz_trace.h"

__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size, struct fuzz_random *random)
{
    if (LLVMFuzzerMutate != NULL)
        return LLVMFuzzerMutate(data, size, max_size);
    if (size > 0)
        data[fuzz_below(random, (uint32_t)size)] ^= (uint8_t)(1u << fuzz_below(random, 8));
    return size;
}

static void mutate_content(struct fuzz_bytes *content, struct fuzz_random *random)
{
    size_t room = content->size + 64;
    uint8_t *bigger = fuzz_take(room);
    if (content->size > 0)
        memcpy(bigger, content->data, content->size);
    content->size = mutate_bytes(bigger, content->size, room, random);
    content->data = bigger;
    content->capacity = room;
}

static void odd_field(uint8_t *at, unsigned bytes, struct fuzz_random *random)
{
    uint64_t was = 0;
    for (unsigned i = 0; i < bytes; i++)
        was |= (uint64_t)at[i] << (8 * i);
    uint64_t now = fuzz_odd_number(random, was);
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(now >> (8 * i));
}

struct field {
    uint8_t at, bytes;
};

static void mutate_head(struct fuzz_partition *p, struct fuzz_random *random)
{
    static const struct field fields[] = {
        {TTP_HEAD_EVENTS_AT, 4},     {TTP_HEAD_SEGMENTS_AT, 4},     {TTP_HEAD_SYMBOLS_AT, 4},
        {TTP_HEAD_GIVEN_AT, 4},      {TTP_HEAD_WIDE_AT, 4},         {TTP_HEAD_MODEL_AT, 4},
        {TTP_HEAD_FLAGS_AT, 4},      {TTP_HEAD_START_FRAMES_AT, 4}, {TTP_HEAD_END_FRAMES_AT, 4},
        {TTP_HEAD_RESOLUTION_AT, 8}, {TTP_HEAD_ORIGIN_AT, 8},       {TTP_HEAD_FIRST_TICK_AT, 8},
        {TTP_HEAD_END_TICK_AT, 8},   {TTP_HEAD_GAPS_AT, 4},         {TTP_HEAD_RESERVED_AT, 4},
        {TTP_HEAD_LOST_AT, 8}};
    const struct field *f = &fields[fuzz_below(random, sizeof fields / sizeof fields[0])];
    odd_field(p->head + f->at, f->bytes, random);
}

static void mutate_section(struct fuzz_partition *p, struct fuzz_random *random)
{
    struct fuzz_section *s = &p->sections[fuzz_below(random, p->section_count)];
    switch (fuzz_below(random, 12)) {
    case 0: s->kind = (uint16_t)fuzz_odd_number(random, s->kind); break;
    case 1: s->flags = (uint16_t)fuzz_odd_number(random, s->flags); break;
    case 2: s->claimed = (uint32_t)fuzz_odd_number(random, s->claimed); break;
    case 3: s->packed = !s->packed; break;
    case 4: fuzz_section_drop(p, s); break;
    case 5: (void)fuzz_section_make(p, (uint16_t)fuzz_below(random, 64)); break;
    case 6: s->content.size = fuzz_below(random, (uint32_t)s->content.size + 1); break;
    default: mutate_content(&s->content, random);
    }
    if (s->packed)
        s->flags |= TTP_FLAG_ZSTD;
}

static void mutate_partition(struct fuzz_partition *p, struct fuzz_random *random)
{
    bool done = false;
    switch (fuzz_below(random, 10)) {
    case 0:
    case 1: done = fuzz_recode_light(p, random); break;
    case 2: done = fuzz_recode_summary(p, random); break;
    case 3:
    case 4: done = fuzz_recode_order(p, random); break;
    case 5: done = fuzz_recode_times(p, random); break;
    case 6:
        mutate_head(p, random);
        done = true;
        break;
    default: break;
    }
    if (!done && p->section_count > 0)
        mutate_section(p, random);
}

static void mutate_chunk_header(struct fuzz_chunk *chunk, struct fuzz_random *random)
{
    static const struct field fields[] = {{TTP_CHUNK_KIND_AT, 2},    {TTP_CHUNK_FLAGS_AT, 2},
                                          {TTP_CHUNK_SCOPE_AT, 4},   {TTP_CHUNK_SEQUENCE_AT, 8},
                                          {TTP_CHUNK_CONTENT_AT, 8}, {TTP_CHUNK_LAST_INDEX_AT, 8},
                                          {TTP_CHUNK_SCOPE_AT, 1},   {TTP_CHUNK_KIND_AT, 1}};
    const struct field *f = &fields[fuzz_below(random, sizeof fields / sizeof fields[0])];
    odd_field(chunk->header + f->at, f->bytes, random);
}

/* Chunks swapped, doubled, dropped; kinds with and without compression. */
static void mutate_order_of_chunks(struct fuzz_file *file, struct fuzz_random *random)
{
    uint32_t one = fuzz_below(random, file->chunk_count),
             two = fuzz_below(random, file->chunk_count);
    struct fuzz_chunk chunk = file->chunks[one];
    switch (fuzz_below(random, 5)) {
    case 0:
        file->chunks[one] = file->chunks[two];
        file->chunks[two] = chunk;
        break;
    case 1:
        if (file->chunk_count == FUZZ_MAX_CHUNKS)
            break;
        memmove(&file->chunks[two + 1], &file->chunks[two],
                (file->chunk_count++ - two) * sizeof chunk);
        file->chunks[two] = chunk;
        break;
    case 2:
        file->chunk_count--;
        memmove(&file->chunks[one], &file->chunks[one + 1],
                (file->chunk_count - one) * sizeof chunk);
        break;
    case 3: file->chunks[one].packed = !file->chunks[one].packed; break;
    default: file->has_footer = !file->has_footer;
    }
}

static unsigned mutate_file(struct fuzz_file *file, struct fuzz_random *random)
{
    unsigned fixes = fuzz_below(random, 8) != 0 ? FUZZ_FIX_ALL : fuzz_below(random, 4);
    uint32_t what = fuzz_below(random, 16);
    if (file->chunk_count == 0 || what == 0) {
        mutate_bytes(file->header + TTP_FILE_MINOR_AT, TTP_FILE_HASH_AT - TTP_FILE_MINOR_AT,
                     TTP_FILE_HASH_AT - TTP_FILE_MINOR_AT, random);
        return fixes;
    }
    struct fuzz_chunk *chunk = &file->chunks[fuzz_below(random, file->chunk_count)];
    for (int i = 0; i < 3 && chunk->partition == NULL; i++) /* partitions are what counts most */
        chunk = &file->chunks[fuzz_below(random, file->chunk_count)];
    if (what == 1) {
        odd_field(file->footer + 8 + 8 * fuzz_below(random, 6), 8, random);
    } else if (what == 2) {
        mutate_chunk_header(chunk, random);
    } else if (what == 3) {
        mutate_order_of_chunks(file, random);
    } else if (chunk->partition != NULL && what < 15) {
        mutate_partition(chunk->partition, random);
    } else {
        chunk->partition = NULL;
        mutate_content(&chunk->content, random);
        /* An index that was changed stays so. */
        fixes &= fuzz_chunk_kind(chunk) == TTP_CHUNK_INDEX ? ~FUZZ_FIX_INDEX : ~0u;
    }
    return fixes;
}

struct fuzz_input fuzz_trace_part(const uint8_t *data, size_t size, uint32_t which)
{
    static const char magic[] = TTP_FILE_MAGIC;
    size_t start = 0;
    for (size_t at = 1; at + TTP_FILE_HEADER_BYTES <= size; at++) {
        const uint8_t *hit = memchr(data + at, magic[0], size - at);
        if (hit == NULL)
            break;
        at = (size_t)(hit - data);
        if (size - at < TTP_FILE_HEADER_BYTES || memcmp(hit, magic, TTP_FILE_MAGIC_BYTES) != 0)
            continue;
        if (which-- == 0)
            return (struct fuzz_input){data + start, at - start};
        start = at;
    }
    return which == 0 ? (struct fuzz_input){data + start, size - start}
                      : (struct fuzz_input){data + size, 0};
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct fuzz_random random = {seed};
    uint32_t how = fuzz_below(&random, 16), traces = 0;
    if (size <= FUZZ_PARAMETER_BYTES || how == 0)
        return mutate_bytes(data, size, max_size, &random);
    if (how == 1)
        return mutate_bytes(data, FUZZ_PARAMETER_BYTES, FUZZ_PARAMETER_BYTES, &random), size;
    const uint8_t *body = data + FUZZ_PARAMETER_BYTES;
    size_t body_size = size - FUZZ_PARAMETER_BYTES;
    while (fuzz_trace_part(body, body_size, traces).size > 0)
        traces++;
    struct fuzz_input part = fuzz_trace_part(body, body_size, fuzz_below(&random, traces));
    struct fuzz_file *file = fuzz_file_parse(part.data, part.size);
    if (file == NULL) {
        fuzz_release_all();
        return mutate_bytes(data, size, max_size, &random);
    }
    unsigned fixes = mutate_file(file, &random);
    if (fuzz_below(&random, 4) == 0)
        fixes &= mutate_file(file, &random);
    struct fuzz_bytes changed = fuzz_file_write(file, fixes), out = fuzz_copy(data, size);
    out.size = (size_t)(part.data - data);
    fuzz_put(&out, changed.data, changed.size);
    fuzz_put(&out, part.data + part.size, (size_t)(data + size - part.data) - part.size);
    size_t fits = out.size <= max_size ? out.size : 0;
    memcpy(data, out.data, fits);
    fuzz_release_all();
    return fits > 0 ? fits : mutate_bytes(data, size, max_size, &random);
}

/* A chunk of one trace into the other: definitions, models and partitions meet that were never
 * together. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
                                 size_t two_size, uint8_t *out, size_t max_size, unsigned seed)
{
    struct fuzz_random random = {seed};
    size_t skip = FUZZ_PARAMETER_BYTES, result = 0;
    if (one_size <= skip || two_size <= skip)
        return 0;
    struct fuzz_file *file = fuzz_file_parse(one + skip, one_size - skip);
    struct fuzz_file *other = fuzz_file_parse(two + skip, two_size - skip);
    if (file != NULL && other != NULL && file->chunk_count > 0 && other->chunk_count > 0) {
        struct fuzz_chunk *to = &file->chunks[fuzz_below(&random, file->chunk_count)];
        struct fuzz_chunk *from = &other->chunks[fuzz_below(&random, other->chunk_count)];
        if (to->partition != NULL && from->partition != NULL && fuzz_below(&random, 2) == 0)
            for (uint32_t i = 0; i < from->partition->section_count; i++) {
                struct fuzz_section *s = &from->partition->sections[i];
                struct fuzz_section *mine = fuzz_section_of(to->partition, s->kind);
                if (mine != NULL && fuzz_below(&random, 2) == 0)
                    *mine = *s;
            }
        else
            *to = *from;
        struct fuzz_bytes changed = fuzz_file_write(file, FUZZ_FIX_ALL);
        result = skip + changed.size <= max_size ? skip + changed.size : 0;
        if (result > 0) {
            memcpy(out, one, skip);
            memcpy(out + skip, changed.data, changed.size);
        }
    }
    fuzz_release_all();
    return result;
}
