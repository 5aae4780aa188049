/* Starting the command: its environment, the fork, and what the kernel is asked before that. */
#define _GNU_SOURCE /* asprintf, pipe2 */
#include "tools/record/start/record_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/record/start/record_fit.h"

#define ENV_ARENA   "TRACETAPE_ARENA"
#define ENV_PRELOAD "LD_PRELOAD"
#define LARGE_BYTES (1 << 20)
#define WITHOUT     (-1) /* executed, or tried, without our entries */

static bool names(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* The command's environment: ours, with two entries anew. It is made before the fork, while the
 * recorder can still say that memory is missing. */
struct surroundings {
    char **entries; /* of `environ`, but for the two */
    char *arena, *preload;
    const struct tool_record_bare *bare;
    const sigset_t *mask;
    const struct tool_record_trace *trace;
};

static void free_surroundings(struct surroundings *s)
{
    free(s->entries);
    free(s->arena);
    free(s->preload);
    *s = (struct surroundings){0};
}

/* Not for a loader that would complain. What else is preloaded may be meant for the command. */
static char *preload_entry(const struct tool_record_start *how)
{
    char *entry = NULL;
    const char *before = getenv(ENV_PRELOAD);
    bool joins = before != NULL && *before != '\0';
    if (asprintf(&entry, ENV_PRELOAD "=%s%s%s", how->runtime, joins ? ":" : "",
                 joins ? before : "") < 0)
        return NULL;
    return entry;
}

static bool make_surroundings(struct surroundings *s, const char *arena,
                              const struct tool_record_start *how, bool is_foreign)
{
    bool sets = how->runtime != NULL, preloads = sets && !is_foreign;
    size_t count = 0, used = 0;
    *s = (struct surroundings){0};
    while (environ[count] != NULL)
        count++;
    s->entries = calloc(count + 3, sizeof *s->entries);
    if (asprintf(&s->arena, ENV_ARENA "=%s", arena) < 0)
        s->arena = NULL;
    s->preload = preloads ? preload_entry(how) : NULL;
    if (s->entries == NULL || s->arena == NULL || (preloads && s->preload == NULL)) {
        free_surroundings(s);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!(sets && names(environ[i], ENV_ARENA)) &&
            !(preloads && names(environ[i], ENV_PRELOAD)))
            s->entries[used++] = environ[i];
    if (sets)
        s->entries[used++] = s->arena;
    if (preloads)
        s->entries[used] = s->preload;
    return true;
}

/* Nothing in here needs memory: execvpe finds the command on the stack. Where the kernel has room
 * for the command's environment and not for our two entries, it runs without them. */
static void become(char **argv, const struct surroundings *around, int go, int report)
{
    static const int without = WITHOUT;
    char byte;
    if (around->trace != NULL)
        tool_trace_allow(around->trace);
    while (read(go, &byte, 1) < 0 && errno == EINTR) { /* until its other end is closed */
    }
    tool_record_bare_give_back(around->bare);
    (void)sigprocmask(SIG_SETMASK, around->mask, NULL);
    (void)execvpe(argv[0], argv, around->entries);
    int why = errno;
    if (why == E2BIG) {
        (void)!write(report, &without, sizeof without);
        (void)execvpe(argv[0], argv, environ);
        why = errno;
    }
    (void)!write(report, &why, sizeof why);
    _exit(EXIT_FAILURE);
}

/* Before it goes on, the kernel is asked to tell when it does not run. */
static void follow(ttape_recording *recording, pid_t child, const struct tool_record_start *how)
{
    ttape_error err = {0};
    if (how->follows && ttape_recording_follow(recording, (uint32_t)child, &err) != TTAPE_OK &&
        !how->is_quiet)
        tool_message("%s: time off the CPU is not known", err.message);
}

/* Forks. The child waits until the other end of its pipe is closed. */
static pid_t fork_command(char **argv, const struct surroundings *around, int report[2],
                          ttape_recording *recording, const struct tool_record_start *how)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)close(go[1]);
        become(argv, around, go[0], report[1]);
    }
    if (child > 0)
        follow(recording, child, how);
    int code = errno;
    if (child > 0 && how->trace != NULL &&
        !tool_trace_hold(how->trace, ttape_recording_arena(recording), child, false)) {
        (void)kill(child, SIGKILL); /* it has executed nothing */
        (void)waitpid(child, NULL, 0);
        code = ECANCELED;
        child = -1;
    }
    (void)close(go[0]);
    (void)close(go[1]);
    errno = code;
    return child;
}

/* Why nothing was executed; 0: it was, or WITHOUT. */
static int read_report(int report)
{
    int code = 0, next;
    ssize_t size;
    while ((size = read(report, &next, sizeof next)) != 0)
        if (size > 0)
            code = next;
        else if (errno != EINTR)
            break;
    return code;
}

pid_t tool_record_start(char **argv, ttape_recording *recording,
                        const struct tool_record_start *how, int *code)
{
    int report[2];
    struct surroundings around;
    *code = ENOMEM;
    if (!make_surroundings(&around, ttape_recording_arena(recording), how,
                           tool_record_fit_of(argv[0]) == TOOL_FIT_FOREIGN))
        return -1;
    around.bare = how->bare;
    around.mask = how->mask;
    around.trace = how->trace;
    *code = 0;
    pid_t child = -1;
    if (pipe2(report, O_CLOEXEC) != 0) {
        *code = errno;
    } else {
        child = fork_command(argv, &around, report, recording, how);
        if (child < 0)
            *code = errno;
        (void)close(report[1]);
        if (child > 0)
            *code = read_report(report[0]);
        if (*code == WITHOUT) {
            ttape_recording_note_bare(recording, (uint32_t)child);
            *code = 0;
        }
        (void)close(report[0]);
    }
    free_surroundings(&around);
    return child;
}

/* In a build folder, or where both were installed. */
char *tool_record_find_runtime(void)
{
    static const char *const places[] = {"", "../lib/", "../lib/x86_64-linux-gnu/", "../lib64/"};
    char self[PATH_MAX], *path = NULL;
    const char *named = getenv("TRACETAPE_RUNTIME");
    if (named != NULL)
        return tool_copy_text(named, strlen(named));
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0)
        return NULL;
    self[size] = '\0';
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (asprintf(&path, "%s%s" TOOL_RUNTIME_NAME, self, places[i]) < 0)
            return NULL;
        struct stat info;
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
            return path;
        free(path);
    }
    return NULL;
}

void tool_record_give_back_memory(void)
{
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

void tool_record_block_signals(sigset_t *before)
{
    static const int blocked[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        (void)sigaddset(&set, blocked[i]);
    (void)sigprocmask(SIG_BLOCK, &set, before);
}
