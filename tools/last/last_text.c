#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/callers/caller_names.h"
#include "tools/calls/end_words.h"
#include "tools/command/pager.h"
#include "tools/command/wrap.h"
#include "tools/io/table.h"
#include "tools/last/last_view.h"

#define FRAMES_SHOWN 40u /* innermost ones; then how many more there are */
#define FRAMES_BRIEF 6u
#define GROUPS_WHOLE 2u /* of more the first alone is shown with its calls */
#define TIME_WIDTH   12
#define INDENT_MAX   20u
#define WORDS_BYTES  128u
#define NAME_COLUMN  18u /* where what does not fit goes on, below a name */

static void put_time(struct tool_output *out, bool is_known, int64_t time_ns)
{
    char text[40];
    size_t size = is_known ? tool_put_time(text, time_ns) : 0;
    tool_output_printf(out, "%*.*s  ", TIME_WIDTH, is_known ? (int)size : 1, is_known ? text : "-");
}

/* Values are shown of a single call. */
static void put_site(struct tool_last *last, struct tool_output *out,
                     const struct tool_value_call *call, uint64_t count)
{
    char place[TOOL_PLACE_BYTES];
    tool_output_text(out, tool_site_name(&last->names, call->site));
    if (count > 1)
        tool_output_printf(out, " x %" PRIu64, count);
    else
        tool_put_found_values(&last->values, out, call);
    tool_output_text(out, tool_site_place(last->reader, call->site, place));
    tool_output_text(out, "\n");
}

static void put_frame(struct tool_last *last, struct tool_output *out,
                      const ttape_last_thread *thread, const ttape_open_frame *frame)
{
    tool_output_text(out, "  ");
    uint64_t until = thread->off_since_ns != 0 ? thread->off_since_ns : thread->end_ns;
    put_time(out, last->has_times, (int64_t)(until - frame->enter_time_ns));
    if (frame->kind != TTAPE_EVENT_SIGNAL_BEGIN) {
        struct tool_value_call call = tool_last_frame(thread, frame);
        put_site(last, out, &call, 1);
        return;
    }
    const char *name = tool_signal_name(frame->argument);
    tool_output_printf(out, "(signal %" PRIu32 "%s%s)\n", frame->argument, name != NULL ? ", " : "",
                       name != NULL ? name : "");
}

/* Inlined functions are around the frame, before the next one that is recorded. */
static void put_inlined(struct tool_last *last, struct tool_output *out,
                        const ttape_last_thread *thread, uint32_t at)
{
    uint32_t count;
    char *const *names = tool_last_inlined(last, thread, at, &count);
    while (count-- > 0)
        tool_output_printf(out, "  %*s  %s (inlined)\n", TIME_WIDTH, "", names[count]);
}

static bool is_equal(const void *context, size_t a, size_t b)
{
    const ttape_last_thread *thread = context;
    const ttape_open_frame *x = &thread->frames[thread->frame_count - 1 - a],
                           *y = &thread->frames[thread->frame_count - 1 - b];
    return x->site == y->site && x->kind == y->kind && x->argument == y->argument;
}

/* Frames up to `at` are shown; returns how many behind them are told in one line. */
static uint32_t put_repeats(struct tool_output *out, const ttape_last_thread *thread, uint32_t at)
{
    size_t period;
    size_t size = tool_find_repeats(at + 1, thread->frame_count, is_equal, thread, &period);
    if (size > 0)
        tool_output_printf(out, "  %*s  (the same %zu %s, %zu more times)\n", TIME_WIDTH, "",
                           period, period == 1 ? "call" : "calls", size / period);
    return (uint32_t)size;
}

