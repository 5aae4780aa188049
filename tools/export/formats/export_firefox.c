/* Firefox Profiler's processed profile, version 40: a thread's samples are not taken by a clock but
 * stand wherever its stack changed, each with the time until the next one as its weight.
 *
 *   walk -> samples of a thread (scratch file) and its tree of stacks (memory)
 *        -> at the thread's end its tables: columns of equal length, which name each other
 *
 * Version 40 is the oldest that their loader takes without guessing. It upgrades from there. Later
 * ones move tables out of the threads, which would have to stay in memory until the last thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/formats/export_firefox.h"

#define STACKS_MAX 4194304u /* of a thread: more than their page shows, in about 100 MiB here */

/* ---- while a thread is read ---- */

static void put_sample(struct firefox *out)
{
    const struct sample *sample = &out->pending;
    if (sample->end_ns == sample->start_ns && sample->node != 0)
        return;
    if (tool_scratch_write(&out->samples, sample, sizeof *sample))
        out->sample_count++;
    else
        out->export->status = TOOL_CANNOT;
}

/* What follows another stack, or a hole, is a sample of its own. */
static void add_time(struct firefox *out, uint64_t node, uint64_t from_ns, uint64_t to_ns)
{
    struct sample *pending = &out->pending;
    if (from_ns == to_ns)
        return;
    if (pending->end_ns > pending->start_ns && pending->node == node &&
        pending->end_ns == from_ns) {
        pending->end_ns = to_ns;
        return;
    }
    if (pending->end_ns > pending->start_ns)
        put_sample(out);
    *pending = (struct sample){from_ns, to_ns, node};
}

static uint32_t node_of(const struct tool_stack *stack, size_t shown)
{
    return shown > 0 ? (uint32_t)stack->frames[shown - 1].id : TOOL_STACKS_ROOT;
}

static void account(struct firefox *out, const struct tool_stack *stack, size_t shown,
                    uint64_t time_ns)
{
    add_time(out, node_of(stack, shown), out->last_ns, time_ns);
    out->last_ns = time_ns;
}

/* The node of a path's frames. */
static uint32_t node_of_path(struct firefox *out, uint32_t path)
{
    uint32_t node = TOOL_STACKS_ROOT;
    tool_export_path_read(out->export, path, &out->path);
    for (uint32_t i = 0; i < out->path.count; i++) {
        uint32_t site = tool_export_same_name(out->export, &out->names, out->path.sites[i]);
        node = tool_stacks_child(&out->stacks, node, site);
    }
    return node;
}

static void make_node(struct firefox *out, const struct tool_stack *stack, struct tool_frame *frame)
{
    size_t place = (size_t)(frame - stack->frames);
    uint32_t label = frame->site, parent = node_of(stack, place);
    uint32_t path = out->export->has_paths ? tool_export_path_of(out->export, frame->site) : 0;
    if (path != 0) {
        parent = node_of_path(out, path);
        label = tool_export_same_name(out->export, &out->names, label);
    } else if (label == TTAPE_NONE) {
        label = TOOL_FOLDED_SIGNAL | (frame->signal & (TOOL_FOLDED_SIGNAL - 1));
    }
    if (out->stacks.node_count < STACKS_MAX) {
        frame->id = tool_stacks_child(&out->stacks, parent, label);
        return;
    }
    frame->id = parent;
    if (out->export->status != TOOL_CANNOT)
        out->export->status = tool_fail(
            "'%s': a thread has more than %u different stacks, which is more than Firefox "
            "Profiler can show: choose a part by --time, --thread or --min-time",
            out->export->input->name, STACKS_MAX);
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct firefox *out = context;
    const struct tool_stack *stack = tool_walk_stack(walk);
    if (walk->stack == walk->active)
        account(out, stack, (size_t)(frame - stack->frames), now->time_ns);
    make_node(out, stack, frame);
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    (void)frame;
    (void)ending;
    if (walk->stack == walk->active)
        account(context, tool_walk_stack(walk), tool_walk_stack(walk)->shown, now->time_ns);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    account(context, walk->stacks[from], walk->stacks[from]->shown, now->time_ns);
}

/* Nothing is known to have run where events are missing. */
static void take_skip(void *context, struct tool_walk *walk, uint64_t to_ns)
{
    struct firefox *out = context;
    account(out, tool_walk_stack(walk), tool_walk_stack(walk)->shown, walk->now_ns);
    add_time(out, TOOL_STACKS_ROOT, walk->now_ns, to_ns);
    out->last_ns = to_ns;
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct firefox *out = context;
    tool_stacks_open(&out->stacks);
    out->last_ns = walk->now_ns;
    out->pending = (struct sample){walk->now_ns, walk->now_ns, 0};
    out->thread_start = out->samples.size_bytes;
    out->sample_count = out->frame_count = out->module_count = 0;
    out->text_count = 0;
    out->texts.size_bytes = 0;
}

