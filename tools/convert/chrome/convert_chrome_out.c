/* The converter for Chrome trace JSON, last part: events go to the writer in batches of a thread,
 * and get the values that were kept in the scratch file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/convert/chrome/convert_chrome.h"

#define BATCH_EVENTS 1024u

struct tool_chrome_out {
    struct tool_chrome *chrome;
    ttape_writer *writer;
    uint64_t base; /* taken from biased times */
    uint32_t batch_thread;
    size_t batch_count;
    ttape_event batch[BATCH_EVENTS];
    ttape_value values[TTAPE_EVENT_MAX_VALUES];
    char *texts; /* of values */
    size_t text_capacity;
    ttape_status status;
};

/* Where times are below 0 all begin with the least of them. */
static uint64_t find_base(struct tool_chrome *chrome)
{
    uint64_t zero = TOOL_CHROME_BIAS - chrome->origin_ns;
    if (chrome->least == TOOL_CHROME_OPEN || chrome->origin_ns >= TOOL_CHROME_BIAS ||
        chrome->least >= zero)
        return zero;
    uint64_t below = zero - chrome->least;
    tool_message("'%s': its times begin at -%" PRIu64 ".%03" PRIu64 " us: that is 0 of the trace",
                 chrome->conversion->input, below / 1000, below % 1000);
    (void)ttape_writer_set_number(chrome->conversion->writer, "time_shift_ns", below, &chrome->err);
    return chrome->least;
}

struct tool_chrome_out *tool_chrome_out_open(struct tool_chrome *chrome)
{
    struct tool_chrome_out *out = tool_allocate(1, sizeof(*out));
    out->chrome = chrome;
    out->writer = chrome->conversion->writer;
    out->base = find_base(chrome);
    return out;
}

static void flush_events(struct tool_chrome_out *out)
{
    if (out->batch_count > 0 && out->status == TTAPE_OK) {
        out->status =
            ttape_writer_append(out->writer, out->chrome->threads[out->batch_thread].stream,
                                out->batch, out->batch_count, &out->chrome->err);
    }
    out->batch_count = 0;
}

/* Reads the values of a record back. False: the scratch file failed. */
static bool read_values(struct tool_chrome_out *out, uint64_t offset, uint32_t *count)
{
    struct tool_scratch *scratch = &out->chrome->values;
    size_t used = 0;
    if (!tool_scratch_read(scratch, offset, count, sizeof(*count)))
        return false;
    offset += sizeof(*count);
    for (uint32_t i = 0; i < *count; i++) {
        char head[16];
        ttape_value *value = &out->values[i];
        uint32_t size;
        if (!tool_scratch_read(scratch, offset, head, sizeof(head)))
            return false;
        memcpy(&value->type, head, 4);
        memcpy(&value->number, head + 4, 8);
        memcpy(&size, head + 12, 4);
        offset += sizeof(head);
        tool_grow((void **)&out->texts, &out->text_capacity, used + size + 1, 1);
        if (size > 0 && !tool_scratch_read(scratch, offset, out->texts + used, size))
            return false;
        value->bytes = (ttape_string){NULL, size};
        offset += size;
        used += size;
    }
    used = 0;
    for (uint32_t i = 0; i < *count; i++) { /* now that the texts stay where they are */
        out->values[i].bytes.data = out->texts + used;
        used += out->values[i].bytes.size_bytes;
    }
    return true;
}

/* Gives the last event of the thread its values. */
static void attach_values(struct tool_chrome_out *out, uint32_t thread, uint64_t values)
{
    uint32_t count = 0;
    flush_events(out);
    if (out->status != TTAPE_OK)
        return;
    if (!read_values(out, values - 1, &count)) {
        out->chrome->err = (ttape_error){
            .status = TTAPE_E_IO, .offset = TTAPE_ERROR_NO_OFFSET, .message = "values were lost"};
        out->status = TTAPE_E_IO;
    } else if (count > 0) {
        out->status = ttape_writer_attach(out->writer, out->chrome->threads[thread].stream,
                                          out->values, count, &out->chrome->err);
    }
}

void tool_chrome_out_add(struct tool_chrome_out *out, uint32_t thread, ttape_event event,
                         uint64_t values)
{
    if (out->batch_count == BATCH_EVENTS || out->batch_thread != thread)
        flush_events(out);
    event.depth = TTAPE_DEPTH_AUTO;
    event.time_ns = tool_conversion_time(out->chrome->conversion, event.time_ns - out->base);
    out->batch_thread = thread;
    out->batch[out->batch_count++] = event;
    if (values != 0)
        attach_values(out, thread, values);
}

ttape_status tool_chrome_out_close(struct tool_chrome_out *out)
{
    flush_events(out);
    ttape_status status = out->status;
    free(out->texts);
    free(out);
    return status;
}
