/* What a trace is, its threads, and its functions by number. */
#include <string.h>

#include <tracetape/tiles.h>
#include <tracetape/writer.h>

#include "answers/view/view_internal.h"
#include "base/text.h"
#include "format/base/fail.h"

#define METADATA_MOST 256u
#define THREADS_MOST  4096u

static void put_metadata(struct ttape_view *view)
{
    ttape_metadata_entry entry;
    ttp_view_begin(view, "metadata", '[');
    for (uint32_t i = 0; i < METADATA_MOST; i++) {
        if (ttape_reader_get_metadata(view->reader, i, &entry) != TTAPE_OK)
            break;
        if (entry.type == TTAPE_METADATA_OTHER)
            continue;
        ttp_view_begin(view, NULL, '[');
        ttp_view_string(view, NULL, entry.key);
        if (entry.type == TTAPE_METADATA_TEXT)
            ttp_view_string(view, NULL, entry.text);
        else
            ttp_view_wide(view, NULL, entry.number);
        ttp_view_end(view, ']');
    }
    ttp_view_end(view, ']');
}

/* The scope's host, of many scopes, and how far its clock may be beside that of the first. */
struct host {
    uint32_t scope;
    ttape_string host;
    uint64_t error_ns;
    bool has_error;
};

static void find_host(const struct ttape_view *view, uint32_t scope, struct host *place)
{
    static const ttape_string host = {"host", 4}, error = {"axis_error_ns", 13};
    ttape_metadata_entry entry;
    if (place->scope == scope)
        return;
    *place = (struct host){.scope = scope};
    for (uint32_t i = 0; ttape_reader_get_metadata(view->reader, i, &entry) == TTAPE_OK; i++) {
        if (entry.scope == scope && entry.type == TTAPE_METADATA_TEXT &&
            ttp_is_same_text(entry.key, host))
            place->host = entry.text;
        if (entry.scope != scope || entry.type != TTAPE_METADATA_NUMBER ||
            !ttp_is_same_text(entry.key, error))
            continue;
        place->error_ns = entry.number;
        place->has_error = true;
    }
}

static uint64_t add_counts(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t sum_of(const struct ttape_view *view, ttape_string key)
{
    uint64_t sum = 0;
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(view->reader, i, &entry) == TTAPE_OK; i++)
        if (entry.type == TTAPE_METADATA_NUMBER && ttp_is_same_text(entry.key, key))
            sum = add_counts(sum, entry.number);
    return sum;
}

/* Events are lost with gaps and with none, as tools/calls/losses.c counts them: gaps also stand for
 * calls that were left out on purpose, two events each. */
static uint64_t count_lost(const struct ttape_view *view)
{
    static const ttape_string dropped = {"dropped_events", 14}, silenced = {"silenced_events", 15},
                              culled_calls = {"culled_calls", 12};
    uint64_t culled = sum_of(view, culled_calls), lost = view->info.lost_count;
    culled = add_counts(culled, culled);
    lost = lost > culled ? lost - culled : 0;
    return add_counts(lost, add_counts(sum_of(view, dropped), sum_of(view, silenced)));
}

ttape_status ttp_view_trace(struct ttape_view *view, const struct ttp_view_question *question,
                            ttape_error *err)
{
    const ttape_info *info = &view->info;
    (void)question;
    (void)err;
    ttp_view_hex(view, "trace_id", info->trace_id, sizeof info->trace_id);
    if (view->options.trace_name != NULL)
        ttp_view_word(view, "file_name", view->options.trace_name(view->options.context));
    if (view->options.filter != NULL)
        ttp_view_word(view, "filter", view->options.filter);
    ttp_view_bool(view, "has_times", info->resolution_ns != TTAPE_TIME_NONE);
    ttp_view_wide(view, "start_ns", info->time_first_ns);
    ttp_view_time(view, "end", info->time_last_ns);
    ttp_view_wide(view, "events", info->event_count);
    ttp_view_wide(view, "partitions", info->partition_count);
    ttp_view_wide(view, "file_bytes", info->file_bytes);
    ttp_view_wide(view, "gaps", info->gap_count);
    ttp_view_wide(view, "lost", count_lost(view));
    ttp_view_bool(view, "complete", info->complete);
    ttp_view_bool(view, "truncated", info->truncated);
    ttp_view_number(view, "streams", info->stream_count);
    ttp_view_number(view, "processes", info->process_count);
    ttp_view_number(view, "sites", info->site_count);
    ttp_view_word(view, "version", ttape_version_string());
    put_metadata(view);
    return TTAPE_OK;
}

