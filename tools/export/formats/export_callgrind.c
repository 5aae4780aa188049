/* The callgrind format, version 1: own time of each function, and for each pair of caller and
 * callee its calls and the time inside them.
 *
 * Recursion is kept apart as callgrind does by default (--separate-recs=2): a function that is
 * entered while it is open already on its stack counts as another function, NAME'2. So the time
 * inside NAME is that of its outermost calls, each moment once, while between NAME'2 and itself the
 * time of each call counts, as in callgrind's own files.
 *
 * What no function called is called by (root): readers take the time inside a function from the
 * calls of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool_map.h"
#include "tools/export/export_paths.h"

#define ROOT        0u               /* the function that calls the outermost ones */
#define ROOT_SIGNAL UINT32_MAX       /* tells it from a signal */
#define CUT_SIGNAL  (UINT32_MAX - 1) /* frames that nobody could see */

/* A function, or NAME'2 of it. */
struct function {
    uint32_t site, signal; /* site TTAPE_NONE: the handler of a signal */
    bool is_inner;
    uint64_t self_ns;
};

struct call_edge {
    uint32_t caller, callee; /* functions */
    uint64_t count;
    uint64_t total_ns;
};

struct callgrind {
    struct tool_export *export;
    uint64_t last_ns;
    uint32_t *function_of; /* 2 * site + is_inner: index + 1 */
    uint32_t *open_count;  /* by site, on the active stack */
    struct function *functions;
    size_t function_count, function_capacity;
    struct call_edge *edges;
    size_t edge_count, edge_capacity;
    struct ttp_key_map edge_of,
        signal_of;           /* indices by the ends of edges, and by the numbers of signals */
    struct tool_names names; /* of frames of paths */
    struct tool_export_path path;
    uint32_t *seen_in; /* by site: the number of the path that it was last seen in */
    uint32_t path_turn;
    /* of the output */
    struct tool_names files; /* ids, from 1 */
    uint32_t file_count;
    bool *has_module, *has_function; /* whether its name was written */
};

/* ---- counting ---- */

static uint32_t add_function(struct callgrind *grind, uint32_t site, uint32_t signal, bool is_inner)
{
    tool_grow((void **)&grind->functions, &grind->function_capacity, grind->function_count + 1,
              sizeof(struct function));
    grind->functions[grind->function_count] = (struct function){site, signal, is_inner, 0};
    return (uint32_t)grind->function_count++;
}

/* Whether a frame's function is open below it, on its own stack. */
static bool is_recursive(const struct callgrind *grind, const struct tool_walk *walk,
                         const struct tool_frame *frame)
{
    if (walk->stack == walk->active)
        return grind->open_count[frame->site] > 0;
    for (const struct tool_frame *at = frame; at-- > tool_walk_stack(walk)->frames;)
        if (at->site == frame->site)
            return true;
    return false;
}

static uint32_t function_at(struct callgrind *grind, uint32_t site, bool is_inner)
{
    uint32_t *known = &grind->function_of[2 * (size_t)site + is_inner];
    if (*known == 0)
        *known = add_function(grind, site, 0, is_inner) + 1;
    return *known - 1;
}

static uint32_t signal_at(struct callgrind *grind, uint32_t signal)
{
    uint32_t *known = tool_map_at(&grind->signal_of, signal, TTAPE_NONE);
    if (*known == TTAPE_NONE)
        *known = add_function(grind, TTAPE_NONE, signal, false);
    return *known;
}

static uint32_t function_of(struct callgrind *grind, const struct tool_walk *walk,
                            const struct tool_frame *frame)
{
    return frame->site != TTAPE_NONE
               ? function_at(grind, frame->site, is_recursive(grind, walk, frame))
               : signal_at(grind, frame->signal);
}

static struct call_edge *edge_of(struct callgrind *grind, uint32_t caller, uint32_t callee)
{
    uint32_t *edge = tool_map_at(&grind->edge_of, (uint64_t)caller << 32 | callee, TTAPE_NONE);
    if (*edge == TTAPE_NONE) {
        *edge = (uint32_t)grind->edge_count;
        tool_grow((void **)&grind->edges, &grind->edge_capacity, grind->edge_count + 1,
                  sizeof(struct call_edge));
        grind->edges[grind->edge_count++] = (struct call_edge){.caller = caller, .callee = callee};
    }
    return &grind->edges[*edge];
}

/* The innermost frame of the path to an outermost call, which called it. Frames of paths have the
 * time of calls below them, and no calls: nobody saw theirs. */
