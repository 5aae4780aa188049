/* Hooks that keep the value itself at each call, without frames: the least that one could do. It is
 * wrong for ever after a jump, and knows no stack. */
#include <stdint.h>

#include <tracetape/context.h>

static __thread uint64_t value __attribute__((tls_model("initial-exec")));
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    value = value * TTAPE_CONTEXT_FACTOR + (uintptr_t)function;
    depth++;
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)call_site;
    value = (value - (uintptr_t)function) * TTAPE_CONTEXT_INVERSE;
    depth--;
}
