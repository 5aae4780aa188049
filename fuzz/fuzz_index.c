/* An index that fits the chunks as they are now: without it an edited file would only ever be
 * opened by a scan. */
#include <string.h>

#include "format/base/bytes.h"
#include "format/container/index.h"
#include "format/container/segments.h"
#include "fuzz_file.h"

#define SEGMENTS_MAX 1024u
#define SCOPES_MAX   32u
#define STREAMS_MAX  64u

/* Next event numbers by (scope, stream), as far as there is room for them. */
struct expected {
    uint64_t next[SCOPES_MAX][STREAMS_MAX];
};

static void count_bytes(struct ttp_index_entry *e, const struct ttp_section *s)
{
    if (s->kind <= TTP_SECTION_SUMMARY)
        e->light_bytes += s->stored_bytes;
    if (s->kind == TTP_SECTION_SEGMENTS || s->kind == TTP_SECTION_DEPTHS ||
        (s->kind >= TTP_SECTION_CHAIN_HEADER && s->kind <= TTP_SECTION_ORDER_RAW))
        e->order_bytes += s->stored_bytes;
    else if (s->kind == TTP_SECTION_BASES ||
             (s->kind >= TTP_SECTION_TIMES_STATIC && s->kind <= TTP_SECTION_TIMES_PHASE))
        e->times_bytes += s->stored_bytes;
    else if (s->kind == TTP_SECTION_VALUES)
        e->values_bytes += s->stored_bytes;
    else if (s->kind == TTP_SECTION_EDGES || s->kind == TTP_SECTION_SUMMARY)
        e->summary_bytes += s->stored_bytes;
}

static struct ttp_index_entry describe(const struct ttp_partition_head *head)
{
    struct ttp_index_entry e = {.event_count = head->event_count,
                                .segment_count = head->segment_count,
                                .model = head->model,
                                .resolution_ns = head->resolution_ns,
                                .origin_ns = head->origin_ns,
                                .first_tick = head->first_tick,
                                .end_tick = head->end_tick,
                                .gap_count = head->gap_count,
                                .lost_count = head->lost_count};
    e.light_bytes = (uint32_t)ttp_partition_head_bytes(head->section_count);
    for (uint32_t i = 0; i < head->section_count; i++)
        count_bytes(&e, &head->sections[i]);
    return e;
}

/* Segments of a partition's payload; false where they do not read. */
static bool read_segments(struct fuzz_chunk *chunk, const struct ttp_partition_head *head,
                          struct ttp_segments *out)
{
    const struct fuzz_section *s = fuzz_section_of(chunk->partition, TTP_SECTION_SEGMENTS);
    if (s == NULL || head->segment_count > SEGMENTS_MAX || head->start_frame_count > 65536)
        return false;
    out->segments = fuzz_take(head->segment_count * sizeof *out->segments);
    out->start_frames = fuzz_take(head->start_frame_count * sizeof *out->start_frames);
    return ttp_segments_read(head, s->content.data, s->content.size, out, NULL) == TTAPE_OK;
}

static void put_partition(struct fuzz_chunk *chunk, struct ttp_index_state *state,
                          struct expected *expected, struct fuzz_bytes *out)
{
    struct ttp_partition_head head = {0};
    struct ttp_segments segments = {0};
    uint64_t stored = ttp_load64(chunk->header + TTP_CHUNK_STORED_AT);
    bool reads = chunk->partition != NULL &&
                 ttp_partition_head_read(chunk->content.data, chunk->content.size, stored, &head,
                                         NULL) == TTAPE_OK &&
                 read_segments(chunk, &head, &segments);
    struct ttp_index_entry entry = describe(&head);
    entry.kind = TTP_CHUNK_PARTITION;
    entry.scope = ttp_load32(chunk->header + TTP_CHUNK_SCOPE_AT);
    entry.stored_bytes = stored;
    entry.segment_count = reads ? head.segment_count : 0;
    size_t room = TTP_INDEX_ENTRY_BOUND + (size_t)entry.segment_count * TTP_INDEX_SEGMENT_BOUND;
    uint8_t *to = fuzz_take(room);
    struct ttp_writer_cursor c = ttp_writer_cursor_init(to, room);
    ttp_index_entry_write(&c, state, &entry);
    struct ttp_index_segment before = {.stream = UINT32_MAX};
    for (uint32_t i = 0; i < entry.segment_count; i++) {
        const struct ttp_segment *g = &segments.segments[i];
        struct ttp_index_segment s = {g->stream, g->event_count, g->first_event};
        uint64_t *next = &expected->next[entry.scope % SCOPES_MAX][g->stream % STREAMS_MAX];
        ttp_index_segment_write(&c, &before, *next, &s);
        *next = s.first_event + s.event_count;
        before = s;
    }
    fuzz_put(out, to, ttp_written(&c));
}

struct fuzz_bytes fuzz_index_content(const struct fuzz_file *file, uint32_t count)
{
    struct fuzz_bytes out = {0};
    struct ttp_index_state state = {0};
    struct expected *expected = fuzz_take(sizeof *expected);
    uint8_t varint[TTP_VARINT_MAX];
    struct ttp_writer_cursor c = ttp_writer_cursor_init(varint, sizeof varint);
    ttp_write_varint(&c, count);
    fuzz_put(&out, varint, ttp_written(&c));
    for (uint32_t i = 0; i < count; i++) {
        struct fuzz_chunk chunk = file->chunks[i];
        if (fuzz_chunk_kind(&chunk) == TTP_CHUNK_PARTITION) {
            put_partition(&chunk, &state, expected, &out);
            continue;
        }
        uint8_t room[TTP_INDEX_ENTRY_BOUND];
        struct ttp_index_entry entry = {.kind = fuzz_chunk_kind(&chunk),
                                        .scope = ttp_load32(chunk.header + TTP_CHUNK_SCOPE_AT),
                                        .stored_bytes =
                                            ttp_load64(chunk.header + TTP_CHUNK_STORED_AT)};
        c = ttp_writer_cursor_init(room, sizeof room);
        ttp_index_entry_write(&c, &state, &entry);
        fuzz_put(&out, room, ttp_written(&c));
    }
    return out;
}
