#define _GNU_SOURCE /* asprintf */
#include "tools/record/record_unrecorded.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/io/unrecorded_words.h"

/* `text` is consumed; NULL: no memory, or none was there. */
static char *add(char *text, bool is_first, uint64_t count, uint32_t reason, const char *example)
{
    char *more = NULL;
    if (text == NULL)
        return NULL;
    const char *words = tool_unrecorded_words(reason), *between = is_first ? ": " : ", ";
    int size = example == NULL ? asprintf(&more, "%s%s%" PRIu64 " %s", text, between, count, words)
                               : asprintf(&more, "%s%s%" PRIu64 " %s ('%s')", text, between, count,
                                          words, example);
    free(text);
    return size < 0 ? NULL : more;
}

static bool is_any(const ttape_recording *recording, ttape_unrecorded reason)
{
    const char *example;
    return ttape_recording_get_unrecorded(recording, reason, &example) != 0;
}

const char *tool_record_unrecorded_hint(const ttape_recording *recording, bool is_patched)
{
    if (is_any(recording, TTAPE_UNRECORDED_STATIC) || is_any(recording, TTAPE_UNRECORDED_SET_UID) ||
        is_any(recording, TTAPE_UNRECORDED_OTHER_MACHINE))
        return "; record --syscalls shows at least what such a program asks of the kernel";
    if (!is_patched && is_any(recording, TTAPE_UNRECORDED_NOT_INSTRUMENTED))
        return "; with --patch . their functions are patched";
    return "";
}

char *tool_record_unrecorded(const ttape_recording *recording)
{
    char *text = NULL;
    uint64_t total = 0;
    const char *example;
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++)
        total += ttape_recording_get_unrecorded(recording, (ttape_unrecorded)i, &example);
    if (total == 0 || asprintf(&text, "%" PRIu64 " process%s", total, total == 1 ? "" : "es") < 0)
        return NULL;
    bool is_first = true;
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++) {
        uint64_t count = ttape_recording_get_unrecorded(recording, (ttape_unrecorded)i, &example);
        if (count == 0)
            continue;
        text = add(text, is_first, count, i, example);
        is_first = false;
    }
    return text;
}
