/* Bytes of code in a process that stands still, written page by page: the kernel copies a page in
 * one piece, so that whoever is killed meanwhile leaves whole jumps only. */
#include <string.h>

#include "recorder/attach/attach_inside.h"

static uint64_t page_of(const struct ttp_change *change) { return change->at & ~(TTP_PAGE - 1); }

/* Returns the first change behind `from` that lies in another page. */
static uint32_t page_end(const struct ttp_changes *changes, uint32_t from)
{
    uint32_t end = from;
    while (end < changes->count && page_of(&changes->list[end]) == page_of(&changes->list[from]))
        end++;
    return end;
}

static uint64_t bytes_in(const uint8_t *page, const struct ttp_change *change)
{
    return ttp_bytes_read(page + change->at % TTP_PAGE, change->count);
}

/* False: it is not as it was decided for. */
static bool change_page(uint8_t *page, const struct ttp_changes *changes, uint32_t from,
                        uint32_t end, const bool *skip)
{
    for (uint32_t i = from; i < end; i++) {
        const struct ttp_change *change = &changes->list[i];
        if (skip != NULL && skip[i])
            continue;
        if (bytes_in(page, change) != change->was)
            return false;
        ttp_bytes_write(page + change->at % TTP_PAGE, change->count, change->becomes);
    }
    return true;
}

bool ttp_code_apply(int memory, const struct ttp_changes *changes, const bool *skip)
{
    uint8_t page[TTP_PAGE];
    struct ttp_restored restored;
    for (uint32_t from = 0, end; from < changes->count; from = end) {
        end = page_end(changes, from);
        uint64_t at = page_of(&changes->list[from]);
        if (ttp_memory_read(memory, at, page, sizeof page) &&
            change_page(page, changes, from, end, skip) &&
            ttp_memory_write(memory, at, page, sizeof page))
            continue;
        const struct ttp_changes before = {.list = changes->list, .count = end};
        (void)ttp_code_restore(memory, &before, &restored);
        return false;
    }
    return true;
}

bool ttp_code_restore(int memory, const struct ttp_changes *changes, struct ttp_restored *restored)
{
    uint8_t page[TTP_PAGE];
    bool is_whole = true;
    *restored = (struct ttp_restored){.low = UINT64_MAX};
    for (uint32_t from = 0, end; from < changes->count; from = end) {
        end = page_end(changes, from);
        uint64_t at = page_of(&changes->list[from]);
        uint32_t ours = 0;
        bool is_read = ttp_memory_read(memory, at, page, sizeof page);
        is_whole &= is_read;
        for (uint32_t i = from; is_read && i < end; i++) {
            const struct ttp_change *change = &changes->list[i];
            uint64_t now = bytes_in(page, change);
            restored->foreign += now != change->becomes && now != change->was;
            if (now != change->becomes)
                continue;
            ttp_bytes_write(page + change->at % TTP_PAGE, change->count, change->was);
            ours++;
        }
        if (ours != 0 && !ttp_memory_write(memory, at, page, sizeof page))
            is_whole = false;
        restored->changed += ours;
        restored->low = at < restored->low ? at : restored->low;
        restored->high = at + TTP_PAGE > restored->high ? at + TTP_PAGE : restored->high;
    }
    return is_whole;
}
