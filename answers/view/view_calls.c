/* Calls of one function, or of all: the longest, and the next or the previous one from an event. */
#include <tracetape/calls.h>
#include <tracetape/longest.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"

#define CALLS_USUAL 20u
#define CALLS_MOST  1000u
#define PATH_MOST   256u
#define LOOKS_EVERY 65536u /* events between two looks at whether somebody waits */

struct wanted {
    struct ttape_view *view;
    bool *sites; /* by site; NULL: all */
};

static bool selects(void *context, uint32_t site)
{
    const struct wanted *wanted = context;
    return wanted->sites == NULL || ttp_view_is_site(wanted->view, wanted->sites, site);
}

static void note_damage(void *context, uint32_t partition, const ttape_error *error)
{
    const struct wanted *wanted = context;
    ttp_view_note_damage(wanted->view, partition, error);
}

static const char *end_of(ttape_call_end end)
{
    switch (end) {
    case TTAPE_CALL_LEFT: return "open";
    case TTAPE_CALL_UNWOUND: return "unwound";
    case TTAPE_CALL_UNSEEN: return "unseen";
    case TTAPE_CALL_LATE: return "late";
    case TTAPE_CALL_LOST: return "lost";
    default: return "returned";
    }
}

static void put_call(struct ttape_view *view, const ttape_longest_call *call)
{
    const ttape_node_id id = {.kind = TTAPE_NODE_FRAME,
                              .by = TTAPE_NODE_BY_EVENT,
                              .stream = call->stream,
                              .place = call->enter_number};
    ttp_view_begin(view, NULL, '{');
    if (!call->is_found)
        ttp_view_id(view, "id", &id);
    ttp_view_number(view, "stream", call->stream);
    ttp_view_number(view, "site", call->site);
    ttp_view_time(view, "enter", call->enter_ns);
    ttp_view_time(view, "end", call->end_ns);
    ttp_view_word(view, "end_is", end_of(call->end));
    ttp_view_signed(view, "time", call->duration_ns);
    ttp_view_signed(view, "self", call->self_ns);
    if (call->off_known) {
        ttp_view_signed(view, "on_cpu", call->on_cpu_ns);
        ttp_view_signed(view, "blocked", call->blocked_ns);
        ttp_view_signed(view, "preempted", call->preempted_ns);
    }
    ttp_view_begin(view, "path", '[');
    for (uint32_t i = 0; i < call->path_count && i < PATH_MOST; i++)
        ttp_view_number(view, NULL, call->path[i].site);
    ttp_view_end(view, ']');
    ttp_view_end(view, '}');
}

static ttape_status put_longest(struct ttape_view *view, const ttape_longest_options *how,
                                ttape_error *err)
{
    ttape_longest *longest;
    ttape_longest_info info;
    uint32_t count;
    TTP_TRY(ttape_longest_find(&longest, view->reader, how, err));
    ttape_longest_get_info(longest, &info);
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    ttp_view_begin(view, "calls", '[');
    for (uint32_t i = 0; i < count; i++)
        put_call(view, &calls[i]);
    ttp_view_end(view, ']');
    ttp_view_wide(view, "partitions", info.partition_count);
    ttp_view_wide(view, "decoded", info.decoded_count);
    ttape_longest_close(longest);
    return TTAPE_OK;
}

