/* tracetape merge: pieces of one trace join into its streams, other traces lie side by side.
 *
 * Partitions are copied as they are, in an order that every reader can follow: within a file as
 * they stand; among pieces of one trace so that each stream's event numbers ascend; otherwise by
 * first time.
 *
 *   files --> segments by (trace, process, thread, start) and event number
 *         --> next partition that waits for no other */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/copy.h>

#include "base/hash.h"
#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/io/input.h"
#include "tools/io/target.h"

struct options {
    const char *output;
    bool force;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"output", 'o', "FILE", "write the merged trace to FILE; - is standard output", NULL,
     TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, TOOL_AT(force)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "merge",
    .usage = "[OPTION]... FILE... -o OUT",
    .about =
        "Joins traces into one file. Pieces of one trace (as cut makes them, in any order) become\n"
        "its streams again; other traces keep streams of their own, in the order of their times.",
    .options = table,
    .examples = "  tracetape merge -o whole.ttape part1.ttape part2.ttape\n"
                "  tracetape merge -o both.ttape client.ttape server.ttape\n",
    .operands_min = 1,
    .operands_max = 65535,
};

struct merge_piece {
    struct tool_input input;
    ttape_info info;
    ttape_copier *copier;
    uint32_t next; /* partition */
    size_t first;  /* place of its partition 0 among all pieces' partitions */
};

/* One stream's run in one partition. */
struct run_of {
    uint8_t trace_id[16];
    uint64_t scope, pid, tid, start_ns;
    uint64_t first, end; /* event numbers */
    uint32_t piece, partition;
};

struct merging {
    const struct options *options;
    struct merge_piece *pieces;
    size_t piece_count;
    bool is_kept;        /* what a recording has kept: it says itself what was lost */
    struct run_of *runs; /* by stream, then by event number */
    size_t run_count, run_capacity;
    size_t partition_count; /* of all pieces */
    uint32_t *waits;        /* per partition: runs that must be copied before it */
    size_t *starts, *own;   /* per partition: where its runs' indexes start in own[] */
    struct tool_target target;
    ttape_writer *writer;
    ttape_error err;
};

static int compare_streams(const struct run_of *one, const struct run_of *two)
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
    const struct run_of *one = a, *two = b;
    int order = compare_streams(one, two);
    if (order == 0 && one->first != two->first)
        order = one->first < two->first ? -1 : 1;
    if (order == 0 && one->piece != two->piece)
        order = one->piece < two->piece ? -1 : 1;
    return order != 0                        ? order
           : one->partition < two->partition ? -1
                                             : one->partition > two->partition;
}