/* Of a pool, the first thread's are shown. */
static void put_frames(struct tool_last *last, struct tool_output *out,
                       const ttape_last_thread *thread, uint32_t most, bool is_pool)
{
    uint32_t count = thread->frame_count;
    if (count == 0 && thread->end.is_process)
        tool_output_text(out, "  no function that was recorded was open at the end\n");
    if (count == 0)
        return;
    tool_output_printf(out, "  open %s, innermost first%s:\n",
                       thread->off_since_ns != 0 ? "when it was switched off" : "at the end",
                       is_pool && last->has_times ? ", with times of the first" : "");
    uint32_t i = 0, lines = 0;
    for (; i < count && lines < most; i++, lines++) {
        put_frame(last, out, thread, &thread->frames[count - 1 - i]);
        i += put_repeats(out, thread, i);
        put_inlined(last, out, thread, count - 1 - i);
    }
    if (i < count)
        tool_output_printf(out, "  %*s  and %" PRIu32 " more\n", TIME_WIDTH, "", count - i);
}

static void put_lost(struct tool_output *out, uint64_t lost)
{
    if (lost == UINT64_MAX)
        tool_output_printf(out, "  %*s  %*s  (events were lost here)\n", TIME_WIDTH, "", TIME_WIDTH,
                           "");
    else if (lost != 0)
        tool_output_printf(out, "  %*s  %*s  (%" PRIu64 " events were lost here)\n", TIME_WIDTH, "",
                           TIME_WIDTH, "", lost);
}

static void put_off(struct tool_output *out, uint64_t off_ns)
{
    char text[40];
    text[tool_put_time(text, (int64_t)off_ns)] = '\0';
    if (off_ns != 0)
        tool_output_printf(out, "  %*s  %*s  (recording was off for %s)\n", TIME_WIDTH, "",
                           TIME_WIDTH, "", text);
}

/* Times before the end; indented by depth, as far as these calls have different ones. */
static void put_calls(struct tool_last *last, struct tool_output *out,
                      const ttape_last_thread *thread, bool is_pool)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < thread->call_count; i++)
        least = thread->calls[i].depth < least ? thread->calls[i].depth : least;
    if (thread->call_count == 0)
        return;
    tool_output_printf(out, "  last calls%s%s:\n  %*s  %*s\n", is_pool ? " of the first" : "",
                       thread->has_more_calls ? "" : " (all)", TIME_WIDTH, "BEFORE END", TIME_WIDTH,
                       "DURATION");
    for (size_t i = 0; i < thread->call_count; i++) {
        const ttape_last_call *call = &thread->calls[i];
        uint32_t indent = call->depth - least < INDENT_MAX ? call->depth - least : INDENT_MAX;
        put_lost(out, call->lost_before);
        put_off(out, call->off_before_ns);
        tool_output_text(out, "  ");
        put_time(out, last->has_times, (int64_t)(thread->end_ns - call->start_ns));
        if (call->is_open)
            tool_output_printf(out, "%*s  ", TIME_WIDTH, "open");
        else
            put_time(out, last->has_times && call->has_returned, call->total_ns);
        tool_output_printf(out, "%*s", (int)(2 * indent), "");
        struct tool_value_call values = tool_last_call(thread, call);
        put_site(last, out, &values, call->count);
    }
    put_lost(out, thread->lost_after);
}

static void put_words(struct tool_last *last, const ttape_last_thread *thread, uint32_t process,
                      char text[WORDS_BYTES])
{
    bool has_reason = thread->end.how == TTAPE_THREAD_END_RECORDING && thread->end.number != 0;
    const ttape_last_end *end = &thread->end;
    ttape_last_end of_process = *end;
    if (!end->is_known)
        strcpy(text, "how it ended is not in the trace");
    else if (end->is_process) {
        (void)ttape_last_get_process(last->answer, process, &of_process);
        tool_process_end_words(of_process.how, of_process.number, text);
    } else
        (void)snprintf(text, WORDS_BYTES, "%s%s%s", tool_thread_end_words(end->how),
                       has_reason ? ": " : "", has_reason ? tool_stop_words(end->number) : "");
}

