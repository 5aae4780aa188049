/* What a program's file says of why it may not record: the ELF head (ELF-64 of this machine, an
 * interpreter to load libraries), the strings of its dynamic section (hooks, sanitizers), the mode
 * of the file. Anybody may have written it: every read is bounded. */
#define _GNU_SOURCE /* memmem */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "recorder/arena/loader_words.h"
#include "recorder/state/regular_file.h"
#include "recorder/state/unrecorded.h"

#define SCRIPTS_MAX  4u   /* interpreters that are scripts themselves */
#define SCRIPT_BYTES 256u /* of a script's first line */
#define HEADS_MAX    64u
#define DYNAMIC_MAX  512u
#define ENTRIES      32u /* read at a time: stacks may be small */
#define CHUNK_BYTES  4096u
#define OVERLAP      32u /* longest word that is looked for */
#define CACHE_MAX    (64 << 20)
#define STRINGS_MAX  (64ull << 20) /* bytes that are searched */

struct elf {
    int fd;
    Elf64_Ehdr head;
    Elf64_Phdr loads[HEADS_MAX];
    uint32_t load_count;
};

/* Reads up to the file's end: short reads go on, interrupted ones are made again. */
static ssize_t read_from(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && done == 0 ? -1 : (ssize_t)done;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return offset <= (uint64_t)INT64_MAX - size &&
           read_from(fd, bytes, size, offset) == (ssize_t)size;
}

