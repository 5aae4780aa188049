/* The converter for the text of the kernel's tracer. Functions of the graph are calls, each of the
 * function tracer a call that takes no time, and events of tracepoints are markers with their
 * fields, all in the thread that the line names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/calls/name_table.h"
#include "tools/command/progress.h"
#include "tools/convert/convert.h"
#include "tools/convert/ftrace/convert_ftrace.h"
#include "tools/convert/open_frames.h"
#include "tools/io/lines.h"

#define PROGRESS_LINES 4096u
#define PROBE_LINES    24u
#define PROBE_BYTES    1024u

struct ftrace_thread {
    uint32_t stream;
    struct tool_open_frames open;
};

struct ftrace {
    struct tool_conversion *conversion;
    ttape_writer *writer;
    struct tool_names thread_of, process_of, site_of;
    struct ftrace_thread *threads;
    size_t thread_count, thread_capacity;
    uint32_t module; /* the kernel */
    char *key;
    size_t key_capacity;
    uint64_t event_count, other_count, first_other, lost_count;
    ttape_status status;
    ttape_error err;
    ttape_value values[TTAPE_EVENT_MAX_VALUES];
    ttape_value_name names[TTAPE_EVENT_MAX_VALUES];
};

/* ---- definitions ---- */

static bool is_good(struct ftrace *f, ttape_status status)
{
    if (f->status == TTAPE_OK)
        f->status = status;
    return f->status == TTAPE_OK;
}

/* Each processor has an idle thread, whose number is 0. */
static struct ftrace_thread *thread_of(struct ftrace *f, const struct tool_ftrace_line *line)
{
    const uint64_t key[] = {line->tid, line->tid == 0 ? line->cpu : 0};
    bool is_new, is_new_process;
    uint32_t *known = tool_names_find(&f->thread_of, key, sizeof key, &is_new);
    if (!is_new)
        return &f->threads[*known];
    *known = (uint32_t)f->thread_count;
    uint32_t *process =
        tool_names_find(&f->process_of, &line->pid, sizeof line->pid, &is_new_process);
    const ttape_process made = {.pid = line->pid, .parent = TTAPE_NONE, .name = line->task};
    if (is_new_process)
        (void)is_good(f, ttape_writer_add_process(f->writer, &made, process, &f->err));
    const ttape_stream stream = {.process = *process, .tid = line->tid, .name = line->task};
    tool_grow((void **)&f->threads, &f->thread_capacity, f->thread_count + 1, sizeof *f->threads);
    struct ftrace_thread *thread = &f->threads[f->thread_count++];
    *thread = (struct ftrace_thread){0};
    if (f->status == TTAPE_OK)
        (void)is_good(f, ttape_writer_add_stream(f->writer, &stream, &thread->stream, &f->err));
    return thread;
}

static size_t put_key(struct ftrace *f, size_t size_bytes, ttape_string text)
{
    tool_grow((void **)&f->key, &f->key_capacity, size_bytes + text.size_bytes + 1, 1);
    memcpy(f->key + size_bytes, text.data, text.size_bytes);
    f->key[size_bytes + text.size_bytes] = '\0';
    return size_bytes + text.size_bytes + 1;
}

/* A site has one set of names for its values, which a program's own texts change from one to the
 * next: each set is a site. */
static uint32_t site_of(struct ftrace *f, ttape_string name, ttape_site_kind kind, uint32_t count,
                        bool *is_new)
{
    const char first = (char)kind;
    size_t size = put_key(f, put_key(f, 0, (ttape_string){&first, 1}), name);
    for (uint32_t i = 0; i < count; i++)
        size = put_key(f, size, f->names[i].name);
    uint32_t *known = tool_names_find(&f->site_of, f->key, size, is_new);
    const ttape_site site = {.kind = kind,
                             .module = kind == TTAPE_SITE_FUNCTION ? f->module : TTAPE_NONE,
                             .symbol = name};
    if (*is_new && f->status == TTAPE_OK)
        (void)is_good(f, ttape_writer_add_site(f->writer, &site, known, &f->err));
    return *known;
}

