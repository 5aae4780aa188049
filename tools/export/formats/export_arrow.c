/* Arrow's IPC stream: a table of calls, in batches, for what reads columns.
 *
 *   schema | texts of threads, functions, modules, files, endings | batches of rows ... | end
 *
 * Texts are numbers of those dictionaries, all of which are known before the first row. A row is
 * written when its call ends, so that one batch is in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/export_paths.h"
#include "tools/export/formats/arrow_message.h"

#define BATCH_ROWS  65536u
#define SIGNALS     256u /* names behind those of sites */
#define TEXT_MAX    INT32_MAX
#define NULL_NUMBER UINT64_MAX

enum dictionary { THREADS, NAMES, MODULES, FILES, ENDINGS, DICTIONARIES };

enum column {
    CALL,
    PARENT,
    STREAM,
    PID,
    TID,
    THREAD,
    STACK,
    DEPTH,
    SITE,
    SIGNAL,
    NAME,
    MODULE,
    FILE_,
    LINE,
    START,
    DURATION,
    SELF,
    ENDING,
    WAS_OPEN,
    COLUMNS
};

#define NONE ARROW_NO_DICTIONARY
static const struct tool_arrow_column columns[COLUMNS] = {
    [CALL] = {"call", 8, false, false, NONE},
    [PARENT] = {"parent", 8, false, true, NONE},
    [STREAM] = {"stream", 4, false, false, NONE},
    [PID] = {"pid", 8, false, false, NONE},
    [TID] = {"tid", 8, false, false, NONE},
    [THREAD] = {"thread", 4, true, false, THREADS},
    [STACK] = {"stack", 4, false, false, NONE},
    [DEPTH] = {"depth", 4, false, false, NONE},
    [SITE] = {"site", 4, false, true, NONE},
    [SIGNAL] = {"signal", 4, false, true, NONE},
    [NAME] = {"name", 4, true, false, NAMES},
    [MODULE] = {"module", 4, true, true, MODULES},
    [FILE_] = {"file", 4, true, true, FILES},
    [LINE] = {"line", 4, false, true, NONE},
    [START] = {"start_ns", 8, true, false, NONE},
    [DURATION] = {"duration_ns", 8, true, false, NONE},
    [SELF] = {"self_ns", 8, true, false, NONE},
    [ENDING] = {"ending", 4, true, false, ENDINGS},
    [WAS_OPEN] = {"was_open", 1, false, false, NONE}};

static const char *const endings[] = {"exit", "unwind", "still_open", "lost", "unseen", "late"};
#define ENDING_COUNT (sizeof endings / sizeof endings[0])

/* What a row has of a site. */
struct site_place {
    uint32_t module, file, line; /* file: its number in the dictionary */
};

struct arrow {
    struct tool_export *export;
    uint64_t call_count, last_ns;
    uint64_t thread; /* of the stream that is read: its number in the dictionary */
    uint32_t row_count;
    uint64_t null_counts[COLUMNS];
    uint8_t *values[COLUMNS], *valid[COLUMNS];
    struct site_place *places; /* by site */
    uint32_t *files;           /* by number: a site that has the file */
    size_t file_count, file_capacity;
    struct tool_names file_of;
};

static void store(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* ---- bodies ---- */

static void put_padding(struct tool_output *out, uint64_t bytes)
{
    static const uint8_t zeros[ARROW_ALIGN];
    tool_output_bytes(out, zeros, (size_t)(tool_arrow_padded(bytes) - bytes));
}

static void put_buffer(struct tool_output *out, const void *data, uint64_t bytes)
{
    tool_output_bytes(out, data, (size_t)bytes);
    put_padding(out, bytes);
}

/* Two buffers a column: which values are there (nothing where all are), and the values. */
static void put_rows(struct arrow *out)
{
    struct tool_arrow_body body = {
        .row_count = out->row_count, .column_count = COLUMNS, .buffer_count = 2 * COLUMNS};
    if (out->row_count == 0)
        return;
    for (uint32_t i = 0; i < COLUMNS; i++) {
        body.null_counts[i] = out->null_counts[i];
        body.buffer_bytes[2 * i] = out->null_counts[i] > 0 ? (out->row_count + 7u) / 8u : 0;
        body.buffer_bytes[2 * i + 1] = (uint64_t)out->row_count * columns[i].bytes;
    }
    tool_arrow_put_batch(&out->export->out, &body);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        put_buffer(&out->export->out, out->valid[i], body.buffer_bytes[2 * i]);
        put_buffer(&out->export->out, out->values[i], body.buffer_bytes[2 * i + 1]);
        out->null_counts[i] = 0;
        if (out->valid[i] != NULL)
            memset(out->valid[i], 0, BATCH_ROWS / 8);
    }
    out->row_count = 0;
}

