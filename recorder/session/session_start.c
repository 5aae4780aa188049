/* Starting the command: its environment, the fork, and what comes before it executes anything. */
#define _GNU_SOURCE /* asprintf, execvpe, pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/session/session_internal.h"
#include "recorder/state/unrecorded.h"

#define TTP_ENV_ARENA "TRACETAPE_ARENA"
#define ENV_PRELOAD   "LD_PRELOAD"
#define WITHOUT       (-1) /* executed, or tried, without our entries */

/* The command's environment: the caller's, with two entries anew. It is made before the fork, while
 * missing memory is still a failure. */
struct surroundings {
    char *const *given;
    char **entries; /* of `given`, but for the two */
    char *arena, *preload;
};

static bool is_named(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static const char *find_value(char *const *entries, const char *name)
{
    for (; *entries != NULL; entries++)
        if (is_named(*entries, name))
            return *entries + strlen(name) + 1;
    return NULL;
}

static void free_surroundings(struct surroundings *s)
{
    free(s->entries);
    free(s->arena);
    free(s->preload);
    *s = (struct surroundings){0};
}

/* What else is preloaded may be meant for the command. */
static char *make_preload(const struct surroundings *s, const char *runtime)
{
    char *entry = NULL;
    const char *before = find_value(s->given, ENV_PRELOAD);
    bool joins = before != NULL && *before != '\0';
    if (asprintf(&entry, ENV_PRELOAD "=%s%s%s", runtime, joins ? ":" : "", joins ? before : "") < 0)
        return NULL;
    return entry;
}

static bool make_surroundings(struct surroundings *s, const ttape_session *session, bool preloads)
{
    bool loads = session->engine->loads;
    size_t count = 0, used = 0;
    char *const *given = session->options.environment;
    *s = (struct surroundings){.given = given != NULL ? given : environ};
    while (s->given[count] != NULL)
        count++;
    s->entries = calloc(count + 3, sizeof *s->entries);
    if (loads &&
        asprintf(&s->arena, TTP_ENV_ARENA "=%s", ttape_recording_arena(session->recording)) < 0)
        s->arena = NULL;
    s->preload = preloads ? make_preload(s, session->runtime) : NULL;
    if (s->entries == NULL || (loads && s->arena == NULL) || (preloads && s->preload == NULL)) {
        free_surroundings(s);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!(loads && is_named(s->given[i], TTP_ENV_ARENA)) &&
            !(preloads && is_named(s->given[i], ENV_PRELOAD)))
            s->entries[used++] = s->given[i];
    if (loads)
        s->entries[used++] = s->arena;
    if (preloads)
        s->entries[used] = s->preload;
    return true;
}

/* A loader of another machine or C library would complain of the runtime. Where the file is not
 * found the kernel says so. */
static bool is_foreign(const char *command)
{
    struct ttp_program_file file = {0};
    char *path = ttp_program_find(command);
    if (path != NULL)
        ttp_program_file_look(path, &file);
    free(path);
    return !file.is_static && (file.is_other_machine || file.is_other_libc);
}

/* Becomes the command, when the other end of `go` is closed. Nothing in here needs memory: execvpe
 * finds the command on the stack. Where the kernel has room for the command's environment and not
 * for our two entries, it runs without them. */
static void become(const ttape_session *session, const struct surroundings *around, int go,
                   int report)
{
    static const int without = WITHOUT;
    const ttape_session_options *o = &session->options;
    char byte;
    ttp_tracer_allow(&session->tracer);
    while (read(go, &byte, 1) < 0 && errno == EINTR) {
    }
    if (o->prepare != NULL)
        o->prepare(o->context);
    (void)execvpe(o->argv[0], o->argv, around->entries);
    int why = errno;
    if (why == E2BIG && session->engine->loads) {
        (void)!write(report, &without, sizeof without);
        (void)execvpe(o->argv[0], o->argv, around->given);
        why = errno;
    }
    (void)!write(report, &why, sizeof why);
    _exit(EXIT_FAILURE);
}

static ttape_status fork_command(ttape_session *session, const struct surroundings *around,
                                 int report, ttape_error *err)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return ttp_session_fail(err, errno, "make a pipe");
    pid_t child = fork();
    int code = errno;
    if (child == 0) {
        (void)close(go[1]);
        become(session, around, go[0], report);
    }
    ttape_status status = TTAPE_OK;
    if (child < 0)
        status = ttp_session_fail(err, code, "start a process");
    else if (session->engine->held != NULL) {
        session->state.pid = (uint32_t)child;
        status = session->engine->held(session, err);
        if (status != TTAPE_OK) {
            (void)kill(child, SIGKILL); /* it has executed nothing */
            (void)waitpid(child, NULL, 0);
            child = -1;
        }
    }
    session->state.pid = child > 0 ? (uint32_t)child : 0;
    (void)close(go[0]);
    (void)close(go[1]);
    return status;
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

static ttape_status fail_to_execute(const ttape_session *session, int code, ttape_error *err)
{
    (void)waitpid((pid_t)session->state.pid, NULL, 0);
    (void)ttp_fail_plain(err, code == ENOENT ? TTAPE_E_NOT_FOUND : TTAPE_E_IO,
                         "cannot run '%.150s': %s", session->options.argv[0], strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return code == ENOENT ? TTAPE_E_NOT_FOUND : TTAPE_E_IO;
}

ttape_status ttp_session_start_command(ttape_session *session, ttape_error *err)
{
    int report[2], code = 0;
    struct surroundings around;
    const char *command = session->options.argv[0];
    bool preloads = session->engine->loads && !is_foreign(command);
    if (!make_surroundings(&around, session, preloads))
        return ttp_fail_memory(err);
    ttape_status status = TTAPE_OK;
    if (pipe2(report, O_CLOEXEC) != 0)
        status = ttp_session_fail(err, errno, "make a pipe");
    else {
        status = fork_command(session, &around, report[1], err);
        (void)close(report[1]);
        if (status == TTAPE_OK)
            code = read_report(report[0]);
        (void)close(report[0]);
    }
    free_surroundings(&around);
    if (status != TTAPE_OK)
        return status;
    if (code == WITHOUT)
        ttape_recording_note_bare(session->recording, session->state.pid);
    else if (code != 0)
        return fail_to_execute(session, code, err);
    if (session->engine->loads)
        ttape_recording_note_started(session->recording, session->state.pid, command);
    return TTAPE_OK;
}