/* The process ended by a fault that no thread's handler was told of. */
static bool lacks_address(const struct tool_last *last, const ttape_last_thread *thread)
{
    uint64_t number, address;
    ttape_stream_info info = {0};
    ttape_last_end end = {0};
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    (void)ttape_last_get_process(last->answer, info.stream.process, &end);
    bool is_fault =
        end.how == TTAPE_PROCESS_END_SIGNAL && (end.number == SIGSEGV || end.number == SIGBUS ||
                                                end.number == SIGFPE || end.number == SIGILL);
    for (uint32_t i = 0; is_fault && i < last->thread_count; i++)
        is_fault = !tool_last_fault(last, &last->threads[i], &number, &address);
    return is_fault && last->core.tid == 0;
}

/* ", in f (f.c:7)" */
static void put_place(const struct tool_last *last, struct tool_output *out,
                      const ttape_last_thread *thread)
{
    struct tool_last_place place;
    if (!tool_last_core_place(last, thread, &place) || place.function[0] == '\0')
        return;
    tool_output_text(out, ", in ");
    tool_output_escaped(out, TTP_ESCAPE_TEXT,
                        (ttape_string){place.function, strlen(place.function)});
    if (place.file[0] == '\0')
        return;
    const char *file = ttp_base_name(place.file);
    tool_output_text(out, " (");
    tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){file, strlen(file)});
    tool_output_printf(out, ":%" PRIu32 ")", place.line);
}

static void put_fault(struct tool_last *last, struct tool_output *out,
                      const ttape_last_thread *thread, bool is_first)
{
    uint64_t number, address;
    bool has_fault = tool_last_fault(last, thread, &number, &address);
    const char *name = tool_signal_name(has_fault ? number : last->ran_signal);
    if (!has_fault && last->ran_count != 0 && last->ran[thread - last->threads]) {
        tool_output_printf(out, "  it ran when %s came", name);
        if (last->ran_count == 1)
            tool_output_text(out, ", all others waited\n");
        else
            tool_output_printf(out, ", as did %" PRIu32 " more\n", last->ran_count - 1);
    }
    if (is_first && lacks_address(last, thread))
        tool_output_text(out, "  its address: ulimit -c unlimited before record, then last "
                              "--core CORE\n");
    if (!has_fault)
        return;
    tool_output_printf(out, "  %s at address 0x%" PRIx64, name != NULL ? name : "fault", address);
    put_place(last, out, thread);
    tool_output_text(out, "\n");
}

static void put_name(struct tool_output *out, ttape_string name)
{
    if (name.size_bytes == 0)
        return;
    tool_output_text(out, ", ");
    tool_output_escaped(out, TTP_ESCAPE_TEXT, name);
}

/* "thread 7 of process 7, f: the process was killed by SIGSEGV, 3 ms after its start" */
static void put_title(struct tool_last *last, struct tool_output *out,
                      const ttape_last_thread *thread)
{
    unsigned columns = tool_terminal_columns();
    char words[WORDS_BYTES], length[40] = "";
    ttape_process process = {0};
    ttape_stream_info info = {0};
    const ttape_stream *stream = &info.stream;
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    (void)ttape_reader_get_process(last->reader, stream->process, &process);
    size_t start = out->size_bytes;
    put_words(last, thread, stream->process, words);
    tool_output_printf(out, "thread %" PRIu64 " of process %" PRIu64, stream->tid, info.pid);
    put_name(out, stream->name.size_bytes > 0 ? stream->name : process.name);
    if (last->has_times && thread->end_ns >= stream->start_time_ns)
        length[tool_put_time(length, (int64_t)(thread->end_ns - stream->start_time_ns))] = '\0';
    size_t more = (thread->end.is_process ? strlen("the process ") : 0) + strlen(words) +
                  (length[0] != '\0' ? strlen(",  after its start") + strlen(length) : 0);
    bool is_wide = columns != 0 && out->size_bytes - start + 2 + more > columns;
    tool_output_printf(out, ":%s%s%s", is_wide ? "\n  " : " ",
                       thread->end.is_process ? "the process " : "", words);
    tool_output_printf(out, "%s%s%s\n", length[0] != '\0' ? ", " : "", length,
                       length[0] != '\0' ? " after its start" : "");
}

