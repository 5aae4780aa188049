/* Each string is looked for in a text once, when a stack has it. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "tools/context/text/text_printers.h"

#define SURE 2u /* a byte of a string that the innermost function has, or is called with */
#define WEAK 1u /* of one that a function around it has */

enum { SURE_MARKS, WEAK_MARKS };

void tool_printers_open(struct tool_printers *printers, struct tool_strings *strings,
                        const struct tool_edges *edges)
{
    *printers = (struct tool_printers){.strings = *strings};
    *strings = (struct tool_strings){0};
    printers->function_count = edges->function_count;
    printers->matched =
        tool_allocate(printers->strings.string_count + 1, sizeof *printers->matched);
    printers->names = tool_allocate(edges->function_count + 1, sizeof *printers->names);
    for (uint32_t i = 1; i < edges->function_count; i++) {
        const char *name = edges->functions[i].name;
        *tool_map_at(&printers->function_by_id, edges->functions[i].id, 0) = i + 1;
        printers->names[i] = name != NULL ? tool_copy_text(name, strlen(name)) : NULL;
    }
}

void tool_printers_close(struct tool_printers *printers)
{
    for (size_t i = 0; i < printers->function_count; i++)
        free(printers->names[i]);
    free(printers->names);
    ttp_region_close(&printers->strings.region);
    tool_map_close(&printers->function_by_id);
    free(printers->matched);
    free(printers->bytes);
    free(printers->marks[SURE_MARKS]);
    free(printers->marks[WEAK_MARKS]);
    *printers = (struct tool_printers){0};
}

void tool_printers_look(struct tool_printers *printers, const char *text, size_t size_bytes)
{
    if (size_bytes > printers->bytes_capacity || printers->bytes == NULL) {
        free(printers->bytes);
        free(printers->marks[SURE_MARKS]);
        free(printers->marks[WEAK_MARKS]);
        printers->bytes = tool_allocate(size_bytes + 1, 1);
        printers->marks[SURE_MARKS] = tool_allocate(size_bytes + 1, 1);
        printers->marks[WEAK_MARKS] = tool_allocate(size_bytes + 1, 1);
        printers->bytes_capacity = size_bytes;
    }
    memcpy(printers->bytes, text, size_bytes);
    printers->text = (struct tool_text){printers->bytes, size_bytes};
    printers->stamp++;
}

/* How much of the text a string has. */
static const struct tool_text_found *match(struct tool_printers *printers, uint32_t string,
                                           enum tool_text_how how)
{
    struct tool_string_matched *matched = &printers->matched[string];
    const struct tool_string *of = &printers->strings.strings[string];
    if (matched->stamp[how] != printers->stamp) {
        matched->stamp[how] = printers->stamp;
        matched->found[how] = tool_text_match((struct tool_text){of->text, of->size_bytes},
                                              printers->text, how, NULL);
    }
    return &matched->found[how];
}

static size_t first_use(const struct tool_strings *strings, uint32_t function)
{
    struct ttp_bisect s = {.end = strings->use_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, strings->uses[s.middle].function < function);
    return s.first;
}

/* A function of a stack, and those beside it; 0: none, or not known. */
struct place {
    uint32_t function, around, inner;
    bool is_innermost;
    bool is_any; /* where nothing is said of those beside it */
};

/* Marks what a function has of the text, and keeps the string that has most. */
static void mark_uses(struct tool_printers *printers, const struct place *place, uint32_t at,
                      enum tool_text_how how, struct tool_printed *printed)
{
    const struct tool_strings *strings = &printers->strings;
    for (size_t i = first_use(strings, place->function);
         i < strings->use_count && strings->uses[i].function == place->function; i++) {
        const struct tool_string_use *use = &strings->uses[i];
        if (use->around != 0 && use->around != place->around && !place->is_any)
            continue;
        const struct tool_text_found *found = match(printers, use->string, how);
        if (found->bytes == 0)
            continue;
        const struct tool_string *of = &strings->strings[use->string];
        bool is_sure = (place->is_innermost && !use->is_inlined) || place->is_any ||
                       use->to == TOOL_STRING_ANY || (use->to != 0 && use->to == place->inner);
        (void)tool_text_match((struct tool_text){of->text, of->size_bytes}, printers->text, how,
                              printers->marks[is_sure ? SURE_MARKS : WEAK_MARKS]);
        if (found->bytes > printed->bytes) {
            printed->bytes = found->bytes;
            printed->at = at;
            printed->string = found->line;
        }
    }
}

