/* Trees against a model that goes through events one by one: every frame by name, whole walks, what
 * is pruned and what is not, times that frames are open at. */
#include <tracetape/tree.h>

#include "tests/unit/analysis_fixture.h"
#include "tests/unit/every.h"

struct opened {
    struct ttest_file file;
    ttape_reader *reader;
    ttape_tree *tree;
    struct ttest_model model;
    ttape_info info;
    uint32_t wanted; /* frames of the model that a walk has met */
};

static struct opened open_plan(int plan, const ttape_tree_options *options)
{
    ttape_error err = {0};
    struct opened o = {.file = ttest_write(&ttest_plans[plan])};
    o.reader = ttest_open(&o.file);
    o.model = ttest_model_of(o.reader);
    ttape_reader_get_info(o.reader, &o.info);
    TTEST_OK(ttape_tree_open(&o.tree, o.reader, options, &err));
    return o;
}

static void close_plan(struct opened *o)
{
    ttest_model_close(&o->model);
    ttape_tree_close(o->tree);
    ttape_reader_close(o->reader);
    free(o->file.data);
}

static bool is_timed(const struct opened *o) { return o->info.resolution_ns != TTAPE_TIME_NONE; }

static bool is_plain(int plan) { return ttest_plans[plan].plain; }

/* ---- frames by name ---- */

static ttape_node get(struct opened *o, const ttape_node_id *id, uint32_t mode)
{
    ttape_error err = {0};
    ttape_node node;
    TTEST_OK(ttape_tree_get_node(o->tree, id, mode, &node, &err));
    return node;
}

static ttape_node_id id_of(const struct ttest_frame *f)
{
    return (ttape_node_id){.kind = TTAPE_NODE_FRAME,
                           .by = TTAPE_NODE_BY_EVENT,
                           .stream = f->stream,
                           .place = f->event};
}

/* What holds of a node in any mode. */
static void check_bounds(const ttape_node *n, const struct ttest_frame *f)
{
    ck_assert_uint_eq(n->site, f->site);
    ck_assert_uint_eq(n->frame_kind, f->kind);
    ck_assert_uint_eq(n->argument, f->argument);
    ck_assert_uint_eq(n->stack, f->stack);
    ck_assert_uint_eq(n->level, f->level);
    ck_assert_uint_eq(n->enter_ns, f->enter_ns);
    ck_assert_uint_eq(n->start_ns, f->enter_ns);
    ck_assert_int_eq(n->time_ns, (int64_t)(n->end_ns - n->start_ns));
    if (n->end == TTAPE_NODE_HIDDEN) {
        ck_assert(f->ended);
    } else {
        ck_assert_uint_eq(n->end, f->ended ? TTAPE_NODE_ENDED : TTAPE_NODE_OPEN);
        ck_assert_uint_eq(n->end_ns, f->end_ns);
    }
    if (n->self_exact)
        ck_assert_int_eq(n->self_ns, f->self_ns);
}

static void check_whole(const ttape_node *n, const struct ttest_frame *f)
{
    check_bounds(n, f);
    ck_assert_uint_eq(n->end, f->ended ? TTAPE_NODE_ENDED : TTAPE_NODE_OPEN);
    ck_assert(n->self_exact && n->counts_exact);
    ck_assert_uint_eq(n->call_count, f->calls);
    ck_assert_uint_eq(n->event_count, f->events);
    ck_assert_uint_eq(n->pruned.part_count, 0);
}

/* A node without what stands between its fields, which compilers copy or leave: only then are equal
 * nodes equal bytes. */
static void without_padding(const ttape_node *n, ttape_node *out)
{
    memset(out, 0, sizeof *out);
    out->id = n->id; /* has none */
    out->frame_kind = n->frame_kind;
    out->site = n->site;
    out->argument = n->argument;
    out->stack = n->stack;
    out->level = n->level;
    out->end = n->end;
    out->first_partition = n->first_partition;
    out->last_partition = n->last_partition;
    out->enter_ns = n->enter_ns;
    out->start_ns = n->start_ns;
    out->end_ns = n->end_ns;
    out->end_most_ns = n->end_most_ns;
    out->time_ns = n->time_ns;
    out->self_ns = n->self_ns;
    out->self_exact = n->self_exact;
    out->rest_ns = n->rest_ns;
    out->is_spanning = n->is_spanning;
    out->counts_exact = n->counts_exact;
    out->event_count = n->event_count;
    out->call_count = n->call_count;
    out->pruned.part_count = n->pruned.part_count;
    out->pruned.event_count = n->pruned.event_count;
    out->pruned.call_count = n->pruned.call_count;
    out->pruned.calls_exact = n->pruned.calls_exact;
    out->pruned.time_ns = n->pruned.time_ns;
}

