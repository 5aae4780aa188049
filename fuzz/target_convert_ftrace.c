/* Text of the kernel's tracer. */
#include "fuzz_convert.h"
#include "fuzz_verb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_input parameters = fuzz_part(&in, FUZZ_CONVERT_BYTES);
    fuzz_convert(&parameters, "ftrace", fuzz_verb_file(0, in.data, in.size));
    fuzz_release_all();
    return 0;
}
