/* Requests to a view: whatever they say, a response is text that begins and ends as one, and the
 * same request is answered the same again. The trace is small, and always the same. */
#include <string.h>

#include <tracetape/view.h>
#include <tracetape/writer.h>

#include "fuzz_common.h"

#define EVENTS 200u

static void write_trace(ttape_memory_sink *memory)
{
    static const char *const names[] = {"main", "work", "\xff<b>\n"};
    const ttape_writer_options how = {.size = sizeof how, .partition_events = 64};
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer *w;
    uint32_t id;
    FUZZ_REQUIRE(ttape_writer_open(&w, &sink, &how, NULL) == TTAPE_OK);
    const ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    const ttape_stream stream = {.tid = 1};
    FUZZ_REQUIRE(ttape_writer_add_process(w, &process, &id, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_writer_add_stream(w, &stream, &id, NULL) == TTAPE_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ttape_site site = {.module = TTAPE_NONE, .symbol = {names[i], strlen(names[i])}};
        FUZZ_REQUIRE(ttape_writer_add_site(w, &site, &id, NULL) == TTAPE_OK);
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        ttape_event e = {.time_ns = 1000 + 7 * i,
                         .kind = i % 4 < 2 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT,
                         .site = i % 4 == 1 || i % 4 == 2 ? 1 + i / 4 % 2 : 0,
                         .depth = TTAPE_DEPTH_AUTO};
        FUZZ_REQUIRE(ttape_writer_append(w, 0, &e, 1, NULL) == TTAPE_OK);
    }
    FUZZ_REQUIRE(ttape_writer_finish(w, NULL) == TTAPE_OK);
    ttape_writer_close(w);
}

static uint64_t answer(ttape_view *view, const uint8_t *data, size_t size)
{
    ttape_string response;
    ttape_error err = {0};
    ttape_status status = ttape_view_answer(view, data, size, &response, &err);
    if (status != TTAPE_OK) {
        FUZZ_REQUIRE(status == TTAPE_E_ARGUMENT || status == TTAPE_E_LIMIT);
        FUZZ_REQUIRE(err.status == status && response.size_bytes == 0);
        return 0;
    }
    FUZZ_REQUIRE(response.size_bytes >= 2 && response.data[0] == '[');
    FUZZ_REQUIRE(response.data[response.size_bytes - 1] == ']');
    for (size_t i = 0; i < response.size_bytes; i++)
        FUZZ_REQUIRE((unsigned char)response.data[i] >= 0x20);
    return fuzz_hash(1, response.data, response.size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ttape_view_options how = {
        .size = sizeof how, .response_bytes = 1u << 20, .memory_bytes = 16u << 20, .jobs = 1};
    ttape_memory_sink memory = {0};
    ttape_reader *reader;
    ttape_view *view;
    write_trace(&memory);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    FUZZ_REQUIRE(ttape_reader_open(&reader, &source, NULL, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(ttape_view_open(&view, reader, &how, NULL) == TTAPE_OK);
    FUZZ_REQUIRE(answer(view, data, size) == answer(view, data, size));
    ttape_view_close(view);
    ttape_reader_close(reader);
    ttape_memory_sink_close(&memory);
    return 0;
}
