/* The model: stacks of frames per stream, nothing else. It knows no symbols, codes or ticks. */
#include "vector_trace.h"

#include <string.h>

static void must(ttape_status status, const ttape_error *err)
{
    ttest_require(status == TTAPE_OK, err->message);
}

struct ttest_trace *ttest_begin(const char *name, const char *notes,
                                const ttape_writer_options *options)
{
    struct ttest_trace *t = ttest_take(sizeof *t);
    ttape_error err = {0};
    if (options != NULL)
        t->options = *options;
    t->options.size = sizeof t->options;
    t->rows = ttest_take(TTEST_MAX_ROWS * sizeof *t->rows);
    t->expectation =
        (struct ttest_expectation){.name = name,
                                   .group = "writer",
                                   .notes = notes,
                                   .valid = true,
                                   .opens = true,
                                   .rule = "",
                                   .timed = t->options.resolution_ns != TTAPE_TIME_NONE,
                                   .rows = t->rows,
                                   .lost_partition = TTAPE_NONE};
    if (t->options.partition_events == 0)
        t->options.partition_events = 100000; /* below the default: less memory, same bytes */
    if (t->options.model_period == 0)
        t->options.model_period =
            UINT32_MAX; /* partitions that stand alone; vectors of models ask for them */
    ttape_sink sink = ttape_sink_memory(&t->memory);
    must(ttape_writer_open(&t->writer, &sink, &t->options, &err), &err);
    return t;
}

uint32_t ttest_add_site(struct ttest_trace *t, const ttape_site *site)
{
    ttape_error err = {0};
    uint32_t id;
    ttest_require(t->site_count < TTEST_MAX_SITES, "too many sites");
    must(ttape_writer_add_site(t->writer, site, &id, &err), &err);
    t->sites[t->site_count++] = *site;
    return id;
}

uint32_t ttest_site(struct ttest_trace *t, uint64_t address, ttape_site_kind kind,
                    const char *symbol)
{
    ttape_site site = {
        .address = address, .module = TTAPE_NONE, .kind = kind, .symbol = ttest_string(symbol)};
    return ttest_add_site(t, &site);
}

uint32_t ttest_process(struct ttest_trace *t, uint64_t pid, uint32_t parent, const char *name)
{
    ttape_process process = {.pid = pid, .parent = parent, .name = ttest_string(name)};
    ttape_error err = {0};
    uint32_t id;
    must(ttape_writer_add_process(t->writer, &process, &id, &err), &err);
    return id;
}

uint32_t ttest_stream(struct ttest_trace *t, uint32_t process, uint64_t tid, const char *name)
{
    ttape_stream stream = {.process = process, .tid = tid, .name = ttest_string(name)};
    ttape_error err = {0};
    uint32_t id;
    must(ttape_writer_add_stream(t->writer, &stream, &id, &err), &err);
    ttest_require(id < TTEST_MAX_STREAMS, "too many streams");
    t->streams[id].tid = tid;
    t->streams[id].stack_count = 1;
    t->expectation.stream_count = id + 1;
    return id;
}

/* What F-TIM-01 and F-TIM-02 make of a time. */
static uint64_t stored_time(const struct ttest_trace *t, uint64_t time_ns)
{
    if (!t->expectation.timed)
        return 0;
    uint64_t step = t->options.resolution_ns == 0 ? 1 : t->options.resolution_ns;
    int64_t since = (int64_t)(time_ns - t->options.origin_ns), rest = since % (int64_t)step;
    uint64_t above = (uint64_t)rest + (rest < 0 ? step : 0); /* the tick that is not after it */
    return time_ns - above + (above >= step - above ? step : 0);
}

static void pop(struct ttest_model_stack *stack, uint32_t count)
{
    ttest_require(stack->count >= count, "the model's stack is empty");
    stack->count -= count;
}

