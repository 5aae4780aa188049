#define _GNU_SOURCE /* memmem */
#include "tools/record/start/record_fit.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/elf/elf_head.h"
#include "recorder/arena/loader_words.h"
#include "tools/command/tool.h"
#include "tools/record/modules/record_image.h"
#include "tools/record/output/record_output.h"

#define HEADS_MAX   64u
#define NAMES_BYTES (16u << 20) /* of a table of names that is searched */

/* What a program's segments say. */
struct segments {
    char loader[TTP_LOADER_PATH_BYTES]; /* its path */
    bool is_go;
};

static void read_segment(int fd, const Elf64_Phdr *segment, struct segments *found)
{
    uint8_t notes[TTP_NOTES_BYTES] = {0};
    size_t size = segment->p_filesz < sizeof notes ? segment->p_filesz : sizeof notes;
    if (segment->p_type == PT_INTERP && segment->p_filesz < sizeof found->loader)
        (void)tool_elf_read_exactly(fd, segment->p_offset, found->loader, segment->p_filesz);
    else if (segment->p_type == PT_NOTE &&
             tool_elf_read_exactly(fd, segment->p_offset, notes, size))
        found->is_go |= ttp_notes_have_go(notes, size);
}

static void read_segments(int fd, struct segments *found)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    *found = (struct segments){0};
    if (!tool_elf_read_exactly(fd, 0, &head, sizeof head) || head.e_phentsize != sizeof segment)
        return;
    for (uint32_t i = 0; i < head.e_phnum && i < HEADS_MAX; i++)
        if (tool_elf_read_exactly(fd, head.e_phoff + i * sizeof segment, &segment, sizeof segment))
            read_segment(fd, &segment, found);
}

/* Whether a word is among a file's first bytes. */
static bool has_word(const char *bytes, size_t size, const char *word)
{
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

static bool asks_for(int fd, const char *word)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size <= 0)
        return false;
    size_t size = status.st_size < NAMES_BYTES ? (size_t)status.st_size : NAMES_BYTES;
    char *bytes = tool_allocate(size, 1);
    bool has = tool_elf_read_exactly(fd, 0, bytes, size) && has_word(bytes, size, word);
    free(bytes);
    return has;
}

static enum tool_record_fit fit_of_loader(const char *path)
{
    const char *reason;
    int fd = tool_elf_open_file(NULL, path, &reason);
    if (fd < 0)
        return TOOL_FIT_ALL; /* nor does the kernel start it */
    char *bytes = tool_allocate(TTP_LOADER_BYTES, 1);
    ssize_t got, size = 0;
    while ((got = pread(fd, bytes + size, TTP_LOADER_BYTES - (size_t)size, size)) > 0 ||
           (got < 0 && errno == EINTR))
        size += got > 0 ? got : 0;
    enum tool_record_fit fit = TOOL_FIT_FOREIGN;
    if (size > 0 && has_word(bytes, (size_t)size, TTP_LOADER_GLIBC))
        fit = has_word(bytes, (size_t)size, TTP_LOADER_GLIBC_NEWER) ? TOOL_FIT_ALL
                                                                    : TOOL_FIT_UNCHANGED;
    free(bytes);
    (void)close(fd);
    return fit;
}

static enum tool_record_fit fit_of_file(const char *path)
{
    const char *reason;
    struct tool_elf_head head;
    struct segments found;
    int fd = tool_elf_open_file(NULL, path, &reason);
    enum tool_record_fit fit = TOOL_FIT_ALL;
    if (fd < 0)
        return fit;
    if (tool_elf_head_read(fd, &head) == NULL) {
        bool is_ours = head.is_64 && head.machine == TOOL_ELF_X86_64;
        read_segments(fd, &found);
        if (!head.has_interpreter)
            fit = TOOL_FIT_NOTHING;
        else if (!is_ours)
            fit = TOOL_FIT_FOREIGN;
        else if (found.is_go && !asks_for(fd, TTP_MAKES_THREADS))
            fit = TOOL_FIT_ASIDE;
        else if (found.loader[0] != '\0')
            fit = fit_of_loader(found.loader);
    }
    (void)close(fd);
    return fit;
}

static bool is_secure(const struct stat *about)
{
    return ((about->st_mode & S_ISUID) != 0 && about->st_uid != geteuid()) ||
           ((about->st_mode & S_ISGID) != 0 && about->st_gid != getegid());
}

enum tool_record_fit tool_record_fit_of(const char *command)
{
    struct stat about;
    char *path = tool_record_image(command);
    enum tool_record_fit fit = path != NULL ? fit_of_file(path) : TOOL_FIT_ALL;
    if (path != NULL && fit != TOOL_FIT_FOREIGN && stat(path, &about) == 0 && is_secure(&about))
        fit = TOOL_FIT_SECURE;
    free(path);
    return fit;
}
