/* The tree, node by node, and what stands on a stack. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"

#define CHILDREN_USUAL 200u
#define CHILDREN_MOST  2000u
#define SHARES_MOST    3u    /* functions that are named of what is pruned */
#define LOOKS_EVERY    4096u /* children that are passed over before somebody is asked */

/* ---- names of nodes ---- */

void ttp_view_put_id(char text[TTP_VIEW_ID_BYTES], const ttape_node_id *id)
{
    size_t size = TTP_VIEW_ID_BYTES;
    switch (id->kind) {
    case TTAPE_NODE_TRACE: snprintf(text, size, "-"); break;
    case TTAPE_NODE_STREAM: snprintf(text, size, "s%" PRIu32, id->stream); break;
    case TTAPE_NODE_PART:
        snprintf(text, size, "s%" PRIu32 "p%" PRIu32, id->stream, id->partition);
        break;
    default:
        if (id->by == TTAPE_NODE_BY_EVENT)
            snprintf(text, size, "s%" PRIu32 "e%" PRIu64, id->stream, id->place);
        else
            snprintf(text, size, "s%" PRIu32 "p%" PRIu32 "%c%" PRIu64, id->stream, id->partition,
                     id->by == TTAPE_NODE_BY_START ? 'b' : 'f', id->place);
    }
}

void ttp_view_id(struct ttape_view *view, const char *key, const ttape_node_id *id)
{
    char text[TTP_VIEW_ID_BYTES];
    ttp_view_put_id(text, id);
    ttp_view_word(view, key, text);
}

/* A letter and digits behind it. */
static bool take_number(const char **at, const char *end, char letter, uint64_t *number)
{
    uint64_t value = 0;
    const char *digits = *at + 1;
    if (*at == end || **at != letter || digits == end)
        return false;
    const char *here = digits;
    for (; here < end && *here >= '0' && *here <= '9'; here++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*here - '0');
    }
    *at = here;
    *number = value;
    return here > digits;
}

static bool parse_id(const char *at, const char *end, ttape_node_id *id)
{
    uint64_t stream, partition;
    *id = (ttape_node_id){.kind = TTAPE_NODE_TRACE};
    if (end - at == 1 && *at == '-')
        return true;
    if (!take_number(&at, end, 's', &stream) || stream >= TTAPE_NONE)
        return false;
    id->stream = (uint32_t)stream;
    id->kind = TTAPE_NODE_STREAM;
    if (at == end)
        return true;
    id->kind = TTAPE_NODE_FRAME;
    id->by = TTAPE_NODE_BY_EVENT;
    if (take_number(&at, end, 'e', &id->place))
        return at == end;
    if (!take_number(&at, end, 'p', &partition) || partition >= TTAPE_NONE)
        return false;
    id->partition = (uint32_t)partition;
    id->by = at < end && *at == 'b' ? TTAPE_NODE_BY_START : TTAPE_NODE_BY_END;
    if (at < end)
        return take_number(&at, end, id->by == TTAPE_NODE_BY_START ? 'b' : 'f', &id->place) &&
               at == end;
    id->kind = TTAPE_NODE_PART;
    id->by = TTAPE_NODE_BY_NOTHING;
    return true;
}

ttape_status ttp_view_take_id(const struct ttp_view_question *question, const char *key,
                              ttape_node_id *id, ttape_error *err)
{
    char text[64];
    size_t length = ttp_view_take_text(question, key, text, sizeof text);
    return length > 0 && parse_id(text, text + length, id)
               ? TTAPE_OK
               : ttp_view_refuse(err, key, "names no node: s0, s0p3, s0e17, s0p3f1, s0p3b1 or -");
}

/* ---- nodes ---- */

static void put_pruned(struct ttape_view *view, const ttape_pruned *pruned)
{
    if (pruned->part_count == 0)
        return;
    ttp_view_begin(view, "pruned", '{');
    ttp_view_wide(view, "partitions", pruned->part_count);
    ttp_view_wide(view, "events", pruned->event_count);
    ttp_view_wide(view, "calls", pruned->call_count);
    ttp_view_bool(view, "calls_exact", pruned->calls_exact);
    ttp_view_signed(view, "time", pruned->time_ns);
    ttp_view_end(view, '}');
}

/* The functions that took most of a partition, over all threads. */
static void put_shares(struct ttape_view *view, uint32_t partition)
{
    const ttape_tree_share *shares;
    uint32_t count, largest[SHARES_MOST], found = 0;
    uint64_t all;
    if (ttape_tree_get_shares(view->tree, partition, &shares, &count, &all, NULL) != TTAPE_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = found < SHARES_MOST ? found++ : SHARES_MOST;
        for (; at > 0 && shares[largest[at - 1]].weight < shares[i].weight; at--)
            if (at < SHARES_MOST)
                largest[at] = largest[at - 1];
        if (at < SHARES_MOST)
            largest[at] = i;
    }
    ttp_view_begin(view, "mostly", '[');
    for (uint32_t i = 0; i < found; i++)
        ttp_view_number(view, NULL, shares[largest[i]].site);
    ttp_view_end(view, ']');
}

