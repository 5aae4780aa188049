/* system and popen, in the shared library only: the C library starts their shell with `environ` as
 * it is. Where the program has taken the recorder's entries out of that, a copy that has them
 * stands there while the shell is started. Other threads read the same entries there, and two more;
 * what they set meanwhile stays. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/runtime/exec/exec.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"

#define SHELL      "/bin/sh"
#define KEPT_MAX   8u
#define HEAD_BYTES 16u
#define PAGE_BYTES 4096u

static __typeof__(&system) real_system;
static __typeof__(&popen) real_popen;
/* Of copies, which stay: another thread may be reading in one. */
static struct kept {
    size_t bytes;
} * kept[KEPT_MAX];

#define FIND(place, name)                                                                          \
    do {                                                                                           \
        if ((place) == NULL)                                                                       \
            *(void **)&(place) = ttp_next_function(name);                                          \
    } while (0)

static struct kept *take_bytes(size_t bytes)
{
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        struct kept *found = __atomic_exchange_n(&kept[i], NULL, __ATOMIC_ACQ_REL);
        if (found != NULL && found->bytes >= bytes)
            return found;
        if (found != NULL)
            __atomic_store_n(&kept[i], found, __ATOMIC_RELEASE);
    }
    bytes = (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    long memory = ttp_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ttp_failed(memory))
        return NULL;
    ((struct kept *)memory)->bytes = bytes;
    return (struct kept *)memory;
}

static void keep_copy(struct kept *copy)
{
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        struct kept *none = NULL;
        if (__atomic_compare_exchange_n(&kept[i], &none, copy, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return;
    }
}

/* Puts a copy in the place of the environment; NULL: there is no need. */
static struct kept *change(char ***before)
{
    struct ttp_exec exec;
    ttp_exec_look(&exec, SHELL, TTP_EXEC_NO_FILE, 0, environ);
    if (exec.wish != TTP_EXEC_WITH_OURS)
        return NULL;
    struct kept *copy = take_bytes(exec.bytes + HEAD_BYTES);
    if (copy == NULL)
        return NULL;
    *before = environ;
    ttp_exec_make(&exec, (uint8_t *)copy + HEAD_BYTES);
    environ = (char **)exec.handed;
    return copy;
}

static void change_back(struct kept *copy, char **before)
{
    char **changed = (char **)((uint8_t *)copy + HEAD_BYTES);
    if (__atomic_compare_exchange_n(&environ, &changed, before, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        keep_copy(copy); /* else the program has set something, and goes on with it */
}

TTP_EXPORT int system(const char *command)
{
    char **before = NULL;
    FIND(real_system, "system");
    if (real_system == NULL)
        abort();
    struct ttp_front front = TTP_FRONT_HERE(real_system);
    struct kept *copy = command != NULL ? change(&before) : NULL;
    int result = real_system(command);
    if (copy != NULL)
        change_back(copy, before);
    ttp_front_exit(&front);
    return result;
}

TTP_EXPORT FILE *popen(const char *command, const char *mode)
{
    char **before = NULL;
    FIND(real_popen, "popen");
    if (real_popen == NULL)
        abort();
    struct ttp_front front = TTP_FRONT_HERE(real_popen);
    struct kept *copy = change(&before);
    FILE *result = real_popen(command, mode);
    if (copy != NULL)
        change_back(copy, before);
    ttp_front_exit(&front);
    return result;
}
