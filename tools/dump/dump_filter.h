/* Which events are printed: those of calls of some functions, of little depth, that took long, and
 * only the last ones.
 *
 *   calls   -> numbers of the events that begin and end long ones    --min-time
 *   events  -> the last ones, as a first number for each stream      --last */
#ifndef TOOL_DUMP_FILTER_H
#define TOOL_DUMP_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/reader.h>

#include "tools/calls/site_name.h"
#include "tools/command/options.h"

struct tool_dump;

/* What options say. */
struct tool_dump_wishes {
    const char *function; /* an expression; NULL: all */
    struct tool_id depth, last;
    struct tool_time min_time;
};

struct tool_dump_filter {
    const struct tool_dump_wishes *wishes;
    bool is_given; /* calls are chosen, not only the last events */
    regex_t regex;
    bool has_regex;
    uint8_t *matches; /* by site: 0 not asked yet, 1 no, 2 yes */
    uint32_t site_count;
    struct tool_dump_numbers *long_calls; /* by stream; NULL: of any length */
    uint64_t *first;                      /* by stream: of the last events; NULL: all are wanted */
    uint64_t first_ns;                    /* of them */
    uint32_t stream_count;
};

/* Returns a tool_exit: the expression may be none. */
int tool_dump_filter_open(struct tool_dump_filter *filter, const struct tool_dump_wishes *wishes);
void tool_dump_filter_close(struct tool_dump_filter *filter);
/* Reads what has to be known before the first line. */
int tool_dump_filter_prepare(struct tool_dump *dump);
/* When all is printed: where nothing matched, says so and returns TOOL_CANNOT. */
int tool_dump_filter_end(const struct tool_dump_filter *filter, const ttape_reader *reader);
/* Events that are not of calls (switches of stacks, gaps) are kept: printers need them. */
bool tool_dump_filter_asks(struct tool_dump *dump, const ttape_event_item *item);
/* It is read, but not printed. */
static inline bool tool_dump_filter_hides(const struct tool_dump_filter *filter,
                                          const ttape_event *event)
{
    return filter->is_given && event->kind == TTAPE_EVENT_SWITCH;
}

#endif
