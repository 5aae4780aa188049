/* Reports of the model in analysis_fixture.h, and the comparison with real ones. */
#ifndef TTEST_REPORT_MODEL_H
#define TTEST_REPORT_MODEL_H

#include <tracetape/report.h>

#include "format/base/wide.h"
#include "tests/unit/analysis_fixture.h"

/* ---- the model's report ---- */

#define KEYS 512u

struct ttest_want {
    uint64_t calls, exits, unseen, recursions, events;
    int64_t self, total, idle, least, most, own_least, own_most, durations, span;
    ttape_wide squares;
    int64_t *ended; /* durations */
    size_t ended_count, ended_capacity;
};

struct ttest_asked {
    const struct ttest_model *model;
    uint32_t by;
    bool has_range, self_times;
    uint64_t from, to;
    const bool *streams; /* NULL: all */
    struct ttest_want rows[KEYS];
    int64_t span, idle;
    uint64_t calls;
};

static inline bool is_idle(void *context, uint32_t site)
{
    (void)context;
    return site % 7 == 3;
}

static inline uint32_t group_of(void *context, uint32_t site)
{
    (void)context;
    return site % 4 == 1 ? TTAPE_NONE : site % 4;
}

/* Keys of calls: caller + 1 (0: none, 21: a signal) times 21 plus site. */
#define CALL_KEY(caller, site)                                                                     \
    (((caller) == TTAPE_NONE            ? 0u                                                       \
      : (caller) == TTAPE_REPORT_SIGNAL ? 21u                                                      \
                                        : (caller) + 1) *                                          \
         21u +                                                                                     \
     (site))

static inline uint32_t ttest_report_key_of(const struct ttest_asked *a, const struct ttest_frame *f,
                                           const struct ttest_frame *below)
{
    if (a->by == TTAPE_REPORT_BY_THREAD)
        return f->stream;
    if (a->by == TTAPE_REPORT_BY_PROCESS)
        return 0;
    if (f->site == TTAPE_NONE)
        return TTAPE_NONE;
    switch (a->by) {
    case TTAPE_REPORT_BY_MODULE:
    case TTAPE_REPORT_BY_FILE: return 0; /* the fixture has one of each */
    case TTAPE_REPORT_BY_GROUP: return group_of(NULL, f->site);
    case TTAPE_REPORT_BY_CALL:
        return CALL_KEY(below == NULL               ? TTAPE_NONE
                        : below->site == TTAPE_NONE ? TTAPE_REPORT_SIGNAL
                                                    : below->site,
                        f->site);
    default: return f->site;
    }
}

struct ttest_going {
    struct ttest_asked *a;
    struct ttest_model *m; /* frames of its own: made again */
    struct ttest_stacks st;
    uint32_t stream;
};

static inline uint32_t ttest_report_key_at(const struct ttest_going *g, uint32_t level)
{
    const size_t *frames = g->st.frame[g->st.current];
    return ttest_report_key_of(g->a, &g->m->frames[frames[level]],
                               level > 0 ? &g->m->frames[frames[level - 1]] : NULL);
}

static inline uint64_t ttest_report_cut(const struct ttest_asked *a, uint64_t time)
{
    if (!a->has_range)
        return time;
    return time < a->from ? a->from : time > a->to ? a->to : time;
}

static inline bool ttest_report_counts(const struct ttest_asked *a, uint64_t time)
{
    return !a->has_range || (time >= a->from && time < a->to);
}

/* The interval before an event: every key on the current stack once. */
static inline void ttest_report_pass(struct ttest_going *g, uint64_t before, uint64_t now)
{
    struct ttest_asked *a = g->a;
    int64_t step = (int64_t)(ttest_report_cut(a, now) - ttest_report_cut(a, before));
    uint32_t height = g->st.height[g->st.current];
    bool idle = false;
    for (uint32_t i = 0; i < height; i++) {
        uint32_t site = g->m->frames[g->st.frame[g->st.current][i]].site;
        idle = idle || (site != TTAPE_NONE && is_idle(NULL, site));
    }
    if (height > 0)
        g->m->frames[g->st.frame[g->st.current][height - 1]].self_ns += (int64_t)(now - before);
    a->span += step;
    a->idle += idle ? step : 0;
    if (a->by == TTAPE_REPORT_BY_THREAD || a->by == TTAPE_REPORT_BY_PROCESS)
        a->rows[a->by == TTAPE_REPORT_BY_THREAD ? g->stream : 0].span += step;
    for (uint32_t i = 0; i < height; i++) {
        uint32_t key = ttest_report_key_at(g, i);
        bool first = key != TTAPE_NONE;
        for (uint32_t k = 0; k < i; k++)
            first = first && ttest_report_key_at(g, k) != key;
        if (first)
            a->rows[key].total += step;
        if (first && idle)
            a->rows[key].idle += step;
        if (i + 1 == height && key != TTAPE_NONE)
            a->rows[key].self += step;
    }
}

