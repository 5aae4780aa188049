/* A name is taken apart first (what stands before it, where it ends, its parameters, what stands
 * behind them), then the pieces that are wanted are written; what cannot be taken apart is no
 * function of C++ or Rust.
 *
 *   int& std::vector<int>::at(unsigned long) const [clone .cold]
 *   type ----------name------ --parameters-------- ----tail-----
 */
#include "base/names/simple_name.h"

#include <stdint.h>

#include "base/names/name_scan.h"

#define ELLIPSIS    "\xE2\x80\xA6"
#define ALL_DEPTH   32u /* of arguments in arguments */
#define TYPES_DEPTH 8u  /* of functions that return pointers to functions */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct anatomy {
    struct ttp_name_span name, parameters, tail;
};

struct writing {
    char *out;
    size_t size;
    unsigned depth;             /* of template arguments that are shown */
    const char *dropped;        /* arguments that end here are not even hinted at */
    struct ttp_name_span class; /* basic_string, where it was written as string */
};

/* ---- taking apart ---- */

struct taking {
    const char *begin, *at, *end;
    struct anatomy *pieces;
    bool has_type, is_odd, is_conversion;
};

enum { TAKE_ON, TAKE_DONE, TAKE_FAILED };

static bool take_apart(const char *at, const char *end, struct anatomy *pieces, unsigned depth);

/* What follows parameters is known, or they are none. */
static bool is_tail(const char *at, const char *end)
{
    return at == end || ttp_name_starts(at, end, " [clone ") || ttp_name_starts(at, end, " (.") ||
           ttp_name_starts(at, end, " requires ") || ttp_name_starts(at, end, " [inlined]") ||
           *at == '.' || *at == '@';
}

/* What stands in names beside words. */
static bool is_mark(char c)
{
    return c == ' ' || c == ':' || c == '~' || c == '.' || c == '@' || c == '\'' || c == '\0';
}

/* void (*NAME(int))(char) */
static int take_inner(struct taking *take, const char *group, unsigned depth)
{
    const char *at = take->at + 1;
    if (group == take->end || *group != '(' || depth == 0)
        return TAKE_FAILED;
    while (at < group && *at != '*' && *at != '&' && *at != ')')
        at++;
    while (at < group && (*at == '*' || *at == '&'))
        at++;
    at = ttp_name_skip_qualifiers(at, group);
    at += at < group && *at == ' ';
    return at < group - 1 && take_apart(at, group - 1, take->pieces, depth - 1) ? TAKE_DONE
                                                                                : TAKE_FAILED;
}

static bool is_behind(const struct taking *take, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(take->at - take->begin) >= size && memcmp(take->at - size, word, size) == 0;
}

static int take_round(struct taking *take, unsigned depth)
{
    const char *at = take->at, *group = ttp_name_skip_group(at, take->end);
    struct anatomy *pieces = take->pieces;
    if (group == NULL)
        return TAKE_FAILED;
    bool is_start = at == pieces->name.at || at[-1] == ':';
    if (ttp_name_starts(at, take->end, "(anonymous ") || is_behind(take, "decltype ") ||
        is_behind(take, "decltype")) {
        take->at = group;
        return TAKE_ON;
    }
    if (take->is_conversion && group < take->end && *group == '(') { /* operator int (*)(int)() */
        take->at = group;
        return TAKE_ON;
    }
    if (is_start)
        return take->has_type ? take_inner(take, group, depth) : TAKE_FAILED;
    const char *behind = ttp_name_skip_qualifiers(group, take->end);
    if (ttp_name_starts(behind, take->end, "::")) { /* a local class, a lambda */
        take->at = behind + 2;
        take->is_conversion = false;
        return TAKE_ON;
    }
    if (!is_tail(behind, take->end) || take->is_odd || at[-1] == '.') /* Go's (*T).name */
        return TAKE_FAILED;
    pieces->name.end = at;
    pieces->parameters = (struct ttp_name_span){at, behind};
    pieces->tail = (struct ttp_name_span){behind, take->end};
    if (ttp_name_starts(behind, take->end, " requires "))
        pieces->tail.at = take->end;
    return TAKE_DONE;
}

