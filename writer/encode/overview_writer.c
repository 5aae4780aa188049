/* Sums of a group are kept while it is open: a row for each site that had a frame, and the
 * histogram in the site itself, where its frames end. */
#include "writer/encode/overview_writer.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/fail.h"
#include "format/base/wide.h"
#include "writer/encode/merged_writer.h"
#include "writer/encode/outline_writer.h"
#include "writer/frames.h"

#define GROUP_LEAST 4u /* a group that ends early is worth a chunk from this part of a whole on */
#define ROW_BYTES   64u
#define LISTS_PART  3u         /* longest calls are at most this part of what an overview may be */
#define ANY_BYTES   (1u << 20) /* of instants, where any are wanted */

static bool is_on(const ttape_writer *w) { return w->options.overview_period != UINT64_MAX; }

ttape_status ttp_group_site(ttape_writer *w, struct ttp_site_state *site, ttape_error *err)
{
    if (site->counts != NULL)
        return TTAPE_OK;
    if (!is_on(w) || !w->timed)
        site->wanted_ticks = INT64_MAX;
    if (!is_on(w))
        return TTAPE_OK;
    struct ttp_growing counts = {0};
    TTP_TRY(ttp_grow(&w->allocator, &counts, sizeof *site->counts, TTP_OVERVIEW_BUCKETS, err));
    memset(counts.data, 0, counts.capacity_bytes);
    site->counts = counts.data;
    site->counts_bytes = (uint32_t)counts.capacity_bytes;
    return TTAPE_OK;
}

ttape_status ttp_group_leaf(ttape_writer *w, struct ttp_scope *scope, uint32_t site,
                            ttape_error *err)
{
    struct ttp_site_state *state = ttp_site_state_at(scope, site);
    struct ttp_group *group = &scope->group;
    if (!is_on(w))
        return TTAPE_OK;
    if (state->leaf_row == 0) {
        struct ttp_overview_leaf *leaf = ttp_push(&w->allocator, &group->leaves, sizeof *leaf, err);
        if (leaf == NULL)
            return TTAPE_E_MEMORY;
        leaf->site = site;
        state->leaf_row = (uint32_t)group->leaves.count;
    }
    struct ttp_overview_leaf *leaf =
        (struct ttp_overview_leaf *)group->leaves.data + state->leaf_row - 1;
    leaf->count++;
    leaf->mask |= 1ull << group->partition_count;
    return TTAPE_OK;
}

static void add_ticks(int64_t *to, int64_t ticks) { *to = ttp_add_ticks(*to, ticks, 0); }

static void add_row(struct ttp_group_row *to, const struct ttp_measure *row,
                    const struct ttp_cpu_measure *cpu, uint64_t bit)
{
    struct ttp_measure *m = &to->measure;
    bool first = m->exit_count == 0;
    if (row->exit_count != 0) {
        m->min_ticks = first || row->min_ticks < m->min_ticks ? row->min_ticks : m->min_ticks;
        m->max_ticks = first || row->max_ticks > m->max_ticks ? row->max_ticks : m->max_ticks;
    }
    m->site = row->site;
    m->call_count += row->call_count;
    m->exit_count += row->exit_count;
    add_ticks(&m->self_ticks, row->self_ticks);
    add_ticks(&m->total_ticks, row->total_ticks);
    m->squares = ttp_wide_add(m->squares, row->squares);
    to->mask |= (row->call_count | row->exit_count) != 0 ? bit : 0;
    for (int i = 0; cpu != NULL && i < TTP_OFF_KINDS; i++) {
        to->cpu.self_ns[i] += cpu->self_ns[i];
        to->cpu.total_ns[i] += cpu->total_ns[i];
    }
    if (cpu != NULL && row->exit_count != 0 && (first || cpu->max_on_ns > to->cpu.max_on_ns))
        to->cpu.max_on_ns = cpu->max_on_ns;
}

static ttape_status add_rows(ttape_writer *w, const struct ttp_pending *p, ttape_error *err)
{
    struct ttp_group *group = &p->scope->group;
    const struct ttp_measure *rows = p->measures.data;
    const struct ttp_cpu_measure *cpus = p->cpu.count != 0 ? p->cpu.data : NULL;
    for (size_t i = 0; i < p->measures.count; i++) {
        struct ttp_site_state *site = ttp_site_state_at(p->scope, rows[i].site);
        if (site->group_row == 0) {
            if (ttp_push(&w->allocator, &group->rows, sizeof(struct ttp_group_row), err) == NULL)
                return TTAPE_E_MEMORY;
            site->group_row = (uint32_t)group->rows.count;
        }
        add_row((struct ttp_group_row *)group->rows.data + site->group_row - 1, &rows[i],
                cpus != NULL ? &cpus[i] : NULL, 1ull << group->partition_count);
    }
    return TTAPE_OK;
}

