/* The content of path table chunks: stacks that were seen, each frame of a stack once, and which
 * sites they led to (F-PTH). Reading is by iteration, so that nothing is allocated here.
 *
 *   | first path, count | parents | frames | link count | sites of links | their paths | */
#ifndef TTP_FORMAT_PATHS_H
#define TTP_FORMAT_PATHS_H

#include <tracetape/error.h>

#include "format/base/bytes.h"

/* A path that is its parent (0: none) and one frame more. */
struct ttp_path_row {
    uint32_t parent;
    uint32_t site_plus_one; /* 0: frames further out are not known */
};

/* A site that a path led to. */
struct ttp_path_link {
    uint32_t site, path;
};

size_t ttp_paths_bound(size_t path_count, size_t link_count);
/* A whole table; rows are those of paths first_path to first_path + count - 1. */
void ttp_paths_write(struct ttp_writer_cursor *c, uint32_t first_path,
                     const struct ttp_path_row *rows, uint32_t count,
                     const struct ttp_path_link *links, uint32_t link_count);

ttape_status ttp_paths_read_range(struct ttp_reader_cursor *c, uint32_t *first, uint32_t *count,
                                  ttape_error *err);
/* Call for each path, then ttp_path_read_frame for each. */
ttape_status ttp_path_read_parent(struct ttp_reader_cursor *c, uint32_t path,
                                  struct ttp_path_row *row, ttape_error *err);
ttape_status ttp_path_read_frame(struct ttp_reader_cursor *c, struct ttp_path_row *row,
                                 ttape_error *err);
ttape_status ttp_links_read_count(struct ttp_reader_cursor *c, uint32_t *count, ttape_error *err);
/* Call for each link, then ttp_link_read_path for each. `before`: the link before, or zero. */
ttape_status ttp_link_read_site(struct ttp_reader_cursor *c, uint32_t next_site, uint32_t *site,
                                ttape_error *err);
ttape_status ttp_link_read_path(struct ttp_reader_cursor *c, uint32_t before, uint32_t *path,
                                ttape_error *err);

#endif
