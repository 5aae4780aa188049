/* The hook of an enter reads the clock and goes on for a while, that of an exit begins and reads
 * the clock: between the two readings lies one hook's time, and what the function did itself. So
 * no hook takes longer than the shortest call. On a busy machine most take longer than the fastest:
 * the cost is told as the least that it was. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/calls/hook_cost.h"
#include "tools/io/input.h"
#include "tools/io/table.h"

#define PARTITIONS_MOST 16u  /* that are looked at */
#define HOOK_NS_MOST    200u /* a call that is longer is no hook */

static bool is_ours(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (entry.type == TTAPE_METADATA_TEXT && tool_text_is(entry.key, "recorder"))
            return tool_text_begins(entry.text, "tracetape ");
    return false;
}

struct sums {
    double events, self_ns;
    int64_t shortest_ns;
};

static void add_partition(struct sums *sums, ttape_reader *reader, uint32_t partition)
{
    ttape_error err = {0};
    const ttape_summary_row *rows;
    uint32_t count;
    if (ttape_reader_get_summary(reader, partition, &rows, &count, &err) != TTAPE_OK)
        return; /* who needs it says so */
    for (uint32_t i = 0; i < count; i++) {
        sums->events += (double)rows[i].call_count + (double)rows[i].exit_count;
        sums->self_ns += (double)rows[i].self_ns;
        if (rows[i].exit_count > 0 && rows[i].min_ns < sums->shortest_ns)
            sums->shortest_ns = rows[i].min_ns;
    }
}

void tool_hook_cost_find(struct tool_hook_cost *cost, ttape_reader *reader)
{
    ttape_info info;
    struct sums sums = {.shortest_ns = INT64_MAX};
    *cost = (struct tool_hook_cost){0};
    ttape_reader_get_info(reader, &info);
    if (info.resolution_ns > 1 || info.partition_count == 0 || !is_ours(reader))
        return;
    uint64_t count =
        info.partition_count < PARTITIONS_MOST ? info.partition_count : PARTITIONS_MOST;
    for (uint64_t i = 0; i < count; i++)
        add_partition(&sums, reader, (uint32_t)(info.partition_count * i / count));
    if (sums.shortest_ns <= 0 || sums.shortest_ns > (int64_t)HOOK_NS_MOST || sums.self_ns <= 0 ||
        info.event_count > UINT64_MAX / HOOK_NS_MOST)
        return;
    cost->is_known = true;
    cost->hook_ns = (uint64_t)sums.shortest_ns;
    cost->cost_ns = info.event_count * cost->hook_ns;
    cost->share = sums.events * (double)cost->hook_ns / sums.self_ns;
    cost->share = cost->share > 1 ? 1 : cost->share;
}

const char *tool_hook_cost_words(const struct tool_hook_cost *cost,
                                 char text[TOOL_HOOK_WORDS_BYTES])
{
    char time[40];
    time[tool_put_time(time, (int64_t)cost->cost_ns)] = '\0';
    (void)snprintf(text, TOOL_HOOK_WORDS_BYTES,
                   "at least %" PRIu64 " ns an event: %s, %.*f %% of the time in functions",
                   cost->hook_ns, time, cost->share < 0.1 ? 1 : 0, 100 * cost->share);
    return text;
}

bool tool_is_mostly_hook(const struct tool_hook_cost *cost, uint64_t call_count, int64_t self_ns)
{
    /* The least that a hook took, and a quarter: what it takes on the whole. */
    return cost->is_known && call_count > 0 && self_ns > 0 &&
           (double)self_ns <= 2.5 * (double)cost->hook_ns * (double)call_count;
}
