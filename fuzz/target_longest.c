/* The longest calls: bounded in memory, in order, no more of them and no more decoded than asked
 * for, the same for any number of threads, whatever the trace says. */
#include <tracetape/longest.h>

#include "fuzz_trace.h"

#define MEMORY_BYTES (24u << 20) /* of an answer besides its reader's */

static bool selects(void *context, uint32_t site) { return context == NULL || site % 2 == 0; }

static int64_t rank_of(ttape_longest_by by, const ttape_longest_call *call)
{
    switch (by) {
    case TTAPE_LONGEST_BY_SELF: return call->self_ns;
    case TTAPE_LONGEST_BY_START: return 0; /* times wrap */
    default: return call->duration_ns;
    }
}

/* The answer as a hash; 0: it cannot be made, or something is damaged. */
static uint64_t hash_of(ttape_reader *reader, ttape_longest_options how, uint32_t jobs)
{
    ttape_longest *longest;
    ttape_longest_info info;
    uint32_t count;
    uint64_t hash = 1;
    how.size = sizeof how;
    how.jobs = jobs;
    how.memory_bytes = MEMORY_BYTES;
    if (ttape_longest_find(&longest, reader, &how, NULL) != TTAPE_OK)
        return 0;
    ttape_longest_get_info(longest, &info);
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    FUZZ_REQUIRE(count == info.call_count && count <= how.count);
    FUZZ_REQUIRE(info.decoded_count <= info.partition_count);
    for (uint32_t i = 0; i < count; i++) {
        const ttape_longest_call *c = &calls[i];
        FUZZ_REQUIRE(i == 0 || rank_of(how.by, &calls[i - 1]) >= rank_of(how.by, c));
        FUZZ_REQUIRE(c->is_found == (c->enter_number == TTAPE_CALL_NO_NUMBER));
        FUZZ_REQUIRE(how.streams == NULL || c->stream == how.streams[0]);
        FUZZ_REQUIRE(!how.has_durations || ((uint64_t)c->duration_ns >= how.least_ns &&
                                            (uint64_t)c->duration_ns <= how.most_ns));
        FUZZ_REQUIRE(!how.has_range || (c->end_ns >= how.from_ns && c->end_ns < how.to_ns));
        const uint64_t fields[] = {c->stream,    c->site,       c->stack,
                                   c->depth,     c->end,        c->enter_number,
                                   c->enter_ns,  c->end_number, (uint64_t)c->self_ns,
                                   c->path_count};
        hash = fuzz_hash(hash, fields, sizeof fields);
    }
    ttape_longest_close(longest);
    return hash != 0 ? hash : 1;
}

static void ask(ttape_reader *reader, struct fuzz_input *in)
{
    uint32_t stream = fuzz_number(in, 1), from = fuzz_number(in, 2), length = fuzz_number(in, 2);
    uint32_t kind = fuzz_number(in, 1);
    const ttape_longest_options how = {.by = (ttape_longest_by)(kind % 3),
                                       .count = 1 + fuzz_number(in, 1),
                                       .has_range = kind / 3 % 4 == 1,
                                       .from_ns = from,
                                       .to_ns = from + length,
                                       .has_durations = kind / 24 % 2 != 0,
                                       .least_ns = from,
                                       .most_ns = (uint64_t)from + length,
                                       .streams = stream < 4 ? &stream : NULL,
                                       .stream_count = stream < 4,
                                       .selects = selects,
                                       .context = kind / 12 % 2 != 0 ? reader : NULL};
    uint64_t one = hash_of(reader, how, 1), three = hash_of(reader, how, 3);
    FUZZ_REQUIRE(one == three || one == 0 || three == 0); /* threads share the memory */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace_ask(data, size, MEMORY_BYTES, ask);
    return 0;
}
