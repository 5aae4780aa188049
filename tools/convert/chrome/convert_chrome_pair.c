/* The converter for Chrome trace JSON: B and E, in the order of time, become calls with begin and
 * end, before anything is nested: which of two calls is around the other one can depend on their
 * ends.
 *
 * An E ends the innermost open call of its name, one without a name the innermost of all. What is
 * open inside that call and has no E of its own was left: it ends there, too. At one time the
 * file's order is a hint, since clocks count whole microseconds and writers sort by time alone:
 *
 *   - E's stand in any order: an E of an inner call that comes behind that of an outer one at the
 *     same time still ends the inner call;
 *   - an E may stand before its own B: where no other E ends the call, it is one of length 0;
 *   - B's stand in any order: a call that began at the same time as the one that ends, or as it
 *     ends, may still get an E of its own later (`left`).
 *
 * Points and X of length 0 get their order among these. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/chrome/convert_chrome.h"

#define SEARCH_MAX 4096u /* frames in which an E's name is looked for */
#define AHEAD_MAX  1024u /* records of one time among which another one is looked for */
#define LEFT_MAX   256u  /* of a thread: older ones get no E any more */

struct open_call {
    struct tool_chrome_item item;
    bool has_spare; /* an E of its name stood before it at its time: */
    struct tool_chrome_record spare;
};

/* A call without an E so far, inside of one that has ended. */
struct left_call {
    struct tool_chrome_item item; /* ends where it was left */
    size_t depth;                 /* of the call that ended */
};

struct calls {
    struct open_call *open;
    size_t count, capacity;
    struct left_call *left;
    size_t left_count, left_capacity;
    uint64_t order; /* next one */
};

struct pairing {
    struct tool_chrome *chrome;
    struct calls *threads;
    struct tool_chrome_record *group; /* of one thread at one time */
    size_t count, capacity;
    bool *is_taken;    /* an E of the group that has ended its call already */
    uint32_t *spare;   /* the place + 1 of the E that stands before a B of the group */
    size_t mark_count; /* of both */
    bool failed;
};

static void put_item(struct pairing *pairing, const struct tool_chrome_item *item)
{
    pairing->failed = pairing->failed || !tool_sorter_add(pairing->chrome->items, item);
}

static void put_unseen(struct pairing *pairing, const struct tool_chrome_record *end,
                       uint64_t order)
{
    if (end->site == TTAPE_NONE) {
        pairing->chrome->unmatched_count++;
        return;
    }
    const struct tool_chrome_item item = {.begin = end->time,
                                          .end = end->time,
                                          .sequence = end->sequence,
                                          .order = order,
                                          .values = end->values,
                                          .thread = end->thread,
                                          .site = end->site,
                                          .kind = TOOL_CHROME_UNSEEN};
    put_item(pairing, &item);
}

/* ---- ends ---- */

static void end_call(struct pairing *pairing, struct open_call *call,
                     const struct tool_chrome_record *end, uint64_t order)
{
    struct tool_chrome_item *item = &call->item;
    if (call->has_spare)
        put_unseen(pairing, &call->spare, item->order);
    item->end = end->time;
    item->end_values = end->values;
    item->end_order = order;
    put_item(pairing, item);
}

/* Its E stood before it, at the same time. */
static void end_by_spare(struct pairing *pairing, struct open_call *call)
{
    call->item.end = call->item.begin;
    call->item.end_values = call->spare.values;
    call->item.end_order = call->item.order + 1;
    put_item(pairing, &call->item);
}

static void leave_call(struct pairing *pairing, struct calls *calls, struct open_call *call,
                       size_t depth, uint64_t time, uint64_t outer_begin)
{
    call->item.end = time;
    call->item.is_left = true;
    if (call->item.begin != time && call->item.begin != outer_begin) {
        put_item(pairing, &call->item);
        return;
    }
    if (calls->left_count == LEFT_MAX) {
        put_item(pairing, &calls->left[0].item);
        memmove(calls->left, calls->left + 1, --calls->left_count * sizeof(*calls->left));
    }
    tool_grow((void **)&calls->left, &calls->left_capacity, calls->left_count + 1,
              sizeof(*calls->left));
    calls->left[calls->left_count++] = (struct left_call){call->item, depth};
}

/* It has not been left after all. */
static void end_left(struct calls *calls, struct tool_chrome_item *item,
                     const struct tool_chrome_record *end)
{
    item->is_left = false;
    item->end = end->time;
    item->end_values = end->values;
    item->end_order = calls->order++;
}

static size_t ahead_of(const struct pairing *pairing, size_t at)
{
    return pairing->count - at > AHEAD_MAX ? at + AHEAD_MAX : pairing->count;
}

