/* The converter for what `perf script --itrace=cr` says of Intel PT: each line is a call or a
 * return of a thread, in the order of time.
 *
 * Tracing begins somewhere, and has holes: a thread's frames are what its lines imply. What a line
 * returns to, or goes on in, ends the frames inside of it. Where tracing ends for a while (a system
 * call, an interrupt, code that is filtered out) a frame of that name stands until it goes on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/calls/name_table.h"
#include "tools/command/progress.h"
#include "tools/convert/convert.h"
#include "tools/convert/open_frames.h"
#include "tools/convert/perf/convert_perf.h"
#include "tools/io/lines.h"

#define BATCH_EVENTS   1024u
#define PROGRESS_LINES 4096u
#define PROBE_LINES    16u
#define PROBE_BYTES    4096u

struct perf_thread {
    uint64_t tid;
    uint32_t stream;
    bool has_events;
    struct tool_open_frames open;
};

struct perf {
    struct tool_conversion *conversion;
    ttape_writer *writer;
    struct tool_names thread_of, process_of, module_of, site_of;
    struct perf_thread *threads;
    size_t thread_count, thread_capacity;
    uint32_t away[3]; /* sites of what stands where tracing has ended; TTAPE_NONE: not yet */
    char *key;
    size_t key_capacity;
    uint32_t batch_thread;
    size_t batch_count;
    uint64_t event_count, other_count, first_other;
    ttape_status status;
    ttape_error err;
    ttape_event batch[BATCH_EVENTS];
};

/* ---- definitions ---- */

static bool is_good(struct perf *perf, ttape_status status)
{
    if (perf->status == TTAPE_OK)
        perf->status = status;
    return perf->status == TTAPE_OK;
}

static struct perf_thread *thread_of(struct perf *perf, const struct tool_perf_line *line,
                                     uint32_t *index)
{
    const uint64_t key[] = {line->pid, line->tid};
    bool is_new, is_new_process;
    uint32_t *known = tool_names_find(&perf->thread_of, key, sizeof key, &is_new);
    if (is_new) {
        *known = (uint32_t)perf->thread_count;
        uint32_t *process =
            tool_names_find(&perf->process_of, &line->pid, sizeof line->pid, &is_new_process);
        const ttape_process made = {.pid = line->pid, .parent = TTAPE_NONE, .name = line->name};
        if (is_new_process)
            (void)is_good(perf, ttape_writer_add_process(perf->writer, &made, process, &perf->err));
        const ttape_stream stream = {.process = *process, .tid = line->tid, .name = line->name};
        tool_grow((void **)&perf->threads, &perf->thread_capacity, perf->thread_count + 1,
                  sizeof(struct perf_thread));
        struct perf_thread *thread = &perf->threads[perf->thread_count++];
        *thread = (struct perf_thread){.tid = line->tid};
        if (perf->status == TTAPE_OK)
            (void)is_good(
                perf, ttape_writer_add_stream(perf->writer, &stream, &thread->stream, &perf->err));
    }
    *index = *known;
    return &perf->threads[*index];
}

static uint32_t module_of(struct perf *perf, ttape_string path)
{
    bool is_new;
    if (path.size_bytes == 0)
        return TTAPE_NONE;
    uint32_t *known = tool_names_find(&perf->module_of, path.data, path.size_bytes, &is_new);
    const ttape_module module = {.process = TTAPE_NONE, .path = path};
    if (is_new && perf->status == TTAPE_OK)
        (void)is_good(perf, ttape_writer_add_module(perf->writer, &module, known, &perf->err));
    return *known;
}

/* A function is its name and its file; without a name it is an address. */
static uint32_t site_of(struct perf *perf, const struct tool_perf_place *place)
{
    bool is_new, is_named = place->symbol.size_bytes > 0;
    uint64_t start = place->has_offset && place->offset <= place->address
                         ? place->address - place->offset
                         : place->address;
    size_t name = is_named ? place->symbol.size_bytes : sizeof start;
    size_t size = name + 1 + place->module.size_bytes;
    tool_grow((void **)&perf->key, &perf->key_capacity, size, 1);
    memcpy(perf->key, is_named ? place->symbol.data : (const char *)&start, name);
    perf->key[name] = is_named ? '\n' : '\t';
    if (place->module.size_bytes > 0)
        memcpy(perf->key + name + 1, place->module.data, place->module.size_bytes);
    uint32_t *known = tool_names_find(&perf->site_of, perf->key, size, &is_new);
    if (is_new && perf->status == TTAPE_OK) {
        const ttape_site site = {
            .module = module_of(perf, place->module), .address = start, .symbol = place->symbol};
        (void)is_good(perf, ttape_writer_add_site(perf->writer, &site, known, &perf->err));
    }
    return *known;
}

