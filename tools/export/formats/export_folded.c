/* Folded stacks: "main;parse;malloc 1234", one line for each distinct stack, its weight the time
 * for which exactly this stack was running, in nanoseconds. A system call whose path is known
 * stands on the frames of that, which are all that led to it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/export_paths.h"
#include "tools/export/export_stacks.h"

/* A line grows with its depth, and deep recursion has a line for every depth. */
#define DEPTH_MAX 4096u

struct folded {
    struct tool_export *export;
    struct tool_stacks stacks;
    uint64_t last_ns;
    uint64_t cut_count;      /* frames deeper than DEPTH_MAX */
    struct tool_names names; /* of calls with a path, and of frames: their first site */
    struct tool_export_path path;
};

/* The line that is written: names of the frames up to some depth. */
struct lines {
    struct tool_export *export;
    struct tool_buffer text;
    size_t *ends; /* by depth */
    size_t end_capacity;
};

/* Semicolons separate frames. */
static void put_label(struct tool_buffer *buffer, ttape_string name)
{
    size_t start = buffer->size_bytes;
    tool_buffer_name(buffer, TTP_ESCAPE_TERMINAL, name);
    for (size_t i = start; i < buffer->size_bytes; i++)
        if (buffer->data[i] == ';')
            buffer->data[i] = ':';
}

static void write_site(const struct tool_export *export, struct tool_buffer *buffer,
                       const ttape_site *site)
{
    char room[TOOL_EXPORT_PLACE_BYTES];
    put_label(buffer, tool_export_place(export, site, room));
}

static uint32_t label_of(const struct tool_frame *frame)
{
    return frame->site != TTAPE_NONE
               ? frame->site
               : TOOL_FOLDED_SIGNAL | (frame->signal & (TOOL_FOLDED_SIGNAL - 1));
}

static uint32_t node_of(const struct tool_stack *stack, size_t shown)
{
    return shown > 0 ? (uint32_t)stack->frames[shown - 1].id : TOOL_STACKS_ROOT;
}

/* What runs since the last call has run until now. */
static void account(struct folded *out, const struct tool_stack *stack, size_t shown,
                    uint64_t time_ns)
{
    tool_stacks_add(&out->stacks, node_of(stack, shown), time_ns - out->last_ns);
    out->last_ns = time_ns;
}

/* The node of a path's frames. */
static uint32_t node_of_path(struct folded *out, uint32_t path)
{
    uint32_t node = TOOL_STACKS_ROOT;
    tool_export_path_read(out->export, path, &out->path);
    out->cut_count += out->path.count > DEPTH_MAX;
    for (uint32_t i = 0; i < out->path.count && i < DEPTH_MAX; i++)
        node =
            tool_stacks_child(&out->stacks, node,
                              tool_export_same_name(out->export, &out->names, out->path.sites[i]));
    return node;
}

static void make_node(struct folded *out, struct tool_stack *stack, size_t place)
{
    struct tool_frame *frame = &stack->frames[place];
    uint32_t path = out->export->has_paths ? tool_export_path_of(out->export, frame->site) : 0;
    if (path != 0) {
        frame->id = tool_stacks_child(&out->stacks, node_of_path(out, path),
                                      tool_export_same_name(out->export, &out->names, frame->site));
        return;
    }
    if (place >= DEPTH_MAX) {
        out->cut_count++;
        frame->id = node_of(stack, place);
        return;
    }
    frame->id = tool_stacks_child(&out->stacks, node_of(stack, place), label_of(frame));
}

/* Writes the tree out and begins a new one with what is open. */
static void spill(struct folded *out, struct tool_walk *walk)
{
    tool_stacks_spill(&out->stacks);
    if (out->stacks.failed) {
        out->export->status = TOOL_CANNOT;
        return;
    }
    uint64_t cut_count = out->cut_count;
    for (size_t i = 0; i < walk->stack_capacity; i++) {
        struct tool_stack *stack = walk->stacks[i];
        for (size_t j = 0; stack != NULL && j < stack->shown; j++)
            make_node(out, stack, j);
    }
    out->cut_count = cut_count;
    tool_stacks_settle(&out->stacks);
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct folded *out = context;
    struct tool_stack *stack = tool_walk_stack(walk);
    size_t place = (size_t)(frame - stack->frames);
    if (walk->stack == walk->active)
        account(out, stack, place, now->time_ns);
    if (tool_stacks_is_full(&out->stacks)) {
        stack->shown--; /* this frame has no node yet */
        spill(out, walk);
        stack->shown++;
    }
    make_node(out, stack, place);
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

static void take_skip(void *context, struct tool_walk *walk, uint64_t to_ns)
{
    struct folded *out = context;
    account(out, tool_walk_stack(walk), tool_walk_stack(walk)->shown, walk->now_ns);
    out->last_ns = to_ns;
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct folded *out = context;
    out->last_ns = walk->now_ns;
}

static void take_line(void *context, uint32_t depth, uint32_t label, uint64_t weight)
{
    struct lines *out = context;
    struct tool_output *file = &out->export->out;
    tool_grow((void **)&out->ends, &out->end_capacity, (size_t)depth + 1, sizeof(size_t));
    out->text.size_bytes = depth > 0 ? out->ends[depth - 1] : 0;
    tool_buffer_text(&out->text, depth > 0 ? ";" : "");
    if (label == TOOL_FOLDED_UNKNOWN) {
        tool_buffer_text(&out->text, "...");
    } else if (label & TOOL_FOLDED_SIGNAL) {
        tool_buffer_printf(&out->text, "signal %" PRIu32, label & ~TOOL_FOLDED_SIGNAL);
    } else {
        const struct tool_buffer *name = tool_export_site(out->export, label);
        tool_buffer_add(&out->text, name->data, name->size_bytes);
    }
    out->ends[depth] = out->text.size_bytes;
    if (weight > 0 && file->failed_errno == 0) {
        tool_output_bytes(file, out->text.data, out->text.size_bytes);
        char *at = tool_output_reserve(file, 24);
        *at++ = ' ';
        at = tool_put_decimal(at, weight);
        *at++ = '\n';
        tool_output_commit(file, at);
    }
}

int tool_export_fold(struct tool_export *export, tool_stacks_visitor visit, void *context)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .changed = take_change,
                                                   .skip = take_skip};
    struct folded out = {.export = export};
    tool_stacks_open(&out.stacks);
    tool_export_walk(export, &calls, &out);
    if (export->status != TOOL_CANNOT && !tool_stacks_visit(&out.stacks, visit, context))
        export->status = TOOL_CANNOT;
    if (out.cut_count > 0 && export->status != TOOL_CANNOT) {
        tool_message("'%s': %" PRIu64 " frames are deeper than %u: their time went to the frame "
                     "at that depth",
                     export->input->name, out.cut_count, DEPTH_MAX);
        export->status = TOOL_LOSS;
    }
    tool_stacks_close(&out.stacks);
    tool_export_path_close(&out.path);
    tool_names_close(&out.names);
    return export->status;
}

static int write_folded(struct tool_export *export)
{
    struct lines lines = {.export = export};
    export->write_site = write_site;
    int status = tool_export_fold(export, take_line, &lines);
    tool_buffer_close(&lines.text);
    free(lines.ends);
    return status;
}

const struct tool_export_format tool_export_folded = {.name = "folded",
                                                      .summary = "stacks with their own time",
                                                      .shape = TOOL_EXPORT_TEXT,
                                                      .run = write_folded};
