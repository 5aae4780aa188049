/* Plans are kept in the user's cache, in a folder that nobody else can write: what the runtime puts
 * into programs comes from there. */
#define _GNU_SOURCE /* asprintf */
#include "tools/record/record_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/kernel/kernel_calls.h"

static bool is_own(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

static bool make_folder(char **into)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    bool has_cache = cache != NULL && cache[0] == '/';
    if ((!has_cache && (home == NULL || home[0] != '/')) ||
        asprintf(&path, "%s%s/tracetape/plan-v1", has_cache ? cache : home,
                 has_cache ? "" : "/.cache") < 0)
        return false;
    for (char *at = path + 1; at != NULL; at = strchr(at + 1, '/')) {
        char *slash = strchr(at, '/');
        if (slash != NULL)
            *slash = '\0';
        bool failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        if (slash != NULL)
            *slash = '/';
        at = slash;
        if (failed || slash == NULL)
            break;
    }
    *into = path;
    return is_own(path);
}

bool tool_parse_record_calls(const char *text, void *into)
{
    struct tool_record_calls *calls = into;
    calls->given = true;
    return text == NULL || tool_parse_call_choice(text, &calls->choice);
}

static void choose(const struct tool_call_choice *choice, ttape_syscall_options *into)
{
    size_t count;
    const struct tool_kernel_call *calls = tool_kernel_calls(&count);
    for (size_t i = 0; i < TTAPE_SYSCALL_NUMBERS / 64 && choice->count == 0; i++)
        into->chosen[i] = UINT64_MAX; /* newer ones, too */
    for (size_t i = 0; i < count; i++)
        if (calls[i].number < TTAPE_SYSCALL_NUMBERS && tool_call_is_chosen(choice, calls[i].name))
            into->chosen[calls[i].number / 64] |= 1ull << calls[i].number % 64;
}

bool tool_record_calls_open(struct tool_record_calls *calls, ttape_syscall_options *into)
{
    if (!calls->given)
        return true;
    choose(&calls->choice, into);
    into->arguments = calls->arguments;
    if (!make_folder(&calls->folder))
        return tool_fail("no folder for plans of system calls: '%s' is not ours alone",
                         calls->folder != NULL ? calls->folder : "~/.cache") != 0 &&
               false;
    into->plan_folder = calls->folder;
    return true;
}

void tool_record_calls_close(struct tool_record_calls *calls)
{
    tool_call_choice_close(&calls->choice);
    free(calls->folder);
}