/* "20 threads of process 7, f, with equal stacks: each ended with its process", and which. */
static void put_pool_title(struct tool_last *last, struct tool_output *out,
                           const struct tool_last_group *group)
{
    char words[WORDS_BYTES];
    bool is_one_process = true;
    const ttape_last_thread *thread = &last->threads[group->threads[0]];
    struct tool_last_member *members = tool_allocate(group->count, sizeof *members);
    ttape_stream_info first = {0}, info = {0};
    (void)ttape_reader_get_stream(last->reader, thread->stream, &first);
    for (uint32_t i = 0; i < group->count; i++) {
        (void)ttape_reader_get_stream(last->reader, last->threads[group->threads[i]].stream, &info);
        is_one_process &= info.stream.process == first.stream.process;
        members[i] = (struct tool_last_member){info.stream.tid, info.stream.name};
    }
    put_words(last, thread, first.stream.process, words);
    tool_output_printf(out, "%" PRIu32 " threads", group->count);
    if (is_one_process)
        tool_output_printf(out, " of process %" PRIu64, first.pid);
    if (tool_last_have_one_name(members, group->count) && members[0].name.size_bytes > 0) {
        put_name(out, members[0].name);
        tool_output_text(out, ",");
    }
    tool_output_printf(out, " with equal stacks: each\n  %s%s\n",
                       thread->end.is_process ? "the process " : "", words);
    tool_last_put_members(out, members, group->count, tool_terminal_columns());
    free(members);
}

static void put_group(struct tool_last *last, struct tool_output *out,
                      const struct tool_last_group *group, bool is_first, bool is_brief)
{
    bool is_pool = group->count > 1;
    char length[40];
    const ttape_last_thread *thread = &last->threads[group->threads[0]];
    if (is_pool)
        put_pool_title(last, out, group);
    else
        put_title(last, out, thread);
    if (last->has_times && thread->off_since_ns != 0) {
        length[tool_put_time(length, (int64_t)(thread->end_ns - thread->off_since_ns))] = '\0';
        tool_output_printf(out, "  recording was off for the last %s\n", length);
    }
    put_fault(last, out, thread, is_first);
    put_frames(last, out, thread, is_brief ? FRAMES_BRIEF : FRAMES_SHOWN, is_pool);
    if (!is_brief || last->is_limit_given)
        put_calls(last, out, thread, is_pool);
}

/* Where there are many, those behind the first are told by where they are. */
static void put_groups(struct tool_last *last, struct tool_output *out, bool all)
{
    struct tool_last_order order = tool_last_order_of(last, all);
    bool are_many = !all && order.group_count > GROUPS_WHOLE;
    bool is_short = false;
    for (uint32_t i = 0; i < order.group_count; i++) {
        tool_output_text(out, i != 0 ? "\n" : "");
        put_group(last, out, &order.groups[i], i == 0, are_many && i != 0);
        is_short |= order.groups[i].count > 1 || (are_many && i != 0);
    }
    if (order.hidden_count != 0)
        tool_output_printf(out, "%s%" PRIu32 " more %s ended by %s (--all shows them)\n",
                           order.group_count != 0 ? "\n" : "", order.hidden_count,
                           order.hidden_count == 1 ? "thread" : "threads",
                           order.hidden_count == 1 ? "itself" : "themselves");
    if (is_short)
        tool_output_text(out, "\n--all shows each thread by itself, with its last calls\n");
    tool_last_order_close(&order);
    if (last->thread_count == 0)
        tool_output_text(out, "no events\n");
}

void tool_last_text(struct tool_last *last, struct tool_output *out, bool all)
{
    struct tool_folding folding = tool_folding_open(out, NAME_COLUMN);
    put_groups(last, out, all);
    tool_folding_close(&folding);
}
