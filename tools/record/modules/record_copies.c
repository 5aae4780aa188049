#define _GNU_SOURCE /* asprintf */
#include "tools/record/modules/record_copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/record/modules/record_place.h"

struct tool_record_copy {
    struct tool_record_place place;
    size_t number;     /* in the order in which they came */
    char *name, *file; /* file: NULL of what is asked for */
    uint32_t line;
};

void tool_record_copies_open(struct tool_record_copies *copies)
{
    *copies = (struct tool_record_copies){.is_open = true, .is_sorted = true};
    (void)pthread_mutex_init(&copies->lock, NULL);
}

static int compare_copies(const void *a, const void *b)
{
    const struct tool_record_copy *one = a, *other = b;
    int order = tool_record_place_compare(a, b);
    return order != 0 ? order : (one->number > other->number) - (one->number < other->number);
}

static void add(struct tool_record_copies *copies, struct tool_record_copy added)
{
    (void)pthread_mutex_lock(&copies->lock);
    added.number = copies->count;
    tool_grow((void **)&copies->items, &copies->capacity, copies->count + 1, sizeof added);
    copies->items[copies->count++] = added;
    copies->is_sorted = false;
    (void)pthread_mutex_unlock(&copies->lock);
}

void tool_record_copies_add(struct tool_record_copies *copies, ttape_string build_id,
                            uint64_t elf_address, ttape_string name, ttape_string file,
                            uint32_t line)
{
    struct tool_record_copy added = {.place = tool_record_place_of(build_id, elf_address)};
    if (asprintf(&added.name, "%.*s [inlined]", (int)name.size_bytes, name.data) < 0)
        tool_out_of_memory();
    added.file = tool_copy_text(file.data, file.size_bytes);
    added.line = line;
    add(copies, added);
}

void tool_record_copies_ask(struct tool_record_copies *copies, ttape_string build_id,
                            uint64_t elf_address, const char *name)
{
    add(copies, (struct tool_record_copy){.place = tool_record_place_of(build_id, elf_address),
                                          .name = tool_copy_text(name, strlen(name))});
}

bool tool_record_copies_find(struct tool_record_copies *copies, ttape_string build_id,
                             uint64_t elf_address, ttape_site *site)
{
    struct tool_record_copy key = {.place = tool_record_place_of(build_id, elf_address)},
                            *found = NULL;
    (void)pthread_mutex_lock(&copies->lock);
    if (!copies->is_sorted)
        qsort(copies->items, copies->count, sizeof key, compare_copies);
    copies->is_sorted = true;
    if (copies->count > 0)
        found = bsearch(&key, copies->items, copies->count, sizeof key, tool_record_place_compare);
    while (found != NULL && found > copies->items &&
           tool_record_place_compare(found - 1, found) == 0)
        found--;
    if (found != NULL) {
        site->symbol = (ttape_string){found->name, strlen(found->name)};
        site->file = (ttape_string){found->file, found->file == NULL ? 0 : strlen(found->file)};
        site->line = found->line;
    }
    (void)pthread_mutex_unlock(&copies->lock);
    return found != NULL;
}

void tool_record_copies_close(struct tool_record_copies *copies)
{
    if (!copies->is_open)
        return;
    for (size_t i = 0; i < copies->count; i++) {
        free(copies->items[i].name);
        free(copies->items[i].file);
    }
    free(copies->items);
    (void)pthread_mutex_destroy(&copies->lock);
}
