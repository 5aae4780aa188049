/* The plain text raw form (spec/raw-text.md): its definitions, its events. */
#ifndef TOOL_RAW_TEXT_H
#define TOOL_RAW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/calls/name_table.h"
#include "tools/convert/convert.h"
#include "tools/convert/open_frames.h"
#include "tools/convert/text_words.h"
#include "tools/io/lines.h"

#define TOOL_TEXT_BATCH 1024u

struct tool_text_stream {
    uint64_t tid, last_ns;
    uint32_t id;
    struct tool_open_frames open;
};

/* Of a site: where it is, and which system call it is (a number of our own, TTAPE_NONE: none). */
struct tool_text_place {
    uint64_t address;
    uint32_t module, call;
};

struct tool_text {
    struct tool_conversion *conversion;
    ttape_writer *writer;
    struct tool_names threads, processes, sites,
        calls; /* tid -> stream index, pid -> id, kind and name -> id, path and name -> id */
    struct tool_text_place *places; /* by site */
    size_t place_capacity;
    struct tool_text_stream *streams;
    size_t stream_count, stream_capacity;
    ttape_module *modules; /* ranges only */
    size_t module_count, module_capacity;
    uint32_t last_process; /* for threads that no line declares */
    uint32_t batch_stream; /* index of the stream that the batch is of */
    size_t batch_count;
    uint64_t event_count, line_number;
    const char *problem; /* of a line that is refused */
    ttape_error err;     /* of a failed writer call */
    ttape_event batch[TOOL_TEXT_BATCH];
    ttape_value values[TTAPE_EVENT_MAX_VALUES];
};

/* What a line came to: TTAPE_OK, TTAPE_E_CORRUPT (text->problem says why; the line is skipped), or
 * a failure of the writer. */
typedef ttape_status (*tool_text_verb)(struct tool_text *text, char **at);

/* text_definitions.c */
ttape_status tool_text_process(struct tool_text *text, char **at);
ttape_status tool_text_thread(struct tool_text *text, char **at);
ttape_status tool_text_module(struct tool_text *text, char **at);
ttape_status tool_text_symbol(struct tool_text *text, char **at);
ttape_status tool_text_meta(struct tool_text *text, char **at);
/* The thread's stream (index), made when it is new. */
ttape_status tool_text_stream_of(struct tool_text *text, uint64_t tid, uint32_t *index);
/* The site that a word names, of a kind; made when it is new. */
ttape_status tool_text_site_of(struct tool_text *text, const struct tool_token *token,
                               uint32_t kind, bool any_leaf, uint32_t *site);

/* Adds a site; by_address: to the module that is there. */
ttape_status tool_text_add_site(struct tool_text *text, ttape_site *site, bool by_address,
                                uint32_t *id);
/* The number of a site by its address, or where that is NULL by name; keys are told apart by their
 * first byte. */
uint32_t *tool_text_find_site(struct tool_text *text, uint32_t kind, const uint64_t *address,
                              const struct tool_token *name, bool *is_new);

/* text_calls.c: system calls with the paths that led to them, behind their verbs. */
ttape_status tool_text_call_enter(struct tool_text *text, char **at, uint32_t *site);
ttape_status tool_text_call_exit(struct tool_text *text, const struct tool_text_stream *stream,
                                 char **at, uint32_t *site);

/* text_events.c: the rest of an event's line. */
ttape_status tool_text_event(struct tool_text *text, const struct tool_token *time, char **at);
ttape_status tool_text_flush(struct tool_text *text);

static inline ttape_status tool_text_refuse(struct tool_text *text, const char *problem)
{
    text->problem = problem;
    return TTAPE_E_CORRUPT;
}

#endif
