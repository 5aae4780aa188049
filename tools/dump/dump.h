/* Printing events: what the three formats of `tracetape dump` share. */
#ifndef TOOL_DUMP_H
#define TOOL_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/io/input.h"

/* A site as a format prints it, made once: `text` may hold any number of bytes. */
struct tool_site_text {
    char *text;
    uint32_t size_bytes, kind;
};

struct tool_dump;

/* Writes what a format prints for a site to dump->scratch. */
typedef void (*tool_site_printer)(struct tool_dump *dump, uint32_t number, const ttape_site *site);

/* A format: open once, print for each reader (one, but when following), close once. Its state lives
 * in dump->state. */
struct tool_dump_format {
    const char *name;
    void (*open)(struct tool_dump *dump);
    void (*print)(struct tool_dump *dump); /* what is selected of dump->reader */
    void (*close)(struct tool_dump *dump);
};

extern const struct tool_dump_format tool_dump_text, tool_dump_csv, tool_dump_ndjson;

struct tool_dump {
    const struct tool_input *input;
    const struct tool_dump_format *format;
    void *state;
    ttape_reader *reader;
    ttape_info info;
    bool has_times;
    struct tool_time from, to; /* absolute once it is prepared */
    struct tool_range events;
    struct tool_id tid, stream;
    bool *selected;    /* by stream */
    uint32_t *streams; /* selected ones, by (process, thread, start) */
    uint32_t stream_count;
    bool places;         /* where functions are, too */
    uint64_t lines_left; /* of --limit */
    int status;          /* TOOL_OK, or the worst that happened */
    uint64_t error_count;
    struct tool_output out;
    struct tool_output scratch; /* a sink for site texts; never written out */
    tool_site_printer print_site;
    struct tool_site_text *sites;
    size_t site_count, site_capacity;
    uint64_t memory_bytes;
    bool is_prepared, is_followed;
};

/* Takes in what the reader holds now: its definitions, the selection among its streams. */
int tool_dump_prepare(struct tool_dump *dump);

/* The site's text; `site` is below info.site_count. */
const struct tool_site_text *tool_dump_make_site(struct tool_dump *dump, uint32_t site);
static inline const struct tool_site_text *tool_dump_site(struct tool_dump *dump, uint32_t site)
{
    const struct tool_site_text *text = &dump->sites[site];
    return text->text != NULL ? text : tool_dump_make_site(dump, site);
}

/* Reports a failed call on a cursor; true: reading goes on behind the damage. */
bool tool_dump_go_on(struct tool_dump *dump, const ttape_error *err);

/* No more output wanted: the limit is reached or the reader of our pipe is gone. */
static inline bool tool_dump_done(const struct tool_dump *dump)
{
    return dump->lines_left == 0 || dump->out.failed_errno != 0;
}

/* Opens a cursor on one stream and moves it to where the selection starts. NULL: reported. */
ttape_cursor *tool_dump_open_stream(struct tool_dump *dump, uint32_t stream);

/* Calls `take` for every selected event, merged by time. `start` (may be NULL) gets the cursor's
 * first edge where one stream is read. */
typedef void (*tool_item_taker)(void *context, const ttape_event_item *item);
typedef void (*tool_edge_taker)(void *context, uint32_t stream, const ttape_edge *edge);
void tool_dump_merged(struct tool_dump *dump, tool_item_taker take, tool_edge_taker start,
                      void *context);

/* Prints partition after partition as they come, until the file is complete or its recorder is
 * gone. wait_ns: how long the file may not be there yet. */
int tool_dump_follow(struct tool_dump *dump, const char *path, uint64_t wait_ns);

/* Longest a number, kind and fixed text of one line can be, names and values apart. */
#define TOOL_DUMP_LINE_BYTES 512u

#endif
