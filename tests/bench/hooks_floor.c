/* The floor: a time stamp and one store of 16 bytes into a wrapping thread-local buffer; nothing is
 * kept, nothing checked. Nobody who keeps events can be faster. */
#include <stdint.h>

#define WORDS 16384u /* 128 KiB */

static __thread uint64_t at __attribute__((tls_model("initial-exec")));
static __thread uint64_t words[WORDS] __attribute__((tls_model("initial-exec")));

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

static inline void store(uint64_t what)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    uint64_t *place = words + at;
    place[0] = (uint64_t)high << 32 | low;
    place[1] = what;
    at = (at + 2) & (WORDS - 1);
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    store((uint64_t)(uintptr_t)function);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)call_site;
    store((uint64_t)(uintptr_t)function | 1ull << 63);
}
