/* Looking up frames of a record by place. Lists are sorted by stack, outermost first; the common
 * beginning of both edges is kept once. Behind it a frame of another stack can still be the same on
 * both sides: entered at the same time at the same place. */
#include "reader/tree_internal.h"

const struct ttp_tree_frame *ttp_tree_start_frame(const struct ttp_tree_part *part,
                                                  const struct ttp_tree_segment *segment,
                                                  uint32_t number)
{
    return &part->frames[segment->start_first + number];
}

const struct ttp_tree_frame *ttp_tree_end_frame(const struct ttp_tree_part *part,
                                                const struct ttp_tree_segment *segment,
                                                uint32_t number)
{
    return number < segment->kept ? &part->frames[segment->start_first + number]
                                  : &part->frames[segment->added_first + number - segment->kept];
}

typedef const struct ttp_tree_frame *(*frame_at)(const struct ttp_tree_part *part,
                                                 const struct ttp_tree_segment *segment,
                                                 uint32_t number);

/* The first frame of a stack, or of one behind it. */
static uint32_t first_of(const struct ttp_tree_part *part, const struct ttp_tree_segment *segment,
                         frame_at at, uint32_t count, uint64_t stack)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (at(part, segment, middle)->stack < stack)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t find(const struct ttp_tree_part *part, const struct ttp_tree_segment *segment,
                     frame_at at, uint32_t count, uint32_t stack, uint32_t level)
{
    uint32_t first = first_of(part, segment, at, count, stack);
    if (level >= count - first || at(part, segment, first + level)->stack != stack)
        return TTP_NO_PLACE;
    return first + level;
}

uint32_t ttp_tree_start_at(const struct ttp_tree_part *part, const struct ttp_tree_segment *segment,
                           uint32_t stack, uint32_t level)
{
    return find(part, segment, ttp_tree_start_frame, segment->start_count, stack, level);
}

uint32_t ttp_tree_end_at(const struct ttp_tree_part *part, const struct ttp_tree_segment *segment,
                         uint32_t stack, uint32_t level)
{
    return find(part, segment, ttp_tree_end_frame, segment->end_count, stack, level);
}

uint32_t ttp_tree_level(const struct ttp_tree_part *part, const struct ttp_tree_segment *segment,
                        uint32_t number, bool at_start)
{
    frame_at at = at_start ? ttp_tree_start_frame : ttp_tree_end_frame;
    uint32_t count = at_start ? segment->start_count : segment->end_count;
    return number - first_of(part, segment, at, count, at(part, segment, number)->stack);
}

uint32_t ttp_tree_start_height(const struct ttp_tree_part *part,
                               const struct ttp_tree_segment *segment, uint32_t stack)
{
    return first_of(part, segment, ttp_tree_start_frame, segment->start_count, stack + 1ull) -
           first_of(part, segment, ttp_tree_start_frame, segment->start_count, stack);
}

static bool is_same(const struct ttp_tree_frame *a, const struct ttp_tree_frame *b)
{
    return a->enter_ns == b->enter_ns && a->kind == b->kind && a->site == b->site &&
           a->argument == b->argument;
}

uint32_t ttp_tree_stay_height(const struct ttp_tree_part *part,
                              const struct ttp_tree_segment *segment, uint32_t stack)
{
    if (segment->one_stack)
        return stack == 0 ? segment->kept : 0;
    uint32_t start = first_of(part, segment, ttp_tree_start_frame, segment->start_count, stack);
    uint32_t height = ttp_tree_start_height(part, segment, stack), level = 0;
    if (start < segment->kept)
        level = segment->kept - start < height ? segment->kept - start : height;
    /* Without times one frame cannot be told from the next at its place. */
    bool timed = segment->base_ns != segment->end_ns;
    while (timed && level < height) {
        uint32_t end = ttp_tree_end_at(part, segment, stack, level);
        if (end == TTP_NO_PLACE || !is_same(ttp_tree_start_frame(part, segment, start + level),
                                            ttp_tree_end_frame(part, segment, end)))
            break;
        level++;
    }
    return level;
}
