/* The handle, and finding nodes by name and by time. */
#include <string.h>

#include "answers/tree/tree_local.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/cursor/cursor.h"

#define CACHE_BYTES_DEFAULT (32ull << 20)

/* ---- the handle ---- */

static ttape_status take_options(ttape_tree_options *out, const ttape_tree_options *options,
                                 const ttape_reader *r, ttape_error *err)
{
    *out = (ttape_tree_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "tree", err));
    if (out->cache_bytes == 0)
        out->cache_bytes = CACHE_BYTES_DEFAULT;
    if (out->jobs == 0)
        out->jobs = r->jobs;
    return TTAPE_OK;
}

ttape_status ttape_tree_open(ttape_tree **out, ttape_reader *reader,
                             const ttape_tree_options *options, ttape_error *err)
{
    ttape_tree_options full;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for a tree");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&full, options, reader, err));
    /* The reader needs as much again for what outlines are made of. */
    ttp_memory_init(&memory, &reader->memory.allocator, reader->memory.limit_bytes / 2);
    struct ttape_tree *tree = ttp_memory_take(&memory, 1, sizeof *tree, err);
    if (tree == NULL)
        return memory.status;
    *tree = (struct ttape_tree){.reader = reader,
                                .lease = ttp_lease_of(reader),
                                .memory = memory,
                                .cache_bytes = full.cache_bytes,
                                .jobs = full.jobs};
    tree->lease.jobs = tree->jobs;
    ttape_status status = ttp_outlines_open(tree, err);
    if (status != TTAPE_OK) {
        ttape_tree_close(tree);
        return status;
    }
    *out = tree;
    return TTAPE_OK;
}

void ttape_tree_close(ttape_tree *tree)
{
    if (tree == NULL)
        return;
    while (tree->walks != NULL)
        ttape_tree_walk_close(tree->walks);
    if (tree->outlines != NULL)
        ttp_outlines_close(tree);
    ttp_scan_forget(tree);
    struct ttp_memory memory = tree->memory;
    ttp_memory_give(&memory, tree, 1, sizeof *tree);
}

uint64_t ttape_tree_get_work(const ttape_tree *tree) { return tree != NULL ? tree->work : 0; }

/* ---- by name ---- */

static ttape_status get_frame(ttape_tree *tree, const ttape_node_id *id, ttape_tree_mode mode,
                              ttape_node *out, ttape_error *err)
{
    struct ttp_span span;
    bool is_span = true;
    if (id->by == TTAPE_NODE_BY_EVENT)
        TTP_TRY(ttp_tree_event_node(tree, id->stream, id->place, out, &is_span, &span, err));
    else
        TTP_TRY(ttp_tree_span(tree, id, &span, err));
    if (!is_span)
        return TTAPE_OK;
    TTP_TRY(ttp_tree_fill_span(tree, &span, mode, err));
    *out = span.node;
    return TTAPE_OK;
}

static ttape_status get_trace(ttape_tree *tree, ttape_tree_mode mode, ttape_node *out,
                              ttape_error *err)
{
    ttape_node stream;
    TTP_TRY(ttp_tree_trace_node(tree, out, err));
    if (mode != TTAPE_TREE_FULL)
        return TTAPE_OK;
    for (uint32_t i = 0; i < tree->reader->indexed_streams; i++) {
        if (ttp_tree_segment_count(tree, i) == 0)
            continue;
        TTP_TRY(ttp_tree_stream_node(tree, i, &stream, err));
        TTP_TRY(ttp_tree_fill_stream(tree, &stream, err));
        out->event_count += stream.event_count;
        out->call_count += stream.call_count;
    }
    out->counts_exact = true;
    out->pruned = (ttape_pruned){.calls_exact = true};
    return TTAPE_OK;
}

