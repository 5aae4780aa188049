/* Programs: a model of the stacks knows what the writer must take. */
#include "fuzz_events.h"

#include <string.h>

#define SIGNAL (1u << 31) /* a frame of a signal: with its number; others are sites */

struct stack {
    uint32_t frames[FUZZ_FRAMES_MAX], count;
};

struct maker {
    struct fuzz_program *program;
    struct stack stacks[FUZZ_STREAMS][FUZZ_STACKS];
    uint32_t current[FUZZ_STREAMS], stream, site_count;
    uint64_t time_ns;
    uint32_t flush_count, flush_limit;
    bool flush;
};

static struct stack *running(struct maker *m)
{
    return &m->stacks[m->stream][m->current[m->stream]];
}

/* Leaves the innermost frame that is `frame`, and all in it; nothing where there is none. */
static bool leave(struct stack *s, uint32_t frame)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (s->frames[i] == frame) {
            s->count = i;
            return true;
        }
    return false;
}

static bool push(struct stack *s, uint32_t frame)
{
    if (s->count == FUZZ_FRAMES_MAX)
        return false;
    s->frames[s->count++] = frame;
    return true;
}

/* Turns the event into one that the stacks allow; a leaf where they don't. */
static void fit(struct maker *m, ttape_event *e, uint32_t operand)
{
    struct stack *s = running(m);
    uint32_t top = s->count > 0 ? s->frames[s->count - 1] : SIGNAL, n = 1 + operand % 3;
    bool fits = true;
    e->site = operand % m->site_count;
    e->argument = 0;
    switch (e->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN: fits = push(s, e->site); break;
    case TTAPE_EVENT_EXIT:
        e->site = operand >= 64 && !(top & SIGNAL) ? top : e->site;
        (void)leave(s, e->site);
        break;
    case TTAPE_EVENT_SIGNAL_BEGIN: fits = push(s, SIGNAL | (e->argument = operand)); break;
    case TTAPE_EVENT_SIGNAL_END:
        e->argument = (top & SIGNAL) && s->count > 0 ? top & ~SIGNAL : operand;
        fits = leave(s, SIGNAL | e->argument);
        break;
    case TTAPE_EVENT_UNWIND:
        fits = s->count >= n;
        s->count -= fits ? n : 0;
        e->argument = n;
        break;
    case TTAPE_EVENT_EXIT_ACROSS:
        fits = s->count > n && !(s->frames[s->count - 1 - n] & SIGNAL);
        e->site = fits ? s->frames[s->count - 1 - n] : e->site;
        s->count -= fits ? n + 1 : 0;
        e->argument = n;
        break;
    case TTAPE_EVENT_SWITCH: m->current[m->stream] = e->argument = operand % FUZZ_STACKS; break;
    case TTAPE_EVENT_GAP:
        e->argument = operand % 7;
        e->lost_count = operand / 7;
        break;
    default: break;
    }
    if (!fits)
        *e = (ttape_event){e->time_ns, 0, TTAPE_EVENT_LEAF, operand % m->site_count, 0, e->depth};
    bool has_site = e->kind <= TTAPE_EVENT_OPEN || e->kind == TTAPE_EVENT_EXIT_UNSEEN ||
                    e->kind == TTAPE_EVENT_EXIT_ACROSS;
    e->site = has_site ? e->site : TTAPE_NONE;
}

static void give_values(struct fuzz_step *step, uint32_t operand)
{
    static const char bytes[] = "text\x1b[31m\0\xff bytes";
    step->value_count = 1 + operand % FUZZ_VALUES_MAX;
    for (uint32_t i = 0; i < step->value_count; i++) {
        ttape_value *v = &step->values[i];
        *v = (ttape_value){.type = (operand + i) % 7};
        if (v->type == TTAPE_VALUE_BYTES || v->type == TTAPE_VALUE_STRING)
            v->bytes = (ttape_string){bytes, operand % sizeof bytes};
        else if (v->type != TTAPE_VALUE_NULL)
            v->number = 0 - (uint64_t)(operand >> 3) * UINT64_C(0x0123456789abcdef);
    }
}

static uint64_t elapsed(uint32_t code)
{
    return code < 200   ? code
           : code < 240 ? (code - 200) * 1000ull
                        : UINT64_C(1) << (code - 240) * 4;
}

