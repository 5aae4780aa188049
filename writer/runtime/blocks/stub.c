/* libtracetape-blocks.a: the callbacks of -fsanitize-coverage=trace-pc and trace-pc-guard, for
 * programs to link with. Until a runtime is there that records, each costs a load and a comparison.
 *
 * gcc brings no callbacks, so that programs do not link without this. clang brings weak ones, which
 * stay in the program: a preloaded runtime could not take their place. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/runtime.h>

#include "writer/runtime/arch.h"

/* The address is within the callback's call, and so within the block, also at a function's end. */
typedef void (*block_hook)(uintptr_t address, uintptr_t sp);

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *end);

#pragma weak ttape_rt_block
static block_hook hook;

/* Before constructors of the program's; the preloaded runtime is there. */
__attribute__((constructor(101))) static void find_hook(void)
{
    void *found = dlsym(RTLD_DEFAULT, "ttape_rt_block");
    hook = found != NULL ? (block_hook)(uintptr_t)found : ttape_rt_block;
}

#define PASS()                                                                                     \
    do {                                                                                           \
        block_hook to = hook;                                                                      \
        if (TTP_UNLIKELY(to != NULL))                                                              \
            to((uintptr_t)__builtin_return_address(0) - 1, TTP_CALLER_SP());                       \
    } while (0)

void __sanitizer_cov_trace_pc(void) { PASS(); }

void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    (void)guard;
    PASS();
}

/* What clang's code calls at its start: there is nothing to number. */
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    (void)start;
    (void)stop;
}

void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *end)
{
    (void)start;
    (void)end;
}
