/* The converter for Chrome trace JSON, second half: sorted records become frames.
 *
 * A B is open until its E. An X closes by itself at its end, which lies inside the X around it;
 * what lies across is a mistake of the file and is counted. Records of one thread and one
 * time come as a group: first the ends of what was open, then X from the longest to the shortest,
 * then the others in the order of the file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/chrome/convert_chrome.h"

#define BATCH_EVENTS 1024u
#define SEARCH_MAX   4096u /* frames in which an E's name is looked for */
#define ROUNDING_NS  1u    /* ends that differ by less lie across by rounding only */
#define NO_FRAME     UINT32_MAX
#define GROUP_MAX    65536u /* a group that grows without end is taken in pieces */

/* An open frame; those of phase X are chained. */
struct chrome_frame {
    uint64_t end_ns; /* of an X */
    uint32_t site;
    uint32_t x_below; /* index of the innermost X at or below this frame */
    bool is_x;
};

struct chrome_stack {
    struct chrome_frame *frames;
    size_t count, capacity;
};

struct chrome_feed {
    struct tool_chrome *chrome;
    ttape_writer *writer;
    struct chrome_stack *stacks;               /* by thread */
    struct tool_chrome_record *group, *sorted; /* at most GROUP_MAX */
    size_t group_count, group_capacity, sorted_capacity;
    uint32_t batch_thread;
    size_t batch_count;
    ttape_event batch[BATCH_EVENTS];
    ttape_value values[TTAPE_EVENT_MAX_VALUES];
    char *texts; /* of values */
    size_t text_capacity;
    uint64_t across_count, unmatched_count;
    ttape_status status;
};

/* ---- events ---- */

static void flush(struct chrome_feed *feed)
{
    if (feed->batch_count > 0 && feed->status == TTAPE_OK) {
        feed->status =
            ttape_writer_append(feed->writer, feed->chrome->threads[feed->batch_thread].stream,
                                feed->batch, feed->batch_count, &feed->chrome->err);
    }
    feed->batch_count = 0;
}

static void add_event(struct chrome_feed *feed, uint32_t thread, ttape_event event)
{
    if (feed->batch_count == BATCH_EVENTS || feed->batch_thread != thread)
        flush(feed);
    event.depth = TTAPE_DEPTH_AUTO;
    event.time_ns = tool_conversion_time(feed->chrome->conversion, event.time_ns);
    feed->batch_thread = thread;
    feed->batch[feed->batch_count++] = event;
}

/* Reads the values of a record back. False: the scratch file failed. */
static bool read_values(struct chrome_feed *feed, uint64_t offset, uint32_t *count)
{
    struct tool_scratch *scratch = &feed->chrome->values;
    size_t used = 0;
    if (!tool_scratch_read(scratch, offset, count, sizeof(*count)))
        return false;
    offset += sizeof(*count);
    for (uint32_t i = 0; i < *count; i++) {
        char head[16];
        ttape_value *value = &feed->values[i];
        uint32_t size;
        if (!tool_scratch_read(scratch, offset, head, sizeof(head)))
            return false;
        memcpy(&value->type, head, 4);
        memcpy(&value->number, head + 4, 8);
        memcpy(&size, head + 12, 4);
        offset += sizeof(head);
        tool_grow((void **)&feed->texts, &feed->text_capacity, used + size + 1, 1);
        if (size > 0 && !tool_scratch_read(scratch, offset, feed->texts + used, size))
            return false;
        value->bytes = (ttape_string){NULL, size};
        offset += size;
        used += size;
    }
    used = 0;
    for (uint32_t i = 0; i < *count; i++) { /* now that the texts stay where they are */
        feed->values[i].bytes.data = feed->texts + used;
        used += feed->values[i].bytes.size_bytes;
    }
    return true;
}

/* Gives the last event of the thread the record's values. */
static void attach(struct chrome_feed *feed, const struct tool_chrome_record *record)
{
    uint32_t count = 0;
    if (record->values == 0 || feed->status != TTAPE_OK)
        return;
    flush(feed);
    if (!read_values(feed, record->values - 1, &count)) {
        feed->chrome->err = (ttape_error){
            .status = TTAPE_E_IO, .offset = TTAPE_ERROR_NO_OFFSET, .message = "values were lost"};
        feed->status = TTAPE_E_IO;
    } else if (feed->status == TTAPE_OK && count > 0) {
        feed->status =
            ttape_writer_attach(feed->writer, feed->chrome->threads[record->thread].stream,
                                feed->values, count, &feed->chrome->err);
    }
}

