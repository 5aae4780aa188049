/* Calls: bounded in memory, the same one by one as by steps, and each begins and ends once,
 * whatever the trace says and is missing; counted at once, as many as among events; and chains, in
 * which each event is counted once. */
#include <tracetape/calls.h>
#include <tracetape/chains.h>

#include "fuzz_trace.h"

#define MEMORY_BYTES (16u << 20) /* of open calls */
#define STEPS_MOST   20000u
#define ERRORS_MOST  200u

static void add_call(struct fuzz_sum *sum, const ttape_call *call)
{
    const uint64_t fields[] = {call->stream,
                               call->site,
                               call->kind,
                               call->stack,
                               call->height,
                               call->end,
                               call->enter_number,
                               call->end_number,
                               call->enter_ns,
                               call->end_ns,
                               (uint64_t)call->total_ns,
                               (uint64_t)call->self_ns};
    sum->hash = fuzz_hash(sum->hash, fields, sizeof fields);
    sum->events++;
}

/* How many of a step's calls the sum takes, so that both ways stop at the same one. */
static bool take_step(struct fuzz_sum *sum, const ttape_call_step *step, int64_t *open)
{
    FUZZ_REQUIRE(step->kind <= TTAPE_STEP_LEFT);
    FUZZ_REQUIRE(step->kind != TTAPE_STEP_EVENT || step->event != NULL);
    FUZZ_REQUIRE(step->began_count == 0 || step->ended_count == 0);
    *open += (int64_t)step->began_count - step->ended_count;
    FUZZ_REQUIRE(*open >= 0);
    for (uint32_t i = step->ended_count; i-- > 0;) {
        FUZZ_REQUIRE(step->ended[i].end != TTAPE_CALL_RUNNING);
        FUZZ_REQUIRE(i == 0 || step->ended[i].height == step->ended[i - 1].height + 1);
        add_call(sum, &step->ended[i]);
    }
    return sum->events < STEPS_MOST;
}

static struct fuzz_sum by_steps(ttape_reader *reader, const ttape_call_options *options)
{
    struct fuzz_sum sum = {0};
    ttape_call_cursor *cursor;
    const ttape_call_step *step;
    int64_t open = 0;
    ttape_status status = ttape_call_cursor_open(&cursor, reader, options, NULL);
    if (status != TTAPE_OK)
        return sum;
    for (uint32_t steps = 0; steps < STEPS_MOST && sum.errors < ERRORS_MOST; steps++) {
        status = ttape_call_cursor_step(cursor, &step, NULL);
        if (status == TTAPE_END)
            break;
        sum.errors += status != TTAPE_OK;
        if (status == TTAPE_OK && !take_step(&sum, step, &open))
            break;
    }
    /* everything has ended, but where a limit of memory or of ours ended the reading */
    FUZZ_REQUIRE(status != TTAPE_END || open == 0 || sum.errors > 0);
    ttape_call_cursor_close(cursor);
    return sum;
}

static struct fuzz_sum one_by_one(ttape_reader *reader, const ttape_call_options *options,
                                  uint64_t count)
{
    struct fuzz_sum sum = {0};
    ttape_call_cursor *cursor;
    ttape_call call;
    if (ttape_call_cursor_open(&cursor, reader, options, NULL) != TTAPE_OK)
        return sum;
    while (sum.events < count && sum.errors < ERRORS_MOST) {
        ttape_status status = ttape_call_cursor_next(cursor, &call, NULL);
        if (status == TTAPE_END)
            break;
        sum.errors += status != TTAPE_OK;
        if (status == TTAPE_OK && call.kind != TTAPE_EVENT_EXIT_UNSEEN)
            add_call(&sum, &call);
    }
    ttape_call_cursor_close(cursor);
    return sum;
}

static void compare(ttape_reader *reader, struct fuzz_input *in)
{
    uint32_t how = fuzz_number(in, 1), stream = fuzz_number(in, 1) % 4;
    ttape_call_options options = {.size = sizeof options,
                                  .has_range = how & 1,
                                  .values = how & 2,
                                  .memory_bytes = MEMORY_BYTES};
    options.from_ns = fuzz_number(in, 2);
    options.to_ns = how & 4 ? UINT64_MAX : options.from_ns + fuzz_number(in, 2);
    if (how & 8) {
        options.streams = &stream;
        options.stream_count = 1;
    }
    struct fuzz_sum steps = by_steps(reader, &options);
    struct fuzz_sum calls = one_by_one(reader, &options, steps.events);
    FUZZ_REQUIRE(steps.errors > 0 || calls.errors > 0 ||
                 (steps.hash == calls.hash && steps.events == calls.events));
}

