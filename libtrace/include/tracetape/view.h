/* The view: what a page that shows a trace asks, and is answered, as bytes.
 *
 * A request is text, and so is its response (JSON): spec/view.md says which there are. An answer is
 * a function of the trace and of the request alone. It is made of the other answers of this
 * library (tiles, tree, report, longest), so its numbers are theirs.
 *
 * Memory: what the reader keeps, the last report, and one response at a time, all of bounded size.
 * Threads: a view is used by one thread at a time; several views over one reader answer at the same
 * time. */
#ifndef TRACETAPE_VIEW_H
#define TRACETAPE_VIEW_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_view ttape_view;

#define TTAPE_VIEW_REQUEST_BYTES 65536u /* at most, of one request */
#define TTAPE_VIEW_REQUEST_LINES 64u    /* questions in it, at most */

/* Zero means the default everywhere. */
typedef struct ttape_view_options {
    size_t size;             /* sizeof(ttape_view_options) */
    uint64_t response_bytes; /* at most; default 8 MiB */
    uint64_t memory_bytes;   /* of an answer while it is made; default 64 MiB */
    uint32_t jobs;           /* threads that read; 0: as many as the reader's options say */
    uint32_t reserved_jobs;  /* 0 */
    /* The name of a site for people, as snprintf writes it; NULL: ttape_site_name. */
    size_t (*name)(void *context, uint32_t site, char *buffer, size_t size_bytes);
    /* The same with types and parameters; NULL: as `name`. */
    size_t (*full_name)(void *context, uint32_t site, char *buffer, size_t size_bytes);
    /* Asked now and then: whether nobody waits for the answer any more. NULL: somebody does. */
    bool (*stops)(void *context);
    /* The text of a source file that the trace names, as a path; it lives until the next call.
     * NULL: none is shown. */
    ttape_status (*source)(void *context, ttape_string path, ttape_string *text, ttape_error *err);
    /* What `tracetape lines --json` says of a call, by its name; of all calls of a function where
     * `call` is NULL. It lives until the next call. NULL: none are counted. */
    ttape_status (*lines)(void *context, const char *call, uint32_t site, ttape_string *json,
                          ttape_error *err);
    /* Values of a function's enter, or of its exit, as people read them, as snprintf writes text;
     * NULL: values are shown as they are. */
    size_t (*values)(void *context, uint32_t site, bool is_exit, const ttape_value *values,
                     uint32_t value_count, char *buffer, size_t size_bytes);
    /* The trace as it stands on a command line; NULL: not known. */
    const char *(*trace_name)(void *context);
    void *context; /* of all of them; `stops` may be called by several threads at once */
    /* Told now and then while an answer is made: `done` of `all` steps are over, of what is done
     * now. NULL: nobody wants to know. */
    void (*tells)(void *context, uint64_t done, uint64_t all);
    /* What another view of the trace told last of the answer that it makes now: what the question
     * `progress` is answered with. False: it makes none. NULL: there is no other one. */
    bool (*progress)(void *context, uint64_t *done, uint64_t *all);
    /* Where the reader's trace is what a filter (filter.h) has left of that one: its text, which
     * lives as long as the view. NULL: it is all of it. */
    const char *filter;
} ttape_view_options;

/* *out is NULL on failure. The reader must outlive the view. */
TTAPE_API ttape_status ttape_view_open(ttape_view **out, ttape_reader *reader,
                                       const ttape_view_options *options, ttape_error *err);
TTAPE_API void ttape_view_close(ttape_view *view);

/* Answers the lines of a request: an array with one object for each, in their order, which lives
 * until the next call on the view. What is wrong with one line stands in its object, and is no
 * failure. TTAPE_E_ARGUMENT: longer, or of more lines, than allowed. TTAPE_E_LIMIT: the response
 * would be longer than allowed. */
TTAPE_API ttape_status ttape_view_answer(ttape_view *view, const void *request,
                                         size_t request_bytes, ttape_string *response,
                                         ttape_error *err);

#ifdef __cplusplus
}
#endif
#endif
