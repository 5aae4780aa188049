/* Broken partition heads and directories. Everything is about partition 1 (chunk 4), unless it says
 * otherwise. */
#include "format/base/bytes.h"
#include "invalid_vectors.h"
#include "vector_partition.h"

enum { CHUNK = 4 };

static struct ttest_partition *second(struct ttest_file *file)
{
    return ttest_partition_of(file, 1);
}

static uint8_t *head_at(struct ttest_file *file, struct ttest_bytes *bytes)
{
    return bytes->data + file->chunks[CHUNK].offset + TTP_CHUNK_HEADER_BYTES;
}

static void reseal(struct ttest_file *file, struct ttest_bytes *bytes)
{
    ttest_reseal_head(bytes, file->chunks[CHUNK].offset, second(file)->section_count);
}

static void short_payload(struct ttest_file *file)
{
    ttest_put_text(&file->chunks[CHUNK].stored, "a partition of less than eighty bytes");
    file->chunks[CHUNK].content_bytes = file->chunks[CHUNK].stored.size;
}

static void packed_whole(struct ttest_file *file) { file->chunks[CHUNK].packed = true; }

static void head_past_end(struct ttest_file *file, struct ttest_bytes *bytes)
{
    ttp_store32(head_at(file, bytes) + TTP_HEAD_SECTIONS_AT, TTP_MAX_SECTIONS);
    ttest_reseal_payload(bytes, file->chunks[CHUNK].offset);
}

static void many_sections(struct ttest_file *file, struct ttest_bytes *bytes)
{
    ttp_store32(head_at(file, bytes) + TTP_HEAD_SECTIONS_AT, TTP_MAX_SECTIONS + 1);
    ttest_reseal_payload(bytes, file->chunks[CHUNK].offset);
}

static void head_hash(struct ttest_file *file, struct ttest_bytes *bytes)
{
    head_at(file, bytes)[TTP_HEAD_MODEL_AT] ^= 1;
    ttest_reseal_payload(bytes, file->chunks[CHUNK].offset);
}

static void head_flags(struct ttest_file *file, struct ttest_bytes *bytes)
{
    head_at(file, bytes)[TTP_HEAD_FLAGS_AT] = 1;
    reseal(file, bytes);
}

/* A field of the head; the index says the same, so that the head is what is wrong. */
#define HEAD(name, statement)                                                                      \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct ttp_partition_head *head = &second(file)->head;                                     \
        statement;                                                                                 \
    }

/* Counts that an index cannot say: only the head is patched. */
#define PATCH(name, at, value)                                                                     \
    static void name(struct ttest_file *file, struct ttest_bytes *bytes)                           \
    {                                                                                              \
        ttp_store32(head_at(file, bytes) + (at), value);                                           \
        reseal(file, bytes);                                                                       \
    }

PATCH(no_events, TTP_HEAD_EVENTS_AT, 0)
PATCH(head_reserved, TTP_HEAD_RESERVED_AT, 1)
PATCH(many_gaps, TTP_HEAD_GAPS_AT, 9)
PATCH(lost_no_gaps, TTP_HEAD_GAPS_AT, 0)
HEAD(other_gaps, second(file)->gap_count = head->gap_count = 2)
HEAD(other_lost, second(file)->lost_count = head->lost_count = 6)
HEAD(model_unknown, head->model = 0)
PATCH(no_segments, TTP_HEAD_SEGMENTS_AT, 0)
PATCH(many_segments, TTP_HEAD_SEGMENTS_AT, 9)
PATCH(many_events, TTP_HEAD_EVENTS_AT, TTP_MAX_PARTITION_EVENTS + 1)
HEAD(given_over_symbols, head->given_count = head->symbol_count + 1)
HEAD(given_over_frames, head->given_count = head->start_frame_count + 1)
HEAD(many_symbols, head->symbol_count = head->given_count + 9)
HEAD(more_symbols, head->symbol_count++)
HEAD(fewer_symbols, head->symbol_count--)
HEAD(ticks_empty, head->end_tick = head->first_tick)
HEAD(ticks_backwards, head->end_tick = head->first_tick - 1)
HEAD(many_wide, head->wide_count = 9)
HEAD(resolution, head->resolution_ns = UINT64_C(1) << 63)
HEAD(untimed_wide, head->wide_count = 1)
HEAD(untimed_origin, head->origin_ns = 5)
HEAD(untimed_ticks, head->end_tick = 1)

