/* Suffixes in rounds: each goes on where a look may cost a little more than in the one before. */
#include <string.h>

#include "program/context/deep.h"

#define ROUND     (TOOL_SEARCH_COST_BIT * 3 / 2) /* what a round may cost more */
#define RING      32u
#define HITS_MOST 8u /* rests whose suffixes are searched */
#define LOOK      6u /* times the time of a call that is tried */
#define FRAMES    130u
#define BETWEEN   65536u /* calls that are tried, two questions whether to go on */

/* A suffix. */
struct frame {
    struct tool_row_place place;
    uint64_t value; /* of the rest */
    uint32_t cost, news, left;
};

struct rounds {
    const struct tool_deep *deep;
    const uint32_t *costs; /* by innermost function */
    uint64_t value;
    uint32_t depth, least, most; /* what a look costs in this round */
    uint64_t tried, looked, tried_most;
    uint64_t ring[RING];
    uint32_t ring_left[RING];
    size_t ring_count;
    uint32_t hits;
    tool_deep_take take;
    void *context;
    bool is_over, is_cut;   /* dearer ones are left */
    const uint64_t *target; /* a rest whose suffix is asked for, and not looked up */
    uint32_t target_left;
    struct frame frames[FRAMES];
};

static void walk_rounds(struct rounds *rounds);

/* The suffix of a rest that the table has, by walking the round again. */
static void find_values(struct rounds *rounds, uint64_t value, uint32_t left)
{
    struct rounds again = {.deep = rounds->deep,
                           .costs = rounds->costs,
                           .value = rounds->value,
                           .depth = rounds->depth,
                           .least = rounds->least,
                           .most = rounds->most,
                           .tried_most = rounds->tried_most,
                           .take = rounds->take,
                           .context = rounds->context,
                           .target = &value,
                           .target_left = left};
    walk_rounds(&again);
    rounds->tried += again.tried;
    rounds->is_over |= again.is_over || ++rounds->hits == HITS_MOST;
}

static void check_place(struct rounds *rounds, size_t at)
{
    if (tool_deep_has(rounds->deep, rounds->ring[at % RING]))
        find_values(rounds, rounds->ring[at % RING], rounds->ring_left[at % RING]);
}

/* Looks a suffix's rest up, when its line is there. */
static void look_up(struct rounds *rounds, uint32_t count)
{
    const struct frame *frame = &rounds->frames[count];
    if (rounds->target != NULL) {
        uint32_t functions[FRAMES];
        if (frame->value != *rounds->target || frame->left != rounds->target_left)
            return;
        for (uint32_t i = 1; i <= count; i++)
            functions[i - 1] = rounds->frames[i].place.function;
        const struct tool_deep_found found = {functions, count, frame->value, frame->left};
        rounds->is_over |= !rounds->take(rounds->context, &found);
        return;
    }
    size_t at = rounds->ring_count++;
    if (at >= RING)
        check_place(rounds, at);
    rounds->ring[at % RING] = frame->value;
    rounds->ring_left[at % RING] = frame->left;
    __builtin_prefetch(tool_deep_line(rounds->deep, frame->value));
    rounds->looked++;
}

static bool is_ordered(const struct tool_deep *deep, const struct frame *frame)
{
    return frame->left < deep->order.depths;
}

/* Functions behind no row are the last states. */
static bool next_around(const struct tool_deep *deep, struct frame *frame,
                        struct tool_row_next *next)
{
    const uint16_t *rests =
        deep->rests + (frame->left - 1) * deep->state_count + deep->outwards->row_count;
    return is_ordered(deep, frame)
               ? tool_way_order_next(&deep->order, rests, frame->left, &frame->place, next)
               : tool_rows_next(deep->outwards, &frame->place, next);
}

