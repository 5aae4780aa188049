/* Reads a trace's calls, thread by thread, and finds those of interest with the paths that lead to
 * them: what the trace says of the stack, else the calls that are open below. */
#include <inttypes.h>

#include "tools/command/tool.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_words.h"
#include "tools/syscalls/syscalls_view.h"

/* What a call keeps in its own words: the path to what it calls, the number of its begin, whether
 * it is in a recorded function. */
enum word { WORD_NODE, WORD_NUMBER, WORD_IN_FUNCTION };

struct walking {
    struct tool_sys *view;
    const ttape_call_step *step;
    bool has_started; /* what is found open after that was found behind missing events */
    uint64_t error_count;
    int status;
};

static bool is_chosen(const struct tool_sys *view, const ttape_site *site, uint32_t number)
{
    return view->asked.chosen != NULL ? view->asked.chosen[number] != 0
                                      : site->kind == TTAPE_SITE_SYSCALL;
}

/* Does it have the arguments that are asked for? */
static bool has_arguments(struct tool_sys *view, const ttape_call_step *step,
                          const ttape_site *site)
{
    const struct tool_id *descriptor = view->asked.descriptor;
    view->has_arguments |= step->value_count > 0;
    if (view->asked.path == NULL && descriptor == NULL)
        return true;
    const struct tool_call_values words = {.number = tool_kernel_number_of(site),
                                           .arguments = step->values,
                                           .argument_count = step->value_count};
    return (view->asked.path == NULL || tool_kernel_has_path(&words, view->asked.path)) &&
           (descriptor == NULL || tool_kernel_has_descriptor(&words, (int32_t)descriptor->value));
}

/* All of them say what descriptors are. */
static bool is_follower(const struct tool_sys *view, const ttape_site *site)
{
    return (view->files != NULL || view->descriptors != NULL) && site->kind == TTAPE_SITE_SYSCALL;
}

/* `below` is the call that it was made in; NULL: none. */
static void begin_call(struct walking *walk, const ttape_call *below, ttape_call *call)
{
    struct tool_sys *view = walk->view;
    ttape_site site = {0};
    bool in_function = below != NULL && below->user[WORD_IN_FUNCTION] != 0;
    uint32_t node = below == NULL ? TOOL_SYS_ROOT : (uint32_t)below->user[WORD_NODE];
    call->user[WORD_IN_FUNCTION] = in_function;
    if (call->site == TTAPE_NONE) {
        call->user[WORD_NODE] = view->asked.application
                                    ? node
                                    : tool_sys_child(view, node, TOOL_SYS_SIGNAL | call->argument);
        return;
    }
    (void)ttape_reader_get_site(view->reader, call->site, &site);
    uint32_t function = tool_function_of(&view->functions, call->site);
    if (site.path != 0)
        node = tool_sys_path_node(view, site.path);
    if (view->is_live && !walk->has_started)
        call->user[WORD_NUMBER] = tool_sys_resume(view, call);
    else if (call->kind == TTAPE_EVENT_ENTER) {
        bool has_stack = in_function || site.path != 0;
        bool is_asked =
            is_chosen(view, &site, call->site) && has_arguments(view, walk->step, &site);
        if (view->asked.list && (is_asked || is_follower(view, &site)))
            call->user[WORD_NUMBER] = tool_sys_list_enter(view, walk->step, node, call, is_asked);
        else if (is_asked)
            call->user[WORD_NUMBER] = tool_sys_begin(view, node, call->site, has_stack);
    }
    call->user[WORD_IN_FUNCTION] = in_function || site.kind == TTAPE_SITE_FUNCTION;
    bool is_step =
        !view->asked.application || (site.kind != TTAPE_SITE_SYSCALL && view->is_own[function]);
    call->user[WORD_NODE] = is_step ? tool_sys_child(view, node, function) : node;
}

static bool is_error(const ttape_call_step *step, const ttape_call *call)
{
    if (call->end != TTAPE_CALL_RETURNED || step->value_count == 0)
        return false;
    const ttape_value *value = &step->values[0];
    return value->type == TTAPE_VALUE_SIGNED && tool_kernel_is_error((int64_t)value->number);
}

/* What is added up of it: its time, or what its counter says (F-SIT-11); 0: nothing is known. */
static int64_t measure(const struct walking *walk, const ttape_call *call)
{
    const ttape_call_step *step = walk->step;
    if (walk->view->asked.measure == NULL)
        return call->duration_ns;
    if (call->end != TTAPE_CALL_RETURNED || step->value_count < 2)
        return 0;
    const ttape_value *last = &step->values[step->value_count - 1];
    bool is_counted = last->type == TTAPE_VALUE_UNSIGNED && last->number <= INT64_MAX;
    return is_counted ? (int64_t)last->number : 0;
}

