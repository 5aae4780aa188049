/* The one door to the trace: a reader, some views over it, and a lock for each of them. Pictures
 * are made by the first, so that they do not wait for what takes seconds. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/values/value_words.h"
#include "tools/view/view_server.h"

#define MEMORY_USUAL (UINT64_C(256) << 20)

struct worker {
    pthread_mutex_t lock;
    ttape_reader *reader; /* that of all */
    ttape_view *view;     /* NULL: not used yet */
    struct tool_site_names names;
    bool has_names;
    bool (*stops)(void *context); /* of the request that is answered */
    void *context;
    const struct view_workers *all;
    _Atomic uint64_t done_steps,
        all_steps; /* of the answer in the making; 0: of none, or not known */
    char *text;    /* of the last source file, or of lines */
};

struct view_workers {
    const struct tool_input *input;
    struct view_how how;
    uint64_t memory_bytes;
    ttape_reader *reader;
    struct worker workers[VIEW_WORKERS];
};

/* ---- what a view asks back ---- */

static size_t put_text(ttape_string text, char *buffer, size_t size_bytes)
{
    size_t kept = text.size_bytes < size_bytes ? text.size_bytes : size_bytes - 1;
    memcpy(buffer, text.data, kept);
    buffer[kept] = '\0';
    return text.size_bytes;
}

static size_t name_site(void *context, uint32_t site, char *buffer, size_t size_bytes)
{
    struct worker *worker = context;
    ttape_string text = tool_site_text(&worker->names, site);
    return text.size_bytes > 0 ? put_text(text, buffer, size_bytes)
                               : ttape_site_name(worker->reader, site, buffer, size_bytes);
}

static size_t name_in_full(void *context, uint32_t site, char *buffer, size_t size_bytes)
{
    struct worker *worker = context;
    ttape_string text = tool_site_full(&worker->names, site);
    return text.size_bytes > 0 ? put_text(text, buffer, size_bytes)
                               : ttape_site_name(worker->reader, site, buffer, size_bytes);
}

/* "(pathname="x", flags=66)", " = 3" */
static size_t say_values(void *context, uint32_t site, bool is_exit, const ttape_value *values,
                         uint32_t value_count, char *buffer, size_t size_bytes)
{
    const struct worker *worker = context;
    struct tool_output text;
    tool_output_open(&text, -1);
    if (is_exit)
        tool_put_results(&text, worker->reader, site, values, value_count);
    else
        tool_put_arguments(&text, worker->reader, site, values, value_count);
    size_t length = put_text((ttape_string){text.data, text.size_bytes}, buffer, size_bytes);
    free(text.data);
    return length;
}

static const char *name_trace(void *context)
{
    const struct worker *worker = context;
    return worker->all->input->name;
}

static bool stops(void *context)
{
    const struct worker *worker = context;
    return worker->stops != NULL && worker->stops(worker->context);
}

static void note_progress(void *context, uint64_t done, uint64_t all)
{
    struct worker *worker = context;
    worker->done_steps = done;
    worker->all_steps = all;
}

/* The progress is that of the one whose answers take long. */
static bool tell_progress(void *context, uint64_t *done, uint64_t *all)
{
    const struct worker *worker = context;
    const struct worker *other = &worker->all->workers[VIEW_WORKERS - 1];
    *done = other->done_steps;
    *all = other->all_steps;
    return *all > 0;
}

static ttape_status read_source(void *context, ttape_string path, ttape_string *text,
                                ttape_error *err)
{
    struct worker *worker = context;
    size_t size_bytes = 0;
    free(worker->text);
    worker->text = NULL;
    ttape_status status =
        view_read_source(worker->all->how.sources, path, &worker->text, &size_bytes, err);
    *text = (ttape_string){worker->text, size_bytes};
    return status;
}

static ttape_status count_lines(void *context, const char *call, uint32_t site, ttape_string *json,
                                ttape_error *err)
{
    struct worker *worker = context;
    size_t size_bytes = 0;
    free(worker->text);
    worker->text = NULL;
    struct view_asking asking = {worker->reader, &worker->names, stops, worker};
    ttape_status status = view_count_lines(&asking, call, site, &worker->text, &size_bytes, err);
    *json = (ttape_string){worker->text, size_bytes};
    return status;
}

/* ---- workers ---- */

