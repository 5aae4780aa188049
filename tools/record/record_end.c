#include <stdbool.h>
#include <sys/wait.h>

#include "tools/calls/end_words.h"
#include "tools/calls/hook_cost.h"
#include "tools/command/tool.h"
#include "tools/record/record_end.h"

#define STATUS_SIGNALED 128

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

int tool_record_exit(int status)
{
    return WIFEXITED(status) ? code_of(status) : STATUS_SIGNALED + code_of(status);
}

void tool_record_keep_end(ttape_recording *recording, int status)
{
    const char *key = WIFEXITED(status) ? "exit_code" : "signal";
    (void)ttape_recording_set_number(recording, key, (uint64_t)code_of(status), NULL);
}

void tool_record_say_end(const char *output, int status)
{
    char how[TOOL_END_BYTES];
    bool exited = WIFEXITED(status);
    tool_process_end_words(exited ? TTAPE_PROCESS_END_EXIT : TTAPE_PROCESS_END_SIGNAL,
                           (uint64_t)code_of(status), how);
    tool_message("the command %s: see tracetape %s '%s'", how, exited ? "report" : "last", output);
}

void tool_record_say_cost(const char *output)
{
    ttape_source source;
    ttape_reader *reader = NULL;
    ttape_error err = {0};
    struct tool_hook_cost cost = {0};
    char words[TOOL_HOOK_WORDS_BYTES];
    if (ttape_source_file_open(&source, output, &err) != TTAPE_OK)
        return; /* several files, with names of their own */
    if (ttape_reader_open(&reader, &source, NULL, &err) == TTAPE_OK)
        tool_hook_cost_find(&cost, reader);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    if (cost.is_known)
        tool_message("recording itself took %s", tool_hook_cost_words(&cost, words));
}