/* ---- frames ---- */

static void push(struct chrome_feed *feed, uint32_t thread, uint32_t site, bool is_x,
                 uint64_t end_ns)
{
    struct chrome_stack *stack = &feed->stacks[thread];
    uint32_t below = stack->count > 0 ? stack->frames[stack->count - 1].x_below : NO_FRAME;
    tool_grow((void **)&stack->frames, &stack->capacity, stack->count + 1,
              sizeof(struct chrome_frame));
    stack->frames[stack->count] =
        (struct chrome_frame){end_ns, site, is_x ? (uint32_t)stack->count : below, is_x};
    stack->count++;
}

/* Ends the frame at an index; those above it are left by it. */
static void end_frame(struct chrome_feed *feed, uint32_t thread, size_t index, uint64_t time_ns)
{
    struct chrome_stack *stack = &feed->stacks[thread];
    uint32_t above = (uint32_t)(stack->count - 1 - index);
    uint32_t site = stack->frames[index].site;
    stack->count = index;
    add_event(feed, thread,
              above > 0
                  ? (ttape_event){.time_ns = time_ns,
                                  .kind = TTAPE_EVENT_EXIT_ACROSS,
                                  .site = site,
                                  .argument = above}
                  : (ttape_event){.time_ns = time_ns, .kind = TTAPE_EVENT_EXIT, .site = site});
}

/* Ends every X whose time is over, innermost first. */
static void end_due(struct chrome_feed *feed, uint32_t thread, uint64_t time_ns)
{
    struct chrome_stack *stack = &feed->stacks[thread];
    while (stack->count > 0) {
        uint32_t index = stack->frames[stack->count - 1].x_below;
        if (index == NO_FRAME || stack->frames[index].end_ns > time_ns)
            return;
        feed->across_count += index + 1 < stack->count;
        end_frame(feed, thread, index, stack->frames[index].end_ns);
    }
}

static void take_end(struct chrome_feed *feed, const struct tool_chrome_record *record)
{
    const struct chrome_stack *stack = &feed->stacks[record->thread];
    size_t least = stack->count > SEARCH_MAX ? stack->count - SEARCH_MAX : 0;
    for (size_t i = stack->count; i-- > least;) {
        const struct chrome_frame *frame = &stack->frames[i];
        if (!frame->is_x && (record->site == TTAPE_NONE || frame->site == record->site)) {
            /* without a name it is the innermost B: what is above it is an X */
            feed->across_count += record->site == TTAPE_NONE && i + 1 < stack->count;
            end_frame(feed, record->thread, i, record->time_ns);
            attach(feed, record);
            return;
        }
    }
    if (record->site == TTAPE_NONE) {
        feed->unmatched_count++;
        return;
    }
    add_event(feed, record->thread,
              (ttape_event){.time_ns = record->time_ns,
                            .kind = TTAPE_EVENT_EXIT_UNSEEN,
                            .site = record->site});
    attach(feed, record);
}

static void take_x(struct chrome_feed *feed, const struct tool_chrome_record *record)
{
    const struct chrome_stack *stack = &feed->stacks[record->thread];
    uint64_t end_ns = record->time_ns + record->duration_ns;
    uint32_t around = stack->count > 0 ? stack->frames[stack->count - 1].x_below : NO_FRAME;
    if (around != NO_FRAME && stack->frames[around].end_ns < end_ns) {
        feed->across_count += end_ns - stack->frames[around].end_ns > ROUNDING_NS;
        end_ns = stack->frames[around].end_ns;
    }
    add_event(
        feed, record->thread,
        (ttape_event){.time_ns = record->time_ns, .kind = TTAPE_EVENT_ENTER, .site = record->site});
    attach(feed, record);
    push(feed, record->thread, record->site, true, end_ns);
}

static void take_other(struct chrome_feed *feed, const struct tool_chrome_record *record)
{
    if (record->phase == 'E') {
        take_end(feed, record);
        return;
    }
    add_event(feed, record->thread,
              (ttape_event){.time_ns = record->time_ns,
                            .kind = record->phase == 'B' ? TTAPE_EVENT_ENTER : TTAPE_EVENT_LEAF,
                            .site = record->site});
    attach(feed, record);
    if (record->phase == 'B')
        push(feed, record->thread, record->site, false, 0);
}

/* ---- groups ---- */