START_TEST(frames_by_name)
{
    struct opened o = open_plan(_i, NULL);
    uint32_t spanning = 0, hidden = 0;
    for (size_t i = 0; i < o.model.frame_count; i += (_i < 2 ? 1 : 3) * ttest_every(5)) {
        const struct ttest_frame *f = &o.model.frames[i];
        ttape_node_id id = id_of(f);
        ttape_node full = get(&o, &id, TTAPE_TREE_FULL), pruned = get(&o, &id, TTAPE_TREE_PRUNED);
        ttape_node opened = get(&o, &id, TTAPE_TREE_OPENED);
        check_whole(&full, f);
        check_bounds(&pruned, f);
        check_bounds(&opened, f);
        ck_assert_uint_ne(opened.end, TTAPE_NODE_HIDDEN);
        ck_assert(opened.self_exact);
        ck_assert_int_eq(memcmp(&pruned.id, &full.id, sizeof full.id), 0);
        spanning += pruned.is_spanning;
        hidden += pruned.end == TTAPE_NODE_HIDDEN;
        /* Every name of a node leads to it. */
        ttape_node again = get(&o, &pruned.id, TTAPE_TREE_FULL);
        ttape_node first, second;
        without_padding(&full, &first);
        without_padding(&again, &second);
        ck_assert_int_eq(memcmp(&first, &second, sizeof first), 0);
    }
    if (o.info.partition_count > 10)
        ck_assert_uint_gt(spanning, 10 / ttest_every(5));
    if (is_plain(_i) && is_timed(&o)) /* of some frames summaries tell when they end */
        ck_assert_uint_lt(hidden, spanning * 9 / 10);
    close_plan(&o);
}
END_TEST

/* In partitions without steps back of the clock, bounds of hidden ends hold. */
START_TEST(hidden_ends_have_bounds)
{
    struct opened o = open_plan(_i, NULL);
    for (size_t i = 0; i < o.model.frame_count; i++) {
        ttape_node_id id = id_of(&o.model.frames[i]);
        ttape_node n = get(&o, &id, TTAPE_TREE_PRUNED);
        ck_assert_uint_le(n.end_ns, o.model.frames[i].end_ns);
        ck_assert_uint_ge(n.end_most_ns, o.model.frames[i].end_ns);
        ck_assert_int_le(n.self_ns, o.model.frames[i].self_ns);
    }
    close_plan(&o);
}
END_TEST

/* ---- walks ---- */

struct sums {
    int64_t time, self, rest, parts;
    uint64_t part_count, events, calls, frames;
};

static void add_node(struct sums *s, const ttape_node *n)
{
    s->time += n->time_ns;
    if (n->id.kind == TTAPE_NODE_PART) {
        s->parts += n->time_ns;
        s->part_count++;
        s->events += n->pruned.event_count;
        s->calls += n->pruned.call_count;
        return;
    }
    s->self += n->self_ns;
    s->rest += n->rest_ns;
    s->frames++;
}

static void add_sums(struct sums *to, const struct sums *from)
{
    to->self += from->self;
    to->rest += from->rest;
    to->parts += from->parts;
    to->part_count += from->part_count;
    to->events += from->events;
    to->calls += from->calls;
    to->frames += from->frames;
}

/* Pruned: time = self + rest + children at every node, and what is pruned below it is what its
 * parts are. `below`: all under the node. */
