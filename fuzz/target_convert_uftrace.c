/* A uftrace recording, packed into one input. */
#include "fuzz_convert.h"
#include "fuzz_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_input parameters = fuzz_part(&in, FUZZ_CONVERT_BYTES);
    fuzz_convert(&parameters, "uftrace", fuzz_folder_make(in.data, in.size));
    fuzz_folder_empty();
    fuzz_release_all();
    return 0;
}
