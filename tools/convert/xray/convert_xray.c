/* The converter for logs of LLVM's XRay: both modes give records, which go to the writer in the
 * order of time.
 *
 * A log has numbers of functions; their names are in the program, which --program says. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/progress.h"
#include "tools/command/tool_map.h"
#include "tools/convert/xray/convert_xray.h"

#define SORT_RECORDS   262144u
#define BATCH_EVENTS   1024u
#define SECOND_NS      UINT64_C(1000000000)
#define HZ_MIN         UINT64_C(1000000)
#define HZ_MAX         (UINT64_MAX / SECOND_NS) /* so that ticks of a second times 10^9 fit */
#define VERSION_MAX    5u
#define FLIGHT_VERSION 3u /* the first that is read */
#define FLIGHT         1u

/* u16 version, u16 mode, two bits of flags in 4 bytes of which LLVM sets no other, u64 frequency of
 * the clock, 16 bytes more. */
struct xray_head {
    uint32_t version, mode;
    uint64_t frequency;
};

static struct xray_head read_head(const uint8_t *head)
{
    return (struct xray_head){(uint32_t)tool_xray_load(head, 2),
                              (uint32_t)tool_xray_load(head + 2, 2), tool_xray_load(head + 8, 8)};
}

static bool probe_input(const struct tool_conversion *conversion)
{
    if (conversion->is_directory || conversion->head_bytes < TOOL_XRAY_HEAD_BYTES)
        return false;
    struct xray_head head = read_head(conversion->head);
    return head.version >= 1 && head.version <= VERSION_MAX && head.mode <= FLIGHT &&
           head.frequency >= HZ_MIN && head.frequency <= HZ_MAX;
}

/* ---- records ---- */

static int compare_records(const void *a, const void *b)
{
    const struct tool_xray_record *one = a, *two = b;
    if (one->order_ns != two->order_ns)
        return one->order_ns < two->order_ns ? -1 : 1;
    if (one->thread != two->thread)
        return one->thread < two->thread ? -1 : 1;
    return one->sequence < two->sequence ? -1 : one->sequence > two->sequence;
}

uint32_t tool_xray_thread_of(struct tool_xray *xray, uint64_t pid, uint64_t tid)
{
    const uint64_t key[] = {pid, tid};
    bool is_new;
    uint32_t *known = tool_names_find(&xray->thread_of, key, sizeof key, &is_new);
    if (is_new) {
        *known = (uint32_t)xray->thread_count;
        tool_grow((void **)&xray->threads, &xray->thread_capacity, xray->thread_count + 1,
                  sizeof(struct tool_xray_thread));
        xray->threads[xray->thread_count++] =
            (struct tool_xray_thread){.pid = pid, .tid = tid, .stream = TTAPE_NONE};
    }
    return *known;
}

void tool_xray_add(struct tool_xray *xray, uint64_t ticks, struct tool_xray_record record)
{
    struct tool_xray_thread *thread = &xray->threads[record.thread];
    uint64_t seconds = ticks / xray->frequency, rest = ticks % xray->frequency;
    if (seconds >= TOOL_TIME_WITHOUT_TICK / SECOND_NS) {
        xray->late_count++;
        return;
    }
    record.time_ns = seconds * SECOND_NS + rest * SECOND_NS / xray->frequency;
    if (record.time_ns > thread->order_ns)
        thread->order_ns = record.time_ns;
    record.order_ns = thread->order_ns;
    record.sequence = xray->record_count++;
    if (!xray->failed && !tool_sorter_add(xray->records, &record))
        xray->failed = true;
}

/* ---- the writer ---- */

struct xray_out {
    struct tool_xray *xray;
    ttape_writer *writer;
    uint32_t thread; /* whose events wait */
    size_t count;
    ttape_event events[BATCH_EVENTS];
};

static bool fail_writer(struct tool_xray *xray)
{
    tool_conversion_fail(xray->conversion, &xray->err);
    xray->failed = true;
    return false;
}

static bool flush_events(struct xray_out *out)
{
    struct tool_xray *xray = out->xray;
    size_t count = out->count;
    out->count = 0;
    return count == 0 ||
           ttape_writer_append(out->writer, xray->threads[out->thread].stream, out->events, count,
                               &xray->err) == TTAPE_OK ||
           fail_writer(xray);
}

