/* Each end of a call in a line, in the order of time, with the path that led to it. */
#include <inttypes.h>

#include "tools/io/dump_values.h"
#include "tools/syscalls/syscalls_view.h"

static void put_start(struct tool_sys *view, const ttape_call_step *step, const char *what)
{
    ttape_stream_info stream = {0};
    struct tool_output *out = view->out;
    uint64_t since = step->time_ns - view->start_ns;
    (void)ttape_reader_get_stream(view->reader, step->stream, &stream);
    tool_output_printf(out, "+%" PRIu64 ".%09" PRIu64 "s\t%" PRIu64 "\t%s\t", since / 1000000000u,
                       since % 1000000000u, stream.stream.tid, what);
}

void tool_sys_list_enter(struct tool_sys *view, const ttape_call_step *step, uint32_t node,
                         const ttape_call *call)
{
    struct tool_output *out = view->out;
    put_start(view, step, "enter");
    tool_output_text(out, tool_site_name(&view->names, call->site));
    if (step->value_count > 0)
        tool_dump_values(out, step->values, step->value_count);
    if (node != TOOL_SYS_ROOT) {
        tool_output_text(out, "\t");
        tool_sys_put_path(view, out, node, " > ");
    }
    tool_output_text(out, "\n");
}

void tool_sys_list_exit(struct tool_sys *view, const ttape_call_step *step, const ttape_call *call)
{
    struct tool_output *out = view->out;
    put_start(view, step, call->end == TTAPE_CALL_RETURNED ? "exit" : "left");
    tool_output_text(out, tool_site_name(&view->names, call->site));
    for (uint32_t i = 0; i < step->value_count && call->end == TTAPE_CALL_RETURNED; i++) {
        tool_output_text(out, i == 0 ? " = " : ", ");
        tool_dump_value(out, &step->values[i]);
    }
    tool_output_text(out, "\n");
}
