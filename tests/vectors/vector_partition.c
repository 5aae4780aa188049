/* Sections in, sections out. What is decoded here was just made by our writer, so failures end the
 * program. */
#include "vector_partition.h"

#include <string.h>
#include <zstd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/order/literal.h"
#include "format/order/raw_order.h"

struct ttest_section *ttest_section_of(struct ttest_partition *p, uint16_t kind)
{
    for (uint32_t i = 0; i < p->section_count; i++)
        if (p->sections[i].kind == kind)
            return &p->sections[i];
    ttest_require(0, "no such section");
    return NULL;
}

struct ttest_section *ttest_insert_section(struct ttest_partition *p, uint16_t kind)
{
    uint32_t at = 0;
    while (at < p->section_count && p->sections[at].kind < kind)
        at++;
    memmove(&p->sections[at + 1], &p->sections[at],
            (p->section_count - at) * sizeof p->sections[0]);
    p->section_count++;
    p->sections[at] = (struct ttest_section){.kind = kind};
    return &p->sections[at];
}

void ttest_drop_section(struct ttest_partition *p, uint16_t kind)
{
    struct ttest_section *section = ttest_section_of(p, kind);
    size_t at = (size_t)(section - p->sections);
    p->section_count--;
    memmove(section, section + 1, (p->section_count - at) * sizeof *section);
}

static struct ttest_section parse_section(const uint8_t *payload, const struct ttp_section *from)
{
    struct ttest_section to = {.kind = from->kind,
                               .flags = from->flags & TTP_FLAG_CRITICAL,
                               .packed = (from->flags & TTP_FLAG_ZSTD) != 0};
    if (!to.packed) {
        ttest_put(&to.content, payload + from->offset, from->stored_bytes);
        return to;
    }
    to.content.data = ttest_take(from->content_bytes + 1);
    to.content.size = to.content.capacity = from->content_bytes;
    size_t size = ZSTD_decompress(to.content.data, from->content_bytes, payload + from->offset,
                                  from->stored_bytes);
    ttest_require(size == from->content_bytes, "a section of our writer does not decompress");
    return to;
}

static void parse_light(struct ttest_partition *p)
{
    ttape_error err = {0};
    const struct ttest_bytes *s = &ttest_section_of(p, TTP_SECTION_SEGMENTS)->content;
    p->segments = (struct ttp_segments){p->segment, p->start_frames, p->end_frames, 0, 0, 0};
    ttest_require(ttp_segments_read(&p->head, s->data, s->size, &p->segments, &err) == TTAPE_OK,
                  err.message);
    if (p->head.resolution_ns != 0) {
        s = &ttest_section_of(p, TTP_SECTION_BASES)->content;
        ttest_require(ttp_bases_read(&p->head, s->data, s->size, &p->segments, &err) == TTAPE_OK,
                      err.message);
    }
    s = &ttest_section_of(p, TTP_SECTION_EDGES)->content;
    ttest_require(ttp_edges_read(&p->head, s->data, s->size, &p->segments, &err) == TTAPE_OK,
                  err.message);
    memcpy(p->indexed, p->segment, sizeof p->segment);
    p->indexed_count = p->segments.segment_count;
}

/* The symbols of open frames come from the segments (F-SEG-08). */
static void give_symbols(struct ttest_partition *p)
{
    for (uint32_t i = 0; i < p->segments.start_frame_count; i++) {
        const struct ttp_frame *f = &p->start_frames[i];
        uint32_t at = 0;
        while (at < p->symbol_count && (p->symbols[at].argument != f->argument ||
                                        p->symbols[at].event_class != f->event_class))
            at++;
        if (at == p->symbol_count)
            p->symbols[p->symbol_count++] = (struct ttp_symbol){f->argument, f->event_class};
    }
    ttest_require(p->symbol_count == p->head.given_count, "given symbols");
}

