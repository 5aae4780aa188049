#include "recorder/state/build_id.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "recorder/state/regular_file.h"

#define HEADERS_MOST 64u
#define NOTES_MOST   4096u /* bytes */
#define NAME_BYTES   4u    /* "GNU" */

static size_t align_note(size_t size) { return (size + 3) & ~(size_t)3; }

/* The note of that kind among those of a segment. */
static size_t find_note(const uint8_t *notes, size_t size_bytes, uint8_t out[TTP_BUILD_ID_BYTES])
{
    Elf64_Nhdr head;
    for (size_t at = 0; size_bytes - at > sizeof head + NAME_BYTES;) {
        memcpy(&head, notes + at, sizeof head);
        size_t name = align_note(head.n_namesz), from = at + sizeof head + name;
        if (name > NOTES_MOST || head.n_descsz > NOTES_MOST || from > size_bytes ||
            head.n_descsz > size_bytes - from)
            return 0;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == NAME_BYTES &&
            head.n_descsz <= TTP_BUILD_ID_BYTES &&
            memcmp(notes + at + sizeof head, ELF_NOTE_GNU, NAME_BYTES) == 0) {
            memcpy(out, notes + from, head.n_descsz);
            return head.n_descsz;
        }
        at = from + align_note(head.n_descsz);
        if (at > size_bytes)
            return 0;
    }
    return 0;
}

static size_t read_notes(int fd, uint8_t out[TTP_BUILD_ID_BYTES])
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[HEADERS_MOST];
    uint8_t notes[NOTES_MOST];
    size_t found = 0;
    if (pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof segments[0] || head.e_phnum > HEADERS_MOST)
        return 0;
    size_t size = head.e_phnum * sizeof segments[0];
    if (pread(fd, segments, size, (off_t)head.e_phoff) != (ssize_t)size)
        return 0;
    for (unsigned i = 0; i < head.e_phnum && found == 0; i++) {
        if (segments[i].p_type != PT_NOTE || segments[i].p_filesz > NOTES_MOST)
            continue;
        size_t wanted = segments[i].p_filesz;
        if (pread(fd, notes, wanted, (off_t)segments[i].p_offset) == (ssize_t)wanted)
            found = find_note(notes, wanted, out);
    }
    return found;
}

/* Where the list and stat have other numbers for one file (overlayfs, btrfs), its path will do. */
static bool is_meant(const struct stat *about, const struct ttp_mapping *mapping)
{
    return major(about->st_dev) != mapping->major || minor(about->st_dev) != mapping->minor ||
           about->st_ino == mapping->inode;
}

size_t ttp_build_id_read(uint32_t pid, const struct ttp_mapping *mapping,
                         uint8_t out[TTP_BUILD_ID_BYTES])
{
    char path[4352]; /* a line of the list has no longer one */
    struct stat about;
    int length = snprintf(path, sizeof path, "/proc/%u/root%s", pid, mapping->path);
    if (length < 0 || (size_t)length >= sizeof path)
        return 0;
    int fd = ttp_regular_open(path, &about);
    if (fd < 0)
        return 0;
    size_t size = is_meant(&about, mapping) ? read_notes(fd, out) : 0;
    (void)close(fd);
    return size;
}
