/* What --open and --find name. A path goes down by function names; whether a part can hold the next
 * one its partition's summary tells, so that few have to be decoded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/longest.h>

#include "tools/calls/stream_choice.h"
#include "tools/command/tool.h"
#include "tools/tree/tree_view.h"

#define PATH_MOST 4096u /* frames that are open at a time */

/* ---- names of nodes ---- */

static char *put_number(char *at, char letter, uint64_t number)
{
    *at++ = letter;
    return tool_put_decimal(at, number);
}

size_t tool_put_node(char *at, const ttape_node_id *id)
{
    char *end = at;
    if (id->kind == TTAPE_NODE_TRACE) {
        *at = '-';
        return 1;
    }
    end = put_number(end, 's', id->stream);
    if (id->kind == TTAPE_NODE_STREAM)
        return (size_t)(end - at);
    if (id->kind == TTAPE_NODE_FRAME && id->by == TTAPE_NODE_BY_EVENT)
        return (size_t)(put_number(end, 'e', id->place) - at);
    end = put_number(end, 'p', id->partition);
    if (id->kind == TTAPE_NODE_FRAME)
        end = put_number(end, id->by == TTAPE_NODE_BY_START ? 'b' : 'f', id->place);
    return (size_t)(end - at);
}

/* ---- building what was found ---- */

static void add_node(struct tool_tree *view, const ttape_node *node, bool has_min)
{
    if (!has_min)
        view->min_ns = tool_tree_usual_min(node->time_ns);
    tool_tree_build_node(view, node, true, &view->items, &view->item_count, &view->item_capacity);
}

static int open_node(struct tool_tree *view, const ttape_node_id *id, bool has_min)
{
    ttape_error err = {0};
    ttape_node node;
    if (ttape_tree_get_node(view->tree, id, view->full ? TTAPE_TREE_FULL : TTAPE_TREE_OPENED, &node,
                            &err) != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    add_node(view, &node, has_min);
    return view->status;
}

/* ---- by time ---- */

/* A list of items that the next one goes to. */
struct place {
    struct tool_item **list;
    size_t *count, *capacity;
};

/* A frame that is only on the way: its name, and the list below it. */
static struct place put_shell(struct place at, const ttape_node_id *id,
                              const ttape_open_frame *frame)
{
    struct tool_item *item = tool_item_add(at.list, at.count, at.capacity);
    item->is_shell = true;
    item->node = (ttape_node){.id = *id, .site = TTAPE_NONE};
    if (frame != NULL) {
        item->node.frame_kind = frame->kind;
        item->node.site = frame->site;
        item->node.argument = frame->argument;
        item->node.stack = frame->stack;
        item->node.enter_ns = item->node.start_ns = frame->enter_time_ns;
    }
    return (struct place){&item->children, &item->child_count, &item->child_capacity};
}

/* The frames that are open then, one below the other; the innermost is opened. */
static bool open_path(struct tool_tree *view, const ttape_node_id *ids, size_t count,
                      const ttape_edge *edge, bool has_min)
{
    ttape_error err = {0};
    ttape_node node;
    const ttape_node_id stream = {.kind = TTAPE_NODE_STREAM, .stream = ids[0].stream};
    struct place at = {&view->items, &view->item_count, &view->item_capacity};
    at = put_shell(at, &stream, NULL);
    for (size_t i = 0, frame = 0; i + 1 < count; i++, frame++) {
        while (frame < edge->frame_count && edge->frames[frame].stack != edge->stack)
            frame++;
        at = put_shell(at, &ids[i], frame < edge->frame_count ? &edge->frames[frame] : NULL);
    }
    if (ttape_tree_get_node(view->tree, &ids[count - 1],
                            view->full ? TTAPE_TREE_FULL : TTAPE_TREE_OPENED, &node,
                            &err) != TTAPE_OK)
        return tool_tree_go_on(view, &err);
    if (!has_min)
        view->min_ns = tool_tree_usual_min(node.time_ns);
    tool_tree_build_node(view, &node, true, at.list, at.count, at.capacity);
    return true;
}

static bool open_time_in(struct tool_tree *view, uint32_t stream, uint64_t time_ns,
                         ttape_node_id *ids, bool has_min)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_edge edge;
    size_t count = 0;
    if (ttape_tree_find_time(view->tree, stream, time_ns, ids, PATH_MOST, &count, &err) != TTAPE_OK)
        return tool_tree_go_on(view, &err);
    if (count == 0) /* the thread is not in a call then */
        return true;
    if (ttape_cursor_open(&cursor, view->reader, stream, &err) != TTAPE_OK)
        return tool_tree_go_on(view, &err);
    ttape_status status = TTAPE_OK;
    if (time_ns != UINT64_MAX)
        status = ttape_cursor_seek_time(cursor, time_ns + 1, &err);
    if (status == TTAPE_OK)
        status = ttape_cursor_get_open_frames(cursor, &edge, &err);
    bool goes_on = status == TTAPE_OK
                       ? open_path(view, ids, count < PATH_MOST ? count : PATH_MOST, &edge, has_min)
                       : tool_tree_go_on(view, &err);
    ttape_cursor_close(cursor);
    return goes_on;
}

