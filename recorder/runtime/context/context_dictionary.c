/* The dictionary: each context that is asked for is an entry of a file that is mapped, and so is
 * each context around it (recorder/arena/context_file.h). Adding is a look where it should be; new
 * ones take one compare and swap. Two threads may write the same context twice: readers do not
 * mind. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/arena/context_file.h"
#include "recorder/runtime/context/context_state.h"

#define PATH_BYTES 4096u

static struct ttp_context_entry *entries(struct ttp_context_head *head)
{
    return (struct ttp_context_entry *)((uint8_t *)head + TTP_CONTEXT_ENTRIES_AT);
}

static struct ttp_context_module *module_at(struct ttp_context_head *head, uint32_t number)
{
    return (struct ttp_context_module *)((uint8_t *)head + TTP_CONTEXT_HEAD_BYTES +
                                         (size_t)(number - 1) * TTP_CONTEXT_MODULE_BYTES);
}

/* Takes a place that is nobody's. */
static bool take_entry(uint64_t *check)
{
    uint64_t none = 0;
    return __atomic_compare_exchange_n(check, &none, TTP_CONTEXT_CHECK_WRITING, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint32_t ttp_dictionary_add(uint64_t value, uint32_t around, uint32_t depth, uint64_t place)
{
    struct ttp_context_head *head = ttp_context_settings.dictionary;
    uint32_t mask = ttp_context_settings.entry_count - 1;
    struct ttp_context_entry wanted = {
        .value = value, .around = (uint64_t)depth << 32 | around, .place = place};
    wanted.check = ttp_context_entry_check(&wanted);
    uint32_t at = ttp_context_first(value, mask + 1);
    for (uint32_t i = 0; i < TTP_CONTEXT_PROBES && depth <= TTP_CONTEXT_DEPTH_MAX;
         i++, at = (at + 1) & mask) {
        struct ttp_context_entry *entry = &entries(head)[at];
        uint64_t check = __atomic_load_n(&entry->check, __ATOMIC_ACQUIRE);
        if (check == wanted.check && entry->value == value && entry->around == wanted.around &&
            entry->place == place)
            return at + 1;
        if (check != 0 || !take_entry(&entry->check))
            continue;
        entry->value = value;
        entry->around = wanted.around;
        entry->place = place;
        __atomic_store_n(&entry->check, wanted.check, __ATOMIC_RELEASE);
        return at + 1;
    }
    return 0;
}

void ttp_dictionary_missed(void)
{
    __atomic_add_fetch(&ttp_context_settings.dictionary->lost, 1, __ATOMIC_RELAXED);
}

/* -- modules -- */

static uint64_t module_check(const struct ttp_context_module *module)
{
    return ttp_context_check(
        module->seed, (uint64_t)module->build_id_bytes << 32 | module->path_bytes, module->start);
}

static void write_module(struct ttp_context_module *into, uint64_t seed,
                         const struct ttp_module_seen *module, const char *path)
{
    uint32_t size = 0;
    for (; size < module->build_id_size && size < TTP_CONTEXT_BUILD_ID_MAX; size++)
        into->build_id[size] = module->build_id[size];
    into->build_id_bytes = size;
    for (size = 0; size < TTP_CONTEXT_PATH_MAX && path[size] != '\0'; size++)
        into->path[size] = path[size];
    into->path_bytes = size;
    into->seed = seed;
    into->start = module->start;
    __atomic_store_n(&into->check, module_check(into), __ATOMIC_RELEASE);
}

uint32_t ttp_dictionary_module(uint64_t seed, const struct ttp_module_seen *module,
                               const char *path)
{
    struct ttp_context_head *head = ttp_context_settings.dictionary;
    bool has_addresses = ttp_context_settings.ids == TTAPE_CONTEXT_IDS_ADDRESS;
    if (head == NULL)
        return 0;
    for (uint32_t number = 1; number <= TTP_CONTEXT_MODULES; number++) {
        struct ttp_context_module *at = module_at(head, number);
        uint64_t check = __atomic_load_n(&at->check, __ATOMIC_ACQUIRE);
        if (check > TTP_CONTEXT_CHECK_WRITING && at->seed == seed &&
            (!has_addresses || at->start == module->start))
            return number;
        if (check != 0 || !take_entry(&at->check))
            continue;
        write_module(at, seed, module, path);
        return number;
    }
    __atomic_add_fetch(&head->modules_lost, 1, __ATOMIC_RELAXED);
    return 0;
}

/* -- the file -- */

static uint32_t entries_for(uint64_t bytes)
{
    uint64_t wanted = (bytes == 0 ? TTP_CONTEXT_BYTES : bytes) / sizeof(struct ttp_context_entry);
    uint32_t count = TTP_CONTEXT_ENTRIES_MIN;
    while (count < TTP_CONTEXT_ENTRIES_MAX && (uint64_t)count * 2 <= wanted)
        count *= 2;
    return count;
}

static uint64_t file_bytes(uint32_t entry_count)
{
    return TTP_CONTEXT_ENTRIES_AT + (uint64_t)entry_count * sizeof(struct ttp_context_entry);
}

static bool is_whole(const struct ttp_context_head *head)
{
    return head->magic == TTP_CONTEXT_MAGIC && head->version == TTP_CONTEXT_VERSION &&
           head->check == ttp_context_head_check(head) &&
           head->entry_count >= TTP_CONTEXT_ENTRIES_MIN &&
           head->entry_count <= TTP_CONTEXT_ENTRIES_MAX &&
           (head->entry_count & (head->entry_count - 1)) == 0;
}

static bool read_head(long fd, struct ttp_context_head *head, const char **why)
{
    struct stat file;
    if (ttp_syscall(SYS_newfstatat, fd, (long)"", (long)&file, AT_EMPTY_PATH, 0, 0) != 0 ||
        !S_ISREG(file.st_mode) || file.st_uid != (uid_t)ttp_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0))
        *why = "it is not a regular file of this user";
    else if (ttp_syscall(SYS_pread64, fd, (long)head, sizeof(*head), 0, 0, 0) !=
                 (long)sizeof(*head) ||
             !is_whole(head))
        *why = "it is there, and is no dictionary of this version";
    else if ((uint64_t)file.st_size < file_bytes(head->entry_count))
        *why = "it is a dictionary that was cut";
    else if (head->operation != (uint32_t)ttp_context_settings.operation ||
             head->ids != (uint32_t)ttp_context_settings.ids)
        *why = "it is a dictionary of another operation or other ids";
    else
        return true;
    return false;
}

/* All of its bytes get their place on the disk now: a store into a hole that finds none would end
 * the program. */
static bool fill_dictionary(long fd, uint32_t entry_count, const char **why)
{
    struct ttp_context_head head = {.magic = TTP_CONTEXT_MAGIC,
                                    .version = TTP_CONTEXT_VERSION,
                                    .operation = (uint32_t)ttp_context_settings.operation,
                                    .ids = (uint32_t)ttp_context_settings.ids,
                                    .entry_count = entry_count};
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    head.check = ttp_context_head_check(&head);
    *why = "it is larger than this process may make files";
    ttp_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
    if (limit.rlim_cur < file_bytes(entry_count)) /* else a signal would say so */
        return false;
    *why = "there is no room for it on the disk";
    return ttp_syscall(SYS_fallocate, fd, 0, 0, (long)file_bytes(entry_count), 0, 0) == 0 &&
           ttp_syscall(SYS_pwrite64, fd, (long)&head, sizeof(head), 0, 0, 0) == (long)sizeof(head);
}

static bool make_name(const char *path, char *name)
{
    uint32_t own = (uint32_t)ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    size_t size = 0;
    for (; path[size] != '\0'; size++) {
        if (size + 16 > PATH_BYTES)
            return false;
        name[size] = path[size];
    }
    name[size++] = '.';
    do {
        name[size++] = (char)('0' + own % 10);
        own /= 10;
    } while (own != 0);
    name[size] = '\0';
    return true;
}

/* Under another name, until it is whole; of two processes, the one that is later takes the other's.
 */
static void make_file(const char *path, uint64_t bytes, const char **why)
{
    char name[PATH_BYTES];
    *why = "its name is too long";
    if (!make_name(path, name))
        return;
    *why = "it cannot be made there";
    long fd = ttp_syscall(SYS_openat, AT_FDCWD, (long)name,
                          O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600, 0, 0);
    if (ttp_failed(fd))
        return;
    if (fill_dictionary(fd, entries_for(bytes), why))
        ttp_syscall(SYS_linkat, AT_FDCWD, (long)name, AT_FDCWD, (long)path, 0, 0);
    ttp_syscall(SYS_unlinkat, AT_FDCWD, (long)name, 0, 0, 0, 0);
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static long open_file(const char *path)
{
    return ttp_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
}

bool ttp_dictionary_open(const char *path, uint64_t bytes, const char **why)
{
    struct ttp_context_head head;
    long fd = open_file(path);
    *why = "it cannot be opened";
    if (fd == -ENOENT) {
        make_file(path, bytes, why);
        fd = open_file(path);
    }
    if (ttp_failed(fd))
        return false;
    long at = -EINVAL;
    if (read_head(fd, &head, why)) {
        at = ttp_syscall(SYS_mmap, 0, (long)file_bytes(head.entry_count), PROT_READ | PROT_WRITE,
                         MAP_SHARED, fd, 0);
        *why = "it cannot be mapped";
    }
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    if (ttp_failed(at))
        return false;
    ttp_context_settings.entry_count = head.entry_count;
    ttp_context_settings.dictionary = (struct ttp_context_head *)at;
    return true;
}