/* ---- events ---- */

static void put(struct ftrace *f, const struct ftrace_thread *thread, uint64_t time_ns,
                ttape_event event)
{
    event.time_ns = tool_conversion_time(f->conversion, time_ns);
    event.depth = TTAPE_DEPTH_AUTO;
    f->event_count++;
    if (f->status == TTAPE_OK)
        (void)is_good(f, ttape_writer_append(f->writer, thread->stream, &event, 1, &f->err));
}

/* What its values are called is said with the first of its site. */
static void put_marker(struct ftrace *f, const struct ftrace_thread *thread,
                       const struct tool_ftrace_line *line)
{
    bool is_new;
    uint32_t count = 0;
    struct tool_ftrace_field field;
    ttape_string text = line->text;
    while (count < TTAPE_EVENT_MAX_VALUES && tool_ftrace_next_field(&text, &field)) {
        if (field.value.size_bytes > TTAPE_VALUE_MAX_BYTES)
            field.value.size_bytes = TTAPE_VALUE_MAX_BYTES;
        f->names[count] =
            (ttape_value_name){.name = field.key, .type = {"", 0}, .enumeration = {"", 0}};
        f->values[count++] = tool_ftrace_value(field.value);
    }
    uint32_t site = site_of(f, line->name, TTAPE_SITE_MARKER, count, &is_new);
    put(f, thread, line->time_ns, (ttape_event){.kind = TTAPE_EVENT_LEAF, .site = site});
    if (count == 0 || f->status != TTAPE_OK)
        return;
    const ttape_site_values names = {.enter = f->names, .enter_count = count};
    (void)is_good(f, ttape_writer_attach(f->writer, thread->stream, f->values, count, &f->err));
    if (is_new && f->status == TTAPE_OK)
        (void)is_good(f, ttape_writer_name_values(f->writer, site, &names, &f->err));
}

static void put_call(struct ftrace *f, const struct ftrace_thread *thread,
                     const struct tool_ftrace_line *line)
{
    bool is_new;
    uint32_t site = site_of(f, line->name, TTAPE_SITE_FUNCTION, 0, &is_new);
    put(f, thread, line->time_ns, (ttape_event){.kind = TTAPE_EVENT_ENTER, .site = site});
    put(f, thread, line->time_ns + line->duration_ns,
        (ttape_event){.kind = TTAPE_EVENT_EXIT, .site = site});
}

static void enter(struct ftrace *f, struct ftrace_thread *thread,
                  const struct tool_ftrace_line *line)
{
    bool is_new;
    uint32_t site = site_of(f, line->name, TTAPE_SITE_FUNCTION, 0, &is_new);
    put(f, thread, line->time_ns, (ttape_event){.kind = TTAPE_EVENT_ENTER, .site = site});
    tool_frames_push(&thread->open, site, 0);
}

/* Tracing began inside of it, where none is open: nobody says of what. */
static void end_call(struct ftrace *f, struct ftrace_thread *thread,
                     const struct tool_ftrace_line *line)
{
    struct tool_open_frames *open = &thread->open;
    if (open->count == 0)
        return;
    put(f, thread, line->time_ns,
        (ttape_event){.kind = TTAPE_EVENT_EXIT, .site = open->frames[open->count - 1].site});
    tool_frames_drop(open, 1);
}

/* ---- lines ---- */

static void take_line(struct ftrace *f, const struct tool_line *text)
{
    struct tool_ftrace_line line;
    tool_ftrace_parse(text->text, &line);
    if (text->too_long)
        line.kind = TOOL_FTRACE_OTHER;
    switch (line.kind) {
    case TOOL_FTRACE_NOTHING: break;
    case TOOL_FTRACE_LOST: f->lost_count += line.lost_count; break;
    case TOOL_FTRACE_EVENT: put_marker(f, thread_of(f, &line), &line); break;
    case TOOL_FTRACE_FUNCTION:
    case TOOL_FTRACE_LEAF: put_call(f, thread_of(f, &line), &line); break;
    case TOOL_FTRACE_ENTER: enter(f, thread_of(f, &line), &line); break;
    case TOOL_FTRACE_EXIT: end_call(f, thread_of(f, &line), &line); break;
    case TOOL_FTRACE_OTHER:
        if (f->other_count++ == 0)
            f->first_other = text->number;
        break;
    }
}

