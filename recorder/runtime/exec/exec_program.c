/* A program's file, before it is executed: whether its loader takes our library, and a copy of it
 * would do so, too. Small on the stack, as the caller may be a handler on a stack of its own. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/arena/loader_words.h"
#include "recorder/runtime/exec/exec.h"

#define SCRIPTS_MAX   4u
#define LINE_BYTES    256u
#define PATH_BYTES    512u
#define HEADS_MAX     64u
#define CHUNK_BYTES   512u
#define OVERLAP       16u
#define HEAD_32_BYTES 32u /* of a 32-bit file's segment */
#define USUAL_LOADER  "/ld-linux-x86-64.so.2"
#define USUAL_PATH    "/bin:/usr/bin" /* where there is none */

static long open_at(const char *path, int flags)
{
    return ttp_syscall(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0, 0, 0);
}

static void close_it(long file) { (void)ttp_syscall(SYS_close, file, 0, 0, 0, 0, 0); }

bool ttp_exec_can_read(const char *path)
{
    long file = open_at(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!ttp_failed(file))
        close_it(file);
    return file != -ENOENT && file != -EACCES && file != -ENOTDIR && file != -EPERM;
}

/* Nothing but a regular file is opened: others may wait, or do something. */
static long open_regular(const char *path, struct stat *about)
{
    if (ttp_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)about, 0, 0, 0) != 0 ||
        !S_ISREG(about->st_mode))
        return -1;
    return open_at(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static long read_at(long file, void *bytes, size_t size, uint64_t offset)
{
    return ttp_syscall(SYS_pread64, file, (long)bytes, (long)size, (long)offset, 0, 0);
}

static bool read_whole(long file, void *bytes, size_t size, uint64_t offset)
{
    return read_at(file, bytes, size, offset) == (long)size;
}

static bool has_word(const char *bytes, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (bytes[i] == word[0] && strncmp(bytes + i, word, length) == 0)
            return true;
    return false;
}

/* -- the loader -- */

static bool ends_in(const char *path, const char *end)
{
    size_t size = strlen(path), wanted = strlen(end);
    return size >= wanted && strcmp(path + size - wanted, end) == 0;
}

static enum ttp_exec_fit fit_of_loader(const char *path)
{
    struct stat about;
    char bytes[CHUNK_BYTES];
    if (ends_in(path, USUAL_LOADER))
        return TTP_EXEC_FITS;
    long file = open_regular(path, &about);
    if (ttp_failed(file))
        return TTP_EXEC_FITS; /* it will not be started */
    bool is_glibc = false;
    for (uint64_t at = 0; at < TTP_LOADER_BYTES && !is_glibc; at += CHUNK_BYTES - OVERLAP) {
        long size = read_at(file, bytes, sizeof(bytes), at);
        if (size <= 0)
            break;
        is_glibc = has_word(bytes, (size_t)size, TTP_LOADER_GLIBC);
    }
    close_it(file);
    return is_glibc ? TTP_EXEC_FITS : TTP_EXEC_FOREIGN;
}

/* -- the program -- */

/* Any loader of another kind of file complains. */
static enum ttp_exec_fit fit_of_segments(long file, uint64_t at, size_t bytes, uint32_t count)
{
    union {
        uint32_t type;
        Elf64_Phdr segment;
    } head;
    char path[TTP_LOADER_PATH_BYTES];
    bool is_64 = bytes == sizeof(head.segment);
    for (uint32_t i = 0; i < count && i < HEADS_MAX; i++) {
        if (!read_whole(file, &head, bytes, at + i * bytes))
            break;
        if (head.type != PT_INTERP)
            continue;
        if (!is_64)
            return TTP_EXEC_FOREIGN;
        size_t size = head.segment.p_filesz;
        if (size == 0 || size > sizeof(path) ||
            !read_whole(file, path, size, head.segment.p_offset))
            break;
        path[size - 1] = '\0';
        return fit_of_loader(path);
    }
    return TTP_EXEC_FITS;
}

static enum ttp_exec_fit fit_of_elf(long file)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf64_Ehdr wide;
        Elf32_Ehdr narrow;
    } head;
    if (!read_whole(file, &head, sizeof(head.narrow), 0) ||
        strncmp((const char *)head.ident, ELFMAG, SELFMAG) != 0)
        return TTP_EXEC_FITS;
    if (head.ident[EI_CLASS] == ELFCLASS32)
        return fit_of_segments(file, head.narrow.e_phoff, HEAD_32_BYTES, head.narrow.e_phnum);
    if (!read_whole(file, &head, sizeof(head.wide), 0) || head.wide.e_machine != EM_X86_64)
        return TTP_EXEC_FOREIGN;
    return fit_of_segments(file, head.wide.e_phoff, sizeof(Elf64_Phdr), head.wide.e_phnum);
}

