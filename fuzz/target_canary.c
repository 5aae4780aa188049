/* Not a target: it must crash, in each way that the harness has to report. tests/fuzz proves it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    if (size < 4 || memcmp(data, "BUG", 3) != 0)
        return 0;
    fuzz_memory_open(&memory, 1u << 20);
    ttape_allocator *a = &memory.allocator;
    volatile uint8_t *block = a->allocate(a->context, 16);
    switch (data[3]) {
    case '!': FUZZ_REQUIRE(size == 0); break;
    case 'M': (void)a->allocate(a->context, 1u << 20); break; /* past the limit */
    case 'L': fuzz_memory_close(&memory); break;              /* not given back */
    case 'O': block[size + 12] = 1; break;                    /* one over: for a sanitizer */
    default: break;
    }
    a->release(a->context, (void *)(uintptr_t)block, 16);
    fuzz_memory_close(&memory);
    return 0;
}
