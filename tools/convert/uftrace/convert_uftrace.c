/* The converter for uftrace recordings: read what describes, define it to the writer, feed the
 * records. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/convert/uftrace/uftrace_files.h"
#include "tools/io/scratch_file.h"

#define HASHED_BYTES 4096u

static bool probe_input(const struct tool_conversion *conversion)
{
    char magic[8] = {0};
    if (!conversion->is_directory)
        return false;
    struct tool_uft_recording recording = {.directory = conversion->fd};
    int fd = tool_uft_open(&recording, "info");
    bool matches = fd >= 0 &&
                   tool_read_full(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
                   memcmp(magic, "Ftrace!", 8) == 0;
    if (fd >= 0)
        close(fd);
    return matches;
}

/* The id of the trace covers what describes it, and each task's size and first records. */
static void hash_tasks(struct tool_uft_recording *recording)
{
    uint8_t *first = tool_allocate(HASHED_BYTES, 1);
    for (size_t i = 0; i < recording->task_count; i++) {
        size_t got = 0;
        struct tool_uft_task *task = &recording->tasks[i];
        if (tool_uft_files_peek(recording, task, first, HASHED_BYTES, &got)) {
            ttp_hash_word(&recording->content, task->tid);
            ttp_hash_word(&recording->content, task->size_bytes);
            ttp_hash_bytes(&recording->content, first, got);
        } else if (errno != ENOENT && errno != EINVAL && errno != ELOOP) {
            /* Those are told where the task is read; others may have gone by then. */
            tool_conversion_warn(recording->conversion, "cannot read '%llu.dat': %s",
                                 (unsigned long long)task->tid, strerror(errno));
        }
    }
    free(first);
}

static int compare_starts(const void *a, const void *b)
{
    const struct tool_uft_process *one = *(struct tool_uft_process *const *)a;
    const struct tool_uft_process *two = *(struct tool_uft_process *const *)b;
    if (one->start_ns != two->start_ns)
        return one->start_ns < two->start_ns ? -1 : 1;
    return one->pid < two->pid ? -1 : one->pid > two->pid;
}

static ttape_string process_name(struct tool_uft_recording *recording,
                                 const struct tool_uft_process *process)
{
    uint64_t next;
    uint32_t index = tool_uft_session_at(recording, process->pid, process->start_ns, &next);
    const char *path = recording->sessions[index].executable;
    if (path == NULL)
        path = recording->info.executable != NULL ? recording->info.executable : "";
    const char *slash = strrchr(path, '/');
    path = slash != NULL ? slash + 1 : path;
    return (ttape_string){path, strlen(path)};
}

/* Processes by start time, so that parents come before children. */
static ttape_status add_processes(struct tool_uft_recording *recording, ttape_error *err)
{
    size_t count = recording->process_count;
    ttape_status status = TTAPE_OK;
    struct tool_uft_process **order = tool_allocate(count, sizeof(struct tool_uft_process *));
    for (size_t i = 0; i < count; i++)
        order[i] = &recording->processes[i];
    qsort(order, count, sizeof(struct tool_uft_process *), compare_starts);
    for (size_t i = 0; i < count && status == TTAPE_OK; i++) {
        const struct tool_uft_process *parent =
            order[i]->has_parent ? tool_uft_find_process(recording, order[i]->parent_pid) : NULL;
        ttape_process process = {.pid = order[i]->pid,
                                 .parent = parent != NULL ? parent->id : TTAPE_NONE,
                                 .start_time_ns = order[i]->start_ns,
                                 .name = process_name(recording, order[i])};
        status =
            ttape_writer_add_process(recording->conversion->writer, &process, &order[i]->id, err);
    }
    free(order);
    return status;
}

static ttape_status add_streams(struct tool_uft_recording *recording, ttape_error *err)
{
    for (size_t i = 0; i < recording->task_count; i++) {
        struct tool_uft_task *task = &recording->tasks[i];
        const struct tool_uft_process *process = tool_uft_find_process(recording, task->pid);
        ttape_stream stream = {.process = process->id,
                               .tid = task->tid,
                               .start_time_ns = task->start_ns,
                               .name = {"", 0}};
        ttape_status status =
            ttape_writer_add_stream(recording->conversion->writer, &stream, &task->stream, err);
        if (status != TTAPE_OK)
            return status;
    }
    return TTAPE_OK;
}

static int define(struct tool_uft_recording *recording)
{
    ttape_error err = {0};
    hash_tasks(recording);
    int status = tool_conversion_begin(recording->conversion, &recording->content);
    if (status == TOOL_OK)
        status = tool_uft_set_metadata(recording);
    if (status != TOOL_OK)
        return status;
    if (add_processes(recording, &err) != TTAPE_OK || add_streams(recording, &err) != TTAPE_OK)
        return tool_conversion_fail(recording->conversion, &err);
    return TOOL_OK;
}

static void close_table(struct tool_uft_table *table)
{
    free(table->file);
    free(table->entries);
}

static void close_recording(struct tool_uft_recording *recording)
{
    for (size_t i = 0; i < recording->module_count; i++) {
        struct tool_uft_module *module = &recording->modules[i];
        free(module->path);
        free(module->build_id);
        close_table(&module->symbols);
        close_table(&module->debug);
    }
    for (size_t i = 0; i < recording->session_count; i++) {
        struct tool_uft_session *session = &recording->sessions[i];
        free(session->sid);
        free(session->executable);
        tool_uft_close_maps(session);
        tool_uft_sites_close(&session->sites);
    }
    tool_names_close(&recording->module_of);
    tool_uft_close_enumerations(recording);
    tool_uft_sites_close(&recording->events);
    for (size_t i = 0; i < recording->user_event_count; i++)
        free(recording->user_events[i].name);
    free(recording->user_events);
    tool_uft_info_close(&recording->info);
    free(recording->modules);
    free(recording->sessions);
    free(recording->processes);
    free(recording->threads);
    free(recording->tasks);
}

static int convert_uftrace(struct tool_conversion *conversion)
{
    if (!conversion->is_directory)
        return tool_fail("'%s' is no directory: uftrace recordings are", conversion->input);
    struct tool_uft_open_file last_file = {.fd = -1};
    struct tool_uft_recording recording = {
        .conversion = conversion, .directory = conversion->fd, .last_file = &last_file};
    tool_uft_sites_open(&recording.events);
    int status = tool_uft_read_info(&recording);
    if (status == TOOL_OK)
        status = tool_uft_read_tasks(&recording);
    if (status == TOOL_OK)
        status = define(&recording);
    if (status == TOOL_OK)
        status = tool_uft_feed(&recording);
    tool_uft_close_last(&last_file);
    close_recording(&recording);
    return status == TOOL_OK && conversion->warning_count > 0 ? TOOL_LOSS : status;
}

const struct tool_converter tool_converter_uftrace = {.name = "uftrace",
                                                      .summary =
                                                          "a directory that uftrace recorded",
                                                      .probe = probe_input,
                                                      .run = convert_uftrace};
