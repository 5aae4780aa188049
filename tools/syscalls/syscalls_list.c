/* Each end of a call in a line, in the order of time, with the path that led to it. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/command/tool.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_words.h"
#include "tools/syscalls/syscalls_files.h"

static void put_start(struct tool_sys *view, const ttape_call_step *step, const char *what)
{
    ttape_stream_info stream = {0};
    struct tool_output *out = view->out;
    uint64_t since = step->time_ns - view->start_ns;
    view->has_listed = true;
    (void)ttape_reader_get_stream(view->reader, step->stream, &stream);
    tool_output_printf(out, "+%" PRIu64 ".%09" PRIu64 "s\t%" PRIu64 "\t%s\t", since / 1000000000u,
                       since % 1000000000u, stream.stream.tid, what);
}

static void put_path(struct tool_sys *view, uint32_t node)
{
    if (node == TOOL_SYS_ROOT)
        return;
    tool_output_text(view->out, "\t");
    tool_sys_put_path(view, view->out, node, " > ");
}

/* What comes of the call is printed with its arguments, which may say what it means. */
static uint64_t keep_values(struct tool_sys *view, const ttape_call_step *step, uint32_t node)
{
    size_t i = 0, size = 1;
    while (i < view->kept_count && view->kept[i].values != NULL)
        i++;
    if (i == view->kept_count) {
        tool_grow((void **)&view->kept, &view->kept_capacity, i + 1, sizeof(*view->kept));
        view->kept_count++;
    }
    struct tool_sys_kept *kept = &view->kept[i];
    *kept = (struct tool_sys_kept){.count = step->value_count, .node = node};
    for (uint32_t v = 0; v < kept->count; v++)
        size += step->values[v].bytes.size_bytes;
    kept->values = tool_allocate(kept->count + 1u, sizeof(*kept->values));
    char *at = kept->text = tool_allocate(size, 1);
    for (uint32_t v = 0; v < kept->count; v++) {
        kept->values[v] = step->values[v];
        kept->values[v].bytes.data = at;
        if (step->values[v].bytes.size_bytes != 0) /* numbers have no bytes, not even none */
            at = tool_put_bytes(at, step->values[v].bytes.data, step->values[v].bytes.size_bytes);
    }
    return i + 1;
}

static void drop(struct tool_sys_kept *kept)
{
    free(kept->values);
    free(kept->text);
    *kept = (struct tool_sys_kept){0};
}

void tool_sys_list_free(struct tool_sys *view)
{
    for (size_t i = 0; i < view->kept_count; i++)
        drop(&view->kept[i]);
    free(view->kept);
}

static uint64_t number_of(const struct tool_sys *view, uint32_t number)
{
    ttape_site site = {0};
    (void)ttape_reader_get_site(view->reader, number, &site);
    return site.kind == TTAPE_SITE_SYSCALL ? tool_kernel_number_of(&site) : TOOL_KERNEL_NONE;
}

uint64_t tool_sys_list_enter(struct tool_sys *view, const ttape_call_step *step, uint32_t node,
                             const ttape_call *call)
{
    struct tool_output *out = view->out;
    const struct tool_call_values words = {.number = number_of(view, call->site),
                                           .arguments = step->values,
                                           .argument_count = step->value_count};
    if (view->asked.failed || view->files != NULL)
        return keep_values(view, step, node);
    put_start(view, step, "enter");
    tool_output_text(out, tool_site_name(&view->names, call->site));
    tool_kernel_put_arguments(out, &words);
    put_path(view, node);
    tool_output_text(out, "\n");
    return keep_values(view, step, node);
}

static bool is_execution(uint64_t number)
{
    return number == tool_kernel_number("execve") || number == tool_kernel_number("execveat");
}

void tool_sys_list_exit(struct tool_sys *view, const ttape_call_step *step, const ttape_call *call,
                        uint64_t number, bool is_shown)
{
    struct tool_output *out = view->out;
    struct tool_sys_kept *kept = &view->kept[number - 1];
    bool is_seen = call->end == TTAPE_CALL_RETURNED;
    const struct tool_call_values words = {.number = number_of(view, call->site),
                                           .arguments = kept->values,
                                           .argument_count = kept->count,
                                           .results = step->values,
                                           .result_count = is_seen ? step->value_count : 0};
    if (view->files != NULL) {
        tool_sys_files_add(view, kept, step, call,
                           view->asked.chosen == NULL || view->asked.chosen[call->site] != 0);
    } else if (is_shown) {
        put_start(view, step, is_seen ? "exit" : "left");
        tool_output_text(out, tool_site_name(&view->names, call->site));
        tool_kernel_put_arguments(out, &words);
        if (is_seen)
            tool_kernel_put_result(out, &words);
        else /* one that executed a program worked; of others nothing came */
            tool_output_text(out, is_execution(words.number) ? " = 0" : " = ?");
        if (view->asked.failed) /* its begin, which has the path else, is not shown */
            put_path(view, kept->node);
        tool_output_text(out, "\n");
    }
    drop(kept);
}
