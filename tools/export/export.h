/* What the formats of `tracetape export` share: the selection, names and numbers of threads, and
 * the walk that turns any stream of events into well-nested frames.
 *
 *   call cursor -> walk (shown and short frames) -> begin, end, point -> a format */
#ifndef TOOL_EXPORT_H
#define TOOL_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/calls.h>

#include "tools/calls/site_name.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/export/export_text.h"
#include "tools/io/input.h"

/* A selected stream, in the order of the output: by process, thread, start. */
struct tool_export_stream {
    uint32_t stream, process;      /* numbers in the trace */
    uint64_t pid, tid;             /* as recorded */
    uint32_t shown_pid, shown_tid; /* unique in the output and below 2^31 */
};

struct tool_export;
struct html_options;

/* Writes what a format keeps for a site. */
typedef void (*tool_site_writer)(const struct tool_export *export, struct tool_buffer *buffer,
                                 const ttape_site *site);

struct tool_export {
    const struct tool_input *input;
    ttape_reader *reader;
    ttape_info info;
    const char *path; /* of the output; "-": standard output */
    bool force;
    bool has_times; /* otherwise an event's number stands for its time */
    bool has_paths; /* of system calls */
    bool has_from, has_to;
    uint64_t from_ns, to_ns; /* absolute, half-open */
    uint64_t min_ns;         /* shorter frames and all points are left out; 0: nothing is */
    const char *picture;     /* which one; NULL: not said */
    const char *function;    /* a regular expression: of a histogram, of lines */
    const struct html_options *html;
    uint32_t jobs;
    struct tool_export_stream *streams;
    uint32_t stream_count;
    uint32_t next_number; /* for processes and threads whose own number is taken or too large */
    int status;           /* TOOL_OK, or the worst that happened */
    uint64_t error_count, stepped_count, event_count;
    struct tool_output out; /* of formats that are written front to back */
    tool_site_writer write_site;
    struct tool_buffer *sites; /* by site, empty until asked for */
    struct tool_site_names names;
};

/* A format. `run` writes everything and returns a tool_exit. */
struct tool_export_format {
    const char *name;
    const char *summary;
    enum { TOOL_EXPORT_TEXT, TOOL_EXPORT_BINARY, TOOL_EXPORT_FILE, TOOL_EXPORT_DIRECTORY } shape;
    int (*run)(struct tool_export *export);
    bool is_picture; /* for people: names are short, and --picture says which */
};

extern const struct tool_export_format tool_export_chrome, tool_export_perfetto,
    tool_export_callgrind, tool_export_folded, tool_export_speedscope, tool_export_ctf,
    tool_export_csv, tool_export_sqlite, tool_export_svg, tool_export_png, tool_export_pprof,
    tool_export_firefox, tool_export_arrow, tool_export_html;

/* Whether --picture knows that name; NULL: none was given, so timeline. */
bool tool_picture_is_name(const char *name);

/* ---- export_select.c ---- */

/* Fills streams. */
void tool_export_select(struct tool_export *export, const struct tool_selection *selection);
/* A number that no process or thread of the output has. */
uint32_t tool_export_number(struct tool_export *export);
/* What formats whose readers keep times as floating point numbers take off every time: 0, unless
 * nanoseconds would be lost. */
uint64_t tool_export_origin(const struct tool_export *export);
/* What is written for a site, made once by write_site. */
const struct tool_buffer *tool_export_make_site(struct tool_export *export, uint32_t site);
static inline const struct tool_buffer *tool_export_site(struct tool_export *export, uint32_t site)
{
    const struct tool_buffer *text = &export->sites[site];
    return text->data != NULL ? text : tool_export_make_site(export, site);
}
/* The site, with its name as --names has it. */
void tool_export_get_site(const struct tool_export *export, uint32_t number, ttape_site *site);
/* The symbol, or the address where there is none; `room` may hold it. */
ttape_string tool_export_label(const ttape_site *site, char room[24]);
/* The path of a site's module, "" where it is not known. */
ttape_string tool_export_module(const struct tool_export *export, const ttape_site *site);
/* Names of a thread and its process, as recorded; never empty. */
ttape_string tool_export_process_name(const struct tool_export *export, uint32_t process);
void tool_export_thread_name(const struct tool_export *export,
                             const struct tool_export_stream *stream, uint32_t stack,
                             struct tool_buffer *buffer);
void tool_export_close(struct tool_export *export);

/* ---- export_walk.c ---- */

/* Values that must outlive the event that carried them. */
struct tool_kept_values {
    uint32_t count;
    ttape_value values[];
};

