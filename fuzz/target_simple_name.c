/* Short forms of names, at each detail: within their bounds, and what stays in a text is text. */
#include <string.h>

#include "base/names/simple_name.h"
#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room = TTP_SIMPLE_NAME_BYTES(size);
    char *name = fuzz_take(size + 1), *out = fuzz_take(room);
    if (size > 0)
        memcpy(name, data, size);
    for (int detail = 0; detail < TTP_NAME_DETAILS; detail++) {
        size_t bytes = ttp_simple_name(out, name, size, (enum ttp_name_detail)detail);
        FUZZ_REQUIRE(bytes < room && out[bytes] == '\0');
        FUZZ_REQUIRE((bytes == 0) == (size == 0));
    }
    fuzz_release_all();
    return 0;
}
