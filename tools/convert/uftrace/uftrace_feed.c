/* All records of all tasks into the writer, in time order across tasks.
 *
 *   heap of tasks by their next record's time
 *     --> run: records of one task up to the next task's time
 *       --> take_plain: the tight loop over 16-byte records
 *         --> batch of events --> ttape_writer_append
 *
 * A record: u64 time, then u64 with type:2 (0 entry, 1 exit, 2 lost, 3 event), more:1, magic:3,
 * depth:10, address:48. Within one task the file's order is kept, whatever the times say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "tools/command/progress.h"
#include "tools/convert/uftrace/uftrace_files.h"

#define BATCH_EVENTS     1024u
#define PROGRESS_BATCHES 64u

#define TYPE(word)      ((word)&3u)
#define HAS_MORE(word)  (((word) >> 2 & 1u) != 0)
#define HAS_MAGIC(word) (((word) >> 3 & 7u) == 5u)
#define DEPTH(word)     ((uint32_t)((word) >> 6 & 0x3FFu))
#define ADDRESS(word)   ((word) >> 16)
/* Entry or exit, nothing more, right magic: one comparison. */
#define IS_PLAIN(word) (((word)&0x3Eu) == 0x28u)
enum record_type { RECORD_ENTRY, RECORD_EXIT, RECORD_LOST, RECORD_EVENT };

/* Layouts of a site's payloads, found when the first one comes. */
struct known_layout {
    bool known;
    struct tool_uft_layout *layout; /* NULL: nothing says it */
};

struct feeding {
    struct tool_uft_recording *recording;
    struct tool_conversion *conversion;
    struct tool_uft_files files;
    struct ttp_heap heap;         /* of numbers[] */
    uint32_t *numbers;            /* of tasks */
    struct known_layout *layouts; /* two per site: arguments, return value */
    size_t layout_capacity;
    uint64_t total_bytes, done_bytes, batch_count;
    size_t event_count, call_count; /* waiting: of one of both at a time */
    ttape_event events[BATCH_EVENTS];
    ttape_enter_exit calls[BATCH_EVENTS];
    ttape_value values[TTAPE_EVENT_MAX_VALUES];
    ttape_status status; /* of naming values */
    ttape_error err;
};

/* What became of a run. */
enum run_result { RUN_YIELD, RUN_ENDED, RUN_FAILED };

/* Tasks by their numbers. */
static bool is_before(const void *context, const void *one, const void *two)
{
    const struct tool_uft_task *tasks = context;
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)two;
    return tasks[a].head_ns != tasks[b].head_ns ? tasks[a].head_ns < tasks[b].head_ns : a < b;
}

static bool flush_stream(struct feeding *feed, uint32_t stream)
{
    size_t events = feed->event_count, calls = feed->call_count;
    feed->event_count = feed->call_count = 0;
    if (events + calls == 0)
        return true;
    if (++feed->batch_count % PROGRESS_BATCHES == 0) {
        ttape_writer_progress progress;
        ttape_writer_get_progress(feed->conversion->writer, &progress);
        tool_progress_update(feed->done_bytes, feed->total_bytes, progress.event_count);
    }
    ttape_writer *writer = feed->conversion->writer;
    return (calls != 0 ? ttape_writer_append_calls(writer, stream, feed->calls, calls, &feed->err)
                       : ttape_writer_append(writer, stream, feed->events, events, &feed->err)) ==
           TTAPE_OK;
}

/* Takes plain records with known addresses and times before stop_ns: the hot loop. Returns where it
 * stopped. */
static const uint8_t *take_plain(const uint8_t *at, const uint8_t *end, uint64_t stop_ns,
                                 const struct tool_uft_sites *sites, ttape_enter_exit *calls,
                                 size_t *count)
{
    size_t used = *count;
    for (; (size_t)(end - at) >= TOOL_UFT_RECORD_BYTES && used < BATCH_EVENTS;
         at += TOOL_UFT_RECORD_BYTES) {
        uint64_t time_ns = tool_load_u64(at);
        uint64_t word = tool_load_u64(at + 8);
        const struct tool_uft_slot *slot = tool_uft_find_site(sites, ADDRESS(word));
        if (!IS_PLAIN(word) || time_ns >= stop_ns || slot->site == UINT32_MAX)
            break;
        calls[used++] = (ttape_enter_exit){
            .time_ns = time_ns, .site = slot->site, .depth_exit = DEPTH(word) << 1 | TYPE(word)};
    }
    *count = used;
    return at;
}

static uint64_t position_of(const struct tool_uft_buffer *buffer)
{
    return buffer->end_offset - (buffer->end - buffer->at);
}