static void forget_scope(struct ttp_scope *scope)
{
    struct ttp_group *group = &scope->group;
    const struct ttp_group_row *rows = group->rows.data;
    const struct ttp_overview_leaf *leaves = group->leaves.data;
    for (size_t i = 0; i < group->rows.count; i++) {
        struct ttp_site_state *site = ttp_site_state_at(scope, rows[i].measure.site);
        site->group_row = 0;
        if (site->counts != NULL)
            memset(site->counts, 0, TTP_OVERVIEW_BUCKETS * sizeof *site->counts);
    }
    for (size_t i = 0; i < group->leaves.count; i++)
        ttp_site_state_at(scope, leaves[i].site)->leaf_row = 0;
    ttp_listed_forget(scope);
    group->rows.count = group->leaves.count = 0;
    group->partition_count = group->cpu_count = group->switch_count = 0;
    group->span_ticks = 0;
    group->unknown_ends = 0;
    memset(group->all_ns, 0, sizeof group->all_ns);
    ttp_outline_forget(scope);
}

static int compare_rows(const void *a, const void *b)
{
    const struct ttp_group_row *x = a, *y = b;
    return x->measure.site < y->measure.site ? -1 : x->measure.site > y->measure.site;
}

static int compare_leaves(const void *a, const void *b)
{
    const struct ttp_overview_leaf *x = a, *y = b;
    return x->site < y->site ? -1 : x->site > y->site;
}

/* ---- the chunk's content ---- */

/* The group's rows, column by column as the fields are written. */
struct group_columns {
    const ttape_writer *w;
    struct ttp_outlines outlines;
    struct ttp_listed listed;
    struct ttp_measure *rows;
    struct ttp_cpu_times cpu;
    struct ttp_overview_calls *calls;
    const struct ttp_group *group;
    uint32_t row_count;
    bool timed;
};

static size_t write_field(const struct group_columns *c, enum ttp_overview_field kind, uint8_t *out,
                          size_t bytes)
{
    const struct ttp_group *group = c->group;
    switch (kind) {
    case TTP_OVERVIEW_SUMMARY:
        return ttp_summary_write(c->rows, c->row_count, c->timed, out, bytes);
    case TTP_OVERVIEW_CPU_TIMES:
        return ttp_cpu_times_write(&c->cpu, c->rows, c->w->head_resolution_ns, out, bytes);
    case TTP_OVERVIEW_CALLS:
        return ttp_overview_calls_write(c->calls, c->rows, c->row_count, group->partition_count,
                                        c->timed, out, bytes);
    case TTP_OVERVIEW_OUTLINES: return ttp_outlines_write(&c->outlines, out, bytes);
    case TTP_OVERVIEW_LISTED: return ttp_listed_write(&c->listed, out, bytes);
    default:
        return ttp_overview_leaves_write(group->leaves.data, (uint32_t)group->leaves.count,
                                         group->partition_count, out, bytes);
    }
}

/* Into a likely size, and twice of it where that was too small. No bytes: it says nothing. */
static ttape_status put_field(ttape_writer *w, const struct group_columns *c,
                              enum ttp_overview_field kind, struct ttp_growing *out,
                              ttape_error *err)
{
    struct ttp_growing field = {0};
    uint8_t head[TTP_OVERVIEW_HEAD_BOUND];
    size_t size = 0, bound = ttp_summary_bound(c->row_count) +
                             ttp_overview_leaves_bound((uint32_t)c->group->leaves.count) +
                             ttp_overview_calls_bound(c->row_count) +
                             ttp_outlines_bound(&c->outlines) + ttp_listed_bound(&c->listed);
    ttape_status status = TTAPE_OK;
    size_t bytes = 1024 + (c->row_count + c->group->leaves.count) * ROW_BYTES, tried = 0;
    for (; status == TTAPE_OK && size == 0 && tried < bound; bytes *= 2) {
        tried = bytes;
        status = ttp_grow(&w->allocator, &field, 1, bytes, err);
        if (status == TTAPE_OK)
            size = write_field(c, kind, field.data, bytes);
    }
    if (status == TTAPE_OK)
        status = ttp_push_bytes(&w->allocator, out, head,
                                ttp_overview_field_write(kind, size, head), err);
    if (status == TTAPE_OK)
        status = ttp_push_bytes(&w->allocator, out, field.data, size, err);
    ttp_grown_free(&w->allocator, &field);
    return status;
}

