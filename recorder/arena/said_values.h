/* What a person says of values of libraries' functions (record --args=REGEX@arg1/s): a file in the
 * folder of plans, of one recording. The command makes it when it starts, of the names that the
 * program and its own libraries ask for; the runtime looks there once, for what it patches.
 *
 *     head        struct ttp_said_head
 *     functions   struct ttp_said_function, sorted by name
 *
 * Its name: the choice's number and 8 zeros, in hexadecimal, and the suffix. */
#ifndef TTP_WRITER_SAID_VALUES_H
#define TTP_WRITER_SAID_VALUES_H

#include <string.h>

#include "recorder/arena/patch_plan.h"

#define TTP_SAID_MAGIC         0x6469617374746174ull /* "tattsaid" */
#define TTP_SAID_SUFFIX        ".said"
#define TTP_SAID_PLACES        28u /* of a function: of what it is given, then of what it returns */
#define TTP_SAID_NAME_BYTES    128u
#define TTP_SAID_FUNCTIONS_MAX 1024u

struct ttp_said_head {
    uint64_t magic;
    uint32_t patch_version, count;
    uint32_t has_floats, reserved; /* any of them is in xmm0 to xmm7 */
};

struct ttp_said_function {
    char name[TTP_SAID_NAME_BYTES]; /* with a zero behind it */
    uint8_t given, returned, reads, reserved[5];
    struct ttp_value_place places[TTP_SAID_PLACES];
};

#define TTP_SAID_BYTES_MAX                                                                         \
    (sizeof(struct ttp_said_head) + TTP_SAID_FUNCTIONS_MAX * sizeof(struct ttp_said_function))

static inline bool ttp_said_is_float(const struct ttp_value_place *place)
{
    return place->at >= TTP_AT_XMM && place->at < TTP_AT_STACK;
}

static inline bool ttp_said_function_check(const struct ttp_said_function *function)
{
    return function->name[TTP_SAID_NAME_BYTES - 1] == '\0' &&
           function->given + function->returned <= (int)TTP_SAID_PLACES &&
           ttp_value_places_check(function->places, function->given) &&
           ttp_value_places_check(function->places + function->given, function->returned);
}

/* Whoever maps it believes nothing else. */
static inline bool ttp_said_check(const struct ttp_said_head *head, uint64_t size_bytes)
{
    const struct ttp_said_function *functions = (const struct ttp_said_function *)(head + 1);
    bool is_fine = size_bytes >= sizeof *head && head->magic == TTP_SAID_MAGIC &&
                   head->patch_version == TTP_PATCH_VERSION &&
                   head->count <= TTP_SAID_FUNCTIONS_MAX &&
                   size_bytes == sizeof *head + head->count * sizeof *functions;
    for (uint32_t i = 0; is_fine && i < head->count; i++)
        is_fine = ttp_said_function_check(&functions[i]);
    return is_fine;
}

/* What is said of a function; NULL: nothing. */
static inline const struct ttp_said_function *ttp_said_find(const struct ttp_said_head *head,
                                                            const char *name)
{
    const struct ttp_said_function *functions = (const struct ttp_said_function *)(head + 1);
    uint32_t from = 0, end = head->count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        int order = strcmp(functions[middle].name, name);
        if (order == 0)
            return &functions[middle];
        if (order < 0)
            from = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* The bytes that the file is named by. */
static inline void ttp_said_content(uint8_t content[TTP_PLAN_CONTENT_BYTES], uint64_t choice)
{
    for (uint32_t i = 0; i < TTP_PLAN_CONTENT_BYTES; i++)
        content[i] = i < sizeof choice ? (uint8_t)(choice >> 8 * i) : 0;
}

_Static_assert(sizeof(struct ttp_said_function) % 8 == 0, "places lie as they are read");

#endif
