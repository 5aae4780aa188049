/* Pieces of paths. */
#ifndef TTP_BASE_TEXT_H
#define TTP_BASE_TEXT_H

#include <string.h>

#include <tracetape/types.h>

/* What stands behind a path's last slash. */
static inline const char *ttp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static inline ttape_string ttp_path_base(ttape_string path)
{
    size_t at = path.size_bytes;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    return (ttape_string){at > 0 ? path.data + at : path.data, path.size_bytes - at};
}

#endif
