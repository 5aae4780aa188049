/* Who may have met a fault that ended the process. The thread with the latest event ran then; a
 * thread that had waited since before that event did not. (The one with the fault may wait, too:
 * for the others to end.)
 *
 *   last interval of each thread, from its last event to its end -> how much of it was waiting */
#include <signal.h>
#include <stdlib.h>

#include <tracetape/calls.h>

#include "tools/command/tool.h"
#include "tools/last/last_view.h"

/* A thread's last interval. */
struct interval {
    uint64_t start_ns;
    int64_t blocked_ns;
    bool is_known;
};

static bool is_fault(uint64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP || signal == SIGSYS;
}

static struct interval last_of(const struct tool_last *last, const ttape_last_thread *thread)
{
    ttape_call_cursor *cursor;
    const ttape_call_step *step;
    struct interval found = {.is_known = true};
    bool has_calls = thread->call_count != 0;
    const ttape_call_options options = {
        .size = sizeof options,
        .streams = &thread->stream,
        .stream_count = 1,
        .has_range = has_calls,
        .from_ns = has_calls ? thread->calls[thread->call_count - 1].start_ns : 0,
        .to_ns = UINT64_MAX,
        .switches = true};
    if (ttape_call_cursor_open(&cursor, last->input->reader, &options, NULL) != TTAPE_OK)
        return (struct interval){.is_known = false};
    uint64_t now_ns = options.from_ns;
    while (ttape_call_cursor_step(cursor, &step, NULL) == TTAPE_OK) {
        if (step->kind == TTAPE_STEP_LEFT && step->ended_count != 0)
            found.is_known &= step->ended[0].unknown_ns == 0;
        if (step->kind == TTAPE_STEP_LEFT || step->elapsed_ns <= 0)
            continue;
        found.start_ns = now_ns;
        found.blocked_ns = step->blocked_ns;
        now_ns = step->time_ns;
    }
    ttape_call_cursor_close(cursor);
    found.is_known &= found.start_ns != 0;
    return found;
}

static bool is_of_fault(struct tool_last *last, const ttape_last_thread *thread, uint32_t process)
{
    ttape_stream_info info;
    ttape_last_end end;
    if (ttape_reader_get_stream(last->reader, thread->stream, &info) != TTAPE_OK ||
        ttape_last_get_process(last->answer, info.stream.process, &end) != TTAPE_OK ||
        end.how != TTAPE_PROCESS_END_SIGNAL || !is_fault(end.number) ||
        (process != TTAPE_NONE && process != info.stream.process))
        return false;
    last->ran_process = info.stream.process;
    last->ran_signal = end.number;
    return true;
}

/* Those that had not waited since before the latest event of all. */
static void compare_intervals(struct tool_last *last, const struct interval *intervals,
                              uint32_t latest)
{
    uint64_t end_ns = 0;
    for (uint32_t i = 0; i < last->thread_count; i++)
        if (intervals[i].start_ns != 0 && last->threads[i].end_ns > end_ns)
            end_ns = last->threads[i].end_ns;
    int64_t since_ns = (int64_t)(end_ns - intervals[latest].start_ns);
    for (uint32_t i = 0; i < last->thread_count; i++) {
        last->ran[i] =
            intervals[i].start_ns != 0 && (i == latest || intervals[i].blocked_ns <= since_ns);
        last->ran_count += last->ran[i];
    }
}

void tool_last_find_ran(struct tool_last *last)
{
    uint32_t count = 0, latest = 0;
    bool is_known = last->has_times;
    struct interval *intervals = tool_allocate(last->thread_count + 1u, sizeof *intervals);
    last->ran_process = TTAPE_NONE;
    last->ran = tool_allocate(last->thread_count + 1u, sizeof *last->ran);
    for (uint32_t i = 0; i < last->thread_count && is_known; i++) {
        const ttape_last_thread *thread = &last->threads[i];
        if (thread->frame_count == 0 || !is_of_fault(last, thread, last->ran_process))
            continue;
        intervals[i] = last_of(last, thread);
        is_known = intervals[i].is_known;
        latest = intervals[i].start_ns > intervals[latest].start_ns ? i : latest;
        count++;
    }
    if (is_known && count > 1)
        compare_intervals(last, intervals, latest);
    last->ran_latest = latest;
    free(intervals);
}