static void walk_pruned(struct opened *o, const ttape_node *node, bool one_stack,
                        struct sums *below)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    ttape_node child;
    ttape_status status;
    struct sums direct = {0}, all = {0};
    TTEST_OK(ttape_tree_walk_open(&walk, o->tree, &node->id, TTAPE_TREE_PRUNED, &err));
    while ((status = ttape_tree_walk_next(walk, &child, &err)) == TTAPE_OK) {
        struct sums deeper = {0};
        add_node(&direct, &child);
        if (child.id.kind == TTAPE_NODE_FRAME)
            walk_pruned(o, &child, one_stack, &deeper);
        add_node(&all, &child);
        add_sums(&all, &deeper);
    }
    ck_assert_int_eq(status, TTAPE_END);
    ttape_tree_walk_close(walk);
    if (one_stack) {
        ck_assert_int_eq(node->time_ns, node->self_ns + node->rest_ns + direct.time);
        ck_assert_uint_eq(node->pruned.part_count, all.part_count);
        ck_assert_uint_eq(node->pruned.event_count, all.events);
        ck_assert_uint_eq(node->pruned.call_count, all.calls);
    }
    *below = all;
}

static uint64_t enters_of(const struct ttest_stream *stream)
{
    uint64_t count = 0;
    for (size_t i = 0; i < stream->count; i++)
        count += stream->events[i].kind == TTAPE_EVENT_ENTER;
    return count;
}

START_TEST(pruned_totals_are_whole)
{
    struct opened o = open_plan(_i, NULL);
    uint64_t calls = 0, all_calls = 0;
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    ttape_node root = get(&o, &trace, TTAPE_TREE_PRUNED);
    for (uint32_t s = 0; s < o.info.stream_count; s++) {
        const struct ttest_stream *stream = &o.model.streams[s];
        struct sums below;
        const ttape_node_id id = {.kind = TTAPE_NODE_STREAM, .stream = s};
        ttape_node node = get(&o, &id, TTAPE_TREE_PRUNED);
        walk_pruned(&o, &node, is_plain(_i), &below);
        ck_assert_int_eq(node.time_ns, (int64_t)(stream->events[stream->count - 1].time_ns -
                                                 stream->events[0].time_ns));
        ck_assert_uint_eq(below.events, stream->count);
        ck_assert_uint_eq(node.pruned.event_count, stream->count);
        if (is_plain(_i)) /* all of the stream's time is somewhere, once */
            ck_assert_int_eq(node.time_ns, below.self + below.rest + below.parts + node.rest_ns);
        if (node.pruned.calls_exact)
            ck_assert_uint_eq(node.pruned.call_count, enters_of(stream));
        calls += node.pruned.call_count;
        all_calls += enters_of(stream);
    }
    ck_assert_uint_eq(calls, all_calls);
    ck_assert_uint_eq(root.pruned.call_count, all_calls);
    ck_assert_uint_eq(root.pruned.event_count, o.info.event_count);
    close_plan(&o);
}
END_TEST

static const struct ttest_frame *find_frame(const struct opened *o, uint32_t stream, uint64_t event)
{
    size_t low = 0, high = o->model.frame_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ttest_frame *f = &o->model.frames[middle];
        if (f->stream < stream || (f->stream == stream && f->event < event))
            low = middle + 1;
        else
            high = middle;
    }
    const struct ttest_frame *f = &o->model.frames[low];
    ck_assert(low < o->model.frame_count && f->stream == stream && f->event == event);
    return f;
}

/* A spanning frame's place among the model's: by what it says of itself. */
static const struct ttest_frame *find_spanning(const struct opened *o, const ttape_node *n)
{
    const struct ttest_frame *found = NULL;
    for (size_t i = 0; i < o->model.frame_count; i++) {
        const struct ttest_frame *f = &o->model.frames[i];
        if (f->stream != n->id.stream || f->enter_ns != n->enter_ns || f->site != n->site ||
            f->kind != n->frame_kind || f->stack != n->stack || f->level != n->level ||
            f->end_ns != n->end_ns || f->events != n->event_count || f->calls != n->call_count)
            continue;
        found = f;
    }
    ck_assert_ptr_nonnull(found);
    return found;
}