static void put_value(struct arrow *out, enum column column, uint64_t value)
{
    uint32_t row = out->row_count, bytes = columns[column].bytes;
    bool is_null = columns[column].is_nullable && value == NULL_NUMBER;
    store(out->values[column] + (size_t)row * bytes, is_null ? 0 : value, bytes);
    if (is_null)
        out->null_counts[column]++;
    else if (columns[column].is_nullable)
        out->valid[column][row / 8] |= (uint8_t)(1u << row % 8);
}

static uint64_t or_null(uint32_t number) { return number == TTAPE_NONE ? NULL_NUMBER : number; }

/* ---- texts ---- */

static void add_site_name(struct arrow *out, uint32_t number, struct tool_buffer *text)
{
    char room[TOOL_EXPORT_PLACE_BYTES], signal[24];
    ttape_site site = {.module = TTAPE_NONE};
    if (number >= out->export->info.site_count) {
        (void)snprintf(signal, sizeof signal, "signal %" PRIu32,
                       number - out->export->info.site_count);
        tool_buffer_text(text, signal);
        return;
    }
    tool_export_get_site(out->export, number, &site);
    tool_buffer_name(text, TTP_ESCAPE_TERMINAL, tool_export_place(out->export, &site, room));
}

static void add_text(struct arrow *out, enum dictionary which, uint32_t number,
                     struct tool_buffer *text)
{
    struct tool_buffer name = {0};
    ttape_module module = {.path = {"", 0}};
    ttape_site site = {.file = {"", 0}};
    text->size_bytes = 0;
    switch (which) {
    case THREADS:
        tool_export_thread_name(out->export, &out->export->streams[number], 0, &name);
        tool_buffer_name(text, TTP_ESCAPE_TERMINAL, (ttape_string){name.data, name.size_bytes});
        break;
    case NAMES: add_site_name(out, number, text); break;
    case MODULES:
        (void)ttape_reader_get_module(out->export->reader, number, &module);
        tool_buffer_name(text, TTP_ESCAPE_TERMINAL, module.path);
        break;
    case FILES:
        (void)ttape_reader_get_site(out->export->reader, out->files[number], &site);
        tool_buffer_name(text, TTP_ESCAPE_TERMINAL, site.file);
        break;
    default: tool_buffer_text(text, endings[number]); break;
    }
    tool_buffer_close(&name);
}

static uint32_t text_count(const struct arrow *out, enum dictionary which)
{
    const ttape_info *info = &out->export->info;
    const uint64_t counts[DICTIONARIES] = {[THREADS] = out->export->stream_count,
                                           [NAMES] = (uint64_t)info->site_count + SIGNALS,
                                           [MODULES] = info->module_count,
                                           [FILES] = out->file_count,
                                           [ENDINGS] = ENDING_COUNT};
    return (uint32_t)counts[which];
}

/* Texts are made twice, as all their sizes come first. False: too many, which was reported. */
static bool put_texts(struct arrow *out, enum dictionary which)
{
    struct tool_output *file = &out->export->out;
    struct tool_buffer text = {0};
    uint32_t count = text_count(out, which);
    uint64_t sum = 0;
    uint8_t *offsets = tool_allocate((size_t)count + 1, sizeof(int32_t));
    for (uint32_t i = 0; i < count && sum <= TEXT_MAX; i++) {
        add_text(out, which, i, &text);
        sum += text.size_bytes;
        store(offsets + ((size_t)i + 1) * sizeof(int32_t), sum, sizeof(int32_t));
    }
    bool fits = sum <= TEXT_MAX;
    struct tool_arrow_body body = {.row_count = count, .column_count = 1, .buffer_count = 3};
    body.buffer_bytes[1] = ((uint64_t)count + 1) * sizeof(int32_t);
    body.buffer_bytes[2] = sum;
    if (fits) {
        tool_arrow_put_dictionary(file, which, &body);
        put_buffer(file, offsets, body.buffer_bytes[1]);
    }
    for (uint32_t i = 0; i < count && fits && file->failed_errno == 0; i++) {
        add_text(out, which, i, &text);
        tool_output_bytes(file, text.data, text.size_bytes);
    }
    if (fits)
        put_padding(file, sum);
    else
        out->export->status = tool_fail("'%s': its names have over 2 GiB, which a column of "
                                        "Arrow's cannot hold",
                                        out->export->input->name);
    tool_buffer_close(&text);
    free(offsets);
    return fits;
}

