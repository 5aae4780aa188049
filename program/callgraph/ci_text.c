/* Words, strings, and braces in each other. */
#include "program/callgraph/ci_text.h"

#include <string.h>

#define DEPTH_MOST 8u

struct reading {
    const char *at, *end;
    size_t line;
    tool_ci_take take;
    void *context;
    ttape_string from, to;
    bool is_edge[DEPTH_MOST + 1];
    uint32_t depth;
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}
static bool is(ttape_string word, const char *other)
{
    return word.size_bytes == strlen(other) && memcmp(word.data, other, word.size_bytes) == 0;
}

static void skip_spaces(struct reading *reading)
{
    for (; reading->at < reading->end && is_space(*reading->at); reading->at++)
        reading->line += *reading->at == '\n';
}

static ttape_string take_word(struct reading *reading)
{
    const char *start = reading->at;
    while (reading->at < reading->end && is_word(*reading->at))
        reading->at++;
    return (ttape_string){start, (size_t)(reading->at - start)};
}

/* Behind its first quote; what a backslash hides is no end. */
static bool take_string(struct reading *reading, ttape_string *string)
{
    const char *start = ++reading->at;
    for (; reading->at < reading->end && *reading->at != '"'; reading->at++) {
        reading->line += *reading->at == '\n';
        if (*reading->at == '\\' && reading->at + 1 < reading->end)
            reading->at++;
    }
    if (reading->at == reading->end)
        return false;
    *string = (ttape_string){start, (size_t)(reading->at++ - start)};
    return true;
}

static bool take_value(struct reading *reading, ttape_string key)
{
    ttape_string value;
    if (reading->at == reading->end)
        return false;
    if (*reading->at == '{') {
        reading->at++;
        if (reading->depth == DEPTH_MOST)
            return false;
        reading->is_edge[++reading->depth] = is(key, "edge");
        if (reading->is_edge[reading->depth])
            reading->from = reading->to = (ttape_string){0};
        return true;
    }
    if (*reading->at != '"')
        return take_word(reading).size_bytes != 0;
    if (!take_string(reading, &value))
        return false;
    if (reading->is_edge[reading->depth] && is(key, "sourcename"))
        reading->from = value;
    else if (reading->is_edge[reading->depth] && is(key, "targetname"))
        reading->to = value;
    return true;
}

static bool close_brace(struct reading *reading)
{
    reading->at++;
    if (reading->depth == 0)
        return false;
    if (reading->is_edge[reading->depth--] && reading->from.size_bytes != 0 &&
        reading->to.size_bytes != 0)
        reading->take(reading->context, reading->from, reading->to);
    return true;
}

size_t tool_ci_parse(const char *text, size_t size_bytes, tool_ci_take take, void *context)
{
    struct reading reading = {
        .at = text, .end = text + size_bytes, .line = 1, .take = take, .context = context};
    for (skip_spaces(&reading); reading.at < reading.end; skip_spaces(&reading)) {
        if (*reading.at == '}') {
            if (!close_brace(&reading))
                return reading.line;
            continue;
        }
        ttape_string key = take_word(&reading);
        skip_spaces(&reading);
        if (key.size_bytes == 0 || reading.at == reading.end || *reading.at++ != ':')
            return reading.line;
        skip_spaces(&reading);
        if (!take_value(&reading, key))
            return reading.line;
    }
    return reading.depth == 0 ? 0 : reading.line;
}

ttape_string tool_ci_name(ttape_string title)
{
    for (size_t i = title.size_bytes; i > 0; i--)
        if (title.data[i - 1] == ':')
            return (ttape_string){title.data + i, title.size_bytes - i};
    return title;
}
