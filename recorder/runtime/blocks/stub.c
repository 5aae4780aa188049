/* libtracetape-blocks.a: the callbacks of -fsanitize-coverage=trace-pc and trace-pc-guard, for
 * programs to link with. Until a runtime is there that takes them, each costs a load and a
 * comparison.
 *
 * gcc brings no callbacks, so that programs do not link without this. clang brings weak ones, which
 * stay in the program: a preloaded runtime could not take their place. Those here are hidden: each
 * module calls its own, directly. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/runtime.h>

#include "recorder/runtime/arch.h"

/* The address is within the callback's call, and so within the block, also at a function's end. A
 * runtime that knows blocks and no branch values leaves the last two arguments alone. */
typedef void (*block_hook)(uintptr_t address, uintptr_t sp, uintptr_t callback, uintptr_t move);

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *end);

#pragma weak ttape_rt_block
#pragma weak ttape_rt_branch
static block_hook hook;
static uintptr_t move; /* of this module, from where its file has it */

/* The module's own head, where the linker says where it is: so nothing is called for it that would
 * be the program's call. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));

static bool find_move_here(void)
{
    const ElfW(Ehdr) *head = &__ehdr_start;
    if (head == NULL)
        return false;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)((uintptr_t)head + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++)
        if (parts[i].p_type == PT_LOAD && parts[i].p_offset == 0) {
            move = (uintptr_t)head - parts[i].p_vaddr;
            return true;
        }
    return false;
}

static int find_move(struct dl_phdr_info *module, size_t size, void *unused)
{
    uintptr_t here = (uintptr_t)&hook - module->dlpi_addr;
    (void)size;
    (void)unused;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && here - part->p_vaddr < part->p_memsz) {
            move = module->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

/* Before constructors of the program's; the preloaded runtime is there. One that the program is
 * linked with comes first: it has the hooks, and a preloaded one beside it is told of no call. */
__attribute__((constructor(101))) static void find_hook(void)
{
    void *found = ttape_rt_branch != NULL ? (void *)(uintptr_t)ttape_rt_branch
                                          : (void *)(uintptr_t)ttape_rt_block;
    if (found == NULL)
        found = dlsym(RTLD_DEFAULT, "ttape_rt_branch");
    if (found == NULL)
        found = dlsym(RTLD_DEFAULT, "ttape_rt_block");
    if (!find_move_here())
        (void)dl_iterate_phdr(find_move, NULL);
    hook = (block_hook)(uintptr_t)found;
}

#define PASS(callback)                                                                             \
    do {                                                                                           \
        block_hook to = hook;                                                                      \
        if (TTP_UNLIKELY(to != NULL))                                                              \
            to((uintptr_t)__builtin_return_address(0) - 1, TTP_CALLER_SP(), (uintptr_t)(callback), \
               move);                                                                              \
    } while (0)

void __sanitizer_cov_trace_pc(void) { PASS(__sanitizer_cov_trace_pc); }

void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    (void)guard;
    PASS(__sanitizer_cov_trace_pc_guard);
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
