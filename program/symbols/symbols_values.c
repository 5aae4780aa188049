/* Texts of values, as the symbol helper has said them: it may have been taken over by a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "program/symbols/symbols.h"

static const char *next_text(ttape_string *texts)
{
    const char *text = texts->data;
    const char *end = texts->size_bytes > 0 ? memchr(text, 0, texts->size_bytes) : NULL;
    if (end == NULL)
        return NULL;
    texts->size_bytes -= (size_t)(end + 1 - text);
    texts->data = end + 1;
    return text;
}

static bool next_number(ttape_string *texts, int64_t *number)
{
    char *end;
    const char *text = next_text(texts);
    if (text == NULL)
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

bool tool_symbols_value_next(ttape_string *texts, struct tool_symbols_value *value)
{
    int64_t count;
    value->name = next_text(texts);
    value->type = value->name != NULL ? next_text(texts) : NULL;
    if (value->type == NULL || !next_number(texts, &count) || count < 0 ||
        (size_t)count > texts->size_bytes)
        return false;
    value->constant_count = (uint32_t)count;
    return true;
}

bool tool_symbols_constant_next(ttape_string *texts, int64_t *value, const char **name)
{
    return next_number(texts, value) && (*name = next_text(texts)) != NULL;
}
