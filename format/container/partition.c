/* Partition heads. The directory names kinds in ascending order, so that a section cannot stand
 * twice. */
#include "format/container/partition.h"

#include <stdbool.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"

void ttp_partition_head_write(const struct ttp_partition_head *head, uint8_t *out)
{
    memset(out, 0, TTP_HEAD_BYTES);
    ttp_store32(out + TTP_HEAD_SECTIONS_AT, head->section_count);
    ttp_store32(out + TTP_HEAD_EVENTS_AT, head->event_count);
    ttp_store32(out + TTP_HEAD_SEGMENTS_AT, head->segment_count);
    ttp_store32(out + TTP_HEAD_SYMBOLS_AT, head->symbol_count);
    ttp_store32(out + TTP_HEAD_GIVEN_AT, head->given_count);
    ttp_store32(out + TTP_HEAD_WIDE_AT, head->wide_count);
    ttp_store32(out + TTP_HEAD_MODEL_AT, head->model);
    ttp_store32(out + TTP_HEAD_START_FRAMES_AT, head->start_frame_count);
    ttp_store32(out + TTP_HEAD_END_FRAMES_AT, head->end_frame_count);
    ttp_store64(out + TTP_HEAD_RESOLUTION_AT, head->resolution_ns);
    ttp_store64(out + TTP_HEAD_ORIGIN_AT, head->origin_ns);
    ttp_store64(out + TTP_HEAD_FIRST_TICK_AT, (uint64_t)head->first_tick);
    ttp_store64(out + TTP_HEAD_END_TICK_AT, (uint64_t)head->end_tick);
    ttp_store32(out + TTP_HEAD_GAPS_AT, head->gap_count);
    ttp_store64(out + TTP_HEAD_LOST_AT, head->lost_count);
    for (uint32_t i = 0; i < head->section_count; i++) {
        const struct ttp_section *section = &head->sections[i];
        uint8_t *entry = out + TTP_HEAD_BYTES + (size_t)i * TTP_SECTION_ENTRY_BYTES;
        memset(entry, 0, TTP_SECTION_ENTRY_BYTES);
        ttp_store16(entry + TTP_SECTION_KIND_AT, section->kind);
        ttp_store16(entry + TTP_SECTION_FLAGS_AT, section->flags);
        ttp_store32(entry + TTP_SECTION_STORED_AT, section->stored_bytes);
        ttp_store32(entry + TTP_SECTION_CONTENT_AT, section->content_bytes);
        ttp_store64(entry + TTP_SECTION_HASH_AT, section->hash);
    }
    size_t bytes = ttp_partition_head_bytes(head->section_count);
    ttp_store64(out + TTP_HEAD_HASH_AT,
                ttp_checksum(out + TTP_HEAD_SECTIONS_AT, bytes - TTP_HEAD_SECTIONS_AT));
}

ttape_status ttp_partition_head_size(const uint8_t *data, size_t size_bytes, size_t *head_bytes,
                                     ttape_error *err)
{
    if (size_bytes < TTP_HEAD_BYTES)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-01", size_bytes,
                        "partition ends inside its head");
    uint32_t sections = ttp_load32(data + TTP_HEAD_SECTIONS_AT);
    if (sections > TTP_MAX_SECTIONS)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-02", TTP_HEAD_SECTIONS_AT,
                        "partition has %u sections, at most %u are allowed", sections,
                        TTP_MAX_SECTIONS);
    *head_bytes = ttp_partition_head_bytes(sections);
    return TTAPE_OK;
}

static ttape_status read_directory(const uint8_t *data, uint64_t payload_bytes,
                                   struct ttp_partition_head *head, ttape_error *err)
{
    uint64_t offset = ttp_partition_head_bytes(head->section_count);
    uint32_t last_kind = 0;
    for (uint32_t i = 0; i < head->section_count; i++) {
        uint64_t at = TTP_HEAD_BYTES + (uint64_t)i * TTP_SECTION_ENTRY_BYTES;
        const uint8_t *entry = data + at;
        struct ttp_section section = {
            .kind = ttp_load16(entry + TTP_SECTION_KIND_AT),
            .flags = ttp_load16(entry + TTP_SECTION_FLAGS_AT),
            .stored_bytes = ttp_load32(entry + TTP_SECTION_STORED_AT),
            .content_bytes = ttp_load32(entry + TTP_SECTION_CONTENT_AT),
            .hash = ttp_load64(entry + TTP_SECTION_HASH_AT),
            .offset = offset,
        };
        if (section.kind <= last_kind)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-07", at, "section kinds do not ascend");
        if ((section.flags & ~TTP_FLAGS_KNOWN) != 0 ||
            ttp_load32(entry + TTP_SECTION_RESERVED_AT) != 0)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-08", at,
                            "reserved bits of a section are set");
        if ((section.flags & TTP_FLAG_ZSTD) == 0 && section.stored_bytes != section.content_bytes)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-09", at,
                            "content size of an uncompressed section differs from its stored size");
        if (section.content_bytes > TTP_MAX_PAYLOAD_BYTES)
            return ttp_fail(err, TTAPE_E_LIMIT, "F-PAR-10", at, "section is larger than %u bytes",
                            TTP_MAX_PAYLOAD_BYTES);
        last_kind = section.kind;
        offset += section.stored_bytes;
        head->sections[i] = section;
    }
    if (offset != payload_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-11", TTP_HEAD_BYTES,
                        "sections do not fill the partition exactly");
    return TTAPE_OK;
}