static void segment_starts(const struct ttest_partition *p, uint32_t *starts)
{
    starts[0] = 0;
    for (uint32_t i = 0; i < p->segments.segment_count; i++)
        starts[i + 1] = starts[i] + p->segment[i].event_count;
}

static void parse_order(struct ttest_partition *p)
{
    ttape_error err = {0};
    uint32_t starts[TTEST_MAX_ITEMS + 1], zeros[TTEST_MAX_ITEMS + 1] = {0};
    segment_starts(p, starts);
    give_symbols(p);
    struct ttp_order_out out = {.codes = p->codes,
                                .symbols = p->symbols,
                                .segment_start = starts,
                                .open_start = zeros,
                                .open = zeros,
                                .open_stack = zeros,
                                .start_stack = zeros,
                                .event_count = p->head.event_count,
                                .symbol_capacity = TTEST_MAX_ITEMS,
                                .given_count = p->head.given_count,
                                .segment_count = p->segments.segment_count};
    size_t need = ttp_literal_decode_workspace(p->head.event_count);
    const struct ttest_bytes *header = &ttest_section_of(p, TTP_SECTION_LITERAL_HEADER)->content;
    const struct ttest_bytes *data = &ttest_section_of(p, TTP_SECTION_LITERAL_DATA)->content;
    ttest_require(ttp_literal_decode(&out, (struct ttp_bytes){header->data, header->size},
                                     (struct ttp_bytes){data->data, data->size},
                                     (struct ttp_workspace){ttest_take(need), need},
                                     &err) == TTAPE_OK,
                  err.message);
    p->symbol_count = out.symbol_count;
    for (uint32_t i = 0; i < p->head.event_count; i++)
        p->gap_count += p->symbols[p->codes[i] >> 1].event_class == TTP_CLASS_GAP;
}

struct ttest_partition *ttest_partition_parse(const struct ttest_bytes *payload, bool raw)
{
    struct ttest_partition *p = ttest_take(sizeof *p);
    ttape_error err = {0};
    ttest_require(ttp_partition_head_read(payload->data, payload->size, payload->size, &p->head,
                                          &err) == TTAPE_OK,
                  err.message);
    ttest_require(p->head.segment_count < TTEST_MAX_ITEMS &&
                      p->head.start_frame_count < TTEST_MAX_ITEMS &&
                      p->head.end_frame_count < TTEST_MAX_ITEMS,
                  "partition is too large to edit");
    for (uint32_t i = 0; i < p->head.section_count; i++)
        p->sections[p->section_count++] = parse_section(payload->data, &p->head.sections[i]);
    parse_light(p);
    if (!raw)
        return p;
    ttest_require(p->head.event_count <= TTEST_MAX_ITEMS, "partition is too large to edit");
    parse_order(p);
    ttest_drop_section(p, TTP_SECTION_LITERAL_HEADER);
    ttest_drop_section(p, TTP_SECTION_LITERAL_DATA);
    ttest_insert_section(p, TTP_SECTION_ORDER_RAW);
    ttest_encode_order(p);
    for (uint32_t i = 0; i < p->section_count; i++)
        p->sections[i].packed = false;
    return p;
}

void ttest_encode_light(struct ttest_partition *p)
{
    size_t bound = ttp_segments_bound(&p->segments);
    bool timed = p->head.resolution_ns != 0;
    uint8_t *room = ttest_take(bound);
    struct ttest_bytes *s = &ttest_section_of(p, TTP_SECTION_SEGMENTS)->content;
    s->size = 0;
    ttest_put(s, room, ttp_segments_write(&p->segments, room, bound));
    if (timed) {
        s = &ttest_section_of(p, TTP_SECTION_BASES)->content;
        s->size = 0;
        ttest_put(s, room, ttp_bases_write(&p->segments, p->head.first_tick, room, bound));
    }
    s = &ttest_section_of(p, TTP_SECTION_EDGES)->content;
    s->size = 0;
    ttest_put(s, room, ttp_edges_write(&p->segments, timed, room, bound));
}

