/* Outputs, and their registration for removal by the signal handler. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/signals.h"
#include "tools/command/tool.h"
#include "tools/io/target.h"

static int open_direct(struct tool_target *target, int fd)
{
    target->fd = fd;
    target->sink = ttape_sink_fd(fd);
    return TOOL_OK;
}

static int open_file(struct tool_target *target, bool force)
{
    ttape_error err = {0};
    tool_signals_block();
    ttape_status status = ttape_file_sink_open(&target->file, target->path, force, &err);
    if (status == TTAPE_OK)
        tool_signals_set_output(ttape_file_sink_temporary_name(target->file));
    tool_signals_unblock();
    if (status == TTAPE_E_EXISTS)
        return tool_fail("'%s' exists already; --force replaces it", target->path);
    if (status != TTAPE_OK)
        return tool_fail_error(target->path, &err);
    target->sink = ttape_file_sink_sink(target->file);
    return TOOL_OK;
}

int tool_target_open(struct tool_target *target, const char *path, bool force)
{
    *target = (struct tool_target){.path = path, .fd = -1};
    if (strcmp(path, "-") == 0) {
        if (isatty(STDOUT_FILENO) == 1)
            return tool_fail("a trace is binary: not written to a terminal");
        return open_direct(target, STDOUT_FILENO);
    }
    struct stat status;
    if (stat(path, &status) == 0) {
        if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) {
            int fd = open(path, O_WRONLY | O_CLOEXEC);
            return fd >= 0 ? open_direct(target, fd)
                           : tool_fail("cannot open '%s': %s", path, strerror(errno));
        }
        if (!S_ISREG(status.st_mode))
            return tool_fail("cannot write '%s': not a regular file", path);
    }
    return open_file(target, force);
}

bool tool_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A directory that cannot be read has no such file, and is told so later. */
static bool has_file(const char *directory, const struct stat *wanted)
{
    struct stat info;
    const struct dirent *entry;
    bool has = false;
    DIR *stream = opendir(directory);
    if (stream == NULL)
        return false;
    while (!has && (entry = readdir(stream)) != NULL)
        has = fstatat(dirfd(stream), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode) &&
              tool_same_file(&info, wanted);
    (void)closedir(stream);
    return has;
}

bool tool_target_is_input(const char *path, const char *input_path)
{
    struct stat input, output;
    bool is_there =
        strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &output) == 0 : stat(path, &output) == 0;
    return is_there && S_ISREG(output.st_mode) && stat(input_path, &input) == 0 &&
           (tool_same_file(&output, &input) ||
            (S_ISDIR(input.st_mode) && has_file(input_path, &output)));
}

int tool_target_write(struct tool_target *target, ttape_writer **writer, uint64_t resolution_ns,
                      const uint8_t trace_id[16])
{
    ttape_error err = {0};
    ttape_writer_options options = {
        .size = sizeof(options), .resolution_ns = resolution_ns, .has_trace_id = true};
    memcpy(options.trace_id, trace_id, sizeof(options.trace_id));
    if (ttape_writer_open(writer, &target->sink, &options, &err) != TTAPE_OK)
        return tool_fail_error(target->path, &err);
    return TOOL_OK;
}

int tool_target_commit(struct tool_target *target)
{
    ttape_error err = {0};
    if (target->file == NULL)
        return TOOL_OK;
    ttape_status status = ttape_file_sink_commit(target->file, &err);
    tool_signals_set_output(NULL);
    if (status == TTAPE_E_EXISTS)
        return tool_fail("'%s' exists already; --force replaces it", target->path);
    return status == TTAPE_OK ? TOOL_OK : tool_fail_error(target->path, &err);
}

void tool_target_close(struct tool_target *target)
{
    if (target->file != NULL) {
        tool_signals_block();
        ttape_file_sink_close(target->file);
        tool_signals_set_output(NULL);
        tool_signals_unblock();
    } else if (target->fd > STDERR_FILENO) {
        close(target->fd);
    }
    *target = (struct tool_target){.fd = -1};
}