/* The streams to look into: those selected, or all that have events. */
static bool next_stream(const struct tool_tree *view, uint32_t *at, uint32_t *stream)
{
    const struct tool_selection *s = view->selection;
    ttape_info info;
    ttape_stream_info found;
    ttape_reader_get_info(view->reader, &info);
    while (*at < (s->streams != NULL ? s->stream_count : info.stream_count)) {
        *stream = s->streams != NULL ? s->streams[*at] : *at;
        ++*at;
        if (ttape_reader_get_stream(view->reader, *stream, &found) == TTAPE_OK &&
            found.event_count > 0)
            return true;
    }
    return false;
}

static int open_time(struct tool_tree *view, const struct tool_time *time, bool has_min)
{
    ttape_info info;
    uint32_t at = 0, stream;
    bool goes_on = true;
    ttape_reader_get_info(view->reader, &info);
    if (!view->has_times)
        return tool_fail("'%s' has no times: nothing can be opened by time", view->input->name);
    uint64_t time_ns = tool_absolute_ns(time, &info);
    ttape_node_id *ids = tool_allocate(PATH_MOST, sizeof(*ids));
    while (goes_on && next_stream(view, &at, &stream))
        goes_on = open_time_in(view, stream, time_ns, ids, has_min);
    free(ids);
    if (view->status == TOOL_OK && view->item_count == 0)
        return tool_fail("no thread of '%s' is in a call at that time", view->input->name);
    return view->status;
}

/* ---- by path ---- */

struct component {
    char name[1024];
    uint64_t number; /* which child of that name, from 1 */
};

/* "name[2]/..." ; a backslash takes the next character as it is. */
static const char *next_component(const char *text, struct component *out)
{
    size_t size = 0;
    *out = (struct component){.number = 1};
    for (; *text != '\0' && *text != '/'; text++) {
        const char *end = strchr(text, ']');
        if (*text == '[' && size > 0 && end != NULL && (end[1] == '/' || end[1] == '\0')) {
            const char *number = text + 1;
            char digits[24];
            size_t length = (size_t)(end - number);
            if (length > 0 && length < sizeof(digits) && strspn(number, "0123456789") == length) {
                memcpy(digits, number, length);
                digits[length] = '\0';
                (void)tool_parse_u64(digits, &out->number);
                text = end;
                continue;
            }
        }
        text += *text == '\\' && text[1] != '\0';
        if (size + 1 < sizeof(out->name))
            out->name[size++] = *text;
    }
    out->name[size] = '\0';
    return *text == '/' ? text + 1 : NULL;
}

struct search {
    struct tool_tree *view;
    struct component wanted;
    uint32_t sites[256], site_count;
    ttape_node found;
    bool failed;
};

static bool is_wanted(const struct search *s, uint32_t site)
{
    uint32_t most = sizeof(s->sites) / sizeof(s->sites[0]);
    for (uint32_t i = 0; i < s->site_count && i < most; i++)
        if (s->sites[i] == site)
            return true;
    return false;
}

/* Whether a part can hold the frame: its partition calls it. Without a summary it can. */
static bool can_hold(const struct search *s, uint32_t partition)
{
    const ttape_summary_row *rows;
    uint32_t count;
    if (ttape_reader_get_summary(s->view->reader, partition, &rows, &count, NULL) != TTAPE_OK ||
        count == 0)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].call_count > 0 && is_wanted(s, rows[i].site))
            return true;
    return false;
}