ttape_status ttp_tree_check_id(const ttape_tree *tree, const ttape_node_id *id, ttape_error *err)
{
    if (id->kind != TTAPE_NODE_TRACE && ttp_tree_segment_count(tree, id->stream) == 0)
        return ttp_no_stream(err, id->stream);
    bool by = id->by >= TTAPE_NODE_BY_EVENT && id->by <= TTAPE_NODE_BY_START;
    if (id->kind == TTAPE_NODE_FRAME && !by)
        return ttp_refuse(err, "frame has no name");
    return TTAPE_OK;
}

static ttape_status get_node_leased(ttape_tree *tree, const ttape_node_id *id, ttape_tree_mode mode,
                                    ttape_node *out, ttape_error *err)
{
    if (tree == NULL || id == NULL || out == NULL || mode >= TTAPE_TREE_MODE_COUNT)
        return ttp_refuse(err, "no such node or mode");
    TTP_TRY(ttp_tree_check_id(tree, id, err));
    switch (id->kind) {
    case TTAPE_NODE_TRACE: return get_trace(tree, mode, out, err);
    case TTAPE_NODE_STREAM:
        TTP_TRY(ttp_tree_stream_node(tree, id->stream, out, err));
        return mode == TTAPE_TREE_FULL ? ttp_tree_fill_stream(tree, out, err) : TTAPE_OK;
    case TTAPE_NODE_PART: {
        uint32_t ordinal = ttp_tree_ordinal(tree, id->stream, id->partition);
        if (ordinal == TTAPE_NONE)
            return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                            "stream '%u' is not in partition '%u'", id->stream, id->partition);
        return ttp_tree_part_node(tree, id->stream, ordinal, out, err);
    }
    case TTAPE_NODE_FRAME: return get_frame(tree, id, mode, out, err);
    default: return ttp_refuse(err, "no such kind of node");
    }
}

ttape_status ttape_tree_get_node(ttape_tree *tree, const ttape_node_id *id, ttape_tree_mode mode,
                                 ttape_node *out, ttape_error *err)
{
    if (tree == NULL)
        return ttp_refuse(err, "no such node or mode");
    TTP_TRY(ttp_lease_begin(&tree->lease, err));
    ttape_status status = get_node_leased(tree, id, mode, out, err);
    ttp_lease_end(&tree->lease);
    return status;
}

/* ---- by time ---- */

/* Ids are found from the top of the stack down. */
struct path {
    ttape_node_id *ids;
    size_t capacity, height, count; /* height: of the stack; count: found so far */
};

static void put_node(struct path *path, const ttape_node_id *id)
{
    size_t at = path->height - ++path->count;
    if (at < path->capacity)
        path->ids[at] = *id;
}

/* The segment in which a frame that is open at a segment's start was first open at an edge. */
static ttape_status find_birth(ttape_tree *tree, uint32_t stream, uint32_t ordinal, uint32_t stack,
                               uint32_t level, ttape_node_id *id, ttape_error *err)
{
    const struct ttp_outline *o;
    const struct ttp_tree_segment *g;
    for (bool goes_on = true; goes_on; ordinal--) {
        TTP_TRY(ttp_tree_bare_outline(tree, stream, ordinal, &o, &g, err));
        uint32_t number = g == NULL ? TTAPE_NONE : ttp_tree_start_at(o, g, stack, level);
        *id = (ttape_node_id){TTAPE_NODE_FRAME, TTAPE_NODE_BY_START, stream, o->partition, number};
        TTP_TRY(ttp_tree_continues(tree, stream, ordinal, &goes_on, err));
        if (!goes_on || number == TTAPE_NONE)
            return TTAPE_OK;
        TTP_TRY(ttp_tree_bare_outline(tree, stream, ordinal - 1, &o, &g, err));
        number = g == NULL ? TTAPE_NONE : ttp_tree_end_at(o, g, stack, level);
        *id = (ttape_node_id){TTAPE_NODE_FRAME, TTAPE_NODE_BY_END, stream, o->partition, number};
        if (number == TTAPE_NONE || level >= ttp_tree_stay_height(o, g, stack))
            return TTAPE_OK;
    }
    return TTAPE_OK;
}

