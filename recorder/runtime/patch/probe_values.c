/* What patched functions are given and return: where their choice's values say (patch_plan.h), from
 * the registers that a probe has put aside (probe_entry.c) and the caller's stack, and fields of
 * structures there. What a place holds is not believed to be an address: only the page that has the
 * return address is read without the kernel. */
#include "recorder/runtime/patch/probe.h"

#define PAGE 4096u

_Static_assert(TTP_VALUES_FEW == TTP_CALL_VALUES_MAX, "as many have room without texts");

#define OBJECT_BYTES 32u /* of std::string, with the text of a short one */
#define WIDE_BYTES   10u /* of long double */

/* The values of one call or end, as they are taken. */
struct taking {
    struct ttp_call_values *values;
    uintptr_t sp;
    const struct ttp_value_place *places;
    uint32_t count;
    uint32_t area_base; /* of which field's base the area is; 0: of none */
    const uint8_t *area;
    uint64_t area_from;
    uint32_t area_bytes;
};

/* A word above the return address may be the stack's last: another page is read by the kernel. */
static bool read_stack(uintptr_t sp, uint32_t word, uint64_t *number)
{
    uintptr_t at = sp + 8 + 8ull * word;
    if (at / PAGE == sp / PAGE && (at + 7) / PAGE == sp / PAGE) {
        *number = *(const uint64_t *)at;
        return true;
    }
    return ttp_call_word_read(at, number);
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
    else if (at == TTP_AT_CALL_SITE)
        *number = *(const uint64_t *)sp - 1;
    else if (at >= TTP_AT_COUNTER)
        return ttp_value_count(at - TTP_AT_COUNTER, number);
    else if (at >= TTP_AT_STACK + TTP_AT_STACK_WORDS)
        *number = sp + 8 + 8ull * (at - TTP_AT_STACK - TTP_AT_STACK_WORDS);
    else
        return false;
    return true;
}

/* The program may have taken its memory away, or the right to read it. */
static bool read_variable(uintptr_t sp, const struct ttp_value_place *place, uint64_t *number)
{
    uint64_t at = ttp_probe_data_of(sp)->bias + ttp_value_variable(place);
    return !ttp_process.avoids_system_calls && place->size_bytes <= sizeof(*number) &&
           ttp_call_bytes_read((uint8_t *)number, at, place->size_bytes) == place->size_bytes;
}