static ttape_status check_counts(const uint8_t *data, const struct ttp_partition_head *head,
                                 ttape_error *err)
{
    if (ttp_load32(data + TTP_HEAD_FLAGS_AT) != 0 || ttp_load32(data + TTP_HEAD_RESERVED_AT) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-04", TTP_HEAD_FLAGS_AT,
                        "reserved flags of a partition are set");
    if (head->event_count == 0 || head->segment_count == 0 ||
        head->segment_count > head->event_count || head->gap_count > head->event_count ||
        (head->gap_count == 0 && head->lost_count != 0))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-05", TTP_HEAD_EVENTS_AT,
                        "partition has %u events in %u segments", head->event_count,
                        head->segment_count);
    if (head->event_count > TTP_MAX_PARTITION_EVENTS)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-PAR-05", TTP_HEAD_EVENTS_AT,
                        "partition has %u events, at most %u are allowed", head->event_count,
                        TTP_MAX_PARTITION_EVENTS);
    if (head->given_count > head->symbol_count ||
        (head->model == TTP_NO_MODEL && head->given_count > head->start_frame_count) ||
        head->symbol_count - head->given_count > head->event_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-06", TTP_HEAD_SYMBOLS_AT,
                        "partition has %u symbols, %u of them given", head->symbol_count,
                        head->given_count);
    bool timeless = head->resolution_ns == 0;
    if (timeless ? head->wide_count != 0 || head->first_tick != 0 || head->end_tick != 0 ||
                       head->origin_ns != 0
                 : head->first_tick >= head->end_tick || head->wide_count > head->event_count ||
                       head->resolution_ns > INT64_MAX)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-12", TTP_HEAD_RESOLUTION_AT,
                        "times of a partition contradict each other");
    return TTAPE_OK;
}

ttape_status ttp_partition_head_read(const uint8_t *data, size_t size_bytes, uint64_t payload_bytes,
                                     struct ttp_partition_head *out, ttape_error *err)
{
    size_t head_bytes = 0;
    TTP_TRY(ttp_partition_head_size(data, size_bytes, &head_bytes, err));
    if (size_bytes < head_bytes || payload_bytes < head_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-01", size_bytes,
                        "partition ends inside its head");
    if (ttp_load64(data + TTP_HEAD_HASH_AT) !=
        ttp_checksum(data + TTP_HEAD_SECTIONS_AT, head_bytes - TTP_HEAD_SECTIONS_AT))
        return ttp_fail(err, TTAPE_E_CHECKSUM, "F-PAR-03", 0,
                        "checksum of a partition head does not match");
    struct ttp_partition_head head = {
        .section_count = ttp_load32(data + TTP_HEAD_SECTIONS_AT),
        .event_count = ttp_load32(data + TTP_HEAD_EVENTS_AT),
        .segment_count = ttp_load32(data + TTP_HEAD_SEGMENTS_AT),
        .symbol_count = ttp_load32(data + TTP_HEAD_SYMBOLS_AT),
        .given_count = ttp_load32(data + TTP_HEAD_GIVEN_AT),
        .wide_count = ttp_load32(data + TTP_HEAD_WIDE_AT),
        .model = ttp_load32(data + TTP_HEAD_MODEL_AT),
        .start_frame_count = ttp_load32(data + TTP_HEAD_START_FRAMES_AT),
        .end_frame_count = ttp_load32(data + TTP_HEAD_END_FRAMES_AT),
        .resolution_ns = ttp_load64(data + TTP_HEAD_RESOLUTION_AT),
        .origin_ns = ttp_load64(data + TTP_HEAD_ORIGIN_AT),
        .first_tick = (int64_t)ttp_load64(data + TTP_HEAD_FIRST_TICK_AT),
        .end_tick = (int64_t)ttp_load64(data + TTP_HEAD_END_TICK_AT),
        .gap_count = ttp_load32(data + TTP_HEAD_GAPS_AT),
        .lost_count = ttp_load64(data + TTP_HEAD_LOST_AT),
    };
    TTP_TRY(check_counts(data, &head, err));
    TTP_TRY(read_directory(data, payload_bytes, &head, err));
    *out = head;
    return TTAPE_OK;
}

const struct ttp_section *ttp_partition_section(const struct ttp_partition_head *head,
                                                uint16_t kind)
{
    for (uint32_t i = 0; i < head->section_count; i++)
        if (head->sections[i].kind == kind)
            return &head->sections[i];
    return NULL;
}
