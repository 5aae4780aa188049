/* The trace as filters leave it, for pages that ask with one: each is made once, by the first
 * request, while others go on; of those that nobody uses the oldest goes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/view/view_server.h"

#define FILTERS_MOST 3u

struct filtered {
    pthread_mutex_t lock; /* while it is made */
    char *text;           /* NULL: the place is free */
    uint32_t users;       /* requests */
    uint64_t used;        /* when last: a number that grows */
    bool is_made;
    struct tool_input left;
    struct view_workers *workers; /* NULL: it could not be made, as error says */
    ttape_error error;
};

struct view_filters {
    const struct tool_input *input;
    struct view_how how;
    pthread_mutex_t lock; /* of texts, users and used */
    uint64_t now;
    struct filtered all[FILTERS_MOST];
};

static void note_failure(struct filtered *filtered, const char *why)
{
    filtered->error.status = TTAPE_E_ARGUMENT;
    (void)snprintf(filtered->error.message, sizeof filtered->error.message, "%.231s", why);
}

static void forget_filtered(struct filtered *filtered)
{
    view_workers_close(filtered->workers);
    tool_input_close(&filtered->left);
    free(filtered->text);
    filtered->workers = NULL;
    filtered->text = NULL;
    filtered->is_made = false;
    filtered->error = (ttape_error){0};
}

struct view_filters *view_filters_open(const struct tool_input *input, const struct view_how *how)
{
    struct view_filters *filters = tool_allocate(1, sizeof *filters);
    *filters = (struct view_filters){.input = input, .how = *how};
    pthread_mutex_init(&filters->lock, NULL);
    for (size_t i = 0; i < FILTERS_MOST; i++) {
        filters->all[i].left.fd = -1;
        pthread_mutex_init(&filters->all[i].lock, NULL);
    }
    return filters;
}

void view_filters_close(struct view_filters *filters)
{
    for (size_t i = 0; i < FILTERS_MOST; i++) {
        forget_filtered(&filters->all[i]);
        pthread_mutex_destroy(&filters->all[i].lock);
    }
    pthread_mutex_destroy(&filters->lock);
    free(filters);
}

/* ---- one of them ---- */

static bool read_text(struct filtered *filtered, struct tool_filter_made *made)
{
    ttape_filter *parsed;
    ttape_error err = {0};
    const ttape_string text = {filtered->text, strlen(filtered->text)};
    struct tool_filter said = {.texts = &filtered->text, .count = 1};
    char why[232];
    if (ttape_filter_parse(&parsed, text, NULL, &err) != TTAPE_OK) {
        (void)snprintf(why, sizeof why, "%.160s, at '%.40s'", err.message,
                       err.offset < text.size_bytes ? text.data + err.offset : "its end");
        note_failure(filtered, why);
        return false;
    }
    ttape_filter_close(parsed);
    if (tool_filter_make(made, "view", &said) == TOOL_OK)
        return true;
    note_failure(filtered, "an expression of the filter cannot be used");
    return false;
}

static void copy_left(const struct view_filters *filters, struct filtered *filtered,
                      struct tool_filter_made *made)
{
    struct tool_input own = *filters->input; /* with a reader of its own */
    struct view_how how = filters->how;
    const ttape_reader_options options = {.size = sizeof options,
                                          .limits.memory_bytes = how.memory_bytes};
    ttape_error err = {0};
    if (ttape_reader_open(&own.reader, &filters->input->source, &options, &err) != TTAPE_OK) {
        note_failure(filtered, err.message);
        return;
    }
    int status =
        tool_filtered_open(&filtered->left, made, &own, tool_jobs(0), filters->how.memory_bytes);
    ttape_reader_close(own.reader);
    const char *unmatched = tool_filter_unmatched(made);
    char why[232];
    (void)snprintf(why, sizeof why, "nothing that was called matches '%.190s'",
                   unmatched != NULL ? unmatched : "");
    how.filter = filtered->text;
    if (status != TOOL_OK && status != TOOL_LOSS)
        note_failure(filtered,
                     "the filter cannot be applied: tracetape view says why where it runs");
    else if (unmatched != NULL)
        note_failure(filtered, why);
    else if (view_workers_open(&filtered->workers, &filtered->left, &how) != TOOL_OK)
        note_failure(filtered, "what the filter leaves cannot be read");
}

static void make(const struct view_filters *filters, struct filtered *filtered)
{
    struct tool_filter_made made;
    if (read_text(filtered, &made)) {
        copy_left(filters, filtered, &made);
        tool_filter_unmake(&made);
    }
    filtered->is_made = true;
}

/* ---- all ---- */

/* That of the text, or the one that may best be forgotten for it; NULL: all are in use. */
static struct filtered *find(struct view_filters *filters, const char *text)
{
    struct filtered *oldest = NULL;
    for (size_t i = 0; i < FILTERS_MOST; i++) {
        struct filtered *filtered = &filters->all[i];
        if (filtered->text != NULL && strcmp(filtered->text, text) == 0)
            return filtered;
        if (filtered->users == 0 && (oldest == NULL || filtered->used < oldest->used))
            oldest = filtered;
    }
    if (oldest != NULL) {
        forget_filtered(oldest);
        oldest->text = tool_copy_text(text, strlen(text));
    }
    return oldest;
}

struct view_workers *view_filters_take(struct view_filters *filters, const char *text,
                                       ttape_error *err)
{
    pthread_mutex_lock(&filters->lock);
    struct filtered *filtered = find(filters, text);
    if (filtered != NULL) {
        filtered->users++;
        filtered->used = ++filters->now;
    }
    pthread_mutex_unlock(&filters->lock);
    if (filtered == NULL) {
        *err = (ttape_error){.status = TTAPE_E_LIMIT,
                             .message = "other pages ask with too many filters at this time"};
        return NULL;
    }
    pthread_mutex_lock(&filtered->lock);
    if (!filtered->is_made)
        make(filters, filtered);
    struct view_workers *workers = filtered->workers;
    *err = filtered->error;
    pthread_mutex_unlock(&filtered->lock);
    if (workers == NULL)
        view_filters_give(filters, text);
    return workers;
}

void view_filters_give(struct view_filters *filters, const char *text)
{
    pthread_mutex_lock(&filters->lock);
    for (size_t i = 0; i < FILTERS_MOST; i++)
        if (filters->all[i].text != NULL && strcmp(filters->all[i].text, text) == 0)
            filters->all[i].users--;
    pthread_mutex_unlock(&filters->lock);
}