static void find_places(struct arrow *out)
{
    out->places = tool_allocate(out->export->info.site_count, sizeof *out->places);
    for (uint32_t i = 0; i < out->export->info.site_count; i++) {
        ttape_site site = {.module = TTAPE_NONE};
        bool is_new = false;
        (void)ttape_reader_get_site(out->export->reader, i, &site);
        bool has_module = site.module < out->export->info.module_count;
        out->places[i] =
            (struct site_place){has_module ? site.module : TTAPE_NONE, TTAPE_NONE, site.line};
        if (site.file.size_bytes == 0)
            continue;
        uint32_t *known =
            tool_names_find(&out->file_of, site.file.data, site.file.size_bytes, &is_new);
        if (is_new) {
            *known = (uint32_t)out->file_count;
            tool_grow((void **)&out->files, &out->file_capacity, out->file_count + 1,
                      sizeof(uint32_t));
            out->files[out->file_count++] = i;
        }
        out->places[i].file = *known;
    }
}

/* ---- rows ---- */

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct arrow *out = context;
    const struct tool_stack *stack = tool_walk_stack(walk);
    if (walk->stack == walk->active)
        tool_stack_account(stack, (size_t)(frame - stack->frames), &out->last_ns, now->time_ns);
    frame->id = ++out->call_count;
}

static void put_site(struct arrow *out, const struct tool_frame *frame)
{
    bool is_signal = frame->site == TTAPE_NONE;
    const struct site_place nowhere = {TTAPE_NONE, TTAPE_NONE, 0};
    const struct site_place *place = is_signal ? &nowhere : &out->places[frame->site];
    uint64_t signal = frame->signal < SIGNALS ? frame->signal : 0;
    put_value(out, SITE, or_null(frame->site));
    put_value(out, SIGNAL, is_signal ? frame->signal : NULL_NUMBER);
    put_value(out, NAME, is_signal ? out->export->info.site_count + signal : frame->site);
    put_value(out, MODULE, or_null(place->module));
    put_value(out, FILE_, or_null(place->file));
    put_value(out, LINE, place->line > 0 ? place->line : NULL_NUMBER);
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    struct arrow *out = context;
    const struct tool_stack *stack = tool_walk_stack(walk);
    if (walk->stack == walk->active)
        tool_stack_account(stack, stack->shown, &out->last_ns, now->time_ns);
    put_value(out, CALL, frame->id);
    put_value(out, PARENT, frame > stack->frames ? frame[-1].id : NULL_NUMBER);
    put_value(out, STREAM, walk->stream->stream);
    put_value(out, PID, walk->stream->pid);
    put_value(out, TID, walk->stream->tid);
    put_value(out, THREAD, out->thread);
    put_value(out, STACK, walk->stack);
    put_value(out, DEPTH, (uint64_t)(frame - stack->frames));
    put_site(out, frame);
    put_value(out, START, frame->start_ns);
    put_value(out, DURATION, now->time_ns - frame->start_ns);
    put_value(out, SELF, frame->self_ns);
    put_value(out, ENDING, ending);
    put_value(out, WAS_OPEN, frame->is_cut || frame->kind == TTAPE_EVENT_OPEN);
    if (++out->row_count == BATCH_ROWS)
        put_rows(out);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    struct arrow *out = context;
    const struct tool_stack *left = walk->stacks[from];
    tool_stack_account(left, left->shown, &out->last_ns, now->time_ns);
}

static void take_skip(void *context, struct tool_walk *walk, uint64_t to_ns)
{
    struct arrow *out = context;
    const struct tool_stack *stack = tool_walk_stack(walk);
    tool_stack_account(stack, stack->shown, &out->last_ns, walk->now_ns);
    out->last_ns = to_ns;
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct arrow *out = context;
    out->last_ns = walk->now_ns;
    out->thread = (uint64_t)(walk->stream - walk->export->streams);
}

static void put_all(struct arrow *out)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .changed = take_change,
                                                   .skip = take_skip};
    tool_arrow_put_schema(&out->export->out, columns, COLUMNS);
    for (enum dictionary i = THREADS; i < DICTIONARIES; i++)
        if (!put_texts(out, i))
            return;
    tool_export_walk(out->export, &calls, out);
    put_rows(out);
    tool_arrow_put_end(&out->export->out);
}

static int write_arrow(struct tool_export *export)
{
    struct arrow out = {.export = export};
    for (uint32_t i = 0; i < COLUMNS; i++) {
        out.values[i] = tool_allocate(BATCH_ROWS, columns[i].bytes);
        out.valid[i] = columns[i].is_nullable ? tool_allocate(BATCH_ROWS / 8, 1) : NULL;
    }
    find_places(&out);
    put_all(&out);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        free(out.values[i]);
        free(out.valid[i]);
    }
    free(out.places);
    free(out.files);
    tool_names_close(&out.file_of);
    return export->status;
}

const struct tool_export_format tool_export_arrow = {.name = "arrow",
                                                     .summary = "a table of calls in columns",
                                                     .shape = TOOL_EXPORT_BINARY,
                                                     .run = write_arrow};
