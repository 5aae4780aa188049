/* What callers of several answers choose: threads, a time range, memory; and how it is refused. */
#ifndef TTP_READER_CHOICE_H
#define TTP_READER_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>

#include "base/region.h"

/* TTAPE_E_ARGUMENT. */
ttape_status ttp_refuse(ttape_error *err, const char *what);
/* Refuses a range that ends before it starts. */
ttape_status ttp_check_range(bool has_range, uint64_t from_ns, uint64_t to_ns, ttape_error *err);
/* Refuses streams that are counted but not given. Which of them there are is not looked at. */
ttape_status ttp_check_streams(const uint32_t *streams, uint32_t stream_count, ttape_error *err);
/* Refuses streams that are none of `all`; marks the others, where there are marks. */
ttape_status ttp_find_streams(const uint32_t *streams, uint32_t stream_count, uint32_t all,
                              uint8_t *marks, ttape_error *err);
/* Refuses no readers, 65,537 and more, and those that are NULL. */
ttape_status ttp_check_readers(const ttape_reader *const *readers, uint32_t reader_count,
                               ttape_error *err);
/* The answer, of zeros, is the first block of *region, which may take *memory_bytes (0 becomes the
 * usual) of an allocator's memory. NULL: it does not fit, see ttp_fail_region. */
void *ttp_open_region(struct ttp_region *region, ttape_allocator allocator, uint64_t *memory_bytes,
                      size_t answer_bytes);
/* Gives back all of the answer's region, which is in the answer itself. */
void ttp_close_region(const struct ttp_region *region);
/* TTAPE_E_LIMIT. */
ttape_status ttp_fail_region(ttape_error *err, const char *answers, uint64_t memory_bytes);
/* TTAPE_E_NOT_FOUND. */
ttape_status ttp_no_stream(ttape_error *err, uint32_t stream);

/* TTAPE_E_STATE where the caller does not want to go on; watch may be NULL. */
ttape_status ttp_ask_watch(const ttape_watch *watch, uint64_t done, uint64_t all, ttape_error *err);

#endif
