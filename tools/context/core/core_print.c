/* The calls of a dump as text: a thread's innermost call first, as debuggers show them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/context/core/core_view.h"

static void put_locals(const struct tool_core_view *view, uint32_t first, const char *indent,
                       struct tool_output *out)
{
    for (uint32_t i = first; i != TOOL_CORE_NONE; i = view->locals->all[i].next) {
        const struct tool_core_local *local = &view->locals->all[i];
        if (local->is_line)
            continue;
        tool_output_text(out, indent);
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                            (ttape_string){local->name, strlen(local->name)});
        if (local->name[0] != '\0')
            tool_output_text(out, " = ");
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                            (ttape_string){local->text, strlen(local->text)});
        tool_output_text(out, "\n");
    }
}

static void put_line(const struct tool_core_view *view, uint32_t first, struct tool_output *out)
{
    if (first == TOOL_CORE_NONE || !view->locals->all[first].is_line)
        return;
    const char *text = view->locals->all[first].text, *slash = strrchr(text, '/');
    const char *last = slash == NULL ? text : slash + 1;
    tool_output_text(out, " (");
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){last, strlen(last)});
    tool_output_text(out, ")");
}

static void put_frame(const struct tool_core_view *view, const struct tool_core_runtime *runtime,
                      const struct tool_core_frame *frame, struct tool_output *out)
{
    char value[TOOL_CORE_VALUE_BYTES], branch[TTAPE_BRANCH_TEXT_BYTES];
    if (frame->kind != TOOL_CORE_CALL) {
        tool_output_printf(out, "  (%s %" PRIu64 ")\n",
                           frame->kind == TOOL_CORE_SIGNAL ? "handler of signal" : "system call",
                           frame->function);
        return;
    }
    char *name = tool_core_function_name(view, frame->function);
    tool_output_printf(out, "  %s", tool_core_value(value, frame));
    if (runtime->has_branches && runtime->branch_scope == TTAPE_BRANCH_CALL)
        tool_output_printf(out, "  %s",
                           frame->has_branch ? tool_core_branch(branch, runtime, &frame->branch)
                                             : "-");
    tool_output_text(out, "  ");
    tool_output_text(out, name);
    put_line(view, frame->first_local, out);
    tool_output_text(out, "\n");
    put_locals(view, frame->first_local, "      ", out);
    free(name);
}

static void put_stack(const struct tool_core_view *view, const struct tool_core_calls *calls,
                      const struct tool_core_stack *stack, struct tool_output *out)
{
    if (!stack->is_running)
        tool_output_text(out, "  on another stack, which does not run:\n");
    if (stack->why != NULL)
        tool_output_printf(out, "  %s\n", stack->why);
    else if (stack->count == 0)
        tool_output_text(out, "  no calls are open\n");
    for (size_t i = stack->count; i > 0; i--)
        put_frame(view, &view->state->runtimes[calls->runtime], &stack->frames[i - 1], out);
}

static void put_calls(const struct tool_core_view *view, const struct tool_core_calls *calls,
                      struct tool_output *out)
{
    const struct tool_core_thread *thread = &view->state->core->threads[calls->thread];
    const struct tool_core_runtime *runtime = &view->state->runtimes[calls->runtime];
    char branch[TTAPE_BRANCH_TEXT_BYTES];
    tool_output_printf(out, "thread %" PRIu32, thread->id);
    if (thread->signal != 0)
        tool_output_printf(out, ", signal %" PRIu32, thread->signal);
    if (calls->has_branch)
        tool_output_printf(out, ", branches %s", tool_core_branch(branch, runtime, &calls->branch));
    tool_output_text(out, "\n");
    if (calls->why != NULL)
        tool_output_printf(out, "  not known: %s\n", calls->why);
    for (size_t i = 0; i < calls->count; i++)
        put_stack(view, calls, &calls->stacks[i], out);
    put_locals(view, calls->first_local, "  ", out);
}

void tool_core_text_of(const struct tool_core_view *view, struct tool_output *out)
{
    const struct tool_core_state *state = view->state;
    ttape_string program = {state->core->program, strlen(state->core->program)};
    tool_output_text(out, "core of ");
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL, program);
    tool_output_printf(out, ", process %" PRIu32 ", %zu thread%s\n", state->core->process_id,
                       state->core->thread_count, state->core->thread_count == 1 ? "" : "s");
    for (uint32_t r = 0; r < state->runtime_count; r++) {
        if (state->runtimes[r].why != NULL)
            continue;
        bool is_told = false;
        for (size_t i = 0; i < state->call_count; i++) {
            if (state->calls[i].runtime != r)
                continue;
            if (!is_told)
                tool_output_printf(out, "calls that %s kept:\n",
                                   tool_core_kind_of_runtime(&state->runtimes[r]));
            is_told = true;
            put_calls(view, &state->calls[i], out);
        }
    }
}
