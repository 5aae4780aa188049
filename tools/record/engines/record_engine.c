#include "tools/record/engines/record_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/record/start/record_fit.h"

#define FILTER_BYTES 64u

bool tool_parse_record_engine(const char *text, void *into)
{
    static const char *const names[] = {"auto", "in-process", "ptrace"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *(enum tool_record_engine *)into = (enum tool_record_engine)i;
            return true;
        }
    return false;
}

bool tool_record_loads(const char *command) { return tool_record_fit_of(command) == TOOL_FIT_ALL; }

bool tool_record_needs_ptrace(const char *command)
{
    enum tool_record_fit fit = tool_record_fit_of(command);
    return fit != TOOL_FIT_ALL && (fit != TOOL_FIT_SECURE || geteuid() == 0);
}

void tool_record_keep_choice(ttape_recording *recording, const struct tool_record_calls *calls)
{
    const struct tool_call_choice *choice = &calls->choice;
    char filter[FILTER_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < choice->count && used < sizeof filter; i++)
        used += (size_t)snprintf(filter + used, sizeof filter - used, "%s%s", i > 0 ? "," : "",
                                 choice->words[i]);
    (void)ttape_recording_set_text(recording, "syscalls_filter", filter, NULL);
    if (calls->measure != NULL)
        (void)ttape_recording_set_text(recording, "syscalls_measure", calls->measure, NULL);
    const char *branches = getenv("TRACETAPE_BRANCH"); /* of the command, too */
    if (branches != NULL)
        (void)ttape_recording_set_text(recording, "branch_operation", branches, NULL);
}
