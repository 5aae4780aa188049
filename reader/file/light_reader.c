/* The light sections of a partition in one read: chunk header, head, directory, segments, bases,
 * edges (and the summary, which summary_reader.c looks at). Where its size is not known yet (a
 * scan), the head is read first. */
#include "format/base/fail.h"
#include "reader/partition/partition_decoder.h"

/* The forms of which a partition has exactly one. */
static const uint16_t order_kinds[] = {TTP_SECTION_CHAIN_HEADER, TTP_SECTION_LITERAL_HEADER,
                                       TTP_SECTION_ORDER_RAW, 0};
static const uint16_t time_kinds[] = {TTP_SECTION_TIMES_STATIC, TTP_SECTION_TIMES_MIX,
                                      TTP_SECTION_TIMES_RAW, TTP_SECTION_TIMES_PHASE, 0};

static unsigned count_kinds(const struct ttp_partition_head *head, const uint16_t *kinds)
{
    unsigned count = 0;
    for (; *kinds != 0; kinds++)
        count += ttp_partition_section(head, *kinds) != NULL;
    return count;
}

static bool has(const struct ttp_partition_head *head, uint16_t kind)
{
    return ttp_partition_section(head, kind) != NULL;
}

static bool known(uint16_t kind)
{
    return (kind >= TTP_SECTION_SEGMENTS && kind <= TTP_SECTION_SUMMARY) ||
           (kind >= TTP_SECTION_CHAIN_HEADER && kind <= TTP_SECTION_ORDER_RAW) ||
           (kind >= TTP_SECTION_TIMES_STATIC && kind <= TTP_SECTION_TIMES_PHASE) ||
           (kind >= TTP_SECTION_VALUES && kind <= TTP_SECTION_ENTERS);
}

static ttape_status check_sections(const struct ttp_loaded *p, ttape_error *err)
{
    const struct ttp_partition_head *head = &p->head;
    unsigned timed = head->resolution_ns != 0;
    for (uint32_t i = 0; i < head->section_count; i++)
        if (!known(head->sections[i].kind) && (head->sections[i].flags & TTP_FLAG_CRITICAL))
            return ttp_fail(err, TTAPE_E_UNSUPPORTED, "F-PAR-14", p->payload_offset,
                            "partition needs section kind '%u', which this reader does not know",
                            head->sections[i].kind);
    if (!timed && (has(head, TTP_SECTION_BASES) || count_kinds(head, time_kinds) != 0))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-12", p->payload_offset,
                        "partition without times has a section of times");
    if (!timed && has(head, TTP_SECTION_SWITCHES))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SWI-05", p->payload_offset,
                        "partition without times has a section of switches");
    if (has(head, TTP_SECTION_OWN_TIMES) && (!timed || !has(head, TTP_SECTION_SUMMARY)))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-OWN-03", p->payload_offset,
                        "partition without times or summary has a section of own times");
    if (has(head, TTP_SECTION_CPU_TIMES) &&
        (!timed || !has(head, TTP_SECTION_SUMMARY) || !has(head, TTP_SECTION_SWITCHES)))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CPU-03", p->payload_offset,
                        "partition without times, summary or switches has CPU times");
    if (!timed && has(head, TTP_SECTION_INSTANTS))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-INS-06", p->payload_offset,
                        "partition without times has a section of instants");
    if (count_kinds(head, order_kinds) != 1 || count_kinds(head, time_kinds) != timed ||
        has(head, TTP_SECTION_CHAIN_HEADER) != has(head, TTP_SECTION_CHAIN_DATA) ||
        has(head, TTP_SECTION_LITERAL_HEADER) != has(head, TTP_SECTION_LITERAL_DATA) ||
        has(head, TTP_SECTION_BASES) != timed || !has(head, TTP_SECTION_SEGMENTS) ||
        !has(head, TTP_SECTION_EDGES))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-13", p->payload_offset,
                        "partition lacks a section, or has two that exclude each other");
    return TTAPE_OK;
}