static void step(struct maker *m, const uint8_t *bytes)
{
    static const uint8_t kinds[32] = {TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_ENTER,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_EXIT,
                                      TTAPE_EVENT_LEAF,
                                      TTAPE_EVENT_LEAF,
                                      TTAPE_EVENT_LEAF,
                                      TTAPE_EVENT_OPEN,
                                      TTAPE_EVENT_SIGNAL_BEGIN,
                                      TTAPE_EVENT_SIGNAL_END,
                                      TTAPE_EVENT_EXIT_UNSEEN,
                                      TTAPE_EVENT_UNWIND,
                                      TTAPE_EVENT_EXIT_ACROSS,
                                      TTAPE_EVENT_SWITCH,
                                      TTAPE_EVENT_GAP,
                                      255,
                                      254,
                                      253};
    uint32_t kind = kinds[bytes[0] & 31], operand = bytes[1];
    struct fuzz_program *p = m->program;
    if (kind == 255) {
        m->stream = operand % p->stream_count;
        return;
    }
    if (kind == 254) {
        m->flush = m->flush_count++ < m->flush_limit;
        return;
    }
    struct fuzz_step *to = &p->steps[p->step_count++];
    bool is_back = (bytes[0] & 128) && bytes[2] < 240;
    m->time_ns += is_back ? 0 - elapsed(bytes[2]) : elapsed(bytes[2]);
    *to = (struct fuzz_step){.stream = m->stream, .flush = m->flush};
    to->event = (ttape_event){.time_ns = m->time_ns, .kind = kind, .depth = TTAPE_DEPTH_AUTO};
    m->flush = false;
    if (kind == 253)
        to->event.kind = TTAPE_EVENT_LEAF;
    fit(m, &to->event, operand);
    if (bytes[0] & 32)
        to->event.depth = operand % 20;
    if ((bytes[0] & 64) && to->event.kind != TTAPE_EVENT_GAP)
        give_values(to, operand);
}

struct fuzz_program *fuzz_program_make(struct fuzz_input in, uint32_t most_steps,
                                       uint32_t most_partitions)
{
    static const uint64_t resolutions[] = {0, 1, 10, 64, 1000, TTAPE_TIME_NONE, 3, INT64_MAX};
    struct fuzz_input p = fuzz_part(&in, FUZZ_PROGRAM_BYTES);
    struct fuzz_program *program = fuzz_take(sizeof *program);
    struct maker *m = fuzz_take(sizeof *m);
    uint32_t level = fuzz_number(&p, 1) % 12;
    program->options = (ttape_writer_options){.size = sizeof(ttape_writer_options),
                                              .level = level < 10 ? (int32_t)level : 0,
                                              .literal = level >= 10};
    ttape_writer_options *o = &program->options;
    o->resolution_ns = resolutions[fuzz_number(&p, 1) % 8];
    o->partition_events = 1 + fuzz_number(&p, 2) % 4096;
    uint64_t limit = (uint64_t)most_partitions * o->partition_events;
    program->step_limit = limit < most_steps ? (uint32_t)limit : most_steps;
    m->flush_limit = most_partitions;
    o->jobs = fuzz_number(&p, 1) >= 240 ? 3 : 0;
    program->stream_count = 1 + fuzz_number(&p, 1) % FUZZ_STREAMS;
    program->site_count = 1 + fuzz_number(&p, 1) % FUZZ_SITES;
    o->model_period = fuzz_number(&p, 1);
    o->index_period = fuzz_number(&p, 1);
    o->chain_threshold = fuzz_number(&p, 1);
    o->origin_ns = fuzz_number(&p, 4);
    m->program = program;
    m->site_count = program->site_count;
    for (size_t at = 0; at + 3 <= in.size && program->step_count < program->step_limit; at += 3) {
        step(m, in.data + at);
        size_t back = 3 * (size_t)(in.data[at + 1] % 16), from = at > back ? at - back : 0;
        uint32_t again = (in.data[at] & 31) == 31 ? in.data[at + 2] : 0; /* the steps before it */
        for (; again > 0 && program->step_count < program->step_limit; again--)
            for (size_t s = from; s < at && program->step_count < program->step_limit; s += 3)
                step(m, in.data + s);
    }
    return program;
}
