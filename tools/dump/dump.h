/* Printing events: what the three formats of `tracetape dump` share. */
#ifndef TOOL_DUMP_H
#define TOOL_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/dump/dump_filter.h"
#include "tools/io/input.h"

/* A site as a format prints it, made once: `text` may hold any number of bytes. */
struct tool_site_text {
    char *text;
    uint32_t size_bytes, kind;
};

/* Since when times are counted. */
enum tool_origin {
    TOOL_ORIGIN_USUAL, /* the start as text, monotonic for programs */
    TOOL_ORIGIN_MONOTONIC,
    TOOL_ORIGIN_START,
    TOOL_ORIGIN_UTC
};

/* What CLOCK_REALTIME was ahead of a scope's times, from when on. */
struct tool_realtime {
    uint32_t scope;
    uint64_t from_ns, offset_ns;
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
    enum tool_origin origin;
    uint64_t start_ns;               /* of the trace: TOOL_ORIGIN_START */
    struct tool_realtime *realtimes; /* by scope, then by time: TOOL_ORIGIN_UTC */
    size_t realtime_count, realtime_capacity;
    struct tool_time from, to; /* absolute once it is prepared */
    struct tool_range events;
    const struct tool_choice *choice;
    struct tool_call_id call; /* its stream is chosen; becomes `events` */
    bool *selected;           /* by stream */
    uint32_t *streams;        /* selected ones, by (process, thread, start) */
    uint32_t stream_count;
    struct tool_dump_filter filter;
    bool colours;      /* text */
    bool side_by_side; /* text: each thread's calls in a column of its own */
    bool places;       /* where functions are, too */
    bool details;      /* csv: what belongs to events without a symbol, in its place */
    bool paths;        /* how calls were reached, too */
    uint32_t *frames;  /* of the last path that was asked for */
    size_t frame_capacity;
    uint64_t lines_left; /* of --limit */
    int status;          /* TOOL_OK, or the worst that happened */
    uint64_t error_count;
    struct tool_output out;
    struct tool_output scratch; /* a sink for site texts; never written out */
    tool_site_printer print_site;
    enum tool_name_style name_style;
    struct tool_site_names names;
    struct tool_site_text *sites;
    size_t site_count, site_capacity;
    uint64_t memory_bytes;
    bool is_prepared, is_followed;
};

/* Is it chosen by the filter? */
static inline bool tool_dump_filter_has(struct tool_dump *dump, const ttape_event_item *item)
{
    return (!dump->filter.is_given && dump->filter.first == NULL) ||
           tool_dump_filter_asks(dump, item);
}

/* Takes in what the reader holds now: its definitions, the selection among its streams. */
int tool_dump_prepare(struct tool_dump *dump);
/* Selects the events of dump->call. Returns a tool_exit; that there is none has been reported. */
int tool_dump_choose_call(struct tool_dump *dump);

/* The site's text; `site` is below info.site_count. */
const struct tool_site_text *tool_dump_make_site(struct tool_dump *dump, uint32_t site);
static inline const struct tool_site_text *tool_dump_site(struct tool_dump *dump, uint32_t site)
{
    const struct tool_site_text *text = &dump->sites[site];
    return text->text != NULL ? text : tool_dump_make_site(dump, site);
}

/* dump_paths.c: how many frames led to a site, where that is wanted; dump->frames has them. */
uint32_t tool_dump_path(struct tool_dump *dump, uint32_t site);

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

/* dump_origin.c: "start", "monotonic", "utc" */
bool tool_dump_parse_origin(const char *text, void *into);
/* For TOOL_ORIGIN_UTC: what the trace says of CLOCK_REALTIME; TOOL_CANNOT: not for all of it. */
int tool_dump_find_origin(struct tool_dump *dump);
uint64_t tool_dump_counted(const struct tool_dump *dump, uint32_t stream, uint64_t time_ns);

/* A time of a stream as it is printed: nanoseconds since the origin. */
static inline uint64_t tool_dump_time(const struct tool_dump *dump, uint32_t stream,
                                      uint64_t time_ns)
{
    return dump->origin == TOOL_ORIGIN_MONOTONIC ? time_ns
                                                 : tool_dump_counted(dump, stream, time_ns);
}

/* "2026-11-25T07:13:39.429631138Z"; returns its end. */
#define TOOL_UTC_BYTES 48u
char *tool_dump_put_utc(char *at, uint64_t time_ns);

/* Longest a number, kind and fixed text of one line can be, names and values apart. */
#define TOOL_DUMP_LINE_BYTES 512u

#define TOOL_DUMP_COLUMNS_MOST 16u /* of --side-by-side: threads */

#endif