static bool add_thread(struct xray_out *out, struct tool_xray_thread *thread)
{
    struct tool_xray *xray = out->xray;
    bool is_new;
    uint32_t *process =
        tool_names_find(&xray->process_of, &thread->pid, sizeof thread->pid, &is_new);
    if (is_new) {
        const ttape_process made = {.pid = thread->pid, .parent = TTAPE_NONE};
        if (ttape_writer_add_process(out->writer, &made, process, &xray->err) != TTAPE_OK)
            return fail_writer(xray);
    }
    const ttape_stream stream = {.process = *process, .tid = thread->tid};
    return ttape_writer_add_stream(out->writer, &stream, &thread->stream, &xray->err) == TTAPE_OK ||
           fail_writer(xray);
}

static void describe_site(struct tool_xray *xray, const struct tool_xray_record *record,
                          ttape_site *site, char room[32])
{
    bool is_call = record->kind <= TOOL_XRAY_ENTER_ARGUMENT;
    site->kind = is_call ? TTAPE_SITE_FUNCTION : TTAPE_SITE_MARKER;
    if (is_call && xray->program != NULL) {
        if (tool_xray_program_find(xray->program, record->function, site))
            return;
        xray->nameless_count++;
    }
    if (record->kind == TOOL_XRAY_CUSTOM)
        (void)snprintf(room, 32, "custom event");
    else
        (void)snprintf(room, 32, is_call ? "function %" PRIu32 : "typed event %" PRIu32,
                       record->function);
    site->symbol = (ttape_string){room, strlen(room)};
}

static bool find_site(struct xray_out *out, const struct tool_xray_record *record, uint32_t *number)
{
    struct tool_xray *xray = out->xray;
    uint32_t kind = record->kind <= TOOL_XRAY_ENTER_ARGUMENT ? 0 : record->kind;
    uint32_t *known =
        tool_map_at(&xray->site_of, (uint64_t)kind << 32 | record->function, TTAPE_NONE);
    if (*known == TTAPE_NONE) {
        char room[32];
        ttape_site site = {.module = TTAPE_NONE};
        describe_site(xray, record, &site, room);
        if (ttape_writer_add_site(out->writer, &site, known, &xray->err) != TTAPE_OK)
            return fail_writer(xray);
    }
    *number = *known;
    return true;
}

/* An argument, or an event's bytes: of long ones the first. */
static bool attach_record(struct xray_out *out, const struct tool_xray_record *record)
{
    struct tool_xray *xray = out->xray;
    ttape_value value = {.type = TTAPE_VALUE_UNSIGNED, .number = record->value};
    if (record->kind > TOOL_XRAY_ENTER_ARGUMENT) {
        size_t size =
            record->size_bytes < TTAPE_VALUE_MAX_BYTES ? record->size_bytes : TTAPE_VALUE_MAX_BYTES;
        const uint8_t *bytes = tool_xray_bytes(xray, record->value, size);
        if (bytes == NULL)
            return true; /* it failed, which is said at the end */
        value = (ttape_value){.type = TTAPE_VALUE_BYTES, .bytes = {(const char *)bytes, size}};
    }
    return flush_events(out) &&
           (ttape_writer_attach(out->writer, xray->threads[record->thread].stream, &value, 1,
                                &xray->err) == TTAPE_OK ||
            fail_writer(xray));
}

static bool put_record(struct xray_out *out, const struct tool_xray_record *record)
{
    struct tool_xray *xray = out->xray;
    struct tool_xray_thread *thread = &xray->threads[record->thread];
    ttape_event event = {.time_ns = tool_conversion_time(xray->conversion, record->time_ns),
                         .kind = TTAPE_EVENT_LEAF,
                         .depth = TTAPE_DEPTH_AUTO};
    if (record->kind == TOOL_XRAY_EXIT || record->kind == TOOL_XRAY_TAIL_EXIT)
        event.kind = TTAPE_EVENT_EXIT;
    else if (record->kind <= TOOL_XRAY_ENTER_ARGUMENT)
        event.kind = TTAPE_EVENT_ENTER;
    if ((thread->stream == TTAPE_NONE && !add_thread(out, thread)) ||
        !find_site(out, record, &event.site))
        return false;
    if ((out->count == BATCH_EVENTS || out->thread != record->thread) && !flush_events(out))
        return false;
    out->thread = record->thread;
    out->events[out->count++] = event;
    return record->size_bytes == 0 || attach_record(out, record);
}

static void put_all(struct tool_xray *xray)
{
    struct xray_out *out = tool_allocate(1, sizeof *out);
    struct tool_xray_record record;
    uint64_t done = 0;
    out->xray = xray;
    out->writer = xray->conversion->writer;
    xray->failed = xray->failed || !tool_sorter_finish(xray->records);
    while (!xray->failed && tool_sorter_next(xray->records, &record) && put_record(out, &record))
        if (++done % SORT_RECORDS == 0)
            tool_progress_update(xray->size_bytes / xray->record_count * done, xray->size_bytes,
                                 done);
    if (!xray->failed)
        (void)flush_events(out);
    xray->failed = xray->failed || tool_sorter_failed(xray->records);
    free(out);
}

