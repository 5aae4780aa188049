/* Paths for other tools: folded stacks, and Graphviz's language. */
#include <inttypes.h>
#include <string.h>

#include "tools/syscalls/syscalls_view.h"

void tool_sys_folded(struct tool_sys *view, struct tool_output *out)
{
    for (uint32_t i = 0; i < view->node_count; i++) {
        const struct tool_sys_sum *exact = &view->nodes[i].exact;
        int64_t micros = tool_sys_is_time(view) ? exact->time_ns / 1000 : exact->time_ns;
        if (exact->calls == 0)
            continue;
        tool_sys_put_path(view, out, i, ";");
        tool_output_printf(out, " %" PRIu64 "\n",
                           view->shown.time_ns == 0 ? exact->calls
                           : micros > 0             ? (uint64_t)micros
                                                    : 0);
    }
}

static void put_quoted(struct tool_output *out, const char *text)
{
    tool_output_escaped(out, TTP_ESCAPE_QUOTED, (ttape_string){text, strlen(text)});
}

static void put_node(struct tool_sys *view, struct tool_output *out, uint32_t index)
{
    const struct tool_sys_node *node = &view->nodes[index];
    char buffer[TOOL_SYS_NAME_BYTES];
    double whole = (double)view->shown.time_ns;
    double share = whole > 0 ? (double)node->within.time_ns / whole : 0;
    tool_output_printf(out, "  n%" PRIu32 " [label=\"", index);
    put_quoted(out, tool_sys_step_name(view, node->function, buffer));
    tool_output_printf(out, "\\n%" PRIu64 " calls, %.3f ms, %.1f%%\"", node->within.calls,
                       (double)node->within.time_ns / 1e6, 100 * share);
    tool_output_printf(out, ", fillcolor=\"0.08 %.2f 1.0\"%s];\n", share < 0 ? 0 : share,
                       node->exact.calls > 0 ? ", peripheries=2" : "");
    if (node->parent != TOOL_SYS_ROOT)
        tool_output_printf(out, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"%" PRIu64 "\"];\n",
                           node->parent, index, node->within.calls);
}

void tool_sys_dot(struct tool_sys *view, const struct tool_sys_rows *rows, struct tool_output *out)
{
    tool_output_text(out, "digraph \"system calls\" {\n"
                          "  node [shape=box, style=filled, fontname=sans];\n");
    for (size_t i = 0; i < rows->count; i++)
        put_node(view, out, rows->rows[i].index);
    tool_output_text(out, "}\n");
}
