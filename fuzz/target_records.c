/* Records of blocks as recorder and recovery decode them, filtered or not: a sound trace. */
#include "fuzz_recording.h"
#include "fuzz_trace.h"
#include "libtrace/recover/recover_state.h"

static uint32_t choose(void *context, const ttape_site *site, const ttape_module *module)
{
    (void)context, (void)module;
    return (uint32_t)(site->address >> 4) % 5; /* three of them mean something */
}

static void set_options(ttape_recording *r, struct fuzz_input *p)
{
    uint32_t flags = fuzz_number(p, 1), rules = fuzz_number(p, 1);
    r->options.clock = flags % 4 + 1; /* 4: none */
    r->is_replaying = (flags & 4) != 0;
    r->options.writer =
        (ttape_writer_options){sizeof r->options.writer, .allocator = &r->allocator};
    r->options.writer.resolution_ns = flags % 4 == 3 ? TTAPE_TIME_NONE : 0;
    r->options.writer.partition_events = (flags & 56) == 56 ? 16 : 0;
    r->options.rules = (ttape_site_rules){.select = rules & 1 ? choose : NULL,
                                          .has_below = (rules & 2) != 0,
                                          .cull_hot = (rules & 4) != 0,
                                          .max_depth = (rules >> 3) % 4,
                                          .min_ns = fuzz_number(p, 2) % 512};
    r->clock_scale = UINT64_C(1) << TTP_CLOCK_SCALE_BITS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ttp_slot slot;
    struct fuzz_input in = {data, size}, piece;
    struct fuzz_memory memory;
    ttape_recover_options how = {.size = sizeof how, .allocator = &memory.allocator};
    ttape_reader_options with = {.size = sizeof with, .allocator = &memory.allocator};
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_recording *r;
    ttape_writer *writer;
    fuzz_memory_open(&memory, 64u << 20);
    FUZZ_REQUIRE(ttp_state_open(&r, &how, &(struct ttp_recovered_files){0}, NULL) == TTAPE_OK);
    set_options(r, &in);
    FUZZ_REQUIRE(ttape_writer_open(&writer, &sink, &r->options.writer, NULL) == TTAPE_OK &&
                 ttp_state_set_writer(r, writer, NULL) == TTAPE_OK);
    while (fuzz_marked(&in, FUZZ_PIECE_MARK, &piece)) {
        fuzz_recording_slot(piece, &slot);
        FUZZ_REQUIRE(ttp_decode_slot(r, &slot, NULL) == TTAPE_OK);
    }
    for (size_t i = 0; i < r->threads.count; i++)
        FUZZ_REQUIRE(ttp_filter_settle(r, ((struct ttp_thread **)r->threads.data)[i], NULL) == 0);
    FUZZ_REQUIRE(ttape_writer_finish(writer, NULL) == TTAPE_OK);
    ttape_writer_close(writer);
    ttape_source trace = ttape_source_memory(out.data, out.size_bytes);
    FUZZ_REQUIRE(fuzz_trace_verify(&trace, &with) == 0);
    ttape_memory_sink_close(&out);
    ttp_state_close(r);
    fuzz_memory_close(&memory);
    return 0;
}
