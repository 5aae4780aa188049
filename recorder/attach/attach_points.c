/* Where the tasks of a process that stands still would go on: by their registers, and by what the
 * kernel has put aside for signal handlers, wherever on their stacks that lies. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "recorder/attach/attach_inside.h"

#define STACK_MOST (UINT64_C(8) << 20) /* of a stack that is looked through */
#define NESTED     16u                 /* handlers that run one within another, on other stacks */
#define USER_CODE  0x33u

/* Words of a handler's frame, from its return address on. */
enum frame_word {
    FRAME_FLAGS = 1,
    FRAME_LINK = 2,
    FRAME_SP = 21,
    FRAME_PLACE = 22,
    FRAME_SEGMENTS = 24,
    FRAME_WORDS = 25
};

static bool add_point(struct ttp_points *points, uint64_t at)
{
    if (points->count == points->capacity) {
        size_t wanted = points->capacity == 0 ? 256 : 2 * points->capacity;
        void *grown = realloc(points->list, wanted * sizeof *points->list);
        if (grown == NULL)
            return false;
        points->list = grown;
        points->capacity = wanted;
    }
    points->list[points->count++] = at;
    return true;
}

static bool is_in_ranges(const struct ttp_points *points, uint64_t word)
{
    struct ttp_bisect s = {.end = points->range_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, points->ranges[s.middle].high <= word);
    return s.first < points->range_count && points->ranges[s.first].low <= word;
}

/* A number that lies in the code, and may be a place there. */
static bool is_place(const struct ttp_points *points, uint64_t word)
{
    return (points->targets != NULL && ttp_targets_at(points->targets, word) != NULL) ||
           is_in_ranges(points, word);
}

/* Any word of it that would be a place in the code counts; *next: what the last handler found there
 * has interrupted. */
static bool look_through(struct ttp_points *points, const uint64_t *words, size_t count,
                         uint64_t *next)
{
    for (size_t i = 0; i < count; i++) {
        if (is_place(points, words[i]) && !add_point(points, words[i]))
            return false;
        if (i + FRAME_WORDS > count || words[i + FRAME_FLAGS] >= 16 || words[i + FRAME_LINK] != 0 ||
            (words[i + FRAME_SEGMENTS] & 0xffff) != USER_CODE)
            continue;
        *next = words[i + FRAME_SP];
        if (!add_point(points, words[i + FRAME_PLACE]))
            return false;
    }
    return true;
}

static bool look_at_stack(struct ttp_points *points, const struct ttp_stop *stop,
                          const struct ttp_maps *maps, uint64_t sp)
{
    for (uint32_t i = 0; i < NESTED && sp != 0; i++) {
        const struct ttp_map *map = ttp_maps_at(maps, sp);
        uint64_t from = sp & ~UINT64_C(7), next = 0;
        if (map == NULL || !map->can_read)
            return i > 0; /* words that look like a frame, and lead to no stack, are none */
        uint64_t bytes = map->end - from < STACK_MOST ? map->end - from : STACK_MOST;
        uint64_t *words = malloc(bytes);
        bool is_read = words != NULL && ttp_memory_read(stop->memory, from, words, bytes);
        bool is_seen = is_read && look_through(points, words, bytes / 8, &next);
        bool is_none = words != NULL && !is_read && i > 0;
        free(words);
        if (!is_seen)
            return is_none;
        sp = next >= map->start && next < map->end ? 0 : next; /* else it was seen with the rest */
    }
    return true;
}

static int compare_points(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

bool ttp_points_find(struct ttp_points *points, const struct ttp_stop *stop,
                     const struct ttp_maps *maps)
{
    points->count = 0;
    for (size_t i = 0; i < stop->count; i++) {
        const struct user_regs_struct *r = &stop->tasks[i].registers;
        bool is_in_call = (int64_t)r->orig_rax >= 0; /* which may begin anew, in front of it */
        if (!add_point(points, r->rip) || (is_in_call && !add_point(points, r->rip - 2)) ||
            !look_at_stack(points, stop, maps, r->rsp))
            return false;
    }
    if (points->count != 0)
        qsort(points->list, points->count, sizeof *points->list, compare_points);
    return true;
}

static bool has_task(const struct ttp_stop *stop, uint32_t thread_id)
{
    for (size_t i = 0; i < stop->count; i++)
        if ((uint32_t)stop->tasks[i].tid == thread_id)
            return true;
    return false;
}

/* The frames of one thread are added. What a thread that has ended left says nothing. */
static bool add_frames(struct ttp_points *points, const struct ttp_stop *stop,
                       const struct ttp_segment *segment, uint32_t number)
{
    uint64_t memory = segment->at + segment->states + (uint64_t)number * segment->state_bytes;
    uint64_t page = segment->at + segment->pages + (uint64_t)number * TTP_PAGE, state = 0, top = 0;
    uint64_t from = memory + TTP_AGENT_FRAMES_AT, most = segment->frame_count;
    uint32_t thread_id = 0;
    if (!ttp_memory_read(stop->memory, page + TTP_AGENT_ID_AT, &thread_id, sizeof thread_id))
        return false;
    if (thread_id == 0 || !has_task(stop, thread_id))
        return true;
    if (!ttp_memory_read(stop->memory, memory, &state, sizeof state) ||
        !ttp_memory_read(stop->memory, state + TTP_AGENT_TOP_AT, &top, sizeof top))
        return false;
    if (top - from >= most * TTP_AGENT_FRAME_BYTES)
        return true;
    size_t bytes = top - from + TTP_AGENT_FRAME_BYTES;
    uint8_t *frames = malloc(bytes);
    bool is_read = frames != NULL && ttp_memory_read(stop->memory, from, frames, bytes);
    for (size_t at = TTP_AGENT_FUNCTION_AT; is_read && at < bytes; at += TTP_AGENT_FRAME_BYTES) {
        uint64_t function;
        memcpy(&function, frames + at, sizeof function);
        is_read = add_point(points, function & TTP_AGENT_FUNCTION);
    }
    free(frames);
    return is_read;
}

bool ttp_points_find_open(struct ttp_points *points, const struct ttp_stop *stop,
                          const struct ttp_segment *segment)
{
    uint64_t begun = 0;
    uint64_t at = ttp_segment_shared(segment, offsetof(struct ttp_agent_shared, next_state));
    if (!ttp_memory_read(stop->memory, at, &begun, sizeof begun))
        return false;
    for (size_t i = 0; i < stop->count; i++)
        if (!add_point(points, stop->tasks[i].registers.rip))
            return false;
    for (uint32_t i = 0; i <= begun && i < segment->state_count; i++)
        if (!add_frames(points, stop, segment, i))
            return false;
    if (points->count != 0)
        qsort(points->list, points->count, sizeof *points->list, compare_points);
    return true;
}

bool ttp_points_hold(const struct ttp_points *points, uint64_t from, uint64_t end)
{
    struct ttp_bisect s = {.end = points->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, points->list[s.middle] < from);
    return s.first < points->count && points->list[s.first] < end;
}

void ttp_points_free(struct ttp_points *points)
{
    free(points->list);
    *points = (struct ttp_points){0};
}
