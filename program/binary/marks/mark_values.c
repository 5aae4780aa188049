/* Where a mark's values are, from what the compiler has written for the assembler:
 *
 *     SIZE@OPERAND, with blanks between     SIZE: 1, 2, 4, 8; negative: with a sign; f behind it: a
 *                                           floating-point number; missing: 8
 *     %ebx  %xmm3                           in a register
 *     $-5  $counter+8                       the number itself, or an address
 *     -16(%rbp)  8(%rax,%rdx,4)  (,%rbx,8)  in memory
 *     counter+4(%rip)  counter              the same, in the module */
#include <string.h>

#include "program/binary/marks/marks.h"

struct reading {
    const char *at, *end;
    tool_find_symbol find;
    void *context;
};

static bool is_next(const struct reading *r, char c) { return r->at < r->end && *r->at == c; }

static bool take(struct reading *r, char c)
{
    bool is_there = is_next(r, c);
    r->at += is_there;
    return is_there;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '.' || c == '$';
}

static bool digit_of(char c, uint32_t base, uint32_t *digit)
{
    *digit = is_digit(c)            ? (uint32_t)(c - '0')
             : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
             : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                    : base;
    return *digit < base;
}

/* Digits, decimal or behind 0x; without a sign. False: there is none, or it has more than 64 bits.
 */
static bool take_digits(struct reading *r, uint64_t *number)
{
    uint32_t base = 10, digit;
    *number = 0;
    if (r->end - r->at > 2 && r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X')) {
        base = 16;
        r->at += 2;
    }
    const char *first = r->at;
    for (; r->at < r->end && digit_of(*r->at, base, &digit); r->at++) {
        if (*number > (UINT64_MAX - digit) / base)
            return false;
        *number = *number * base + digit;
    }
    return r->at > first;
}

struct name {
    const char *text;
    uint8_t number, bytes, shift;
};
#define OLD(q, d, w, b, h, n)                                                                      \
    {q, n, 8, 0}, {d, n, 4, 0}, {w, n, 2, 0}, {b, n, 1, 0}, { h, n, 1, 8 }
#define INDEX(q, d, w, b, n)                                                                       \
    {q, n, 8, 0}, {d, n, 4, 0}, {w, n, 2, 0}, { b, n, 1, 0 }
static const struct name old_names[] = {OLD("rax", "eax", "ax", "al", "ah", TTP_MARK_RAX),
                                        OLD("rcx", "ecx", "cx", "cl", "ch", TTP_MARK_RAX + 1),
                                        OLD("rdx", "edx", "dx", "dl", "dh", TTP_MARK_RAX + 2),
                                        OLD("rbx", "ebx", "bx", "bl", "bh", TTP_MARK_RBX),
                                        INDEX("rsp", "esp", "sp", "spl", TTP_MARK_RSP),
                                        INDEX("rbp", "ebp", "bp", "bpl", TTP_MARK_RBP),
                                        INDEX("rsi", "esi", "si", "sil", TTP_MARK_RSI),
                                        INDEX("rdi", "edi", "di", "dil", TTP_MARK_RDI),
                                        {"rip", TTP_MARK_RIP, 8, 0}};

/* "8d", "15", "xmm3" behind the r of a new register, or behind nothing. */
static bool find_numbered(ttape_string name, struct name *found)
{
    bool is_xmm = name.size_bytes > 3 && memcmp(name.data, "xmm", 3) == 0;
    size_t at = is_xmm ? 3 : 1;
    uint32_t number = 0, digits = 0;
    if (!is_xmm && (name.size_bytes < 2 || name.data[0] != 'r'))
        return false;
    for (; at < name.size_bytes && is_digit(name.data[at]) && digits < 2; at++, digits++)
        number = number * 10 + (uint32_t)(name.data[at] - '0');
    if (digits == 0 || number > 15 || (!is_xmm && number < 8) || name.size_bytes - at > !is_xmm)
        return false;
    char suffix = at < name.size_bytes ? name.data[at] : 'q';
    if (suffix != 'q' && suffix != 'd' && suffix != 'w' && suffix != 'b')
        return false;
    *found = (struct name){.number = (uint8_t)(is_xmm ? TTP_MARK_XMM + number : number),
                           .bytes = suffix == 'q'   ? 8
                                    : suffix == 'd' ? 4
                                    : suffix == 'w' ? 2
                                                    : 1};
    return true;
}

static bool take_register(struct reading *r, struct name *found)
{
    if (!take(r, '%'))
        return false;
    const char *first = r->at;
    while (r->at < r->end && is_in_name(*r->at))
        r->at++;
    ttape_string name = {first, (size_t)(r->at - first)};
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++)
        if (strlen(old_names[i].text) == name.size_bytes &&
            memcmp(old_names[i].text, name.data, name.size_bytes) == 0) {
            *found = old_names[i];
            return true;
        }
    return find_numbered(name, found);
}

