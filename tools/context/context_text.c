/* The text of a log's line narrows: a stack whose last functions have nothing of it is not shown
 * where another one's have. */
#include <stdlib.h>
#include <string.h>

#include "tools/context/context_view.h"
#include "tools/io/json.h"

static int compare_printed(const void *a, const void *b)
{
    const struct tool_context_answer *one = a, *other = b;
    if (one->printed.score != other->printed.score)
        return one->printed.score > other->printed.score ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

/* Functions that all stacks end with, a helper's: they tell no stack from another. */
static uint32_t count_same(const struct tool_context_wanted *wanted)
{
    const struct tool_context_answer *first = wanted->answers;
    uint32_t same = 0;
    for (; wanted->answer_count > 1 && same < first->depth; same++)
        for (size_t i = 1; i < wanted->answer_count; i++) {
            const struct tool_context_answer *other = &wanted->answers[i];
            if (other->depth <= same ||
                other->ids[other->depth - 1 - same] != first->ids[first->depth - 1 - same])
                return same;
        }
    return same;
}

/* Returns how many have something of it. */
static size_t judge_printers(struct tool_printers *printers, struct tool_context_wanted *wanted,
                             uint32_t skipped, enum tool_text_how how)
{
    size_t count = 0;
    for (size_t i = 0; i < wanted->answer_count; i++) {
        struct tool_context_answer *answer = &wanted->answers[i];
        answer->printed = tool_printers_judge(printers, answer->ids, answer->depth, skipped, how);
        count += answer->printed.score != 0;
    }
    return count;
}

void tool_context_narrow(struct tool_contexts *contexts, struct tool_context_wanted *wanted,
                         const char *text, size_t size_bytes)
{
    struct tool_printers *printers = contexts->printers;
    for (size_t i = 0; i < wanted->answer_count && !wanted->has_text; i++)
        wanted->answers[i].number = (uint32_t)i;
    wanted->has_text = true;
    wanted->without = 0;
    tool_printers_look(printers, text, size_bytes);
    size_t with = 0;
    uint32_t same = count_same(wanted);
    for (int how = TOOL_TEXT_WHOLE; with == 0 && how <= TOOL_TEXT_CUT; how++) {
        with = same != 0 ? judge_printers(printers, wanted, same, (enum tool_text_how)how) : 0;
        if (with == 0)
            with = judge_printers(printers, wanted, 0, (enum tool_text_how)how);
    }
    if (with != 0)
        wanted->without = wanted->answer_count - with;
    if (wanted->answer_count > 1)
        qsort(wanted->answers, wanted->answer_count, sizeof *wanted->answers, compare_printed);
}

/* -- without values -- */

struct list {
    struct tool_printed *all;
    size_t count, capacity;
};

static void keep_printed(void *context, const struct tool_printed *printed)
{
    struct list *list = context;
    tool_grow((void **)&list->all, &list->capacity, list->count + 1, sizeof *list->all);
    list->all[list->count++] = *printed;
}

static int compare_kept(const void *a, const void *b)
{
    const struct tool_printed *one = a, *other = b;
    if (one->bytes != other->bytes)
        return one->bytes > other->bytes ? -1 : 1;
    return one->at < other->at ? -1 : one->at > other->at;
}

static const char *name_of(const struct tool_printers *printers, const struct tool_printed *printed)
{
    return printers->names[printed->at] != NULL ? printers->names[printed->at] : "?";
}

static void print_list(const struct tool_printers *printers, const struct list *list,
                       struct tool_output *out)
{
    char text[TOOL_PRINTED_BYTES];
    for (size_t i = 0; i < list->count; i++)
        tool_output_printf(out, "%s: \"%s\"\n", name_of(printers, &list->all[i]),
                           tool_printers_string(list->all[i].string, text));
}

static void json_list(const struct tool_printers *printers, const struct list *list,
                      struct tool_output *out)
{
    char text[TOOL_PRINTED_BYTES];
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '[');
    for (size_t i = 0; i < list->count; i++) {
        tool_json_begin(&json, NULL, '{');
        tool_json_text(&json, "function", name_of(printers, &list->all[i]));
        tool_json_text(&json, "string", tool_printers_string(list->all[i].string, text));
        tool_json_number(&json, "bytes", list->all[i].bytes);
        tool_json_end(&json, '}');
    }
    tool_json_end(&json, ']');
    tool_output_text(out, "\n");
}

int tool_context_print_printers(struct tool_contexts *contexts, const char *text, bool json,
                                struct tool_output *out)
{
    struct tool_printers *printers = contexts->printers;
    struct list list = {0};
    tool_printers_look(printers, text, strlen(text));
    for (int how = TOOL_TEXT_WHOLE; list.count == 0 && how <= TOOL_TEXT_CUT; how++)
        tool_printers_each(printers, (enum tool_text_how)how, keep_printed, &list);
    if (list.count > 1)
        qsort(list.all, list.count, sizeof *list.all, compare_kept);
    if (json)
        json_list(printers, &list, out);
    else
        print_list(printers, &list, out);
    int status = list.count == 0 ? TOOL_FINDING : TOOL_OK;
    free(list.all);
    return status;
}