static uint32_t function_of(const struct tool_printers *printers, uint64_t id)
{
    uint32_t found = ttp_key_map_find(&printers->function_by_id, id, 0);
    return found != 0 ? found - 1 : 0;
}

static void clear_marks(struct tool_printers *printers)
{
    memset(printers->marks[SURE_MARKS], 0, printers->text.size_bytes);
    memset(printers->marks[WEAK_MARKS], 0, printers->text.size_bytes);
}

/* What was marked. */
static void add_up(const struct tool_printers *printers, struct tool_printed *printed)
{
    printed->bytes = 0;
    for (size_t i = 0; i < printers->text.size_bytes; i++) {
        bool is_sure = printers->marks[SURE_MARKS][i] != 0;
        bool is_weak = printers->marks[WEAK_MARKS][i] != 0;
        printed->bytes += is_sure || is_weak;
        printed->score += is_sure ? SURE : is_weak ? WEAK : 0;
    }
}

struct tool_printed tool_printers_judge(struct tool_printers *printers, const uint64_t *ids,
                                        uint32_t depth, uint32_t skipped, enum tool_text_how how)
{
    struct tool_printed printed = {0};
    clear_marks(printers);
    for (uint32_t i = skipped; i < TOOL_PRINTERS_DEEP && i < depth; i++) {
        uint32_t at = depth - 1 - i;
        struct place place = {.function = function_of(printers, ids[at]),
                              .around = at > 0 ? function_of(printers, ids[at - 1]) : 0,
                              .inner = i > 0 ? function_of(printers, ids[at + 1]) : 0,
                              .is_innermost = i == 0};
        if (place.function != 0)
            mark_uses(printers, &place, at, how, &printed);
    }
    add_up(printers, &printed);
    return printed;
}

void tool_printers_each(struct tool_printers *printers, enum tool_text_how how,
                        tool_printers_take take, void *context)
{
    const struct tool_strings *strings = &printers->strings;
    for (size_t i = 0; i < strings->use_count; i++) {
        const struct place place = {.function = strings->uses[i].function, .is_any = true};
        struct tool_printed printed = {0};
        if (i > 0 && strings->uses[i - 1].function == place.function)
            continue;
        clear_marks(printers);
        mark_uses(printers, &place, place.function, how, &printed);
        add_up(printers, &printed);
        if (printed.score != 0)
            take(context, &printed);
    }
}

const char *tool_printers_string(struct tool_text string, char text[TOOL_PRINTED_BYTES])
{
    size_t size = string.size_bytes < TOOL_PRINTED_MOST ? string.size_bytes : TOOL_PRINTED_MOST;
    while (size < string.size_bytes && size > 0 && ((uint8_t)string.bytes[size] & 0xC0) == 0x80)
        size--;
    text[ttp_escape(text, TTP_ESCAPE_TERMINAL, string.bytes, size)] = '\0';
    return text;
}

bool *tool_printers_ends(struct tool_printers *printers)
{
    const struct tool_strings *strings = &printers->strings;
    bool *ends = tool_allocate(printers->function_count + 1, sizeof *ends);
    bool is_any = false;
    for (int how = TOOL_TEXT_WHOLE; !is_any && how <= TOOL_TEXT_CUT; how++)
        for (size_t i = 0; i < strings->use_count; i++) {
            const struct tool_string_use *use = &strings->uses[i];
            if (match(printers, use->string, (enum tool_text_how)how)->bytes == 0)
                continue;
            is_any = ends[use->function] = true;
            if (use->to != 0 && use->to != TOOL_STRING_ANY)
                ends[use->to] = true;
        }
    if (is_any)
        return ends;
    free(ends);
    return NULL;
}