static ttape_status open_worker(struct view_workers *workers, struct worker *worker,
                                ttape_error *err)
{
    bool is_first = worker == workers->workers;
    uint64_t all = workers->memory_bytes;
    const ttape_view_options options = {.size = sizeof options,
                                        .memory_bytes = is_first ? all / 8 : all / 2,
                                        .response_bytes = all / 32,
                                        .jobs = is_first ? 1 : tool_jobs(0),
                                        .name = name_site,
                                        .full_name = name_in_full,
                                        .stops = stops,
                                        .source = read_source,
                                        .lines = count_lines,
                                        .trace_name = name_trace,
                                        .values = say_values,
                                        .context = worker,
                                        .tells = note_progress,
                                        .progress = tell_progress,
                                        .filter = workers->how.filter};
    if (!worker->has_names)
        tool_site_names_open_as(&worker->names, workers->reader, workers->how.names);
    worker->has_names = true;
    worker->reader = workers->reader;
    worker->all = workers;
    return ttape_view_open(&worker->view, workers->reader, &options, err);
}

/* Half of the memory may be decoded partitions: neighbouring pictures are of the same ones. */
static ttape_status open_reader(struct view_workers *workers, ttape_error *err)
{
    const ttape_reader_options how = {.size = sizeof how,
                                      .limits.memory_bytes = workers->memory_bytes / 4 * 3,
                                      .cache_bytes = workers->memory_bytes / 2,
                                      .jobs = 1};
    return ttape_reader_open(&workers->reader, &workers->input->source, &how, err);
}

int view_workers_open(struct view_workers **out, const struct tool_input *input,
                      const struct view_how *how)
{
    ttape_error err = {0};
    struct view_workers *workers = tool_allocate(1, sizeof *workers);
    *workers = (struct view_workers){.input = input,
                                     .how = *how,
                                     .memory_bytes =
                                         how->memory_bytes > 0 ? how->memory_bytes : MEMORY_USUAL};
    for (size_t i = 0; i < VIEW_WORKERS; i++)
        pthread_mutex_init(&workers->workers[i].lock, NULL);
    *out = workers;
    if (open_reader(workers, &err) == TTAPE_OK &&
        open_worker(workers, &workers->workers[0], &err) == TTAPE_OK)
        return TOOL_OK;
    view_workers_close(workers);
    *out = NULL;
    return tool_fail_error(input->name, &err);
}

void view_workers_close(struct view_workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < VIEW_WORKERS; i++) {
        struct worker *worker = &workers->workers[i];
        ttape_view_close(worker->view);
        if (worker->has_names)
            tool_site_names_close(&worker->names);
        free(worker->text);
        pthread_mutex_destroy(&worker->lock);
    }
    ttape_reader_close(workers->reader);
    free(workers);
}

/* Pictures, and what is quick. */
static bool is_quick(const char *request, size_t request_bytes)
{
    static const char *const words[] = {"tiles", "trace", "threads", "sites", "module", "progress"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (request_bytes >= strlen(words[i]) && memcmp(request, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

char *view_workers_answer(struct view_workers *workers, const char *request, size_t request_bytes,
                          bool (*asks)(void *context), void *context, size_t *response_bytes,
                          ttape_error *err)
{
    struct worker *worker = &workers->workers[is_quick(request, request_bytes) ? 0 : 1];
    ttape_string response;
    char *copy = NULL;
    pthread_mutex_lock(&worker->lock);
    ttape_status status = worker->view != NULL ? TTAPE_OK : open_worker(workers, worker, err);
    worker->stops = asks;
    worker->context = context;
    if (status == TTAPE_OK && (asks == NULL || !asks(context)))
        status = ttape_view_answer(worker->view, request, request_bytes, &response, err);
    else if (status == TTAPE_OK)
        status = TTAPE_E_STATE;
    if (status == TTAPE_OK)
        copy = malloc(response.size_bytes);
    if (copy != NULL) {
        memcpy(copy, response.data, response.size_bytes);
        *response_bytes = response.size_bytes;
    }
    note_progress(worker, 0, 0);
    pthread_mutex_unlock(&worker->lock);
    return copy;
}

const struct tool_input *view_workers_input(const struct view_workers *workers)
{
    return workers->input;
}

const struct view_how *view_workers_how(const struct view_workers *workers)
{
    return &workers->how;
}