/* What makes the loader load nothing foreign (AT_SECURE). */
static bool is_secure(const char *path, const struct stat *status)
{
    return ((status->st_mode & S_ISUID) != 0 && status->st_uid != geteuid()) ||
           ((status->st_mode & S_ISGID) != 0 && (status->st_mode & S_IXGRP) != 0 &&
            status->st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* The interpreter of a script, in `path`; false: it is no script. */
static bool read_script(int fd, char *path, size_t room)
{
    char line[SCRIPT_BYTES];
    ssize_t size = read_from(fd, line, sizeof line - 1, 0);
    if (size < 3 || memcmp(line, "#!", 2) != 0)
        return false;
    line[size] = '\0';
    const char *start = line + 2 + strspn(line + 2, " \t");
    size_t length = strcspn(start, " \t\n");
    if (length == 0 || length >= room)
        return false;
    memcpy(path, start, length);
    path[length] = '\0';
    return true;
}

static bool file_offset(const struct elf *elf, uint64_t address, uint64_t *offset)
{
    for (uint32_t i = 0; i < elf->load_count; i++) {
        const Elf64_Phdr *load = &elf->loads[i];
        if (address >= load->p_vaddr && address - load->p_vaddr < load->p_filesz) {
            *offset = load->p_offset + (address - load->p_vaddr);
            return true;
        }
    }
    return false;
}

static bool holds_word(const char *bytes, size_t size, const char *const *words)
{
    for (; *words != NULL; words++)
        if (memmem(bytes, size, *words, strlen(*words)) != NULL)
            return true;
    return false;
}

static void search(int fd, uint64_t offset, uint64_t size, struct ttp_program_file *file)
{
    static const char *const threads[] = {TTP_MAKES_THREADS, NULL};
    static const char *const hooks[] = {"__cyg_profile_func_e", "ttape_rt_", NULL};
    static const char *const sanitizers[] = {"libasan.so",  "libtsan.so",  "libhwasan.so",
                                             "__asan_init", "__tsan_init", "__msan_init",
                                             NULL};
    char bytes[CHUNK_BYTES];
    size = size < STRINGS_MAX ? size : STRINGS_MAX;
    for (uint64_t at = 0; at < size; at += CHUNK_BYTES - OVERLAP) {
        size_t part = size - at < CHUNK_BYTES ? (size_t)(size - at) : CHUNK_BYTES;
        if (!read_at(fd, bytes, part, offset + at))
            return;
        file->has_hooks |= holds_word(bytes, part, hooks);
        file->has_sanitizer |= holds_word(bytes, part, sanitizers);
        file->makes_threads |= holds_word(bytes, part, threads);
    }
}

/* Finds which C library's loader it is. */
static void look_into_loader(const char *path, struct ttp_program_file *file)
{
    static const char *const glibc[] = {TTP_LOADER_GLIBC, NULL};
    static const char *const newer[] = {TTP_LOADER_GLIBC_NEWER, NULL};
    char bytes[CHUNK_BYTES];
    struct stat status;
    bool is_glibc = false, is_newer = false, is_any = false;
    int fd = ttp_regular_open(path, &status);
    for (uint64_t at = 0; fd >= 0 && at < TTP_LOADER_BYTES; at += CHUNK_BYTES - OVERLAP) {
        ssize_t size = read_from(fd, bytes, sizeof bytes, at);
        if (size <= 0)
            break;
        is_any = true;
        is_glibc |= holds_word(bytes, (size_t)size, glibc);
        is_newer |= holds_word(bytes, (size_t)size, newer);
    }
    if (fd >= 0)
        (void)close(fd);
    file->is_other_libc = is_any && !is_glibc;
    file->is_older_libc = is_glibc && !is_newer;
}

static void look_into_head(const struct elf *elf, const Elf64_Phdr *head,
                           struct ttp_program_file *file)
{
    uint8_t bytes[TTP_NOTES_BYTES + 1] = {0};
    size_t most = head->p_type == PT_INTERP ? TTP_LOADER_PATH_BYTES : TTP_NOTES_BYTES;
    size_t size = head->p_filesz < most ? (size_t)head->p_filesz : most;
    if (!read_at(elf->fd, bytes, size, head->p_offset))
        return;
    if (head->p_type == PT_INTERP)
        look_into_loader((const char *)bytes, file);
    else
        file->is_go |= ttp_notes_have_go(bytes, size);
}

static void look_into_dynamic(const struct elf *elf, const Elf64_Phdr *dynamic,
                              struct ttp_program_file *file)
{
    Elf64_Dyn entries[ENTRIES] = {{0}};
    uint64_t address = 0, size = 0, offset, count = dynamic->p_filesz / sizeof *entries;
    count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX;
    for (uint64_t i = 0; i < count; i++) {
        size_t part = (size_t)(count - i < ENTRIES ? count - i : ENTRIES);
        const Elf64_Dyn *entry = &entries[i % ENTRIES];
        if (i % ENTRIES == 0 && !read_at(elf->fd, entries, part * sizeof *entries,
                                         dynamic->p_offset + i * sizeof *entries))
            return;
        if (entry->d_tag == DT_NULL)
            break;
        if (entry->d_tag == DT_STRTAB)
            address = entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRSZ)
            size = entry->d_un.d_val;
    }
    if (file_offset(elf, address, &offset))
        search(elf->fd, offset, size, file);
}

static bool read_head(struct elf *elf)
{
    return read_at(elf->fd, &elf->head, sizeof elf->head, 0) &&
           memcmp(elf->head.e_ident, ELFMAG, SELFMAG) == 0;
}

static bool is_of_this_machine(const struct elf *elf)
{
    return elf->head.e_ident[EI_CLASS] == ELFCLASS64 && elf->head.e_machine == EM_X86_64 &&
           elf->head.e_phentsize == sizeof(Elf64_Phdr);
}

/* What is loaded, and the dynamic segment; `file` gets what the others say, where it is given. */
static void read_segments(struct elf *elf, Elf64_Phdr *dynamic, struct ttp_program_file *file)
{
    Elf64_Phdr head;
    for (uint32_t i = 0; i < elf->head.e_phnum && i < HEADS_MAX; i++) {
        if (!read_at(elf->fd, &head, sizeof head, elf->head.e_phoff + i * sizeof head))
            break;
        if (file != NULL && (head.p_type == PT_INTERP || head.p_type == PT_NOTE))
            look_into_head(elf, &head, file);
        if (file != NULL && head.p_type == PT_INTERP)
            file->is_static = false;
        else if (head.p_type == PT_DYNAMIC)
            *dynamic = head;
        else if (head.p_type == PT_LOAD)
            elf->loads[elf->load_count++] = head;
    }
}

/* Another machine's file is only asked whether it names a loader. Heads of 64 bits are the same for
 * all. */
static bool has_interpreter(const struct elf *elf)
{
    Elf32_Ehdr small;
    Elf32_Phdr small_head;
    Elf64_Phdr head;
    bool is_small = elf->head.e_ident[EI_CLASS] == ELFCLASS32;
    if (is_small && !read_at(elf->fd, &small, sizeof small, 0))
        return false;
    uint32_t count = is_small ? small.e_phnum : elf->head.e_phnum;
    for (uint32_t i = 0; i < count && i < HEADS_MAX; i++) {
        if (is_small ? !read_at(elf->fd, &small_head, sizeof small_head,
                                small.e_phoff + i * sizeof small_head)
                     : !read_at(elf->fd, &head, sizeof head, elf->head.e_phoff + i * sizeof head))
            return false;
        if ((is_small ? small_head.p_type : head.p_type) == PT_INTERP)
            return true;
    }
    return false;
}

static void look_into_elf(struct elf *elf, struct ttp_program_file *file)
{
    Elf64_Phdr dynamic = {0};
    file->is_static = true;
    read_segments(elf, &dynamic, file);
    look_into_dynamic(elf, &dynamic, file);
}

/* -- libraries that a program asks for, and that are nowhere -- */

struct needs {
    const struct elf *elf;
    uint64_t names;       /* in the file */
    const char *origin;   /* the program's path */
    char paths[PATH_MAX]; /* of its own */
    char *cache;          /* the loader's; NULL: not known */
    size_t cache_bytes;
};

static bool read_name(const struct needs *n, uint64_t at, char *name, size_t room)
{
    ssize_t size = read_from(n->elf->fd, name, room - 1, n->names + at);
    if (size <= 0)
        return false;
    name[size] = '\0';
    return strlen(name) < room - 1;
}

/* The size of $ORIGIN, which a folder may begin with. */
static size_t origin_bytes(const char *folder, size_t size)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    for (uint32_t i = 0; i < 2; i++)
        if (size >= strlen(words[i]) && memcmp(folder, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* A folder with other words of the loader's, or a path that is too long, may have it. */
static bool is_at(const struct needs *n, const char *folder, size_t size, const char *name)
{
    char path[PATH_MAX];
    size_t word = origin_bytes(folder, size);
    const char *end = word != 0 ? strrchr(n->origin, '/') : NULL;
    int front = end == NULL ? 0 : (int)(end - n->origin);
    return memchr(folder + word, '$', size - word) != NULL ||
           snprintf(path, sizeof path, "%.*s%.*s/%s", front, n->origin, (int)(size - word),
                    folder + word, name) >= (int)sizeof path ||
           access(path, F_OK) == 0;
}

static bool is_in_one_of(const struct needs *n, const char *paths, const char *name)
{
    while (paths != NULL && *paths != '\0') {
        size_t size = strcspn(paths, ":;");
        if (is_at(n, paths, size, name))
            return true;
        paths += size + (paths[size] != '\0');
    }
    return false;
}

/* Looks where a loader looks; that may know further places, and other names. */
static bool is_somewhere(const struct needs *n, const char *name)
{
    size_t size = strlen(name);
    if (strchr(name, '/') != NULL)
        return access(name, F_OK) == 0;
    return n->cache == NULL || memmem(n->cache, n->cache_bytes, name, size + 1) != NULL ||
           is_in_one_of(n, n->paths, name) || is_in_one_of(n, getenv("LD_LIBRARY_PATH"), name) ||
           is_in_one_of(n, "/lib64:/usr/lib64:/lib:/usr/lib", name);
}

static void read_cache(struct needs *n)
{
    struct stat status;
    int fd = ttp_regular_open("/etc/ld.so.cache", &status);
    if (fd >= 0 && status.st_size > 0 && status.st_size < CACHE_MAX)
        n->cache = malloc((size_t)status.st_size);
    n->cache_bytes = n->cache == NULL ? 0 : (size_t)status.st_size;
    if (n->cache != NULL && !read_at(fd, n->cache, n->cache_bytes, 0)) {
        free(n->cache);
        n->cache = NULL;
    }
    if (fd >= 0)
        (void)close(fd);
}

static bool lacks_one(struct needs *n, const Elf64_Dyn *entries, size_t count)
{
    char name[NAME_MAX + 2];
    for (size_t i = 0; i < count; i++)
        if ((entries[i].d_tag == DT_RPATH || entries[i].d_tag == DT_RUNPATH) &&
            !read_name(n, entries[i].d_un.d_val, n->paths, sizeof n->paths))
            return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].d_tag == DT_NEEDED &&
            read_name(n, entries[i].d_un.d_val, name, sizeof name) && !is_somewhere(n, name))
            return true;
    return false;
}

static bool lacks(struct needs *n, const Elf64_Phdr *dynamic)
{
    uint64_t whole = dynamic->p_filesz / sizeof(Elf64_Dyn);
    size_t count = whole < DYNAMIC_MAX ? (size_t)whole : DYNAMIC_MAX, known = 0;
    Elf64_Dyn *entries = calloc(count + 1, sizeof *entries);
    bool is_read = entries != NULL && count != 0 &&
                   read_at(n->elf->fd, entries, count * sizeof *entries, dynamic->p_offset);
    bool has_names = false;
    while (is_read && known < count && entries[known].d_tag != DT_NULL) {
        if (entries[known].d_tag == DT_STRTAB)
            has_names = file_offset(n->elf, entries[known].d_un.d_ptr, &n->names);
        known++;
    }
    bool lacks_any = has_names && lacks_one(n, entries, known);
    free(entries);
    return lacks_any;
}

bool ttp_program_lacks_library(const char *path)
{
    struct stat status;
    struct elf elf = {.fd = ttp_regular_open(path, &status)};
    struct needs *n = calloc(1, sizeof *n);
    Elf64_Phdr dynamic = {0};
    bool is_elf = n != NULL && elf.fd >= 0 && read_head(&elf) && is_of_this_machine(&elf);
    bool lacks_any = false;
    if (is_elf) {
        read_segments(&elf, &dynamic, NULL);
        n->elf = &elf;
        n->origin = path;
        read_cache(n);
        lacks_any = lacks(n, &dynamic);
        free(n->cache);
    }
    if (elf.fd >= 0)
        (void)close(elf.fd);
    free(n);
    return lacks_any;
}

void ttp_program_file_look(const char *path, struct ttp_program_file *file)
{
    char next[SCRIPT_BYTES];
    struct stat status = {0};
    struct elf elf = {.fd = ttp_regular_open(path, &status)};
    *file = (struct ttp_program_file){0};
    for (uint32_t i = 0; i < SCRIPTS_MAX && elf.fd >= 0 && read_script(elf.fd, next, sizeof next);
         i++) {
        (void)close(elf.fd);
        elf.fd = ttp_regular_open(next, &status);
        path = next;
    }
    file->is_set_uid = is_secure(path, &status);
    if (elf.fd < 0)
        return;
    file->is_readable = read_head(&elf);
    file->is_other_machine = file->is_readable && !is_of_this_machine(&elf);
    if (file->is_other_machine)
        file->is_static = !has_interpreter(&elf);
    else if (file->is_readable)
        look_into_elf(&elf, file);
    (void)close(elf.fd);
}
