/* Exact reads from a source, for all of reader/. */
#ifndef TTP_READER_SOURCE_H
#define TTP_READER_SOURCE_H

#include <tracetape/reader.h>

/* Fills the buffer or fails: TTAPE_E_TRUNCATED where the source ends before (it may have shrunk
 * since it was opened), or whatever read_at says. */
ttape_status ttp_source_read(const ttape_source *source, uint64_t offset, void *buffer,
                             size_t size_bytes, ttape_error *err);

/* Where the hole of a file that begins at the offset ends, all zeros up to there; the offset itself
 * where none does, or where the system does not say. */
uint64_t ttp_source_hole_end(const ttape_source *source, uint64_t offset);
uint64_t ttp_descriptor_hole_end(int fd, uint64_t offset, uint64_t size_bytes);

/* As ttp_fail, with the operating system's reason. */
ttape_status ttp_fail_os(ttape_error *err, int os_errno, const char *what);

/* Makes an error's offset one in the file: it counted from `base`. */
void ttp_error_rebase(ttape_error *err, uint64_t base);

#endif
