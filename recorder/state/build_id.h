/* The build id of a file that a process has mapped, by its program headers and notes: for modules
 * that the program itself does not tell of. */
#ifndef TTP_RECORDING_BUILD_ID_H
#define TTP_RECORDING_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/state/proc_maps.h"

#define TTP_BUILD_ID_BYTES 64u

/* Returns its length; 0: it has none, or the file is not there, or not that one any more. */
size_t ttp_build_id_read(uint32_t pid, const struct ttp_mapping *mapping,
                         uint8_t out[TTP_BUILD_ID_BYTES]);

#endif
