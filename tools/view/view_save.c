/* "Save as a file": what `tracetape export --format html` writes, of the time that the page shows,
 * into a file without a name. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/html/html.h"
#include "tools/io/scratch_file.h"
#include "tools/view/view_server.h"

#define REQUEST_BYTES 256u

/* The number behind "KEY=" in a text of KEY=NUMBER&KEY=NUMBER; false: it has none. */
static bool take_number(const char *request, const char *key, uint64_t *number)
{
    size_t length = strlen(key);
    for (const char *at = request; at != NULL; at = strchr(at, '&')) {
        at += *at == '&';
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            *number = strtoull(at + length + 1, NULL, 10);
            return true;
        }
    }
    return false;
}

static bool take_options(const char *request, struct tool_choice *choice,
                         struct html_options *options)
{
    char span[80];
    uint64_t from, to, flag = 0;
    options->with_values = take_number(request, "values", &flag) && flag == 1;
    options->with_source = take_number(request, "source", &flag) && flag == 1;
    if (!take_number(request, "from", &from) || !take_number(request, "to", &to))
        return true; /* all of it */
    (void)snprintf(span, sizeof span, "+%" PRIu64 "ns..+%" PRIu64 "ns", from, to);
    return to > from && tool_parse_span(span, &choice->time);
}

static bool write_file(const struct html_options *options, const struct tool_input *input, int fd)
{
    ttape_error err = {0};
    struct tool_output out;
    struct tool_input own = *input; /* with a reader of its own */
    const ttape_reader_options how = {.size = sizeof how,
                                      .limits.memory_bytes = options->memory_bytes};
    if (ttape_reader_open(&own.reader, &input->source, &how, &err) != TTAPE_OK) {
        (void)tool_fail_error(input->name, &err);
        return false;
    }
    tool_output_open(&out, fd);
    int status = html_write(options, &own, "the page's file", &out);
    ttape_reader_close(own.reader);
    return tool_output_close(&out) == TOOL_OK && (status == TOOL_OK || status == TOOL_LOSS);
}

int view_save(const struct tool_input *input, const struct view_how *how, const char *request,
              size_t request_bytes, uint64_t *size_bytes)
{
    char text[REQUEST_BYTES + 1];
    struct stat info;
    struct tool_choice choice = {0};
    struct html_options options = {.choice = &choice,
                                   .sources = how->sources,
                                   .names = how->names,
                                   .memory_bytes = how->memory_bytes,
                                   .is_quiet = true};
    size_t kept = request_bytes <= REQUEST_BYTES ? request_bytes : 0;
    if (kept > 0)
        memcpy(text, request, kept);
    text[kept] = '\0';
    if (kept < request_bytes || !take_options(text, &choice, &options)) {
        (void)tool_fail("a file of no time was asked for");
        return -1;
    }
    int fd = tool_open_unlinked();
    if (fd < 0)
        (void)tool_fail("cannot make a temporary file: %s", strerror(errno));
    if (fd >= 0 && (!write_file(&options, input, fd) || fstat(fd, &info) != 0)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        *size_bytes = (uint64_t)info.st_size;
    return fd;
}