static int compare_lengths(const void *a, const void *b)
{
    const struct tool_chrome_record *one = a, *two = b;
    if (one->duration_ns != two->duration_ns)
        return one->duration_ns > two->duration_ns ? -1 : 1;
    return one->sequence < two->sequence ? -1 : one->sequence > two->sequence;
}

/* Records of one thread at one time. */
static void take_group(struct chrome_feed *feed)
{
    const struct tool_chrome_record *group = feed->group;
    size_t count = feed->group_count, first = 0, used = 0;
    uint32_t thread = group[0].thread;
    uint64_t time_ns = group[0].time_ns;
    end_due(feed, thread, time_ns);
    for (; first < count && group[first].phase == 'E'; first++) {
        take_end(feed, &group[first]);
        end_due(feed, thread, time_ns);
    }
    tool_grow((void **)&feed->sorted, &feed->sorted_capacity, count, sizeof(*group));
    for (size_t i = first; i < count; i++)
        if (group[i].phase == 'X')
            feed->sorted[used++] = group[i];
    if (used > 1)
        qsort(feed->sorted, used, sizeof(*group), compare_lengths);
    for (size_t i = 0; i < used; i++) {
        take_x(feed, &feed->sorted[i]);
        if (feed->sorted[i].duration_ns == 0)
            end_due(feed, thread, time_ns);
    }
    for (size_t i = first; i < count; i++)
        if (group[i].phase != 'X')
            take_other(feed, &group[i]);
    feed->group_count = 0;
}

static void take_all(struct chrome_feed *feed)
{
    struct tool_chrome_record record;
    while (feed->status == TTAPE_OK && tool_sorter_next(feed->chrome->sorter, &record)) {
        if (feed->group_count > 0 &&
            (record.time_ns != feed->group[0].time_ns || record.thread != feed->group[0].thread ||
             feed->group_count == GROUP_MAX))
            take_group(feed);
        tool_grow((void **)&feed->group, &feed->group_capacity, feed->group_count + 1,
                  sizeof(record));
        feed->group[feed->group_count++] = record;
    }
    if (feed->group_count > 0)
        take_group(feed);
    for (uint32_t i = 0; i < feed->chrome->thread_count; i++)
        end_due(feed, i, UINT64_MAX);
    flush(feed);
}

/* ---- definitions ---- */

static ttape_status define(struct tool_chrome *chrome)
{
    ttape_writer *writer = chrome->conversion->writer;
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < chrome->process_count && status == TTAPE_OK; i++) {
        struct tool_chrome_process *process = &chrome->processes[i];
        const ttape_process added = {.pid = process->pid,
                                     .parent = TTAPE_NONE,
                                     .name = {process->name, process->name_bytes}};
        status = ttape_writer_add_process(writer, &added, &process->id, &chrome->err);
    }
    for (size_t i = 0; i < chrome->thread_count && status == TTAPE_OK; i++) {
        struct tool_chrome_thread *thread = &chrome->threads[i];
        const ttape_stream added = {.process = chrome->processes[thread->process].id,
                                    .tid = thread->tid,
                                    .name = {thread->name, thread->name_bytes}};
        status = ttape_writer_add_stream(writer, &added, &thread->stream, &chrome->err);
    }
    return status;
}

int tool_chrome_feed(struct tool_chrome *chrome)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct chrome_feed *feed = tool_allocate(1, sizeof(*feed));
    feed->chrome = chrome;
    feed->writer = conversion->writer;
    feed->stacks = tool_allocate(chrome->thread_count, sizeof(struct chrome_stack));
    feed->status = define(chrome);
    take_all(feed);
    int status = TOOL_OK;
    if (feed->status != TTAPE_OK)
        status = tool_conversion_fail(conversion, &chrome->err);
    else if (tool_sorter_failed(chrome->sorter))
        status = TOOL_CANNOT;
    if (feed->across_count > 0) {
        tool_conversion_warn(conversion, "%" PRIu64 " frames lie across others: cut to fit",
                             feed->across_count);
    }
    if (feed->unmatched_count > 0) {
        tool_conversion_warn(conversion, "%" PRIu64 " ends (E) without a begin left out",
                             feed->unmatched_count);
    }
    for (size_t i = 0; i < chrome->thread_count; i++)
        free(feed->stacks[i].frames);
    free(feed->stacks);
    free(feed->group);
    free(feed->sorted);
    free(feed->texts);
    free(feed);
    return status;
}