/* Frames that were entered in the segment, and those that were open at its start and still are. */
static ttape_status find_path(ttape_tree *tree, uint32_t stream, uint32_t ordinal, uint32_t event,
                              struct path *path, ttape_error *err)
{
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    uint32_t segment = ttp_tree_segment_number(tree, stream, ordinal), stack, found;
    struct ttp_loaded *p;
    TTP_TRY(ttp_scan_stack(tree, seg->partition, segment, event, &stack, err));
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, seg->partition, TTP_STAGE_ORDER, &p, err));
    struct ttp_scan_back back = {
        .segment = segment, .event = event, .stack = stack, .current = stack};
    ttape_node_id id = {.kind = TTAPE_NODE_FRAME,
                        .by = TTAPE_NODE_BY_EVENT,
                        .stream = stream,
                        .partition = seg->partition};
    while (path->count < path->height && (found = ttp_scan_back(&back, p)) != TTAPE_NONE) {
        id.place = seg->first_event + (found - p->segment_start[segment]);
        put_node(path, &id);
    }
    while (path->count < path->height) {
        uint32_t level = (uint32_t)(path->height - path->count) - 1;
        TTP_TRY(find_birth(tree, stream, ordinal, stack, level, &id, err));
        put_node(path, &id);
    }
    return TTAPE_OK;
}

/* The position behind the last event that is not later than the time. */
static ttape_status seek(ttape_tree *tree, uint32_t stream, uint64_t time_ns, uint32_t *ordinal,
                         uint32_t *position, ttape_error *err)
{
    ttape_cursor *cursor;
    TTP_TRY(ttp_cursor_open_lent(&cursor, tree->lease.decoder, stream, err));
    ttape_status status = TTAPE_OK;
    if (time_ns != UINT64_MAX)
        status = ttape_cursor_seek_time(cursor, time_ns + 1, err);
    bool at_end = time_ns == UINT64_MAX || cursor->ordinal >= cursor->segment_count;
    *ordinal = at_end ? cursor->segment_count - 1 : cursor->ordinal;
    *position = at_end ? ttp_tree_entry(tree, stream, *ordinal)->event_count : cursor->position;
    ttape_cursor_close(cursor);
    return status;
}

static ttape_status find_time_leased(ttape_tree *tree, uint32_t stream, uint64_t time_ns,
                                     ttape_node_id *ids, size_t capacity, size_t *count,
                                     ttape_error *err)
{
    struct ttp_loaded *p;
    uint32_t ordinal, position;
    *count = 0;
    if (ttp_tree_segment_count(tree, stream) == 0)
        return ttp_no_stream(err, stream);
    TTP_TRY(seek(tree, stream, time_ns, &ordinal, &position, err));
    const struct ttp_segment_entry *seg = ttp_tree_entry(tree, stream, ordinal);
    uint32_t segment = ttp_tree_segment_number(tree, stream, ordinal);
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, seg->partition, TTP_STAGE_LIGHT, &p, err));
    uint32_t start = p->segment_start[segment], event = start + position;
    uint32_t block = event / TTP_CHECKPOINT_EVENTS * TTP_CHECKPOINT_EVENTS;
    /* The segment's start is noted when its first event is checked. */
    const struct ttp_range range = {block > start ? block : start, event,
                                    event > start ? event : start + 1, false};
    TTP_TRY(ttp_loaded_reach(tree->lease.decoder, seg->partition, &range, &p, err));
    struct path path = {.ids = ids, .capacity = capacity};
    path.height = ttp_walker_at(p, segment, event).frames;
    *count = path.height;
    return find_path(tree, stream, ordinal, event, &path, err);
}

ttape_status ttape_tree_find_time(ttape_tree *tree, uint32_t stream, uint64_t time_ns,
                                  ttape_node_id *ids, size_t capacity, size_t *count,
                                  ttape_error *err)
{
    TTP_TRY(ttp_lease_begin(&tree->lease, err));
    ttape_status status = find_time_leased(tree, stream, time_ns, ids, capacity, count, err);
    ttp_lease_end(&tree->lease);
    return status;
}
