/* Records of blocks as recorder and recovery decode them, filtered or not: a sound trace. */
#include "format/base/checksum.h"
#include "fuzz_recording.h"
#include "fuzz_trace.h"
#include "recorder/recover/recover_state.h"

static uint32_t choose(void *context, const ttape_site *site, const ttape_module *module)
{
    (void)context, (void)module;
    return (uint32_t)(site->address >> 4) % 16; /* bits TTAPE_SELECT_* */
}

/* Whatever is told to those who choose can be read. */
static uint64_t read_all(const void *bytes, size_t size_bytes)
{
    return size_bytes > 0 ? ttp_checksum(bytes, size_bytes) : 0;
}

static bool keep(void *context, uint32_t number, const ttape_value *arguments, uint32_t count,
                 const int64_t *result)
{
    uint64_t sum = number + count + (result != NULL ? (uint64_t)*result : 1);
    (void)context;
    for (uint32_t i = 0; i < count; i++)
        sum += read_all(arguments[i].bytes.data, arguments[i].bytes.size_bytes);
    return sum % 3 != 0;
}

/* Conditions of all kinds, on sites by their addresses. */
static const char CONDITIONS[] =
    "a(arg1>3), b = 0; !c(arg2=\"x\"), d > 50ns; below e(arg1&1), f < 9ns; "
    "!below g = -1, h(arg1=NO); to i != 2, j(n=1)";

static const char TRIGGERS[] = "a(arg1>3) do off; b = 0 do on; c > 50ns do off; end d do on; "
                               "e times 3 do off, checkpoint; signal 10 do on; after 9ns do off";
static const char LIMITS[] = "a(arg1>3) do depth 1; b = 0 do depth 9, time 5ns; end d do time 0ns; "
                             "c > 50ns do off, keep; after 9ns do depth 2, time 90ns";

static uint64_t match(void *context, const ttape_site *site, const ttape_module *module)
{
    (void)context, (void)module;
    return site->address >> 4;
}

static uint32_t find_argument(void *context, const ttape_site *site, ttape_string argument)
{
    (void)context, (void)argument;
    return (uint32_t)(site->address >> 6) % 4;
}

static bool find_constant(void *context, const ttape_site *site, ttape_string constant,
                          int64_t *value)
{
    (void)context, (void)constant;
    *value = 1;
    return site->address % 2 != 0;
}

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    (void)context;
    return (read_all(text.data, text.size_bytes) + rule + condition) % 2 != 0;
}

static bool is_application(void *context, const ttape_module *module, ttape_string executable)
{
    uint64_t sum = read_all(executable.data, executable.size_bytes);
    (void)context;
    return module == NULL || (sum ^ read_all(module->path.data, module->path.size_bytes)) % 2 == 0;
}

static void expect(void *context, const ttape_module *module, const uint64_t *addresses,
                   size_t count)
{
    (void)context;
    FUZZ_REQUIRE(count > 1);
    for (size_t i = 0; i < count; i++)
        FUZZ_REQUIRE(addresses[i] >= module->start && addresses[i] < module->end);
}

static void name(void *context, ttape_site *site, const ttape_module *module)
{
    (void)context, (void)site, (void)module;
}

static void set_options(struct ttp_encode *e, struct fuzz_input *p)
{
    uint32_t flags = fuzz_number(p, 1), rules = fuzz_number(p, 1);
    e->options.clock = flags % 4 + 1; /* 4: none */
    e->is_replaying = (flags & 4) != 0;
    e->options.writer =
        (ttape_writer_options){sizeof e->options.writer, .allocator = &e->allocator};
    e->options.writer.resolution_ns = flags % 4 == 3 ? TTAPE_TIME_NONE : 0;
    e->options.writer.partition_events = (flags & 56) == 56 ? 16 : 0;
    e->options.rules = (ttape_site_rules){.select = rules & 1 ? choose : NULL,
                                          .has_below = (rules & 2) != 0,
                                          .has_to = (flags & 64) != 0,
                                          .of_calls = (flags & 128) != 0,
                                          .cull_hot = (rules & 4) != 0,
                                          .max_depth = (rules >> 3) % 4,
                                          .min_ns = fuzz_number(p, 2) % 512};
    e->options.keep_call = rules & 64 ? keep : NULL;
    if (rules & 32) {
        ttape_filter *filter, *triggers;
        const ttape_string text = {CONDITIONS, sizeof CONDITIONS - 1};
        const ttape_string on = flags & 32 ? (ttape_string){LIMITS, sizeof LIMITS - 1}
                                           : (ttape_string){TRIGGERS, sizeof TRIGGERS - 1};
        FUZZ_REQUIRE(ttape_filter_parse(&filter, text, &e->allocator, NULL) == TTAPE_OK);
        FUZZ_REQUIRE(ttape_filter_parse_triggers(&triggers, on, &e->allocator, NULL) == TTAPE_OK);
        e->options.conditions = (ttape_call_conditions){.filter = filter,
                                                        .triggers = triggers,
                                                        .match = match,
                                                        .argument = find_argument,
                                                        .constant = find_constant,
                                                        .text = compare_text,
                                                        .starts_off = (rules & 64) != 0};
    }
    if (rules & 128) {
        e->options.rules.is_application = is_application;
        e->options.rules.expect = expect;
        e->options.rules.name = name;
    }
    ttp_clock_begin(&e->clock, &(struct ttp_tick_rate){0, 0, UINT64_C(1) << TTP_CLOCK_SCALE_BITS});
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
    struct ttp_encode *e;
    ttape_writer *writer;
    fuzz_memory_open(&memory, 64u << 20);
    FUZZ_REQUIRE(ttp_state_open(&e, &how, &(struct ttp_recovered_files){0}, NULL) == TTAPE_OK);
    set_options(e, &in);
    FUZZ_REQUIRE(ttape_writer_open(&writer, &sink, &e->options.writer, NULL) == TTAPE_OK &&
                 ttp_state_set_writer(e, writer, NULL) == TTAPE_OK);
    while (fuzz_marked(&in, FUZZ_PIECE_MARK, &piece)) {
        fuzz_recording_slot(piece, &slot);
        FUZZ_REQUIRE(ttp_decode_slot(e, &slot, NULL) == TTAPE_OK);
    }
    for (size_t i = 0; i < e->threads.count; i++)
        FUZZ_REQUIRE(ttp_filter_settle(e, ((struct ttp_thread **)e->threads.data)[i], NULL) == 0);
    FUZZ_REQUIRE(ttape_writer_finish(writer, NULL) == TTAPE_OK);
    ttape_writer_close(writer);
    ttape_source trace = ttape_source_memory(out.data, out.size_bytes);
    FUZZ_REQUIRE(fuzz_trace_verify(&trace, &with) == 0);
    ttape_memory_sink_close(&out);
    ttape_filter_close((ttape_filter *)(uintptr_t)e->options.conditions.filter);
    ttape_filter_close((ttape_filter *)(uintptr_t)e->options.conditions.triggers);
    ttp_state_close(e);
    fuzz_memory_close(&memory);
    return 0;
}
