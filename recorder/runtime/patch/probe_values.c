/* What patched functions are given and return: where their choice's values say (patch_plan.h), from
 * the registers that a probe has put aside (probe_entry.c) and the caller's stack. What a place
 * holds is not believed to be an address. */
#include "recorder/runtime/patch/probe.h"

#define PAGE 4096u

_Static_assert(TTP_VALUES_MAX <= TTP_CALL_VALUES_MAX, "values have room");

/* A word above the return address may be the stack's last: another page is read by the kernel. */
static bool read_stack(uintptr_t sp, uint32_t word, uint64_t *number)
{
    uintptr_t at = sp + 8 + 8ull * word;
    if (at / PAGE == sp / PAGE && (at + 7) / PAGE == sp / PAGE) {
        *number = *(const uint64_t *)at;
        return true;
    }
    return !ttp_process.avoids_system_calls && ttp_call_word_read(at, number);
}

static bool read_place(uintptr_t sp, uint32_t at, uint64_t *number)
{
    static const uint8_t words[] = {TTP_SAVED_RDI, TTP_SAVED_RSI, TTP_SAVED_RDX, TTP_SAVED_RCX,
                                    TTP_SAVED_R8,  TTP_SAVED_R9,  TTP_SAVED_RAX};
    if (at < sizeof(words))
        *number = ttp_probe_saved(sp, words[at]);
    else if (at >= TTP_AT_XMM && at < TTP_AT_STACK)
        *number = ttp_probe_saved(sp, TTP_SAVED_XMM - (at - TTP_AT_XMM));
    else if (at >= TTP_AT_STACK && at < TTP_AT_STACK + TTP_AT_STACK_WORDS)
        return read_stack(sp, at - TTP_AT_STACK, number);
    else if (at >= TTP_AT_STACK + TTP_AT_STACK_WORDS)
        *number = sp + 8 + 8ull * (at - TTP_AT_STACK - TTP_AT_STACK_WORDS);
    else
        return false;
    return true;
}

/* Of 32 bits, as 64: without the registers that a program may have in use. */
static uint64_t widen_float(uint32_t bits)
{
    uint64_t sign = (uint64_t)(bits >> 31) << 63, part = bits & 0x7fffffu;
    int32_t power = (int32_t)(bits >> 23 & 255);
    if (power == 255)
        return sign | 0x7ffull << 52 | part << 29;
    if (power == 0) {
        if (part == 0)
            return sign;
        for (power = 1; (part & 0x800000u) == 0; power--)
            part <<= 1;
        part &= 0x7fffffu;
    }
    return sign | (uint64_t)(power + 1023 - 127) << 52 | part << 29;
}

static uint64_t narrow(uint64_t number, const struct ttp_value_place *place)
{
    if (place->type == TTAPE_VALUE_FLOAT)
        return place->size_bytes == 4 ? widen_float((uint32_t)number) : number;
    if (place->size_bytes == 0 || place->size_bytes >= 8)
        return number;
    uint32_t over = 64 - 8u * place->size_bytes;
    return place->type == TTAPE_VALUE_SIGNED ? (uint64_t)((int64_t)(number << over) >> over)
                                             : number << over >> over;
}

/* Strings are marked, to be read at once; a structure in registers is its bytes. */
static void take_value(struct ttp_call_values *values, const struct ttp_value_place *place,
                       uintptr_t sp, struct ttp_call_wish *wish)
{
    uint32_t i = values->count++;
    uint64_t number = 0;
    values->types[i] = TTAPE_VALUE_POINTER;
    values->numbers[i] = 0;
    if (!read_place(sp, place->at, &number))
        return;
    values->numbers[i] = narrow(number, place);
    if (place->type == TTAPE_VALUE_STRING) {
        wish->strings |= 1u << i;
    } else if (place->type == TTAPE_VALUE_BYTES) {
        wish->bytes |= 1u << i;
        wish->sizes[i] = place->size_bytes < 16 ? place->size_bytes : 16;
        wish->seconds[i] = 0;
        values->types[i] = TTAPE_VALUE_UNSIGNED;
        if (place->size_bytes > 8)
            (void)read_place(sp, place->then, &wish->seconds[i]);
    } else if (place->type <= TTAPE_VALUE_FLOAT) {
        values->types[i] = place->type;
    }
}

/* The row of this function; NULL: there is none. */
static const struct ttp_values_row *row_of(uintptr_t function, uintptr_t sp,
                                           const struct ttp_value_place **places)
{
    const struct ttp_probe_data *data = ttp_probe_data_of(sp);
    const struct ttp_values_row *rows = (const struct ttp_values_row *)(data->values + 1);
    const struct ttp_values_row *row =
        ttp_values_row_of(data->values, (uint32_t)(function - data->bias));
    if (row != NULL)
        *places = (const struct ttp_value_place *)(rows + data->values->row_count) + row->first;
    return row;
}

static void gather(struct ttp_call_values *values, uintptr_t function, uintptr_t sp, bool is_exit)
{
    const struct ttp_value_place *places = NULL;
    struct ttp_call_wish wish = {0};
    const struct ttp_values_row *row = row_of(function, sp, &places);
    uint32_t first = row != NULL && is_exit ? row->given : 0;
    uint32_t count = row == NULL ? 0 : is_exit ? row->returned : row->given;
    values->has_types = true;
    for (uint32_t i = 0; i < count; i++)
        take_value(values, &places[first + i], sp, &wish);
    ttp_call_texts_wished(values, &wish, sp);
}

void ttp_probe_enter_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    struct ttp_call_values values = {.count = 0};
    if (ttp_arena.head.mode != TTP_MODE_ON)
        return;
    gather(&values, function, sp, false);
    ttp_probe_enter_with(function, call_site, sp, &values);
    ttp_call_texts_done(&values);
}

void ttp_probe_exit_valued(uintptr_t function, uintptr_t call_site, uintptr_t sp)
{
    struct ttp_call_values values = {.count = 0};
    if (ttp_arena.head.mode != TTP_MODE_ON)
        return;
    gather(&values, function, sp, true);
    ttp_probe_exit_with(function, call_site, sp, &values);
    ttp_call_texts_done(&values);
}
