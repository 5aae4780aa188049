/* Arguments and results of library calls, from the registers that a probe has put aside
 * (probe_entry.c says where). Strings are read by the kernel, as they may be no addresses. */
#include "writer/runtime/library/library_values.h"

#include "writer/runtime/patch/probe.h"

/* Below the return address, in words. */
enum saved {
    SAVED_RDI = 17,
    SAVED_STUB,
    SAVED_RAX = 19,
    SAVED_RCX = 21,
    SAVED_RDX,
    SAVED_RSI,
    SAVED_R8,
    SAVED_R9
};

static uint64_t saved_at(uintptr_t sp, uint32_t register_)
{
    return ((const uint64_t *)sp)[-(int64_t)register_];
}

bool ttp_library_is_other(uintptr_t call_site, uintptr_t sp)
{
    uintptr_t stub = saved_at(sp, SAVED_STUB) & ~(uintptr_t)(TTP_PROBE_BYTES - 1);
    const struct ttp_probe_data *data =
        (const struct ttp_probe_data *)(stub - ((const struct ttp_probe_stub *)stub)->data_below);
    return call_site - data->module_start >= data->module_bytes &&
           call_site - ttp_process.own_low >= ttp_process.own_bytes;
}

static const char *letters_of(uintptr_t function)
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
    return from < known->count && known->list[from].address == function ? known->list[from].letters
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

void ttp_library_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    static const uint8_t places[TTP_CALL_VALUES_MAX] = {SAVED_RDI, SAVED_RSI, SAVED_RDX,
                                                        SAVED_RCX, SAVED_R8,  SAVED_R9};
    const char *letters = letters_of(function);
    struct ttp_call_values values = {.has_types = true};
    uint32_t strings = 0;
    for (uint32_t i = 0; letters != NULL && i < TTP_CALL_VALUES_MAX && letters[1 + i] != '\0';
         i++) {
        set(&values, i, letters[1 + i], saved_at(sp, places[i]));
        strings |= (uint32_t)(letters[1 + i] == 's') << i;
        values.count++;
    }
    if (strings != 0)
        ttp_call_texts_strings(&values, strings, sp);
    ttp_probe_enter_slow(function, call_site, sp, values.count != 0 ? &values : NULL);
    ttp_call_texts_done(&values);
}

void ttp_library_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    const char *letters = letters_of(function);
    struct ttp_call_values values = {.has_types = true};
    if (letters != NULL && letters[0] != 'v') {
        set(&values, 0, letters[0], saved_at(sp, SAVED_RAX));
        values.count = 1;
        if (letters[0] == 's')
            ttp_call_texts_strings(&values, 1, sp);
    }
    ttp_exit_slow(function, call_site, sp, values.count != 0 ? &values : NULL);
    ttp_call_texts_done(&values);
}