static ttape_status put_sums(ttape_writer *w, const struct group_columns *c,
                             struct ttp_growing *out, ttape_error *err)
{
    struct ttp_overview head = {
        .partition_count = c->group->partition_count,
        .identity = ttp_overview_identity(c->group->facts, c->group->partition_count),
        .resolution_ns = c->timed ? w->head_resolution_ns : 0,
        .span_ticks = c->group->span_ticks};
    uint8_t bytes[TTP_OVERVIEW_HEAD_BOUND];
    out->count = 0;
    TTP_TRY(ttp_push_bytes(&w->allocator, out, bytes, ttp_overview_head_write(&head, bytes), err));
    TTP_TRY(put_field(w, c, TTP_OVERVIEW_SUMMARY, out, err));
    if (c->group->cpu_count != 0)
        TTP_TRY(put_field(w, c, TTP_OVERVIEW_CPU_TIMES, out, err));
    TTP_TRY(put_field(w, c, TTP_OVERVIEW_CALLS, out, err));
    if (c->group->leaves.count != 0)
        TTP_TRY(put_field(w, c, TTP_OVERVIEW_LEAVES, out, err));
    return TTAPE_OK;
}

/* How many fit is known when the partitions are written. */
static ttape_status put_lists(ttape_writer *w, struct ttp_scope *scope, struct group_columns *c,
                              struct ttp_overview_content *out, ttape_error *err)
{
    static const uint32_t most[TTP_OVERVIEW_LISTS] = {TTP_LISTED_MOST, 8, 2};
    ttape_status status = TTAPE_OK;
    for (int i = 0; i < (int)TTP_OVERVIEW_LISTS && status == TTAPE_OK; i++) {
        struct ttp_listed_room room;
        out->lists[i].count = 0;
        status = ttp_listed_get(w, scope, c->rows, c->row_count, most[i], &room, err);
        c->listed = room.listed;
        if (status == TTAPE_OK)
            status = put_field(w, c, TTP_OVERVIEW_LISTED, &out->lists[i], err);
        ttp_listed_release(w, &room);
    }
    return status;
}

static ttape_status put_fields(ttape_writer *w, struct ttp_scope *scope, struct group_columns *c,
                               struct ttp_overview_content *out, ttape_error *err)
{
    bool has_outlines = ttp_outline_get(w, scope, &c->outlines);
    TTP_TRY(put_sums(w, c, &out->bytes, err));
    out->ends[0] = out->bytes.count;
    if (has_outlines)
        TTP_TRY(put_field(w, c, TTP_OVERVIEW_OUTLINES, &out->bytes, err));
    out->ends[1] = out->bytes.count;
    return w->timed && !scope->group.listed.is_left_out ? put_lists(w, scope, c, out, err)
                                                        : TTAPE_OK;
}

static void fill_columns(const struct ttp_scope *scope, struct group_columns *c)
{
    const struct ttp_group_row *rows = scope->group.rows.data;
    for (uint32_t i = 0; i < c->row_count; i++) {
        const struct ttp_site_state *site = ttp_site_state_at(scope, rows[i].measure.site);
        c->rows[i] = rows[i].measure;
        c->cpu.rows[i] = rows[i].cpu;
        c->calls[i] = (struct ttp_overview_calls){.mask = rows[i].mask};
        if (site->counts != NULL)
            memcpy(c->calls[i].counts, site->counts, sizeof c->calls[i].counts);
    }
    memcpy(c->cpu.all_ns, scope->group.all_ns, sizeof c->cpu.all_ns);
}

/* The content of the group's chunk: nothing where only some of its partitions know of switches. */
static ttape_status make_overview(ttape_writer *w, struct ttp_scope *scope,
                                  struct ttp_overview_content *out, ttape_error *err)
{
    struct ttp_group *group = &scope->group;
    size_t count = group->rows.count;
    struct ttp_growing memory = {0};
    struct group_columns c = {
        .w = w, .group = group, .row_count = (uint32_t)count, .timed = w->timed};
    if (group->switch_count != 0 && group->cpu_count != group->partition_count)
        return TTAPE_OK;
    for (size_t i = 0; i < count; i++) /* as counts of histograms are */
        if (((struct ttp_group_row *)group->rows.data)[i].measure.exit_count > UINT32_MAX)
            return TTAPE_OK;
    if (count != 0)
        qsort(group->rows.data, count, sizeof(struct ttp_group_row), compare_rows);
    if (group->leaves.count != 0)
        qsort(group->leaves.data, group->leaves.count, sizeof(struct ttp_overview_leaf),
              compare_leaves);
    TTP_TRY(ttp_grow(&w->allocator, &memory, sizeof *c.rows + sizeof *c.cpu.rows + sizeof *c.calls,
                     count + 1, err));
    c.rows = memory.data;
    c.cpu.rows = (struct ttp_cpu_measure *)(c.rows + count);
    c.calls = (struct ttp_overview_calls *)(c.cpu.rows + count);
    c.cpu.row_count = (uint32_t)count;
    fill_columns(scope, &c);
    ttape_status status = put_fields(w, scope, &c, out, err);
    ttp_grown_free(&w->allocator, &memory);
    return status;
}

