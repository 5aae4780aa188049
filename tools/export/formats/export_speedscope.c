/* speedscope's file format, evented profiles: one for each thread, frames opened and closed in the
 * order of time.
 *
 * A thread that goes on on another stack closes what is open on the one and opens what is open on
 * the other: a profile has one stack. Frames of the path to a system call are around it. The table
 * of frames comes last, when it is known what was used. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool_map.h"
#include "tools/export/export_paths.h"

#define LINE_BYTES 96u
#define UNKNOWN    UINT32_MAX /* no signal: frames that nobody could see */

struct used_frame {
    uint32_t site, signal;
};

struct speedscope {
    struct tool_export *export;
    uint64_t origin_ns;
    uint32_t *index_of;           /* by site: index + 1 */
    struct ttp_key_map signal_of; /* indices by the numbers of signals */
    struct tool_names names;      /* of frames of paths */
    struct tool_export_path path;
    struct used_frame *used;
    size_t used_count, used_capacity;
    uint64_t profile_count, line_count; /* lines of this profile */
};

/* {"name":"...","file":"...","line":1} */
static void write_site(const struct tool_export *export, struct tool_buffer *buffer,
                       const ttape_site *site)
{
    char room[TOOL_EXPORT_PLACE_BYTES];
    tool_buffer_text(buffer, "{\"name\":");
    tool_buffer_json(buffer, tool_export_place(export, site, room));
    if (site->file.size_bytes > 0) {
        tool_buffer_text(buffer, ",\"file\":");
        tool_buffer_json(buffer, site->file);
    }
    if (site->line > 0)
        tool_buffer_printf(buffer, ",\"line\":%" PRIu32, site->line);
    tool_buffer_text(buffer, "}");
}

static uint32_t add_used(struct speedscope *scope, uint32_t site, uint32_t signal)
{
    tool_grow((void **)&scope->used, &scope->used_capacity, scope->used_count + 1,
              sizeof(struct used_frame));
    scope->used[scope->used_count] = (struct used_frame){site, signal};
    return (uint32_t)scope->used_count++;
}

static uint32_t index_of(struct speedscope *scope, uint32_t site, uint32_t signal)
{
    if (site != TTAPE_NONE) {
        uint32_t *known = &scope->index_of[site];
        if (*known == 0)
            *known = add_used(scope, site, 0) + 1;
        return *known - 1;
    }
    uint32_t *known = tool_map_at(&scope->signal_of, signal, TTAPE_NONE);
    if (*known == TTAPE_NONE)
        *known = add_used(scope, TTAPE_NONE, signal);
    return *known;
}

static void put_line(struct speedscope *scope, char type, uint64_t index, uint64_t time_ns)
{
    struct tool_output *out = &scope->export->out;
    char *at = tool_output_reserve(out, LINE_BYTES);
    *at = ',';
    at += scope->line_count++ > 0;
    *at++ = '\n';
    at = tool_put_bytes(at, "{\"type\":\"", 9);
    *at++ = type;
    at = tool_put_bytes(at, "\",\"frame\":", 10);
    at = tool_put_decimal(at, index);
    at = tool_put_bytes(at, ",\"at\":", 6);
    at = tool_put_decimal(at, time_ns - scope->origin_ns);
    *at++ = '}';
    tool_output_commit(out, at);
}

/* Frames of the path to the outermost call are around it, and so open and close with it. */
static void put_path(struct speedscope *scope, char type, const struct tool_frame *outermost,
                     uint64_t time_ns)
{
    uint32_t path = tool_export_path_of(scope->export, outermost->site);
    if (path == 0)
        return;
    tool_export_path_read(scope->export, path, &scope->path);
    for (uint32_t i = 0, count = scope->path.count; i < count; i++) {
        uint32_t site = scope->path.sites[type == 'O' ? i : count - 1 - i];
        site = tool_export_same_name(scope->export, &scope->names, site);
        put_line(scope, type, index_of(scope, site, UNKNOWN), time_ns);
    }
}

static void open_frame(struct speedscope *scope, const struct tool_stack *stack,
                       const struct tool_frame *frame, uint64_t time_ns)
{
    if (scope->export->has_paths && frame == stack->frames)
        put_path(scope, 'O', frame, time_ns);
    put_line(scope, 'O', frame->id, time_ns);
}

