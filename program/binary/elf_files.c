/* Files: the module's own, and those that it points to. A path out of a file is never trusted:
 * what is opened is a regular file with the right build id or checksum, or nothing.
 *
 *   build id      DEBUG/.build-id/12/3456....debug
 *   debug link    beside the file, in .debug/ there, in DEBUG/ at the same path, in DEBUG itself
 *   fetched       CACHE/123456.../debuginfo, of clients of debuginfod
 *   DEBUG         each given folder, then /usr/lib/debug
 *
 * libdwfl would do most of this, but it asks servers in the network where a variable says so,
 * and opens FIFOs. */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "program/binary/elf_symbols.h"
#include "program/process/child.h"

#define SYSTEM_DEBUG_FOLDER "/usr/lib/debug"

/* What a separate file must be. */
struct wanted_file {
    const uint8_t *build_id;
    size_t build_id_bytes;
    bool never_loaded; /* it holds what others share, no image */
    bool has_checksum;
    uint32_t checksum;
    const struct tool_elf_file *not_this; /* or NULL */
};

/* Mapping a file must not count against what the helper may allocate. */
static void allow_mapping(uint64_t size_bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        uint64_t room = limit.rlim_max - limit.rlim_cur;
        limit.rlim_cur += size_bytes < room ? size_bytes : room;
        (void)setrlimit(RLIMIT_AS, &limit);
    }
}

/* The checksum of debug links: CRC-32 as in zlib. */
static bool checksum_of(int fd, uint32_t *checksum)
{
    uint32_t table[256];
    uint8_t buffer[32768];
    uint32_t sum = UINT32_MAX;
    ssize_t got;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (0xEDB88320u & -(value & 1));
        table[i] = value;
    }
    for (off_t offset = 0; (got = pread(fd, buffer, sizeof(buffer), offset)) != 0; offset += got) {
        if (got < 0 && errno == EINTR) {
            got = 0;
            continue;
        }
        if (got < 0)
            return false;
        for (ssize_t i = 0; i < got; i++)
            sum = sum >> 8 ^ table[(sum ^ buffer[i]) & 255];
    }
    *checksum = ~sum;
    return true;
}

static bool is_wanted(const struct tool_elf_file *file, int fd, const struct wanted_file *wanted)
{
    uint32_t checksum;
    if (wanted->build_id_bytes > 0 &&
        (file->head.build_id_bytes != wanted->build_id_bytes ||
         memcmp(file->head.build_id, wanted->build_id, wanted->build_id_bytes) != 0))
        return false;
    if (wanted->not_this != NULL && wanted->not_this->device == file->device &&
        wanted->not_this->inode == file->inode)
        return false;
    return !wanted->has_checksum || (checksum_of(fd, &checksum) && checksum == wanted->checksum);
}

static const char *open_wanted(struct tool_elf_file *file, const char *root, const char *path,
                               const struct wanted_file *wanted)
{
    struct stat status;
    const char *reason;
    *file = (struct tool_elf_file){.root = root};
    int fd = tool_elf_open_file(root, path, &reason);
    if (fd < 0)
        return reason;
    reason = wanted != NULL && wanted->never_loaded ? tool_elf_id_read(fd, &file->head)
                                                    : tool_elf_head_read(fd, &file->head);
    if (reason == NULL && fstat(fd, &status) == 0) {
        file->device = (uint64_t)status.st_dev;
        file->inode = (uint64_t)status.st_ino;
        reason = wanted == NULL || is_wanted(file, fd, wanted) ? NULL : "it is another file";
    }
    if (reason == NULL) {
        allow_mapping((uint64_t)status.st_size);
        file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF ||
            elf_cntl(file->elf, ELF_C_FDREAD) != 0)
            reason = "its ELF structure is damaged";
    }
    close(fd);
    if (reason != NULL) {
        tool_elf_file_close(file);
        return reason;
    }
    file->path = tool_child_copy_text(path, strlen(path));
    return NULL;
}

