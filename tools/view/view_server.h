/* The server of `tracetape view`: what it is made of. */
#ifndef VIEW_SERVER_H
#define VIEW_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/view.h>

#include "tools/calls/site_name.h"
#include "tools/html/page_files.h"
#include "tools/io/input.h"

#define VIEW_KEY_BYTES 32u /* digits of the key that every question must bring */
#define VIEW_WORKERS   2u  /* answer at the same time: pictures, and what takes longer */

/* ---- view_worker.c: the one door to the trace ---- */

struct view_workers;

struct view_how {
    enum tool_name_style names;
    uint64_t memory_bytes; /* 0: as usual */
    const char *sources;   /* a folder to look for source files in, or NULL */
    const char *filter;    /* what has left the trace that is shown, or NULL */
};

/* *out is NULL on failure, which has been reported. Returns a tool_exit. */
int view_workers_open(struct view_workers **out, const struct tool_input *input,
                      const struct view_how *how);
void view_workers_close(struct view_workers *workers);

/* Answers a request: a response for the caller to free, or NULL, and why not. `stops` is asked
 * whether nobody waits any more. */
char *view_workers_answer(struct view_workers *workers, const char *request, size_t request_bytes,
                          bool (*stops)(void *context), void *context, size_t *response_bytes,
                          ttape_error *err);

/* What it was opened with. */
const struct tool_input *view_workers_input(const struct view_workers *workers);
const struct view_how *view_workers_how(const struct view_workers *workers);

/* ---- view_filters.c: the same of what filters leave ---- */

struct view_filters;

struct view_filters *view_filters_open(const struct tool_input *input, const struct view_how *how);
void view_filters_close(struct view_filters *filters);
/* To be given back, by its text, when it has answered; NULL, and why: there is none. */
struct view_workers *view_filters_take(struct view_filters *filters, const char *text,
                                       ttape_error *err);
void view_filters_give(struct view_filters *filters, const char *text);

/* ---- view_save.c ---- */

/* Makes a file of HTML, as "from=NS&to=NS&values=1&source=1" says (all of it may be missing): its
 * descriptor for the caller to close, and its size; -1: it could not be made, which the command has
 * said on its standard error. */
int view_save(const struct tool_input *input, const struct view_how *how, const char *request,
              size_t request_bytes, uint64_t *size_bytes);

/* ---- view_rules.c: who may ask; pure ---- */

/* What of a request's head is looked at. NULL: not sent. */
struct view_head {
    const char *method, *path, *host, *origin, *site, *mode, *key, *length, *encoding, *filter;
    bool is_odd; /* one of these is there twice */
    bool has_query;
};

/* 0: it may be answered; otherwise the HTTP status of the refusal. */
unsigned view_check_head(const struct view_head *head, const char *key);

/* The headers of each response; the last one has no name. */
struct view_header {
    const char *name, *value;
};
const struct view_header *view_response_headers(void);

/* ---- view_http.c: the door to libmicrohttpd ---- */

struct view_http;

/* *out is NULL on failure, which has been reported. The server answers until its close. */
int view_http_open(struct view_http **out, struct view_workers *workers,
                   struct view_filters *filters, const char *key);
void view_http_close(struct view_http *http);
unsigned view_http_port(const struct view_http *http);
/* Whether the page has asked something with its key. */
bool view_http_was_asked(const struct view_http *http);

/* ---- view_browser.c ---- */

/* A file that sends a browser to the address, and that nobody else can read: opens it where there
 * is a browser. The file's path, for view_browser_forget, or NULL: none was opened. */
char *view_browser_open(const char *address);
void view_browser_forget(char *path);

#endif