/* An exit that is not the top frame's: of one further out, or of one that was never seen. */
static void model_exit(struct ttest_model_stream *s, uint32_t site)
{
    struct ttest_model_stack *stack = &s->stacks[s->current];
    for (uint32_t i = stack->count; i-- > 0;)
        if (stack->frames[i].site == site) {
            pop(stack, stack->count - i);
            return;
        }
    if (stack->count == 0 && s->unknown > 0)
        s->unknown--;
}

static void model_switch(struct ttest_model_stream *s, uint32_t id)
{
    for (s->current = 0; s->current < s->stack_count; s->current++)
        if (s->stacks[s->current].id == id)
            return;
    ttest_require(s->stack_count < TTEST_MAX_STACKS, "too many stacks");
    s->stacks[s->stack_count++].id = id;
}

static void model_push(struct ttest_model_stream *s, uint32_t site, uint32_t signal)
{
    struct ttest_model_stack *stack = &s->stacks[s->current];
    ttest_require(stack->count < TTEST_MAX_FRAMES, "too many frames");
    stack->frames[stack->count++] = (struct ttest_model_frame){site, signal};
}

static bool pushes(uint32_t kind)
{
    return kind == TTAPE_EVENT_ENTER || kind == TTAPE_EVENT_OPEN ||
           kind == TTAPE_EVENT_SIGNAL_BEGIN;
}

/* Applies what an event does to the frames; pushes and switches act after the depth was taken
 * (F-EVT-05). */
static void model_before(struct ttest_model_stream *s, const ttape_event *e)
{
    struct ttest_model_stack *stack = &s->stacks[s->current];
    if (e->kind == TTAPE_EVENT_EXIT)
        model_exit(s, e->site);
    else if (e->kind == TTAPE_EVENT_EXIT_UNSEEN)
        s->unknown -= stack->count == 0 && s->unknown > 0;
    else if (e->kind == TTAPE_EVENT_SIGNAL_END)
        pop(stack, 1);
    else if (e->kind == TTAPE_EVENT_UNWIND)
        pop(stack, e->argument);
    else if (e->kind == TTAPE_EVENT_EXIT_ACROSS)
        pop(stack, e->argument + 1);
}

static uint32_t model_depth(struct ttest_model_stream *s, const ttape_event *e)
{
    bool exits = e->kind == TTAPE_EVENT_EXIT || e->kind == TTAPE_EVENT_EXIT_UNSEEN;
    if (!s->started && e->depth != TTEST_AUTO && s->stacks[s->current].count == 0)
        s->unknown = e->depth + exits;
    s->started = true;
    model_before(s, e);
    int64_t frames = (int64_t)s->unknown + s->stacks[s->current].count;
    if (e->depth != TTEST_AUTO)
        s->offset = (int64_t)e->depth - frames;
    int64_t depth = s->offset + frames;
    ttest_require(depth >= 0, "the model's depth is negative");
    if (pushes(e->kind))
        model_push(s, e->kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTAPE_NONE : e->site, e->argument);
    else if (e->kind == TTAPE_EVENT_SWITCH)
        model_switch(s, e->argument);
    return (uint32_t)depth;
}

static bool has_site(uint32_t kind)
{
    return kind != TTAPE_EVENT_SIGNAL_BEGIN && kind != TTAPE_EVENT_SIGNAL_END &&
           kind != TTAPE_EVENT_UNWIND && kind != TTAPE_EVENT_SWITCH && kind != TTAPE_EVENT_GAP;
}

/* An exit across is given without its site: it is that of the frame that exits. */
static uint32_t row_site(const struct ttest_model_stream *s, const ttape_event *e)
{
    const struct ttest_model_stack *stack = &s->stacks[s->current];
    if (e->kind == TTAPE_EVENT_EXIT_ACROSS)
        return stack->frames[stack->count - 1 - e->argument].site;
    return has_site(e->kind) ? e->site : TTAPE_NONE;
}

