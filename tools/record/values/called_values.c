#include "tools/record/values/called_values.h"

#include <stdlib.h>
#include <string.h>

#include <tracetape/recording.h>

#include "recorder/arena/prototypes.h"
#include "tools/command/tool.h"
#include "tools/record/values/record_hands.h"
#include "tools/record/values/said_hands.h"

struct tool_called_function {
    uint32_t start;
    struct ttp_said_function values;
};

static int compare_names(const void *name, const void *prototype)
{
    return strcmp(name, ((const struct ttp_prototype *)prototype)->name);
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

/* All that the C library's prototype says; nothing of others. */
static void find_known(const char *name, uint32_t wanted, struct tool_symbols_values *known)
{
    const struct ttp_prototype *found =
        bsearch(name, ttp_prototypes, TTP_PROTOTYPES, sizeof *found, compare_names);
    *known = (struct tool_symbols_values){.texts = {"", 0}};
    for (uint32_t k = 1;
         found != NULL && (wanted & TTAPE_VALUES_GIVEN) != 0 && found->letters[k] != '\0'; k++)
        known->places[known->given++] = place_of(found->letters[k], TTP_AT_RDI + k - 1);
    known->returned =
        found != NULL && (wanted & TTAPE_VALUES_RETURNED) != 0 && found->letters[0] != 'v';
    if (known->returned != 0)
        known->places[known->given] = place_of(found->letters[0], TTP_AT_RAX);
}

static void put_places(struct ttp_said_function *out, const struct tool_symbols_values *values)
{
    uint32_t returned = values->returned < TTP_SAID_PLACES ? values->returned : TTP_SAID_PLACES,
             most = TTP_SAID_PLACES - returned;
    out->given = (uint8_t)(values->given < most ? values->given : most);
    out->returned = (uint8_t)returned;
    memcpy(out->places, values->places, out->given * sizeof *out->places);
    memcpy(out->places + out->given, values->places + values->given,
           returned * sizeof *out->places);
    out->reads = ttp_value_places_read(out->places, out->given) ||
                 ttp_value_places_read(out->places + out->given, returned);
}

bool tool_called_values_said(const struct tool_record_values *values, const char *name,
                             struct ttp_said_function *out)
{
    uint32_t wanted = tool_record_values_wanted(values, (ttape_string){name, strlen(name)});
    struct tool_record_hand hand = {.given = 0};
    struct tool_symbols_values known;
    struct tool_record_said said;
    size_t size = strlen(name);
    bool is_by_hand = (wanted & TOOL_VALUES_BY_HAND) != 0;
    if ((!is_by_hand && (wanted & TOOL_VALUES_CALL_SITE) == 0) || size >= sizeof out->name)
        return false;
    for (uint32_t k = 0; k < values->hand_count; k++)
        if ((wanted >> (TOOL_VALUES_HAND_SHIFT + k) & 1) != 0)
            tool_record_hand_add(&hand, &values->hands[k]);
    hand.counters = hand.variable_count = 0; /* they are of functions that are patched as such */
    uint32_t all = TTAPE_VALUES_GIVEN | TTAPE_VALUES_RETURNED;
    find_known(name, is_by_hand ? all : wanted, &known);
    if (is_by_hand && known.given + known.returned != 0) /* all that is known, with its names */
        wanted |= all;
    tool_record_said_make(&said, &hand, &known, wanted);
    *out = (struct ttp_said_function){.given = 0};
    memcpy(out->name, name, size);
    put_places(out, &said.values);
    tool_record_said_close(&said);
    return true;
}

/* Who is attached to has no floating-point registers put aside at library calls. */
static bool drop_floats(struct ttp_said_function *function)
{
    uint32_t kept = 0, given = 0;
    for (uint32_t i = 0; i < (uint32_t)function->given + function->returned; i++) {
        if (ttp_said_is_float(&function->places[i]))
            continue;
        given += i < function->given;
        function->places[kept++] = function->places[i];
    }
    bool is_any = kept < (uint32_t)function->given + function->returned;
    function->given = (uint8_t)given;
    function->returned = (uint8_t)(kept - given);
    return is_any;
}

void tool_called_values_add(struct tool_called_values *called,
                            const struct tool_record_values *values, const char *name,
                            uint32_t start, uint32_t wanted)
{
    struct tool_called_function function = {.start = start};
    struct tool_symbols_values known;
    if (tool_called_values_said(values, name, &function.values)) {
        called->left_floats |= drop_floats(&function.values);
    } else {
        find_known(name, wanted, &known);
        put_places(&function.values, &known);
    }
    if (function.values.given + function.values.returned == 0)
        return;
    tool_grow((void **)&called->list, &called->capacity, called->count + 1, sizeof *called->list);
    called->list[called->count++] = function;
}

static int compare_starts(const void *a, const void *b)
{
    const struct tool_called_function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Of a function with several names the first is taken. */
struct ttp_values_head *tool_called_values_make(struct tool_called_values *called,
                                                size_t *size_bytes)
{
    if (called->count == 0)
        return NULL;
    qsort(called->list, called->count, sizeof *called->list, compare_starts);
    struct ttp_values_row *rows = tool_allocate(called->count, sizeof *rows);
    struct ttp_value_place *places = tool_allocate(called->count * TTP_SAID_PLACES, sizeof *places);
    uint32_t row_count = 0, count = 0;
    for (size_t i = 0; i < called->count; i++) {
        const struct tool_called_function *function = &called->list[i];
        const struct ttp_said_function *values = &function->values;
        uint32_t own = (uint32_t)values->given + values->returned;
        if (i > 0 && function->start == function[-1].start)
            continue;
        memcpy(places + count, values->places, own * sizeof *places);
        rows[row_count++] = (struct ttp_values_row){.start = function->start,
                                                    .first = count,
                                                    .given = values->given,
                                                    .returned = values->returned,
                                                    .reads = values->reads};
        count += own;
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
