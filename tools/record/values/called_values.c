#include "tools/record/values/called_values.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/recording.h>

#include "recorder/arena/prototypes.h"
#include "tools/command/tool.h"

struct tool_called_function {
    uint32_t start, wanted;
    const char *letters;
};

static int compare_names(const void *name, const void *prototype)
{
    return strcmp(name, ((const struct ttp_prototype *)prototype)->name);
}

void tool_called_values_add(struct tool_called_values *called, const char *name, uint32_t start,
                            uint32_t wanted)
{
    const struct ttp_prototype *found =
        bsearch(name, ttp_prototypes, TTP_PROTOTYPES, sizeof *found, compare_names);
    if (found == NULL || wanted == 0)
        return;
    tool_grow((void **)&called->list, &called->capacity, called->count + 1, sizeof *called->list);
    called->list[called->count++] = (struct tool_called_function){start, wanted, found->letters};
}

static int compare_starts(const void *a, const void *b)
{
    const struct tool_called_function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static struct ttp_value_place place_of(char letter, uint32_t at)
{
    bool is_signed = letter == 'i' || letter == 'l', is_small = letter == 'i' || letter == 'w';
    bool is_number = is_signed || letter == 'w' || letter == 'u';
    return (struct ttp_value_place){.type = letter == 's' ? TTAPE_VALUE_STRING
                                            : !is_number  ? TTAPE_VALUE_POINTER
                                            : is_signed   ? TTAPE_VALUE_SIGNED
                                                          : TTAPE_VALUE_UNSIGNED,
                                    .size_bytes = is_small ? 4 : 8,
                                    .at = (uint8_t)at};
}

/* Of a function with several names the first is taken. */
struct ttp_values_head *tool_called_values_make(struct tool_called_values *called,
                                                size_t *size_bytes)
{
    if (called->count == 0)
        return NULL;
    qsort(called->list, called->count, sizeof *called->list, compare_starts);
    struct ttp_values_row *rows = tool_allocate(called->count, sizeof *rows);
    struct ttp_value_place *places = tool_allocate(called->count * TTP_VALUES_FEW, sizeof *places);
    uint32_t row_count = 0, count = 0;
    for (size_t i = 0; i < called->count; i++) {
        const struct tool_called_function *function = &called->list[i];
        struct ttp_values_row row = {.start = function->start, .first = count};
        if (i > 0 && function->start == function[-1].start)
            continue;
        for (uint32_t k = 1;
             (function->wanted & TTAPE_VALUES_GIVEN) != 0 && function->letters[k] != '\0';
             k++, row.given++)
            places[count++] = place_of(function->letters[k], TTP_AT_RDI + k - 1);
        row.returned =
            function->letters[0] != 'v' && (function->wanted & TTAPE_VALUES_RETURNED) != 0;
        if (row.returned != 0)
            places[count++] = place_of(function->letters[0], TTP_AT_RAX);
        row.reads = ttp_value_places_read(places + row.first, (uint32_t)row.given + row.returned);
        rows[row_count++] = row;
    }
    size_t row_bytes = row_count * sizeof *rows, place_bytes = count * sizeof *places;
    struct ttp_values_head *head = tool_allocate(sizeof *head + row_bytes + place_bytes, 1);
    *head = (struct ttp_values_head){.row_count = row_count, .place_count = count};
    memcpy(head + 1, rows, row_bytes);
    memcpy((uint8_t *)(head + 1) + row_bytes, places, place_bytes);
    *size_bytes = sizeof *head + row_bytes + place_bytes;
    free(rows);
    free(places);
    return head;
}

void tool_called_values_close(struct tool_called_values *called)
{
    free(called->list);
    *called = (struct tool_called_values){0};
}