const char *tool_elf_file_open(struct tool_elf_file *file, const char *root, const char *path)
{
    (void)elf_version(EV_CURRENT);
    return open_wanted(file, root, path, NULL);
}

void tool_elf_file_close(struct tool_elf_file *file)
{
    if (file->elf != NULL)
        (void)elf_end(file->elf);
    free(file->path);
    *file = (struct tool_elf_file){0};
}

/* The folders of debug information, one after the other: false at the end. */
static bool next_folder(const struct tool_elf_where *where, size_t *at, const char **root,
                        const char **folder)
{
    bool given = *at < where->debug_folder_count;
    *root = given ? NULL : where->root;
    *folder = given ? where->debug_folders[*at] : SYSTEM_DEBUG_FOLDER;
    return (*at)++ <= where->debug_folder_count;
}

static bool fits_path(int length) { return length > 0 && (size_t)length < TOOL_ELF_PATH_MAX; }

static void put_hex(const struct wanted_file *wanted, char *hex)
{
    for (size_t i = 0; i < wanted->build_id_bytes; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", wanted->build_id[i]);
}

static bool find_by_id(const struct tool_elf_where *where, const struct wanted_file *wanted,
                       struct tool_elf_file *found)
{
    static const char *const endings[] = {".debug", ""};
    char hex[2 * TOOL_BUILD_ID_BYTES_MAX + 2] = "", path[TOOL_ELF_PATH_MAX];
    const char *root, *folder;
    if (wanted->build_id_bytes < 2 || wanted->build_id_bytes > TOOL_BUILD_ID_BYTES_MAX)
        return false;
    put_hex(wanted, hex);
    for (size_t at = 0; next_folder(where, &at, &root, &folder);) {
        for (size_t i = 0; i < 2; i++)
            if (fits_path(snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", folder, hex,
                                   hex + 2, endings[i])) &&
                open_wanted(found, root, path, wanted) == NULL)
                return true;
    }
    return false;
}

/* What debuginfod's clients keep: so as gdb has it, it is here, too. */
static bool find_fetched(const struct tool_elf_where *where, const struct wanted_file *wanted,
                         struct tool_elf_file *found)
{
    char hex[2 * TOOL_BUILD_ID_BYTES_MAX + 2] = "", path[TOOL_ELF_PATH_MAX];
    if (where->fetched == NULL || wanted->build_id_bytes < 2 ||
        wanted->build_id_bytes > TOOL_BUILD_ID_BYTES_MAX)
        return false;
    put_hex(wanted, hex);
    return fits_path(snprintf(path, sizeof(path), "%s/%s/debuginfo", where->fetched, hex)) &&
           open_wanted(found, NULL, path, wanted) == NULL;
}

static bool try_name(const char *root, const char *folder, const char *below, const char *name,
                     const struct wanted_file *wanted, struct tool_elf_file *found)
{
    char path[TOOL_ELF_PATH_MAX];
    return fits_path(snprintf(path, sizeof(path), "%s%s/%s", folder, below, name)) &&
           open_wanted(found, root, path, wanted) == NULL;
}

/* Looks for `name` where files that belong to the one in `beside` (a folder in `root`) may be. */
static bool find_by_name(const struct tool_elf_where *where, const char *at_root,
                         const char *beside, const char *name, const struct wanted_file *wanted,
                         struct tool_elf_file *found)
{
    const char *root, *folder;
    if (try_name(at_root, beside, "", name, wanted, found) ||
        try_name(at_root, beside, "/.debug", name, wanted, found))
        return true;
    for (size_t at = 0; next_folder(where, &at, &root, &folder);)
        if ((beside[0] == '/' && try_name(root, folder, beside, name, wanted, found)) ||
            (beside[0] == '\0' && try_name(root, folder, "", name, wanted, found)) ||
            (at <= where->debug_folder_count && try_name(root, folder, "", name, wanted, found)))
            return true;
    return false;
}