static void kinds_twice(struct ttest_file *file)
{
    struct ttest_partition *p = second(file);
    struct ttest_section *first = ttest_insert_section(p, TTP_SECTION_DEPTHS);
    first->content = ttest_copy(&first[1].content);
}

static void kinds_descend(struct ttest_file *file)
{
    struct ttest_partition *p = second(file);
    struct ttest_section last = p->sections[p->section_count - 1];
    p->sections[p->section_count - 1] = p->sections[p->section_count - 2];
    p->sections[p->section_count - 2] = last;
}

static void kind_zero(struct ttest_file *file) { ttest_insert_section(second(file), 0); }

static void section_flags(struct ttest_file *file)
{
    ttest_section_of(second(file), TTP_SECTION_EDGES)->flags = 4;
}

static uint8_t *entry_at(struct ttest_file *file, struct ttest_bytes *bytes, uint16_t kind)
{
    struct ttest_partition *p = second(file);
    size_t i = (size_t)(ttest_section_of(p, kind) - p->sections);
    return head_at(file, bytes) + TTP_HEAD_BYTES + i * TTP_SECTION_ENTRY_BYTES;
}

static void section_reserved(struct ttest_file *file, struct ttest_bytes *bytes)
{
    entry_at(file, bytes, TTP_SECTION_EDGES)[TTP_SECTION_RESERVED_AT] = 1;
    reseal(file, bytes);
}

static void section_hash(struct ttest_file *file, struct ttest_bytes *bytes)
{
    entry_at(file, bytes, TTP_SECTION_ORDER_RAW)[TTP_SECTION_HASH_AT] ^= 1;
    reseal(file, bytes);
}

static void light_hash(struct ttest_file *file, struct ttest_bytes *bytes)
{
    entry_at(file, bytes, TTP_SECTION_SEGMENTS)[TTP_SECTION_HASH_AT] ^= 1;
    reseal(file, bytes);
}

static void section_plain_size(struct ttest_file *file)
{
    ttest_section_of(second(file), TTP_SECTION_VALUES)->content_bytes = 1000;
}

static struct ttest_section *packed_order(struct ttest_file *file)
{
    struct ttest_section *section = ttest_section_of(second(file), TTP_SECTION_ORDER_RAW);
    section->packed = true;
    section->stored = ttest_pack(&section->content);
    return section;
}

static void section_longer(struct ttest_file *file)
{
    struct ttest_section *section = packed_order(file);
    section->content_bytes = (uint32_t)section->content.size + 1;
}

static void section_shorter(struct ttest_file *file)
{
    struct ttest_section *section = packed_order(file);
    section->content_bytes = (uint32_t)section->content.size - 1;
}

static void section_no_zstd(struct ttest_file *file)
{
    struct ttest_section *section = packed_order(file);
    section->stored = ttest_copy(&section->content);
}

static void section_trailing(struct ttest_file *file)
{
    ttest_put8(&packed_order(file)->stored, 0);
}

static void section_huge(struct ttest_file *file)
{
    packed_order(file)->content_bytes = (UINT32_C(1) << 30) + 1;
}

static void section_hole(struct ttest_file *file)
{
    struct ttest_bytes payload = ttest_partition_write(second(file));
    ttest_put8(&payload, 0);
    file->chunks[CHUNK].stored = payload;
    file->chunks[CHUNK].content_bytes = payload.size;
}

static void section_past_end(struct ttest_file *file, struct ttest_bytes *bytes)
{
    uint8_t *entry = entry_at(file, bytes, TTP_SECTION_DEPTHS);
    ttp_store32(entry + TTP_SECTION_STORED_AT, 1u << 29);
    ttp_store32(entry + TTP_SECTION_CONTENT_AT, 1u << 29);
    reseal(file, bytes);
}

static void untimed_times(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_TIMES_RAW);
}

static void untimed_bases(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_BASES);
}

static void untimed_switches(struct ttest_file *file)
{
    ttest_put(&ttest_insert_section(second(file), TTP_SECTION_SWITCHES)->content, "\0\0", 2);
}

static void cpu_times_alone(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_CPU_TIMES);
}

static void untimed_own_times(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_OWN_TIMES);
}

static void untimed_instants(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_INSTANTS);
}

static void no_summary_own_times(struct ttest_file *file)
{
    ttest_drop_section(second(file), TTP_SECTION_SUMMARY);
    ttest_insert_section(second(file), TTP_SECTION_OWN_TIMES);
}

static void drop(struct ttest_file *file, uint16_t kind) { ttest_drop_section(second(file), kind); }