ttape_status ttp_view_longest(struct ttape_view *view, const struct ttp_view_question *question,
                              ttape_error *err)
{
    struct ttp_view_choice choice;
    struct wanted wanted = {.view = view};
    uint32_t count = CALLS_USUAL, site = TTAPE_NONE;
    uint64_t least_ns = 0, most_ns = UINT64_MAX;
    ttape_longest_by by = TTAPE_LONGEST_BY_DURATION;
    TTP_TRY(ttp_view_take_choice(view, question, &choice, err));
    TTP_TRY(ttp_view_take_number(question, "count", CALLS_MOST, &count, err));
    if (ttp_view_has(question, "site"))
        TTP_TRY(ttp_view_take_site(view, question, &site, err));
    if (ttp_view_is(question, "by", "self"))
        by = TTAPE_LONGEST_BY_SELF;
    else if (ttp_view_is(question, "by", "start"))
        by = TTAPE_LONGEST_BY_START;
    else if (ttp_view_has(question, "by") && !ttp_view_is(question, "by", "duration"))
        return ttp_view_refuse(err, "by", "is duration, self or start");
    TTP_TRY(ttp_view_take_wide(question, "least", &least_ns, err));
    TTP_TRY(ttp_view_take_wide(question, "most", &most_ns, err));
    if (site != TTAPE_NONE)
        TTP_TRY(ttp_view_find_sites(view, site, &wanted.sites, err));
    const ttape_longest_options how = {
        .size = sizeof how,
        .by = by,
        .count = count > 0 ? count : 1,
        .has_range = choice.has_range,
        .from_ns = choice.from_ns,
        .to_ns = choice.to_ns,
        .streams = choice.streams.given ? choice.streams.numbers : NULL,
        .stream_count = choice.streams.count,
        .jobs = view->options.jobs,
        .memory_bytes = view->options.memory_bytes,
        .selects = selects,
        .names_only = true,
        .has_durations = ttp_view_has(question, "least") || ttp_view_has(question, "most"),
        .least_ns = least_ns,
        .most_ns = most_ns,
        .without_callers = ttp_view_is(question, "callers", "0"),
        .damage = note_damage,
        .context = &wanted,
        .watch = &view->watch,
    };
    ttape_status status = put_longest(view, &how, err);
    ttp_view_give_sites(view, wanted.sites);
    return status;
}

/* ---- the next and the previous call ---- */

struct looking {
    struct ttape_view *view;
    uint32_t stream;
    const bool *sites; /* by site: whether it is looked for */
    uint64_t from;     /* an event: calls that are entered from it on, or before it */
    bool goes_back;
    uint64_t found; /* the event that enters it, or TTAPE_CALL_NO_NUMBER */
    bool has_stopped;
};

static bool has_calls(struct looking *look, uint32_t partition, ttape_status *status,
                      ttape_error *err)
{
    const ttape_summary_row *rows;
    uint32_t count;
    *status = ttape_reader_get_summary(look->view->reader, partition, &rows, &count, err);
    for (uint32_t i = 0; *status == TTAPE_OK && i < count; i++)
        if (rows[i].call_count > 0 && ttp_view_is_site(look->view, look->sites, rows[i].site))
            return true;
    return *status == TTAPE_OK && count == 0; /* no summary: it may have */
}

static bool is_call(const struct looking *look, const ttape_event_item *item)
{
    return item->event.kind == TTAPE_EVENT_ENTER &&
           ttp_view_is_site(look->view, look->sites, item->event.site);
}

/* Through [first, end) of the stream's events, from one end to the other. */
static ttape_status look_through(struct looking *look, ttape_cursor *cursor, uint64_t first,
                                 uint64_t end, ttape_error *err)
{
    ttape_event_item item;
    TTP_TRY(ttape_cursor_seek_event(cursor, look->goes_back ? end : first, err));
    for (uint64_t seen = 1;; seen++) {
        ttape_status status = look->goes_back ? ttape_cursor_previous(cursor, &item, err)
                                              : ttape_cursor_next(cursor, &item, err);
        if (status == TTAPE_END)
            return TTAPE_OK;
        TTP_TRY(status);
        if (item.number < first || item.number >= end)
            return TTAPE_OK;
        if (is_call(look, &item)) {
            look->found = item.number;
            return TTAPE_OK;
        }
        look->has_stopped = seen % LOOKS_EVERY == 0 && ttp_view_stops(look->view);
        if (look->has_stopped)
            return TTAPE_OK;
    }
}

