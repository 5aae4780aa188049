/* In front of what leaves frames, or changes stacks, in ways that no hook sees: jumps, catches and
 * makecontext. In shared libraries only (process/interpose.c). */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <ucontext.h>

#include "recorder/runtime/in_front_of.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define JUMP_STACK_POINTER 6 /* in the jmp_buf of glibc and musl on x86-64 */

enum real_name {
    REAL_LONGJMP,
    REAL__LONGJMP,
    REAL_SIGLONGJMP,
    REAL_LONGJMP_CHK,
    REAL_MAKECONTEXT,
    REAL_CATCH,
    REAL_COUNT
};

static const char *const names[REAL_COUNT] = {"longjmp",       "_longjmp",    "siglongjmp",
                                              "__longjmp_chk", "makecontext", "__cxa_begin_catch"};
static void *reals[REAL_COUNT];

/* Without us the caller's own link would have failed where this does. */
static void *real(enum real_name name)
{
    if (reals[name] == NULL)
        reals[name] = ttp_next_function(names[name]);
    if (reals[name] == NULL)
        abort();
    return reals[name];
}

void ttp_jumps_begin(void)
{
    for (uint32_t i = 0; i < REAL_CATCH; i++)
        reals[i] = ttp_next_function(names[i]);
    ttp_lookup_quiet(); /* some C libraries have not all of them */
}

#define JUMP_IN_FRONT_OF(name, number)                                                             \
    void *ttp_before_##name(const uintptr_t *buffer, uintptr_t value, uintptr_t sp,                \
                            uintptr_t return_address);                                             \
    BEFORE void *ttp_before_##name(const uintptr_t *buffer, uintptr_t value, uintptr_t sp,         \
                                   uintptr_t return_address)                                       \
    {                                                                                              \
        (void)value;                                                                               \
        ttp_front_point(real(number), return_address, sp);                                         \
        ttp_jump(sp, ttp_unhide(buffer[JUMP_STACK_POINTER]));                                      \
        return real(number);                                                                       \
    }                                                                                              \
    IN_FRONT_OF(name, ttp_before_##name)

JUMP_IN_FRONT_OF(longjmp, REAL_LONGJMP);
JUMP_IN_FRONT_OF(_longjmp, REAL__LONGJMP);
JUMP_IN_FRONT_OF(siglongjmp, REAL_SIGLONGJMP);
JUMP_IN_FRONT_OF(__longjmp_chk, REAL_LONGJMP_CHK);

void *ttp_before_makecontext(const ucontext_t *context);
BEFORE void *ttp_before_makecontext(const ucontext_t *context)
{
    uintptr_t low = (uintptr_t)context->uc_stack.ss_sp;
    ttp_stack_register(low, low + context->uc_stack.ss_size);
    return real(REAL_MAKECONTEXT);
}
IN_FRONT_OF(makecontext, ttp_before_makecontext);

/* -- catching: by clang's code the frames in between were left without a word -- */

struct catch_search {
    void *found;
};

static void *find_catch_in(const char *path)
{
    void *(*open_it)(const char *, int) = (void *(*)(const char *, int))ttp_next_function("dlopen");
    int (*close_it)(void *) = (int (*)(void *))ttp_next_function("dlclose");
    if (open_it == NULL || close_it == NULL)
        return NULL;
    void *handle = open_it(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL)
        return NULL;
    void *found = dlsym(handle, names[REAL_CATCH]);
    close_it(handle); /* it stays: its code is what called us */
    return found;
}

static int find_catch_anywhere(struct dl_phdr_info *info, size_t size, void *data)
{
    struct catch_search *search = data;
    (void)size;
    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
        search->found = find_catch_in(info->dlpi_name);
    if (search->found == (void *)0 || search->found == ttp_first_symbol("__cxa_begin_catch"))
        search->found = NULL; /* none, or ours */
    return search->found != NULL;
}

/* Where the C++ library is not in the program's own scope, a plugin brought it. */
static void *find_catch(uintptr_t return_address)
{
    struct catch_search search = {NULL};
    Dl_info caller;
    int saved = errno;
    if (dladdr != NULL && dladdr((const void *)return_address, &caller) != 0 &&
        caller.dli_fname != NULL)
        search.found = find_catch_in(caller.dli_fname);
    if (search.found == NULL)
        dl_iterate_phdr(find_catch_anywhere, &search);
    ttp_lookup_quiet();
    errno = saved;
    if (search.found == NULL)
        abort();
    return search.found;
}

void *ttp_before_catch(const void *exception, uintptr_t unused, uintptr_t sp,
                       uintptr_t return_address);
BEFORE void *ttp_before_catch(const void *exception, uintptr_t unused, uintptr_t sp,
                              uintptr_t return_address)
{
    (void)exception;
    (void)unused;
    ttp_jump(sp, sp);
    if (reals[REAL_CATCH] == NULL)
        reals[REAL_CATCH] = ttp_next_function(names[REAL_CATCH]);
    return reals[REAL_CATCH] != NULL ? reals[REAL_CATCH] : find_catch(return_address);
}
IN_FRONT_OF(__cxa_begin_catch, ttp_before_catch);