/* Bytes of head, directory and the sections up to the summary. */
static uint32_t light_of(const struct ttp_partition_head *head)
{
    uint64_t end = ttp_partition_head_bytes(head->section_count);
    for (uint32_t i = 0; i < head->section_count; i++)
        if (head->sections[i].kind <= TTP_SECTION_SUMMARY)
            end = head->sections[i].offset + head->sections[i].stored_bytes;
    return (uint32_t)end;
}

static ttape_status read_head(const ttape_reader *r, struct ttp_loaded *p,
                              const struct ttp_partition_entry *entry, ttape_error *err)
{
    uint8_t head[TTP_HEAD_BYTES + TTP_MAX_SECTIONS * TTP_SECTION_ENTRY_BYTES];
    size_t head_bytes = 0;
    size_t have = entry->stored_bytes < TTP_HEAD_BYTES ? entry->stored_bytes : TTP_HEAD_BYTES;
    TTP_TRY(ttp_source_read(&r->source, p->payload_offset, head, have, err));
    ttape_status status = ttp_partition_head_size(head, have, &head_bytes, err);
    if (status == TTAPE_OK && head_bytes <= entry->stored_bytes) {
        TTP_TRY(ttp_source_read(&r->source, p->payload_offset, head, head_bytes, err));
        have = head_bytes;
    }
    if (status == TTAPE_OK)
        status = ttp_partition_head_read(head, have, entry->stored_bytes, &p->head, err);
    if (status != TTAPE_OK)
        ttp_error_rebase(err, p->payload_offset);
    return status;
}

/* A compressed payload has no head: this comes before anything of it is looked at. */
static ttape_status check_plain(const struct ttp_partition_entry *entry, const uint8_t *header,
                                struct ttp_chunk *chunk, ttape_error *err)
{
    TTP_TRY(ttp_chunk_read(header, entry->offset, chunk, err));
    if (chunk->flags & TTP_FLAG_ZSTD)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-01", entry->offset + TTP_CHUNK_FLAGS_AT,
                        "partition is compressed as a whole");
    return TTAPE_OK;
}

/* What chunk header and head say must be what index or scan said. */
static ttape_status check_partition(const struct ttp_loaded *p,
                                    const struct ttp_partition_entry *entry,
                                    const struct ttp_chunk *chunk, ttape_error *err)
{
    const struct ttp_partition_head *head = &p->head;
    if (chunk->kind != TTP_CHUNK_PARTITION || chunk->scope != entry->scope ||
        chunk->stored_bytes != entry->stored_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", entry->offset,
                        "index names a partition that is not there");
    if (chunk->sequence != entry->sequence)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-07", entry->offset + TTP_CHUNK_SEQUENCE_AT,
                        "chunk has number '%llu' where '%llu' is expected",
                        (unsigned long long)chunk->sequence, (unsigned long long)entry->sequence);
    if (entry->event_count == 0)
        return TTAPE_OK;
    if (head->event_count != entry->event_count || head->segment_count != entry->segment_count ||
        head->model != entry->model || head->resolution_ns != entry->resolution_ns ||
        head->origin_ns != entry->origin_ns || head->first_tick != entry->first_tick ||
        head->end_tick != entry->end_tick || light_of(head) != entry->light_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", p->payload_offset,
                        "index and partition contradict each other");
    return TTAPE_OK;
}

static ttape_status check_segments(const ttape_reader *r, const struct ttp_loaded *p,
                                   const struct ttp_partition_entry *entry, ttape_error *err)
{
    for (uint32_t s = 0; entry->event_count != 0 && s < p->segments.segment_count; s++) {
        const struct ttp_segment *g = &p->segments.segments[s];
        const struct ttp_segment_entry *seg = &r->segments[entry->first_segment + s];
        if (seg->event_count != g->event_count || seg->first_event != g->first_event ||
            seg->stream !=
                ttp_definitions_find(&r->definitions, entry->scope, TTP_DEFINES_STREAMS, g->stream))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", p->payload_offset,
                            "index and segments contradict each other");
    }
    return TTAPE_OK;
}

typedef ttape_status (*section_parser)(const struct ttp_partition_head *head, const uint8_t *data,
                                       size_t size_bytes, struct ttp_segments *io,
                                       ttape_error *err);

