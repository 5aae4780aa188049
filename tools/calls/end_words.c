#include "tools/calls/end_words.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NAME(signal) [signal] = #signal

const char *tool_signal_name(uint64_t number)
{
    static const char *const names[] = {
        NAME(SIGHUP),  NAME(SIGINT),    NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP), NAME(SIGABRT),
        NAME(SIGBUS),  NAME(SIGFPE),    NAME(SIGKILL), NAME(SIGUSR1), NAME(SIGSEGV), NAME(SIGUSR2),
        NAME(SIGPIPE), NAME(SIGALRM),   NAME(SIGTERM), NAME(SIGCHLD), NAME(SIGCONT), NAME(SIGSTOP),
        NAME(SIGTSTP), NAME(SIGTTIN),   NAME(SIGTTOU), NAME(SIGURG),  NAME(SIGXCPU), NAME(SIGXFSZ),
        NAME(SIGPROF), NAME(SIGVTALRM), NAME(SIGIO),   NAME(SIGSYS)};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

void tool_process_end_words(uint64_t how, uint64_t number, char text[TOOL_END_BYTES])
{
    const char *name = tool_signal_name(number);
    switch (how) {
    case TTAPE_PROCESS_END_EXIT:
        (void)snprintf(text, TOOL_END_BYTES, "exited with code %" PRIu64, number);
        break;
    case TTAPE_PROCESS_END_QUICK_EXIT:
        (void)snprintf(text, TOOL_END_BYTES, "exited by _exit with code %" PRIu64, number);
        break;
    case TTAPE_PROCESS_END_SIGNAL:
        if (name != NULL)
            (void)snprintf(text, TOOL_END_BYTES, "was killed by %s", name);
        else
            (void)snprintf(text, TOOL_END_BYTES, "was killed by signal %" PRIu64, number);
        break;
    default: (void)snprintf(text, TOOL_END_BYTES, "ended, how is not known");
    }
}

const char *tool_thread_end_words(uint64_t how)
{
    static const char *const words[] = {
        [TTAPE_THREAD_END_UNKNOWN] = "ended, how is not known",
        [TTAPE_THREAD_END_ITSELF] = "ended by itself",
        [TTAPE_THREAD_END_PROCESS] = "ended with its process",
        [TTAPE_THREAD_END_EXEC] = "ended when its process executed another program",
        [TTAPE_THREAD_END_RECORDING] = "went on when recording ended",
        [TTAPE_THREAD_END_RECORDER_DIED] = "was seen last when the recorder was killed",
        [TTAPE_THREAD_END_CALLED] = "ended its process, as it called exit"};
    return how < sizeof words / sizeof *words ? words[how] : words[TTAPE_THREAD_END_UNKNOWN];
}

const char *tool_stop_words(uint64_t reason)
{
    static const char *const words[] = {[TTAPE_STOP_UNKNOWN] = "nobody knows why",
                                        [TTAPE_STOP_OFF] = "it was switched off",
                                        [TTAPE_STOP_TIME] = "its time was up",
                                        [TTAPE_STOP_SIZE] = "the trace had its size",
                                        [TTAPE_STOP_ASKED] = "it was asked to",
                                        [TTAPE_STOP_ENDED] = "the recorder let the program go",
                                        [TTAPE_STOP_FAILED] = "the recorder failed"};
    return reason < sizeof words / sizeof *words ? words[reason] : words[TTAPE_STOP_UNKNOWN];
}

void tool_end_words(const ttape_last_end *end, char text[TOOL_END_BYTES])
{
    char how[TOOL_END_BYTES];
    if (end->is_process)
        tool_process_end_words(end->how, end->number, how);
    (void)snprintf(text, TOOL_END_BYTES, "%s %.55s", end->is_process ? "process" : "thread",
                   end->is_process ? how : tool_thread_end_words(end->how));
}