/* Numbers and one symbol at most, added up: "-16", "counter+4"; nothing is 0. */
static bool take_sum(struct reading *r, uint64_t *sum, bool *is_symbol)
{
    *sum = 0;
    *is_symbol = false;
    for (bool is_first = true;; is_first = false) {
        uint64_t part;
        bool is_minus = is_next(r, '-'), has_sign = is_minus || is_next(r, '+');
        if (!is_first && !has_sign)
            return true;
        r->at += has_sign;
        const char *first = r->at;
        if (r->at < r->end && is_digit(*r->at)) {
            if (!take_digits(r, &part))
                return false;
        } else {
            while (r->at < r->end && is_in_name(*r->at))
                r->at++;
            ttape_string name = {first, (size_t)(r->at - first)};
            if (name.size_bytes == 0)
                return is_first && !has_sign;
            if (is_minus || *is_symbol || r->find == NULL || !r->find(r->context, name, &part))
                return false;
            *is_symbol = true;
        }
        *sum += is_minus ? 0 - part : part;
    }
}

/* "(%rax,%rdx,4)" behind a displacement. */
static bool take_memory(struct reading *r, struct ttp_mark_value *value, bool is_symbol)
{
    struct name base = {.number = TTP_MARK_NO_REGISTER, .bytes = 8}, index = base;
    uint64_t scale = 1;
    value->kind = TTP_MARK_MEMORY;
    if (!take(r, '(')) { /* an address by itself: of the module, or of nothing that is known */
        value->base = TTP_MARK_RIP;
        value->index = TTP_MARK_NO_REGISTER;
        return is_symbol;
    }
    if (is_next(r, '%') && !take_register(r, &base))
        return false;
    if (take(r, ',') && (!take_register(r, &index) || (take(r, ',') && !take_digits(r, &scale))))
        return false;
    bool is_fine = take(r, ')') && base.bytes == 8 && index.bytes == 8 &&
                   index.number != TTP_MARK_RSP &&
                   (scale == 1 || scale == 2 || scale == 4 || scale == 8) &&
                   (base.number != TTP_MARK_RIP || is_symbol) && index.number != TTP_MARK_RIP;
    value->base = base.number;
    value->index = index.number;
    value->scale = (uint8_t)scale;
    return is_fine && (base.number < TTP_MARK_XMM || base.number >= TTP_MARK_RIP) &&
           (index.number < TTP_MARK_XMM || index.number >= TTP_MARK_RIP);
}

static bool take_operand(struct reading *r, struct ttp_mark_value *value)
{
    struct name found;
    uint64_t sum;
    bool is_symbol;
    if (is_next(r, '%')) {
        bool is_there = take_register(r, &found) && found.number != TTP_MARK_RIP;
        value->kind = TTP_MARK_REGISTER;
        value->base = found.number;
        value->shift = found.shift;
        return is_there;
    }
    bool is_number = take(r, '$');
    const char *first = r->at;
    if (!take_sum(r, &sum, &is_symbol))
        return false;
    value->number = (int64_t)sum;
    if (is_number) {
        value->kind = is_symbol ? TTP_MARK_ADDRESS : TTP_MARK_NUMBER;
        return r->at > first;
    }
    return take_memory(r, value, is_symbol);
}

/* "-4@", "8f@", or nothing. */
static bool take_size(struct reading *r, struct ttp_mark_value *value)
{
    const char *first = r->at;
    uint64_t size;
    bool is_signed = take(r, '-'), has_digits = take_digits(r, &size), is_float = take(r, 'f');
    if (has_digits && take(r, '@')) {
        value->type = is_float    ? TTAPE_VALUE_FLOAT
                      : is_signed ? TTAPE_VALUE_SIGNED
                                  : TTAPE_VALUE_UNSIGNED;
    } else { /* "8(%rax)" has none */
        r->at = first;
        size = 8;
    }
    value->size_bytes = (uint8_t)size;
    return (size == 1 || size == 2 || size == 4 || size == 8) &&
           (value->type != TTAPE_VALUE_FLOAT || size >= 4);
}

static void skip_word(struct reading *r)
{
    while (r->at < r->end && *r->at != ' ')
        r->at++;
}

uint32_t tool_mark_values(ttape_string arguments, tool_find_symbol find, void *context,
                          struct ttp_mark_value values[TTP_MARK_VALUES_MAX])
{
    struct reading r = {arguments.data, arguments.data + arguments.size_bytes, find, context};
    uint32_t count = 0;
    for (;;) {
        while (take(&r, ' '))
            continue;
        if (r.at == r.end || count == TTP_MARK_VALUES_MAX)
            return count;
        struct ttp_mark_value value = {.type = TTAPE_VALUE_UNSIGNED};
        bool is_known =
            take_size(&r, &value) && take_operand(&r, &value) && (r.at == r.end || *r.at == ' ');
        if (!is_known)
            value = (struct ttp_mark_value){.kind = TTP_MARK_UNKNOWN};
        skip_word(&r);
        values[count++] = value;
    }
}