static void no_order(struct ttest_file *file) { drop(file, TTP_SECTION_ORDER_RAW); }
static void no_times(struct ttest_file *file) { drop(file, TTP_SECTION_TIMES_RAW); }
static void no_section_segments(struct ttest_file *file) { drop(file, TTP_SECTION_SEGMENTS); }
static void no_edges(struct ttest_file *file) { drop(file, TTP_SECTION_EDGES); }
static void no_bases(struct ttest_file *file) { drop(file, TTP_SECTION_BASES); }

static void two_orders(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_LITERAL_HEADER);
    ttest_insert_section(second(file), TTP_SECTION_LITERAL_DATA);
}

static void two_times(struct ttest_file *file)
{
    ttest_insert_section(second(file), TTP_SECTION_TIMES_MIX);
}

static void half_order(struct ttest_file *file)
{
    drop(file, TTP_SECTION_ORDER_RAW);
    ttest_insert_section(second(file), TTP_SECTION_CHAIN_HEADER);
}

static void critical_section(struct ttest_file *file)
{
    ttest_insert_section(second(file), 99)->flags = TTP_FLAG_CRITICAL;
}

#define C    TTAPE_E_CORRUPT
#define SUM  TTAPE_E_CHECKSUM
#define LEFT TTEST_FIRST

static const struct ttest_break timed_breaks[] = {
    {"par-01-short", "F-PAR-01", C, LEFT, "a payload of less than a head", short_payload, NULL},
    {"par-01-directory", "F-PAR-01", C, LEFT, "the directory ends past the payload", NULL,
     head_past_end},
    {"par-01-packed", "F-PAR-01", C, LEFT, "the partition is compressed as a whole", packed_whole,
     NULL},
    {"par-02-sections", "F-PAR-02", C, LEFT, "65 sections", NULL, many_sections},
    {"par-03-hash", "F-PAR-03", SUM, LEFT, "a bit of the head", NULL, head_hash},
    {"par-04-flags", "F-PAR-04", C, LEFT, "a flag of the head", NULL, head_flags},
    {"par-04-reserved", "F-PAR-04", C, LEFT, "a reserved byte of the head", NULL, head_reserved},
    {"par-05-gaps", "F-PAR-05", C, LEFT, "more gaps than events", NULL, many_gaps},
    {"par-05-lost", "F-PAR-05", C, LEFT, "lost events without a gap", NULL, lost_no_gaps},
    {"par-15-gaps", "F-PAR-15", C, TTEST_ALL, "the head has a gap too many", other_gaps, NULL},
    {"par-15-lost", "F-PAR-15", C, TTEST_ALL, "the head has a lost event too many", other_lost,
     NULL},
    {"mod-02-unknown", "F-MOD-02", C, LEFT, "a model that is not in the file", model_unknown, NULL},
    {"par-05-events", "F-PAR-05", C, LEFT, "no event", NULL, no_events},
    {"par-05-segments", "F-PAR-05", C, LEFT, "no segment", NULL, no_segments},
    {"par-05-more-segments", "F-PAR-05", C, LEFT, "more segments than events", NULL, many_segments},
    {"par-05-many", "F-PAR-05", TTAPE_E_LIMIT, LEFT, "2^24 + 1 events", NULL, many_events},
    {"par-06-given", "F-PAR-06", C, LEFT, "more given symbols than symbols", given_over_symbols,
     NULL},
    {"par-06-frames", "F-PAR-06", C, LEFT, "more given symbols than open frames", given_over_frames,
     NULL},
    {"par-06-many", "F-PAR-06", C, LEFT, "more new symbols than events", many_symbols, NULL},
    {"par-06-more", "F-PAR-06", C, LEFT, "one symbol more than the order defines", more_symbols,
     NULL},
    {"par-06-fewer", "O-RAW-02", TTAPE_E_LIMIT, LEFT,
     "one symbol less than the order defines (F-PAR-06)", fewer_symbols, NULL},
    {"par-07-twice", "F-PAR-07", C, LEFT, "a section kind twice", kinds_twice, NULL},
    {"par-07-descends", "F-PAR-07", C, LEFT, "section kinds descend", kinds_descend, NULL},
    {"par-07-zero", "F-PAR-07", C, LEFT, "section kind 0", kind_zero, NULL},
    {"par-08-flags", "F-PAR-08", C, LEFT, "a reserved flag of a section", section_flags, NULL},
    {"par-08-reserved", "F-PAR-08", C, LEFT, "a reserved byte of a directory entry", NULL,
     section_reserved},
    {"par-09-hash", "F-PAR-09", SUM, LEFT, "the hash of the order section", NULL, section_hash},
    {"par-09-light", "F-PAR-09", SUM, LEFT, "the hash of the segments section", NULL, light_hash},
    {"par-09-plain", "F-PAR-09", C, LEFT,
     "content size differs from the stored size without flag 1", section_plain_size, NULL},
    {"par-09-longer", "F-PAR-09", C, LEFT, "one byte less than the content size says",
     section_longer, NULL},
    {"par-09-shorter", "F-PAR-09", C, LEFT, "one byte more than the content size says",
     section_shorter, NULL},
    {"par-09-no-zstd", "F-PAR-09", C, LEFT, "flag 1 and no zstd frame", section_no_zstd, NULL},
    {"par-09-trailing", "F-PAR-09", C, LEFT, "a byte behind the frame", section_trailing, NULL},
    {"par-10-size", "F-PAR-10", TTAPE_E_LIMIT, LEFT, "a content size above 2^30", section_huge,
     NULL},
    {"par-11-hole", "F-PAR-11", C, LEFT, "a byte behind the last section", section_hole, NULL},
    {"par-11-past", "F-PAR-11", C, LEFT, "the last section ends past the payload", NULL,
     section_past_end},
    {"par-12-empty", "F-PAR-12", C, LEFT, "first and end tick are the same", ticks_empty, NULL},
    {"par-12-backwards", "F-PAR-12", C, LEFT, "the end tick is before the first", ticks_backwards,
     NULL},
    {"par-12-wide", "F-PAR-12", C, LEFT, "more wide differences than events", many_wide, NULL},
    {"par-12-resolution", "F-PAR-12", C, LEFT, "a resolution of 2^63", resolution, NULL},
    {"par-13-no-order", "F-PAR-13", C, LEFT, "no order", no_order, NULL},
    {"par-13-two-orders", "F-PAR-13", C, LEFT, "two orders", two_orders, NULL},
    {"par-13-half-order", "F-PAR-13", C, LEFT, "a chain header without its data", half_order, NULL},
    {"par-13-no-times", "F-PAR-13", C, LEFT, "a resolution and no times", no_times, NULL},
    {"par-13-two-times", "F-PAR-13", C, LEFT, "two times sections", two_times, NULL},
    {"par-13-no-segments", "F-PAR-13", C, LEFT, "no segments section", no_section_segments, NULL},
    {"par-13-no-edges", "F-PAR-13", C, LEFT, "no edges section", no_edges, NULL},
    {"par-13-no-bases", "F-PAR-13", C, LEFT, "no bases section", no_bases, NULL},
    {"cpu-03-no-switches", "F-CPU-03", C, LEFT, "CPU times without switches", cpu_times_alone,
     NULL},
    {"own-03-no-summary", "F-OWN-03", C, LEFT, "own times without a summary", no_summary_own_times,
     NULL},
    {"par-14-critical", "F-PAR-14", TTAPE_E_UNSUPPORTED, LEFT,
     "a critical section of an unknown kind", critical_section, NULL},
};

