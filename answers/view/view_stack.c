/* What is on a stack: the calls that a thread has open at a moment, and those below one call. */
#include "answers/view/view_internal.h"
#include "format/base/fail.h"

static ttape_status put_stack(struct ttape_view *view, const ttape_node_id *ids, size_t count,
                              size_t wanted, ttape_error *err)
{
    ttape_node node;
    for (size_t i = 0; i < count; i++) {
        if (i != wanted) {
            ttp_view_id(view, NULL, &ids[i]);
            continue;
        }
        TTP_TRY(ttape_tree_get_node(view->tree, &ids[i], TTAPE_TREE_OPENED, &node, err));
        ttp_view_node(view, NULL, &node);
    }
    return TTAPE_OK;
}

/* The one at `depth` (or the innermost, where there are fewer) as a node, the others by name. */
ttape_status ttp_view_stack(struct ttape_view *view, const struct ttp_view_question *question,
                            ttape_error *err)
{
    uint32_t stream, depth = TTAPE_NONE;
    uint64_t time_ns = view->info.time_first_ns;
    size_t count = 0;
    TTP_TRY(ttp_view_take_stream(view, question, &stream, err));
    TTP_TRY(ttp_view_take_time(view, question, "time", &time_ns, err));
    TTP_TRY(ttp_view_take_number(question, "depth", TTAPE_NONE, &depth, err));
    ttape_node_id *ids = ttp_memory_take(&view->memory, TTP_VIEW_FRAMES, sizeof *ids, err);
    if (ids == NULL)
        return view->memory.status;
    ttape_status status =
        ttape_tree_find_time(view->tree, stream, time_ns, ids, TTP_VIEW_FRAMES, &count, err);
    if (status == TTAPE_OK) {
        size_t kept = count < TTP_VIEW_FRAMES ? count : TTP_VIEW_FRAMES;
        ttp_view_wide(view, "depth", count);
        ttp_view_begin(view, "stack", '[');
        status = put_stack(view, ids, kept, depth < kept ? depth : kept - 1, err);
        ttp_view_end(view, ']');
    }
    ttp_memory_give(&view->memory, ids, TTP_VIEW_FRAMES, sizeof *ids);
    return status;
}

/* ---- the calls below one ---- */

static void put_frames(struct ttape_view *view, const ttape_edge *edge, uint32_t stack,
                       uint32_t most)
{
    uint32_t seen = 0;
    ttp_view_begin(view, "path", '[');
    for (uint32_t i = 0; i < edge->frame_count && seen < most; i++) {
        const ttape_open_frame *frame = &edge->frames[i];
        if (frame->stack != stack)
            continue;
        seen++;
        ttp_view_begin(view, NULL, '{');
        if (frame->kind == TTAPE_EVENT_SIGNAL_BEGIN)
            ttp_view_number(view, "signal", frame->argument);
        else
            ttp_view_number(view, "site", frame->site);
        ttp_view_time(view, "enter", frame->enter_time_ns);
        ttp_view_end(view, '}');
    }
    ttp_view_end(view, ']');
}

static ttape_status path_of_event(struct ttape_view *view, const ttape_node_id *id,
                                  ttape_cursor *cursor, ttape_error *err)
{
    ttape_edge edge;
    TTP_TRY(ttape_cursor_seek_event(cursor, id->place, err));
    TTP_TRY(ttape_cursor_get_open_frames(cursor, &edge, err));
    put_frames(view, &edge, edge.stack, edge.frame_count);
    return TTAPE_OK;
}

/* A spanning frame is named by its place at an edge of a segment; those before it are there. */
static ttape_status path_of_edge(struct ttape_view *view, const ttape_node_id *id, ttape_error *err)
{
    ttape_partition_info partition;
    ttape_segment_info segment;
    TTP_TRY(ttape_reader_get_partition(view->reader, id->partition, &partition));
    for (uint32_t i = 0; i < partition.segment_count; i++) {
        TTP_TRY(ttape_reader_get_segment(view->reader, id->partition, i, &segment, err));
        if (segment.stream != id->stream)
            continue;
        ttape_edge *edge = id->by == TTAPE_NODE_BY_START ? &segment.start : &segment.end;
        if (id->place >= edge->frame_count)
            break;
        uint32_t stack = edge->frames[id->place].stack;
        edge->frame_count = (uint32_t)id->place;
        put_frames(view, edge, stack, edge->frame_count);
        return TTAPE_OK;
    }
    return ttp_view_refuse(err, "id", "names no node that is there");
}

ttape_status ttp_view_path(struct ttape_view *view, const struct ttp_view_question *question,
                           ttape_error *err)
{
    ttape_node_id id;
    ttape_cursor *cursor;
    TTP_TRY(ttp_view_take_id(question, "id", &id, err));
    if (id.kind != TTAPE_NODE_FRAME)
        return ttp_view_refuse(err, "id", "names no call");
    if (id.by != TTAPE_NODE_BY_EVENT)
        return path_of_edge(view, &id, err);
    TTP_TRY(ttape_cursor_open(&cursor, view->reader, id.stream, err));
    ttape_status status = path_of_event(view, &id, cursor, err);
    ttape_cursor_close(cursor);
    return status;
}
