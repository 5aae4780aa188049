/* Plans of system calls, made or found. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/binary/code/plan_make.h"
#include "tools/binary/plan_code.h"
#include "tools/binary/plan_store.h"

/* A plan in the cache, if it is one, and whole. */
static uint8_t *read_plan(int folder, const char *name, size_t *size_bytes)
{
    struct ttp_plan_head head;
    uint8_t *plan = tool_plan_read(folder, name, TTP_PLAN_BYTES_MAX, size_bytes);
    if (plan != NULL && *size_bytes >= sizeof head) {
        memcpy(&head, plan, sizeof head);
        if (head.magic == TTP_PLAN_MAGIC && head.version == TTP_PLAN_VERSION &&
            head.head_bytes == sizeof head && head.total_bytes == *size_bytes)
            return plan;
    }
    free(plan);
    return NULL;
}

static const char *make_plan(int fd, const struct stat *status, uint8_t **plan, size_t *size_bytes)
{
    struct tool_plan_code module;
    const char *reason = tool_plan_code_open(&module, fd, status, tool_code_open);
    if (reason == NULL)
        reason = tool_plan_make(&module.code, plan, size_bytes);
    tool_plan_code_close(&module);
    return reason;
}

const char *tool_plan_give(const struct tool_plan_wish *wish, struct tool_plan_given *given)
{
    struct stat status;
    uint8_t *plan = NULL;
    size_t size_bytes = 0;
    int fd, cache;
    *given = (struct tool_plan_given){0};
    const char *reason = tool_plan_module_open(wish->path, ".plan", &fd, &status, given->name);
    if (reason != NULL) {
        if (fd >= 0)
            close(fd);
        return reason;
    }
    cache = wish->no_cache ? -1 : tool_plan_cache_open();
    if (cache >= 0)
        plan = read_plan(cache, given->name, &size_bytes);
    given->was_cached = plan != NULL;
    if (plan == NULL)
        reason = make_plan(fd, &status, &plan, &size_bytes);
    if (plan != NULL) {
        memcpy(&given->head, plan, sizeof given->head);
        if (cache >= 0 && !given->was_cached) /* one that cannot be kept is made again next time */
            (void)tool_plan_write(cache, given->name, plan, size_bytes);
        if (wish->folder != NULL)
            reason = tool_plan_put(wish->folder, given->name, plan, size_bytes);
    }
    free(plan);
    close(fd);
    if (cache >= 0)
        close(cache);
    return reason;
}
