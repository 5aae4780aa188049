/* Each end of a call in a line, in the order of time, with the path that led to it. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/command/tool.h"
#include "tools/kernel/flags/kernel_flags.h"
#include "tools/kernel/kernel_call_numbers.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_parts.h"
#include "tools/kernel/kernel_words.h"
#include "tools/syscalls/syscalls_descriptors.h"
#include "tools/syscalls/syscalls_files.h"

#define SIGNAL_FACT "tracetape:signal_info"

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

/* Shown behind the calls that are left; a process's end says more than its last thread's. */
static void keep_end(struct tool_sys *view, const ttape_call_step *step, const ttape_last_end *end)
{
    bool is_exit = end->how == TTAPE_PROCESS_END_EXIT || end->how == TTAPE_PROCESS_END_QUICK_EXIT;
    bool is_killed = end->is_process && end->how == TTAPE_PROCESS_END_SIGNAL;
    bool is_known = end->is_process ? is_exit || is_killed : end->how == TTAPE_THREAD_END_ITSELF;
    tool_grow((void **)&view->ends, &view->stream_capacity, step->stream + 1u, sizeof(*view->ends));
    while (view->stream_count <= step->stream)
        view->ends[view->stream_count++] = (ttape_last_end){0};
    if (!is_known || view->ends[step->stream].how != 0)
        return;
    view->ends[step->stream] = *end;
}

void tool_sys_list_end(struct tool_sys *view, const ttape_call_step *step)
{
    if (step->stream >= view->stream_count || view->ends[step->stream].how == 0)
        return;
    struct tool_output *out = view->out;
    const ttape_last_end *end = &view->ends[step->stream];
    bool is_killed = end->is_process && end->how == TTAPE_PROCESS_END_SIGNAL;
    put_start(view, step, "end");
    tool_output_text(out, is_killed ? "+++ killed by " : "+++ exited with ");
    if (is_killed)
        (void)tool_kernel_put_flags(out, 'g', end->number);
    else
        tool_output_printf(out, "%" PRIu64, end->number);
    tool_output_text(out, " +++\n");
    view->ends[step->stream].how = 0;
}

/* As a recorder writes it (F-FCT-14): which, and the kernel's siginfo_t. */
static void put_signal(struct tool_sys *view, const ttape_call_step *step)
{
    struct tool_output *out = view->out;
    put_start(view, step, "signal");
    tool_output_text(out, "--- ");
    (void)tool_kernel_put_flags(out, 'g', step->values[0].number);
    tool_output_text(out, " ");
    tool_kernel_put_siginfo(out, step->values[1].bytes);
    tool_output_text(out, " ---\n");
}

static bool is_signal(const struct tool_sys *view, const ttape_call_step *step)
{
    ttape_site site = {0};
    return step->value_count >= 2 && step->values[0].type == TTAPE_VALUE_UNSIGNED &&
           step->values[1].type == TTAPE_VALUE_BYTES &&
           ttape_reader_get_site(view->reader, step->event->site, &site) == TTAPE_OK &&
           site.kind == TTAPE_SITE_MARKER && tool_text_is(site.symbol, SIGNAL_FACT);
}

void tool_sys_list_fact(struct tool_sys *view, const ttape_call_step *step)
{
    const struct tool_sys_asked *asked = &view->asked;
    const ttape_event_item item = {.event = *step->event,
                                   .stream = step->stream,
                                   .number = step->number,
                                   .values = step->values,
                                   .value_count = step->value_count};
    ttape_last_end end;
    if (step->event->kind != TTAPE_EVENT_LEAF || asked->chosen != NULL || asked->failed ||
        asked->path != NULL || asked->descriptor != NULL)
        return;
    if (ttape_last_end_of(view->reader, &item, &end))
        keep_end(view, step, &end);
    else if (is_signal(view, step))
        put_signal(view, step);
}

void tool_sys_list_free(struct tool_sys *view)
{
    for (size_t i = 0; i < view->kept_count; i++)
        drop(&view->kept[i]);
    free(view->kept);
    free(view->ends);
}

