/* Opening and verifying what the fuzzer made. */
#include "fuzz_trace.h"

#include <string.h>

bool fuzz_trace_open(struct fuzz_trace *trace, const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    if (size <= FUZZ_PARAMETER_BYTES)
        return false;
    trace->parameters = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    trace->options = fuzz_reader_options(&trace->parameters, &trace->memory);
    trace->source = ttape_source_memory(in.data, in.size);
    return true;
}

void fuzz_trace_close(struct fuzz_trace *trace) { fuzz_memory_close(&trace->memory); }

ttape_reader *fuzz_trace_read(struct fuzz_trace *trace)
{
    ttape_reader *reader = NULL;
    ttape_error err = {0};
    ttape_status status = ttape_reader_open(&reader, &trace->source, &trace->options, &err);
    FUZZ_REQUIRE((status == TTAPE_OK) == (reader != NULL));
    FUZZ_REQUIRE(err.status == status);
    if (status == TTAPE_OK)
        return reader;
    FUZZ_REQUIRE(err.message[0] != '\0');
    FUZZ_REQUIRE(status >= TTAPE_E_TRUNCATED);
    FUZZ_REQUIRE(status == TTAPE_E_LIMIT || err.rule[0] != '\0');
    FUZZ_REQUIRE(err.offset == TTAPE_ERROR_NO_OFFSET || err.offset <= trace->source.size_bytes);
    return NULL;
}

void fuzz_trace_ask(const uint8_t *data, size_t size, uint64_t memory_bytes,
                    void (*ask)(ttape_reader *reader, struct fuzz_input *parameters))
{
    struct fuzz_trace trace;
    if (!fuzz_trace_open(&trace, data, size))
        return;
    trace.memory.limit_bytes += memory_bytes;
    ttape_reader *reader = fuzz_trace_read(&trace);
    if (reader != NULL)
        ask(reader, &trace.parameters);
    ttape_reader_close(reader);
    fuzz_trace_close(&trace);
}

struct fuzz_look fuzz_trace_look(struct fuzz_input trace, uint32_t site)
{
    ttape_source source = ttape_source_memory(trace.data, trace.size);
    ttape_reader *reader;
    ttape_info info = {0};
    ttape_site found = {0};
    struct fuzz_look look = {0, "main"};
    if (ttape_reader_open(&reader, &source, NULL, NULL) != TTAPE_OK)
        return look;
    ttape_reader_get_info(reader, &info);
    look.event_count = info.event_count;
    if (info.site_count > 0 &&
        ttape_reader_get_site(reader, site % info.site_count, &found) == TTAPE_OK &&
        found.symbol.size_bytes > 0) {
        char *text = fuzz_take(found.symbol.size_bytes + 1);
        memcpy(text, found.symbol.data, found.symbol.size_bytes);
        look.symbol = text;
    }
    ttape_reader_close(reader);
    return look;
}

struct counting {
    uint64_t findings, limits, size_bytes;
};

static bool take(void *context, const ttape_finding *finding)
{
    struct counting *c = context;
    const ttape_error *e = &finding->error;
    FUZZ_REQUIRE(e->status >= TTAPE_E_TRUNCATED && e->message[0] != '\0');
    FUZZ_REQUIRE(e->offset == TTAPE_ERROR_NO_OFFSET || e->offset <= c->size_bytes);
    FUZZ_REQUIRE(e->status == TTAPE_E_LIMIT || e->rule[0] != '\0');
    c->findings++;
    return true;
}

uint64_t fuzz_trace_verify(const ttape_source *source, const ttape_reader_options *options)
{
    struct counting c = {.size_bytes = source->size_bytes};
    uint64_t count = 0;
    ttape_error err = {0};
    ttape_status status = ttape_verify(source, options, take, NULL, &c, &count, &err);
    FUZZ_REQUIRE(status == TTAPE_OK || status == TTAPE_E_LIMIT);
    FUZZ_REQUIRE(status != TTAPE_OK || count == c.findings);
    return count + (status != TTAPE_OK);
}

void fuzz_require_piece(const ttape_recover_piece *piece)
{
    FUZZ_REQUIRE(piece->fate < TTAPE_RECOVER_FATES && piece->kind < TTAPE_RECOVER_KINDS);
    FUZZ_REQUIRE(piece->fate != TTAPE_RECOVER_LOST || piece->why.message[0] != '\0');
}
