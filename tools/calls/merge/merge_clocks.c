/* Clocks of several machines: what is added to the times of each file, and what is said of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/merge/merge_files.h"
#include "tools/command/tool.h"

#define NAMED_MOST 8u /* contradictory pairs */
#define SECOND_NS  1000000000u

static void say_pair(const struct tool_merge *merge, const ttape_clock_pair *pair)
{
    const ttape_clock_event *one = &pair->sent, *two = &pair->received;
    tool_message("'%s', event %" PRIu64 " of stream %" PRIu32 ", was received by '%s', event "
                 "%" PRIu64 " of stream %" PRIu32 ", and other pairs say that this cannot be: it "
                 "is left out",
                 merge->pieces[one->reader].input.name, one->number, one->stream,
                 merge->pieces[two->reader].input.name, two->number, two->stream);
}

static void say_contradictions(const struct tool_merge *merge)
{
    uint32_t count;
    const ttape_clock_pair *pairs = ttape_clocks_get_contradictions(merge->clocks, &count);
    for (uint32_t i = 0; i < count && i < NAMED_MOST; i++)
        say_pair(merge, &pairs[i]);
    if (count > NAMED_MOST)
        tool_message("%" PRIu32 " more such pairs are left out", count - NAMED_MOST);
}

/* The text of an error is rounded up: it holds still. */
static const char *error_text(uint64_t ns, char *text, size_t size)
{
    if (ns < 10000)
        (void)snprintf(text, size, "%" PRIu64 " ns", ns);
    else if (ns < 10000000)
        (void)snprintf(text, size, "%" PRIu64 " us", ns / 1000 + (ns % 1000 != 0));
    else
        (void)snprintf(text, size, "%" PRIu64 " ms", ns / 1000000 + (ns % 1000000 != 0));
    return text;
}

/* One line for each clock but that of the first file. */
static void say_clock(const struct tool_merge *merge, const char *name,
                      const ttape_clock_shift *place, const ttape_clock_shift *first)
{
    int64_t moved = (int64_t)(place->shift_ns - first->shift_ns);
    uint64_t by = moved < 0 ? -(uint64_t)moved : (uint64_t)moved;
    const char *first_name = merge->pieces[0].input.name;
    char error[32], drift[64] = "";
    if (place->drift_ppb != 0)
        (void)snprintf(drift, sizeof drift, ", and goes %s by %.3f ppm",
                       place->drift_ppb > 0 ? "fast" : "slow",
                       (double)(place->drift_ppb > 0 ? place->drift_ppb : -place->drift_ppb) / 1e3);
    if (!place->is_placed) {
        tool_message("'%s' says nothing of its clock: its times stay as they are", name);
        return;
    }
    tool_message("the clock of '%s' is %" PRIu64 ".%09" PRIu64 " s %s that of '%s', within %s%s",
                 name, by / SECOND_NS, by % SECOND_NS, moved < 0 ? "ahead of" : "behind",
                 first_name,
                 place->has_error ? error_text(place->error_ns, error, sizeof error)
                                  : "an error that nobody knows",
                 drift);
}

static void say_clocks(const struct tool_merge *merge)
{
    ttape_clocks_info info;
    ttape_clocks_get_info(merge->clocks, &info);
    uint32_t said = 0;
    for (size_t i = 0; i < merge->piece_count; i++)
        for (uint32_t k = 0; k < merge->pieces[i].info.scope_count; k++) {
            const ttape_clock_shift *place = &merge->pieces[i].shifts[k];
            if (place->clock == said && said != 0)
                say_clock(merge, merge->pieces[i].input.name, place, merge->pieces[0].shifts);
            said += place->clock == said;
        }
    if (info.repeated_count != 0)
        tool_message("%" PRIu64 " ids were sent, or received, more than once: they say nothing of "
                     "the clocks",
                     info.repeated_count);
}

/* Where no clock is placed against the first, all is as if there were one. */
static bool has_placed(const struct tool_merge *merge)
{
    for (size_t i = 0; i < merge->piece_count; i++)
        for (uint32_t k = 0; k < merge->pieces[i].info.scope_count; k++)
            if (merge->pieces[i].shifts[k].clock != 0 && merge->pieces[i].shifts[k].is_placed)
                return true;
    return false;
}

static void drop_places(struct tool_merge *merge)
{
    for (size_t i = 0; i < merge->piece_count; i++) {
        free(merge->pieces[i].shifts);
        merge->pieces[i].shifts = NULL;
    }
}

static void take_places(struct tool_merge *merge)
{
    for (size_t i = 0; i < merge->piece_count; i++) {
        struct tool_merge_piece *piece = &merge->pieces[i];
        piece->shifts = tool_allocate(piece->info.scope_count, sizeof(ttape_clock_shift));
        for (uint32_t k = 0; k < piece->info.scope_count; k++)
            (void)ttape_clocks_get_shift(merge->clocks, (uint32_t)i, k, &piece->shifts[k]);
    }
}

int tool_merge_place(struct tool_merge *merge)
{
    ttape_reader **readers = tool_allocate(merge->piece_count, sizeof(ttape_reader *));
    const ttape_clocks_options options = {.size = sizeof(options),
                                          .memory_bytes = merge->memory_bytes};
    ttape_clocks_info info;
    for (size_t i = 0; i < merge->piece_count; i++)
        readers[i] = merge->pieces[i].input.reader;
    ttape_status status = ttape_clocks_find(&merge->clocks, readers, (uint32_t)merge->piece_count,
                                            &options, &merge->err);
    free(readers);
    if (status != TTAPE_OK)
        return tool_fail_error("the clocks of the files", &merge->err);
    ttape_clocks_get_info(merge->clocks, &info);
    if (info.clock_count < 2)
        return TOOL_OK;
    take_places(merge);
    say_clocks(merge);
    say_contradictions(merge);
    if (!has_placed(merge))
        drop_places(merge);
    return TOOL_OK;
}