static void put_frame(struct ttape_view *view, const ttape_node *node)
{
    static const char *const ends[] = {"ended", "open", "hidden", "lost", "unseen", "late"};
    if (node->frame_kind == TTAPE_EVENT_SIGNAL_BEGIN)
        ttp_view_number(view, "signal", node->argument);
    else
        ttp_view_number(view, "site", node->site);
    if (node->frame_kind == TTAPE_EVENT_OPEN)
        ttp_view_bool(view, "was_open", true);
    ttp_view_number(view, "stack", node->stack);
    ttp_view_number(view, "level", node->level);
    ttp_view_word(view, "end_is", ends[(unsigned)node->end < 6 ? node->end : 0]);
    ttp_view_time(view, "enter", node->enter_ns);
    if (node->end_most_ns != node->end_ns)
        ttp_view_time(view, "end_most", node->end_most_ns);
}

void ttp_view_node(struct ttape_view *view, const char *key, const ttape_node *node)
{
    static const char *const kinds[] = {"trace", "thread", "pruned", "call"};
    bool is_frame = node->id.kind == TTAPE_NODE_FRAME;
    ttp_view_begin(view, key, '{');
    ttp_view_id(view, "id", &node->id);
    ttp_view_word(view, "kind",
                  is_frame && node->frame_kind == TTAPE_EVENT_SIGNAL_BEGIN ? "signal"
                                                                           : kinds[node->id.kind]);
    ttp_view_number(view, "stream", node->id.stream);
    if (is_frame)
        put_frame(view, node);
    ttp_view_time(view, "start", node->start_ns);
    ttp_view_time(view, "end", node->end_ns);
    ttp_view_signed(view, "time", node->time_ns);
    ttp_view_signed(view, "self", node->self_ns);
    ttp_view_bool(view, "self_exact", node->self_exact);
    ttp_view_signed(view, "rest", node->rest_ns);
    ttp_view_bool(view, "spanning", node->is_spanning);
    if (node->counts_exact) {
        ttp_view_wide(view, "events", node->event_count);
        ttp_view_wide(view, "calls", node->call_count);
    }
    put_pruned(view, &node->pruned);
    if (node->id.kind == TTAPE_NODE_PART)
        put_shares(view, node->id.partition);
    ttp_view_end(view, '}');
}

static ttape_status take_mode(const struct ttp_view_question *question, ttape_tree_mode *mode,
                              ttape_error *err)
{
    *mode = TTAPE_TREE_OPENED;
    if (ttp_view_is(question, "mode", "pruned"))
        *mode = TTAPE_TREE_PRUNED;
    else if (ttp_view_is(question, "mode", "full"))
        *mode = TTAPE_TREE_FULL;
    else if (ttp_view_has(question, "mode") && !ttp_view_is(question, "mode", "opened"))
        return ttp_view_refuse(err, "mode", "is 'pruned', 'opened' or 'full'");
    return TTAPE_OK;
}

ttape_status ttp_view_get_node(struct ttape_view *view, const struct ttp_view_question *question,
                               ttape_error *err)
{
    ttape_node_id id;
    ttape_node node;
    ttape_tree_mode mode;
    TTP_TRY(ttp_view_take_id(question, "id", &id, err));
    TTP_TRY(take_mode(question, &mode, err));
    TTP_TRY(ttape_tree_get_node(view->tree, &id, mode, &node, err));
    ttp_view_node(view, "node", &node);
    return TTAPE_OK;
}

/* ---- children ---- */

/* Writes those from `first` on; true: there are more. What cannot be read is passed over. */
static ttape_status put_children(struct ttape_view *view, ttape_tree_walk *walk, uint64_t first,
                                 uint32_t count, bool *has_more, ttape_error *err)
{
    ttape_node node;
    uint64_t seen = 0;
    while (true) {
        ttape_status status = ttape_tree_walk_next(walk, &node, err);
        if (status == TTAPE_END)
            return TTAPE_OK;
        if (status >= TTAPE_E_TRUNCATED) {
            view->damage_count++;
            continue;
        }
        TTP_TRY(status);
        *has_more = seen >= first + count || (seen % LOOKS_EVERY == 0 && ttp_view_stops(view));
        if (*has_more)
            return TTAPE_OK;
        if (seen++ >= first)
            ttp_view_node(view, NULL, &node);
    }
}

ttape_status ttp_view_children(struct ttape_view *view, const struct ttp_view_question *question,
                               ttape_error *err)
{
    ttape_node_id id;
    ttape_tree_mode mode;
    ttape_tree_walk *walk;
    uint64_t first = 0;
    uint32_t count = CHILDREN_USUAL;
    bool has_more = false;
    TTP_TRY(ttp_view_take_id(question, "id", &id, err));
    TTP_TRY(take_mode(question, &mode, err));
    TTP_TRY(ttp_view_take_wide(question, "first", &first, err));
    TTP_TRY(ttp_view_take_number(question, "count", CHILDREN_MOST, &count, err));
    if (first > UINT64_MAX - count)
        return ttp_view_refuse(err, "first", "is too large");
    TTP_TRY(ttape_tree_walk_open(&walk, view->tree, &id, mode, err));
    ttp_view_id(view, "id", &id);
    ttp_view_begin(view, "children", '[');
    ttape_status status = put_children(view, walk, first, count, &has_more, err);
    ttape_tree_walk_close(walk);
    ttp_view_end(view, ']');
    ttp_view_bool(view, "more", has_more);
    return status;
}