void ttest_encode_order(struct ttest_partition *p)
{
    uint32_t starts[TTEST_MAX_ITEMS + 1];
    size_t size, bound = ttp_raw_order_bound(p->head.event_count, p->symbol_count);
    uint8_t *room = ttest_take(bound);
    ttape_error err = {0};
    struct ttest_bytes *s = &ttest_section_of(p, TTP_SECTION_ORDER_RAW)->content;
    segment_starts(p, starts);
    struct ttp_order in = {.codes = p->codes,
                           .symbols = p->symbols,
                           .segment_start = starts,
                           .event_count = p->head.event_count,
                           .symbol_count = p->symbol_count,
                           .given_count = p->head.given_count,
                           .segment_count = p->segments.segment_count};
    ttest_require(ttp_raw_order_encode(&in, room, bound, &size, &err) == TTAPE_OK, err.message);
    s->size = 0;
    ttest_put(s, room, size);
}

struct ttest_bytes ttest_partition_write(struct ttest_partition *p)
{
    struct ttest_bytes payload = {0}, sections = {0};
    p->head.section_count = p->section_count;
    for (uint32_t i = 0; i < p->section_count; i++) {
        struct ttest_section *from = &p->sections[i];
        struct ttest_bytes stored = from->packed ? ttest_pack(&from->content) : from->content;
        if (from->stored.size != 0)
            stored = from->stored;
        struct ttp_section *to = &p->head.sections[i];
        *to = (struct ttp_section){.kind = from->kind,
                                   .stored_bytes = (uint32_t)stored.size,
                                   .content_bytes = (uint32_t)from->content.size};
        to->flags = (uint16_t)(from->flags | (from->packed ? TTP_FLAG_ZSTD : 0));
        to->hash = ttp_checksum(stored.data, stored.size);
        if (from->content_bytes != 0)
            to->content_bytes = from->content_bytes;
        ttest_put(&sections, stored.data, stored.size);
    }
    size_t head_bytes = ttp_partition_head_bytes(p->section_count);
    uint8_t *head = ttest_take(head_bytes);
    ttp_partition_head_write(&p->head, head);
    ttest_put(&payload, head, head_bytes);
    ttest_put(&payload, sections.data, sections.size);
    return payload;
}

struct ttp_index_entry ttest_partition_entry(const struct ttest_partition *p)
{
    struct ttp_index_entry e = {.kind = TTP_CHUNK_PARTITION,
                                .event_count = p->head.event_count,
                                .segment_count = p->indexed_count,
                                .model = p->head.model,
                                .light_bytes = (uint32_t)ttp_partition_head_bytes(p->section_count),
                                .resolution_ns = p->head.resolution_ns,
                                .origin_ns = p->head.origin_ns,
                                .first_tick = p->head.first_tick,
                                .end_tick = p->head.end_tick,
                                .gap_count = p->gap_count,
                                .lost_count = p->lost_count};
    for (uint32_t i = 0; i < p->section_count; i++) {
        uint32_t kind = p->sections[i].kind, bytes = p->head.sections[i].stored_bytes;
        e.light_bytes += kind <= TTP_SECTION_SUMMARY ? bytes : 0;
        if (kind == TTP_SECTION_SEGMENTS || kind == TTP_SECTION_DEPTHS ||
            (kind >= TTP_SECTION_CHAIN_HEADER && kind <= TTP_SECTION_ORDER_RAW))
            e.order_bytes += bytes;
        else if (kind == TTP_SECTION_BASES ||
                 (kind >= TTP_SECTION_TIMES_STATIC && kind <= TTP_SECTION_TIMES_PHASE))
            e.times_bytes += bytes;
        else if (kind == TTP_SECTION_VALUES)
            e.values_bytes += bytes;
        else if (kind == TTP_SECTION_EDGES || kind == TTP_SECTION_SUMMARY)
            e.summary_bytes += bytes;
    }
    return e;
}