static void close_frame(struct speedscope *scope, const struct tool_stack *stack,
                        const struct tool_frame *frame, uint64_t time_ns)
{
    put_line(scope, 'C', frame->id, time_ns);
    if (scope->export->has_paths && frame == stack->frames)
        put_path(scope, 'C', frame, time_ns);
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct speedscope *scope = context;
    frame->id = index_of(scope, frame->site, frame->signal);
    if (walk->stack == walk->active)
        open_frame(scope, tool_walk_stack(walk), frame, now->time_ns);
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    (void)ending;
    if (walk->stack == walk->active)
        close_frame(context, tool_walk_stack(walk), frame, now->time_ns);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    const struct tool_stack *left = walk->stacks[from], *entered = tool_walk_stack(walk);
    for (size_t i = left->shown; i-- > 0;)
        close_frame(context, left, &left->frames[i], now->time_ns);
    for (size_t i = 0; i < entered->shown; i++)
        open_frame(context, entered, &entered->frames[i], now->time_ns);
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct speedscope *scope = context;
    const struct tool_export_stream *stream = walk->stream;
    struct tool_output *out = &scope->export->out;
    struct tool_buffer name = {0}, json = {0};
    tool_export_thread_name(scope->export, stream, 0, &name);
    tool_buffer_printf(&name, " (%" PRIu64 "/%" PRIu64 ")", stream->pid, stream->tid);
    tool_buffer_json(&json, (ttape_string){name.data, name.size_bytes});
    tool_output_text(out, scope->profile_count++ > 0 ? ",\n" : "\n");
    tool_output_text(out, "{\"type\":\"evented\",\"name\":");
    tool_output_bytes(out, json.data, json.size_bytes);
    tool_output_printf(out, ",\"unit\":\"%s\",\"startValue\":%" PRIu64 ",\"events\":[",
                       scope->export->has_times ? "nanoseconds" : "none",
                       walk->now_ns - scope->origin_ns);
    tool_buffer_close(&name);
    tool_buffer_close(&json);
    scope->line_count = 0;
}

static void take_stream_end(void *context, struct tool_walk *walk, uint64_t time_ns)
{
    struct speedscope *scope = context;
    (void)walk;
    tool_output_printf(&scope->export->out, "\n],\"endValue\":%" PRIu64 "}",
                       time_ns - scope->origin_ns);
}

static void put_head(struct speedscope *scope)
{
    struct tool_output *out = &scope->export->out;
    struct tool_buffer name = {0};
    const char *path = scope->export->input->name;
    tool_buffer_json(&name, (ttape_string){path, strlen(path)});
    tool_output_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
    tool_output_printf(out, "\"exporter\":\"tracetape %s\",\"name\":", ttape_version_string());
    tool_output_bytes(out, name.data, name.size_bytes);
    if (scope->origin_ns > 0)
        tool_output_printf(out, ",\"time_origin_ns\":\"%" PRIu64 "\"", scope->origin_ns);
    tool_output_text(out, ",\n\"profiles\":[");
    tool_buffer_close(&name);
}

static void put_frames(struct speedscope *scope)
{
    struct tool_output *out = &scope->export->out;
    tool_output_text(out, "\n],\n\"shared\":{\"frames\":[");
    for (size_t i = 0; i < scope->used_count; i++) {
        const struct used_frame *used = &scope->used[i];
        tool_output_text(out, i > 0 ? ",\n" : "\n");
        if (used->site == TTAPE_NONE && used->signal == UNKNOWN) {
            tool_output_text(out, "{\"name\":\"...\"}");
        } else if (used->site == TTAPE_NONE) {
            tool_output_printf(out, "{\"name\":\"signal %" PRIu32 "\"}", used->signal);
        } else {
            const struct tool_buffer *text = tool_export_site(scope->export, used->site);
            tool_output_bytes(out, text->data, text->size_bytes);
        }
    }
    tool_output_text(out, "\n]}}\n");
}

static int write_speedscope(struct tool_export *export)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .changed = take_change,
                                                   .stream_end = take_stream_end};
    struct speedscope scope = {.export = export, .origin_ns = tool_export_origin(export)};
    export->write_site = write_site;
    scope.index_of = tool_allocate(export->info.site_count, sizeof(uint32_t));
    put_head(&scope);
    tool_export_walk(export, &calls, &scope);
    put_frames(&scope);
    free(scope.index_of);
    free(scope.used);
    tool_export_path_close(&scope.path);
    tool_names_close(&scope.names);
    tool_map_close(&scope.signal_of);
    return export->status;
}

const struct tool_export_format tool_export_speedscope = {.name = "speedscope",
                                                          .summary = "JSON for speedscope.app",
                                                          .shape = TOOL_EXPORT_TEXT,
                                                          .run = write_speedscope};
