/* What reports and trees must say, worked out from events one by one, as slowly and plainly as
 * possible: every event looks at every frame. */
#ifndef TTEST_ANALYSIS_FIXTURE_H
#define TTEST_ANALYSIS_FIXTURE_H

#include "tests/unit/test_reader_fixture.h"

#define TTEST_STACKS 3u
#define TTEST_DEPTH  128u

struct ttest_frame {
    uint32_t stream, site, kind, argument, stack, level;
    uint64_t event, enter_ns, end_ns;
    int64_t self_ns;
    uint64_t calls, events; /* below it; and on its stack while it is there, its own included */
    bool ended, is_known;   /* known: how long it was, as it ended (F-END-04) */
};

struct ttest_stream {
    ttape_event *events;
    size_t count;
};

struct ttest_model {
    struct ttest_stream *streams;
    uint32_t stream_count;
    struct ttest_frame *frames; /* by stream and event */
    size_t frame_count, frame_capacity;
};

/* Frames that are open, while a stream's events are gone through; `frame`: in model->frames. */
struct ttest_stacks {
    size_t frame[TTEST_STACKS][TTEST_DEPTH];
    uint32_t height[TTEST_STACKS], current;
};

static inline uint32_t ttest_pops(const ttape_event *e)
{
    switch (e->kind) {
    case TTAPE_EVENT_EXIT:
    case TTAPE_EVENT_SIGNAL_END: return 1;
    case TTAPE_EVENT_EXIT_ACROSS: return e->argument + 1;
    case TTAPE_EVENT_UNWIND: return e->argument;
    default: return 0;
    }
}

/* Whether it is known how long a frame was that the event ends as the nth, the innermost first. */
static inline bool ttest_is_known(const struct ttest_frame *f, const ttape_event *e, uint32_t n)
{
    bool unwinds = e->kind == TTAPE_EVENT_UNWIND || e->kind == TTAPE_EVENT_EXIT_ACROSS;
    return f->kind != TTAPE_EVENT_OPEN && (!unwinds || n > e->argument || e->lost_count == 0);
}

static inline bool ttest_pushes(const ttape_event *e)
{
    return e->kind == TTAPE_EVENT_ENTER || e->kind == TTAPE_EVENT_OPEN ||
           e->kind == TTAPE_EVENT_SIGNAL_BEGIN;
}

static inline void ttest_read_events(ttape_reader *r, struct ttest_model *m)
{
    ttape_info info;
    ttape_error err = {0};
    ttape_reader_get_info(r, &info);
    m->stream_count = info.stream_count;
    m->streams = calloc(info.stream_count, sizeof *m->streams);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        ttape_cursor *c;
        ttape_stream_info about;
        size_t got;
        ttape_reader_get_stream(r, s, &about);
        m->streams[s].events = malloc((about.event_count + 1) * sizeof(ttape_event));
        TTEST_OK(ttape_cursor_open(&c, r, s, &err));
        while (ttape_cursor_next_events(c, m->streams[s].events + m->streams[s].count,
                                        about.event_count - m->streams[s].count + 1, &got,
                                        &err) == TTAPE_OK)
            m->streams[s].count += got;
        ttape_cursor_close(c);
        ck_assert_uint_eq(m->streams[s].count, about.event_count);
    }
}

static inline void ttest_push_frame(struct ttest_model *m, struct ttest_stacks *st, uint32_t stream,
                                    size_t event)
{
    const ttape_event *e = &m->streams[stream].events[event];
    if (m->frame_count == m->frame_capacity) {
        m->frame_capacity = m->frame_capacity * 2 + 64;
        m->frames = realloc(m->frames, m->frame_capacity * sizeof *m->frames);
    }
    uint32_t stack = st->current, level = st->height[stack];
    ck_assert_uint_lt(level, TTEST_DEPTH);
    for (uint32_t i = 0; i < level; i++)
        m->frames[st->frame[stack][i]].calls += e->kind == TTAPE_EVENT_ENTER;
    m->frames[m->frame_count] =
        (struct ttest_frame){.stream = stream,
                             .site = e->kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTAPE_NONE : e->site,
                             .kind = e->kind,
                             .argument = e->kind == TTAPE_EVENT_SIGNAL_BEGIN ? e->argument : 0,
                             .stack = stack,
                             .level = level,
                             .event = event,
                             .enter_ns = e->time_ns,
                             .end_ns = e->time_ns,
                             .events = 1};
    st->frame[stack][st->height[stack]++] = m->frame_count++;
}

