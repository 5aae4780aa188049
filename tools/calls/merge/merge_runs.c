/* Which partitions have to stand before which. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/merge/merge_files.h"
#include "tools/command/tool.h"

static int compare_streams(const struct tool_merge_run *one, const struct tool_merge_run *two)
{
    int order = memcmp(one->trace_id, two->trace_id, sizeof(one->trace_id));
    const uint64_t left[] = {one->scope, one->pid, one->tid, one->start_ns};
    const uint64_t right[] = {two->scope, two->pid, two->tid, two->start_ns};
    for (size_t i = 0; i < 4 && order == 0; i++)
        order = left[i] < right[i] ? -1 : left[i] > right[i];
    return order;
}

static int compare_runs(const void *a, const void *b)
{
    const struct tool_merge_run *one = a, *two = b;
    int order = compare_streams(one, two);
    if (order == 0 && one->first != two->first)
        order = one->first < two->first ? -1 : 1;
    if (order == 0 && one->piece != two->piece)
        order = one->piece < two->piece ? -1 : 1;
    return order != 0                        ? order
           : one->partition < two->partition ? -1
                                             : one->partition > two->partition;
}

static ttape_status add_runs(struct tool_merge *merge, uint32_t number, uint32_t partition)
{
    struct tool_merge_piece *piece = &merge->pieces[number];
    ttape_partition_info info;
    ttape_status status = ttape_reader_get_partition(piece->input.reader, partition, &info);
    for (uint32_t i = 0; status == TTAPE_OK && i < info.segment_count; i++) {
        ttape_segment_info segment;
        ttape_stream_info stream = {0};
        status = ttape_reader_get_segment(piece->input.reader, partition, i, &segment, &merge->err);
        if (status == TTAPE_OK)
            status = ttape_reader_get_stream(piece->input.reader, segment.stream, &stream);
        if (status == TTAPE_OK) {
            tool_grow((void **)&merge->runs, &merge->run_capacity, merge->run_count + 1,
                      sizeof(struct tool_merge_run));
            struct tool_merge_run *run = &merge->runs[merge->run_count++];
            *run = (struct tool_merge_run){.scope = stream.scope,
                                           .pid = stream.pid,
                                           .tid = stream.stream.tid,
                                           .start_ns = stream.stream.start_time_ns,
                                           .first = segment.start.event_number,
                                           .end = segment.start.event_number + segment.event_count,
                                           .piece = number,
                                           .partition = partition};
            memcpy(run->trace_id, piece->info.trace_id, sizeof(run->trace_id));
        }
    }
    return status;
}

int tool_merge_list_runs(struct tool_merge *merge)
{
    for (uint32_t i = 0; i < merge->piece_count; i++) {
        for (uint32_t k = 0; k < merge->pieces[i].info.partition_count; k++)
            if (add_runs(merge, i, k) != TTAPE_OK)
                return tool_fail_error(merge->pieces[i].input.name, &merge->err);
    }
    if (merge->run_count > 0)
        qsort(merge->runs, merge->run_count, sizeof(struct tool_merge_run), compare_runs);
    return TOOL_OK;
}

static size_t place_of(const struct tool_merge *merge, const struct tool_merge_run *run)
{
    return merge->pieces[run->piece].first + run->partition;
}

/* Lists the runs of each partition, by counting. */
static void index_runs(struct tool_merge *merge)
{
    for (size_t i = 0; i < merge->piece_count; i++) {
        merge->pieces[i].first = merge->partition_count;
        merge->partition_count += (size_t)merge->pieces[i].info.partition_count;
    }
    merge->waits = tool_allocate(merge->partition_count, sizeof(uint32_t));
    merge->starts = tool_allocate(merge->partition_count + 2, sizeof(size_t));
    merge->own = tool_allocate(merge->run_count, sizeof(size_t));
    for (size_t i = 0; i < merge->run_count; i++)
        merge->starts[place_of(merge, &merge->runs[i]) + 2]++;
    for (size_t i = 2; i < merge->partition_count + 2; i++)
        merge->starts[i] += merge->starts[i - 1];
    for (size_t i = 0; i < merge->run_count; i++)
        merge->own[merge->starts[place_of(merge, &merge->runs[i]) + 1]++] = i;
}

int tool_merge_check_runs(struct tool_merge *merge)
{
    index_runs(merge);
    for (size_t i = 1; i < merge->run_count; i++) {
        const struct tool_merge_run *before = &merge->runs[i - 1], *run = &merge->runs[i];
        if (compare_streams(before, run) != 0)
            continue;
        if (before->end > run->first) {
            return tool_fail("'%s' and '%s' both hold event %" PRIu64 " of thread %" PRIu64,
                             merge->pieces[before->piece].input.name,
                             merge->pieces[run->piece].input.name, run->first, run->tid);
        }
        merge->waits[place_of(merge, run)] += place_of(merge, before) != place_of(merge, run);
    }
    return TOOL_OK;
}

void tool_merge_release(struct tool_merge *merge, size_t place)
{
    for (size_t i = merge->starts[place]; i < merge->starts[place + 1]; i++) {
        const struct tool_merge_run *run = &merge->runs[merge->own[i]];
        bool is_last = merge->own[i] + 1 == merge->run_count;
        if (!is_last && compare_streams(run, run + 1) == 0 && place_of(merge, run + 1) != place)
            merge->waits[place_of(merge, run + 1)]--;
    }
}
