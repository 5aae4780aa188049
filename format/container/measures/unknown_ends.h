/* The ends section: of which frames the trace does not know when they ended. For each unwind and
 * exit across, in order, whether what it ends ended then. */
#ifndef TTP_FORMAT_UNKNOWN_ENDS_H
#define TTP_FORMAT_UNKNOWN_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

size_t ttp_ends_bound(uint32_t count);
/* Writes the kinds (ttape_unwind_kind) of so many events; 0 when `out` is too small. */
size_t ttp_ends_write(const uint8_t *kinds, uint32_t count, uint8_t *out, size_t out_bytes);
/* Fills `kinds`, which has room for so many. */
ttape_status ttp_ends_read(const uint8_t *data, size_t size_bytes, uint8_t *kinds, uint32_t count,
                           ttape_error *err);

#endif
