/* Patterns of function names in argument specifications, as the recorder understands them.
 *
 * They come from the recording: a regular expression of sixty bytes can ask regcomp for gigabytes,
 * and a back reference can take for ever. What is measured as too large matches nothing. */
#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#include "tools/convert/uftrace/uftrace.h"

#define NAME_MAX_BYTES 4096u /* longer ones match no regular expression */
#define EXPANDED_MAX   4096u /* positions of a regular expression after repeats are written out */
#define NESTING_MAX    32u

/* Groups that are open while a pattern is measured: positions so far, and those of the last item.
 */
struct measure {
    uint64_t sum[NESTING_MAX + 1], last[NESTING_MAX + 1];
    unsigned depth;
};

static const char *skip_brackets(const char *at)
{
    at += *at == '^';
    at += *at == ']';
    while (*at != '\0' && *at != ']')
        at++;
    return *at == ']' ? at + 1 : at;
}

/* The largest number of {N}, {N,}, {,M} or {N,M}. */
static uint64_t read_repeat(const char **at)
{
    uint64_t largest = 1, number = 0;
    for (; **at != '\0' && **at != '}'; (*at)++) {
        if (**at >= '0' && **at <= '9')
            number = number < EXPANDED_MAX ? number * 10 + (uint64_t)(**at - '0') : number;
        else
            number = 0;
        largest = number + 1 > largest ? number + 1 : largest;
    }
    *at += **at == '}';
    return largest;
}

static void repeat(struct measure *m, uint64_t times)
{
    m->sum[m->depth] += m->last[m->depth] * (times - 1);
    m->last[m->depth] *= times;
}

static void item(struct measure *m, uint64_t positions)
{
    m->last[m->depth] = positions;
    m->sum[m->depth] += positions;
}

static bool is_small(const char *at)
{
    struct measure m = {.depth = 0};
    while (*at != '\0') {
        char c = *at++;
        if (c == '\\' && (*at == '\0' || (*at >= '1' && *at <= '9')))
            return false; /* a back reference */
        if (c == '(') {
            if (m.depth++ == NESTING_MAX)
                return false;
            m.sum[m.depth] = m.last[m.depth] = 0;
        } else if (c == ')' && m.depth > 0) {
            uint64_t inner = m.sum[m.depth--] + 2;
            item(&m, inner);
        } else if (c == '+') {
            repeat(&m, 2);
        } else if (c == '{') {
            repeat(&m, read_repeat(&at));
        } else {
            at += c == '\\';
            at = c == '[' ? skip_brackets(at) : at;
            item(&m, 1);
        }
        if (m.sum[m.depth] > EXPANDED_MAX)
            return false;
    }
    return true;
}

static bool matches_regex(const char *pattern, const char *name)
{
    regex_t regex;
    if (!is_small(pattern) || strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES ||
        regcomp(&regex, pattern, REG_NOSUB | REG_EXTENDED) != 0)
        return false;
    bool found = regexec(&regex, name, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool is_glob(const char *type) { return type != NULL && strcmp(type, "glob") == 0; }

bool tool_uft_pattern_is_simple(const char *pattern, const char *type)
{
    return (type != NULL && strcmp(type, "simple") == 0) ||
           strpbrk(pattern, is_glob(type) ? "*?[]{}" : ".?*+-^$|()[]{}") == NULL;
}

bool tool_uft_pattern_matches(const char *pattern, const char *type, const char *name)
{
    if (tool_uft_pattern_is_simple(pattern, type))
        return strcmp(pattern, name) == 0;
    return is_glob(type) ? fnmatch(pattern, name, 0) == 0 : matches_regex(pattern, name);
}