static uint32_t away_site(struct perf *perf, enum tool_perf_kind kind)
{
    static const char *const names[] = {"(not traced)", "(system call)", "(interrupt)"};
    unsigned which = kind == TOOL_PERF_SYSTEM_CALL ? 1 : kind == TOOL_PERF_INTERRUPT ? 2 : 0;
    const ttape_site site = {.module = TTAPE_NONE, .symbol = {names[which], strlen(names[which])}};
    if (perf->away[which] == TTAPE_NONE && perf->status == TTAPE_OK)
        (void)is_good(perf,
                      ttape_writer_add_site(perf->writer, &site, &perf->away[which], &perf->err));
    return perf->away[which];
}

static bool is_away(const struct perf *perf, uint32_t site)
{
    for (int i = 0; i < 3; i++)
        if (site == perf->away[i] && site != TTAPE_NONE)
            return true;
    return false;
}

/* ---- events ---- */

static void flush_events(struct perf *perf)
{
    if (perf->batch_count > 0 && perf->status == TTAPE_OK)
        (void)is_good(perf,
                      ttape_writer_append(perf->writer, perf->threads[perf->batch_thread].stream,
                                          perf->batch, perf->batch_count, &perf->err));
    perf->batch_count = 0;
}

static void put_event(struct perf *perf, uint32_t thread, const struct tool_perf_line *line,
                      ttape_event event)
{
    if (perf->batch_count == BATCH_EVENTS || perf->batch_thread != thread)
        flush_events(perf);
    event.time_ns = tool_conversion_time(perf->conversion, line->time_ns);
    event.depth = TTAPE_DEPTH_AUTO;
    perf->batch_thread = thread;
    perf->batch[perf->batch_count++] = event;
    perf->threads[thread].has_events = true;
    perf->event_count++;
}

/* A thread of which nothing was seen before is found in a frame. */
static void enter(struct perf *perf, uint32_t thread, const struct tool_perf_line *line,
                  uint32_t site, bool is_found)
{
    bool is_open = is_found && !perf->threads[thread].has_events;
    put_event(perf, thread, line,
              (ttape_event){.kind = is_open ? TTAPE_EVENT_OPEN : TTAPE_EVENT_ENTER, .site = site});
    tool_frames_push(&perf->threads[thread].open, site, 0);
}

/* Ends the innermost frames. */
static void leave_frames(struct perf *perf, uint32_t thread, const struct tool_perf_line *line,
                         uint32_t count)
{
    struct tool_open_frames *open = &perf->threads[thread].open;
    if (count > 1) {
        put_event(
            perf, thread, line,
            (ttape_event){.kind = TTAPE_EVENT_UNWIND, .site = TTAPE_NONE, .argument = count - 1});
        tool_frames_drop(open, count - 1);
    }
    if (count > 0 && open->count > 0) {
        put_event(
            perf, thread, line,
            (ttape_event){.kind = TTAPE_EVENT_EXIT, .site = open->frames[open->count - 1].site});
        tool_frames_drop(open, 1);
    }
}

/* The thread runs in a function: what is inside of it has ended, and where it was not known to be
 * open, it is now. `least`: frames that have ended in any case. */
static void go_on_in(struct perf *perf, uint32_t thread, const struct tool_perf_line *line,
                     const struct tool_perf_place *place, uint32_t least)
{
    struct tool_open_frames *open = &perf->threads[thread].open;
    uint32_t site = place->has_address ? site_of(perf, place) : TTAPE_NONE;
    if (least > 0 && open->count > 0) {
        size_t kept = open->count;
        open->count -= least; /* a frame of that function which has ended is not the one */
        uint32_t more = site != TTAPE_NONE ? tool_frames_find(open, site, 0) : 0;
        open->count = kept;
        leave_frames(perf, thread, line, least + (more > 0 ? more - 1 : 0));
        return;
    }
    uint32_t inside = site != TTAPE_NONE ? tool_frames_find(open, site, 0) : 0;
    if (inside > 0)
        leave_frames(perf, thread, line, inside - 1);
    else if (site != TTAPE_NONE)
        enter(perf, thread, line, site, open->count == 0);
}

static void take_return(struct perf *perf, uint32_t thread, const struct tool_perf_line *line)
{
    if (perf->threads[thread].open.count > 0)
        go_on_in(perf, thread, line, &line->to, 1);
    else if (line->from.has_address)
        put_event(
            perf, thread, line,
            (ttape_event){.kind = TTAPE_EVENT_EXIT_UNSEEN, .site = site_of(perf, &line->from)});
}

/* A jump to where another function begins is its call, and the end of this one. */
static void take_jump(struct perf *perf, uint32_t thread, const struct tool_perf_line *line)
{
    const struct tool_open_frames *open = &perf->threads[thread].open;
    if (!line->from.has_address || !line->to.has_address || !line->to.has_offset ||
        line->to.offset != 0)
        return;
    uint32_t from = site_of(perf, &line->from), to = site_of(perf, &line->to);
    if (from == to)
        return;
    if (open->count > 0 && open->frames[open->count - 1].site == from)
        leave_frames(perf, thread, line, 1);
    enter(perf, thread, line, to, false);
}