static void warn_record(struct feeding *feed, const struct tool_uft_task *task,
                        const struct tool_uft_buffer *buffer, const char *what)
{
    tool_conversion_warn(feed->conversion, "%s at byte %llu of '%llu.dat'", what,
                         (unsigned long long)position_of(buffer), (unsigned long long)task->tid);
}

/* Finds a layout, and keeps as much of it as there is. */
static void settle_layout(struct feeding *feed, const struct tool_uft_task *task, uint64_t address,
                          const struct tool_uft_site *site, bool is_return,
                          struct known_layout *known)
{
    const struct tool_uft_session *session = &feed->recording->sessions[task->session];
    struct tool_uft_layout layout;
    known->known = true;
    if (site->map >= session->map_count ||
        !tool_uft_find_layout(feed->recording, &session->maps[site->map], address, is_return,
                              &layout))
        return;
    size_t size = offsetof(struct tool_uft_layout, specs) + layout.count * sizeof(layout.specs[0]);
    known->layout = tool_allocate(size, 1);
    memcpy(known->layout, &layout, size);
}

/* The layout of a site's payloads; both are found when the first one comes. */
static const struct tool_uft_layout *find_layout(struct feeding *feed,
                                                 const struct tool_uft_task *task, uint64_t address,
                                                 const struct tool_uft_site *site, bool is_return)
{
    size_t index = (size_t)site->number * 2;
    size_t old = feed->layout_capacity;
    tool_grow((void **)&feed->layouts, &feed->layout_capacity, index + 2,
              sizeof(struct known_layout));
    if (feed->layout_capacity > old)
        memset(feed->layouts + old, 0, (feed->layout_capacity - old) * sizeof(struct known_layout));
    struct known_layout *known = &feed->layouts[index];
    if (!known[0].known) {
        settle_layout(feed, task, address, site, false, &known[0]);
        settle_layout(feed, task, address, site, true, &known[1]);
        feed->status = tool_uft_name_values(feed->recording, site->number, known[0].layout,
                                            known[1].layout, &feed->err);
    }
    return known[is_return].layout;
}

/* The site of an entry, exit or event record, added when it is new. */
static ttape_status site_of(struct feeding *feed, const struct tool_uft_task *task,
                            uint64_t time_ns, uint64_t word, struct tool_uft_site *site)
{
    struct tool_uft_recording *recording = feed->recording;
    uint64_t address = ADDRESS(word);
    bool is_event = TYPE(word) == RECORD_EVENT;
    const struct tool_uft_sites *sites =
        is_event ? &recording->events : &recording->sessions[task->session].sites;
    const struct tool_uft_slot *slot = tool_uft_find_site(sites, address);
    if (slot->site == UINT32_MAX && !is_event)
        return tool_uft_get_site(recording, task, time_ns, address, site, &feed->err);
    if (slot->site == UINT32_MAX) {
        ttape_status status = tool_uft_add_event(recording, address, &feed->err);
        if (status != TTAPE_OK)
            return status;
        slot = tool_uft_find_site(sites, address);
    }
    *site = (struct tool_uft_site){slot->site, slot->map};
    return TTAPE_OK;
}

/* Decodes the payload behind a record. Returns its size; 0 when it does not fit, SIZE_MAX when its
 * layout is unknown. */
static size_t decode_word(struct feeding *feed, const struct tool_uft_task *task, uint64_t word,
                          const struct tool_uft_site *site, const uint8_t *data, size_t size_bytes,
                          uint32_t *value_count)
{
    if (TYPE(word) == RECORD_EVENT)
        return tool_uft_decode_event(ADDRESS(word), data, size_bytes, feed->values, value_count);
    const struct tool_uft_layout *layout =
        find_layout(feed, task, ADDRESS(word), site, TYPE(word) == RECORD_EXIT);
    if (layout == NULL)
        return SIZE_MAX;
    size_t size = tool_uft_decode(layout, data, size_bytes, feed->values, value_count);
    /* A layout of empty structs only has no payload at all. */
    return size == 0 && *value_count == 0 && layout->specs[0].size_bytes == 0 ? SIZE_MAX - 1 : size;
}

static ttape_event event_of(uint64_t time_ns, uint64_t word, uint32_t site)
{
    static const uint32_t kinds[] = {TTAPE_EVENT_ENTER, TTAPE_EVENT_EXIT, TTAPE_EVENT_GAP,
                                     TTAPE_EVENT_LEAF};
    ttape_event event = {
        .time_ns = time_ns, .kind = kinds[TYPE(word)], .site = site, .depth = DEPTH(word)};
    if (TYPE(word) == RECORD_LOST) {
        event.lost_count = ADDRESS(word);
        event.argument = TTAPE_GAP_REASON_OVERFLOW;
        event.depth = TTAPE_DEPTH_AUTO;
    }
    return event;
}