static const struct ttest_break untimed_breaks[] = {
    {"par-12-untimed-wide", "F-PAR-12", C, LEFT, "wide differences without times", untimed_wide,
     NULL},
    {"par-12-untimed-origin", "F-PAR-12", C, LEFT, "an origin without times", untimed_origin, NULL},
    {"par-12-untimed-ticks", "F-PAR-12", C, LEFT, "ticks without times", untimed_ticks, NULL},
    {"par-12-untimed-times", "F-PAR-12", C, LEFT, "a times section without a resolution",
     untimed_times, NULL},
    {"par-12-untimed-bases", "F-PAR-12", C, LEFT, "a bases section without a resolution",
     untimed_bases, NULL},
    {"swi-05-untimed", "F-SWI-05", C, LEFT, "a switches section without a resolution",
     untimed_switches, NULL},
    {"ins-06-untimed", "F-INS-06", C, LEFT, "instants without a resolution", untimed_instants,
     NULL},
    {"own-03-untimed", "F-OWN-03", C, LEFT, "own times without a resolution", untimed_own_times,
     NULL},
};

void ttest_make_invalid_heads(const struct ttest_output *out)
{
    ttest_emit_breaks(out, timed_breaks, sizeof timed_breaks / sizeof timed_breaks[0], true);
    ttest_emit_breaks(out, untimed_breaks, sizeof untimed_breaks / sizeof untimed_breaks[0], false);
}
