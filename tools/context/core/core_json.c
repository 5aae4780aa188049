/* The calls of a dump as JSON: outermost call first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/context/core/core_view.h"
#include "tools/io/json.h"

static void json_locals(const struct tool_core_view *view, uint32_t first, struct tool_json *json)
{
    if (first != TOOL_CORE_NONE && view->locals->all[first].is_line)
        tool_json_text(json, "line", view->locals->all[first].text);
    tool_json_begin(json, "locals", '[');
    for (uint32_t i = first; i != TOOL_CORE_NONE; i = view->locals->all[i].next) {
        const struct tool_core_local *local = &view->locals->all[i];
        if (local->is_line || local->name[0] == '\0')
            continue;
        tool_json_begin(json, NULL, '{');
        tool_json_text(json, "name", local->name);
        tool_json_text(json, "value", local->text);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    for (uint32_t i = first; i != TOOL_CORE_NONE; i = view->locals->all[i].next)
        if (!view->locals->all[i].is_line && view->locals->all[i].name[0] == '\0') {
            tool_json_text(json, "locals_note", view->locals->all[i].text);
            break;
        }
}

static void json_frame(const struct tool_core_view *view, const struct tool_core_runtime *runtime,
                       const struct tool_core_frame *frame, struct tool_json *json)
{
    char value[TOOL_CORE_VALUE_BYTES], branch[TTAPE_BRANCH_TEXT_BYTES];
    tool_json_begin(json, NULL, '{');
    if (frame->kind == TOOL_CORE_CALL) {
        char *name = tool_core_function_name(view, frame->function);
        tool_json_text(json, "function", name);
        tool_json_text(json, "value", tool_core_value(value, frame));
        if (frame->has_branch)
            tool_json_text(json, "branch", tool_core_branch(branch, runtime, &frame->branch));
        json_locals(view, frame->first_local, json);
        free(name);
    } else {
        tool_json_number(json, frame->kind == TOOL_CORE_SIGNAL ? "signal" : "system_call",
                         frame->function);
    }
    tool_json_end(json, '}');
}

static void json_stack(const struct tool_core_view *view, const struct tool_core_calls *calls,
                       const struct tool_core_stack *stack, struct tool_json *json)
{
    tool_json_begin(json, NULL, '{');
    tool_json_bool(json, "is_running", stack->is_running);
    if (stack->why != NULL)
        tool_json_text(json, "not_known", stack->why);
    tool_json_begin(json, "calls", '[');
    for (size_t i = 0; i < stack->count; i++)
        json_frame(view, &view->state->runtimes[calls->runtime], &stack->frames[i], json);
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void json_calls(const struct tool_core_view *view, const struct tool_core_calls *calls,
                       struct tool_json *json)
{
    const struct tool_core_thread *thread = &view->state->core->threads[calls->thread];
    const struct tool_core_runtime *runtime = &view->state->runtimes[calls->runtime];
    char branch[TTAPE_BRANCH_TEXT_BYTES];
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "thread", thread->id);
    tool_json_number(json, "signal", thread->signal);
    tool_json_text(json, "runtime", tool_core_kind_of_runtime(runtime));
    if (calls->has_branch)
        tool_json_text(json, "branch", tool_core_branch(branch, runtime, &calls->branch));
    if (calls->why != NULL)
        tool_json_text(json, "not_known", calls->why);
    tool_json_begin(json, "stacks", '[');
    for (size_t i = 0; i < calls->count; i++)
        json_stack(view, calls, &calls->stacks[i], json);
    tool_json_end(json, ']');
    if (calls->first_local != TOOL_CORE_NONE)
        tool_json_text(json, "locals_note", view->locals->all[calls->first_local].text);
    tool_json_end(json, '}');
}

void tool_core_json_of(const struct tool_core_view *view, struct tool_output *out)
{
    const struct tool_core_state *state = view->state;
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_text(&json, "program", state->core->program);
    tool_json_number(&json, "process", state->core->process_id);
    tool_json_number(&json, "thread_count", state->core->thread_count);
    tool_json_bool(&json, "is_cut", state->core->is_cut);
    tool_json_begin(&json, "threads", '[');
    for (size_t i = 0; i < state->call_count; i++)
        json_calls(view, &state->calls[i], &json);
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
    tool_output_text(out, "\n");
}
