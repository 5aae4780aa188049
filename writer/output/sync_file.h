/* Syncing a file: an interrupted call is repeated. */
#ifndef TTP_WRITER_SYNC_FILE_H
#define TTP_WRITER_SYNC_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

/* False: it failed, and errno says how. What cannot be synced (a pipe, a socket, some file
 * systems) needs none. */
static inline bool ttp_sync_file(int fd)
{
    int failed;
    do
        failed = fsync(fd);
    while (failed != 0 && errno == EINTR);
    return failed == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

#endif
