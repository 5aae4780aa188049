/* Entries of an index: what reads, writes to the same bytes. */
#include <string.h>

#include "format/base/bytes.h"
#include "format/container/index.h"
#include "format/container/layout.h"
#include "fuzz_codec.h"

struct pair {
    struct ttp_reader_cursor from;
    struct ttp_writer_cursor to;
    ttape_error err;
};

static ttape_status take_segments(struct pair *p, uint32_t count)
{
    struct ttp_index_segment before = {.stream = UINT32_MAX}, segment;
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; i < count && status == TTAPE_OK; i++) {
        status = ttp_index_segment_read(&p->from, &before, &segment, &p->err);
        if (status == TTAPE_OK)
            status = ttp_index_segment_read_number(&p->from, i, &segment, &p->err);
        if (status == TTAPE_OK)
            ttp_index_segment_write(&p->to, &before, i, &segment);
        before = segment;
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pair p = {.from = ttp_reader_cursor_init(data, size)};
    struct ttp_index_state in = {0}, out = {0};
    size_t room = size + TTP_INDEX_ENTRY_BOUND + TTP_INDEX_SEGMENT_BOUND;
    uint8_t *bytes = fuzz_take(room);
    ttape_status status = TTAPE_OK;
    p.to = ttp_writer_cursor_init(bytes, room);
    while (status == TTAPE_OK && ttp_reader_left(&p.from) > 0) {
        struct ttp_index_entry entry;
        size_t at = ttp_reader_offset(&p.from);
        FUZZ_REQUIRE(ttp_written(&p.to) == at && memcmp(bytes, data, at) == 0);
        status = ttp_index_entry_read(&p.from, &in, &entry, &p.err);
        if (status != TTAPE_OK)
            break;
        ttp_index_entry_write(&p.to, &out, &entry);
        status = entry.kind == TTP_CHUNK_PARTITION ? take_segments(&p, entry.segment_count) : 0;
    }
    if (status != TTAPE_OK)
        fuzz_require_error(status, &p.err, size);
    fuzz_release_all();
    return 0;
}
