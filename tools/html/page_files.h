/* Files of the page, which are inside the command; and what the page shows beside the trace: source
 * files, and lines that ran. */
#ifndef TOOL_PAGE_FILES_H
#define TOOL_PAGE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#include "tools/calls/site_name.h"

/* ---- page_files.c ---- */

struct view_file {
    const char *path, *type;
    const unsigned char *bytes;
    size_t size_bytes;
};

bool view_has_page(void);
/* The result has no bytes where there is no such file. */
struct view_file view_find_file(const char *path);

/* What a server does not send: parts of files of HTML. */
enum html_part {
    HTML_PART_SCRIPT,
    HTML_PART_STYLE,
    HTML_PART_WORKER,
    HTML_PART_ENGINE,
    HTML_PART_SCRIPT_HASH, /* SHA-256 in hexadecimal */
    HTML_PART_STYLE_HASH
};

/* The result has no bytes where this build has none. */
struct view_file html_find_part(enum html_part part);

/* ---- source_text.c ---- */

/* The text of a source file, for the caller to free. `sources`: a folder to look in first, or
 * NULL. Nothing is followed upwards or by a link. */
ttape_status view_read_source(const char *sources, ttape_string file, char **text,
                              size_t *size_bytes, ttape_error *err);

/* ---- source_lines.c ---- */

struct view_asking {
    ttape_reader *reader;
    struct tool_site_names *names;
    bool (*stops)(void *context); /* whether nobody waits any more; NULL: somebody does */
    void *context;
};

/* What `tracetape lines --json` says of a call, by its name, or (NULL) of all calls of functions
 * that are called as the site is; for the caller to free. */
ttape_status view_count_lines(struct view_asking *asking, const char *call, uint32_t site,
                              char **json, size_t *size_bytes, ttape_error *err);

#endif