/* Full: every frame of the model once, each with all of its children, in order. */
static int64_t walk_full(struct opened *o, const ttape_node *node, bool plain)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    ttape_node child;
    ttape_status status;
    int64_t time = 0;
    uint64_t last_ns = 0, calls = 0;
    TTEST_OK(ttape_tree_walk_open(&walk, o->tree, &node->id, TTAPE_TREE_FULL, &err));
    while ((status = ttape_tree_walk_next(walk, &child, &err)) == TTAPE_OK) {
        ck_assert_uint_eq(child.id.kind, TTAPE_NODE_FRAME);
        const struct ttest_frame *f = child.id.by == TTAPE_NODE_BY_EVENT
                                          ? find_frame(o, child.id.stream, child.id.place)
                                          : find_spanning(o, &child);
        check_whole(&child, f);
        if (plain)
            ck_assert_uint_ge(child.start_ns, last_ns);
        last_ns = child.start_ns;
        time += child.time_ns;
        calls += child.call_count + (child.frame_kind == TTAPE_EVENT_ENTER);
        o->wanted++;
        ck_assert_int_eq(child.time_ns,
                         child.self_ns + child.rest_ns + walk_full(o, &child, plain));
        if (plain)
            ck_assert_int_eq(child.rest_ns, 0);
    }
    ck_assert_int_eq(status, TTAPE_END);
    ttape_tree_walk_close(walk);
    ck_assert_uint_eq(calls, node->call_count);
    return time;
}

START_TEST(full_walks_have_every_frame)
{
    struct opened o = open_plan(_i, NULL);
    for (uint32_t s = 0; s < o.info.stream_count; s++) {
        const ttape_node_id id = {.kind = TTAPE_NODE_STREAM, .stream = s};
        ttape_node node = get(&o, &id, TTAPE_TREE_FULL);
        int64_t time = walk_full(&o, &node, is_plain(_i));
        ck_assert_uint_eq(node.call_count, enters_of(&o.model.streams[s]));
        ck_assert_uint_eq(node.event_count, o.model.streams[s].count);
        if (is_plain(_i))
            ck_assert_int_eq(node.time_ns, node.self_ns + time);
    }
    ck_assert_uint_eq(o.wanted, o.model.frame_count);
    close_plan(&o);
}
END_TEST

/* The children of a part are what the full walk of its holder has there; and with those of opened
 * frames nothing is lost. */
static uint64_t count_frames(struct opened *o, const ttape_node *node, uint32_t mode)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    ttape_node child;
    ttape_status status;
    uint64_t count = 0;
    TTEST_OK(ttape_tree_walk_open(&walk, o->tree, &node->id, mode, &err));
    while ((status = ttape_tree_walk_next(walk, &child, &err)) == TTAPE_OK)
        if (child.id.kind == TTAPE_NODE_PART)
            count += count_frames(o, &child, mode);
        else
            count += 1 + count_frames(o, &child, TTAPE_TREE_OPENED);
    ck_assert_int_eq(status, TTAPE_END);
    ttape_tree_walk_close(walk);
    return count;
}

START_TEST(opened_walks_reach_spanning_frames)
{
    struct opened o = open_plan(_i, NULL);
    for (uint32_t s = 0; s < o.info.stream_count; s++) {
        const ttape_node_id id = {.kind = TTAPE_NODE_STREAM, .stream = s};
        ttape_node node = get(&o, &id, TTAPE_TREE_PRUNED);
        uint64_t frames = 0, found = count_frames(&o, &node, TTAPE_TREE_OPENED);
        for (size_t i = 0; i < o.model.frame_count; i++)
            frames += o.model.frames[i].stream == s;
        ck_assert_uint_le(found, frames);
        ck_assert_uint_ge(found * 2, frames); /* what parts do not hold of a run is left out */
    }
    close_plan(&o);
}
END_TEST

/* ---- by time ---- */

static size_t open_at(const struct opened *o, uint32_t stream, uint64_t time, size_t *frames)
{
    struct ttest_model m = o->model;
    struct ttest_stacks st = {0};
    const struct ttest_stream *events = &o->model.streams[stream];
    size_t count = 0, first = 0;
    m.frames = NULL;
    m.frame_count = m.frame_capacity = 0;
    while (first < o->model.frame_count && o->model.frames[first].stream != stream)
        first++;
    for (size_t i = 0; i < events->count && events->events[i].time_ns <= time; i++)
        ttest_apply(&m, &st, stream, i);
    for (uint32_t i = 0; i < st.height[st.current]; i++)
        frames[count++] = first + st.frame[st.current][i];
    free(m.frames);
    return count;
}

