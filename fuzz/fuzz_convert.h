/* Running the verb convert on one input: the trace that comes out is sound, whatever went in. */
#ifndef FUZZ_CONVERT_H
#define FUZZ_CONVERT_H

#include "fuzz_common.h"

/* Parameters: u8 level, u8 time, u16 events of a partition. `format` is a converter's name, `path`
 * its input. */
#define FUZZ_CONVERT_BYTES 4u
void fuzz_convert(struct fuzz_input *parameters, const char *format, const char *path);

#endif