/* The folder that a file is in, "" for /, "." for none; real: links on the way resolved. */
static bool folder_of(const struct tool_elf_file *file, bool real, char folder[TOOL_ELF_PATH_MAX])
{
    char *resolved = real && file->root == NULL ? realpath(file->path, NULL) : NULL;
    const char *path = resolved != NULL ? resolved : file->path;
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 1;
    bool usable = (!real || resolved != NULL) && length < TOOL_ELF_PATH_MAX;
    if (usable) {
        memcpy(folder, slash != NULL ? path : ".", length);
        folder[length] = '\0';
    }
    free(resolved);
    return usable;
}

static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, "..") != 0;
}

bool tool_elf_find_debug(const struct tool_elf_where *where, const struct tool_elf_file *main_file,
                         const uint8_t *build_id, size_t build_id_bytes,
                         struct tool_elf_file *debug)
{
    struct wanted_file wanted = {.build_id = build_id,
                                 .build_id_bytes = build_id_bytes,
                                 .not_this = main_file->elf != NULL ? main_file : NULL};
    char folder[TOOL_ELF_PATH_MAX];
    GElf_Word checksum = 0;
    (void)elf_version(EV_CURRENT);
    if (find_by_id(where, &wanted, debug))
        return true;
    const char *name =
        main_file->elf != NULL ? dwelf_elf_gnu_debuglink(main_file->elf, &checksum) : NULL;
    bool has_name = name != NULL && is_plain_name(name);
    wanted.has_checksum = true;
    wanted.checksum = checksum;
    for (int real = 0; has_name && real < 2; real++)
        if (folder_of(main_file, real != 0, folder) &&
            find_by_name(where, main_file->root, folder, name, &wanted, debug))
            return true;
    wanted.has_checksum = false; /* a server may have stripped it of something */
    return find_fetched(where, &wanted, debug);
}

bool tool_elf_find_shared(const struct tool_elf_where *where, const struct tool_elf_file *debug,
                          const char *name, const uint8_t *build_id, size_t build_id_bytes,
                          struct tool_elf_file *shared)
{
    struct wanted_file wanted = {.build_id = build_id,
                                 .build_id_bytes = build_id_bytes,
                                 .never_loaded = true,
                                 .not_this = debug};
    char folder[TOOL_ELF_PATH_MAX];
    if (build_id_bytes == 0)
        return false;
    if (find_by_id(where, &wanted, shared))
        return true;
    if (name[0] == '/' && open_wanted(shared, debug->root, name, &wanted) == NULL)
        return true;
    for (int real = 1; name[0] != '/' && real >= 0;
         real--) /* the name counts from where the file really is */
        if (folder_of(debug, real != 0, folder) &&
            try_name(debug->root, folder, "", name, &wanted, shared))
            return true;
    return find_fetched(where, &wanted, shared);
}

static Elf_Data *section_named(const struct tool_elf_file *file, const char *wanted)
{
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) != NULL
                               ? elf_strptr(file->elf, names, header.sh_name)
                               : NULL;
        if (name != NULL && strcmp(name, wanted) == 0 && header.sh_type == SHT_PROGBITS)
            return elf_rawdata(section, NULL);
    }
    return NULL;
}

/* libdw unpacks a compressed file by itself: so the section is made a file. */
bool tool_elf_find_embedded(const struct tool_elf_file *file, struct tool_elf_file *embedded)
{
    *embedded = (struct tool_elf_file){0};
    const Elf_Data *data = section_named(file, ".gnu_debugdata");
    if (data == NULL || data->d_buf == NULL || data->d_size == 0)
        return false;
    int fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    if (write(fd, data->d_buf, data->d_size) == (ssize_t)data->d_size &&
        lseek(fd, 0, SEEK_SET) == 0)
        embedded->elf = dwelf_elf_begin(fd);
    if (embedded->elf != NULL && elf_kind(embedded->elf) != ELF_K_ELF)
        tool_elf_file_close(embedded);
    close(fd);
    embedded->head = file->head;
    return embedded->elf != NULL;
}
