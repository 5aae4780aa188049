/* Functions that execute programs, in the shared library only: the recorder is told before the
 * program is gone (notes.c). What happens is the next function's in the loader's order. */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/runtime/loader/lookup.h"
#include "writer/runtime/slow.h"

static __typeof__(&execve) real_execve, real_execvpe;
static __typeof__(&execv) real_execv, real_execvp;
static __typeof__(&fexecve) real_fexecve;

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
}

#define MISSING(function) ((function) == NULL ? (errno = ENOSYS, true) : false)

static int exec_ve(const char *path, char *const *arguments, char *const *environment)
{
    struct ttp_noted noted;
    FIND(real_execve, "execve");
    if (MISSING(real_execve))
        return -1;
    ttp_note_exec(&noted, path, 0, environment);
    int result = real_execve(path, arguments, environment);
    ttp_note_failed(&noted);
    return result;
}

TTP_EXPORT int execvpe(const char *name, char *const *arguments, char *const *environment)
{
    struct ttp_noted noted;
    FIND(real_execvpe, "execvpe");
    if (MISSING(real_execvpe))
        return -1;
    ttp_note_exec(&noted, name, TTP_NOTE_SEARCHED, environment);
    int result = real_execvpe(name, arguments, environment);
    ttp_note_failed(&noted);
    return result;
}

static int exec_v(const char *path, char *const *arguments)
{
    struct ttp_noted noted;
    FIND(real_execv, "execv");
    if (MISSING(real_execv))
        return -1;
    ttp_note_exec(&noted, path, 0, environ);
    int result = real_execv(path, arguments);
    ttp_note_failed(&noted);
    return result;
}

static int exec_vp(const char *name, char *const *arguments)
{
    struct ttp_noted noted;
    FIND(real_execvp, "execvp");
    if (MISSING(real_execvp))
        return -1;
    ttp_note_exec(&noted, name, TTP_NOTE_SEARCHED, environ);
    int result = real_execvp(name, arguments);
    ttp_note_failed(&noted);
    return result;
}

TTP_EXPORT int fexecve(int file, char *const *arguments, char *const *environment)
{
    struct ttp_noted noted;
    char name[32] = "/proc/self/fd/", path[TTP_NOTE_PATH_BYTES];
    FIND(real_fexecve, "fexecve");
    if (MISSING(real_fexecve))
        return -1;
    size_t end = sizeof("/proc/self/fd/") - 1, digits = end;
    for (uint32_t rest = (uint32_t)file; digits == end || rest != 0; rest /= 10)
        name[digits++] = (char)('0' + rest % 10);
    for (size_t low = end, high = digits - 1; low < high; low++, high--) {
        char swapped = name[low];
        name[low] = name[high];
        name[high] = swapped;
    }
    long size = ttp_process.avoids_system_calls
                    ? 0
                    : ttp_syscall(SYS_readlink, (long)name, (long)path, sizeof(path) - 1, 0, 0, 0);
    path[size > 0 ? size : 0] = '\0';
    ttp_note_exec(&noted, path, 0, environment);
    int result = real_fexecve(file, arguments, environment);
    ttp_note_failed(&noted);
    return result;
}

TTP_EXPORT int execve(const char *path, char *const *arguments, char *const *environment)
{
    return exec_ve(path, arguments, environment);
}

TTP_EXPORT int execv(const char *path, char *const *arguments) { return exec_v(path, arguments); }

TTP_EXPORT int execvp(const char *name, char *const *arguments) { return exec_vp(name, arguments); }

/* The others list their arguments: a row of them on the stack, as the C library makes it. */

static size_t count_of(va_list *list)
{
    size_t count = 1;
    while (va_arg(*list, const char *) != NULL)
        count++;
    return count;
}

static void fill(char **row, const char *first, va_list *list)
{
    row[0] = (char *)first;
    for (size_t i = 0; row[i] != NULL; i++)
        row[i + 1] = va_arg(*list, char *);
}

#define LISTED(name, call)                                                                         \
    TTP_EXPORT int name(const char *path, const char *first, ...)                                  \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, first);                                                                     \
        size_t count = count_of(&list) + 1;                                                        \
        va_end(list);                                                                              \
        char **row = alloca(count * sizeof(*row));                                                 \
        va_start(list, first);                                                                     \
        fill(row, first, &list);                                                                   \
        int result = call;                                                                         \
        va_end(list);                                                                              \
        return result;                                                                             \
    }
LISTED(execl, exec_v(path, row))
LISTED(execlp, exec_vp(path, row))
LISTED(execle, exec_ve(path, row, va_arg(list, char *const *)))
