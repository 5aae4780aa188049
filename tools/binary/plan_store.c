/* Opens modules, writes plans under temporary names first, reads those that may be believed. */
#define _GNU_SOURCE /* st_mtim, openat and the like */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/binary/elf_head.h"
#include "tools/binary/frames/image.h"
#include "tools/binary/plan_store.h"

static void put_name(const uint8_t *bytes, uint32_t count, const char *suffix,
                     char name[TOOL_PLAN_NAME_BYTES])
{
    for (uint32_t i = 0; i < count; i++)
        (void)snprintf(name + 2 * i, 3, "%02x", bytes[i]);
    memcpy(name + 2 * count, suffix, strlen(suffix) + 1);
}

/* The name of a module's plan: of its build id, or of what the file system knows of it. */
static void set_name(const struct tool_elf_head *head, const struct stat *status,
                     const char *suffix, char name[TOOL_PLAN_NAME_BYTES])
{
    if (head->build_id_bytes == 0 || head->build_id_bytes > TOOL_IMAGE_BUILD_ID_MAX) {
        const uint64_t changed_ns =
            (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
        const uint64_t file[4] = {(uint64_t)status->st_dev, (uint64_t)status->st_ino,
                                  (uint64_t)status->st_size, changed_ns};
        put_name((const uint8_t *)file, sizeof file, suffix, name); /* as the runtime asks for it */
        return;
    }
    put_name(head->build_id, head->build_id_bytes, suffix, name);
}

const char *tool_plan_module_open(const char *path, const char *suffix, int *fd,
                                  struct stat *status, char name[TOOL_PLAN_NAME_BYTES])
{
    struct tool_elf_head head;
    const char *reason;
    *fd = tool_elf_open_file(NULL, path, &reason);
    if (*fd < 0)
        return reason;
    if (fstat(*fd, status) != 0)
        return "cannot be read";
    reason = tool_elf_head_read(*fd, &head);
    if (reason != NULL)
        return reason;
    if (!head.is_64 || head.is_big_endian || head.machine != TOOL_ELF_X86_64)
        return "it is not for x86-64";
    if ((uint64_t)status->st_size > TOOL_PLAN_FILE_MAX)
        return "it has more than 1 GiB";
    set_name(&head, status, suffix, name);
    return NULL;
}

const char *tool_plan_module_read(int fd, const struct stat *status, struct tool_plan_input *input)
{
    input->size_bytes = (size_t)status->st_size;
    input->bytes = malloc(input->size_bytes > 0 ? input->size_bytes : 1);
    if (input->bytes == NULL)
        return "there is no memory for it";
    return tool_elf_read_exactly(fd, 0, input->bytes, input->size_bytes) ? NULL
                                                                         : "it cannot be read";
}

const char *tool_plan_input_open(struct tool_plan_input *input, const char *path)
{
    struct stat status;
    int fd;
    *input = (struct tool_plan_input){0};
    const char *reason = tool_plan_module_open(path, ".plan", &fd, &status, input->name);
    if (reason == NULL)
        reason = tool_plan_module_read(fd, &status, input);
    if (fd >= 0)
        close(fd);
    return reason;
}

void tool_plan_input_close(struct tool_plan_input *input)
{
    free(input->bytes);
    *input = (struct tool_plan_input){0};
}

static bool write_all(int fd, const uint8_t *bytes, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t put = write(fd, bytes + done, size_bytes - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

bool tool_plan_write(int folder, const char *name, const uint8_t *plan, size_t size_bytes)
{
    char other[TOOL_PLAN_NAME_BYTES + 32];
    (void)snprintf(other, sizeof other, ".%s.%ld", name, (long)getpid());
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(folder, other, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlinkat(folder, other, 0) == 0)
        fd = openat(folder, other, flags, 0600); /* left by one that was killed */
    if (fd < 0)
        return false;
    bool done = write_all(fd, plan, size_bytes);
    done &= close(fd) == 0;
    done = done && renameat(folder, other, folder, name) == 0;
    if (!done)
        (void)unlinkat(folder, other, 0);
    return done;
}

const char *tool_plan_put(const char *folder, const char *name, const uint8_t *plan,
                          size_t size_bytes)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && tool_plan_write(fd, name, plan, size_bytes);
    if (fd >= 0)
        close(fd);
    return done ? NULL : "its plan cannot be written";
}

bool tool_plan_head_read(int folder, const char *name, void *head, size_t head_bytes)
{
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_read = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_uid == geteuid() && tool_elf_read_exactly(fd, 0, head, head_bytes);
    close(fd);
    return is_read;
}

uint8_t *tool_plan_read(int folder, const char *name, uint64_t most, size_t *size_bytes)
{
    struct stat status;
    uint8_t *plan = NULL;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_size > 0 && (uint64_t)status.st_size <= most) {
        *size_bytes = (size_t)status.st_size;
        plan = malloc(*size_bytes);
        if (plan != NULL && !tool_elf_read_exactly(fd, 0, plan, *size_bytes)) {
            free(plan);
            plan = NULL;
        }
    }
    close(fd);
    return plan;
}
