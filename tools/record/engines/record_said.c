#include "tools/record/engines/record_said.h"

#include <stdlib.h>
#include <string.h>

#include "program/binary/plans/plan_cache.h"
#include "program/binary/plans/plan_module.h"
#include "tools/command/tool.h"
#include "tools/record/engines/record_asked.h"
#include "tools/record/values/called_values.h"

static int compare_functions(const void *a, const void *b)
{
    return strcmp(((const struct ttp_said_function *)a)->name,
                  ((const struct ttp_said_function *)b)->name);
}

/* Sorted, each name once. Returns how many. */
static uint32_t list_functions(const struct tool_record_patch *patch,
                               const struct tool_record_asked *asked,
                               struct ttp_said_function *functions)
{
    uint32_t count = 0, kept = 0;
    for (size_t i = 0; i < asked->count && count < TTP_SAID_FUNCTIONS_MAX; i++)
        count += tool_called_values_said(&patch->values, asked->names[i].name, &functions[count]);
    qsort(functions, count, sizeof *functions, compare_functions);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(functions[kept - 1].name, functions[i].name) != 0)
            functions[kept++] = functions[i];
    return kept;
}

static void put_file(struct tool_record_patch *patch, struct ttp_said_head *head)
{
    char name[TOOL_PLAN_NAME_BYTES];
    uint8_t content[TTP_PLAN_CONTENT_BYTES];
    const struct ttp_said_function *functions = (const struct ttp_said_function *)(head + 1);
    for (uint32_t i = 0; i < head->count; i++)
        for (uint32_t k = 0; k < (uint32_t)functions[i].given + functions[i].returned; k++)
            head->has_floats |= ttp_said_is_float(&functions[i].places[k]);
    ttp_said_content(content, patch->choice);
    tool_plan_name(name, content, TTP_SAID_SUFFIX);
    (void)tool_plan_write(patch->cache, name, head, sizeof *head + head->count * sizeof *functions);
    tool_record_patch_pass(patch, name);
}

void tool_record_said_put(struct tool_record_patch *patch)
{
    struct tool_record_asked asked = {.called = &patch->called};
    bool is_any = patch->values.hand_count != 0 || tool_record_values_have_sites(&patch->values);
    if (!is_any || patch->symbols == NULL || patch->image == NULL)
        return;
    tool_record_asked_add(&asked, patch->image);
    for (char **library = patch->own; library != NULL && *library != NULL; library++)
        tool_record_asked_add(&asked, *library);
    struct ttp_said_head *head = tool_allocate(TTP_SAID_BYTES_MAX, 1);
    *head = (struct ttp_said_head){.magic = TTP_SAID_MAGIC, .patch_version = TTP_PATCH_VERSION};
    head->count = list_functions(patch, &asked, (struct ttp_said_function *)(head + 1));
    if (head->count != 0)
        put_file(patch, head);
    free(head);
    tool_record_asked_close(&asked);
}