/* An open frame. */
struct tool_frame {
    uint64_t enter_ns; /* may lie before the selection */
    uint64_t start_ns; /* the later of that and the selection's start: what begin is called with */
    uint32_t kind;     /* TTAPE_EVENT_ENTER, TTAPE_EVENT_OPEN or TTAPE_EVENT_SIGNAL_BEGIN */
    uint32_t site;     /* TTAPE_NONE for signals */
    uint32_t signal;
    bool is_cut; /* was open before the selection starts */
    struct tool_kept_values *kept;
    /* the format's own, zero at begin */
    uint64_t self_ns, below_ns, id;
};

struct tool_stack {
    struct tool_frame *frames; /* outermost first */
    size_t count, capacity;
    size_t shown;   /* frames that begin was called for: the outermost ones */
    uint64_t track; /* the format's own, zero at first */
};

/* What is on top of the first `shown` frames has run since *last_ns. */
static inline void tool_stack_account(const struct tool_stack *stack, size_t shown,
                                      uint64_t *last_ns, uint64_t time_ns)
{
    if (shown > 0)
        stack->frames[shown - 1].self_ns += time_ns - *last_ns;
    *last_ns = time_ns;
}

/* How a frame ended. */
enum tool_ending {
    TOOL_ENDING_EXIT,   /* it returned (or the handler of a signal did) */
    TOOL_ENDING_UNWIND, /* left by an exception or longjmp */
    TOOL_ENDING_OPEN,   /* still open at the end of the stream or of the selection */
    TOOL_ENDING_LOST,   /* open where events are missing, and no more behind them */
    TOOL_ENDING_UNSEEN, /* its end was not seen: it took so long at least, */
    TOOL_ENDING_LATE    /* or at most */
};

/* An event and what belongs to it; time_ns never steps back in a stream. */
struct tool_moment {
    uint64_t time_ns;
    const ttape_event *event; /* NULL at cuts and ends */
    const ttape_value *values;
    uint32_t value_count;
};

struct tool_walk;

/* What a format does with what happened, stream by stream. Frames of a stack nest; `walk->stack` is
 * the one that a call is about. Unused calls are NULL. */
struct tool_export_calls {
    void (*stream)(void *context, struct tool_walk *walk);
    void (*begin)(void *context, struct tool_walk *walk, struct tool_frame *frame,
                  const struct tool_moment *now);
    void (*end)(void *context, struct tool_walk *walk, struct tool_frame *frame,
                const struct tool_moment *now, enum tool_ending ending);
    /* leaf, gap and exit unseen */
    void (*point)(void *context, struct tool_walk *walk, const struct tool_moment *now);
    /* the stream goes on on walk->stack; `from` is the stack that it leaves */
    void (*changed)(void *context, struct tool_walk *walk, uint32_t from,
                    const struct tool_moment *now);
    /* events are missing until to_ns: what was open ran until walk->now_ns, as far as is known */
    void (*skip)(void *context, struct tool_walk *walk, uint64_t to_ns);
    void (*stream_end)(void *context, struct tool_walk *walk, uint64_t time_ns);
};

struct tool_walk {
    struct tool_export *export;
    const struct tool_export_stream *stream;
    const struct tool_export_calls *calls;
    void *context;
    uint64_t now_ns;
    struct tool_stack **stacks; /* by number, NULL where not used */
    size_t stack_capacity;
    uint32_t stack;  /* that a call is about */
    uint32_t active; /* on which the stream runs */
    bool started;    /* `stream` was called */
    bool is_missing; /* events are, from now_ns on */
    bool is_over;    /* what is open ends now */
};

static inline struct tool_stack *tool_walk_stack(const struct tool_walk *walk)
{
    return walk->stacks[walk->stack];
}

/* Walks all selected streams, one after the other. Failures are in export->status. */
void tool_export_walk(struct tool_export *export, const struct tool_export_calls *calls,
                      void *context);

/* A cursor over calls of the selection: of some streams, or of one. */
ttape_status tool_export_open_calls(const struct tool_export *export, const uint32_t *streams,
                                    uint32_t count, ttape_call_cursor **out, ttape_error *err);
/* For code that reads the steps itself: a walk over one stream. */
void tool_walk_open(struct tool_walk *walk, struct tool_export *export,
                    const struct tool_export_stream *stream, const struct tool_export_calls *calls,
                    void *context);
void tool_walk_step(struct tool_walk *walk, const ttape_call_step *step);
/* Begins what was found open now, not with the first event. */
void tool_walk_announce(struct tool_walk *walk);
void tool_walk_close(struct tool_walk *walk);
/* Shows frames that have become long enough at a time. */
void tool_walk_show(struct tool_walk *walk, uint64_t time_ns);

/* Reports a failed call on a cursor; true: reading goes on behind the damage. */
bool tool_export_go_on(struct tool_export *export, const ttape_error *err);

#endif
