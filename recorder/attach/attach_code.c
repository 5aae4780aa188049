/* Bytes of code in a process that stands still, read and written by pages, of which many lie one
 * behind the other: the kernel copies each page in one piece, so that whoever is killed meanwhile
 * leaves whole jumps only. */
#include <stdlib.h>
#include <string.h>

#include "recorder/attach/attach_inside.h"

#define RUN_MOST 16u

static int compare_changes(const void *a, const void *b)
{
    const struct ttp_change *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

void ttp_changes_sort(struct ttp_changes *changes)
{
    if (changes->count != 0)
        qsort(changes->list, changes->count, sizeof *changes->list, compare_changes);
}

static uint64_t page_of(const struct ttp_change *change) { return change->at & ~(TTP_PAGE - 1); }

/* Returns the first change behind `from` that lies in another page. */
static uint32_t page_end(const struct ttp_changes *changes, uint32_t from)
{
    uint32_t end = from;
    while (end < changes->count && page_of(&changes->list[end]) == page_of(&changes->list[from]))
        end++;
    return end;
}

uint32_t ttp_code_pages_end(const struct ttp_changes *changes, uint32_t from, uint32_t pages)
{
    uint32_t end = from;
    for (uint32_t i = 0; i < pages && end < changes->count; i++)
        end = page_end(changes, end);
    return end;
}

/* Pages one behind the other that all have changes: [from, end) of these. */
struct run {
    uint64_t at;
    uint32_t pages, from, end;
    uint32_t written; /* bits of pages that are other than they were */
};

static struct run find_run(const struct ttp_changes *changes, uint32_t from, uint32_t most)
{
    struct run run = {page_of(&changes->list[from]), 1, from, page_end(changes, from), 0};
    while (run.end < changes->count && run.pages < most &&
           page_of(&changes->list[run.end]) == run.at + run.pages * TTP_PAGE) {
        run.end = page_end(changes, run.end);
        run.pages++;
    }
    return run;
}

static bool read_run(int memory, const struct run *run, uint8_t *bytes)
{
    return ttp_memory_read(memory, run->at, bytes, run->pages * TTP_PAGE);
}

static bool write_run(int memory, const struct run *run, const uint8_t *bytes)
{
    bool is_whole = true;
    for (uint32_t i = 0, end; i < run->pages; i = end + 1) {
        for (end = i; end < run->pages && (run->written >> end & 1) != 0; end++)
            continue;
        is_whole &= end == i || ttp_memory_write(memory, run->at + i * TTP_PAGE,
                                                 bytes + i * TTP_PAGE, (end - i) * TTP_PAGE);
    }
    return is_whole;
}

static uint64_t bytes_in(const struct run *run, const uint8_t *bytes,
                         const struct ttp_change *change)
{
    return ttp_bytes_read(bytes + (change->at - run->at), change->count);
}

static void put(struct run *run, uint8_t *bytes, const struct ttp_change *change, uint64_t number)
{
    ttp_bytes_write(bytes + (change->at - run->at), change->count, number);
    run->written |= UINT32_C(1) << (change->at - run->at) / TTP_PAGE;
}

/* False: it is not as it was decided for. */
static bool change_run(struct run *run, uint8_t *bytes, const struct ttp_changes *changes)
{
    for (uint32_t i = run->from; i < run->end; i++) {
        const struct ttp_change *change = &changes->list[i];
        if (bytes_in(run, bytes, change) != change->was)
            return false;
        put(run, bytes, change, change->becomes);
    }
    return true;
}

bool ttp_code_apply(int memory, const struct ttp_changes *changes)
{
    uint8_t bytes[RUN_MOST * TTP_PAGE];
    struct ttp_restored restored;
    struct run run = {.end = 0};
    while (run.end < changes->count) {
        run = find_run(changes, run.end, RUN_MOST);
        if (read_run(memory, &run, bytes) && change_run(&run, bytes, changes) &&
            write_run(memory, &run, bytes))
            continue;
        const struct ttp_changes before = {.list = changes->list, .count = run.end};
        (void)ttp_code_restore(memory, &before, &restored);
        return false;
    }
    return true;
}

static void restore_run(struct run *run, uint8_t *bytes, const struct ttp_changes *changes,
                        struct ttp_restored *restored)
{
    for (uint32_t i = run->from; i < run->end; i++) {
        const struct ttp_change *change = &changes->list[i];
        uint64_t now = bytes_in(run, bytes, change);
        restored->foreign += now != change->becomes && now != change->was;
        if (now != change->becomes)
            continue;
        put(run, bytes, change, change->was);
        restored->changed++;
    }
}

/* Where one of the pages cannot be read, the others are put back all the same. */
bool ttp_code_restore(int memory, const struct ttp_changes *changes, struct ttp_restored *restored)
{
    uint8_t bytes[RUN_MOST * TTP_PAGE];
    struct run run = {.end = 0};
    bool is_whole = true;
    *restored = (struct ttp_restored){.low = UINT64_MAX};
    while (run.end < changes->count) {
        uint32_t from = run.end;
        run = find_run(changes, from, RUN_MOST);
        bool is_read = read_run(memory, &run, bytes);
        if (!is_read && run.pages > 1) {
            run = find_run(changes, from, 1);
            is_read = read_run(memory, &run, bytes);
        }
        if (is_read)
            restore_run(&run, bytes, changes, restored);
        is_whole &= is_read && write_run(memory, &run, bytes);
        uint64_t end = run.at + run.pages * TTP_PAGE;
        restored->low = run.at < restored->low ? run.at : restored->low;
        restored->high = end > restored->high ? end : restored->high;
    }
    return is_whole;
}