/* The place of an E for an open call of a site in the rest of the group: not of one that B's there
 * need. One without a name does where only E's are before it. The group's size: there is none. */
static size_t find_end(const struct pairing *pairing, size_t at, uint32_t site)
{
    size_t begins = 0, nameless = pairing->count;
    bool has_begun = false;
    for (size_t i = at + 1; i < ahead_of(pairing, at); i++) {
        const struct tool_chrome_record *record = &pairing->group[i];
        if (pairing->is_taken[i])
            continue;
        has_begun = has_begun || record->phase == 'B';
        if (record->phase == 'B' && record->site == site)
            begins++;
        if (record->phase != 'E')
            continue;
        if (record->site == TTAPE_NONE && !has_begun && nameless == pairing->count)
            nameless = i;
        if (record->site == site && begins-- == 0)
            return i;
    }
    return nameless;
}

/* The place of a B in the rest of the group for an E that ends nothing. */
static size_t find_begin(const struct pairing *pairing, size_t at, uint32_t site)
{
    for (size_t i = at + 1; i < ahead_of(pairing, at); i++) {
        const struct tool_chrome_record *record = &pairing->group[i];
        if (record->phase == 'B' && pairing->spare[i] == 0 &&
            (site == TTAPE_NONE || record->site == site))
            return i;
    }
    return pairing->count;
}

/* A call around those that were left ends: they get their E's of this time, or none any more, if
 * they do not begin as it does, or now: then they may be around it, or behind it. */
static void give_up(struct pairing *pairing, struct calls *calls, size_t index, size_t at)
{
    uint64_t begin = calls->open[index].item.begin, now = pairing->group[at].time;
    size_t first = calls->left_count, kept;
    while (first > 0 && calls->left[first - 1].depth > index)
        first--;
    kept = first;
    for (size_t i = first; i < calls->left_count; i++) {
        struct tool_chrome_item *item = &calls->left[i].item;
        size_t own = find_end(pairing, at, item->site);
        bool has_end = own < pairing->count && pairing->group[own].site == item->site;
        if (has_end) {
            pairing->is_taken[own] = true;
            end_left(calls, item, &pairing->group[own]);
        } else if (item->begin == now || item->begin == begin) {
            calls->left[kept++] = (struct left_call){*item, index};
            continue;
        }
        put_item(pairing, item);
    }
    calls->left_count = kept;
}

/* The call at a place of the stack gets the E at a place of the group. */
static void end_at(struct pairing *pairing, struct calls *calls, size_t index, size_t at)
{
    const struct tool_chrome_record *end = &pairing->group[at];
    uint64_t begin = calls->open[index].item.begin;
    give_up(pairing, calls, index, at);
    while (calls->count > index + 1) {
        struct open_call *inner = &calls->open[--calls->count];
        size_t own = find_end(pairing, at, inner->item.site);
        if (own < pairing->count) {
            pairing->is_taken[own] = true;
            end_call(pairing, inner, &pairing->group[own], calls->order++);
        } else if (inner->has_spare) {
            end_by_spare(pairing, inner);
        } else {
            leave_call(pairing, calls, inner, index, end->time, begin);
        }
    }
    end_call(pairing, &calls->open[--calls->count], end, calls->order++);
}

/* An E of a call that was left, if it is further in than what else it could end. */
static bool take_left_end(struct pairing *pairing, struct calls *calls, size_t depth,
                          const struct tool_chrome_record *end)
{
    for (size_t i = calls->left_count; i-- > 0;) {
        struct left_call *left = &calls->left[i];
        if (left->item.site != end->site || left->depth < depth)
            continue;
        end_left(calls, &left->item, end);
        put_item(pairing, &left->item);
        memmove(left, left + 1, (--calls->left_count - i) * sizeof(*left));
        return true;
    }
    return false;
}

/* An E that ends nothing: the one of a B that stands behind it, if that gets no other. */
static void keep_spare(struct pairing *pairing, struct calls *calls, size_t at)
{
    const struct tool_chrome_record *end = &pairing->group[at];
    size_t begin = find_begin(pairing, at, end->site);
    if (begin < pairing->count)
        pairing->spare[begin] = (uint32_t)at + 1;
    else
        put_unseen(pairing, end, calls->order++);
}

static void take_named_end(struct pairing *pairing, struct calls *calls, size_t at)
{
    const struct tool_chrome_record *end = &pairing->group[at];
    size_t least = calls->count > SEARCH_MAX ? calls->count - SEARCH_MAX : 0, found = calls->count;
    while (found > least && calls->open[found - 1].item.site != end->site)
        found--;
    bool is_open = found > least;
    if (calls->left_count > 0 && take_left_end(pairing, calls, is_open ? found : 0, end))
        return;
    if (is_open) {
        end_at(pairing, calls, found - 1, at);
        return;
    }
    keep_spare(pairing, calls, at);
}

