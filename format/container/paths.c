/* Path tables. Parents are mostly the path just before, links mostly name the path that was made
 * for them: as differences they are small, and compress. */
#include "format/container/paths.h"

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/container/definitions.h"

size_t ttp_paths_bound(size_t path_count, size_t link_count)
{
    return (3 + 2 * (path_count + link_count)) * (size_t)TTP_VARINT_MAX;
}

void ttp_paths_write(struct ttp_writer_cursor *c, uint32_t first_path,
                     const struct ttp_path_row *rows, uint32_t count,
                     const struct ttp_path_link *links, uint32_t link_count)
{
    ttp_range_write(c, first_path, count);
    for (uint32_t i = 0; i < count; i++)
        ttp_write_varint(c, first_path + i - rows[i].parent);
    for (uint32_t i = 0; i < count; i++)
        ttp_write_varint(c, rows[i].site_plus_one);
    ttp_write_varint(c, link_count);
    for (uint32_t i = 0; i < link_count; i++)
        ttp_write_varint(c, links[i].site - (i == 0 ? 0 : links[i - 1].site + 1));
    for (uint32_t i = 0; i < link_count; i++)
        ttp_write_svarint(c, (int64_t)links[i].path - (i == 0 ? 0 : (int64_t)links[i - 1].path));
}

static ttape_status bad_path(const struct ttp_reader_cursor *c, const char *rule, const char *what,
                             ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, ttp_reader_offset(c), "%s", what);
}

/* Each path, as each link, takes two bytes at least. */
static bool fits_section(const struct ttp_reader_cursor *c, uint64_t count)
{
    return !c->bad && count <= ttp_reader_left(c) / 2;
}

ttape_status ttp_paths_read_range(struct ttp_reader_cursor *c, uint32_t *first, uint32_t *count,
                                  ttape_error *err)
{
    uint64_t f = ttp_read_varint(c), n = ttp_read_varint(c);
    if (!fits_section(c, n) || f == 0 || f >= TTP_MAX_SITES || n > TTP_MAX_SITES - f)
        return bad_path(c, "F-PTH-01", "a path table's range of ids is out of bounds", err);
    *first = (uint32_t)f;
    *count = (uint32_t)n;
    return TTAPE_OK;
}

ttape_status ttp_path_read_parent(struct ttp_reader_cursor *c, uint32_t path,
                                  struct ttp_path_row *row, ttape_error *err)
{
    uint64_t back = ttp_read_varint(c);
    if (c->bad || back == 0 || back > path)
        return bad_path(c, "F-PTH-02", "a path's parent is not before it", err);
    row->parent = path - (uint32_t)back;
    return TTAPE_OK;
}

ttape_status ttp_path_read_frame(struct ttp_reader_cursor *c, struct ttp_path_row *row,
                                 ttape_error *err)
{
    uint64_t site = ttp_read_varint(c);
    if (c->bad || site > TTP_MAX_SITES || (site == 0 && row->parent != 0))
        return bad_path(c, "F-PTH-03", "a path's frame is out of range", err);
    row->site_plus_one = (uint32_t)site;
    return TTAPE_OK;
}

ttape_status ttp_links_read_count(struct ttp_reader_cursor *c, uint32_t *count, ttape_error *err)
{
    uint64_t n = ttp_read_varint(c);
    if (!fits_section(c, n) || n > TTP_MAX_SITES)
        return bad_path(c, "F-PTH-05", "a path table is too short for its links", err);
    *count = (uint32_t)n;
    return TTAPE_OK;
}

ttape_status ttp_link_read_site(struct ttp_reader_cursor *c, uint32_t next_site, uint32_t *site,
                                ttape_error *err)
{
    uint64_t step = ttp_read_varint(c);
    if (c->bad || next_site >= TTP_MAX_SITES || step >= TTP_MAX_SITES - next_site)
        return bad_path(c, "F-PTH-05", "a link's site is out of range", err);
    *site = next_site + (uint32_t)step;
    return TTAPE_OK;
}

ttape_status ttp_link_read_path(struct ttp_reader_cursor *c, uint32_t before, uint32_t *path,
                                ttape_error *err)
{
    uint64_t value = before + (uint64_t)ttp_read_svarint(c);
    if (c->bad || value == 0 || value >= TTP_MAX_SITES)
        return bad_path(c, "F-PTH-06", "a link's path is out of range", err);
    *path = (uint32_t)value;
    return TTAPE_OK;
}
