/* The table of a trace that is being recorded: each part is read once, and what follows from it is
 * kept. A call that is open where a part ends goes on in the next part of its thread. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/io/follow/growing_file.h"
#include "tools/syscalls/syscalls_view.h"

#define PAUSE_MS 20

/* ---- calls over several parts ---- */

void tool_sys_leave(struct tool_sys *view, const ttape_call *call, uint64_t number)
{
    size_t at = view->open_count;
    while (at > 0 && view->open[at - 1].number != number)
        at--;
    if (at-- == 0)
        return;
    tool_grow((void **)&view->left, &view->left_capacity, view->left_count + 1,
              sizeof(*view->left));
    view->left[view->left_count++] = (struct tool_sys_left){.call = view->open[at],
                                                            .stream = call->stream,
                                                            .site = call->site,
                                                            .stack = call->stack,
                                                            .height = call->height,
                                                            .enter_ns = call->enter_ns,
                                                            .duration_ns = call->duration_ns};
    view->open_count--;
    memmove(&view->open[at], &view->open[at + 1], (view->open_count - at) * sizeof(*view->open));
}

uint64_t tool_sys_resume(struct tool_sys *view, const ttape_call *call)
{
    for (size_t i = 0; i < view->left_count; i++) {
        struct tool_sys_left *left = &view->left[i];
        if (left->stream != call->stream || left->site != call->site ||
            left->stack != call->stack || left->height != call->height ||
            left->enter_ns != call->enter_ns)
            continue;
        tool_grow((void **)&view->open, &view->open_capacity, view->open_count + 1,
                  sizeof(*view->open));
        view->open[view->open_count++] = left->call;
        uint64_t number = left->call.number;
        *left = view->left[--view->left_count];
        return number;
    }
    return 0;
}

static void *copy_items(const void *from, size_t count, size_t size)
{
    void *to = tool_allocate(count + 1, size);
    memcpy(to, from, count * size);
    return to;
}

/* The sums are changed and put back: to take a longest time out again is not possible. */
void tool_sys_with_left(struct tool_sys *view, void (*print)(void *context), void *context)
{
    struct tool_sys before = *view;
    view->nodes = copy_items(before.nodes, before.node_count, sizeof(*view->nodes));
    view->node_capacity = before.node_count;
    view->by_function =
        copy_items(before.by_function, before.functions.count, sizeof(*view->by_function));
    view->by_module =
        copy_items(before.by_module, before.module_count + 1u, sizeof(*view->by_module));
    for (size_t i = 0; i < view->left_count; i++) {
        tool_grow((void **)&view->open, &view->open_capacity, 1, sizeof(*view->open));
        view->open[0] = view->left[i].call;
        view->open_count = 1;
        tool_sys_end(view, view->open[0].number, view->left[i].duration_ns, false);
    }
    print(context);
    free(view->nodes);
    free(view->by_function);
    free(view->by_module);
    view->nodes = before.nodes;
    view->node_capacity = before.node_capacity;
    view->by_function = before.by_function;
    view->by_module = before.by_module;
    view->all = before.all;
    view->shown = before.shown;
    view->without_stack = before.without_stack;
    view->open_count = 0;
}

/* ---- following ---- */

struct following {
    const struct tool_sys_watch *watch;
    bool is_fresh; /* something is not shown yet */
    uint64_t shown_ns;
};

/* False: it is to end. */
static bool go_on(struct following *following, int wait_ms)
{
    struct pollfd stop = {.fd = following->watch->stop_fd, .events = POLLIN};
    if (poll(&stop, 1, wait_ms) > 0)
        return false;
    uint64_t now = tool_now_ns();
    if (following->is_fresh && now - following->shown_ns >= following->watch->interval_ns) {
        following->watch->show(following->watch->context);
        following->is_fresh = false;
        following->shown_ns = now;
    }
    return true;
}

/* All that is there was read. */
static bool rest(void *context) { return go_on(context, PAUSE_MS); }

void tool_sys_watch(const struct tool_sys_watch *watch)
{
    struct following following = {.watch = watch, .shown_ns = tool_now_ns()};
    struct tool_growing file = {.pause = rest, .context = &following};
    struct tool_input part = {.name = watch->trace, .fd = -1};
    const ttape_reader_options options = {.size = sizeof(options),
                                          .limits = {.memory_bytes = watch->memory_bytes}};
    ttape_forward *forward;
    ttape_error err = {0};
    if (tool_growing_open(&file, watch->trace, UINT64_MAX) != TOOL_OK || file.fd < 0)
        return;
    const ttape_input input = tool_growing_input(&file);
    if (ttape_forward_open(&forward, &input, &options, &err) == TTAPE_OK) {
        while (go_on(&following, 0) &&
               ttape_forward_next(forward, &part.reader, &err) == TTAPE_OK &&
               watch->take(watch->context, &part))
            following.is_fresh = true;
        ttape_forward_close(forward);
    }
    tool_growing_close(&file);
}
