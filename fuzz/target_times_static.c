/* The static form of times. */
#include "format/times/time_static.h"
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fuzz_times_form form = {36000,
                                                ttp_time_static_decode_workspace,
                                                ttp_time_static_decode,
                                                ttp_time_static_directory,
                                                ttp_time_static_encode_workspace,
                                                ttp_time_static_encode_bound,
                                                ttp_time_static_encode};
    fuzz_times(&form, data, size);
    return 0;
}
