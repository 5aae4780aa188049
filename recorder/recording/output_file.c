/* A trace file of a recording: its name, its descriptor, its writer, what it says of the machine.
 *
 * With --files there are as many as there are processes. So each has memory for a partition, and a
 * descriptor, only while it seals one (spec/decisions/0066-many-files.md). */
#define _GNU_SOURCE /* asprintf */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "recorder/state/recording_internal.h"
#include "writer/events/stream_edge.h"

#define SLACK_EVENTS 8192u /* that a slot and what the filter held back may add to a partition */

/* OUTPUT with something before its last suffix: run.ttape -> run.0001.ttape */
static char *numbered(const char *output, const char *middle)
{
    const char *slash = strrchr(output, '/');
    const char *dot = strrchr(slash != NULL ? slash : output, '.');
    char *name = NULL;
    size_t stem = dot != NULL ? (size_t)(dot - output) : strlen(output);
    if (asprintf(&name, "%.*s.%s%s", (int)stem, output, middle, dot != NULL ? dot : "") < 0)
        return NULL;
    return name;
}

char *ttp_output_piece(const char *output, uint32_t number)
{
    char middle[32];
    (void)snprintf(middle, sizeof middle, "%04u", number + 1);
    return numbered(output, middle);
}

static bool keeps_last(const struct ttp_encode *e)
{
    return e->options.keep_bytes != 0 || e->options.keep_ns != 0;
}

static char *final_name(const struct ttp_encode *e, uint32_t pid, uint32_t number)
{
    char middle[32];
    if (keeps_last(e))
        return NULL;
    if (pid == 0 && e->options.rotate_bytes == 0)
        return strdup(e->directory->output);
    if (pid == 0)
        return ttp_output_piece(e->directory->output, number);
    (void)snprintf(middle, sizeof middle, "%u-%u", pid, number);
    return numbered(e->directory->output, middle);
}

static ttape_status name_output(const struct ttp_encode *e, struct ttp_output *o, uint32_t pid,
                                ttape_error *err)
{
    o->final_path = final_name(e, pid, o->number);
    if (o->final_path == NULL && !keeps_last(e))
        return ttp_fail_memory(err);
    if (e->options.live && o->final_path != NULL) {
        o->path = o->final_path;
        o->final_path = NULL;
        return TTAPE_OK;
    }
    if (asprintf(&o->path, "%s/trace.%u", e->directory->path, o->number) < 0) {
        o->path = NULL;
        return ttp_fail_memory(err);
    }
    return TTAPE_OK;
}

static const char *clock_name(ttape_clock clock)
{
    static const char *const names[] = {"", "tsc", "monotonic", "monotonic-coarse", "none"};
    return names[clock <= TTAPE_CLOCK_NONE ? clock : 0];
}

static ttape_status set_text(ttape_writer *w, const char *key, const char *value, ttape_error *err)
{
    if (value == NULL || *value == '\0')
        return TTAPE_OK;
    return ttape_writer_set_text(w, key, (ttape_string){value, strlen(value)}, err);
}

ttape_status ttp_output_set_calls(ttape_writer *w, const ttape_recording_options *options,
                                  ttape_error *err)
{
    const ttape_syscall_options *calls = &options->syscalls;
    const char *whole = options->rules.is_application != NULL ? "application" : "stack";
    bool is_outside = calls->plan_folder == NULL;
    bool is_all = is_outside || calls->traced;
    if (!ttp_calls_are_chosen(calls))
        return TTAPE_OK;
    TTP_TRY(set_text(w, "syscalls_engine", is_outside ? "ptrace" : "in-process", err));
    TTP_TRY(set_text(w, "syscalls_from",
                     calls->is_attached ? "attach"
                     : is_all           ? "first instruction"
                                        : "constructor",
                     err));
    if (calls->stacks && calls->stack_every > 1)
        TTP_TRY(ttape_writer_set_number(w, "syscalls_stack_every", calls->stack_every, err));
    if (calls->stacks && calls->stack_rate != 0)
        TTP_TRY(ttape_writer_set_number(w, "syscalls_stack_rate", calls->stack_rate, err));
    return set_text(w, "syscalls_scope", calls->stacks ? whole : "call", err);
}