static ttape_status parse_section(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint16_t kind,
                                  section_parser parse, ttape_error *err)
{
    struct ttp_content content;
    TTP_TRY(ttp_content_open(d, p, ttp_partition_section(&p->head, kind), &content, err));
    ttape_status status = parse(&p->head, content.data, content.size_bytes, &p->segments, err);
    if (status != TTAPE_OK)
        ttp_content_rebase(&content, err);
    ttp_content_close(d, &content);
    return status;
}

ttape_status ttp_loaded_read_segments(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                      ttape_error *err)
{
    const struct ttp_partition_head *head = &p->head;
    struct ttp_segments *g = &p->segments;
    struct ttp_memory *m = &d->memory;
    g->segments = ttp_memory_take(m, head->segment_count, sizeof *g->segments, err);
    if (g->segments == NULL)
        return m->status;
    g->start_frames = ttp_memory_take(m, head->start_frame_count, sizeof *g->start_frames, err);
    if (g->start_frames == NULL)
        return m->status;
    p->segment_start =
        ttp_memory_take(m, head->segment_count + 1ull, sizeof *p->segment_start, err);
    if (p->segment_start == NULL)
        return m->status;
    TTP_TRY(parse_section(d, p, TTP_SECTION_SEGMENTS, ttp_segments_read, err));
    p->segment_start[0] = 0;
    for (uint32_t s = 0; s < g->segment_count; s++)
        p->segment_start[s + 1] = p->segment_start[s] + g->segments[s].event_count;
    return TTAPE_OK;
}

/* Bases and edges need what the segments say. */
static ttape_status read_edges(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err)
{
    struct ttp_segments *g = &p->segments;
    g->end_frames =
        ttp_memory_take(&d->memory, p->head.end_frame_count, sizeof *g->end_frames, err);
    if (g->end_frames == NULL)
        return d->memory.status;
    for (uint32_t s = 0; s < g->segment_count; s++)
        g->segments[s].base_tick = 0;
    if (p->head.resolution_ns != 0)
        TTP_TRY(parse_section(d, p, TTP_SECTION_BASES, ttp_bases_read, err));
    return parse_section(d, p, TTP_SECTION_EDGES, ttp_edges_read, err);
}

ttape_status ttp_loaded_read_light(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err)
{
    const struct ttp_partition_entry *entry = &d->reader->partitions[p->partition];
    struct ttp_chunk chunk;
    p->payload_offset = entry->offset + TTP_CHUNK_HEADER_BYTES;
    p->scope = entry->scope;
    uint32_t light_bytes = entry->light_bytes;
    if (light_bytes == 0) {
        uint8_t header[TTP_CHUNK_HEADER_BYTES];
        TTP_TRY(ttp_source_read(&d->reader->source, entry->offset, header, sizeof header, err));
        TTP_TRY(check_plain(entry, header, &chunk, err));
        TTP_TRY(read_head(d->reader, p, entry, err));
        light_bytes = light_of(&p->head);
    }
    p->light_bytes = light_bytes + TTP_CHUNK_HEADER_BYTES;
    p->light = ttp_memory_take(&d->memory, p->light_bytes, 1, err);
    if (p->light == NULL)
        return d->memory.status;
    TTP_TRY(ttp_source_read(&d->reader->source, entry->offset, p->light, p->light_bytes, err));
    TTP_TRY(check_plain(entry, p->light, &chunk, err));
    ttape_status status = ttp_partition_head_read(p->light + TTP_CHUNK_HEADER_BYTES, light_bytes,
                                                  entry->stored_bytes, &p->head, err);
    if (status != TTAPE_OK) {
        ttp_error_rebase(err, p->payload_offset);
        return status;
    }
    TTP_TRY(check_partition(p, entry, &chunk, err));
    TTP_TRY(check_sections(p, err));
    TTP_TRY(ttp_loaded_read_segments(d, p, err));
    TTP_TRY(read_edges(d, p, err));
    return check_segments(d->reader, p, entry, err);
}