static uint32_t add_path(struct callgrind *grind, uint32_t path, uint64_t total_ns)
{
    uint32_t caller = ROOT;
    grind->path_turn++;
    tool_export_path_read(grind->export, path, &grind->path);
    for (uint32_t i = 0; i < grind->path.count; i++) {
        uint32_t callee, site = grind->path.sites[i];
        site = tool_export_same_name(grind->export, &grind->names, site);
        if (site == TTAPE_NONE) {
            callee = signal_at(grind, CUT_SIGNAL);
        } else {
            callee = function_at(grind, site, grind->seen_in[site] == grind->path_turn);
            grind->seen_in[site] = grind->path_turn;
        }
        edge_of(grind, caller, callee)->total_ns += total_ns;
        caller = callee;
    }
    return caller;
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct callgrind *grind = context;
    struct tool_stack *stack = tool_walk_stack(walk);
    if (walk->stack == walk->active)
        tool_stack_account(stack, (size_t)(frame - stack->frames), &grind->last_ns, now->time_ns);
    frame->id = function_of(grind, walk, frame);
    if (frame->site != TTAPE_NONE && walk->stack == walk->active)
        grind->open_count[frame->site]++;
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    struct callgrind *grind = context;
    struct tool_stack *stack = tool_walk_stack(walk);
    (void)ending;
    if (walk->stack == walk->active) {
        tool_stack_account(stack, stack->shown, &grind->last_ns, now->time_ns);
        if (frame->site != TTAPE_NONE)
            grind->open_count[frame->site]--;
    }
    uint64_t total_ns = frame->self_ns + frame->below_ns;
    grind->functions[frame->id].self_ns += frame->self_ns;
    struct tool_frame *caller = frame > stack->frames ? frame - 1 : NULL;
    uint32_t path = caller == NULL && grind->export->has_paths
                        ? tool_export_path_of(grind->export, frame->site)
                        : 0;
    uint32_t above = caller != NULL ? (uint32_t)caller->id : add_path(grind, path, total_ns);
    struct call_edge *edge = edge_of(grind, above, (uint32_t)frame->id);
    edge->count++;
    edge->total_ns += total_ns;
    if (caller != NULL)
        caller->below_ns += total_ns;
}

/* Frames count as open on their own stack only. */
static void count_open(struct callgrind *grind, const struct tool_stack *stack, uint32_t step)
{
    for (size_t i = 0; i < stack->shown; i++)
        if (stack->frames[i].site != TTAPE_NONE)
            grind->open_count[stack->frames[i].site] += step;
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    struct callgrind *grind = context;
    tool_stack_account(walk->stacks[from], walk->stacks[from]->shown, &grind->last_ns,
                       now->time_ns);
    count_open(grind, walk->stacks[from], UINT32_MAX);
    count_open(grind, tool_walk_stack(walk), 1);
}

static void take_skip(void *context, struct tool_walk *walk, uint64_t to_ns)
{
    struct callgrind *grind = context;
    tool_stack_account(tool_walk_stack(walk), tool_walk_stack(walk)->shown, &grind->last_ns,
                       walk->now_ns);
    grind->last_ns = to_ns;
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct callgrind *grind = context;
    grind->last_ns = walk->now_ns;
}

/* ---- writing ---- */

/* The name as it stands behind fn=(ID). */
static void write_site(const struct tool_export *export, struct tool_buffer *buffer,
                       const ttape_site *site)
{
    char room[TOOL_EXPORT_PLACE_BYTES];
    tool_buffer_name(buffer, TTP_ESCAPE_TERMINAL, tool_export_place(export, site, room));
}

static int compare_edges(const void *a, const void *b)
{
    const struct call_edge *one = a, *two = b;
    if (one->caller != two->caller)
        return one->caller < two->caller ? -1 : 1;
    return one->callee < two->callee ? -1 : one->callee > two->callee;
}

/* Adds "PREFIX=(ID)", with the name where the file has not got it yet. */
static void put_file(struct callgrind *grind, struct tool_buffer *text, const char *prefix,
                     ttape_string file)
{
    struct tool_buffer name = {0};
    bool is_new = false;
    tool_buffer_name(&name, TTP_ESCAPE_TERMINAL, file);
    tool_buffer_text(&name, file.size_bytes == 0 ? "???" : "");
    uint32_t *id = tool_names_find(&grind->files, name.data, name.size_bytes, &is_new);
    *id = is_new ? ++grind->file_count : *id;
    tool_buffer_printf(text, "%s=(%" PRIu32 ")%s", prefix, *id, is_new ? " " : "");
    tool_buffer_text(text, is_new ? name.data : "");
    tool_buffer_close(&name);
}