ttape_status ttp_view_progress(struct ttape_view *view, const struct ttp_view_question *question,
                               ttape_error *err)
{
    uint64_t done = 0, all = 0;
    (void)question;
    (void)err;
    if (view->options.progress == NULL ||
        !view->options.progress(view->options.context, &done, &all))
        return TTAPE_OK;
    ttp_view_wide(view, "done", done);
    ttp_view_wide(view, "all", all);
    return TTAPE_OK;
}

/* ---- threads ---- */

static ttape_status put_axis(struct ttape_view *view, uint32_t stream, ttape_error *err)
{
    ttape_tile_axis axis;
    TTP_TRY(ttape_tile_get_axis(view->reader, stream, &axis, err));
    if (!axis.has_times)
        return TTAPE_OK;
    ttp_view_time(view, "origin", axis.origin_ns);
    ttp_view_wide(view, "resolution", axis.resolution_ns);
    ttp_view_signed(view, "first_tick", axis.first_tick);
    ttp_view_signed(view, "last_tick", axis.last_tick);
    return TTAPE_OK;
}

static ttape_status put_thread(struct ttape_view *view, uint32_t stream, struct host *place,
                               ttape_error *err)
{
    ttape_stream_info found;
    ttape_process process;
    TTP_TRY(ttape_reader_get_stream(view->reader, stream, &found));
    (void)ttape_reader_get_process(view->reader, found.stream.process, &process);
    ttp_view_begin(view, NULL, '{');
    ttp_view_number(view, "stream", stream);
    ttp_view_wide(view, "tid", found.stream.tid);
    ttp_view_wide(view, "pid", found.pid);
    ttp_view_string(view, "name", found.stream.name);
    ttp_view_string(view, "process", process.name);
    ttp_view_wide(view, "events", found.event_count);
    if (found.missing_count > 0)
        ttp_view_wide(view, "missing", found.missing_count);
    if (view->info.scope_count > 1)
        find_host(view, found.scope, place);
    if (place->host.size_bytes > 0)
        ttp_view_string(view, "host", place->host);
    if (place->has_error)
        ttp_view_wide(view, "clock_error", place->error_ns);
    ttape_status status = put_axis(view, stream, err);
    ttp_view_end(view, '}');
    return status;
}

ttape_status ttp_view_threads(struct ttape_view *view, const struct ttp_view_question *question,
                              ttape_error *err)
{
    uint32_t first = 0, count = THREADS_MOST;
    struct host place = {.scope = TTAPE_NONE};
    TTP_TRY(ttp_view_take_number(question, "first", TTAPE_NONE, &first, err));
    TTP_TRY(ttp_view_take_number(question, "count", THREADS_MOST, &count, err));
    ttp_view_begin(view, "threads", '[');
    for (uint32_t i = 0; i < count && first < view->info.stream_count; i++, first++)
        TTP_TRY(put_thread(view, first, &place, err));
    ttp_view_end(view, ']');
    ttp_view_bool(view, "more", first < view->info.stream_count);
    return TTAPE_OK;
}

/* ---- functions by number ---- */

static void put_full_name(struct ttape_view *view, uint32_t site, const char *name, size_t length)
{
    char full[TTP_VIEW_NAME_BYTES + 1];
    if (view->options.full_name == NULL)
        return;
    size_t wanted = view->options.full_name(view->options.context, site, full, sizeof full);
    size_t kept = wanted < sizeof full ? wanted : sizeof full - 1;
    if (kept != length || memcmp(full, name, kept) != 0)
        ttp_view_string(view, "full_name", (ttape_string){full, kept});
}

/* Blocks, branches and frames have names of functions, and are none. */
static bool has_calls(ttape_site_kind kind)
{
    return kind != TTAPE_SITE_BLOCK && kind != TTAPE_SITE_BRANCH && kind != TTAPE_SITE_FRAME &&
           kind != TTAPE_SITE_TARGET && kind != TTAPE_SITE_CALL;
}