static ttape_status add_runs(struct merging *merge, uint32_t number, uint32_t partition)
{
    struct merge_piece *piece = &merge->pieces[number];
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
                      sizeof(struct run_of));
            struct run_of *run = &merge->runs[merge->run_count++];
            *run = (struct run_of){.scope = stream.scope,
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

static int list_runs(struct merging *merge)
{
    for (uint32_t i = 0; i < merge->piece_count; i++) {
        for (uint32_t k = 0; k < merge->pieces[i].info.partition_count; k++)
            if (add_runs(merge, i, k) != TTAPE_OK)
                return tool_fail_error(merge->pieces[i].input.name, &merge->err);
    }
    if (merge->run_count > 0)
        qsort(merge->runs, merge->run_count, sizeof(struct run_of), compare_runs);
    return TOOL_OK;
}

static size_t place_of(const struct merging *merge, const struct run_of *run)
{
    return merge->pieces[run->piece].first + run->partition;
}

/* Lists the runs of each partition, by counting. */
static void index_runs(struct merging *merge)
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

/* Refuses pieces that hold the same events, and counts what each partition waits for. */
static int check_runs(struct merging *merge)
{
    index_runs(merge);
    for (size_t i = 1; i < merge->run_count; i++) {
        const struct run_of *before = &merge->runs[i - 1], *run = &merge->runs[i];
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

/* The partition is out: the runs that follow its own wait for one less. */
static void release(struct merging *merge, size_t place)
{
    for (size_t i = merge->starts[place]; i < merge->starts[place + 1]; i++) {
        const struct run_of *run = &merge->runs[merge->own[i]];
        bool is_last = merge->own[i] + 1 == merge->run_count;
        if (!is_last && compare_streams(run, run + 1) == 0 && place_of(merge, run + 1) != place)
            merge->waits[place_of(merge, run + 1)]--;
    }
}

/* Of the pieces' next partitions that wait for nothing the one with the least first time;
 * piece_count: none. */
static size_t choose(const struct merging *merge)
{
    size_t best = merge->piece_count;
    uint64_t best_ns = 0;
    for (size_t i = 0; i < merge->piece_count; i++) {
        const struct merge_piece *piece = &merge->pieces[i];
        ttape_partition_info info;
        if (piece->next >= piece->info.partition_count ||
            merge->waits[piece->first + piece->next] > 0 ||
            ttape_reader_get_partition(piece->input.reader, piece->next, &info) != TTAPE_OK)
            continue;
        if (best == merge->piece_count || info.time_first_ns < best_ns) {
            best = i;
            best_ns = info.time_first_ns;
        }
    }
    return best;
}

/* Of a thread that waits since before that, what it did then is not weighed against a window that
 * it is not in. */
static uint64_t find_begin(const struct merging *merge)
{
    uint64_t begin_ns = 0;
    for (size_t i = 0; i < merge->piece_count; i++) {
        const ttape_info *info = &merge->pieces[i].info;
        if (info->event_count != 0 && (begin_ns == 0 || info->time_first_ns < begin_ns))
            begin_ns = info->time_first_ns;
    }
    return begin_ns;
}

static int copy_all(struct merging *merge)
{
    uint64_t total = merge->partition_count;
    uint64_t begin_ns = merge->is_kept ? find_begin(merge) : 0;
    for (size_t i = 0; i < merge->piece_count; i++)
        ttape_copier_begin_at(merge->pieces[i].copier, begin_ns);
    for (uint64_t done = 0; done < total; done++) {
        size_t best = choose(merge);
        if (best == merge->piece_count)
            return tool_fail("the pieces cannot be ordered: their partitions cross");
        struct merge_piece *piece = &merge->pieces[best];
        if (ttape_copier_partition(piece->copier, piece->next, &merge->err) != TTAPE_OK)
            return tool_fail_error(piece->input.name, &merge->err);
        release(merge, piece->first + piece->next);
        piece->next++;
        tool_progress_update(done + 1, total, 0);
    }
    return TOOL_OK;
}

/* The id of the whole: the pieces' own where they agree. */
static void choose_id(const struct merging *merge, uint8_t id[16])
{
    struct ttp_hash hash = {0};
    bool same = true;
    for (size_t i = 0; i < merge->piece_count; i++) {
        const uint8_t *own = merge->pieces[i].info.trace_id;
        same = same && memcmp(own, merge->pieces[0].info.trace_id, 16) == 0;
        ttp_hash_bytes(&hash, own, 16);
    }
    if (same)
        memcpy(id, merge->pieces[0].info.trace_id, 16);
    else
        ttp_hash_id(&hash, id);
}

static int open_output(struct merging *merge)
{
    int status = tool_target_open(&merge->target, merge->options->output, merge->options->force);
    if (status != TOOL_OK)
        return status;
    uint8_t trace_id[16];
    choose_id(merge, trace_id);
    status = tool_target_write(&merge->target, &merge->writer, merge->pieces[0].info.resolution_ns,
                               trace_id);
    if (status != TOOL_OK)
        return status;
    for (size_t i = 0; i < merge->piece_count; i++) {
        struct merge_piece *piece = &merge->pieces[i];
        if (ttape_copier_open(&piece->copier, merge->writer, piece->input.reader, &merge->err) !=
            TTAPE_OK)
            return tool_fail_error(piece->input.name, &merge->err);
    }
    return TOOL_OK;
}

static int write_all(struct merging *merge)
{
    int status = open_output(merge);
    if (status == TOOL_OK) {
        tool_progress_start("merge");
        status = copy_all(merge);
        tool_progress_stop();
    }
    if (status == TOOL_OK && ttape_writer_finish(merge->writer, &merge->err) != TTAPE_OK)
        status = tool_fail_error(merge->options->output, &merge->err);
    if (status == TOOL_OK)
        status = tool_target_commit(&merge->target);
    for (size_t i = 0; i < merge->piece_count; i++)
        ttape_copier_close(merge->pieces[i].copier);
    ttape_writer_close(merge->writer);
    tool_target_close(&merge->target);
    return status;
}

static int open_pieces(struct merging *merge, char **paths)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < merge->piece_count && status == TOOL_OK; i++) {
        status =
            tool_input_read(&merge->pieces[i].input, paths[i], 1, merge->options->memory_bytes);
        if (status != TOOL_OK)
            break;
        ttape_reader_get_info(merge->pieces[i].input.reader, &merge->pieces[i].info);
        if (!merge->is_kept)
            tool_losses_warn(&merge->pieces[i].input);
    }
    return status;
}

static int run(const struct options *options, size_t count, char **paths, bool is_kept)
{
    struct merging merge = {
        .options = options, .piece_count = count, .is_kept = is_kept, .target = {.fd = -1}};
    merge.pieces = tool_allocate(merge.piece_count, sizeof(struct merge_piece));
    for (size_t i = 0; i < merge.piece_count; i++)
        merge.pieces[i].input.fd = -1;
    int status = open_pieces(&merge, paths);
    status = status == TOOL_OK ? list_runs(&merge) : status;
    status = status == TOOL_OK ? check_runs(&merge) : status;
    status = status == TOOL_OK ? write_all(&merge) : status;
    for (size_t i = 0; i < merge.piece_count; i++) {
        if (status == TOOL_OK && tool_input_check_end(&merge.pieces[i].input) != TOOL_OK)
            status = TOOL_LOSS;
        tool_input_close(&merge.pieces[i].input);
    }
    free(merge.waits);
    free(merge.starts);
    free(merge.own);
    free(merge.runs);
    free(merge.pieces);
    return status;
}

int tool_verb_merge(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options.output == NULL)
        return tool_usage("merge", "-o FILE is missing");
    return run(&options, (size_t)count, argv, false);
}

int tool_merge_kept(const char *output, bool force, char **pieces, size_t count)
{
    const struct options options = {.output = output, .force = force};
    return run(&options, count, pieces, true);
}
