/* The arena that a killed recorder left. Its path comes from a journal that anybody may have
 * written: what is not the recording's own is neither read, told to stop, nor removed. */
#ifndef TTP_LIBTRACE_RECOVER_ARENA_H
#define TTP_LIBTRACE_RECOVER_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

/* "`what` '`path`' failed" with what errno says; returns TTAPE_E_IO. For all of recovery. */
ttape_status ttp_recovered_fail(ttape_error *err, const char *what, const char *path);

/* A folder that is ours alone: no other user can have put anything into it, nor can do so now.
 * EACCES: it is not; with other reasons it is unknown. */
bool ttp_is_private(int fd);

struct ttp_recovered_arena {
    char *directory; /* NULL: the path is none that a recorder makes */
    int directory_fd;
    bool is_in_folder;     /* of the recording */
    const uint8_t *memory; /* mapped; NULL: gone, or not ours */
    size_t bytes;
    uint64_t blocks_offset; /* as they were checked: programs may write over the head */
    uint32_t block_ready;
    char why_not[64]; /* there, and not ours; "": not there */
};

/* `path` (NULL: none), `folder` and `trace_id` are the recording's. That the arena is gone, or is
 * another user's, is no failure. */
ttape_status ttp_recovered_arena_open(struct ttp_recovered_arena *arena, const char *path,
                                      const char *folder, const uint8_t *trace_id,
                                      ttape_error *err);
/* Removes it where it is ours, and its directory. */
ttape_status ttp_recovered_arena_remove(const struct ttp_recovered_arena *arena, ttape_error *err);
void ttp_recovered_arena_close(struct ttp_recovered_arena *arena);

#endif