/* One record of any kind, at buffer->at. RUN_YIELD: taken (or more bytes were read), go on. */
static enum run_result take_one(struct feeding *feed, struct tool_uft_task *task,
                                struct tool_uft_buffer *buffer)
{
    const uint8_t *at = buffer->data + buffer->at;
    uint64_t word = tool_load_u64(at + 8);
    struct tool_uft_site site = {TTAPE_NONE, TTAPE_NONE};
    uint32_t value_count = 0;
    size_t size = TOOL_UFT_RECORD_BYTES;
    if (!HAS_MAGIC(word)) {
        warn_record(feed, task, buffer, "no record (wrong magic number), the task ends here");
        return RUN_ENDED;
    }
    if (TYPE(word) != RECORD_LOST &&
        site_of(feed, task, tool_load_u64(at), word, &site) != TTAPE_OK)
        return RUN_FAILED;
    if (HAS_MORE(word) && TYPE(word) != RECORD_LOST) {
        size_t have = buffer->end - buffer->at - TOOL_UFT_RECORD_BYTES;
        size_t payload = decode_word(feed, task, word, &site, at + size, have, &value_count);
        if (feed->status != TTAPE_OK)
            return RUN_FAILED;
        if (payload == SIZE_MAX) {
            warn_record(feed, task, buffer,
                        "arguments without a specification, the task ends here");
            return RUN_ENDED;
        }
        if (payload == 0) {
            uint64_t before = buffer->end_offset;
            if (!tool_uft_files_fill(&feed->files, buffer)) {
                warn_record(feed, task, buffer, strerror(errno));
                return RUN_ENDED;
            }
            if (buffer->end_offset == before) {
                warn_record(feed, task, buffer, "truncated record");
                return RUN_ENDED;
            }
            return RUN_YIELD;
        }
        size += payload == SIZE_MAX - 1 ? 0 : payload;
    }
    uint64_t time_ns = tool_conversion_time(feed->conversion, tool_load_u64(at));
    if (feed->call_count != 0 && !flush_stream(feed, task->stream))
        return RUN_FAILED;
    feed->events[feed->event_count++] = event_of(time_ns, word, site.number);
    buffer->at += size;
    if ((value_count > 0 || feed->event_count == BATCH_EVENTS) && !flush_stream(feed, task->stream))
        return RUN_FAILED;
    if (value_count > 0 && ttape_writer_attach(feed->conversion->writer, task->stream, feed->values,
                                               value_count, &feed->err) != TTAPE_OK)
        return RUN_FAILED;
    return RUN_YIELD;
}

/* Makes sure that a whole record is in the buffer. RUN_YIELD: it is. */
static enum run_result fill_record(struct feeding *feed, const struct tool_uft_task *task,
                                   struct tool_uft_buffer *buffer)
{
    while (buffer->end - buffer->at < TOOL_UFT_RECORD_BYTES) {
        uint64_t before = buffer->end_offset;
        if (!tool_uft_files_fill(&feed->files, buffer)) {
            warn_record(feed, task, buffer, strerror(errno));
            return RUN_ENDED;
        }
        feed->done_bytes += buffer->end_offset - before;
        if (buffer->end_offset == before) {
            if (buffer->end > buffer->at)
                warn_record(feed, task, buffer, "truncated record");
            return RUN_ENDED;
        }
    }
    return RUN_YIELD;
}

static void switch_session(struct feeding *feed, struct tool_uft_task *task, uint64_t time_ns)
{
    while (task->next_session_ns != TOOL_UFT_NO_TIME && time_ns >= task->next_session_ns) {
        task->session = tool_uft_session_at(feed->recording, task->pid, task->next_session_ns,
                                            &task->next_session_ns);
    }
}

/* Records of one task with times before limit_ns. Afterwards task->head_ns is the next record's
 * time. */
