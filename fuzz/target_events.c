/* Every event of every stream, and cursors that jump: they meet the events that straight reading
 * meets. */
#include "fuzz_trace.h"

static void require_edge(ttape_cursor *cursor)
{
    ttape_edge edge;
    ttape_status status = ttape_cursor_get_edge(cursor, &edge, NULL);
    FUZZ_REQUIRE(status != TTAPE_OK || edge.frame_count == 0 || edge.frames != NULL);
    (void)ttape_cursor_get_open_frames(cursor, &edge, NULL);
}

/* Forward, back, and forward again are the same event. */
static void jump(ttape_reader *reader, uint32_t stream, struct fuzz_input *parameters)
{
    ttape_cursor *cursor;
    ttape_event_item item, back, again;
    ttape_stream_info info;
    uint32_t number = fuzz_number(parameters, 2), time = fuzz_number(parameters, 2);
    FUZZ_REQUIRE(ttape_reader_get_stream(reader, stream, &info) == TTAPE_OK);
    if (ttape_cursor_open(&cursor, reader, stream, NULL) != TTAPE_OK)
        return;
    require_edge(cursor);
    ttape_status status = ttape_cursor_seek_event(cursor, info.first_event + number, NULL);
    if (status == TTAPE_OK && ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK) {
        struct fuzz_sum one = {0}, two = {0};
        fuzz_hash_item(&one, &item);
        FUZZ_REQUIRE(item.number >= info.first_event + number);
        if (ttape_cursor_previous(cursor, &back, NULL) == TTAPE_OK &&
            ttape_cursor_next(cursor, &again, NULL) == TTAPE_OK) {
            fuzz_hash_item(&two, &again);
            FUZZ_REQUIRE(one.hash == two.hash);
        }
        require_edge(cursor);
    }
    if (ttape_cursor_seek_time(cursor, time, NULL) == TTAPE_OK)
        while (ttape_cursor_previous(cursor, &back, NULL) == TTAPE_OK && number-- > 0)
            require_edge(cursor);
    ttape_cursor_close(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL) {
        ttape_info info;
        ttape_reader_get_info(reader, &info);
        struct fuzz_sum one = fuzz_read_all(reader);
        for (uint32_t s = 0; s < info.stream_count && s < 8; s++)
            jump(reader, s, &trace.parameters);
        FUZZ_REQUIRE(fuzz_read_all(reader).hash == one.hash);
    }
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
    return 0;
}
