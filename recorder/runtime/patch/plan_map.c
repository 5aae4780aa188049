/* Plans lie in a folder of the recording's. Whatever is in the file, nothing outside of it is read.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/runtime/patch/patch.h"

static uint32_t put_text(char *path, uint32_t at, const char *text)
{
    while (*text != '\0')
        path[at++] = *text++;
    return at;
}

bool ttp_plan_path(char *path, const uint8_t *bytes, uint32_t count, const char *suffix)
{
    static const char digits[] = "0123456789abcdef";
    const char *folder = (const char *)ttp_arena.bytes + TTP_ARENA_FOLDER_AT;
    uint32_t at = 0;
    if (folder[0] == '\0' || ttp_arena.bytes[TTP_ARENA_HEAD_BYTES - 1] != 0)
        return false;
    at = put_text(path, at, folder);
    at = put_text(path, at, "/" TTP_PLAN_FOLDER "/");
    for (uint32_t i = 0; i < count; i++) {
        path[at++] = digits[bytes[i] >> 4];
        path[at++] = digits[bytes[i] & 15];
    }
    at = put_text(path, at, suffix);
    path[at] = '\0';
    return true;
}

const void *ttp_plan_file_map(const char *path, uint64_t bytes_max, uint64_t *size_bytes)
{
    struct stat file;
    long fd = ttp_syscall(SYS_openat, AT_FDCWD, (long)path,
                          O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0, 0, 0);
    if (ttp_failed(fd))
        return NULL;
    long memory = -1;
    bool is_ours =
        ttp_syscall(SYS_newfstatat, fd, (long)"", (long)&file, AT_EMPTY_PATH, 0, 0) == 0 &&
        S_ISREG(file.st_mode) && file.st_uid == ttp_process.user && (file.st_mode & 022) == 0 &&
        file.st_nlink == 1 && (uint64_t)file.st_size <= bytes_max;
    if (is_ours)
        memory = ttp_syscall(SYS_mmap, 0, file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    if (!is_ours || ttp_failed(memory))
        return NULL;
    *size_bytes = (uint64_t)file.st_size;
    return (const void *)memory;
}

void ttp_plan_file_unmap(const void *file, uint64_t size_bytes)
{
    ttp_syscall(SYS_munmap, (long)file, (long)size_bytes, 0, 0, 0, 0);
}

const struct ttp_plan_head *ttp_plan_map(const uint8_t content[TTP_PLAN_CONTENT_BYTES])
{
    char path[TTP_PLAN_PATH_BYTES];
    uint64_t size_bytes;
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, TTP_PLAN_SUFFIX))
        return NULL;
    const struct ttp_plan_head *head = ttp_plan_file_map(path, TTP_PLAN_BYTES_MAX, &size_bytes);
    if (head == NULL || ttp_plan_check(head, size_bytes, content))
        return head;
    ttp_plan_file_unmap(head, size_bytes);
    return NULL;
}
