/* Angle brackets are signs of comparison as well: demanglers put expressions in round brackets, so
 * what does not close in those was none. */
#include "base/names/name_scan.h"

static const char *const signs[] = {
    "()", "[]", "<=>", "->*", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "+",
    "-",  "*",  "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  "<",  ">",  ",",
};
static const char *const words[] = {" new[]", " new", " delete[]", " delete", " co_await"};
static const char *const qualifiers[] = {" const", " volatile", " noexcept", " restrict",
                                         " &&",    " &",        "&&",        "&"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *ttp_name_skip_sign(const char *at, const char *end)
{
    for (size_t i = 0; i < COUNT(signs); i++)
        if (ttp_name_starts(at, end, signs[i]))
            return at + strlen(signs[i]);
    for (size_t i = 0; i < COUNT(words); i++) {
        const char *behind = at + strlen(words[i]);
        if (ttp_name_starts(at, end, words[i]) && (behind == end || !ttp_name_is_word(*behind)))
            return behind;
    }
    if (!ttp_name_starts(at, end, "\"\" "))
        return NULL;
    for (at += 3; at < end && ttp_name_is_word(*at); at++) {
    }
    return at;
}

const char *ttp_name_skip_operator(const char *begin, const char *at, const char *end)
{
    if (!ttp_name_starts(at, end, "operator") || (at > begin && ttp_name_is_word(at[-1])))
        return NULL;
    return ttp_name_skip_sign(at + 8, end);
}

static bool is_opening(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }

static char opening(char closing)
{
    return closing == ')' ? '(' : closing == ']' ? '[' : closing == '}' ? '{' : '<';
}

const char *ttp_name_skip_group(const char *at, const char *end)
{
    char open[TTP_NAME_NESTING];
    size_t depth = 0;
    for (const char *begin = at; at < end; at++) {
        const char *sign = *at == 'o' ? ttp_name_skip_operator(begin, at, end) : NULL;
        if (sign != NULL) {
            at = sign - 1;
            continue;
        }
        if (is_opening(*at)) {
            if (depth == TTP_NAME_NESTING)
                return NULL;
            open[depth++] = *at;
        } else if (*at == '>') {
            depth -= at[-1] != '-' && open[depth - 1] == '<';
        } else if (*at == ')' || *at == ']' || *at == '}') {
            while (depth > 0 && open[depth - 1] == '<')
                depth--;
            if (depth == 0 || open[depth - 1] != opening(*at))
                return NULL;
            depth--;
        }
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

const char *ttp_name_skip_qualifiers(const char *at, const char *end)
{
    for (size_t i = 0; i < COUNT(qualifiers); i++) {
        if (!ttp_name_starts(at, end, qualifiers[i]))
            continue;
        const char *behind = at + strlen(qualifiers[i]);
        if (behind < end && ttp_name_is_word(*behind))
            continue;
        at = behind;
        i = (size_t)-1;
    }
    return at;
}

const char *ttp_name_skip_argument(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end && *at != ',') {
        const char *sign = *at == 'o' ? ttp_name_skip_operator(begin, at, end) : NULL,
                   *group = NULL;
        if (sign == NULL && is_opening(*at))
            group = ttp_name_skip_group(at, end);
        at = sign != NULL ? sign : group != NULL ? group : at + 1;
    }
    return at;
}