void ttest_event(struct ttest_trace *t, uint32_t stream, const ttape_event *event)
{
    ttape_error err = {0};
    struct ttest_model_stream *s = &t->streams[stream];
    ttest_require(t->expectation.row_count < TTEST_MAX_ROWS, "too many events");
    if (t->pending == t->options.partition_events) {
        t->expectation.partition_count++;
        t->pending = 0;
    }
    t->pending++;
    must(ttape_writer_append(t->writer, stream, event, 1, &err), &err);
    uint32_t site = row_site(s, event);
    uint64_t time_ns = stored_time(t, event->time_ns);
    struct ttest_row *row = &t->rows[t->expectation.row_count++];
    *row = (struct ttest_row){.stream = stream,
                              .rank = stream,
                              .partition = t->expectation.partition_count,
                              .tid = s->tid,
                              .time_ns = time_ns,
                              .has_site = site != TTAPE_NONE};
    uint32_t site_kind = TTAPE_SITE_FUNCTION;
    if (row->has_site) {
        row->address = t->sites[site].address;
        row->symbol = t->sites[site].symbol;
        site_kind = t->sites[site].kind;
    }
    row->kind = ttape_event_kind_name(event->kind, site_kind);
    row->depth = model_depth(s, event);
}

void ttest_enter(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site)
{
    ttape_event e = {
        .time_ns = time_ns, .kind = TTAPE_EVENT_ENTER, .site = site, .depth = TTEST_AUTO};
    ttest_event(t, stream, &e);
}

void ttest_exit(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site)
{
    ttape_event e = {
        .time_ns = time_ns, .kind = TTAPE_EVENT_EXIT, .site = site, .depth = TTEST_AUTO};
    ttest_event(t, stream, &e);
}

void ttest_leaf(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t site)
{
    ttape_event e = {
        .time_ns = time_ns, .kind = TTAPE_EVENT_LEAF, .site = site, .depth = TTEST_AUTO};
    ttest_event(t, stream, &e);
}

void ttest_special(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t kind,
                   uint32_t argument)
{
    ttape_event e = {.time_ns = time_ns,
                     .kind = kind,
                     .site = TTAPE_NONE,
                     .argument = argument,
                     .depth = TTEST_AUTO};
    ttest_event(t, stream, &e);
}

void ttest_gap(struct ttest_trace *t, uint32_t stream, uint64_t time_ns, uint32_t reason,
               uint64_t count)
{
    ttape_event e = {.time_ns = time_ns,
                     .lost_count = count,
                     .kind = TTAPE_EVENT_GAP,
                     .site = TTAPE_NONE,
                     .argument = reason,
                     .depth = TTEST_AUTO};
    ttest_event(t, stream, &e);
}

void ttest_attach(struct ttest_trace *t, uint32_t stream, const ttape_value *values, size_t count)
{
    ttape_error err = {0};
    must(ttape_writer_attach(t->writer, stream, values, count, &err), &err);
}

void ttest_add_off(struct ttest_trace *t, uint32_t stream, const ttape_off_span *spans,
                   size_t count)
{
    ttape_error err = {0};
    must(ttape_writer_add_off(t->writer, stream, spans, count, &err), &err);
}

void ttest_flush(struct ttest_trace *t)
{
    ttape_error err = {0};
    must(ttape_writer_flush(t->writer, false, &err), &err);
    t->expectation.partition_count += t->pending != 0;
    t->pending = 0;
}

struct ttest_bytes ttest_finish(struct ttest_trace *t)
{
    ttape_error err = {0};
    struct ttest_bytes file = {0};
    must(ttape_writer_finish(t->writer, &err), &err);
    t->expectation.partition_count += t->pending != 0;
    t->pending = 0;
    ttape_writer_close(t->writer);
    ttest_put(&file, t->memory.data, t->memory.size_bytes);
    ttape_memory_sink_close(&t->memory);
    return file;
}
