/* External merge sort. Runs are read back in pieces; a heap of runs gives the least record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
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
    struct ttp_heap heap; /* of live[] */
    size_t *live;         /* indexes of runs that are not at their end */
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
static bool fill_run(struct tool_sorter *sorter, struct sorted_run *run)
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

static bool is_before(const void *context, const void *a, const void *b)
{
    const struct tool_sorter *sorter = context;
    const struct sorted_run *one = &sorter->runs[*(const size_t *)a];
    const struct sorted_run *two = &sorter->runs[*(const size_t *)b];
    return sorter->compare(one->piece + one->at, two->piece + two->at) < 0;
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
    sorter->live = tool_allocate(sorter->run_count, sizeof(size_t));
    sorter->heap = (struct ttp_heap){sorter->live, 0, sizeof(size_t), is_before, sorter};
    for (size_t i = 0; i < sorter->run_count && !sorter->failed; i++) {
        sorter->runs[i].piece = tool_allocate(PIECE_BYTES, 1);
        if (fill_run(sorter, &sorter->runs[i]))
            sorter->live[sorter->heap.count++] = i;
    }
    ttp_heap_make(&sorter->heap);
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
    if (sorter->heap.count == 0)
        return false;
    struct sorted_run *run = &sorter->runs[sorter->live[0]];
    memcpy(record, run->piece + run->at, sorter->record_bytes);
    run->at += sorter->record_bytes;
    if (fill_run(sorter, run))
        ttp_heap_sink(&sorter->heap, 0);
    else
        ttp_heap_drop(&sorter->heap);
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
    free(sorter->live);
    free(sorter->records);
    free(sorter);
}