/* ---- the whole ---- */

static void say_odd(struct tool_xray *xray)
{
    struct tool_conversion *conversion = xray->conversion;
    if (xray->late_count > 0)
        tool_conversion_warn(conversion, "%" PRIu64 " records with a time that cannot be: left out",
                             xray->late_count);
    if (xray->nameless_count > 0)
        tool_conversion_warn(conversion,
                             "%" PRIu64 " functions are not in '%s': they are called by number",
                             xray->nameless_count, conversion->program);
    if (xray->program == NULL && xray->record_count > 0)
        tool_message("'%s' has numbers of functions: --program PROGRAM, the program that wrote it, "
                     "gives them names",
                     conversion->input);
}

static int convert(struct tool_xray *xray, uint32_t mode)
{
    struct tool_conversion *conversion = xray->conversion;
    struct ttp_hash content = {0};
    ttp_hash_bytes(&content, conversion->head, conversion->head_bytes);
    int status = tool_conversion_begin(conversion, &content);
    if (status != TOOL_OK)
        return status;
    ttape_string source = {"xray", 4};
    if (ttape_writer_set_text(conversion->writer, "source", source, &xray->err) != TTAPE_OK ||
        (xray->program != NULL &&
         !tool_xray_program_add(xray->program, conversion->writer, TTAPE_NONE, &xray->err)))
        return tool_conversion_fail(conversion, &xray->err);
    (mode == FLIGHT ? tool_xray_read_flight : tool_xray_read_basic)(xray);
    put_all(xray);
    if (xray->failed_errno != 0)
        return tool_fail("cannot read '%s': %s", conversion->input, strerror(xray->failed_errno));
    if (xray->failed)
        return TOOL_CANNOT;
    say_odd(xray);
    if (xray->record_count == 0 && conversion->warning_count > 0)
        return tool_fail("'%s' holds no event that could be used", conversion->input);
    return conversion->warning_count > 0 ? TOOL_LOSS : TOOL_OK;
}

static int check_head(const struct tool_conversion *conversion, const struct xray_head *head)
{
    if (head->version < 1 || head->version > VERSION_MAX || head->mode > FLIGHT)
        return tool_fail("cannot read '%s': byte 0: version %" PRIu32 ", mode %" PRIu32
                         " of XRay's log is not known (1 to 5, 0 and 1)",
                         conversion->input, head->version, head->mode);
    if (head->mode == FLIGHT && head->version < FLIGHT_VERSION)
        return tool_fail("cannot read '%s': byte 0: version %" PRIu32
                         " of the flight data recorder is of an old LLVM: convert it with that "
                         "one's llvm-xray, to trace_event",
                         conversion->input, head->version);
    if (head->frequency == 0 || head->frequency > HZ_MAX)
        return tool_fail("cannot read '%s': byte 8: no clock has %" PRIu64 " ticks a second",
                         conversion->input, head->frequency);
    return TOOL_OK;
}

static int convert_log(struct tool_conversion *conversion)
{
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    if (conversion->head_bytes < TOOL_XRAY_HEAD_BYTES)
        return tool_fail("'%s' is no log of XRay: it has less than %u bytes", conversion->input,
                         TOOL_XRAY_HEAD_BYTES);
    struct xray_head head = read_head(conversion->head);
    int status = check_head(conversion, &head);
    if (status != TOOL_OK)
        return status;
    struct tool_xray xray = {
        .conversion = conversion, .fd = -1, .version = head.version, .frequency = head.frequency};
    if (conversion->program != NULL) {
        xray.program = tool_xray_program_open(conversion->program);
        if (xray.program == NULL)
            return TOOL_CANNOT;
    }
    xray.records = tool_sorter_open(sizeof(struct tool_xray_record), SORT_RECORDS, compare_records);
    status = tool_xray_open_bytes(&xray) ? convert(&xray, head.mode) : TOOL_CANNOT;
    tool_xray_close_bytes(&xray);
    tool_sorter_close(xray.records);
    tool_xray_program_close(xray.program);
    tool_names_close(&xray.thread_of);
    tool_names_close(&xray.process_of);
    tool_map_close(&xray.site_of);
    free(xray.threads);
    return status;
}

const struct tool_converter tool_converter_xray = {
    .name = "xray", .summary = "a log of LLVM's XRay", .probe = probe_input, .run = convert_log};