static ttape_status look_in(struct looking *look, ttape_cursor *cursor, uint32_t partition,
                            ttape_error *err)
{
    ttape_partition_info info;
    ttape_segment_info segment;
    TTP_TRY(ttape_reader_get_partition(look->view->reader, partition, &info));
    for (uint32_t i = 0; i < info.segment_count; i++) {
        ttape_status status = TTAPE_OK;
        TTP_TRY(ttape_reader_get_segment(look->view->reader, partition, i, &segment, err));
        if (segment.stream != look->stream)
            continue;
        uint64_t first = segment.start.event_number, end = first + segment.event_count;
        if (look->goes_back)
            end = end < look->from ? end : look->from;
        else
            first = first > look->from ? first : look->from;
        if (first >= end || !has_calls(look, partition, &status, err))
            return status;
        return look_through(look, cursor, first, end, err);
    }
    return TTAPE_OK;
}

static ttape_status look_everywhere(struct looking *look, ttape_error *err)
{
    ttape_cursor *cursor;
    uint64_t count = look->view->info.partition_count;
    TTP_TRY(ttape_cursor_open(&cursor, look->view->reader, look->stream, err));
    for (uint64_t i = 0; i < count && look->found == TTAPE_CALL_NO_NUMBER; i++) {
        uint32_t partition = (uint32_t)(look->goes_back ? count - 1 - i : i);
        ttape_status status = look_in(look, cursor, partition, err);
        if (status >= TTAPE_E_TRUNCATED) { /* what is damaged is passed over */
            look->view->damage_count++;
            status = TTAPE_OK;
        }
        look->has_stopped = look->has_stopped || ttp_view_stops(look->view);
        if (status != TTAPE_OK || look->has_stopped) {
            ttape_cursor_close(cursor);
            return status;
        }
    }
    ttape_cursor_close(cursor);
    return TTAPE_OK;
}

/* The search starts behind `event`, or at `time`. */
static ttape_status take_start(struct looking *look, const struct ttp_view_question *question,
                               ttape_error *err)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    uint64_t time_ns = 0;
    if (ttp_view_has(question, "event")) {
        TTP_TRY(ttp_view_take_wide(question, "event", &look->from, err));
        look->from += !look->goes_back && look->from < UINT64_MAX;
        return TTAPE_OK;
    }
    if (!ttp_view_has(question, "time"))
        return ttp_view_refuse(err, "event", "is not given, nor 'time'");
    TTP_TRY(ttp_view_take_time(look->view, question, "time", &time_ns, err));
    TTP_TRY(ttape_cursor_open(&cursor, look->view->reader, look->stream, err));
    ttape_status status = ttape_cursor_seek_time(cursor, time_ns, err);
    if (status == TTAPE_OK)
        status = ttape_cursor_next(cursor, &item, err);
    if (status == TTAPE_OK)
        look->from = item.number;
    ttape_cursor_close(cursor);
    return status == TTAPE_END ? TTAPE_OK : status;
}

ttape_status ttp_view_next(struct ttape_view *view, const struct ttp_view_question *question,
                           ttape_error *err)
{
    struct looking looking = {.view = view,
                              .from = TTAPE_CALL_NO_NUMBER,
                              .found = TTAPE_CALL_NO_NUMBER,
                              .goes_back = ttp_view_is(question, "back", "1")};
    ttape_node node;
    uint32_t site;
    TTP_TRY(ttp_view_take_site(view, question, &site, err));
    TTP_TRY(ttp_view_take_stream(view, question, &looking.stream, err));
    TTP_TRY(take_start(&looking, question, err));
    bool *sites;
    TTP_TRY(ttp_view_find_sites(view, site, &sites, err));
    looking.sites = sites;
    ttape_status status = look_everywhere(&looking, err);
    ttp_view_give_sites(view, sites);
    TTP_TRY(status);
    ttp_view_bool(view, "complete", !looking.has_stopped);
    if (looking.found == TTAPE_CALL_NO_NUMBER)
        return TTAPE_OK;
    const ttape_node_id id = {.kind = TTAPE_NODE_FRAME,
                              .by = TTAPE_NODE_BY_EVENT,
                              .stream = looking.stream,
                              .place = looking.found};
    TTP_TRY(ttape_tree_get_node(view->tree, &id, TTAPE_TREE_OPENED, &node, err));
    ttp_view_wide(view, "event", looking.found);
    ttp_view_node(view, "node", &node);
    return TTAPE_OK;
}
