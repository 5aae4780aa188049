/* Plans lie in a folder of the recording's. Whatever is in the file, nothing outside of it is read,
 * and no site is used whose bytes are elsewhere. */
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

/* A table of `count` entries that ends within the file. */
static bool holds_section(const struct ttp_plan_head *head, uint64_t at, uint64_t count,
                          uint64_t size)
{
    return at % 8 == 0 && at >= sizeof(*head) && at <= head->total_bytes &&
           count <= (head->total_bytes - at) / size;
}

static bool check_site(const struct ttp_plan_head *head, const struct ttp_plan_site *site)
{
    uint64_t bytes = (uint64_t)site->bytes + site->window_bytes + site->before_bytes +
                     site->after_bytes + site->rule_bytes;
    if (site->kind != TTP_PLAN_CAN)
        return true;
    return site->window_bytes >= TTP_PLAN_WINDOW_MIN && site->window_bytes <= TTP_PLAN_WINDOW_MAX &&
           site->window <= site->address && site->window >= head->code_start &&
           (uint64_t)site->address + 2 <= (uint64_t)site->window + site->window_bytes &&
           (uint64_t)site->window + site->window_bytes <= head->code_end &&
           bytes <= head->byte_count &&
           (uint64_t)site->first_fixup + site->fixup_count <= head->fixup_count;
}

static bool check_fixups(const struct ttp_plan_head *head, const struct ttp_plan_site *site)
{
    const struct ttp_plan_fixup *fixups = ttp_plan_at(head, head->fixups_at);
    uint32_t moved = (uint32_t)site->before_bytes + site->after_bytes;
    for (uint32_t i = 0; site->kind == TTP_PLAN_CAN && i < site->fixup_count; i++)
        if ((uint32_t)fixups[site->first_fixup + i].at + 4 > moved)
            return false;
    return true;
}

static bool check_plan(const struct ttp_plan_head *head, uint64_t size, const uint8_t *content)
{
    if (size < sizeof(*head) || head->magic != TTP_PLAN_MAGIC ||
        head->version != TTP_PLAN_VERSION || head->head_bytes != sizeof(*head) ||
        head->total_bytes != size || head->machine != 62 || head->site_count > TTP_PLAN_SITES_MAX ||
        head->row_count > TTP_PLAN_ROWS_MAX ||
        !ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES))
        return false;
    if (!holds_section(head, head->sites_at, head->site_count, sizeof(struct ttp_plan_site)) ||
        !holds_section(head, head->fixups_at, head->fixup_count, sizeof(struct ttp_plan_fixup)) ||
        !holds_section(head, head->rows_at, head->row_count, sizeof(struct ttp_plan_row)) ||
        !holds_section(head, head->row_index_at, (uint64_t)head->row_index_count + 1,
                       sizeof(uint32_t)) ||
        !holds_section(head, head->bytes_at, head->byte_count, 1))
        return false;
    const struct ttp_plan_site *sites = ttp_plan_at(head, head->sites_at);
    for (uint32_t i = 0; i < head->site_count; i++)
        if (!check_site(head, &sites[i]) || !check_fixups(head, &sites[i]))
            return false;
    return true;
}

const struct ttp_plan_head *ttp_plan_map(const uint8_t content[TTP_PLAN_CONTENT_BYTES])
{
    char path[TTP_PLAN_PATH_BYTES];
    uint64_t size_bytes;
    if (!ttp_plan_path(path, content, TTP_PLAN_CONTENT_BYTES, TTP_PLAN_SUFFIX))
        return NULL;
    const struct ttp_plan_head *head = ttp_plan_file_map(path, TTP_PLAN_BYTES_MAX, &size_bytes);
    if (head == NULL || check_plan(head, size_bytes, content))
        return head;
    ttp_plan_file_unmap(head, size_bytes);
    return NULL;
}