static void warn(const struct ftrace *f)
{
    if (f->other_count > 0)
        tool_conversion_warn(f->conversion,
                             "%" PRIu64 " lines are left out, the first is line %" PRIu64
                             ": times are seconds (trace_clock mono), and a function graph needs "
                             "its options funcgraph-abstime and funcgraph-proc",
                             f->other_count, f->first_other);
    if (f->lost_count > 0)
        tool_conversion_warn(f->conversion, "the kernel lost %" PRIu64 " events", f->lost_count);
}

static int take_lines(struct ftrace *f)
{
    struct tool_conversion *conversion = f->conversion;
    struct tool_lines lines;
    struct tool_line line = {0};
    struct stat status;
    tool_lines_open(&lines, conversion->fd, conversion->head, conversion->head_bytes);
    uint64_t total =
        fstat(lines.fd, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    while (f->status == TTAPE_OK && tool_lines_next(&lines, &line)) {
        take_line(f, &line);
        if (line.number % PROGRESS_LINES == 0)
            tool_progress_update(line.offset, total, f->event_count);
    }
    int failed_errno = lines.failed_errno;
    tool_lines_close(&lines);
    if (failed_errno != 0)
        return tool_fail("cannot read '%s': %s", conversion->input, strerror(failed_errno));
    if (f->status != TTAPE_OK)
        return tool_conversion_fail(conversion, &f->err);
    warn(f);
    if (f->event_count == 0)
        return tool_fail("'%s' holds no event that could be used", conversion->input);
    return conversion->warning_count > 0 ? TOOL_LOSS : TOOL_OK;
}

static int convert_ftrace(struct tool_conversion *conversion)
{
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    struct ttp_hash content = {0};
    ttp_hash_bytes(&content, conversion->head, conversion->head_bytes);
    int status = tool_conversion_begin(conversion, &content);
    if (status != TOOL_OK)
        return status;
    struct ftrace *f = tool_allocate(1, sizeof *f);
    f->conversion = conversion;
    f->writer = conversion->writer;
    ttape_string source = {"ftrace", 6};
    const ttape_module kernel = {.process = TTAPE_NONE, .path = {"[kernel]", 8}};
    (void)is_good(f, ttape_writer_set_text(f->writer, "source", source, &f->err));
    if (f->status == TTAPE_OK)
        (void)is_good(f, ttape_writer_add_module(f->writer, &kernel, &f->module, &f->err));
    status = take_lines(f);
    for (size_t i = 0; i < f->thread_count; i++)
        free(f->threads[i].open.frames);
    tool_names_close(&f->thread_of);
    tool_names_close(&f->process_of);
    tool_names_close(&f->site_of);
    free(f->threads);
    free(f->key);
    free(f);
    return status;
}

/* Its header, or a line of it among the first. */
static bool probe(const struct tool_conversion *conversion)
{
    size_t at = 0;
    char text[PROBE_BYTES];
    struct tool_ftrace_line line;
    if (!tool_conversion_is_text(conversion))
        return false;
    for (unsigned i = 0;
         i < PROBE_LINES && tool_conversion_next_line(conversion, &at, text, sizeof text); i++) {
        tool_ftrace_parse(text, &line);
        if (strncmp(text, "# tracer: ", 10) == 0 ||
            (line.kind != TOOL_FTRACE_OTHER && line.kind != TOOL_FTRACE_NOTHING))
            return true;
    }
    return false;
}

const struct tool_converter tool_converter_ftrace = {
    .name = "ftrace",
    .summary = "text of the kernel's tracer: functions and events",
    .probe = probe,
    .run = convert_ftrace};
