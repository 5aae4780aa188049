/* Functions that execute programs, in the shared library only: the recorder is told before the
 * program is gone (notes.c). What happens is the next function's in the loader's order. */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/runtime/exec/exec.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"

static __typeof__(&execve) real_execve, real_execvpe;
static __typeof__(&execv) real_execv, real_execvp;
static __typeof__(&fexecve) real_fexecve;
static int (*real_execveat)(int folder, const char *path, char *const arguments[],
                            char *const environment[], int flags);
static const void *real_execl, *real_execlp, *real_execle; /* as which they are recorded */

#define FIND(place, name)                                                                          \
    do {                                                                                           \
        if ((place) == NULL)                                                                       \
            *(void **)&(place) = ttp_next_function(name);                                          \
    } while (0)

void ttp_execs_begin(void)
{
    FIND(real_execve, "execve");
    FIND(real_execvpe, "execvpe");
    FIND(real_execv, "execv");
    FIND(real_execvp, "execvp");
    FIND(real_fexecve, "fexecve");
    FIND(real_execveat, "execveat");
    FIND(real_execl, "execl");
    FIND(real_execlp, "execlp");
    FIND(real_execle, "execle");
}

/* A call of one of them; the environment comes with it. */
struct call {
    const char *path, *shown; /* for the kernel; for the recorder */
    int folder, file;         /* of execveat; of fexecve */
    int flags;                /* of execveat */
    char *const *arguments;
};
/* With the caller's own environment, or another one. */
typedef int (*execute)(const struct call *call, char *const *environment, bool is_given);

static int set_error(int error)
{
    errno = error;
    return -1;
}

/* Where a copy of the environment is needed, it lies on the stack. What is too large with it is
 * executed without anything of ours. */
static int execute_call(const struct call *call, execute by, uint32_t flags,
                        char *const *environment)
{
    struct ttp_exec exec;
    struct ttp_noted noted;
    ttp_exec_look(&exec, call->path, call->file, flags, environment);
    for (;;) {
        void *memory = exec.bytes == 0                      ? NULL
                       : exec.bytes <= TTP_EXEC_STACK_BYTES ? alloca(exec.bytes)
                                                            : ttp_exec_map(&exec);
        ttp_exec_make(&exec, memory);
        ttp_note_exec(&noted, call->shown, &exec);
        if (!ttp_is_aside && ttp_has_state())
            ttp_drop_try_last(); /* what a drop period lost is counted before it is forgotten */
        ttp_warn_tracer();
        int result = by(call, exec.handed, exec.handed == environment);
        int error = errno;
        ttp_note_failed(&noted);
        ttp_exec_end(&exec);
        if (error != E2BIG || !ttp_exec_less(&exec)) {
            errno = error;
            return result;
        }
    }
}

static int do_execve(const struct call *call, char *const *environment, bool is_given)
{
    (void)is_given;
    FIND(real_execve, "execve");
    return real_execve != NULL ? real_execve(call->path, call->arguments, environment)
                               : set_error(ENOSYS);
}

static int do_execvpe(const struct call *call, char *const *environment, bool is_given)
{
    (void)is_given;
    FIND(real_execvpe, "execvpe");
    return real_execvpe != NULL ? real_execvpe(call->path, call->arguments, environment)
                                : set_error(ENOSYS);
}

static int do_execv(const struct call *call, char *const *environment, bool is_given)
{
    FIND(real_execv, "execv");
    return is_given && real_execv != NULL ? real_execv(call->path, call->arguments)
                                          : do_execve(call, environment, is_given);
}

static int do_execvp(const struct call *call, char *const *environment, bool is_given)
{
    FIND(real_execvp, "execvp");
    return is_given && real_execvp != NULL ? real_execvp(call->path, call->arguments)
                                           : do_execvpe(call, environment, is_given);
}

static int do_fexecve(const struct call *call, char *const *environment, bool is_given)
{
    (void)is_given;
    FIND(real_fexecve, "fexecve");
    return real_fexecve != NULL ? real_fexecve(call->file, call->arguments, environment)
                                : set_error(ENOSYS);
}

/* From glibc 2.34 on, and in no other C library; it is a plain system call. */
static int do_execveat(const struct call *call, char *const *environment, bool is_given)
{
    (void)is_given;
    FIND(real_execveat, "execveat");
    if (real_execveat != NULL)
        return real_execveat(call->folder, call->path, call->arguments, environment, call->flags);
    return set_error((int)-ttp_syscall(SYS_execveat, call->folder, (long)call->path,
                                       (long)call->arguments, (long)environment, call->flags, 0));
}

static int do_system_call(const struct call *call, char *const *environment, bool is_given)
{
    (void)is_given;
    return set_error((int)-ttp_syscall(SYS_execve, (long)call->path, (long)call->arguments,
                                       (long)environment, 0, 0, 0));
}

static int exec_ve(const char *path, char *const *arguments, char *const *environment)
{
    struct call call = {
        .path = path, .shown = path, .file = TTP_EXEC_NO_FILE, .arguments = arguments};
    return execute_call(&call, do_execve, 0, environment);
}