/* "operator" and its sign; what a conversion converts to may have blanks in it. */
static bool take_operator(struct taking *take)
{
    const char *at = take->at, *end = take->end;
    if (!ttp_name_starts(at, end, "operator") || (at > take->begin && ttp_name_is_word(at[-1])) ||
        (at + 8 < end && ttp_name_is_word(at[8])))
        return false;
    const char *sign = ttp_name_skip_sign(at + 8, end);
    take->is_conversion = sign == NULL && at + 8 < end && at[8] == ' ';
    if (sign == NULL)
        sign = at + 8 + take->is_conversion;
    else
        sign += ttp_name_starts(sign, end, " <");
    take->at = sign;
    return true;
}

static int take_next(struct taking *take, unsigned depth)
{
    const char *group = NULL;
    char c = *take->at;
    if (c == '(')
        return take_round(take, depth);
    if (c == '<' || c == '{' || c == '[') {
        group = ttp_name_skip_group(take->at, take->end);
        take->at = group;
        return group != NULL ? TAKE_ON : TAKE_FAILED;
    }
    if (take_operator(take))
        return TAKE_ON;
    if (c == ' ' && !take->is_conversion) {
        take->has_type = true;
        take->is_odd = false;
        take->pieces->name.at = take->at + 1;
    }
    if (!ttp_name_is_word(c) && !is_mark(c) && !take->is_conversion)
        take->is_odd = true;
    take->at++;
    return TAKE_ON;
}

static bool take_apart(const char *at, const char *end, struct anatomy *pieces, unsigned depth)
{
    struct taking take = {.begin = at, .at = at, .end = end, .pieces = pieces};
    int state = TAKE_ON;
    *pieces = (struct anatomy){{at, end}, {end, end}, {end, end}};
    while (state == TAKE_ON && take.at < end)
        state = take_next(&take, depth);
    if (state == TAKE_ON)
        return !take.has_type && !take.is_odd && !take.is_conversion;
    return state == TAKE_DONE;
}

/* ---- writing ---- */

static void put_bytes(struct writing *to, const char *at, size_t size_bytes)
{
    memcpy(to->out + to->size, at, size_bytes);
    to->size += size_bytes;
}

static void put_plain(struct writing *to, const char *text) { put_bytes(to, text, strlen(text)); }

static bool ends_with(const struct writing *to, const char *text)
{
    size_t size = strlen(text);
    return to->size >= size && memcmp(to->out + to->size - size, text, size) == 0;
}

