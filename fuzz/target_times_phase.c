/* The mixing form of times with phases. */
#include "format/times/time_mix.h"
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fuzz_times_form form = {2048,
                                                ttp_time_phase_decode_workspace,
                                                ttp_time_phase_decode,
                                                ttp_time_phase_directory,
                                                ttp_time_phase_workspace,
                                                ttp_time_mix_encode_bound,
                                                ttp_time_phase_encode};
    fuzz_times(&form, data, size);
    return 0;
}
