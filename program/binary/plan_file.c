/* Plans of system calls, made or found. */
#include "program/binary/plan_file.h"

#include <stdlib.h>
#include <string.h>

#include "program/binary/code/plan_make.h"
#include "program/binary/plan_code.h"

/* Whether the folder has it, and it is one, and whole. */
static bool find_plan(const struct tool_plan_wish *wish, const struct tool_plan_module *module,
                      struct tool_plan_given *given)
{
    struct ttp_plan_head *head = &given->head;
    tool_plan_name(given->name, module->content, TTP_PLAN_SUFFIX);
    if (wish->cache == NULL || wish->cache->fd < 0)
        return false;
    given->bytes = tool_plan_read(wish->cache, given->name, TTP_PLAN_BYTES_MAX, &given->size_bytes);
    if (given->bytes != NULL && given->size_bytes >= sizeof *head) {
        memcpy(head, given->bytes, sizeof *head);
        if (head->magic == TTP_PLAN_MAGIC && head->version == TTP_PLAN_VERSION &&
            head->head_bytes == sizeof *head && head->total_bytes == given->size_bytes &&
            memcmp(head->content, module->content, sizeof head->content) == 0)
            return true;
    }
    free(given->bytes);
    given->bytes = NULL;
    return false;
}

static const char *make_plan(struct tool_plan_module *module, struct tool_plan_given *given)
{
    struct tool_plan_code code;
    const char *reason = tool_plan_code_take(&code, &module->input, tool_code_open);
    if (reason == NULL)
        reason = tool_plan_make(&code.code, module->content, &given->bytes, &given->size_bytes);
    tool_plan_code_close(&code);
    if (reason == NULL)
        memcpy(&given->head, given->bytes, sizeof given->head);
    return reason;
}

static const char *give_wish(const struct tool_plan_wish *wish, struct tool_plan_module *module,
                             struct tool_plan_given *given)
{
    const char *reason = NULL;
    given->was_cached =
        tool_plan_module_find(module, wish->cache) && find_plan(wish, module, given);
    if (!given->was_cached) {
        if ((reason = tool_plan_module_read(module, wish->cache)) != NULL)
            return reason;
        given->was_cached = find_plan(wish, module, given); /* another file has the same bytes */
    }
    given->is_kept = given->was_cached;
    if (given->was_cached || (reason = make_plan(module, given)) != NULL)
        return reason;
    given->is_kept = wish->cache != NULL && wish->cache->fd >= 0 &&
                     tool_plan_write(wish->cache, given->name, given->bytes, given->size_bytes);
    return NULL;
}

const char *tool_plan_give(const struct tool_plan_wish *wish, struct tool_plan_given *given)
{
    struct tool_plan_module module;
    *given = (struct tool_plan_given){0};
    const char *reason = tool_plan_module_open(&module, wish->path);
    if (reason == NULL)
        reason = give_wish(wish, &module, given);
    tool_plan_module_close(&module);
    return reason;
}

void tool_plan_given_close(struct tool_plan_given *given)
{
    free(given->bytes);
    *given = (struct tool_plan_given){0};
}