/* Enters among the events of all streams, one by one; false where some cannot be read. */
static bool count_enters(ttape_reader *reader, uint64_t *enters)
{
    ttape_info info;
    ttape_status status = TTAPE_END;
    *enters = 0;
    ttape_reader_get_info(reader, &info);
    for (uint32_t stream = 0; stream < info.stream_count && status == TTAPE_END; stream++) {
        static ttape_event events[256];
        ttape_cursor *cursor;
        size_t count;
        if (ttape_cursor_open(&cursor, reader, stream, NULL) != TTAPE_OK)
            return false;
        while ((status = ttape_cursor_next_events(cursor, events, 256, &count, NULL)) == TTAPE_OK)
            for (size_t i = 0; i < count; i++)
                *enters += events[i].kind == TTAPE_EVENT_ENTER;
        ttape_cursor_close(cursor);
    }
    return status == TTAPE_END;
}

static void compare_counts(ttape_reader *reader)
{
    ttape_call_counts *counts;
    uint64_t enters, counted = 0;
    size_t rows;
    if (ttape_call_counts_make(&counts, reader, NULL) != TTAPE_OK)
        return;
    const ttape_call_count *row = ttape_call_counts_get(counts, &rows);
    for (size_t i = 0; i < rows; i++)
        counted += row[i].count;
    FUZZ_REQUIRE(!count_enters(reader, &enters) || enters == counted);
    ttape_call_counts_close(counts);
}

/* Chains of the first partitions: as long as their events, and all events in them are counted. */
static void take_chains(ttape_reader *reader)
{
    static ttape_chain_item events[512];
    for (uint32_t p = 0; p < 4; p++) {
        ttape_chains *chains;
        ttape_chains_info info;
        uint64_t chained = 0;
        if (ttape_chains_make(&chains, reader, p, NULL) != TTAPE_OK)
            continue;
        ttape_chains_get_info(chains, &info);
        for (uint32_t i = 0; i < info.chain_count; i++) {
            ttape_chain chain;
            uint32_t count, own = 0;
            FUZZ_REQUIRE(ttape_chains_get_chain(chains, i, &chain) == TTAPE_OK);
            const ttape_chain_item *items = ttape_chains_get_items(chains, i, &count);
            for (uint32_t k = 0; k < count; k++)
                own += items[k].chain == TTAPE_NONE;
            chained += info.form == TTAPE_ORDER_FULL ? own * chain.use_count : chain.event_count;
            size_t some = ttape_chains_get_events(chains, i, events, 512);
            FUZZ_REQUIRE(some == (chain.length < 512 ? chain.length : 512));
        }
        FUZZ_REQUIRE(chained == info.chained_count && chained <= info.event_count);
        ttape_chains_close(chains);
    }
}

/* There are as many as a segment's start edge has frames, whatever the partitions before say. */
static void find_origins(ttape_reader *reader)
{
    ttape_call_origins *origins;
    ttape_call_origin found[64];
    ttape_partition_info partition;
    ttape_segment_info segment;
    if (ttape_call_origins_make(&origins, reader, NULL) != TTAPE_OK)
        return;
    for (uint32_t p = 0; ttape_reader_get_partition(reader, p, &partition) == TTAPE_OK; p++)
        for (uint32_t s = 0; s < partition.segment_count; s++) {
            uint32_t count = ttape_call_origins_get(origins, p, s, found, 64);
            if (ttape_reader_get_segment(reader, p, s, &segment, NULL) == TTAPE_OK && count != 0)
                FUZZ_REQUIRE(count == segment.start.frame_count);
        }
    ttape_call_origins_close(origins);
}

static void ask(ttape_reader *reader, struct fuzz_input *parameters)
{
    compare_counts(reader);
    take_chains(reader);
    find_origins(reader);
    compare(reader, parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_trace_ask(data, size, MEMORY_BYTES, ask);
    return 0;
}