static inline void ttest_report_end_frame(struct ttest_want *row, int64_t duration, int64_t own)
{
    row->own_least = row->exits == 0 || own < row->own_least ? own : row->own_least;
    row->own_most = row->exits == 0 || own > row->own_most ? own : row->own_most;
    row->least = row->exits == 0 || duration < row->least ? duration : row->least;
    row->most = row->exits == 0 || duration > row->most ? duration : row->most;
    row->exits++;
    row->durations += duration;
    row->squares = ttp_wide_add(row->squares, ttp_wide_square(duration));
    if (row->ended_count == row->ended_capacity) {
        row->ended_capacity = row->ended_capacity * 2 + 16;
        row->ended = realloc(row->ended, row->ended_capacity * sizeof *row->ended);
    }
    row->ended[row->ended_count++] = duration;
}

static inline void ttest_report_end_frames(struct ttest_going *g, const ttape_event *e)
{
    uint32_t height = g->st.height[g->st.current];
    for (uint32_t n = 1; n <= ttest_pops(e); n++) {
        const struct ttest_frame *f = &g->m->frames[g->st.frame[g->st.current][height - n]];
        uint32_t key = ttest_report_key_at(g, height - n);
        if (!ttest_is_known(f, e, n)) /* F-END-04 */
            continue;
        if (key != TTAPE_NONE && ttest_report_counts(g->a, e->time_ns))
            ttest_report_end_frame(&g->a->rows[key], (int64_t)(e->time_ns - f->enter_ns),
                                   f->self_ns);
    }
}

static inline void ttest_report_take_event(struct ttest_going *g, size_t event)
{
    const ttape_event *e = &g->m->streams[g->stream].events[event];
    struct ttest_asked *a = g->a;
    uint64_t before = g->m->streams[g->stream].events[event > 0 ? event - 1 : 0].time_ns;
    ttest_report_pass(g, before, e->time_ns);
    ttest_report_end_frames(g, e);
    ttest_apply(g->m, &g->st, g->stream, event);
    if (!ttest_report_counts(a, e->time_ns))
        return;
    if (a->by == TTAPE_REPORT_BY_THREAD || a->by == TTAPE_REPORT_BY_PROCESS)
        a->rows[a->by == TTAPE_REPORT_BY_THREAD ? g->stream : 0].events++;
    a->calls += e->kind == TTAPE_EVENT_ENTER;
    if (e->kind == TTAPE_EVENT_EXIT_UNSEEN && a->by != TTAPE_REPORT_BY_CALL) {
        const struct ttest_frame f = {.stream = g->stream, .site = e->site};
        uint32_t key = ttest_report_key_of(a, &f, NULL);
        if (key != TTAPE_NONE)
            a->rows[key].unseen++;
    }
    if (e->kind != TTAPE_EVENT_ENTER)
        return;
    uint32_t top = g->st.height[g->st.current] - 1, key = ttest_report_key_at(g, top);
    bool again = false;
    for (uint32_t i = 0; i < top; i++)
        again = again || ttest_report_key_at(g, i) == key;
    if (key != TTAPE_NONE) {
        a->rows[key].calls++;
        a->rows[key].recursions += again;
    }
}

static inline void ttest_report_ask_model(struct ttest_asked *a)
{
    struct ttest_model m = *a->model;
    m.frames = NULL;
    m.frame_count = m.frame_capacity = 0;
    for (uint32_t s = 0; s < m.stream_count; s++) {
        struct ttest_going g = {.a = a, .m = &m, .stream = s};
        for (size_t i = 0; (a->streams == NULL || a->streams[s]) && i < m.streams[s].count; i++)
            ttest_report_take_event(&g, i);
    }
    free(m.frames);
}

static inline void ttest_report_forget(struct ttest_asked *a)
{
    for (uint32_t i = 0; i < KEYS; i++)
        free(a->rows[i].ended);
    free(a);
}

/* ---- comparing ---- */

static inline uint32_t ttest_report_key_of_row(uint32_t by, const ttape_report_row *row)
{
    switch (by) {
    case TTAPE_REPORT_BY_THREAD: return row->stream;
    case TTAPE_REPORT_BY_PROCESS: return row->process;
    case TTAPE_REPORT_BY_MODULE: return row->module;
    case TTAPE_REPORT_BY_FILE: return 0;
    case TTAPE_REPORT_BY_GROUP: return row->group;
    case TTAPE_REPORT_BY_CALL: return CALL_KEY(row->caller, row->site);
    default: return row->site;
    }
}

static inline int ttest_report_compare_durations(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static inline void ttest_report_check_percentiles(const ttape_report *report, uint32_t row,
                                                  struct ttest_want *w)
{
    static const double shares[] = {0, 0.01, 0.25, 0.5, 0.9, 0.99, 1};
    int64_t found;
    if (w->exits == 0) {
        ck_assert_int_eq(ttape_report_get_percentile(report, row, 0.5, &found), TTAPE_E_NOT_FOUND);
        return;
    }
    qsort(w->ended, w->ended_count, sizeof *w->ended, ttest_report_compare_durations);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        size_t rank = 0;
        double place = shares[i] * (double)w->ended_count; /* rounded, whatever registers hold */
        while (rank + 1 < w->ended_count && (double)(rank + 1) < place)
            rank++;
        ck_assert_int_eq(ttape_report_get_percentile(report, row, shares[i], &found), TTAPE_OK);
        ck_assert_int_eq(found, w->ended[rank]);
    }
}

