/* In front of dlclose, in the shared library: an address may mean another function after it. */
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

TTP_EXPORT int dlclose(void *handle)
{
    static int (*real)(void *);
    if (real == NULL)
        *(void **)&real = ttp_next_function("dlclose");
    if (real == NULL)
        return -1;
    int result = real(handle);
    __atomic_add_fetch(&ttp_process.module_changes, 1, __ATOMIC_RELAXED);
    return result;
}