/* ob=, fl=, fn= (or with the prefix "c": cob=, cfi=, cfn=) of a function; returns its line. */
static uint32_t put_function(struct callgrind *grind, uint32_t index, const char *prefix)
{
    const struct function *what = &grind->functions[index];
    struct tool_output *out = &grind->export->out;
    ttape_site site = {.module = TTAPE_NONE};
    struct tool_buffer text = {0};
    if (what->site != TTAPE_NONE)
        (void)ttape_reader_get_site(grind->export->reader, what->site, &site);
    if (site.module != TTAPE_NONE) {
        tool_buffer_printf(&text, "%sob=(%" PRIu32 ")", prefix, site.module + 2);
        if (!grind->has_module[site.module]) {
            grind->has_module[site.module] = true;
            ttape_string path = tool_export_module(grind->export, &site);
            tool_buffer_text(&text, path.size_bytes > 0 ? " " : " ???");
            tool_buffer_name(&text, TTP_ESCAPE_TERMINAL, path);
        }
    } else {
        tool_buffer_printf(&text, "%sob=(1) ???", prefix);
    }
    tool_buffer_text(&text, "\n");
    put_file(grind, &text, *prefix != '\0' ? "cfi" : "fl", site.file);
    tool_buffer_printf(&text, "\n%sfn=(%" PRIu32 ")", prefix, index + 1);
    if (!grind->has_function[index]) {
        grind->has_function[index] = true;
        tool_buffer_text(&text, " ");
        if (what->site == TTAPE_NONE && what->signal == ROOT_SIGNAL)
            tool_buffer_text(&text, "(root)");
        else if (what->site == TTAPE_NONE && what->signal == CUT_SIGNAL)
            tool_buffer_text(&text, "...");
        else if (what->site == TTAPE_NONE)
            tool_buffer_printf(&text, "signal %" PRIu32, what->signal);
        else
            tool_buffer_text(&text, tool_export_site(grind->export, what->site)->data);
        tool_buffer_text(&text, what->is_inner ? "'2" : "");
    }
    tool_buffer_text(&text, "\n");
    tool_output_bytes(out, text.data, text.size_bytes);
    tool_buffer_close(&text);
    return site.line;
}

static void put_head(struct callgrind *grind)
{
    const struct tool_export *export = grind->export;
    struct tool_output *out = &grind->export->out;
    ttape_metadata_entry entry;
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < grind->function_count; i++)
        sum_ns += grind->functions[i].self_ns;
    tool_output_text(out, "# callgrind format\nversion: 1\n");
    tool_output_printf(out, "creator: tracetape %s\n", ttape_version_string());
    for (uint32_t i = 0; ttape_reader_get_metadata(export->reader, i, &entry) == TTAPE_OK; i++) {
        if (entry.type == TTAPE_METADATA_TEXT && entry.scope == 0 && entry.key.size_bytes == 7 &&
            memcmp(entry.key.data, "command", 7) == 0) {
            tool_output_text(out, "cmd: ");
            tool_output_escaped(out, TTP_ESCAPE_TERMINAL, entry.text);
            tool_output_text(out, "\n");
        }
    }
    tool_output_printf(out, "positions: line\nevent: %s\nevents: %s\nsummary: %" PRIu64 "\n\n",
                       export->has_times ? "ns : Nanoseconds" : "Events : Events",
                       export->has_times ? "ns" : "Events", sum_ns);
}

static void put_body(struct callgrind *grind)
{
    struct tool_output *out = &grind->export->out;
    size_t edge = 0;
    if (grind->edge_count > 0)
        qsort(grind->edges, grind->edge_count, sizeof(struct call_edge), compare_edges);
    for (uint32_t i = 0; i < grind->function_count && out->failed_errno == 0; i++) {
        uint32_t line = put_function(grind, i, "");
        tool_output_printf(out, "%" PRIu32 " %" PRIu64 "\n", line, grind->functions[i].self_ns);
        for (; edge < grind->edge_count && grind->edges[edge].caller == i; edge++) {
            const struct call_edge *call = &grind->edges[edge];
            uint32_t callee_line = put_function(grind, call->callee, "c");
            tool_output_printf(out, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 "\n",
                               call->count, callee_line, line, call->total_ns);
        }
        tool_output_text(out, "\n");
    }
}

static int write_callgrind(struct tool_export *export)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .changed = take_change,
                                                   .skip = take_skip};
    size_t sites = export->info.site_count;
    struct callgrind grind = {.export = export};
    export->write_site = write_site;
    grind.function_of = tool_allocate(2 * sites, sizeof(uint32_t));
    grind.open_count = tool_allocate(sites, sizeof(uint32_t));
    grind.seen_in = tool_allocate(sites, sizeof(uint32_t));
    (void)add_function(&grind, TTAPE_NONE, ROOT_SIGNAL, false);
    tool_export_walk(export, &calls, &grind);
    if (export->status != TOOL_CANNOT) {
        grind.has_module = tool_allocate(export->info.module_count, sizeof(bool));
        grind.has_function = tool_allocate(grind.function_count, sizeof(bool));
        put_head(&grind);
        put_body(&grind);
    }
    tool_names_close(&grind.files);
    free(grind.has_module);
    free(grind.has_function);
    free(grind.function_of);
    free(grind.open_count);
    free(grind.seen_in);
    tool_export_path_close(&grind.path);
    tool_names_close(&grind.names);
    free(grind.functions);
    free(grind.edges);
    tool_map_close(&grind.edge_of);
    tool_map_close(&grind.signal_of);
    return export->status;
}

const struct tool_export_format tool_export_callgrind = {.name = "callgrind",
                                                         .summary = "for callgrind_annotate",
                                                         .shape = TOOL_EXPORT_TEXT,
                                                         .run = write_callgrind};
