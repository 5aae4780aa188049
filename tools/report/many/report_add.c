/* Files into a rollup, one after the other. */
#define _GNU_SOURCE /* F_OFD_GETLK */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/calls/losses.h"
#include "tools/command/tool.h"
#include "tools/report/many/report_many.h"

/* A recorder that still writes a file holds a lock on it. */
static bool is_written(const char *path)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return is;
}

static ttape_string host_of(const ttape_reader *reader)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (entry.type == TTAPE_METADATA_TEXT && tool_text_is(entry.key, "host"))
            return entry.text;
    return (ttape_string){"", 0};
}

static bool leave_out(struct tool_many *many)
{
    many->left_out++;
    many->status = TOOL_LOSS;
    return !ttape_rollup_has_failed(many->rollup);
}

/* Damage of one file leaves that one out; what the caller did wrong, or is short of, ends all. */
static int judge(struct tool_many *many, const char *name, const ttape_error *err)
{
    (void)tool_fail_error(name, err);
    bool is_damage = err->status >= TTAPE_E_TRUNCATED && err->status != TTAPE_E_LIMIT;
    return is_damage && leave_out(many) ? TOOL_OK : TOOL_CANNOT;
}

static int add_trace(struct tool_many *many, const struct tool_input *input, const char *path)
{
    ttape_error err = {0};
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    ttape_rollup_selection selection = {.size = sizeof(selection),
                                        .host = host_of(input->reader),
                                        .is_growing = !info.complete && is_written(path)};
    const char *name = ttp_base_name(path);
    selection.name = (ttape_string){name, strlen(name)};
    int status = many->begin(many->context, input, &selection.report);
    if (status == TOOL_OK &&
        ttape_rollup_add_trace(many->rollup, input->reader, &selection, &err) != TTAPE_OK)
        status = judge(many, input->name, &err);
    many->end(many->context);
    if (status != TOOL_OK)
        return status;
    many->growing += selection.is_growing;
    if (selection.is_growing)
        tool_message("'%s' is still written: reported up to its last whole partition", path);
    else if (tool_input_check_end(input) != TOOL_OK)
        many->status = TOOL_LOSS;
    return TOOL_OK;
}

static int add_rollup(struct tool_many *many, const struct tool_input *input)
{
    ttape_error err = {0};
    if (many->needs != NULL)
        return tool_fail("'%s' is a rollup: %s needs the traces themselves", input->name,
                         many->needs);
    return ttape_rollup_add_file(many->rollup, &input->source, &err) == TTAPE_OK
               ? TOOL_OK
               : judge(many, input->name, &err);
}

static int add_file(struct tool_many *many, const char *path)
{
    struct tool_input input;
    ttape_error err = {0};
    const ttape_reader_options options = {.size = sizeof(options),
                                          .limits = {.memory_bytes = many->memory_bytes},
                                          .jobs = many->jobs};
    int status = tool_input_open(&input, path);
    if (status != TOOL_OK)
        return leave_out(many) ? TOOL_OK : TOOL_CANNOT;
    if (tool_input_is_rollup(&input))
        status = add_rollup(many, &input);
    else if (ttape_reader_open(&input.reader, &input.source, &options, &err) != TTAPE_OK)
        status = judge(many, input.name, &err);
    else
        status = add_trace(many, &input, path);
    tool_input_close(&input);
    return status;
}

int tool_many_add(struct tool_many *many)
{
    int status = TOOL_OK;
    for (size_t i = 0; i < many->paths->count && status == TOOL_OK; i++)
        status = add_file(many, many->paths->paths[i]);
    if (status == TOOL_OK && many->left_out == many->paths->count)
        return many->paths->count > 1 ? tool_fail("none of the files could be read") : TOOL_CANNOT;
    return status;
}
