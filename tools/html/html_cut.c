/* What of a trace goes into a file for others. Unless it is asked for, no value of an argument or a
 * result does, no text that says who ran what where, and of paths the last part only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/copy.h>

#include "base/text.h"
#include "tools/calls/cut_streams.h"
#include "tools/command/progress.h"
#include "tools/html/html.h"
#include "tools/io/scratch_file.h"

/* Texts of metadata that say nothing of who ran the program, and where. Numbers all do. */
static bool is_harmless(ttape_string key)
{
    static const char *const keys[] = {
        "source",          "recorder",       "producer",         "build_id",      "clock",
        "syscalls_engine", "syscalls_scope", "syscalls_measure", "syscalls_from", "level"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (tool_text_is(key, keys[i]))
            return true;
    return false;
}

static bool keep_entry(void *context, const ttape_metadata_entry *entry)
{
    const struct html_options *options = context;
    return options->with_values || entry->type == TTAPE_METADATA_NUMBER || is_harmless(entry->key);
}

static void shorten_module(void *context, ttape_module *module)
{
    const struct html_options *options = context;
    if (!options->with_source)
        module->path = ttp_path_base(module->path);
}

static ttape_status shorten_file(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    const struct html_options *options = context;
    (void)number;
    (void)err;
    if (!options->with_source)
        site->file = ttp_path_base(site->file);
    return TTAPE_OK;
}

struct cutting {
    struct html_cut *cut;
    const struct tool_input *input;
    const struct html_options *options;
    struct tool_cut streams;
    ttape_info info;
    ttape_writer *writer;
    ttape_copier *copier;
    ttape_error err;
};

static ttape_status copy_partition(struct cutting *c, uint32_t number)
{
    enum tool_cover cover = TOOL_COVER_NONE;
    ttape_partition_info partition;
    ttape_status status = tool_cut_cover(&c->streams, number, &cover, &c->err);
    if (status != TTAPE_OK || cover == TOOL_COVER_NONE)
        return status;
    (void)ttape_reader_get_partition(c->input->reader, number, &partition);
    bool is_same = c->options->with_values || partition.bytes.values == 0;
    return cover == TOOL_COVER_WHOLE && is_same
               ? ttape_copier_partition(c->copier, number, &c->err)
               : ttape_copier_part(c->copier, number, c->streams.from, c->streams.to, &c->err);
}

/* What the trace had lost already stands in the writer's scope, which is the last one. */
static ttape_status note_lost(struct cutting *c, uint64_t lost)
{
    ttape_metadata_entry entry;
    uint64_t before = 0;
    for (uint32_t i = 0; ttape_reader_get_metadata(c->input->reader, i, &entry) == TTAPE_OK; i++)
        if (entry.scope + 1 == c->info.scope_count && entry.type == TTAPE_METADATA_NUMBER &&
            tool_text_is(entry.key, "dropped_events"))
            before = entry.number;
    return lost > 0 ? ttape_writer_set_number(c->writer, "dropped_events", before + lost, &c->err)
                    : TTAPE_OK;
}

/* Partitions that cannot be read are left out: the page says how many events these had. */
static int copy_all(struct cutting *c)
{
    uint64_t damaged = 0, lost = 0;
    int status = TOOL_OK;
    for (uint32_t i = 0; i < c->info.partition_count; i++) {
        ttape_partition_info partition;
        if (copy_partition(c, i) != TTAPE_OK) {
            if (!tool_input_go_on(c->input, &c->err, &damaged, &status))
                return status;
            if (ttape_reader_get_partition(c->input->reader, i, &partition) == TTAPE_OK)
                lost += partition.event_count;
        }
        tool_progress_update(i + 1, c->info.partition_count, 0);
    }
    c->cut->status = status;
    if (note_lost(c, lost) != TTAPE_OK || ttape_writer_finish(c->writer, &c->err) != TTAPE_OK)
        return tool_fail_error("a file for the cut", &c->err);
    return TOOL_OK;
}

static int open_copier(struct cutting *c)
{
    const ttape_reduction reduction = {.size = sizeof reduction,
                                       .without_values = !c->options->with_values,
                                       .rename = shorten_file,
                                       .rename_module = shorten_module,
                                       .keeps = keep_entry,
                                       .context = (void *)(uintptr_t)c->options};
    ttape_writer_options writing = {.size = sizeof writing};
    ttape_sink sink = ttape_sink_fd(c->cut->fd);
    ttape_recode_options(c->input->reader, &writing);
    if (ttape_writer_open(&c->writer, &sink, &writing, &c->err) != TTAPE_OK ||
        ttape_copier_open_reduced(&c->copier, c->writer, c->input->reader, &reduction, &c->err) !=
            TTAPE_OK)
        return tool_fail_error(c->input->name, &c->err);
    return TOOL_OK;
}

static int make_cut(struct html_cut *cut, const struct html_options *options,
                    const struct tool_input *input)
{
    struct cutting c = {.cut = cut, .input = input, .options = options};
    ttape_reader_get_info(input->reader, &c.info);
    int status = tool_cut_open(&c.streams, input, options->choice);
    if (status == TOOL_OK)
        status = open_copier(&c);
    if (status == TOOL_OK)
        status = copy_all(&c);
    ttape_copier_close(c.copier);
    ttape_writer_close(c.writer);
    tool_cut_close(&c.streams);
    return status;
}

int html_cut_open(struct html_cut *cut, const struct html_options *options,
                  const struct tool_input *input)
{
    struct stat info;
    *cut = (struct html_cut){.fd = tool_open_unlinked(), .input = {.fd = -1}};
    if (cut->fd < 0)
        return tool_fail("cannot make a temporary file: %s", strerror(errno));
    int status = make_cut(cut, options, input);
    if (status != TOOL_OK)
        return status;
    if (fstat(cut->fd, &info) != 0)
        return tool_fail("cannot stat a temporary file: %s", strerror(errno));
    cut->size_bytes = (uint64_t)info.st_size;
    (void)snprintf(cut->path, sizeof cut->path, "/proc/%d/fd/%d", (int)getpid(), cut->fd);
    return tool_input_read(&cut->input, cut->path, 1, options->memory_bytes);
}

void html_cut_close(struct html_cut *cut)
{
    tool_input_close(&cut->input);
    if (cut->fd >= 0)
        close(cut->fd);
    cut->fd = -1;
}