static int exec_v(const char *path, char *const *arguments)
{
    struct call call = {
        .path = path, .shown = path, .file = TTP_EXEC_NO_FILE, .arguments = arguments};
    return execute_call(&call, do_execv, 0, environ);
}

static int exec_vp(const char *name, char *const *arguments)
{
    struct call call = {
        .path = name, .shown = name, .file = TTP_EXEC_NO_FILE, .arguments = arguments};
    return execute_call(&call, do_execvp, TTP_NOTE_SEARCHED, environ);
}

int ttp_exec_by_system_call(const char *path, char *const *arguments, char *const *environment)
{
    struct call call = {
        .path = path, .shown = path, .file = TTP_EXEC_NO_FILE, .arguments = arguments};
    return execute_call(&call, do_system_call, 0, environment);
}

/* It has failed; hooks leave errno alone. */
static int end_front(const struct ttp_front *front, int result)
{
    ttp_front_exit(front);
    return result;
}

TTP_EXPORT int execvpe(const char *name, char *const *arguments, char *const *environment)
{
    struct ttp_front front = TTP_FRONT_HERE(real_execvpe);
    struct call call = {
        .path = name, .shown = name, .file = TTP_EXEC_NO_FILE, .arguments = arguments};
    return end_front(&front, execute_call(&call, do_execvpe, TTP_NOTE_SEARCHED, environment));
}

/* What the file is called, as long as it is not gone. */
static const char *name_of(int file, char path[TTP_NOTE_PATH_BYTES])
{
    char link[TTP_EXEC_LINK_BYTES];
    ttp_exec_link(file, link);
    long size = ttp_avoids_calls() ? 0
                                   : ttp_syscall(SYS_readlink, (long)link, (long)path,
                                                 TTP_NOTE_PATH_BYTES - 1, 0, 0, 0);
    path[size > 0 ? size : 0] = '\0';
    return path;
}

TTP_EXPORT int fexecve(int file, char *const *arguments, char *const *environment)
{
    char path[TTP_NOTE_PATH_BYTES];
    struct ttp_front front = TTP_FRONT_HERE(real_fexecve);
    struct call call = {.shown = name_of(file, path), .file = file, .arguments = arguments};
    return end_front(&front, execute_call(&call, do_fexecve, 0, environment));
}

/* A path in a folder that is open is known to nobody else; it is told where it can be named. */
TTP_EXPORT int execveat(int folder, const char *path, char *const *arguments,
                        char *const *environment, int flags)
{
    char shown[TTP_NOTE_PATH_BYTES];
    struct ttp_front front = TTP_FRONT_HERE(real_execveat);
    struct call call = {.path = path,
                        .shown = path,
                        .folder = folder,
                        .file = TTP_EXEC_NO_FILE,
                        .flags = flags,
                        .arguments = arguments};
    if (ttp_exec_is_whole_path(folder, path))
        return end_front(&front, execute_call(&call, do_execveat, 0, environment));
    call.file = (flags & AT_EMPTY_PATH) != 0 ? folder : TTP_EXEC_UNKNOWN;
    if (call.file >= 0)
        call.shown = name_of(folder, shown);
    return end_front(&front, execute_call(&call, do_execveat, 0, environment));
}

TTP_EXPORT int execve(const char *path, char *const *arguments, char *const *environment)
{
    struct ttp_front front = TTP_FRONT_HERE(real_execve);
    return end_front(&front, exec_ve(path, arguments, environment));
}

TTP_EXPORT int execv(const char *path, char *const *arguments)
{
    struct ttp_front front = TTP_FRONT_HERE(real_execv);
    return end_front(&front, exec_v(path, arguments));
}

TTP_EXPORT int execvp(const char *name, char *const *arguments)
{
    struct ttp_front front = TTP_FRONT_HERE(real_execvp);
    return end_front(&front, exec_vp(name, arguments));
}

/* The others list their arguments: a row of them on the stack, as the C library makes it. */

static size_t count_of(va_list *list)
{
    size_t count = 1;
    while (va_arg(*list, const char *) != NULL)
        count++;
    return count;
}

static void fill_row(char **row, const char *first, va_list *list)
{
    row[0] = (char *)first;
    for (size_t i = 0; row[i] != NULL; i++)
        row[i + 1] = va_arg(*list, char *);
}

#define LISTED(name, call)                                                                         \
    TTP_EXPORT int name(const char *path, const char *first, ...)                                  \
    {                                                                                              \
        va_list list;                                                                              \
        struct ttp_front front = TTP_FRONT_HERE(real_##name);                                      \
        va_start(list, first);                                                                     \
        size_t count = count_of(&list) + 1;                                                        \
        va_end(list);                                                                              \
        char **row = alloca(count * sizeof(*row));                                                 \
        va_start(list, first);                                                                     \
        fill_row(row, first, &list);                                                               \
        int result = call;                                                                         \
        va_end(list);                                                                              \
        return end_front(&front, result);                                                          \
    }
LISTED(execl, exec_v(path, row))
LISTED(execlp, exec_vp(path, row))
LISTED(execle, exec_ve(path, row, va_arg(list, char *const *)))
