/* The file that a module is mapped from. Its path says what has that name now, which may have been
 * put there since: so the kernel's list of mappings is asked whether it is the same.
 *
 * That list and stat do not call a file by the same numbers everywhere (overlayfs, btrfs). There a
 * page of the file that was opened is mapped beside the module: then the list has both. */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/runtime/patch/patch.h"

#define PAGE        4096u
#define SECOND_NS   1000000000u
#define LOW_ADDRESS 0x10000 /* where nothing is, mostly: the list's first line then */

static uint64_t in_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static bool is_mapped_from(long file, const struct stat *about, uintptr_t start)
{
    struct ttp_mapped_file module, same;
    if (!ttp_mapped_file_find(start, &module))
        return false;
    if (module.device == about->st_dev && module.inode == about->st_ino)
        return true;
    long page = ttp_syscall(SYS_mmap, LOW_ADDRESS, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    if (ttp_failed(page))
        return false;
    bool is_same = ttp_mapped_file_read((uintptr_t)page, &same) && module.device == same.device &&
                   module.inode == same.inode;
    ttp_syscall(SYS_munmap, page, PAGE, 0, 0, 0, 0);
    return is_same;
}

void ttp_module_file_open(struct ttp_module_file *of, const struct ttp_module_seen *module,
                          const char *path)
{
    struct stat about;
    *of = (struct ttp_module_file){.file = ttp_syscall(SYS_openat, AT_FDCWD, (long)path,
                                                       O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0)};
    if (ttp_failed(of->file))
        return;
    if (ttp_syscall(SYS_newfstatat, of->file, (long)"", (long)&about, AT_EMPTY_PATH, 0, 0) != 0 ||
        !S_ISREG(about.st_mode) || !is_mapped_from(of->file, &about, module->start)) {
        ttp_module_file_close(of);
        return;
    }
    of->stamp = (struct ttp_plan_stamp){.device = about.st_dev,
                                        .inode = about.st_ino,
                                        .size_bytes = (uint64_t)about.st_size,
                                        .written_ns = in_ns(&about.st_mtim),
                                        .changed_ns = in_ns(&about.st_ctim)};
}

void ttp_module_file_close(struct ttp_module_file *of)
{
    if (!ttp_failed(of->file))
        ttp_syscall(SYS_close, of->file, 0, 0, 0, 0, 0);
    of->file = -1;
}

bool ttp_module_file_known(struct ttp_module_file *of)
{
    char path[TTP_PLAN_PATH_BYTES];
    const struct ttp_plan_file *known = NULL;
    uint64_t size_bytes;
    if (!ttp_failed(of->file) &&
        ttp_plan_path(path, (const uint8_t *)&of->stamp, sizeof(of->stamp), TTP_FILE_SUFFIX))
        known = ttp_plan_file_map(path, sizeof(*known), &size_bytes);
    if (known == NULL)
        return false;
    bool is_it =
        size_bytes == sizeof(*known) && known->magic == TTP_PLAN_FILE_MAGIC &&
        known->version == TTP_FILE_VERSION && known->head_bytes == sizeof(*known) &&
        ttp_is_same((const uint8_t *)&known->stamp, (const uint8_t *)&of->stamp, sizeof(of->stamp));
    if (is_it)
        __builtin_memcpy(of->content, known->content, sizeof(of->content));
    ttp_plan_file_unmap(known, size_bytes);
    return is_it;
}

static size_t copy_path(const char *name, char *path)
{
    size_t size = 0;
    while (size < PATH_MAX - 1 && name[size] != '\0') {
        path[size] = name[size];
        size++;
    }
    return size;
}

bool ttp_module_path(const struct dl_phdr_info *info, const struct ttp_module_seen *module,
                     char *path)
{
    const char *name = info->dlpi_name != NULL ? info->dlpi_name : "";
    size_t size = name[0] == '/' ? copy_path(name, path)
                                 : ttp_mapping_path(module->start, path, PATH_MAX - 1);
    path[size] = '\0';
    return path[0] == '/';
}