static ttape_status set_metadata(const struct ttp_encode *e, ttape_writer *w, ttape_error *err)
{
    struct utsname system;
    char recorder[64];
    (void)snprintf(recorder, sizeof recorder, "tracetape %s", ttape_version_string());
    TTP_TRY(set_text(w, "recorder", recorder, err));
    TTP_TRY(set_text(w, "producer", recorder, err));
    TTP_TRY(set_text(w, "command", e->options.command, err));
    TTP_TRY(set_text(w, "clock", clock_name(e->options.clock), err));
    TTP_TRY(ttp_output_set_calls(w, &e->options, err));
    if (e->options.patch.choice != 0)
        TTP_TRY(set_text(w, "patch_filter", e->options.patch.filter, err));
    if (e->changes.count != 0)
        TTP_TRY(set_text(w, "filter_changes", e->changes.data, err));
    TTP_TRY(ttp_clock_describe(e, w, err));
    if (uname(&system) != 0)
        return TTAPE_OK;
    TTP_TRY(set_text(w, "host", system.nodename, err));
    return set_text(w, "kernel", system.release, err);
}

/* A lock shows readers that follow the file that a recorder still writes it. */
static void hold_file(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_OFD_SETLK, &lock); /* not every file system can: no failure */
}

/* The sink of a writer: an output, whose file is opened when it is written to. */

static ttape_status open_again(struct ttp_output *o, ttape_error *err)
{
    if (o->fd >= 0)
        return TTAPE_OK;
    o->fd = openat(o->directory->fd, ttp_directory_base(o->path),
                   O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    return o->fd < 0 ? ttp_directory_fail(err, "opening", o->path) : TTAPE_OK;
}

static ttape_status append_data(void *context, const void *data, size_t size_bytes,
                                ttape_error *err)
{
    struct ttp_output *o = context;
    TTP_TRY(open_again(o, err));
    ttape_sink sink = ttape_sink_fd(o->fd);
    return sink.append(sink.context, data, size_bytes, err);
}

static ttape_status sync_file(void *context, ttape_error *err)
{
    struct ttp_output *o = context;
    TTP_TRY(open_again(o, err));
    ttape_sink sink = ttape_sink_fd(o->fd);
    return sink.sync(sink.context, err);
}

ttape_status ttp_output_rest(const struct ttp_encode *e, struct ttp_output *o, ttape_error *err)
{
    int fd = o->fd;
    ttp_writer_rest(o->writer);
    if (fd < 0 || e->options.live)
        return TTAPE_OK;
    o->fd = -1;
    return close(fd) != 0 ? ttp_directory_fail(err, "closing", o->path) : TTAPE_OK;
}

static ttape_status open_writer(struct ttp_encode *e, struct ttp_output *o, ttape_error *err)
{
    ttape_writer_options options = e->options.writer;
    options.size = sizeof options;
    options.partition_events += SLACK_EVENTS;
    if (e->options.rotate_bytes != 0 || keeps_last(e))
        options.model_period = UINT32_MAX; /* pieces are joined: each must do with its own */
    options.level = e->pace.is_behind ? TTAPE_LEVEL_FAST : options.level;
    options.allocator = &e->allocator;
    if (e->options.separate_files)
        options.jobs = 1; /* files are sealed one behind the other */
    if (e->options.clock == TTAPE_CLOCK_NONE)
        options.resolution_ns = TTAPE_TIME_NONE;
    o->fd = e->options.live && o->final_path == NULL
                ? ttp_directory_create_final(e->directory, o->path)
                : ttp_directory_create(e->directory, ttp_directory_base(o->path), O_WRONLY);
    if (o->fd < 0)
        return ttp_directory_fail(err, "creating", o->path);
    if (e->options.live)
        hold_file(o->fd);
    ttape_sink sink = {o, append_data, sync_file};
    TTP_TRY(ttape_writer_open(&o->writer, &sink, &options, err));
    if (e->options.separate_files)
        ttp_writer_share_memory(o->writer);
    return set_metadata(e, o->writer, err);
}

ttape_status ttp_output_begin(struct ttp_encode *e, uint32_t pid, struct ttp_output **out,
                              ttape_error *err)
{
    struct ttp_output **place = ttp_push(&e->allocator, &e->outputs, sizeof *place, err);
    struct ttp_output *o = place == NULL ? NULL : calloc(1, sizeof *o);
    if (o == NULL) {
        e->outputs.count -= place != NULL;
        return ttp_fail_memory(err);
    }
    *place = *out = o;
    o->fd = -1;
    o->directory = e->directory;
    o->number = e->next_file++;
    o->opened_ms = o->last_event_ms = ttp_now_ms();
    e->file_count++;
    TTP_TRY(name_output(e, o, pid, err));
    TTP_TRY(open_writer(e, o, err));
    return e->options.separate_files ? ttp_output_rest(e, o, err) : TTAPE_OK;
}