/* ---- when it has ended ---- */

static void put_thread_head(struct firefox *out, const struct tool_export_stream *stream)
{
    struct tool_buffer name = {0}, json = {0};
    tool_export_thread_name(out->export, stream, 0, &name);
    tool_output_text(&out->export->out, out->thread_count++ > 0 ? ",\n" : "\n");
    tool_buffer_text(&json, "{\"name\":");
    tool_buffer_json(&json, (ttape_string){name.data, name.size_bytes});
    tool_buffer_text(&json, ",\"processName\":");
    tool_buffer_json(&json, tool_export_process_name(out->export, stream->process));
    /* a number and a text of one value: the process's main thread */
    tool_buffer_printf(&json, ",\"pid\":%" PRIu32 ",\"tid\":\"%" PRIu32 "\"", stream->shown_pid,
                       stream->shown_tid);
    tool_buffer_text(&json, ",\"processType\":\"default\",\"processStartupTime\":0,"
                            "\"processShutdownTime\":null,\"registerTime\":0,"
                            "\"unregisterTime\":null,\"pausedRanges\":[],\n");
    tool_output_bytes(&out->export->out, json.data, json.size_bytes);
    tool_buffer_close(&name);
    tool_buffer_close(&json);
}

/* The last sample has an end, as nothing runs from there on. */
static void take_stream_end(void *context, struct tool_walk *walk, uint64_t time_ns)
{
    struct firefox *out = context;
    uint64_t end_ns = time_ns > out->last_ns ? time_ns : out->last_ns;
    add_time(out, TOOL_STACKS_ROOT, out->last_ns, end_ns);
    if (out->pending.end_ns > out->pending.start_ns)
        put_sample(out);
    out->pending = (struct sample){end_ns, end_ns, 0};
    put_sample(out);
    put_thread_head(out, walk->stream);
    tool_firefox_put_tables(out);
    tool_output_text(&out->export->out, "}");
    tool_firefox_close_thread(out);
}

static void put_head(struct firefox *out)
{
    struct tool_output *file = &out->export->out;
    struct tool_buffer name = {0};
    const char *path = out->export->input->name;
    tool_buffer_json(&name, (ttape_string){path, strlen(path)});
    tool_output_text(file, "{\"meta\":{\"preprocessedProfileVersion\":40,\"version\":24,"
                           "\"interval\":0.001,\"startTime\":0,\"processType\":0,\"stackwalk\":1,"
                           "\"symbolicated\":true,\"markerSchema\":[],\n\"product\":");
    tool_output_bytes(file, name.data, name.size_bytes);
    tool_output_printf(file, ",\"importedFrom\":\"tracetape %s\"", ttape_version_string());
    if (out->origin_ns > 0)
        tool_output_printf(file, ",\"time_origin_ns\":\"%" PRIu64 "\"", out->origin_ns);
    tool_output_text(file,
                     ",\n\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
                     "\"sourceCodeIsNotOnSearchfox\":true,\"categories\":[{\"name\":\"Other\","
                     "\"color\":\"grey\",\"subcategories\":[\"Other\"]}]},\n\"pages\":[],\n"
                     "\"threads\":[");
    tool_buffer_close(&name);
}

static int write_firefox(struct tool_export *export)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .changed = take_change,
                                                   .skip = take_skip,
                                                   .stream_end = take_stream_end};
    struct firefox out = {.export = export,
                          .origin_ns = tool_export_origin(export),
                          .samples = {.fd = -1},
                          .stacks = {.scratch = {.fd = -1}}};
    if (!tool_scratch_open(&out.samples))
        return TOOL_CANNOT;
    put_head(&out);
    tool_export_walk(export, &calls, &out);
    tool_output_text(&export->out, "\n]}\n");
    tool_firefox_close_thread(&out);
    tool_scratch_close(&out.samples);
    tool_buffer_close(&out.texts);
    tool_export_path_close(&out.path);
    tool_names_close(&out.names);
    free(out.frames);
    free(out.modules);
    return export->status;
}

const struct tool_export_format tool_export_firefox = {.name = "firefox",
                                                       .summary = "a profile for Firefox Profiler",
                                                       .shape = TOOL_EXPORT_TEXT,
                                                       .run = write_firefox};