/* ---- groups ---- */

static void add_head(const ttape_writer *w, const struct ttp_pending *p)
{
    struct ttp_group *group = &p->scope->group;
    const struct ttp_segment *segments = p->segments.data;
    struct ttp_overview_fact *fact = &group->facts[group->partition_count];
    *fact = (struct ttp_overview_fact){.event_count = p->event_count,
                                       .segment_count = p->segments.count};
    if (w->timed) {
        fact->first_tick = p->first_tick;
        fact->end_tick = p->last_tick + 1;
    }
    for (size_t i = 0; w->timed && i < p->segments.count; i++)
        group->span_ticks =
            ttp_add_ticks(group->span_ticks, segments[i].end_tick, segments[i].base_tick);
    group->unknown_ends |= (uint64_t)p->has_ends << group->partition_count;
    group->switch_count += p->known.count != 0;
    group->cpu_count += p->cpu.count != 0;
    for (int i = 0; i < TTP_OFF_KINDS; i++)
        group->all_ns[i] += p->off_ns[i];
}

ttape_status ttp_group_add(ttape_writer *w, struct ttp_pending *p, ttape_error *err)
{
    struct ttp_scope *scope = p->scope;
    struct ttp_group *group = &scope->group;
    if (!is_on(w))
        return TTAPE_OK;
    TTP_TRY(add_rows(w, p, err));
    TTP_TRY(ttp_outline_add(w, p, err));
    TTP_TRY(ttp_listed_seal(w, p, err));
    add_head(w, p);
    if (++group->partition_count < w->options.overview_period)
        return TTAPE_OK;
    p->overview.is_due = true;
    p->overview.unknown_ends = group->unknown_ends;
    TTP_TRY(make_overview(w, scope, &p->overview, err));
    forget_scope(scope);
    return TTAPE_OK;
}

static bool pays(const ttape_writer *w, const struct ttp_group *group, size_t bytes, uint32_t part)
{
    return bytes * (uint64_t)w->overview_share * part <= group->written_bytes;
}

/* How much of it pays; 0: not even the least. */
static size_t bytes_that_pay(const ttape_writer *w, const struct ttp_group *group,
                             const struct ttp_overview_content *overview)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < TTP_OVERVIEW_ENDS; i++)
        if (pays(w, group, overview->ends[i] + TTP_CHUNK_HEADER_BYTES, 1))
            bytes = overview->ends[i];
    return bytes;
}

/* The most of the longest calls that pays. */
static ttape_status put_list(ttape_writer *w, const struct ttp_group *group,
                             struct ttp_overview_content *overview, ttape_error *err)
{
    size_t bytes = overview->bytes.count + TTP_CHUNK_HEADER_BYTES;
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; i < TTP_OVERVIEW_LISTS; i++) {
        const struct ttp_growing *list = &overview->lists[i];
        if (list->count == 0 || !pays(w, group, list->count, LISTS_PART) ||
            !pays(w, group, bytes + list->count, 1))
            continue;
        status = ttp_push_bytes(&w->allocator, &overview->bytes, list->data, list->count, err);
        break;
    }
    overview->ends[TTP_OVERVIEW_ENDS - 2] = overview->bytes.count;
    return status;
}

/* Instants are known only now: the last field. */
static ttape_status put_merged(ttape_writer *w, struct ttp_scope *scope,
                               struct ttp_overview_content *overview, ttape_error *err)
{
    struct ttp_growing field = {0};
    uint8_t head[TTP_OVERVIEW_HEAD_BOUND];
    uint64_t share = w->overview_share, written = scope->group.written_bytes;
    ttape_status status =
        ttp_merged_make(w, scope, share != 0 ? (size_t)(written / share) : ANY_BYTES, &field, err);
    if (status == TTAPE_OK && field.count != 0)
        status =
            ttp_push_bytes(&w->allocator, &overview->bytes, head,
                           ttp_overview_field_write(TTP_OVERVIEW_INSTANTS, field.count, head), err);
    if (status == TTAPE_OK)
        status = ttp_push_bytes(&w->allocator, &overview->bytes, field.data, field.count, err);
    overview->ends[TTP_OVERVIEW_ENDS - 1] = overview->bytes.count;
    ttp_grown_free(&w->allocator, &field);
    return status;
}