static void end_call(struct walking *walk, const ttape_call *call)
{
    struct tool_sys *view = walk->view;
    if (call->user[WORD_NUMBER] == 0)
        return;
    if (view->is_live && walk->step->kind == TTAPE_STEP_LEFT)
        tool_sys_leave(view, call, call->user[WORD_NUMBER]);
    else if (view->asked.list)
        tool_sys_list_exit(view, walk->step, call, call->user[WORD_NUMBER],
                           !view->asked.failed || is_error(walk->step, call));
    else
        tool_sys_end(view, call->user[WORD_NUMBER], measure(walk, call),
                     is_error(walk->step, call));
}

static void take_step(struct walking *walk, ttape_call_cursor *cursor)
{
    const ttape_call_step *step = walk->step;
    walk->has_started |= step->kind == TTAPE_STEP_START;
    for (uint32_t i = step->ended_count; i-- > 0;)
        end_call(walk, &step->ended[i]);
    if (walk->view->asked.list && walk->view->files == NULL && step->event != NULL)
        tool_sys_list_fact(walk->view, step);
    const ttape_call *stack;
    uint32_t count;
    ttape_call_cursor_stack(cursor, &stack, &count);
    if (walk->view->asked.list &&
        (step->kind == TTAPE_STEP_LEFT || (step->kind == TTAPE_STEP_STOP && count == 0)))
        tool_sys_list_end(walk->view, step);
    if (step->began_count == 0)
        return;
    uint32_t below = count - step->began_count;
    for (uint32_t i = 0; i < step->began_count; i++, below++)
        begin_call(walk, below == 0 ? NULL : &stack[below - 1], &step->began[i]);
}

/* After a failed call. False: the stream is not worth going on with. */
static bool go_on(struct walking *walk, const ttape_error *err)
{
    return tool_input_go_on(walk->view->input, err, &walk->error_count, &walk->status);
}

static void read_steps(struct walking *walk, ttape_call_cursor *cursor)
{
    ttape_error err = {0};
    for (;;) {
        ttape_status status = ttape_call_cursor_step(cursor, &walk->step, &err);
        if (status == TTAPE_OK)
            take_step(walk, cursor);
        else if (status == TTAPE_END || !go_on(walk, &err))
            return;
    }
}

/* NULL: all streams together. */
static void read_streams(struct walking *walk, const uint32_t *streams, uint32_t count,
                         const struct tool_selection *selection)
{
    const ttape_call_options options = {.size = sizeof(options),
                                        .streams = streams,
                                        .stream_count = count,
                                        .has_range = selection->has_range,
                                        .from_ns = selection->from_ns,
                                        .to_ns = selection->to_ns,
                                        .values = true};
    ttape_error err = {0};
    ttape_call_cursor *cursor;
    walk->view->open_count = 0;
    walk->has_started = false;
    if (ttape_call_cursor_open(&cursor, walk->view->input->reader, &options, &err) == TTAPE_OK)
        read_steps(walk, cursor);
    else
        (void)go_on(walk, &err);
    ttape_call_cursor_close(cursor);
}

int tool_sys_read(struct tool_sys *view, const struct tool_selection *selection)
{
    ttape_info info;
    struct walking walk = {.view = view};
    ttape_reader_get_info(view->reader, &info);
    if (view->asked.list)
        read_streams(&walk, selection->streams, selection->stream_count, selection);
    uint32_t count = selection->streams != NULL ? selection->stream_count : info.stream_count;
    for (uint32_t i = 0; i < count && walk.status != TOOL_CANNOT && !view->asked.list; i++) {
        uint32_t stream = selection->streams != NULL ? selection->streams[i] : i;
        read_streams(&walk, &stream, 1, selection);
    }
    return walk.status;
}

int tool_sys_read_part(struct tool_sys *view, const struct tool_selection *selection,
                       const struct tool_choice *choice)
{
    struct walking walk = {.view = view};
    struct tool_selection streams;
    ttape_segment_info segment;
    ttape_error err = {0};
    ttape_status status;
    (void)tool_select_streams(&streams, view->input->reader, view->input->name, choice, true);
    for (uint32_t i = 0; walk.status != TOOL_CANNOT; i++) {
        status = ttape_reader_get_segment(view->input->reader, 0, i, &segment, &err);
        if (status != TTAPE_OK)
            break;
        if (tool_selects(&streams, segment.stream))
            read_streams(&walk, &segment.stream, 1, selection);
    }
    tool_selection_close(&streams);
    return walk.status;
}
