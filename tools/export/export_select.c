/* Which threads are exported, what they are called, and numbers for them that do not clash. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/export.h"

#define THREAD_NAME_BYTES 4096u /* so that what is added to it is not cut off */
#define EXACT_NS          (UINT64_C(1) << 53)
#define NUMBER_FIRST      (UINT32_C(1) << 30) /* above every pid of Linux, below 2^31 */

bool tool_export_go_on(struct tool_export *export, const ttape_error *err)
{
    if (!tool_input_go_on(export->input, err, &export->error_count, &export->status))
        return false;
    /* Every damaged partition is reported once or twice by each cursor that meets it. */
    return export->error_count <=
           2 * (export->info.partition_count + 1) * (export->info.stream_count + 1);
}

uint32_t tool_export_number(struct tool_export *export)
{
    uint32_t number = NUMBER_FIRST + export->next_number;
    export->next_number += export->next_number < NUMBER_FIRST - 1;
    return number;
}

uint64_t tool_export_origin(const struct tool_export *export)
{
    const ttape_info *info = &export->info;
    bool fits = !export->has_times || info->time_last_ns < EXACT_NS;
    return fits ? 0 : info->time_first_ns / 1000000000u * 1000000000u;
}

/* ---- threads ---- */

struct ordered {
    uint64_t start_ns;
    struct tool_export_stream stream;
};

static int compare_keys(const uint64_t *left, const uint64_t *right, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int compare_streams(const void *a, const void *b)
{
    const struct ordered *one = a, *two = b;
    const uint64_t left[] = {one->stream.pid, one->stream.process, one->stream.tid, one->start_ns,
                             one->stream.stream};
    const uint64_t right[] = {two->stream.pid, two->stream.process, two->stream.tid, two->start_ns,
                              two->stream.stream};
    return compare_keys(left, right, 5);
}

struct numbered {
    uint64_t tid;
    uint32_t index;
};

static int compare_tids(const void *a, const void *b)
{
    const struct numbered *one = a, *two = b;
    const uint64_t left[] = {one->tid, one->index};
    const uint64_t right[] = {two->tid, two->index};
    return compare_keys(left, right, 2);
}

/* Viewers know threads by number: a number that was taken, by another machine or later in the run,
 * must not mix two of them up. Streams are sorted, so equal pids lie side by side. */
static void number_all(struct tool_export *export)
{
    uint32_t count = export->stream_count;
    struct tool_export_stream *streams = export->streams;
    struct numbered *tids = tool_allocate(count, sizeof(*tids));
    for (uint32_t i = 0; i < count; i++) {
        struct tool_export_stream *stream = &streams[i];
        const struct tool_export_stream *before = i > 0 ? &streams[i - 1] : NULL;
        tids[i] = (struct numbered){stream->tid, i};
        if (before != NULL && before->process == stream->process)
            stream->shown_pid = before->shown_pid;
        else if (stream->pid >= NUMBER_FIRST || (before != NULL && before->pid == stream->pid))
            stream->shown_pid = tool_export_number(export);
        else
            stream->shown_pid = (uint32_t)stream->pid;
    }
    if (count > 0)
        qsort(tids, count, sizeof(*tids), compare_tids);
    for (uint32_t i = 0; i < count; i++) {
        bool is_taken = i > 0 && tids[i - 1].tid == tids[i].tid;
        streams[tids[i].index].shown_tid = is_taken || tids[i].tid >= NUMBER_FIRST
                                               ? tool_export_number(export)
                                               : (uint32_t)tids[i].tid;
    }
    free(tids);
}

void tool_export_select(struct tool_export *export, const struct tool_selection *selection)
{
    uint32_t count = export->info.stream_count;
    struct ordered *order = tool_allocate(count, sizeof(*order));
    export->streams = tool_allocate(count, sizeof(struct tool_export_stream));
    export->sites = tool_allocate(export->info.site_count, sizeof(struct tool_buffer));
    for (uint32_t i = 0; i < count; i++) {
        ttape_stream_info info;
        if (ttape_reader_get_stream(export->reader, i, &info) != TTAPE_OK ||
            !tool_selects(selection, i))
            continue;
        order[export->stream_count++] = (struct ordered){
            info.stream.start_time_ns,
            {.stream = i, .process = info.stream.process, .pid = info.pid, .tid = info.stream.tid}};
    }
    if (export->stream_count > 0)
        qsort(order, export->stream_count, sizeof(*order), compare_streams);
    for (uint32_t i = 0; i < export->stream_count; i++)
        export->streams[i] = order[i].stream;
    free(order);
    number_all(export);
}

/* ---- names ---- */

void tool_export_get_site(const struct tool_export *export, uint32_t number, ttape_site *site)
{
    if (ttape_reader_get_site(export->reader, number, site) == TTAPE_OK)
        site->symbol = tool_site_text(&export->names, number);
}

ttape_string tool_export_label(const ttape_site *site, char room[24])
{
    if (site->symbol.size_bytes > 0)
        return site->symbol;
    char *end = tool_put_hex(tool_put_bytes(room, "0x", 2), site->address);
    return (ttape_string){room, (size_t)(end - room)};
}

const struct tool_buffer *tool_export_make_site(struct tool_export *export, uint32_t number)
{
    ttape_site site = {.module = TTAPE_NONE};
    struct tool_buffer *text = &export->sites[number];
    tool_export_get_site(export, number, &site);
    export->write_site(export, text, &site);
    tool_buffer_add(text, "", 0);
    return text;
}

ttape_string tool_export_module(const struct tool_export *export, const ttape_site *site)
{
    ttape_module module;
    if (site->module != TTAPE_NONE &&
        ttape_reader_get_module(export->reader, site->module, &module) == TTAPE_OK)
        return module.path;
    return (ttape_string){"", 0};
}

ttape_string tool_export_process_name(const struct tool_export *export, uint32_t process)
{
    ttape_process found;
    if (ttape_reader_get_process(export->reader, process, &found) == TTAPE_OK &&
        found.name.size_bytes > 0)
        return found.name;
    return (ttape_string){"process", 7};
}

/* NAME [tid N] [stack K], not escaped. */
void tool_export_thread_name(const struct tool_export *export,
                             const struct tool_export_stream *stream, uint32_t stack,
                             struct tool_buffer *buffer)
{
    ttape_stream_info info = {0};
    (void)ttape_reader_get_stream(export->reader, stream->stream, &info);
    ttape_string name = info.stream.name;
    if (name.size_bytes == 0)
        name = tool_export_process_name(export, stream->process);
    tool_buffer_add(buffer, name.data,
                    name.size_bytes < THREAD_NAME_BYTES ? name.size_bytes : THREAD_NAME_BYTES);
    if (stream->shown_tid != stream->tid)
        tool_buffer_printf(buffer, " [tid %" PRIu64 "]", stream->tid);
    if (stack > 0)
        tool_buffer_printf(buffer, " [stack %" PRIu32 "]", stack);
}

void tool_export_close(struct tool_export *export)
{
    for (uint32_t i = 0; export->sites != NULL && i < export->info.site_count; i++)
        tool_buffer_close(&export->sites[i]);
    free(export->sites);
    tool_site_names_close(&export->names);
    free(export->streams);
}
