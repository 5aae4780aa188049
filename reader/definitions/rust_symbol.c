/* The second mangling (RFC 2603) is a grammar, and its numbers of crates cannot be told from other
 * text without it. Back references say how many bytes before them something stood: these change
 * with what is left out. What is not understood (constants that are no numbers, say) leaves the
 * symbol as it is: then two builds stay two functions. */
#include "reader/definitions/rust_symbol.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define DEPTH_MOST  100u /* of what is in what */
#define CRATES_MOST 64u
#define BASE        62u

struct rewriting {
    ttape_string from; /* behind "_R", from which references count */
    size_t at;
    char *to;
    size_t size;
    bool has_failed;
    unsigned depth;
    uint32_t crate_count;
    struct {
        size_t at, size;
    } crates[CRATES_MOST]; /* numbers that were left out */
};

static char see_byte(const struct rewriting *w)
{
    return w->at < w->from.size_bytes && !w->has_failed ? w->from.data[w->at] : '\0';
}

static void put_byte(struct rewriting *w, char c)
{
    if (w->size < TTP_RUST_SYMBOL_MOST)
        w->to[w->size++] = c;
    else
        w->has_failed = true;
}

static char copy_byte(struct rewriting *w)
{
    char c = see_byte(w);
    if (c == '\0')
        w->has_failed = true;
    else
        w->at++;
    put_byte(w, c);
    return c;
}

static bool take_byte(struct rewriting *w, char c)
{
    bool is = see_byte(w) == c;
    if (is)
        (void)copy_byte(w);
    return is;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 36
                                  : -1;
}

/* A number that ends with "_", which is not copied. */
static size_t skip_number(struct rewriting *w)
{
    size_t value = 0;
    bool is_empty = true;
    for (; see_byte(w) != '_'; w->at++, is_empty = false) {
        int digit = digit_of(see_byte(w));
        if (digit < 0 || value > SIZE_MAX / BASE - BASE) {
            w->has_failed = true;
            return 0;
        }
        value = value * BASE + (size_t)digit;
    }
    w->at++;
    return is_empty ? 0 : value + 1;
}

static void copy_number(struct rewriting *w)
{
    while (!w->has_failed && copy_byte(w) != '_')
        continue;
}

static void put_number(struct rewriting *w, size_t value)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[16];
    size_t size = 0;
    if (value > 0)
        for (size_t rest = value - 1; size == 0 || rest != 0; rest /= BASE)
            text[size++] = digits[rest % BASE];
    while (size > 0)
        put_byte(w, text[--size]);
    put_byte(w, '_');
}

static void rewrite_name(struct rewriting *w)
{
    size_t size = 0;
    (void)take_byte(w, 'u');
    if (see_byte(w) < '0' || see_byte(w) > '9')
        w->has_failed = true;
    while (see_byte(w) >= '0' && see_byte(w) <= '9' && size < TTP_RUST_SYMBOL_MOST)
        size = size * 10 + (size_t)(copy_byte(w) - '0');
    (void)take_byte(w, '_');
    while (size-- > 0 && !w->has_failed)
        (void)copy_byte(w);
}

static void rewrite_crate(struct rewriting *w)
{
    size_t from = w->at;
    if (see_byte(w) == 's') {
        w->at++;
        (void)skip_number(w);
        if (w->crate_count == CRATES_MOST) {
            w->has_failed = true;
            return;
        }
        w->crates[w->crate_count].at = from;
        w->crates[w->crate_count++].size = w->at - from;
    }
    rewrite_name(w);
}

static void rewrite_reference(struct rewriting *w)
{
    size_t to = skip_number(w), left_out = 0;
    for (uint32_t i = 0; i < w->crate_count && w->crates[i].at < to; i++)
        left_out += w->crates[i].size;
    put_number(w, to > left_out ? to - left_out : 0);
}

static void rewrite_type(struct rewriting *w);

static void rewrite_const(struct rewriting *w)
{
    if (take_byte(w, 'p'))
        return;
    if (take_byte(w, 'B')) {
        rewrite_reference(w);
        return;
    }
    if (see_byte(w) < 'a' || see_byte(w) > 'z' || see_byte(w) == 'e')
        w->has_failed = true;
    (void)copy_byte(w);
    copy_number(w); /* the digits are others, and what ends them is the same */
}

static void rewrite_path(struct rewriting *w);

static void rewrite_arguments(struct rewriting *w)
{
    while (!w->has_failed && !take_byte(w, 'E'))
        if (take_byte(w, 'L'))
            copy_number(w);
        else if (take_byte(w, 'K'))
            rewrite_const(w);
        else
            rewrite_type(w);
}

static void rewrite_impl(struct rewriting *w)
{
    if (take_byte(w, 's'))
        copy_number(w);
    rewrite_path(w);
}