static bool is_one_of(struct ttp_name_span word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((size_t)(word.end - word.at) == strlen(list[i]) &&
            memcmp(word.at, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

static void put_text(struct writing *to, struct ttp_name_span text, unsigned depth);

/* Arguments that nobody wrote: the library's defaults. */
static bool is_default(struct ttp_name_span argument)
{
    static const char *const defaults[] = {"std::allocator<", "std::char_traits<",
                                           "std::less<",      "std::hash<",
                                           "std::equal_to<",  "std::default_delete<"};
    for (size_t i = 0; i < COUNT(defaults); i++)
        if (ttp_name_starts(argument.at, argument.end, defaults[i]))
            return true;
    return false;
}

static void put_arguments(struct writing *to, struct ttp_name_span all, unsigned depth)
{
    put_plain(to, "<");
    for (const char *at = all.at; at < all.end;) {
        const char *end = ttp_name_skip_argument(at, all.end);
        struct ttp_name_span argument = {at, end};
        while (argument.end > at && argument.end[-1] == ' ') /* "> >" */
            argument.end--;
        if (at == all.at || !is_default(argument)) {
            put_plain(to, at == all.at ? "" : ", ");
            put_text(to, argument, depth - 1);
        }
        at = end + (end < all.end);
        at += at < all.end && *at == ' ';
    }
    put_plain(to, ">");
}

/* Returns what is behind the arguments. */
static const char *put_angle(struct writing *to, const char *at, const char *end, unsigned depth)
{
    const char *group = ttp_name_skip_group(at, end);
    if (group == NULL) {
        put_bytes(to, at, 1);
        return at + 1;
    }
    struct ttp_name_span inner = {at + 1, group - 1};
    bool is_first = to->size == 0;
    if (group == to->dropped && !is_first) {
        to->size -= ends_with(to, "::") ? 2 : 0; /* Rust's name::<TYPE> */
        return group;
    }
    if (inner.at == inner.end || (is_first && !ttp_name_starts(group, end, "::"))) {
        put_bytes(to, at, (size_t)(group - at)); /* <anonymous> of other languages */
    } else if (is_first) {                       /* Rust's <TYPE as TRAIT>::name */
        put_plain(to, "<");
        put_text(to, inner, depth);
        put_plain(to, ">");
    } else if (depth == 0) {
        put_plain(to, "<" ELLIPSIS ">");
    } else {
        put_arguments(to, inner, depth);
    }
    return group;
}

/* basic_string<char, ...> is string, of whatever traits. Returns what is behind it; NULL: it is
 * something else. */
static const char *put_standard(struct writing *to, struct ttp_name_span word, const char *end)
{
    static const char *const characters[][2] = {{"char", ""},
                                                {"wchar_t", "w"},
                                                {"char8_t", "u8"},
                                                {"char16_t", "u16"},
                                                {"char32_t", "u32"}};
    const char *group =
        word.end < end && *word.end == '<' ? ttp_name_skip_group(word.end, end) : NULL;
    if (group == NULL || !ttp_name_starts(word.at, word.end, "basic_") || !ends_with(to, "std::"))
        return NULL;
    struct ttp_name_span first = {word.end + 1, ttp_name_skip_argument(word.end + 1, group - 1)};
    for (size_t i = 0; i < COUNT(characters); i++) {
        if (!is_one_of(first, &characters[i][0], 1))
            continue;
        put_plain(to, characters[i][1]);
        put_bytes(to, word.at + 6, (size_t)(word.end - word.at) - 6);
        to->class = word;
        return group;
    }
    return NULL;
}

/* Constructors and destructors are called as their class is. */
static bool is_class_again(const struct writing *to, struct ttp_name_span word)
{
    size_t size = (size_t)(word.end - word.at);
    return to->class.at != NULL && (size_t)(to->class.end - to->class.at) == size &&
           memcmp(word.at, to->class.at, size) == 0 && (ends_with(to, "::") || ends_with(to, "~"));
}

static const char *put_operator(struct writing *to, const char *at, const char *sign,
                                const char *end)
{
    put_bytes(to, at, (size_t)(sign - at));
    if (!ttp_name_starts(sign, end, " <"))
        return sign;
    if (to->dropped == NULL || ttp_name_skip_group(sign + 1, end) != to->dropped)
        put_plain(to, " ");
    return sign + 1;
}

static const char *put_word(struct writing *to, const char *at, const char *end)
{
    static const char *const inner[] = {"__cxx11", "__1", "__ndk1", "_V2"};
    struct ttp_name_span word = {at, at};
    while (word.end < end && ttp_name_is_word(*word.end))
        word.end++;
    if (word.end - at == 8 && memcmp(at, "operator", 8) == 0) {
        const char *sign = ttp_name_skip_sign(word.end, end);
        if (sign != NULL)
            return put_operator(to, at, sign, end);
    }
    if (is_one_of(word, inner, COUNT(inner)) && ends_with(to, "std::") &&
        ttp_name_starts(word.end, end, "::"))
        return word.end + 2;
    const char *behind = put_standard(to, word, end);
    if (behind != NULL)
        return behind;
    if (is_class_again(to, word))
        put_bytes(to, word.at + 6, (size_t)(word.end - word.at) - 6);
    else
        put_bytes(to, at, (size_t)(word.end - at));
    return word.end;
}

/* Parameters of a function in which something is declared say little. */
static const char *put_round(struct writing *to, const char *at, const char *end, bool is_called)
{
    const char *group = is_called ? ttp_name_skip_group(at, end) : NULL;
    if (group != NULL && !ttp_name_starts(at, end, "(anonymous ")) {
        const char *behind = ttp_name_skip_qualifiers(group, end);
        if (ttp_name_starts(behind, end, "::"))
            return behind;
    }
    put_bytes(to, at, 1);
    return at + 1;
}

static const char *put_next(struct writing *to, const char *at, struct ttp_name_span text,
                            unsigned depth)
{
    const char *end = text.end, *group = NULL;
    if (ttp_name_is_word(*at))
        return put_word(to, at, end);
    if (*at == '<')
        return put_angle(to, at, end, depth);
    if (*at == '(')
        return put_round(to, at, end,
                         at > text.at && (ttp_name_is_word(at[-1]) || strchr(">})']", at[-1])));
    if (ttp_name_starts(at, end, "{lambda(") || ttp_name_starts(at, end, "'lambda'(")) {
        group = ttp_name_skip_group(at + (*at == '{' ? 7 : 8), end);
        put_bytes(to, at, *at == '{' ? 7 : 8);
    } else if (ttp_name_starts(at, end, "[abi:")) {
        group = ttp_name_skip_group(at, end);
    }
    if (group != NULL)
        return group;
    if (*at != ' ' || at + 1 == end || at[1] != '>') /* "> >" */
        put_bytes(to, at, 1);
    return at + 1;
}

static void put_text(struct writing *to, struct ttp_name_span text, unsigned depth)
{
    for (const char *at = text.at; at < text.end;)
        at = put_next(to, at, text, depth);
}

/* ---- names ---- */

/* What is no function itself, but made for one. */
static size_t prefix_of(const char *at, const char *end)
{
    static const char *const prefixes[] = {
        "non-virtual thunk to ",        "virtual thunk to ",
        "covariant return thunk to ",   "global constructors keyed to ",
        "global destructors keyed to ", "guard variable for ",
        "TLS init function for ",       "TLS wrapper function for ",
        "transaction clone for ",       "non-transaction clone for "};
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (ttp_name_starts(at, end, prefixes[i]))
            return strlen(prefixes[i]);
    return 0;
}

static void put_pieces(struct writing *to, const struct anatomy *pieces,
                       enum ttp_name_detail detail)
{
    static const unsigned depths[TTP_NAME_DETAILS] = {0, 1, 0, 2, ALL_DEPTH};
    to->depth = depths[detail];
    to->dropped = detail == TTP_NAME_SHORT ? pieces->name.end : NULL;
    put_text(to, pieces->name, to->depth);
    to->dropped = NULL;
    if (detail >= TTP_NAME_PARAMETERS)
        put_text(to, pieces->parameters, to->depth);
    put_bytes(to, pieces->tail.at, (size_t)(pieces->tail.end - pieces->tail.at));
}

size_t ttp_simple_name(char *out, const char *name, size_t size_bytes, enum ttp_name_detail detail)
{
    struct anatomy pieces;
    struct writing to = {.out = out};
    const char *end = name + size_bytes;
    size_t prefix = size_bytes <= TTP_SIMPLE_NAME_MAX ? prefix_of(name, end) : size_bytes;
    bool is_known = prefix < size_bytes && take_apart(name + prefix, end, &pieces, TYPES_DEPTH);
    if (is_known)
        put_pieces(&to, &pieces, detail);
    if (!is_known || to.size == 0) {
        to.size = 0;
        put_bytes(&to, name, size_bytes);
    } else if (prefix > 0) {
        memmove(out + prefix, out, to.size);
        memcpy(out, name, prefix);
        to.size += prefix;
    }
    out[to.size] = '\0';
    return to.size;
}