/* True when it was found, or nothing can be. */
static bool search_children(struct search *s, const ttape_node_id *id, ttape_tree_mode mode)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    ttape_node node;
    bool done = false;
    if (ttape_tree_walk_open(&walk, s->view->tree, id, mode, &err) != TTAPE_OK) {
        s->failed = !tool_tree_go_on(s->view, &err);
        return s->failed;
    }
    while (!done) {
        ttape_status status = ttape_tree_walk_next(walk, &node, &err);
        if (status == TTAPE_END)
            break;
        if (status != TTAPE_OK) {
            done = s->failed = !tool_tree_go_on(s->view, &err);
        } else if (node.id.kind == TTAPE_NODE_PART) {
            done = can_hold(s, node.id.partition) && search_children(s, &node.id, mode);
        } else if (is_wanted(s, node.site) && --s->wanted.number == 0) {
            s->found = node;
            done = true;
        }
    }
    ttape_tree_walk_close(walk);
    return done;
}

static int find_path(struct tool_tree *view, const char *path, uint32_t stream, ttape_node_id *out,
                     bool *found)
{
    struct search s = {.view = view};
    ttape_node_id id = {.kind = TTAPE_NODE_STREAM, .stream = stream};
    for (const char *rest = path; rest != NULL;) {
        rest = next_component(rest, &s.wanted);
        s.site_count = tool_find_sites(&view->names, s.wanted.name, s.sites,
                                       sizeof(s.sites) / sizeof(s.sites[0]));
        if (s.wanted.number == 0 || s.site_count == 0 ||
            !search_children(&s, &id, TTAPE_TREE_OPENED))
            return view->status;
        if (s.failed)
            return view->status;
        id = s.found.id;
    }
    *found = true;
    *out = id;
    return TOOL_OK;
}

static int open_named(struct tool_tree *view, const char *path, bool has_min)
{
    uint32_t at = 0, stream;
    bool found = false;
    ttape_node_id id = {0};
    while (!found && view->status != TOOL_CANNOT && next_stream(view, &at, &stream))
        (void)find_path(view, path, stream, &id, &found);
    if (!found && view->status == TOOL_OK)
        return tool_fail("'%s' has no call '%s'", view->input->name, path);
    return found ? open_node(view, &id, has_min) : view->status;
}

/* ---- by function: its longest call ---- */

struct function {
    struct tool_tree *view;
    bool *is_called; /* by site */
};

static bool is_of_function(void *context, uint32_t site)
{
    const struct function *f = context;
    return f->is_called[site];
}

static void note_damage(void *context, uint32_t partition, const ttape_error *error)
{
    const struct function *f = context;
    (void)partition;
    (void)tool_tree_go_on(f->view, error);
}

/* The names of the calls that lead to it. Where times do not tell these, a thread's stands for
 * them. */
static void name_callers(struct tool_tree *view, const ttape_longest_call *call, ttape_node_id *ids)
{
    ttape_node node;
    size_t count = 0;
    if (ttape_tree_find_time(view->tree, call->stream, call->enter_ns, ids, PATH_MOST, &count,
                             NULL) != TTAPE_OK)
        count = 0;
    for (size_t i = 0; i < call->path_count && i < PATH_MOST; i++)
        if (i >= count ||
            ttape_tree_get_node(view->tree, &ids[i], TTAPE_TREE_PRUNED, &node, NULL) != TTAPE_OK ||
            node.site != call->path[i].site)
            ids[i] = (ttape_node_id){.kind = TTAPE_NODE_STREAM, .stream = call->stream};
}

