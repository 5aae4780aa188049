/* In front of the runtime: writes down which callback came, and passes it on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

typedef void (*taker)(uintptr_t, uintptr_t, uintptr_t, uintptr_t);

void ttape_rt_branch(uintptr_t address, uintptr_t sp, uintptr_t callback, uintptr_t move)
{
    static taker next;
    char line[80];
    if (next == NULL)
        next = (taker)(uintptr_t)dlsym(RTLD_NEXT, "ttape_rt_branch");
    int size = snprintf(line, sizeof(line), "block %d %lx %lx\n", (int)getpid(), (unsigned long)sp,
                        (unsigned long)(address - move));
    if (write(1, line, (size_t)size) == size && next != NULL)
        next(address, sp, callback, move);
}