/* The effect of an event on the stacks. */
static inline void ttest_apply(struct ttest_model *m, struct ttest_stacks *st, uint32_t stream,
                               size_t event)
{
    const ttape_event *e = &m->streams[stream].events[event];
    uint32_t stack = st->current;
    for (uint32_t i = 0; i < st->height[stack]; i++)
        m->frames[st->frame[stack][i]].events++;
    for (uint32_t n = ttest_pops(e); n > 0; n--) {
        struct ttest_frame *f = &m->frames[st->frame[stack][--st->height[stack]]];
        f->ended = true;
        f->is_known = ttest_is_known(f, e, ttest_pops(e) - n + 1);
        f->end_ns = e->time_ns;
    }
    if (ttest_pushes(e))
        ttest_push_frame(m, st, stream, event);
    if (e->kind == TTAPE_EVENT_SWITCH)
        st->current = e->argument;
}

static inline void ttest_find_frames(struct ttest_model *m)
{
    for (uint32_t s = 0; s < m->stream_count; s++) {
        struct ttest_stacks st = {0};
        const struct ttest_stream *stream = &m->streams[s];
        for (size_t i = 0; i < stream->count; i++) {
            uint64_t before = stream->events[i > 0 ? i - 1 : 0].time_ns;
            if (st.height[st.current] > 0)
                m->frames[st.frame[st.current][st.height[st.current] - 1]].self_ns +=
                    (int64_t)(stream->events[i].time_ns - before);
            ttest_apply(m, &st, s, i);
        }
        for (uint32_t k = 0; k < TTEST_STACKS; k++)
            for (uint32_t i = 0; i < st.height[k]; i++)
                m->frames[st.frame[k][i]].end_ns = stream->events[stream->count - 1].time_ns;
    }
}

static inline struct ttest_model ttest_model_of(ttape_reader *r)
{
    struct ttest_model m = {0};
    ttest_read_events(r, &m);
    ttest_find_frames(&m);
    return m;
}

static inline void ttest_model_close(struct ttest_model *m)
{
    for (uint32_t s = 0; s < m->stream_count; s++)
        free(m->streams[s].events);
    free(m->streams);
    free(m->frames);
}

/* Traces with everything in them, and one of each plainer kind. */
static const struct ttest_plan ttest_plans[] = {
    {.streams = 1, .events = 1800, .partition_events = 60, .plain = true},
    {.streams = 3, .events = 2400, .partition_events = 100, .plain = true},
    {.streams = 1, .events = 2000, .partition_events = 50},
    {.streams = 3, .events = 2600, .partition_events = 60},
    {.streams = 4, .events = 3000, .partition_events = 200, .resolution_ns = 64},
    {.streams = 2, .events = 1500, .partition_events = 70, .resolution_ns = TTAPE_TIME_NONE},
    {.streams = 1,
     .events = 2000,
     .partition_events = 100,
     .resolution_ns = TTAPE_TIME_NONE,
     .plain = true},
    {.streams = 5, .events = 2500, .partition_events = 100000},
    {.streams = 3, .events = 1200, .partition_events = 5, .literal = true},
    {.streams = 9, .events = 2400, .partition_events = 150, .model_period = 4},
};
#define TTEST_PLANS ((int)(sizeof ttest_plans / sizeof ttest_plans[0]))

#endif
