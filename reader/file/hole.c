/* Holes of sparse files, which only systems beyond POSIX tell. */
#define _GNU_SOURCE /* SEEK_DATA */
#include <errno.h>
#include <unistd.h>

#include "reader/base/source.h"

uint64_t ttp_descriptor_hole_end(int fd, uint64_t offset, uint64_t size_bytes)
{
#ifdef SEEK_DATA
    if (offset >= size_bytes || offset > INT64_MAX)
        return offset;
    /* No read uses the descriptor's own position: each says its offset. */
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size_bytes : offset;
    return (uint64_t)data < size_bytes ? (uint64_t)data : size_bytes;
#else
    (void)fd;
    (void)size_bytes;
    return offset;
#endif
}
