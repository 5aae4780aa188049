/* Facts that only a tracer knows of: how a process ends, and signals that come (spec/facts.md). */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "recorder/ptrace/tracer.h"

#define CODE_MASK 0xff

/* Whether its stream is written here, and recording is on. */
static bool is_ours(const struct ttp_tracer *tracer, const struct ttp_traced *thread)
{
    return thread->is_seen && !thread->is_free && !thread->is_given &&
           __atomic_load_n(&tracer->outside.head->mode, __ATOMIC_RELAXED) == TTP_MODE_ON;
}

static bool is_last(const struct ttp_tracer *tracer, const struct ttp_traced *thread)
{
    for (size_t i = 0; i < tracer->count; i++)
        if (tracer->threads[i] != thread && tracer->threads[i]->pid == thread->pid &&
            !tracer->threads[i]->has_ended)
            return false;
    return true;
}

void ttp_traced_end(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    unsigned long message = 0;
    thread->has_ended = true;
    if (!is_ours(tracer, thread) || !is_last(tracer, thread) ||
        ptrace(PTRACE_GETEVENTMSG, (pid_t)thread->tid, NULL, &message) != 0)
        return;
    int status = (int)message;
    bool is_killed = WIFSIGNALED(status);
    uint32_t number = is_killed ? (uint32_t)WTERMSIG(status) : (uint32_t)WEXITSTATUS(status);
    uint64_t end = ttp_end_payload(
        true, is_killed ? TTAPE_PROCESS_END_SIGNAL : TTAPE_PROCESS_END_EXIT, number & CODE_MASK);
    (void)ttp_outside_extension(&tracer->outside, &thread->out, TTP_EXT_END, end);
}

/* Says in the thread's stream what the address of the fact means. */
static void announce(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    static const char name[] = "tracetape:signal_info";
    uint64_t address = TTP_SIGNAL_SITE;
    uint32_t numbers[2] = {TTAPE_SITE_MARKER, 0};
    uint16_t size = sizeof(name) - 1;
    const struct ttp_outside_field fields[4] = {{&address, sizeof(address)},
                                                {numbers, sizeof(numbers)},
                                                {&size, sizeof(size)},
                                                {name, size}};
    thread->has_signals =
        ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_SITE, fields, 4);
}

void ttp_traced_signal(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    siginfo_t info;
    if (!tracer->options->arguments || !is_ours(tracer, thread) ||
        ptrace(PTRACE_GETSIGINFO, (pid_t)thread->tid, NULL, &info) != 0)
        return;
    if (!thread->has_signals)
        announce(tracer, thread);
    uint64_t address = TTP_SIGNAL_SITE, number = (uint64_t)info.si_signo;
    uint8_t types[2] = {TTAPE_VALUE_UNSIGNED, TTAPE_VALUE_BYTES};
    uint32_t size = sizeof(info);
    const struct ttp_outside_field fields[6] = {{&address, sizeof(address)}, {&types[0], 1},
                                                {&number, sizeof(number)},   {&types[1], 1},
                                                {&size, sizeof(size)},       {&info, sizeof(info)}};
    if (thread->has_signals)
        (void)ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_LEAF, fields, 6);
}