static inline void ttest_report_check_row(const struct ttest_asked *a, const ttape_report_row *row,
                                          const struct ttest_want *w)
{
    ck_assert_uint_eq(row->call_count, w->calls);
    ck_assert_uint_eq(row->exit_count, w->exits);
    ck_assert_int_eq(row->self_ns, w->self);
    ck_assert_int_eq(row->total_ns, w->total);
    ck_assert_int_eq(row->min_ns, w->least);
    ck_assert_int_eq(row->max_ns, w->most);
    ck_assert_int_eq(row->self_min_ns, a->self_times ? w->own_least : 0);
    ck_assert_int_eq(row->self_max_ns, a->self_times ? w->own_most : 0);
    ck_assert_uint_eq(row->squares.low, w->squares.low);
    ck_assert_uint_eq(row->squares.high, w->squares.high);
    ck_assert_uint_eq(row->event_count, w->events);
    ck_assert_int_eq(row->span_ns, w->span);
    if (row->idle_known)
        ck_assert_int_eq(row->idle_ns, w->idle);
    if (row->decoded) {
        ck_assert(row->idle_known);
        ck_assert_int_eq(row->duration_ns, w->durations);
        ck_assert_uint_eq(row->recursion_count, w->recursions);
        ck_assert_uint_eq(row->unseen_count, w->unseen);
    }
    if (a->by == TTAPE_REPORT_BY_FUNCTION && is_idle(NULL, row->site))
        ck_assert(row->idle_known);
}

static inline bool ttest_report_is_nothing(const struct ttest_want *w)
{
    return w->calls == 0 && w->exits == 0 && w->self == 0 && w->total == 0 && w->events == 0;
}

static inline void ttest_report_check_all(const ttape_report *report, struct ttest_asked *a,
                                          bool percentiles)
{
    uint32_t count, shown = 0;
    ttape_report_info info;
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    ttape_report_get_info(report, &info);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = ttest_report_key_of_row(a->by, &rows[i]);
        ck_assert_uint_lt(key, KEYS);
        ttest_report_check_row(a, &rows[i], &a->rows[key]);
        if (percentiles)
            ttest_report_check_percentiles(report, i, &a->rows[key]);
        if (i > 0)
            ck_assert_int_ge(rows[i - 1].total_ns, rows[i].total_ns);
    }
    for (uint32_t key = 0; key < KEYS; key++)
        shown += !ttest_report_is_nothing(&a->rows[key]);
    ck_assert_uint_eq(count, shown);
    ck_assert_uint_eq(info.row_count, count);
    ck_assert_uint_eq(info.call_count, a->calls);
    ck_assert_int_eq(info.span_ns, a->span);
    if (info.idle_known)
        ck_assert_int_eq(info.idle_ns, a->idle);
    else
        ck_assert_int_le(info.idle_ns, a->idle);
}

static inline struct ttest_asked *ttest_report_ask(const struct ttest_model *model,
                                                   const ttape_report_options *o)
{
    struct ttest_asked *a = calloc(1, sizeof *a);
    static bool streams[64];
    a->model = model;
    a->by = o->by;
    a->has_range = o->has_range;
    a->self_times = o->self_times;
    a->from = o->from_ns;
    a->to = o->to_ns;
    memset(streams, 0, sizeof streams);
    for (uint32_t i = 0; i < o->stream_count; i++)
        streams[o->streams[i]] = true;
    a->streams = o->streams != NULL ? streams : NULL;
    ttest_report_ask_model(a);
    return a;
}

static inline void check(ttape_reader *r, const struct ttest_model *model, ttape_report_options o)
{
    ttape_error err = {0};
    o.size = sizeof o;
    o.is_idle = is_idle;
    o.group = group_of;
    struct ttest_asked *a = ttest_report_ask(model, &o);
    for (uint32_t jobs = 1; jobs <= 4; jobs += 3) {
        ttape_report *report;
        o.jobs = jobs;
        TTEST_OK(ttape_report_make(&report, r, &o, &err));
        ttest_report_check_all(report, a, o.percentiles);
        ttape_report_close(report);
    }
    ttest_report_forget(a);
}

struct ttest_opened {
    struct ttest_file file;
    ttape_reader *reader;
    struct ttest_model model;
    ttape_info info;
};

static inline struct ttest_opened open_plan_with(int plan, bool measured)
{
    struct ttest_opened o = {.file = ttest_write_with(&ttest_plans[plan], measured)};
    o.reader = ttest_open(&o.file);
    o.model = ttest_model_of(o.reader);
    ttape_reader_get_info(o.reader, &o.info);
    return o;
}

static inline struct ttest_opened open_plan(int plan) { return open_plan_with(plan, false); }

static inline void close_plan(struct ttest_opened *o)
{
    ttest_model_close(&o->model);
    ttape_reader_close(o->reader);
    free(o->file.data);
}

#endif
