#include "tools/record/engines/record_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/binary/elf_head.h"
#include "tools/record/record_output.h"

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

/* A script's interpreter is taken for one that can be loaded into; it nearly always is. */
bool tool_record_loads(const char *command)
{
    struct tool_elf_head head;
    struct stat about;
    bool loads = true;
    char *path = tool_record_find_command(command);
    if (path != NULL && tool_elf_head_of(NULL, path, &head) == NULL)
        loads = head.has_interpreter && head.is_64 && head.machine == TOOL_ELF_X86_64;
    if (path != NULL && stat(path, &about) == 0)
        loads &= !((about.st_mode & S_ISUID) != 0 && about.st_uid != geteuid()) &&
                 !((about.st_mode & S_ISGID) != 0 && about.st_gid != getegid());
    free(path);
    return loads;
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
}
