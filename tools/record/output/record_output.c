#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/io/target.h"
#include "tools/record/output/record_output.h"

char *tool_record_find_command(const char *name)
{
    const char *at = getenv("PATH");
    struct stat found;
    if (strchr(name, '/') != NULL)
        return stat(name, &found) == 0 ? tool_copy_text(name, strlen(name)) : NULL;
    if (at == NULL)
        return NULL;
    for (bool is_last = false; !is_last;) {
        size_t length = strcspn(at, ":");
        size_t room = length + strlen(name) + 3;
        char *path = tool_allocate(room, 1);
        snprintf(path, room, "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? at : ".", name);
        if (stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0)
            return path;
        free(path);
        is_last = at[length] == '\0';
        at += length + 1;
    }
    return NULL;
}

bool tool_record_is_command(const char *output, const char *command)
{
    struct stat there, found;
    char *path = tool_record_find_command(command);
    bool is = path != NULL && stat(output, &there) == 0 && stat(path, &found) == 0 &&
              tool_same_file(&there, &found);
    free(path);
    return is;
}

bool tool_record_is_left(const char *output)
{
    char *folder = NULL;
    struct stat info;
    bool is = asprintf(&folder, "%s.recording", output) >= 0 && lstat(folder, &info) == 0;
    free(folder);
    if (is)
        (void)tool_fail(
            "'%s.recording' exists: a recorder is at work there, or was killed; 'tracetape last "
            "%s.recording' shows its end, 'tracetape recover %s.recording -o %s' makes a trace",
            output, output, output, output);
    return is;
}

bool tool_record_is_file(const char *output)
{
    struct stat info;
    return stat(output, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_trace(const char *path)
{
    static const char magic[] = {(char)0x89, 'T', 'T', 'A', 'P', 'E'};
    char head[sizeof magic];
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    bool is = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
              pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
              memcmp(head, magic, sizeof head) == 0;
    if (fd >= 0)
        (void)close(fd);
    return is;
}

bool tool_record_put_aside(const char *output)
{
    char *old = NULL;
    struct stat info;
    if (lstat(output, &info) != 0)
        return true;
    bool done = is_trace(output) && asprintf(&old, "%s.old", output) >= 0 &&
                (lstat(old, &info) != 0 || is_trace(old)) && rename(output, old) == 0;
    free(old);
    return done;
}

int tool_record_stdout_open(struct tool_record_stdout *standard)
{
    const char *parent = getenv("TMPDIR");
    if (isatty(STDOUT_FILENO) == 1)
        return tool_fail("a trace is binary: not written to a terminal");
    if (asprintf(&standard->folder, "%s/tracetape.XXXXXX",
                 parent != NULL && *parent != '\0' ? parent : "/tmp") < 0)
        tool_out_of_memory();
    if (mkdtemp(standard->folder) == NULL) {
        int status = tool_fail("cannot make '%s': %s", standard->folder, strerror(errno));
        free(standard->folder);
        return status;
    }
    if (asprintf(&standard->path, "%s/run.ttape", standard->folder) < 0)
        tool_out_of_memory();
    standard->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (standard->fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return tool_fail("cannot keep standard output: %s", strerror(errno));
    return TOOL_OK;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static bool copy_file(int from, int to)
{
    char data[65536];
    for (;;) {
        ssize_t size = read(from, data, sizeof data);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return size == 0;
        if (!write_all(to, data, (size_t)size))
            return false;
    }
}

int tool_record_stdout_close(struct tool_record_stdout *standard, int status)
{
    int file = open(standard->path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && !copy_file(file, standard->fd)) {
        int failed = tool_fail("cannot write standard output: %s", strerror(errno));
        status = status == TOOL_OK || status == TOOL_LOSS ? failed : status;
    }
    if (file >= 0) {
        (void)close(file);
        (void)unlink(standard->path);
    }
    (void)rmdir(standard->folder); /* what could not be finished stays in it, and was told */
    (void)close(standard->fd);
    free(standard->folder);
    free(standard->path);
    return status;
}

char *tool_record_default_output(const char *program)
{
    char *name = NULL;
    const char *slash = strrchr(program, '/');
    if (asprintf(&name, "%s.ttape", slash != NULL ? slash + 1 : program) < 0)
        return NULL;
    return name;
}