static uint64_t number_of(const struct tool_sys *view, uint32_t number)
{
    ttape_site site = {0};
    (void)ttape_reader_get_site(view->reader, number, &site);
    return site.kind == TTAPE_SITE_SYSCALL ? tool_kernel_number_of(&site) : TOOL_KERNEL_NONE;
}

/* Descriptors are those of the process that this stream is of. */
struct decoding {
    struct tool_sys *view;
    uint32_t stream;
};

static uint32_t process_of(const struct decoding *decoding)
{
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(decoding->view->reader, decoding->stream, &info);
    return info.stream.process;
}

static void put_descriptor(void *context, struct tool_output *out, int32_t descriptor)
{
    const struct decoding *decoding = context;
    tool_sys_descriptors_put(decoding->view, decoding->view->descriptors, out, process_of(decoding),
                             descriptor);
}

uint64_t tool_sys_list_enter(struct tool_sys *view, const ttape_call_step *step, uint32_t node,
                             const ttape_call *call, bool is_shown)
{
    struct tool_output *out = view->out;
    struct decoding decoding = {view, step->stream};
    const struct tool_kernel_descriptors descriptors = {put_descriptor, &decoding};
    const struct tool_call_values words = {.number = number_of(view, call->site),
                                           .arguments = step->values,
                                           .argument_count = step->value_count,
                                           .descriptors =
                                               view->descriptors != NULL ? &descriptors : NULL};
    uint64_t number = keep_values(view, step, node);
    view->kept[number - 1].is_hidden = !is_shown;
    if (view->asked.failed || view->files != NULL || !is_shown)
        return number;
    put_start(view, step, "enter");
    tool_output_text(out, tool_site_name(&view->names, call->site));
    tool_kernel_put_arguments(out, &words);
    put_path(view, node);
    tool_output_text(out, "\n");
    return number;
}

static bool is_execution(uint64_t number)
{
    return number == tool_kernel_number("execve") || number == tool_kernel_number("execveat");
}

/* The call has made descriptors that are in its arguments. */
static bool makes_pair(const struct tool_call_values *words)
{
    return words->number == KERNEL_CALL_PIPE || words->number == KERNEL_CALL_PIPE2 ||
           words->number == KERNEL_CALL_SOCKETPAIR;
}

/* Descriptors change behind a call's arguments, which are of the old ones, and in front of its
 * result. */
static void follow(struct tool_sys *view, const struct decoding *decoding, const ttape_call *call,
                   const struct tool_call_values *words)
{
    if (view->descriptors == NULL || words->number == TOOL_KERNEL_NONE || words->result_count == 0)
        return;
    int64_t result = (int64_t)words->results[0].number;
    if (tool_kernel_is_error(result))
        return;
    uint32_t process = process_of(decoding),
             file = tool_sys_descriptors_find(view, view->descriptors, process, words);
    tool_sys_descriptors_follow(view->descriptors, process,
                                tool_site_name(&view->names, call->site), file, words, result);
}

void tool_sys_list_exit(struct tool_sys *view, const ttape_call_step *step, const ttape_call *call,
                        uint64_t number, bool is_shown)
{
    struct tool_output *out = view->out;
    struct tool_sys_kept *kept = &view->kept[number - 1];
    struct decoding decoding = {view, step->stream};
    const struct tool_kernel_descriptors descriptors = {put_descriptor, &decoding};
    bool is_seen = call->end == TTAPE_CALL_RETURNED;
    const struct tool_call_values words = {.number = number_of(view, call->site),
                                           .arguments = kept->values,
                                           .argument_count = kept->count,
                                           .results = step->values,
                                           .result_count = is_seen ? step->value_count : 0,
                                           .descriptors =
                                               view->descriptors != NULL ? &descriptors : NULL};
    if (view->files != NULL) {
        tool_sys_files_add(view, kept, step, call, !kept->is_hidden);
    } else if (!is_shown || kept->is_hidden) {
        follow(view, &decoding, call, &words);
    } else {
        bool is_pair = view->descriptors != NULL && makes_pair(&words);
        if (is_pair)
            follow(view, &decoding, call, &words);
        put_start(view, step, is_seen ? "exit" : "left");
        tool_output_text(out, tool_site_name(&view->names, call->site));
        tool_kernel_put_arguments(out, &words);
        if (!is_pair)
            follow(view, &decoding, call, &words);
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
