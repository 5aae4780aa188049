/* Files into a rollup, one after the other. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/calls/losses.h"
#include "tools/command/tool.h"
#include "tools/report/many/report_many.h"

static ttape_string host_of(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (entry.type == TTAPE_METADATA_TEXT && tool_text_is(entry.key, "host"))
            return entry.text;
    return (ttape_string){"", 0};
}

/* ---- shares: of many files each process has some, of few ones partitions of each ---- */

#define FILES_EACH 8u /* from so many for a process on, files are dealt out */

static bool deals_files(const struct tool_many *many)
{
    return many->share != NULL && many->paths->count >= (size_t)many->share->size * FILES_EACH;
}

/* What only one process says, or adds. */
static bool is_first(const struct tool_many *many)
{
    return many->share == NULL || many->share->rank == 0 || deals_files(many);
}

static bool has_file(const struct tool_many *many, size_t number)
{
    return !deals_files(many) || number % many->share->size == many->share->rank;
}

/* Partitions that lie together, as overviews cover them so. False: none of the trace. */
static bool take_share(const struct tool_many *many, const ttape_info *info,
                       ttape_rollup_selection *selection)
{
    const struct tool_share *share = many->share;
    if (share == NULL || share->size == 1 || deals_files(many))
        return true;
    if (info->partition_count == 0)
        return share->rank == 0;
    uint64_t first = info->partition_count * share->rank / share->size;
    uint64_t end = info->partition_count * (share->rank + 1ull) / share->size;
    selection->first_partition = (uint32_t)first;
    selection->partition_count = (uint32_t)(end - first);
    return end > first;
}

static bool leave_out(struct tool_many *many)
{
    many->left_out += is_first(many);
    many->status = TOOL_LOSS;
    return !ttape_rollup_has_failed(many->rollup);
}

/* Damage of one file leaves that one out; what the caller did wrong, or is short of, ends all. */
static int judge_file(struct tool_many *many, const char *name, const ttape_error *err)
{
    if (is_first(many) || err->status < TTAPE_E_TRUNCATED)
        (void)tool_fail_error(name, err);
    bool is_damage = err->status >= TTAPE_E_TRUNCATED && err->status != TTAPE_E_LIMIT;
    return is_damage && leave_out(many) ? TOOL_OK : TOOL_CANNOT;
}

/* is_growing: of the file at `path`, of which `input` may be what a filter left. */
static int add_trace(struct tool_many *many, const struct tool_input *input, const char *path,
                     bool is_growing)
{
    ttape_error err = {0};
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    ttape_rollup_selection selection = {
        .size = sizeof(selection), .host = host_of(input->reader), .is_growing = is_growing};
    const char *name = ttp_base_name(path);
    selection.name = (ttape_string){name, strlen(name)};
    if (!take_share(many, &info, &selection))
        return TOOL_OK;
    int status = many->begin(many->context, input, &selection.report);
    if (status == TOOL_OK &&
        ttape_rollup_add_trace(many->rollup, input->reader, &selection, &err) != TTAPE_OK)
        status = judge_file(many, input->name, &err);
    many->end(many->context);
    if (status != TOOL_OK)
        return status;
    if (!is_first(many))
        return TOOL_OK;
    if (tool_input_check_one(input) != TOOL_OK)
        many->status = TOOL_LOSS;
    return TOOL_OK;
}

/* Adds what the filter leaves of a trace. */
static int add_filtered(struct tool_many *many, const struct tool_input *input, const char *path)
{
    struct tool_input left;
    int status = tool_filtered_open(&left, many->filter, input, many->jobs, many->memory_bytes);
    if (status == TOOL_LOSS)
        many->status = TOOL_LOSS;
    if (status == TOOL_OK || status == TOOL_LOSS)
        status = add_trace(many, &left, path, input->is_growing);
    if (status == TOOL_OK && tool_input_check_one(input) != TOOL_OK)
        many->status = TOOL_LOSS;
    tool_input_close(&left);
    return status;
}

static int add_rollup(struct tool_many *many, const struct tool_input *input)
{
    ttape_error err = {0};
    if (!is_first(many))
        return TOOL_OK;
    if (many->needs != NULL)
        return tool_fail("'%s' is a rollup: %s needs the traces themselves", input->name,
                         many->needs);
    return ttape_rollup_add_file(many->rollup, &input->source, &err) == TTAPE_OK
               ? TOOL_OK
               : judge_file(many, input->name, &err);
}

/* Whether it can be read. What cannot, or is no file, the first process has named already. */
static bool is_file(const char *path)
{
    struct stat is;
    return access(path, R_OK) == 0 && stat(path, &is) == 0 && S_ISREG(is.st_mode);
}

static int add_file(struct tool_many *many, const char *path)
{
    struct tool_input input = {.fd = -1};
    ttape_error err = {0};
    const ttape_reader_options options = {.size = sizeof(options),
                                          .limits = {.memory_bytes = many->memory_bytes},
                                          .jobs = many->jobs};
    int status = is_first(many) || is_file(path) ? tool_input_open(&input, path) : TOOL_CANNOT;
    if (status != TOOL_OK)
        return leave_out(many) ? TOOL_OK : TOOL_CANNOT;
    if (tool_input_is_rollup(&input))
        status = add_rollup(many, &input);
    else if (tool_input_try(&input, &options, &err) != TTAPE_OK)
        status = judge_file(many, input.name, &err);
    else if (many->filter != NULL)
        status = add_filtered(many, &input, path);
    else
        status = add_trace(many, &input, path, input.is_growing);
    tool_input_close(&input);
    return status;
}

int tool_many_add(struct tool_many *many)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < many->paths->count && status == TOOL_OK; i++)
        if (has_file(many, i))
            status = add_file(many, many->paths->paths[i]);
    if (status == TOOL_OK && many->share == NULL && many->left_out == many->paths->count)
        return many->paths->count > 1 ? tool_fail("none of the files could be read") : TOOL_CANNOT;
    return status;
}