static enum run_result feed_task(struct feeding *feed, struct tool_uft_task *task,
                                 uint64_t limit_ns)
{
    struct tool_uft_buffer *buffer = tool_uft_files_get(&feed->files, task);
    if (buffer == NULL) {
        tool_conversion_warn(feed->conversion, "cannot open '%llu.dat': %s",
                             (unsigned long long)task->tid, strerror(errno));
        return RUN_ENDED;
    }
    enum run_result result = RUN_YIELD;
    bool moved = false; /* the first record is taken in any case: its time brought us here */
    while (result == RUN_YIELD) {
        result = fill_record(feed, task, buffer);
        if (result != RUN_YIELD)
            break;
        const struct tool_uft_session *session = &feed->recording->sessions[task->session];
        uint64_t stop_ns = limit_ns < task->next_session_ns ? limit_ns : task->next_session_ns;
        stop_ns = stop_ns < TOOL_TIME_WITHOUT_TICK ? stop_ns : TOOL_TIME_WITHOUT_TICK;
        const uint8_t *at = buffer->data + buffer->at;
        if (feed->event_count == 0)
            at = take_plain(at, buffer->data + buffer->end, stop_ns, &session->sites, feed->calls,
                            &feed->call_count);
        moved = moved || at != buffer->data + buffer->at;
        buffer->at = (size_t)(at - buffer->data);
        if (feed->event_count != 0 || feed->call_count == BATCH_EVENTS) {
            result = flush_stream(feed, task->stream) ? RUN_YIELD : RUN_FAILED;
            continue;
        }
        if (buffer->end - buffer->at < TOOL_UFT_RECORD_BYTES)
            continue;
        uint64_t time_ns = tool_load_u64(at);
        if (time_ns >= limit_ns && moved) {
            task->head_ns = time_ns;
            break;
        }
        switch_session(feed, task, time_ns);
        result = take_one(feed, task, buffer);
        moved = true;
    }
    if (result != RUN_FAILED && !flush_stream(feed, task->stream))
        return RUN_FAILED;
    return result;
}

/* The least time at which another task than the heap's first comes first. */
static uint64_t limit_of(const struct feeding *feed)
{
    const struct tool_uft_task *tasks = feed->recording->tasks;
    const uint32_t *numbers = feed->numbers;
    if (feed->heap.count < 2)
        return UINT64_MAX;
    uint32_t next = numbers[1];
    if (feed->heap.count > 2 && is_before(tasks, &numbers[2], &numbers[1]))
        next = numbers[2];
    uint64_t head_ns = tasks[next].head_ns;
    return numbers[0] < next && head_ns < UINT64_MAX ? head_ns + 1 : head_ns;
}

/* First times and sizes; tasks without a record stay out of the heap. */
static void find_heads(struct feeding *feed)
{
    struct tool_uft_recording *recording = feed->recording;
    feed->numbers = tool_allocate(recording->task_count, sizeof(uint32_t));
    feed->heap = (struct ttp_heap){feed->numbers, 0, sizeof(uint32_t), is_before, recording->tasks};
    for (size_t i = 0; i < recording->task_count; i++) {
        uint8_t first[TOOL_UFT_RECORD_BYTES];
        size_t got = 0;
        struct tool_uft_task *task = &recording->tasks[i];
        if (!tool_uft_files_peek(recording, task, first, sizeof(first), &got)) {
            tool_conversion_warn(feed->conversion, "cannot read '%llu.dat': %s",
                                 (unsigned long long)task->tid,
                                 errno == EINVAL ? "not a regular file" : strerror(errno));
        } else if (got > 0) {
            task->head_ns = got >= 8 ? tool_load_u64(first) : 0;
            uint64_t at_ns = task->start_ns > 0 ? task->start_ns : task->head_ns;
            task->session =
                tool_uft_session_at(recording, task->pid, at_ns, &task->next_session_ns);
            feed->total_bytes += task->size_bytes;
            feed->numbers[feed->heap.count++] = (uint32_t)i;
        }
    }
    ttp_heap_make(&feed->heap);
}

static void close_feed(struct feeding *feed)
{
    tool_uft_files_close(&feed->files);
    for (size_t i = 0; i < feed->layout_capacity; i++)
        free(feed->layouts[i].layout);
    free(feed->layouts);
    free(feed->numbers);
    free(feed);
}

int tool_uft_feed(struct tool_uft_recording *recording)
{
    struct feeding *feed = tool_allocate(1, sizeof(*feed));
    feed->recording = recording;
    feed->conversion = recording->conversion;
    tool_uft_files_open(&feed->files, recording);
    find_heads(feed);
    enum run_result result = RUN_YIELD;
    while (feed->heap.count > 0 && result != RUN_FAILED) {
        struct tool_uft_task *task = &recording->tasks[feed->numbers[0]];
        result = feed_task(feed, task, limit_of(feed));
        if (result == RUN_ENDED) {
            tool_uft_files_release(&feed->files, task);
            ttp_heap_drop(&feed->heap);
        } else {
            ttp_heap_sink(&feed->heap, 0);
        }
    }
    int status =
        result == RUN_FAILED ? tool_conversion_fail(feed->conversion, &feed->err) : TOOL_OK;
    close_feed(feed);
    return status;
}