/* Goes on from a suffix of `count` functions; false: that one is not likely enough. */
static bool enter_rows(struct rounds *rounds, uint32_t count, const struct tool_row_next *next)
{
    const struct tool_deep *deep = rounds->deep;
    const struct frame *inner = &rounds->frames[count];
    struct frame *frame = &rounds->frames[count + 1];
    uint32_t cost = inner->cost + next->cost, left = inner->left - 1;
    size_t state = left * deep->state_count + tool_deep_state(deep, next->function, next->row);
    if (inner->news + next->is_new > deep->news_most)
        return false;
    if (cost + deep->rests[state] > rounds->most) {
        rounds->is_cut |= deep->rests[state] != UINT16_MAX;
        return false;
    }
    *frame = (struct frame){
        .place = {.function = next->function, .row = next->row},
        .value = ttape_context_leave(TTAPE_CONTEXT_AFFINE, inner->value, deep->ids[next->function]),
        .cost = cost,
        .news = inner->news + next->is_new,
        .left = left};
    uint32_t costs = cost + deep->looks[state];
    if (costs > rounds->least && costs <= rounds->most)
        look_up(rounds, count + 1);
    return true;
}

static bool goes_on(const struct rounds *rounds)
{
    const ttape_watch *watch = rounds->deep->watch;
    return watch->goes_on(watch->context, rounds->tried, rounds->tried_most);
}

/* All suffixes of this round that end in one function. */
static void walk_from(struct rounds *rounds, uint32_t function)
{
    const struct tool_deep *deep = rounds->deep;
    const struct tool_row_next first = {function, deep->outwards->of_function[function],
                                        rounds->costs[function], false};
    uint32_t count = 1;
    if (!enter_rows(rounds, 0, &first))
        return;
    while (count > 0 && !rounds->is_over) {
        struct frame *frame = &rounds->frames[count];
        struct tool_row_next next;
        if (frame->left == 0 || count + 1 == FRAMES || !next_around(deep, frame, &next)) {
            count--;
        } else if (frame->cost + next.cost > rounds->most) {
            rounds->is_cut = true;
            count--;
        } else if (enter_rows(rounds, count, &next)) {
            count++;
        } else if (is_ordered(deep, frame)) { /* nor are those behind it */
            count--;
        }
        if (++rounds->tried + LOOK * rounds->looked > rounds->tried_most ||
            (rounds->tried % BETWEEN == 0 && !goes_on(rounds)))
            rounds->is_over = true;
    }
}

static void walk_rounds(struct rounds *rounds)
{
    rounds->frames[0] = (struct frame){.value = rounds->value, .left = rounds->depth};
    for (uint32_t i = 1; i < rounds->deep->edges->function_count && !rounds->is_over; i++)
        walk_from(rounds, i);
    size_t begin = rounds->ring_count < RING ? 0 : rounds->ring_count - RING;
    for (size_t at = begin; at < rounds->ring_count; at++)
        check_place(rounds, at);
    rounds->ring_count = 0;
}

uint64_t tool_deep_run(const struct tool_deep *deep, uint64_t value, uint32_t depth,
                       const uint32_t *costs, uint64_t looks_most, tool_deep_take take,
                       void *context)
{
    struct rounds rounds = {.deep = deep,
                            .costs = costs,
                            .value = value,
                            .depth = depth,
                            .tried_most = looks_most * LOOK,
                            .take = take,
                            .context = context};
    uint32_t least = UINT32_MAX;
    if (depth == 0 || depth >= deep->depths)
        return 0;
    for (uint32_t i = 1; i < deep->edges->function_count; i++) {
        uint32_t rest = deep->rests[(depth - 1) * deep->state_count +
                                    tool_deep_state(deep, i, deep->outwards->of_function[i])];
        if (rest != UINT16_MAX && costs[i] + rest < least)
            least = costs[i] + rest;
    }
    rounds.is_cut = least != UINT32_MAX;
    for (rounds.most = least; rounds.is_cut && !rounds.is_over && rounds.most < UINT16_MAX / 2;) {
        rounds.least = rounds.most == least ? 0 : rounds.most;
        rounds.most += ROUND;
        rounds.is_cut = false;
        walk_rounds(&rounds);
    }
    return rounds.looked;
}