static void take_end(struct pairing *pairing, struct calls *calls, size_t at)
{
    if (pairing->group[at].site != TTAPE_NONE) {
        take_named_end(pairing, calls, at);
        return;
    }
    while (calls->count > 0 && calls->open[calls->count - 1].has_spare)
        end_by_spare(pairing, &calls->open[--calls->count]);
    if (calls->count > 0)
        end_at(pairing, calls, calls->count - 1, at);
    else
        keep_spare(pairing, calls, at);
}

/* ---- the group ---- */

static void take_begin(struct pairing *pairing, struct calls *calls, size_t at)
{
    const struct tool_chrome_record *record = &pairing->group[at];
    struct open_call call = {.item = {.begin = record->time,
                                      .end = TOOL_CHROME_OPEN,
                                      .sequence = record->sequence,
                                      .order = calls->order,
                                      .values = record->values,
                                      .thread = record->thread,
                                      .site = record->site,
                                      .kind = TOOL_CHROME_PAIR}};
    calls->order += 2; /* the second for an end by its spare */
    if (pairing->count > 1 && pairing->spare[at] > 0) {
        call.has_spare = true;
        call.spare = pairing->group[pairing->spare[at] - 1];
    }
    tool_grow((void **)&calls->open, &calls->capacity, calls->count + 1, sizeof(call));
    calls->open[calls->count++] = call;
}

static void take_point(struct pairing *pairing, struct calls *calls, size_t at)
{
    const struct tool_chrome_record *record = &pairing->group[at];
    const struct tool_chrome_item item = {.begin = record->time,
                                          .end = record->time,
                                          .sequence = record->sequence,
                                          .order = calls->order,
                                          .end_order = calls->order,
                                          .values = record->values,
                                          .thread = record->thread,
                                          .site = record->site,
                                          .kind = record->phase == 'z' ? TOOL_CHROME_X
                                                                       : TOOL_CHROME_POINT};
    calls->order++;
    put_item(pairing, &item);
}

static void clear_marks(struct pairing *pairing)
{
    if (pairing->mark_count < pairing->capacity) {
        pairing->mark_count = pairing->capacity;
        pairing->is_taken = tool_reallocate(pairing->is_taken, pairing->mark_count, sizeof(bool));
        pairing->spare = tool_reallocate(pairing->spare, pairing->mark_count, sizeof(uint32_t));
    }
    memset(pairing->is_taken, 0, pairing->count * sizeof(bool));
    memset(pairing->spare, 0, pairing->count * sizeof(uint32_t));
}

static void take_group(struct pairing *pairing)
{
    struct calls *calls = &pairing->threads[pairing->group[0].thread];
    clear_marks(pairing);
    for (size_t i = 0; i < pairing->count; i++)
        if (pairing->group[i].phase == 'B')
            take_begin(pairing, calls, i);
        else if (pairing->group[i].phase != 'E')
            take_point(pairing, calls, i);
        else if (!pairing->is_taken[i])
            take_end(pairing, calls, i);
    pairing->count = 0;
}

/* What is open at the end stays open. */
static void take_rest(struct pairing *pairing, struct calls *calls)
{
    while (calls->left_count > 0)
        put_item(pairing, &calls->left[--calls->left_count].item);
    while (calls->count > 0) {
        struct open_call *call = &calls->open[--calls->count];
        if (call->has_spare)
            end_by_spare(pairing, call);
        else
            put_item(pairing, &call->item);
    }
    free(calls->open);
    free(calls->left);
}

bool tool_chrome_pair(struct tool_chrome *chrome)
{
    struct pairing pairing = {.chrome = chrome};
    struct tool_chrome_record record;
    pairing.failed = !tool_sorter_finish(chrome->records);
    pairing.threads = tool_allocate(chrome->thread_count, sizeof(struct calls));
    while (!pairing.failed && tool_sorter_next(chrome->records, &record)) {
        const struct tool_chrome_record *first = pairing.group;
        if (pairing.count > 0 && (record.time != first->time || record.thread != first->thread ||
                                  pairing.count == TOOL_CHROME_GROUP_MAX))
            take_group(&pairing);
        tool_grow((void **)&pairing.group, &pairing.capacity, pairing.count + 1, sizeof(record));
        pairing.group[pairing.count++] = record;
    }
    if (pairing.count > 0)
        take_group(&pairing);
    for (size_t i = 0; i < chrome->thread_count; i++)
        take_rest(&pairing, &pairing.threads[i]);
    bool failed = pairing.failed || tool_sorter_failed(chrome->records);
    free(pairing.threads);
    free(pairing.group);
    free(pairing.is_taken);
    free(pairing.spare);
    return !failed;
}