static int open_call(struct tool_tree *view, const ttape_longest_call *call, bool has_min)
{
    ttape_error err = {0};
    ttape_node node;
    const ttape_node_id stream = {.kind = TTAPE_NODE_STREAM, .stream = call->stream};
    const ttape_node_id id = {.kind = TTAPE_NODE_FRAME,
                              .by = TTAPE_NODE_BY_EVENT,
                              .stream = call->stream,
                              .place = call->enter_number};
    struct place at = {&view->items, &view->item_count, &view->item_capacity};
    if (call->is_found)
        return tool_fail("the longest call begins before what '%s' has: --open takes its time",
                         view->input->name);
    if (ttape_tree_get_node(view->tree, &id, view->full ? TTAPE_TREE_FULL : TTAPE_TREE_OPENED,
                            &node, &err) != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    ttape_node_id *ids = tool_allocate(PATH_MOST, sizeof(*ids));
    name_callers(view, call, ids);
    at = put_shell(at, &stream, NULL);
    for (size_t i = 0; i < call->path_count && i < PATH_MOST; i++)
        at = put_shell(at, &ids[i], &call->path[i]);
    free(ids);
    if (!has_min)
        view->min_ns = tool_tree_usual_min(node.time_ns);
    tool_tree_build_node(view, &node, true, at.list, at.count, at.capacity);
    return view->status;
}

/* Below the calls that lead to it, as far as the file has them. */
static int open_below_way(struct tool_tree *view, const ttape_node_id *id, bool has_min)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_edge edge;
    ttape_longest_call call = {.stream = id->stream, .enter_number = id->place};
    if (ttape_cursor_open(&cursor, view->reader, id->stream, &err) != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    ttape_event event;
    size_t count = 0;
    ttape_status status = ttape_cursor_seek_event(cursor, id->place, &err);
    if (status == TTAPE_OK)
        status = ttape_cursor_get_open_frames(cursor, &edge, &err);
    bool has_way = status == TTAPE_OK && edge.event_number == id->place;
    ttape_open_frame *path = tool_allocate(PATH_MOST, sizeof(*path));
    for (uint32_t i = 0; has_way && i < edge.frame_count && call.path_count < PATH_MOST; i++)
        if (edge.frames[i].stack == edge.stack)
            path[call.path_count++] = edge.frames[i];
    if (has_way && ttape_cursor_next_events(cursor, &event, 1, &count, NULL) == TTAPE_OK)
        call.enter_ns = count == 1 ? event.time_ns : 0;
    call.path = path;
    int result = has_way && call.path_count > 0 ? open_call(view, &call, has_min)
                                                : open_node(view, id, has_min);
    free(path);
    ttape_cursor_close(cursor);
    return result;
}

int tool_tree_open(struct tool_tree *view, const char *what, bool has_min, bool with_way)
{
    ttape_node_id id;
    struct tool_time time = {0};
    if (tool_parse_node(what, &id)) {
        bool is_number = id.kind == TTAPE_NODE_FRAME && id.by == TTAPE_NODE_BY_EVENT;
        return with_way && is_number && view->has_times ? open_below_way(view, &id, has_min)
                                                        : open_node(view, &id, has_min);
    }
    if (tool_parse_time(what, &time))
        return open_time(view, &time, has_min);
    return open_named(view, what, has_min);
}

static int open_longest(struct function *f, const char *name, uint32_t jobs, bool has_min)
{
    ttape_error err = {0};
    ttape_longest *longest;
    uint32_t count = 0;
    struct tool_tree *view = f->view;
    const ttape_longest_options how = {.size = sizeof(how),
                                       .count = 1,
                                       .has_range = view->selection->has_range,
                                       .from_ns = view->selection->from_ns,
                                       .to_ns = view->selection->to_ns,
                                       .streams = view->selection->streams,
                                       .stream_count = view->selection->stream_count,
                                       .jobs = jobs,
                                       .selects = is_of_function,
                                       .damage = note_damage,
                                       .context = f};
    if (!view->has_times)
        return tool_fail("'%s' has no times: --open takes a path", view->input->name);
    if (ttape_longest_find(&longest, view->reader, &how, &err) != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    const ttape_longest_call *call = ttape_longest_get_calls(longest, &count);
    int status = count > 0 ? open_call(view, call, has_min)
                           : tool_fail("'%s' has no call of '%s' there", view->input->name, name);
    ttape_longest_close(longest);
    return status;
}

int tool_tree_find(struct tool_tree *view, const char *name, uint32_t jobs, bool has_min)
{
    struct function f = {.view = view, .is_called = tool_sites_called(&view->names, name)};
    if (f.is_called == NULL)
        return tool_no_function(&view->names, view->input->name, name);
    int status = open_longest(&f, name, jobs, has_min);
    free(f.is_called);
    return status;
}
