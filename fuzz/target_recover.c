/* Recovery of traces: pieces cover the input, what comes out verifies and is recovered whole. Few
 * bytes may name a million sites, for seconds: most inputs have less memory than that takes. */
#include "fuzz_trace.h"

struct told {
    uint64_t end, size_bytes, events;
};

static void take_piece(void *context, const ttape_recover_piece *piece)
{
    struct told *told = context;
    fuzz_require_piece(piece);
    FUZZ_REQUIRE(piece->offset == told->end || told->end == 0);
    FUZZ_REQUIRE(piece->size_bytes <= told->size_bytes - piece->offset);
    FUZZ_REQUIRE(piece->fate != TTAPE_RECOVER_KEPT || piece->why.status == TTAPE_OK);
    told->end = piece->offset + piece->size_bytes;
}

static ttape_status recover(const ttape_source *source, struct fuzz_memory *memory,
                            ttape_memory_sink *out, ttape_recover_report *report)
{
    struct told told = {.size_bytes = source->size_bytes};
    ttape_error err = {0};
    ttape_sink sink = ttape_sink_memory(out);
    ttape_recover_options how = {
        .size = sizeof how, .allocator = &memory->allocator, .context = &told, .piece = take_piece};
    ttape_status status = ttape_recover_trace(source, &sink, &how, report, &err);
    FUZZ_REQUIRE(status == TTAPE_OK ? told.end == told.size_bytes : err.message[0] != '\0');
    FUZZ_REQUIRE(status == TTAPE_OK || status >= TTAPE_E_TRUNCATED ||
                 (status == TTAPE_E_MEMORY && memory->there_bytes != 0));
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_trace trace;
    struct fuzz_memory memory;
    ttape_memory_sink first = {0}, second = {0};
    ttape_recover_report lossy, sound;
    if (!fuzz_trace_open(&trace, data, size))
        return 0;
    fuzz_memory_open(&memory, 2 * (256u << 20)); /* a reader's and a writer's */
    memory.there_bytes = trace.options.limits.site_count != 0 ? 8u << 20 : 0;
    if (recover(&trace.source, &memory, &first, &lossy) == TTAPE_OK) {
        ttape_source once = ttape_source_memory(first.data, first.size_bytes);
        FUZZ_REQUIRE(fuzz_trace_verify(&once, NULL) == 0);
        memory.there_bytes = 0;
        FUZZ_REQUIRE(recover(&once, &memory, &second, &sound) == TTAPE_OK);
        FUZZ_REQUIRE(sound.loss_count == 0 && sound.placeholder_count == 0);
        FUZZ_REQUIRE(sound.copied_events >= lossy.copied_events);
    }
    ttape_memory_sink_close(&first);
    ttape_memory_sink_close(&second);
    fuzz_memory_close(&memory);
    fuzz_trace_close(&trace);
    return 0;
}
