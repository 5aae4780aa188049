/* Following a trace that is being written.
 *
 *   file that grows --(waiting at its end)--> forward reader --> partition --> format --> flush
 */
#include <poll.h>
#include <unistd.h>

#include "tools/dump/dump.h"
#include "tools/io/follow/growing_file.h"

#define PAUSE_MS 40

/* False: the reader of our output is gone. */
static bool pause_a_little(void *unused)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    (void)unused;
    if (poll(&out, 1, PAUSE_MS) <= 0)
        return true;
    return (out.revents & (POLLERR | POLLNVAL)) == 0;
}

static int print_part(struct tool_dump *dump, bool *is_open)
{
    int status = tool_dump_prepare(dump);
    if (status == TOOL_OK && !*is_open) {
        dump->format->open(dump);
        *is_open = true;
    }
    if (status == TOOL_OK) {
        dump->format->print(dump);
        tool_output_flush(&dump->out);
    }
    return status;
}

/* Why it ended, where that is not how it should. */
static int check_end(const struct tool_dump *dump, const struct tool_growing *file)
{
    ttape_info info;
    ttape_reader_get_info(dump->reader, &info);
    if (info.complete || file->is_unwanted)
        return TOOL_OK;
    if (file->is_abandoned) {
        tool_message(
            "'%s' is not complete, and nobody is writing it any more: see tracetape recover",
            file->name);
    } else {
        tool_message("'%s' ends without its index", file->name);
    }
    return TOOL_LOSS;
}

static int print_parts(struct tool_dump *dump, ttape_forward *forward, struct tool_growing *file)
{
    ttape_error err = {0};
    bool is_open = false;
    int status = TOOL_OK;
    while (status == TOOL_OK && !(is_open && tool_dump_done(dump))) {
        ttape_status next = ttape_forward_next(forward, &dump->reader, &err);
        if (next == TTAPE_OK) {
            status = print_part(dump, &is_open);
            continue;
        }
        if (next != TTAPE_END) {
            (void)tool_fail_error(file->name, &err);
            status = next < TTAPE_E_TRUNCATED ? TOOL_CANNOT : TOOL_LOSS;
            break;
        }
        if (!is_open) /* no events: the header, as of any other file */
            status = print_part(dump, &is_open);
        status = status == TOOL_OK ? check_end(dump, file) : status;
        break;
    }
    if (is_open)
        dump->format->close(dump);
    return status == TOOL_OK ? dump->status : status;
}

int tool_dump_follow(struct tool_dump *dump, const char *path, uint64_t wait_ns)
{
    struct tool_growing file = {.pause = pause_a_little};
    struct tool_input named = {.fd = -1};
    ttape_forward *forward;
    ttape_error err = {0};
    int status = tool_growing_open(&file, path, wait_ns);
    named.name = file.name;
    dump->input = &named;
    if (status == TOOL_OK && file.fd >= 0) {
        ttape_input input = tool_growing_input(&file);
        ttape_reader_options reader_options = {.size = sizeof(reader_options),
                                               .limits = {.memory_bytes = dump->memory_bytes}};
        if (ttape_forward_open(&forward, &input, &reader_options, &err) == TTAPE_OK) {
            status = print_parts(dump, forward, &file);
            ttape_forward_close(forward);
        } else if (!file.is_unwanted) {
            status = tool_fail_error(file.name, &err);
        }
    }
    tool_growing_close(&file);
    dump->input = NULL;
    dump->reader = NULL;
    return status;
}
