/* Arguments and results of library calls, from the registers that a probe has put aside
 * (probe_entry.c says where). Strings are read by the kernel, as they may be no addresses. */
#include "recorder/runtime/library/library_values.h"

#include <string.h>

#include "recorder/arena/prototypes.h"
#include "recorder/arena/said_values.h"
#include "recorder/runtime/patch/probe.h"

bool ttp_library_is_other(uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_probe_data *data = ttp_probe_data_of(sp);
    return call_site - data->module_start >= data->module_bytes &&
           call_site - ttp_process.own_low >= ttp_process.own_bytes;
}

static const struct ttp_library_function *find_function(uintptr_t function)
{
    const struct ttp_library_functions *known = &ttp_process.library;
    uint32_t from = 0, end = known->count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (known->list[middle].address < function)
            from = middle + 1;
        else
            end = middle;
    }
    return from < known->count && known->list[from].address == function &&
                   (known->list[from].letters != NULL || known->list[from].said != NULL)
               ? &known->list[from]
               : NULL;
}

/* A number as its letter has it. */
static void set(struct ttp_call_values *values, uint32_t i, char letter, uint64_t number)
{
    values->types[i] = letter == 'i' || letter == 'l'   ? TTAPE_VALUE_SIGNED
                       : letter == 'u' || letter == 'w' ? TTAPE_VALUE_UNSIGNED
                                                        : TTAPE_VALUE_POINTER;
    values->numbers[i] = letter == 'i'   ? (uint64_t)(int64_t)(int32_t)number
                         : letter == 'w' ? (uint32_t)number
                                         : number;
}

static void enter_said(const struct ttp_said_function *said, uintptr_t function,
                       uintptr_t call_site, uintptr_t sp)
{
    struct ttp_call_values values = {.has_types = true};
    ttp_values_gather(&values, said->places, said->given, said->reads != 0, sp);
    ttp_probe_enter_with(function, call_site, sp, &values);
    ttp_call_texts_done(&values);
}

static void exit_said(const struct ttp_said_function *said, uintptr_t function, uintptr_t call_site,
                      uintptr_t sp)
{
    struct ttp_call_values values = {.has_types = true};
    ttp_values_gather(&values, said->places + said->given, said->returned, said->reads != 0, sp);
    ttp_probe_exit_with(function, call_site, sp, &values);
    ttp_call_texts_done(&values);
}

void ttp_library_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    static const uint8_t places[TTP_CALL_ARGUMENTS] = {TTP_SAVED_RDI, TTP_SAVED_RSI, TTP_SAVED_RDX,
                                                       TTP_SAVED_RCX, TTP_SAVED_R8,  TTP_SAVED_R9};
    const struct ttp_library_function *known = find_function(function);
    const char *letters = known != NULL && known->is_given_wanted ? known->letters : NULL;
    struct ttp_call_values values = {.has_types = true};
    uint32_t strings = 0;
    if (known != NULL && known->said != NULL) {
        enter_said(known->said, function, call_site, sp);
        return;
    }
    for (uint32_t i = 0; letters != NULL && i < TTP_CALL_ARGUMENTS && letters[1 + i] != '\0'; i++) {
        set(&values, i, letters[1 + i], ttp_probe_saved(sp, places[i]));
        strings |= (uint32_t)(letters[1 + i] == 's') << i;
        values.count++;
    }
    ttp_call_texts_strings(&values, strings, sp);
    ttp_probe_enter_with(function, call_site, sp, &values);
    ttp_call_texts_done(&values);
}

void ttp_library_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const struct ttp_library_function *known = find_function(function);
    const char *letters = known != NULL && known->is_returned_wanted ? known->letters : NULL;
    struct ttp_call_values values = {.has_types = true};
    if (known != NULL && known->said != NULL) {
        exit_said(known->said, function, call_site, sp);
        return;
    }
    if (letters != NULL && letters[0] != 'v') {
        set(&values, 0, letters[0], ttp_probe_saved(sp, TTP_SAVED_RAX));
        values.count = 1;
        ttp_call_texts_strings(&values, letters[0] == 's', sp);
    }
    ttp_probe_exit_with(function, call_site, sp, &values);
    ttp_call_texts_done(&values);
}

/* -- by name -- */

static bool has_bit(const uint64_t *words, size_t at)
{
    return (words[at / 64] >> at % 64 & 1) != 0;
}

void ttp_prototype_find(struct ttp_library_function *function)
{
    size_t from = 0, end = TTP_PROTOTYPES;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        int order = strcmp(ttp_prototypes[middle].name, function->name);
        if (order == 0) {
            function->letters = ttp_prototypes[middle].letters;
            function->is_given_wanted = !has_bit(ttp_arena.head.left_given, middle);
            function->is_returned_wanted = !has_bit(ttp_arena.head.left_returned, middle);
            return;
        }
        if (order < 0)
            from = middle + 1;
        else
            end = middle;
    }
}

/* Once: the list stays, and so does what it points to. */
void ttp_said_find_all(struct ttp_library_function *list, uint32_t count)
{
    uint8_t content[TTP_PLAN_CONTENT_BYTES];
    char path[TTP_PLAN_PATH_BYTES];
    uint64_t size_bytes;
    ttp_said_content(content, ttp_arena.head.patch_choice);
    if (!ttp_plan_path(path, content, sizeof(content), TTP_SAID_SUFFIX))
        return;
    const struct ttp_said_head *head = ttp_plan_file_map(path, TTP_SAID_BYTES_MAX, &size_bytes);
    if (head == NULL)
        return;
    if (!ttp_said_check(head, size_bytes)) {
        ttp_plan_file_unmap(head, size_bytes);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        list[i].said = ttp_said_find(head, list[i].name);
    ttp_process.library_floats = head->has_floats != 0;
}