START_TEST(frames_open_at_a_time)
{
    struct opened o = open_plan(_i, NULL);
    ttape_error err = {0};
    uint64_t seed = 9, length = o.info.time_last_ns - o.info.time_first_ns;
    for (int i = 0; i < 60; i += (int)ttest_every(5)) {
        uint32_t stream = (uint32_t)i % o.info.stream_count;
        uint64_t time = o.info.time_first_ns + ttest_random(&seed, (uint32_t)length + 1);
        ttape_node_id ids[TTEST_DEPTH];
        size_t frames[TTEST_DEPTH], count, wanted;
        time = i == 1 ? UINT64_MAX : i == 2 ? 0 : time;
        wanted = open_at(&o, stream, time, frames);
        TTEST_OK(ttape_tree_find_time(o.tree, stream, time, ids, TTEST_DEPTH, &count, &err));
        ck_assert_uint_eq(count, wanted);
        for (size_t k = 0; k < count; k++) {
            ttape_node n = get(&o, &ids[k], TTAPE_TREE_FULL);
            check_whole(&n, &o.model.frames[frames[k]]);
        }
        TTEST_OK(ttape_tree_find_time(o.tree, stream, time, NULL, 0, &count, &err));
        ck_assert_uint_eq(count, wanted);
    }
    close_plan(&o);
}
END_TEST

/* ---- caches, jobs, damage, options ---- */

static uint64_t hash_walk(ttape_tree *tree, const ttape_node_id *id, uint32_t mode, uint64_t hash)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    ttape_node child = {0};
    ttape_status status;
    TTEST_OK(ttape_tree_walk_open(&walk, tree, id, mode, &err));
    while ((status = ttape_tree_walk_next(walk, &child, &err)) != TTAPE_END) {
        uint64_t pair[2] = {hash, (uint64_t)status};
        ck_assert(status == TTAPE_OK || status >= TTAPE_E_TRUNCATED);
        ttape_node bare;
        without_padding(&child, &bare);
        if (status == TTAPE_OK)
            pair[1] = ttp_checksum(&bare, sizeof bare);
        hash = ttp_checksum(pair, sizeof pair);
        if (status == TTAPE_OK && child.id.kind != TTAPE_NODE_PART)
            hash = hash_walk(tree, &child.id, mode, hash);
    }
    ttape_tree_walk_close(walk);
    return hash;
}

static uint64_t hash_tree(const struct ttest_file *file, const ttape_tree_options *options,
                          uint32_t mode)
{
    ttape_error err = {0};
    ttape_tree *tree;
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    ttape_reader *r = ttest_open(file);
    TTEST_OK(ttape_tree_open(&tree, r, options, &err));
    uint64_t hash = hash_walk(tree, &trace, mode, 0);
    ttape_tree_close(tree);
    ttape_reader_close(r);
    return hash;
}

START_TEST(caches_and_jobs_change_nothing)
{
    struct ttest_file file = ttest_write(&ttest_plans[_i]);
    for (uint32_t mode = 0; mode < TTAPE_TREE_MODE_COUNT; mode += 2 * ttest_every(2)) {
        uint64_t plain = hash_tree(&file, NULL, mode);
        ttape_tree_options little = {.size = sizeof little, .cache_bytes = 1};
        ttape_tree_options jobs = {.size = sizeof jobs, .jobs = 4};
        ck_assert_uint_eq(hash_tree(&file, &little, mode), plain);
        ck_assert_uint_eq(hash_tree(&file, &jobs, mode), plain);
    }
    free(file.data);
}
END_TEST

/* A partition that cannot be read is a hole: what was open before it is lost, what is open behind
 * it starts there; everything else is as it was. */
