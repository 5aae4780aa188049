/* Numbers, times and ranges as people write them. No locale, no silent overflow. */
#include <string.h>

#include <tracetape/writer.h>

#include "base/text.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool scan_u64(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t sum = 0;
    if (!is_digit(*at))
        return false;
    for (; is_digit(*at); at++)
        if (__builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
            return false;
    *value = sum;
    *text = at;
    return true;
}

bool tool_parse_u64(const char *text, void *into)
{
    uint64_t value = 0;
    if (!scan_u64(&text, &value) || *text != '\0')
        return false;
    *(uint64_t *)into = value;
    return true;
}

bool tool_parse_u32(const char *text, void *into)
{
    uint64_t value = 0;
    if (!tool_parse_u64(text, &value) || value == 0 || value > UINT32_MAX)
        return false;
    *(uint32_t *)into = (uint32_t)value;
    return true;
}

bool tool_parse_id(const char *text, void *into)
{
    struct tool_id *id = into;
    id->given = true;
    return tool_parse_u64(text, &id->value);
}

bool tool_parse_time(const char *text, void *into)
{
    struct tool_time *time = into;
    time->given = true;
    time->relative = *text == '+';
    text += time->relative;
    time->has_unit = text[strspn(text, "0123456789")] != '\0';
    return ttp_time_scan(&text, &time->value_ns) && *text == '\0';
}

bool tool_parse_range(const char *text, void *into)
{
    struct tool_range *range = into;
    range->given = true;
    range->from = 0;
    range->to = UINT64_MAX;
    if (is_digit(*text) && !scan_u64(&text, &range->from))
        return false;
    if (strncmp(text, "..", 2) != 0)
        return false;
    text += 2;
    if (*text != '\0' && (!scan_u64(&text, &range->to) || *text != '\0'))
        return false;
    return range->from <= range->to;
}

bool tool_parse_resolution(const char *text, void *into)
{
    uint64_t *resolution = into;
    if (strcmp(text, "exact") == 0) {
        *resolution = 1;
        return true;
    }
    if (strcmp(text, "none") == 0) {
        *resolution = TTAPE_TIME_NONE;
        return true;
    }
    return ttp_time_scan(&text, resolution) && *text == '\0' && *resolution > 0 &&
           *resolution != TTAPE_TIME_NONE;
}

bool tool_parse_level(const char *text, void *into)
{
    uint64_t level = 0;
    if (!tool_parse_u64(text, &level) || level > TTAPE_LEVEL_MAX)
        return false;
    *(int32_t *)into = (int32_t)level;
    return true;
}

/* Binary multiples, as file sizes are. */
bool tool_parse_size(const char *text, void *into)
{
    static const char units[] = "KMGTkmgt";
    uint64_t whole = 0, tenths = 0;
    if (!scan_u64(&text, &whole))
        return false;
    if (*text == '.' && is_digit(text[1])) {
        tenths = (uint64_t)(text[1] - '0');
        text += 2;
    }
    const char *unit = *text != '\0' ? strchr(units, *text) : NULL;
    uint32_t shift = unit != NULL ? 10 * ((uint32_t)(unit - units) % 4 + 1) : 0;
    text += unit != NULL;
    if (*text != '\0' || whole == 0 || whole >> (63 - shift) != 0 || (tenths != 0 && shift == 0))
        return false;
    *(uint64_t *)into = (whole << shift) + (tenths << shift) / 10;
    return true;
}

bool tool_parse_file(const char *text, void *into)
{
    struct tool_files *files = into;
    tool_grow((void **)&files->paths, &files->capacity, files->count + 1, sizeof *files->paths);
    files->paths[files->count++] = text;
    return true;
}

int tool_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
