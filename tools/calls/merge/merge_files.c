/* Files are opened, ordered, and copied. */
#include "tools/calls/merge/merge_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/calls/losses.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"

/* The next partition is the one with the least first time that waits for nothing. Returns its
 * piece, or piece_count where there is none. */
static size_t choose_piece(const struct tool_merge *merge)
{
    size_t best = merge->piece_count;
    uint64_t best_ns = 0;
    for (size_t i = 0; i < merge->piece_count; i++) {
        const struct tool_merge_piece *piece = &merge->pieces[i];
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

/* The window begins with the first event. What a thread did that waits since before that is not
 * weighed against it. */
static uint64_t find_begin(const struct tool_merge *merge)
{
    uint64_t begin_ns = 0;
    for (size_t i = 0; i < merge->piece_count; i++) {
        const ttape_info *info = &merge->pieces[i].info;
        if (info->event_count != 0 && (begin_ns == 0 || info->time_first_ns < begin_ns))
            begin_ns = info->time_first_ns;
    }
    return begin_ns;
}

static int copy_all(struct tool_merge *merge)
{
    uint64_t total = merge->partition_count;
    uint64_t begin_ns = merge->is_kept ? find_begin(merge) : 0;
    for (size_t i = 0; i < merge->piece_count; i++)
        ttape_copier_begin_at(merge->pieces[i].copier, begin_ns);
    for (uint64_t done = 0; done < total; done++) {
        size_t best = choose_piece(merge);
        if (best == merge->piece_count)
            return tool_fail("the pieces cannot be ordered: their partitions cross");
        struct tool_merge_piece *piece = &merge->pieces[best];
        if (ttape_copier_partition(piece->copier, piece->next, &merge->err) != TTAPE_OK)
            return tool_fail_error(piece->input.name, &merge->err);
        tool_merge_release(merge, piece->first + piece->next);
        piece->next++;
        tool_progress_update(done + 1, total, 0);
    }
    return TOOL_OK;
}

void tool_merge_choose_id(const struct tool_merge *merge, uint8_t id[16])
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

static int open_pieces(struct tool_merge *merge, char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tool_merge_piece *piece = &merge->pieces[merge->piece_count];
        int status = tool_input_read(&piece->input, paths[i], 1, merge->memory_bytes);
        if (status != TOOL_OK && !merge->leaves_out)
            return status;
        if (status != TOOL_OK) {
            tool_input_close(&piece->input);
            merge->status = TOOL_LOSS;
            continue;
        }
        merge->piece_count++;
        ttape_reader_get_info(piece->input.reader, &piece->info);
        if (!merge->is_kept)
            tool_losses_warn(&piece->input);
    }
    return merge->piece_count > 0 ? TOOL_OK : tool_fail("none of the files could be read");
}

int tool_merge_open(struct tool_merge *merge, char **paths, size_t count)
{
    merge->pieces = tool_allocate(count, sizeof(struct tool_merge_piece));
    for (size_t i = 0; i < count; i++)
        merge->pieces[i].input.fd = -1;
    tool_inputs_allow(); /* they stay open until all is copied */
    int status = open_pieces(merge, paths, count);
    status = status == TOOL_OK ? tool_merge_list_runs(merge) : status;
    status = status == TOOL_OK ? tool_merge_check_runs(merge) : status;
    return status == TOOL_OK && !merge->is_kept ? tool_merge_place(merge) : status;
}

static int open_copiers(struct tool_merge *merge)
{
    for (size_t i = 0; i < merge->piece_count; i++) {
        struct tool_merge_piece *piece = &merge->pieces[i];
        if (ttape_copier_open_shifted(&piece->copier, merge->writer, piece->input.reader,
                                      piece->shifts, &merge->err) != TTAPE_OK)
            return tool_fail_error(piece->input.name, &merge->err);
    }
    return TOOL_OK;
}

int tool_merge_copy(struct tool_merge *merge, ttape_writer *writer, const char *name)
{
    merge->writer = writer;
    int status = open_copiers(merge);
    if (status == TOOL_OK) {
        tool_progress_start("merge");
        status = copy_all(merge);
        tool_progress_stop();
    }
    if (status == TOOL_OK && ttape_writer_finish(writer, &merge->err) != TTAPE_OK)
        status = tool_fail_error(name, &merge->err);
    for (size_t i = 0; i < merge->piece_count; i++) {
        ttape_copier_close(merge->pieces[i].copier);
        merge->pieces[i].copier = NULL;
    }
    return status;
}

int tool_merge_check_ends(struct tool_merge *merge)
{
    int status = merge->status;
    for (size_t i = 0; i < merge->piece_count; i++)
        if (tool_input_check_one(&merge->pieces[i].input) != TOOL_OK)
            status = TOOL_LOSS;
    return status;
}

void tool_merge_close(struct tool_merge *merge)
{
    ttape_clocks_close(merge->clocks);
    for (size_t i = 0; i < merge->piece_count; i++) {
        free(merge->pieces[i].shifts);
        tool_input_close(&merge->pieces[i].input);
    }
    free(merge->waits);
    free(merge->starts);
    free(merge->own);
    free(merge->runs);
    free(merge->pieces);
    *merge = (struct tool_merge){0};
}