START_TEST(damage_is_a_hole)
{
    struct ttest_plan plan = {.streams = 2, .events = 3000, .partition_events = 150, .plain = true};
    struct ttest_file file = ttest_write(&plan);
    ttape_reader *r = ttest_open(&file);
    ttape_error err = {0};
    ttape_partition_info about;
    ttape_tree *tree;
    ttape_node node;
    uint32_t errors = 0, lost = 0, born = 0;
    ck_assert_int_eq(ttape_reader_get_partition(r, 5, &about), TTAPE_OK);
    ttape_reader_close(r);
    file.data[about.offset + 70] ^= 1; /* its head */
    r = ttest_open(&file);
    TTEST_OK(ttape_tree_open(&tree, r, NULL, &err));
    for (uint32_t s = 0; s < 2; s++) {
        ttape_tree_walk *walk;
        ttape_status status;
        const ttape_node_id id = {.kind = TTAPE_NODE_STREAM, .stream = s};
        TTEST_OK(ttape_tree_walk_open(&walk, tree, &id, TTAPE_TREE_PRUNED, &err));
        while ((status = ttape_tree_walk_next(walk, &node, &err)) != TTAPE_END) {
            errors += status != TTAPE_OK;
            if (status != TTAPE_OK)
                continue;
            lost += node.id.kind == TTAPE_NODE_FRAME && node.end == TTAPE_NODE_LOST;
            born += node.id.by == TTAPE_NODE_BY_START;
        }
        ttape_tree_walk_close(walk);
    }
    ck_assert_uint_eq(errors, 2);
    ck_assert_uint_ge(lost, 1);
    ck_assert_uint_ge(born, 1);
    ttape_tree_close(tree);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

START_TEST(names_and_options_are_checked)
{
    struct opened o = open_plan(0, NULL);
    ttape_error err = {0};
    ttape_node node;
    ttape_tree_walk *walk;
    ttape_tree *tree;
    size_t count;
    const ttape_node_id missing[] = {
        {.kind = TTAPE_NODE_STREAM, .stream = 7},
        {.kind = TTAPE_NODE_PART, .partition = 100000},
        {.kind = TTAPE_NODE_FRAME, .by = TTAPE_NODE_BY_EVENT, .place = 1u << 30},
        {.kind = TTAPE_NODE_FRAME, .by = TTAPE_NODE_BY_END, .place = 1000},
        {.kind = TTAPE_NODE_FRAME, .by = TTAPE_NODE_BY_END, .partition = 100000},
        {.kind = TTAPE_NODE_FRAME, .by = TTAPE_NODE_BY_START, .partition = 3},
    };
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        ck_assert_int_eq(ttape_tree_get_node(o.tree, &missing[i], 0, &node, &err),
                         TTAPE_E_NOT_FOUND);
        ck_assert_int_eq(ttape_tree_walk_open(&walk, o.tree, &missing[i], 0, &err),
                         TTAPE_E_NOT_FOUND);
        ck_assert_ptr_null(walk);
    }
    const ttape_node_id odd = {.kind = TTAPE_NODE_KIND_COUNT};
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    const ttape_node_id nameless = {.kind = TTAPE_NODE_FRAME};
    ck_assert_int_eq(ttape_tree_get_node(o.tree, &odd, 0, &node, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tree_get_node(o.tree, &nameless, 0, &node, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tree_get_node(o.tree, &trace, 3, &node, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tree_walk_open(&walk, o.tree, &nameless, 0, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tree_find_time(o.tree, 7, 0, NULL, 0, &count, &err), TTAPE_E_NOT_FOUND);
    struct {
        ttape_tree_options known;
        uint64_t more;
    } longer = {.known = {.size = sizeof longer}, .more = 1};
    ck_assert_int_eq(ttape_tree_open(&tree, o.reader, &longer.known, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_tree_open(&tree, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(tree);
    TTEST_OK(ttape_tree_walk_open(&walk, o.tree, &trace, 0, &err)); /* ends with the tree */
    ttape_tree_close(NULL);
    ttape_tree_walk_close(NULL);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *tests = tcase_create("tree");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, frames_by_name, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, hidden_ends_have_bounds, 0, 2);
    tcase_add_loop_test(tests, pruned_totals_are_whole, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, full_walks_have_every_frame, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, opened_walks_reach_spanning_frames, 0, 2);
    tcase_add_loop_test(tests, frames_open_at_a_time, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, caches_and_jobs_change_nothing, 0, TTEST_PLANS);
    tcase_add_test(tests, damage_is_a_hole);
    tcase_add_test(tests, names_and_options_are_checked);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