/* Of a script; false: it is none. */
static bool read_interpreter(long file, char *line)
{
    long size = read_at(file, line, LINE_BYTES - 1, 0);
    uint32_t start = 2, end;
    if (size < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[size] = '\0';
    while (line[start] == ' ' || line[start] == '\t')
        start++;
    for (end = start; line[end] > ' ';)
        end++;
    for (uint32_t i = start; i < end; i++)
        line[i - start] = line[i];
    line[end - start] = '\0';
    return end > start;
}

static bool is_secure(const struct stat *about)
{
    return (about->st_mode & S_ISUID) != 0 ||
           (about->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
}

static enum ttp_exec_fit fit_of_open(long file, struct stat *about)
{
    char line[LINE_BYTES];
    uint32_t scripts = 0;
    while (!ttp_failed(file) && scripts++ < SCRIPTS_MAX && read_interpreter(file, line)) {
        close_it(file);
        file = open_regular(line, about);
    }
    if (ttp_failed(file))
        return TTP_EXEC_FITS;
    enum ttp_exec_fit fit = is_secure(about) ? TTP_EXEC_SECURE : fit_of_elf(file);
    close_it(file);
    return fit;
}

/* As execvp looks for it: the first that may be executed. */
static long open_searched(const char *name, struct stat *about)
{
    char path[PATH_BYTES];
    const char *at = USUAL_PATH;
    size_t length = strlen(name);
    (void)ttp_environment_find(environ, "PATH", &at);
    for (;;) {
        size_t size = 0;
        while (at[size] != '\0' && at[size] != ':')
            size++;
        if (size + length + 2 > sizeof(path))
            return -1;
        memcpy(path, at, size);
        path[size] = '/';
        memcpy(path + size + (size != 0), name, length + 1);
        if (ttp_syscall(SYS_faccessat, AT_FDCWD, (long)path, X_OK, 0, 0, 0) == 0)
            return open_regular(path, about);
        if (at[size] == '\0')
            return -1;
        at += size + 1;
    }
}

static bool has_slash(const char *name)
{
    while (*name != '\0' && *name != '/')
        name++;
    return *name == '/';
}

void ttp_exec_link(int file, char link[TTP_EXEC_LINK_BYTES])
{
    static const char folder[] = "/proc/self/fd/";
    uint32_t unit = 1, number = (uint32_t)file;
    char *at = link + sizeof(folder) - 1;
    memcpy(link, folder, sizeof(folder));
    while (number / unit >= 10)
        unit *= 10;
    for (; unit != 0; unit /= 10)
        *at++ = (char)('0' + number / unit % 10);
    *at = '\0';
}

/* The kernel reads it first, as it may be anything. */
bool ttp_exec_is_whole_path(int folder, const char *path)
{
    return folder == AT_FDCWD ||
           (!ttp_avoids_calls() &&
            ttp_syscall(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) == 0 && *path == '/');
}

enum ttp_exec_fit ttp_exec_fit_of(const char *path, bool is_searched, int file)
{
    struct stat about = {0};
    char link[TTP_EXEC_LINK_BYTES];
    if (file == TTP_EXEC_UNKNOWN)
        return TTP_EXEC_FITS;
    if (file >= 0) {
        ttp_exec_link(file, link);
        path = link;
    }
    bool searches = is_searched && file < 0 && !has_slash(path);
    return fit_of_open(searches ? open_searched(path, &about) : open_regular(path, &about), &about);
}