static void take_branch(struct perf *perf, const struct tool_perf_line *line)
{
    uint32_t index;
    const struct perf_thread *thread = thread_of(perf, line, &index);
    if (perf->status != TTAPE_OK)
        return;
    if (line->kind == TOOL_PERF_LOST) {
        put_event(perf, index, line,
                  (ttape_event){.kind = TTAPE_EVENT_GAP,
                                .site = TTAPE_NONE,
                                .argument = line->is_overflow ? TTAPE_GAP_REASON_OVERFLOW
                                                              : TTAPE_GAP_REASON_UNKNOWN});
        return;
    }
    size_t count = thread->open.count;
    if (line->begins) {
        bool was_away = count > 0 && is_away(perf, thread->open.frames[count - 1].site);
        if (was_away)
            leave_frames(perf, index, line, 1);
        go_on_in(perf, index, line, &line->to, 0);
        return;
    }
    if (count == 0 && line->kind != TOOL_PERF_RETURN && line->from.has_address)
        enter(perf, index, line, site_of(perf, &line->from), true);
    if (line->ends)
        enter(perf, index, line, away_site(perf, line->kind), false);
    else if (line->kind == TOOL_PERF_RETURN)
        take_return(perf, index, line);
    else if (line->kind == TOOL_PERF_JUMP)
        take_jump(perf, index, line);
    else if (line->to.has_address)
        enter(perf, index, line, site_of(perf, &line->to), false);
}

/* ---- lines ---- */

static void take_line(struct perf *perf, const struct tool_line *text)
{
    struct tool_perf_line line;
    size_t blanks = strspn(text->text, " \t\r");
    if (text->text[blanks] == '\0' || text->text[blanks] == '#')
        return;
    tool_perf_parse(text->text, &line);
    if (!text->too_long && line.kind != TOOL_PERF_OTHER) {
        take_branch(perf, &line);
        return;
    }
    if (perf->other_count++ == 0)
        perf->first_other = text->number;
}

static int take_lines(struct perf *perf)
{
    struct tool_conversion *conversion = perf->conversion;
    struct tool_lines lines;
    struct tool_line line = {0};
    struct stat status;
    tool_lines_open(&lines, conversion->fd, conversion->head, conversion->head_bytes);
    uint64_t total =
        fstat(lines.fd, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    while (perf->status == TTAPE_OK && tool_lines_next(&lines, &line)) {
        take_line(perf, &line);
        if (line.number % PROGRESS_LINES == 0)
            tool_progress_update(line.offset, total, perf->event_count);
    }
    int failed_errno = lines.failed_errno;
    tool_lines_close(&lines);
    flush_events(perf);
    if (failed_errno != 0)
        return tool_fail("cannot read '%s': %s", conversion->input, strerror(failed_errno));
    if (perf->status != TTAPE_OK)
        return tool_conversion_fail(conversion, &perf->err);
    if (perf->other_count > 0)
        tool_conversion_warn(conversion,
                             "%" PRIu64 " lines are neither calls nor returns: left out; the first "
                             "is line %" PRIu64,
                             perf->other_count, perf->first_other);
    if (perf->event_count == 0 && conversion->warning_count > 0)
        return tool_fail("'%s' holds no event that could be used", conversion->input);
    return conversion->warning_count > 0 ? TOOL_LOSS : TOOL_OK;
}

static int convert_perf(struct tool_conversion *conversion)
{
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    struct ttp_hash content = {0};
    ttp_hash_bytes(&content, conversion->head, conversion->head_bytes);
    int status = tool_conversion_begin(conversion, &content);
    if (status != TOOL_OK)
        return status;
    struct perf *perf = tool_allocate(1, sizeof *perf);
    perf->conversion = conversion;
    perf->writer = conversion->writer;
    perf->away[0] = perf->away[1] = perf->away[2] = TTAPE_NONE;
    ttape_string source = {"perf script", 11};
    (void)is_good(perf, ttape_writer_set_text(perf->writer, "source", source, &perf->err));
    status = take_lines(perf);
    for (size_t i = 0; i < perf->thread_count; i++)
        free(perf->threads[i].open.frames);
    tool_names_close(&perf->thread_of);
    tool_names_close(&perf->process_of);
    tool_names_close(&perf->module_of);
    tool_names_close(&perf->site_of);
    free(perf->threads);
    free(perf->key);
    free(perf);
    return status;
}

/* A call, a return or a begin of tracing, with an arrow, among its first lines. */
static bool probe_input(const struct tool_conversion *conversion)
{
    size_t at = 0;
    char text[PROBE_BYTES];
    struct tool_perf_line line;
    if (!tool_conversion_is_text(conversion))
        return false;
    for (unsigned i = 0;
         i < PROBE_LINES && tool_conversion_next_line(conversion, &at, text, sizeof text); i++) {
        tool_perf_parse(text, &line);
        if (line.kind != TOOL_PERF_OTHER)
            return true;
    }
    return false;
}

const struct tool_converter tool_converter_perf = {
    .name = "perf",
    .summary = "calls and returns as 'perf script --itrace=cr' prints them",
    .probe = probe_input,
    .run = convert_perf};