/* The last field, whatever of the others pays: without it, readers would take what there is for
 * more than it is. */
static ttape_status put_unknown_ends(ttape_writer *w, struct ttp_overview_content *overview,
                                     size_t *bytes, ttape_error *err)
{
    uint8_t field[TTP_OVERVIEW_HEAD_BOUND + sizeof overview->unknown_ends];
    if (overview->unknown_ends == 0)
        return TTAPE_OK;
    size_t head_bytes =
        ttp_overview_field_write(TTP_OVERVIEW_UNKNOWN_ENDS, sizeof overview->unknown_ends, field);
    ttp_store64(field + head_bytes, overview->unknown_ends);
    overview->bytes.count = *bytes;
    TTP_TRY(ttp_push_bytes(&w->allocator, &overview->bytes, field,
                           head_bytes + sizeof overview->unknown_ends, err));
    *bytes = overview->bytes.count;
    return TTAPE_OK;
}

/* The group's partitions are out. */
static ttape_status emit(ttape_writer *w, struct ttp_scope *scope,
                         struct ttp_overview_content *overview, ttape_error *err)
{
    if (overview->bytes.count == 0)
        return TTAPE_OK;
    TTP_TRY(put_list(w, &scope->group, overview, err));
    TTP_TRY(put_merged(w, scope, overview, err));
    size_t bytes = bytes_that_pay(w, &scope->group, overview);
    if (bytes == 0)
        return TTAPE_OK;
    TTP_TRY(put_unknown_ends(w, overview, &bytes, err));
    struct ttp_chunk chunk = {.kind = TTP_CHUNK_OVERVIEW,
                              .scope = scope->number,
                              .stored_bytes = bytes,
                              .content_bytes = bytes};
    return ttp_emit_chunk(w, &chunk, overview->bytes.data, err);
}

static void forget_written(struct ttp_scope *scope)
{
    scope->group.written_bytes = 0;
    ttp_merged_forget(scope);
}

ttape_status ttp_group_emit(ttape_writer *w, struct ttp_job *job, ttape_error *err)
{
    struct ttp_scope *scope = job->pending.scope;
    struct ttp_overview_content *overview = &job->pending.overview;
    scope->group.written_bytes += job->payload.count;
    TTP_TRY(ttp_merged_add(w, job, err));
    if (!overview->is_due)
        return TTAPE_OK;
    ttape_status status = emit(w, scope, overview, err);
    forget_written(scope);
    return status;
}

ttape_status ttp_group_end(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    struct ttp_overview_content content = {0};
    struct ttp_group *group = &scope->group;
    ttape_status status = TTAPE_OK;
    if (!is_on(w) || group->partition_count == 0)
        return TTAPE_OK;
    if (group->partition_count > 1 &&
        group->partition_count >= w->options.overview_period / GROUP_LEAST)
        status = make_overview(w, scope, &content, err);
    content.unknown_ends = group->unknown_ends;
    forget_scope(scope);
    if (status == TTAPE_OK)
        status = emit(w, scope, &content, err);
    forget_written(scope);
    ttp_overview_free(w, &content);
    return status;
}

void ttp_overview_free(ttape_writer *w, struct ttp_overview_content *content)
{
    ttp_grown_free(&w->allocator, &content->bytes);
    for (uint32_t i = 0; i < TTP_OVERVIEW_LISTS; i++)
        ttp_grown_free(&w->allocator, &content->lists[i]);
}

void ttp_group_free(ttape_writer *w, struct ttp_scope *scope)
{
    struct ttp_site_state *sites = scope->site_states.data;
    for (size_t i = 0; i < scope->site_states.count; i++) {
        struct ttp_growing counts = {sites[i].counts, 0, sites[i].counts_bytes};
        ttp_grown_free(&w->allocator, &counts);
    }
    ttp_outline_free(w, scope);
    ttp_merged_free(w, scope);
    ttp_listed_free(w, scope);
    ttp_grown_free(&w->allocator, &scope->group.rows);
    ttp_grown_free(&w->allocator, &scope->group.leaves);
}
