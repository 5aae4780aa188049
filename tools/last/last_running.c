/* Who ran when a signal of a fault ended the process: a thread that waited cannot have met it. What
 * the kernel told of threads that were switched out says who waited.
 *
 *   last interval of each thread, from its last event to its end -> how much of it was waiting */
#include <signal.h>

#include <tracetape/calls.h>

#include "tools/command/tool.h"
#include "tools/last/last_view.h"

/* Who waited is woken to end, which takes a while, too. */
#define WAIT_SHARE 8

enum state { NOT_KNOWN, RAN, WAITED };

static bool is_fault(uint64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP || signal == SIGSYS;
}

static enum state state_of(const struct tool_last *last, const ttape_last_thread *thread)
{
    ttape_call_cursor *cursor;
    const ttape_call_step *step;
    int64_t elapsed_ns = 0, blocked_ns = 0, unknown_ns = 0;
    const ttape_call_options options = {
        .size = sizeof options,
        .streams = &thread->stream,
        .stream_count = 1,
        .has_range = thread->call_count != 0,
        .from_ns = thread->call_count != 0 ? thread->calls[thread->call_count - 1].start_ns : 0,
        .to_ns = UINT64_MAX,
        .switches = true};
    if (ttape_call_cursor_open(&cursor, last->input->reader, &options, NULL) != TTAPE_OK)
        return NOT_KNOWN;
    while (ttape_call_cursor_step(cursor, &step, NULL) == TTAPE_OK)
        if (step->elapsed_ns > 0 && step->kind != TTAPE_STEP_LEFT) {
            elapsed_ns = step->elapsed_ns;
            blocked_ns = step->blocked_ns;
        } else if (step->kind == TTAPE_STEP_LEFT && step->ended_count != 0) {
            unknown_ns += step->ended[0].unknown_ns;
        }
    ttape_call_cursor_close(cursor);
    if (elapsed_ns == 0 || unknown_ns != 0)
        return NOT_KNOWN;
    return blocked_ns > elapsed_ns / WAIT_SHARE ? WAITED : RAN;
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

void tool_last_find_ran(struct tool_last *last)
{
    uint32_t count = 0, ran = 0;
    last->ran_process = TTAPE_NONE;
    last->ran = tool_allocate(last->thread_count + 1u, sizeof *last->ran);
    for (uint32_t i = 0; i < last->thread_count && last->has_times; i++) {
        const ttape_last_thread *thread = &last->threads[i];
        if (thread->frame_count == 0 || !is_of_fault(last, thread, last->ran_process))
            continue;
        enum state state = state_of(last, thread);
        last->ran[i] = state != WAITED;
        ran += last->ran[i];
        count++;
        if (state == NOT_KNOWN) {
            count = 0;
            break;
        }
    }
    last->ran_count = count > 1 && ran < count ? ran : 0;
}
