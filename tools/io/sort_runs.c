/* External merge sort. Runs are read back in pieces; a heap of runs gives the least record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/io/scratch_file.h"
#include "tools/io/sort_runs.h"

#define PIECE_BYTES (64u * 1024u)

struct sorted_run {
    uint64_t offset, end; /* of what is not read yet */
    char *piece;
    size_t at, size_bytes;
};

struct tool_sorter {
    size_t record_bytes, memory_records;
    tool_sort_compare compare;
    char *records;
    size_t count, capacity; /* capacity in records */
    size_t taken;           /* of those in memory, where there are no runs */
    struct tool_scratch scratch;
    struct sorted_run *runs;
    size_t run_count, run_capacity;
    size_t *heap; /* indexes of runs that are not at their end */
    size_t heap_count;
    bool failed;
};

struct tool_sorter *tool_sorter_open(size_t record_bytes, size_t memory_records,
                                     tool_sort_compare compare)
{
    struct tool_sorter *sorter = tool_allocate(1, sizeof(*sorter));
    *sorter = (struct tool_sorter){.record_bytes = record_bytes,
                                   .memory_records = memory_records,
                                   .compare = compare,
                                   .scratch = {.fd = -1}};
    return sorter;
}

/* What comes in order, as most does, costs one look. */
static void sort_memory(struct tool_sorter *sorter)
{
    for (size_t i = 1; i < sorter->count; i++) {
        const char *record = sorter->records + i * sorter->record_bytes;
        if (sorter->compare(record - sorter->record_bytes, record) > 0) {
            qsort(sorter->records, sorter->count, sorter->record_bytes, sorter->compare);
            return;
        }
    }
}

static bool write_run(struct tool_sorter *sorter)
{
    if (sorter->scratch.fd < 0 && !tool_scratch_open(&sorter->scratch))
        return false;
    uint64_t offset = sorter->scratch.size_bytes;
    sort_memory(sorter);
    if (!tool_scratch_write(&sorter->scratch, sorter->records,
                            sorter->count * sorter->record_bytes))
        return false;
    tool_grow((void **)&sorter->runs, &sorter->run_capacity, sorter->run_count + 1,
              sizeof(struct sorted_run));
    sorter->runs[sorter->run_count++] =
        (struct sorted_run){.offset = offset, .end = sorter->scratch.size_bytes};
    sorter->count = 0;
    return true;
}

bool tool_sorter_add(struct tool_sorter *sorter, const void *record)
{
    if (sorter->count == sorter->memory_records && !write_run(sorter)) {
        sorter->failed = true;
        return false;
    }
    tool_grow((void **)&sorter->records, &sorter->capacity, sorter->count + 1,
              sorter->record_bytes);
    memcpy(sorter->records + sorter->count * sorter->record_bytes, record, sorter->record_bytes);
    sorter->count++;
    return true;
}

/* ---- the merge ---- */

/* Makes sure that the run's next record is in memory. False: it has none, or the file failed. */
static bool fill(struct tool_sorter *sorter, struct sorted_run *run)
{
    if (run->at < run->size_bytes)
        return true;
    size_t whole = PIECE_BYTES / sorter->record_bytes * sorter->record_bytes;
    uint64_t left = run->end - run->offset;
    run->at = 0;
    run->size_bytes = left < whole ? (size_t)left : whole;
    if (run->size_bytes == 0)
        return false;
    if (!tool_scratch_read(&sorter->scratch, run->offset, run->piece, run->size_bytes)) {
        sorter->failed = true;
        return false;
    }
    run->offset += run->size_bytes;
    return true;
}

static const char *head_of(const struct tool_sorter *sorter, size_t place)
{
    const struct sorted_run *run = &sorter->runs[sorter->heap[place]];
    return run->piece + run->at;
}

static void sift(struct tool_sorter *sorter, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < sorter->heap_count; at = child) {
        if (child + 1 < sorter->heap_count &&
            sorter->compare(head_of(sorter, child + 1), head_of(sorter, child)) < 0)
            child++;
        if (sorter->compare(head_of(sorter, child), head_of(sorter, at)) >= 0)
            return;
        size_t moved = sorter->heap[at];
        sorter->heap[at] = sorter->heap[child];
        sorter->heap[child] = moved;
    }
}

bool tool_sorter_finish(struct tool_sorter *sorter)
{
    if (sorter->run_count == 0) {
        sort_memory(sorter);
        return !sorter->failed;
    }
    if (sorter->count > 0 && !write_run(sorter))
        sorter->failed = true;
    free(sorter->records);
    sorter->records = NULL;
    sorter->heap = tool_allocate(sorter->run_count, sizeof(size_t));
    for (size_t i = 0; i < sorter->run_count && !sorter->failed; i++) {
        sorter->runs[i].piece = tool_allocate(PIECE_BYTES, 1);
        if (fill(sorter, &sorter->runs[i]))
            sorter->heap[sorter->heap_count++] = i;
    }
    for (size_t i = sorter->heap_count / 2; i-- > 0;)
        sift(sorter, i);
    return !sorter->failed;
}

bool tool_sorter_next(struct tool_sorter *sorter, void *record)
{
    if (sorter->failed)
        return false;
    if (sorter->run_count == 0) {
        if (sorter->taken == sorter->count)
            return false;
        memcpy(record, sorter->records + sorter->taken++ * sorter->record_bytes,
               sorter->record_bytes);
        return true;
    }
    if (sorter->heap_count == 0)
        return false;
    struct sorted_run *run = &sorter->runs[sorter->heap[0]];
    memcpy(record, run->piece + run->at, sorter->record_bytes);
    run->at += sorter->record_bytes;
    if (!fill(sorter, run))
        sorter->heap[0] = sorter->heap[--sorter->heap_count];
    sift(sorter, 0);
    return !sorter->failed;
}

bool tool_sorter_failed(const struct tool_sorter *sorter) { return sorter->failed; }

void tool_sorter_close(struct tool_sorter *sorter)
{
    if (sorter == NULL)
        return;
    for (size_t i = 0; i < sorter->run_count; i++)
        free(sorter->runs[i].piece);
    tool_scratch_close(&sorter->scratch);
    free(sorter->runs);
    free(sorter->heap);
    free(sorter->records);
    free(sorter);
}