/* What is cut is cut by ttp_view_string: the buffer has one byte more than it shows. */
static void put_site(struct ttape_view *view, uint32_t site, bool is_brief)
{
    char name[TTP_VIEW_NAME_BYTES + 2];
    ttape_site found;
    ttape_module module;
    size_t length = ttp_view_name(view, site, name, sizeof name);
    length = length < sizeof name ? length : sizeof name - 1;
    ttp_view_begin(view, NULL, '{');
    ttp_view_number(view, "site", site);
    ttp_view_string(view, "name", (ttape_string){name, length});
    bool is_there = ttape_reader_get_site(view->reader, site, &found) == TTAPE_OK;
    if (is_there && has_calls(found.kind) && ttape_is_idle_name(found.symbol))
        ttp_view_bool(view, "idle", true);
    if (is_there && !is_brief) {
        (void)ttape_reader_get_module(view->reader, found.module, &module);
        put_full_name(view, site, name, length);
        ttp_view_word(view, "kind", ttape_site_kind_name((uint32_t)found.kind));
        ttp_view_string(view, "symbol", found.symbol);
        ttp_view_string(view, "file", found.file);
        ttp_view_number(view, "line", found.line);
        ttp_view_string(view, "module", module.path);
        ttp_view_wide(view, "address", found.address);
    }
    ttp_view_end(view, '}');
}

ttape_status ttp_view_sites(struct ttape_view *view, const struct ttp_view_question *question,
                            ttape_error *err)
{
    struct ttp_view_list list;
    TTP_TRY(ttp_view_take_list(question, "sites", &list, err));
    ttp_view_begin(view, "sites", '[');
    for (uint32_t i = 0; i < list.count; i++)
        put_site(view, list.numbers[i], !ttp_view_is(question, "all", "1"));
    ttp_view_end(view, ']');
    return TTAPE_OK;
}

/* ---- search by name ---- */

#define SEARCH_BYTES 256u
#define SEARCH_MOST  512u

struct search {
    char text[SEARCH_BYTES];
    size_t length;
    uint32_t found[TTP_VIEW_RANKS][SEARCH_MOST], counts[TTP_VIEW_RANKS];
    bool *is_found; /* by the site that a row goes by */
    uint64_t total;
};

static void search_site(const struct ttape_view *view, struct search *search, uint32_t site)
{
    ttape_site found;
    uint32_t rank = ttp_view_rank(view, site, search->text, search->length);
    if (rank == TTP_VIEW_RANKS || ttape_reader_get_site(view->reader, site, &found) != TTAPE_OK ||
        !has_calls(found.kind))
        return;
    if (search->is_found[view->row_of[site]])
        return;
    search->is_found[view->row_of[site]] = true;
    search->total++;
    if (search->counts[rank] < SEARCH_MOST)
        search->found[rank][search->counts[rank]++] = site;
}

ttape_status ttp_view_search(struct ttape_view *view, const struct ttp_view_question *question,
                             ttape_error *err)
{
    uint32_t count = 50, shown = 0, site = 0;
    TTP_TRY(ttp_view_take_number(question, "count", SEARCH_MOST, &count, err));
    TTP_TRY(ttp_view_find_rows(view, err));
    struct search *search = ttp_memory_take(&view->memory, 1, sizeof *search, err);
    if (search == NULL)
        return view->memory.status;
    *search = (struct search){
        .is_found = ttp_memory_take(&view->memory, view->info.site_count, sizeof(bool), err)};
    if (search->is_found == NULL) {
        ttp_memory_give(&view->memory, search, 1, sizeof *search);
        return view->memory.status;
    }
    memset(search->is_found, 0, view->info.site_count * sizeof(bool));
    search->length = ttp_view_take_text(question, "text", search->text, SEARCH_BYTES);
    for (; site < view->info.site_count && (site % 4096 != 0 || !ttp_view_stops(view)); site++)
        search_site(view, search, site);
    ttp_view_begin(view, "sites", '[');
    for (uint32_t rank = 0; rank < TTP_VIEW_RANKS; rank++)
        for (uint32_t i = 0; i < search->counts[rank] && shown < count; i++, shown++)
            put_site(view, search->found[rank][i], false);
    ttp_view_end(view, ']');
    ttp_view_wide(view, "total", search->total);
    ttp_view_bool(view, "complete", site == view->info.site_count);
    ttp_memory_give(&view->memory, search->is_found, view->info.site_count, sizeof(bool));
    ttp_memory_give(&view->memory, search, 1, sizeof *search);
    return TTAPE_OK;
}
