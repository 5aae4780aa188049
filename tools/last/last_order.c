/* In which order threads are shown, and which as one: those of a pool wait in equal stacks.
 *
 *   threads -> a key of how each ended and of what was open -> groups, in order of their first */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/command/tool_map.h"
#include "tools/last/last_view.h"

#define MORE_COLUMNS 24u /* ", and 4294967295 more" */

static bool has_ran(const struct tool_last *last, const ttape_last_thread *thread)
{
    return last->ran_count != 0 && last->ran[thread - last->threads];
}

static bool was_killed(const struct tool_last *last, const ttape_last_thread *thread)
{
    ttape_stream_info info = {0};
    ttape_last_end end = {0};
    if (!thread->end.is_known || !thread->end.is_process)
        return false;
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    (void)ttape_last_get_process(last->answer, info.stream.process, &end);
    return end.how == TTAPE_PROCESS_END_SIGNAL;
}

/* The thread that met the fault which ended its process, or alone can have; of processes one that a
 * signal ended; the thread that called exit; else the first. */
static uint32_t find_ending(const struct tool_last *last)
{
    uint64_t number, address;
    for (uint32_t i = 0; i < last->thread_count; i++)
        if (tool_last_fault(last, &last->threads[i], &number, &address))
            return i;
    if (last->ran_count != 0)
        return last->ran_latest;
    for (uint32_t i = 0; i < last->thread_count; i++)
        if (was_killed(last, &last->threads[i]))
            return i;
    for (uint32_t i = 0; i < last->thread_count; i++)
        if (last->threads[i].end.is_known && !last->threads[i].end.is_process &&
            last->threads[i].end.how == TTAPE_THREAD_END_CALLED)
            return i;
    return 0;
}

static bool is_plain(const ttape_last_thread *thread)
{
    return thread->end.is_known && !thread->end.is_process &&
           thread->end.how == TTAPE_THREAD_END_ITSELF && thread->frame_count == 0;
}

/* Equal for threads that are shown as one: they ended alike, and the same was open. */
static uint64_t key_of(const struct tool_last *last, struct ttp_key_map *map, uint32_t number)
{
    uint64_t signal, address;
    const ttape_last_thread *thread = &last->threads[number];
    struct ttp_hash hash = ttp_key_map_hash(map);
    ttape_stream_info info = {0};
    ttape_process process = {0};
    ttape_last_end end = {0};
    (void)ttape_reader_get_stream(last->reader, thread->stream, &info);
    (void)ttape_reader_get_process(last->reader, info.stream.process, &process);
    (void)ttape_last_get_process(last->answer, info.stream.process, &end);
    bool is_alone = tool_last_fault(last, thread, &signal, &address) || thread->frame_count == 0;
    ttp_hash_word(&hash, is_alone ? number + 1u : 0);
    ttp_hash_word(&hash, has_ran(last, thread));
    ttp_hash_word(&hash, (uint64_t)thread->end.is_known << 1 | thread->end.is_process);
    ttp_hash_word(&hash, thread->end.how);
    ttp_hash_word(&hash, thread->end.number);
    ttp_hash_word(&hash, end.how);
    ttp_hash_word(&hash, end.number);
    ttp_hash_word(&hash, thread->off_since_ns != 0);
    ttp_hash_bytes(&hash, process.name.data, process.name.size_bytes);
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        const ttape_open_frame *frame = &thread->frames[i];
        ttp_hash_word(&hash, (uint64_t)frame->kind << 32 | frame->site);
        ttp_hash_word(&hash, frame->argument);
    }
    return hash.low;
}

/* Threads that ran when the fault was come behind the first one. */
static uint32_t *sort_threads(const struct tool_last *last)
{
    uint32_t *order = tool_allocate(last->thread_count + 1u, sizeof *order), count = 0;
    uint32_t first = find_ending(last);
    if (last->thread_count != 0)
        order[count++] = first;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < last->thread_count; i++)
            if (i != first && has_ran(last, &last->threads[i]) == (turn == 0))
                order[count++] = i;
    return order;
}

struct tool_last_order tool_last_order_of(const struct tool_last *last, bool all)
{
    struct tool_last_order order = {0};
    struct ttp_key_map map = {0};
    uint32_t *sorted = sort_threads(last);
    uint32_t *group_of = tool_allocate(last->thread_count + 1u, sizeof *group_of), start = 0;
    order.groups = tool_allocate(last->thread_count + 1u, sizeof *order.groups);
    order.threads = tool_allocate(last->thread_count + 1u, sizeof *order.threads);
    for (uint32_t n = 0; n < last->thread_count; n++) {
        group_of[n] = UINT32_MAX;
        if (is_plain(&last->threads[sorted[n]]) && !all) {
            order.hidden_count++;
            continue;
        }
        uint64_t key = all ? n : key_of(last, &map, sorted[n]);
        group_of[n] = *tool_map_at(&map, key, order.group_count);
        order.group_count += group_of[n] == order.group_count;
        order.groups[group_of[n]].count++;
    }
    for (uint32_t i = 0; i < order.group_count; i++) {
        order.groups[i].threads = order.threads + start;
        start += order.groups[i].count;
        order.groups[i].count = 0;
    }
    for (uint32_t n = 0; n < last->thread_count; n++)
        if (group_of[n] != UINT32_MAX) {
            struct tool_last_group *group = &order.groups[group_of[n]];
            order.threads[(size_t)(group->threads - order.threads) + group->count++] = sorted[n];
        }
    tool_map_close(&map);
    free(group_of);
    free(sorted);
    return order;
}

void tool_last_order_close(struct tool_last_order *order)
{
    free(order->groups);
    free(order->threads);
}

/* ---- which threads they are ---- */

bool tool_last_have_one_name(const struct tool_last_member *members, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!ttp_is_same_text(members[i].name, members[0].name))
            return false;
    return true;
}

/* "7", "7 to 9" or "7 (name)" of the member `at` on; returns how many these are. */
static size_t put_item(struct tool_output *item, const struct tool_last_member *members, size_t at,
                       size_t count, bool has_names)
{
    size_t end = at + 1;
    while (end < count && members[end].tid == members[end - 1].tid + 1 &&
           ttp_is_same_text(members[end].name, members[at].name))
        end++;
    tool_output_printf(item, "%s%" PRIu64, at > 0 ? ", " : "", members[at].tid);
    if (end - at > 2)
        tool_output_printf(item, " to %" PRIu64, members[end - 1].tid);
    else
        end = at + 1;
    if (has_names && members[at].name.size_bytes > 0) {
        tool_output_text(item, " (");
        tool_output_escaped(item, TTP_ESCAPE_TEXT, members[at].name);
        tool_output_text(item, ")");
    }
    return end - at;
}

void tool_last_put_members(struct tool_output *out, const struct tool_last_member *members,
                           size_t count, unsigned columns)
{
    bool has_names = !tool_last_have_one_name(members, count);
    size_t used = 2, at = 0;
    tool_output_text(out, "  ");
    while (at < count) {
        struct tool_output item;
        tool_output_open(&item, -1);
        size_t size = put_item(&item, members, at, count, has_names);
        size_t wide = ttp_text_columns(item.data, item.size_bytes);
        size_t more = at + size < count ? MORE_COLUMNS : 0;
        bool fits = at == 0 || columns == 0 || used + wide + more <= columns;
        if (fits)
            tool_output_bytes(out, item.data, item.size_bytes);
        free(item.data);
        if (!fits)
            break;
        used += wide;
        at += size;
    }
    if (at < count)
        tool_output_printf(out, " and %zu more", count - at);
    tool_output_text(out, "\n");
}