static bool read_first(uintptr_t sp, const struct ttp_value_place *place, uint64_t *number)
{
    return place->at == TTP_AT_VARIABLE ? read_variable(sp, place, number)
                                        : read_place(sp, place->at, number);
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

/* x87's, rounded to 64 bits as a processor does, to even. */
static uint64_t round_wide(uint64_t part, uint32_t head)
{
    uint64_t sign = (uint64_t)(head >> 15 & 1) << 63, infinite = 0x7ffull << 52;
    int32_t power = (int32_t)(head & 0x7fff) - 16383 + 1023;
    if ((head & 0x7fff) == 0x7fff)
        return sign | infinite | (part << 1 != 0 ? 1ull << 51 | part << 1 >> 12 : 0);
    if (part == 0 || power < -52)
        return sign;
    if (power > 2046)
        return sign | infinite;
    uint32_t shift = power > 0 ? 11 : (uint32_t)(12 - power);
    uint64_t kept = shift < 64 ? part >> shift : 0, rest = part << (64 - shift), half = 1ull << 63;
    kept += rest > half || (rest == half && (kept & 1) != 0);
    return sign | (power > 0 ? ((uint64_t)(power - 1) << 52) + kept : kept);
}

static uint64_t load(const uint8_t *bytes, uint32_t count)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < count && i < 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

/* Of so many bits, or as many as its bytes have. */
static uint64_t narrow(uint64_t number, const struct ttp_value_place *place, uint32_t bits)
{
    if (place->type == TTAPE_VALUE_FLOAT)
        return place->size_bytes == 4 ? widen_float((uint32_t)number) : number;
    bits = bits != 0 ? bits : 8u * place->size_bytes;
    if (bits == 0 || bits >= 64)
        return number;
    uint32_t over = 64 - bits;
    return place->type == TTAPE_VALUE_SIGNED ? (uint64_t)((int64_t)(number << over) >> over)
                                             : number << over >> over;
}

uint64_t ttp_value_narrow(uint64_t number, uint32_t type, uint32_t size_bytes)
{
    const struct ttp_value_place place = {.type = (uint8_t)type, .size_bytes = (uint8_t)size_bytes};
    return narrow(number, &place, 0);
}

static void set(const struct taking *t, uint32_t i, uint32_t type, uint64_t number)
{
    struct ttp_call_values *values = t->values;
    if (i < TTP_CALL_VALUES_MAX) {
        values->types[i] = (uint8_t)type;
        values->numbers[i] = number;
    } else {
        values->texts->kinds[i] = (uint8_t)type;
        values->texts->numbers[i] = number;
    }
}

static uint64_t number_at(const struct taking *t, uint32_t i)
{
    return i < TTP_CALL_VALUES_MAX ? t->values->numbers[i] : t->values->texts->numbers[i];
}

/* ---- memory ---- */

static void read_area(struct taking *t, uint32_t base, uint64_t from, uint32_t bytes)
{
    bool is_near = from / PAGE == t->sp / PAGE && (from + bytes - 1) / PAGE == t->sp / PAGE;
    struct ttp_call_texts *texts = t->values->texts;
    t->area_base = base;
    t->area_from = from;
    t->area = is_near ? (const uint8_t *)from : texts->area;
    t->area_bytes = is_near ? bytes : from == 0 ? 0 : ttp_call_bytes_read(texts->area, from, bytes);
}

/* The structure of value `base - 1`, as far as its fields go. */
static void find_area(struct taking *t, uint32_t base)
{
    const struct ttp_call_texts *texts = t->values->texts;
    uint32_t bytes = 0;
    if (t->area_base == base)
        return;
    if (texts->types[base - 1] == TTAPE_VALUE_BYTES) { /* in registers */
        t->area_base = base;
        t->area_from = 0;
        t->area = texts->bytes + texts->at[base - 1];
        t->area_bytes = texts->sizes[base - 1];
        return;
    }
    for (uint32_t i = base; i < t->count; i++)
        if (t->places[i].base == base &&
            bytes < (uint32_t)t->places[i].offset + t->places[i].size_bytes)
            bytes = (uint32_t)t->places[i].offset + t->places[i].size_bytes;
    read_area(t, base, number_at(t, base - 1), bytes);
}

/* Short strings lie in the object that points to them. */
static void take_sized(const struct taking *t, uint32_t i, uint64_t from, uint64_t size)
{
    uint64_t at = from - t->area_from;
    if (t->area_from != 0 && at < t->area_bytes && size <= t->area_bytes - at)
        ttp_call_text_keep(t->values->texts, i, TTAPE_VALUE_STRING, t->area + at, (uint32_t)size);
    else
        ttp_call_text_sized(t->values->texts, i, from, size);
}

/* {address, size}, or the other way round. */
static void take_object(const struct taking *t, uint32_t i, const uint8_t *object, bool is_view)
{
    uint64_t first = load(object, 8), second = load(object + 8, 8);
    take_sized(t, i, is_view ? second : first, is_view ? first : second);
}

static void take_wide(const struct taking *t, uint32_t i, const uint8_t *bytes)
{
    set(t, i, TTAPE_VALUE_FLOAT, round_wide(load(bytes, 8), (uint32_t)load(bytes + 8, 2)));
}

/* ---- values ---- */

/* What is in two places. */
static void take_pair(struct taking *t, uint32_t i, uint64_t first)
{
    const struct ttp_value_place *place = &t->places[i];
    uint64_t words[2] = {first, 0};
    uint32_t size = place->size_bytes < sizeof(words) ? place->size_bytes : sizeof(words);
    if (size > 8)
        (void)read_place(t->sp, place->then, &words[1]);
    if (place->type == TTP_VALUE_VIEW)
        ttp_call_text_sized(t->values->texts, i, words[1], words[0]);
    else
        ttp_call_text_keep(t->values->texts, i, TTAPE_VALUE_BYTES, (const uint8_t *)words, size);
}

static void take_number(const struct taking *t, uint32_t i, uint64_t number, uint32_t bits)
{
    const struct ttp_value_place *place = &t->places[i];
    if (place->type <= TTAPE_VALUE_FLOAT)
        set(t, i, place->type, narrow(number, place, bits));
}

/* What its address is in a register, or on the stack: a number, or text that it points to. */
static void take_pointed(struct taking *t, uint32_t i, uint64_t number)
{
    uint32_t type = t->places[i].type;
    if (type == TTAPE_VALUE_STRING) {
        ttp_call_text_read(t->values->texts, i, number);
        return;
    }
    read_area(t, 0, number, OBJECT_BYTES);
    if (t->area_bytes >= 16)
        take_object(t, i, t->area, type == TTP_VALUE_VIEW_AT);
}

static void take_value(struct taking *t, uint32_t i)
{
    const struct ttp_value_place *place = &t->places[i];
    uint64_t number = 0;
    uint8_t wide[WIDE_BYTES];
    bool is_there = read_first(t->sp, place, &number), has_texts = t->values->texts != NULL;
    bool is_pair = place->type == TTAPE_VALUE_BYTES || place->type == TTP_VALUE_VIEW;
    bool is_wide = place->type == TTAPE_VALUE_FLOAT && place->size_bytes > 8;
    set(t, i, is_pair ? TTAPE_VALUE_UNSIGNED : TTAPE_VALUE_POINTER, number);
    if (!is_there)
        return;
    if (place->type == TTP_VALUE_CALL_SITE) {
        set(t, i, TTP_VALUE_CALL_SITE, number);
    } else if (is_wide) {
        if (ttp_call_bytes_read(wide, number, sizeof(wide)) == sizeof(wide))
            take_wide(t, i, wide);
    } else if (place->type <= TTAPE_VALUE_FLOAT) {
        take_number(t, i, number, 0);
    } else if (has_texts && is_pair) {
        take_pair(t, i, number);
    } else if (has_texts) {
        take_pointed(t, i, number);
    }
}

/* `bytes`: as many as it has are there. */
static void take_field_of(const struct taking *t, uint32_t i, const uint8_t *bytes)
{
    const struct ttp_value_place *place = &t->places[i];
    struct ttp_call_texts *texts = t->values->texts;
    uint32_t size = place->size_bytes, type = place->type, length = 0;
    uint64_t number = load(bytes, size);
    set(t, i, TTAPE_VALUE_POINTER, number);
    if (type == TTAPE_VALUE_STRING) {
        ttp_call_text_read(texts, i, number);
    } else if (type == TTAPE_VALUE_BYTES) {
        ttp_call_text_keep(texts, i, TTAPE_VALUE_BYTES, bytes, size);
    } else if (type == TTP_VALUE_TEXT) {
        while (length < size && bytes[length] != 0)
            length++;
        ttp_call_text_keep(texts, i, TTAPE_VALUE_STRING, bytes, length);
    } else if (type == TTP_VALUE_STRING_AT || type == TTP_VALUE_VIEW_AT) {
        if (size >= 16)
            take_object(t, i, bytes, type == TTP_VALUE_VIEW_AT);
    } else if (type == TTAPE_VALUE_FLOAT && size >= WIDE_BYTES) {
        take_wide(t, i, bytes);
    } else {
        take_number(t, i, number >> (place->then != 0 ? place->at & 63 : 0), place->then);
    }
}

static void take_field(struct taking *t, uint32_t i)
{
    const struct ttp_value_place *place = &t->places[i];
    find_area(t, place->base);
    if ((uint32_t)place->offset + place->size_bytes > t->area_bytes)
        ttp_call_text_keep(t->values->texts, i, TTAPE_VALUE_BYTES, NULL, 0);
    else
        take_field_of(t, i, t->area + place->offset);
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

/* Fields that are not there, behind all that is, need no place in the file. */
static uint32_t count_known(const struct taking *t)
{
    const struct ttp_call_texts *texts = t->values->texts;
    uint32_t count = t->count;
    while (count > 0 && t->places[count - 1].base != 0 &&
           texts->types[count - 1] == TTAPE_VALUE_BYTES && texts->sizes[count - 1] == 0)
        count--;
    return count;
}

/* Without texts, as a handler may have interrupted just that: what has room, and no fields. */
static uint32_t count_few(const struct taking *t)
{
    uint32_t count = 0;
    while (count < t->count && count < TTP_CALL_VALUES_MAX && t->places[count].base == 0)
        count++;
    return count;
}

/* Of a row whose places are all numbers in registers, or on the stack: as most have it. */
static void gather_numbers(struct ttp_call_values *values, const struct ttp_value_place *places,
                           uint32_t count, uintptr_t sp)
{
    for (uint32_t i = 0; i < count && i < TTP_CALL_VALUES_MAX; i++) {
        uint64_t number = 0;
        bool is_there = read_first(sp, &places[i], &number);
        values->types[i] = is_there ? places[i].type : TTAPE_VALUE_POINTER;
        values->numbers[i] = is_there ? narrow(number, &places[i], 0) : 0;
        values->count = i + 1;
    }
}

static void gather_all(struct ttp_call_values *values, const struct ttp_value_place *places,
                       uint32_t count, uintptr_t sp)
{
    struct taking t = {.values = values, .sp = sp, .places = places, .count = count};
    if (!ttp_call_texts_begin(values, count, sp))
        t.count = count_few(&t);
    for (uint32_t i = 0; i < t.count; i++)
        if (t.places[i].base == 0)
            take_value(&t, i);
        else
            take_field(&t, i);
    values->count = values->texts != NULL ? count_known(&t) : t.count;
}

void ttp_values_gather(struct ttp_call_values *values, const struct ttp_value_place *places,
                       uint32_t count, bool reads, uintptr_t sp)
{
    if (count != 0 && reads)
        gather_all(values, places, count, sp);
    else if (count != 0)
        gather_numbers(values, places, count, sp);
}

static void gather(struct ttp_call_values *values, uintptr_t function, uintptr_t sp, bool is_exit)
{
    const struct ttp_value_place *places = NULL;
    const struct ttp_values_row *row = row_of(function, sp, &places);
    uint32_t count = row == NULL ? 0 : is_exit ? row->returned : row->given;
    values->has_types = true;
    if (count != 0)
        ttp_values_gather(values, places + (is_exit ? row->given : 0), count, row->reads != 0, sp);
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