static void rewrite_nested(struct rewriting *w)
{
    (void)copy_byte(w); /* of what kind */
    rewrite_path(w);
    if (take_byte(w, 's'))
        copy_number(w);
    rewrite_name(w);
}

static void rewrite_path(struct rewriting *w)
{
    if (++w->depth > DEPTH_MOST)
        w->has_failed = true;
    switch (copy_byte(w)) {
    case 'C': rewrite_crate(w); break;
    case 'M':
        rewrite_impl(w);
        rewrite_type(w);
        break;
    case 'X':
        rewrite_impl(w);
        rewrite_type(w);
        rewrite_path(w);
        break;
    case 'Y':
        rewrite_type(w);
        rewrite_path(w);
        break;
    case 'N': rewrite_nested(w); break;
    case 'I':
        rewrite_path(w);
        rewrite_arguments(w);
        break;
    case 'B': rewrite_reference(w); break;
    default: w->has_failed = true;
    }
    w->depth--;
}

static void rewrite_types(struct rewriting *w)
{
    while (!w->has_failed && !take_byte(w, 'E'))
        rewrite_type(w);
}

static void rewrite_function(struct rewriting *w)
{
    if (take_byte(w, 'G'))
        copy_number(w);
    (void)take_byte(w, 'U');
    if (take_byte(w, 'K') && !take_byte(w, 'C'))
        rewrite_name(w);
    rewrite_types(w);
    rewrite_type(w);
}

static void rewrite_traits(struct rewriting *w)
{
    if (take_byte(w, 'G'))
        copy_number(w);
    while (!w->has_failed && !take_byte(w, 'E')) {
        rewrite_path(w);
        while (take_byte(w, 'p')) {
            rewrite_name(w);
            rewrite_type(w);
        }
    }
    if (take_byte(w, 'L'))
        copy_number(w);
    else
        w->has_failed = true;
}

static void rewrite_type(struct rewriting *w)
{
    if (++w->depth > DEPTH_MOST)
        w->has_failed = true;
    char tag = see_byte(w);
    bool is_path = tag != '\0' && strchr("CMXYNIB", tag) != NULL;
    if (is_path) {
        rewrite_path(w);
    } else if (tag >= 'a' && tag <= 'z') {
        (void)copy_byte(w);
    } else {
        switch (copy_byte(w)) {
        case 'A':
            rewrite_type(w);
            rewrite_const(w);
            break;
        case 'R':
        case 'Q':
            if (take_byte(w, 'L'))
                copy_number(w);
            rewrite_type(w);
            break;
        case 'S':
        case 'P':
        case 'O': rewrite_type(w); break;
        case 'T': rewrite_types(w); break;
        case 'F': rewrite_function(w); break;
        case 'D': rewrite_traits(w); break;
        default: w->has_failed = true;
        }
    }
    w->depth--;
}

/* Behind the path may stand the crate that made the code, and what a compiler puts there. */
static ttape_string rewrite(ttape_string symbol, char *room)
{
    struct rewriting w = {.from = {symbol.data + 2, symbol.size_bytes - 2}, .to = room};
    put_byte(&w, '_');
    put_byte(&w, 'R');
    rewrite_path(&w);
    if (see_byte(&w) >= 'A' && see_byte(&w) <= 'Z')
        rewrite_path(&w);
    if (see_byte(&w) == '.')
        while (see_byte(&w) != '\0')
            (void)copy_byte(&w);
    return w.has_failed || w.at != w.from.size_bytes ? symbol : (ttape_string){room, w.size};
}

static bool is_hex(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    return true;
}

static bool is_second(ttape_string symbol)
{
    return symbol.size_bytes > 3 && symbol.data[0] == '_' && symbol.data[1] == 'R' &&
           symbol.size_bytes <= TTP_RUST_SYMBOL_MOST;
}

ttape_string ttp_symbol_across_builds(ttape_string symbol, char room[TTP_RUST_SYMBOL_MOST])
{
    size_t size = symbol.size_bytes;
    if (is_second(symbol))
        return rewrite(symbol, room);
    if (size > 20 && memcmp(symbol.data + size - 20, "17h", 3) == 0 &&
        symbol.data[size - 1] == 'E' && is_hex(symbol.data + size - 17, 16))
        return (ttape_string){symbol.data, size - 20};
    if (size > 19 && memcmp(symbol.data + size - 19, "::h", 3) == 0 &&
        is_hex(symbol.data + size - 16, 16))
        return (ttape_string){symbol.data, size - 19};
    return symbol;
}

int ttp_compare_symbols_across_builds(ttape_string a, ttape_string b)
{
    char one[TTP_RUST_SYMBOL_MOST], other[TTP_RUST_SYMBOL_MOST];
    return ttp_compare_strings(ttp_symbol_across_builds(a, one),
                               ttp_symbol_across_builds(b, other));
}
