/* The module whose functions are patched, as it lies in the memory of the process, and as its file
 * has it: the two must be the same, byte for byte, before anything is changed. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"

#define FILE_MOST     (UINT64_C(1) << 31) /* up to the last byte that a file has of it */
#define MEMORY_MOST   (UINT64_C(1) << 46)
#define ZEROS_MOST    (UINT64_C(1) << 24) /* more than that at its end are not looked at */
#define SEGMENTS_MOST 64u
#define CHUNK         65536u

static int open_file(uint32_t pid, const char *path)
{
    char name[4352];
    (void)snprintf(name, sizeof name, "/proc/%u/root%s", pid, path);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    return file >= 0 ? file : open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_file(int file, uint64_t at, void *into, size_t bytes)
{
    return pread(file, into, bytes, (off_t)at) == (ssize_t)bytes;
}

static const char *read_head(struct ttp_elf_view *elf, int file)
{
    Elf64_Ehdr head;
    if (!read_file(file, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return "its executable is no ELF file";
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
        return "it is a program of 32 bits, or of another machine";
    if (head.e_phnum == 0 || head.e_phnum > SEGMENTS_MOST ||
        head.e_phentsize != sizeof *elf->segments)
        return "its executable has no segments, or too many";
    elf->count = head.e_phnum;
    elf->segments = calloc(elf->count, sizeof *elf->segments);
    if (elf->segments == NULL)
        return "memory is short";
    return read_file(file, head.e_phoff, elf->segments, elf->count * sizeof *elf->segments)
               ? NULL
               : "its executable cannot be read";
}

/* Nothing is read of what it reserves behind its file's bytes, where that is much: a program may
 * have gigabytes of zeros that it never touches. */
static void leave_zeros(struct ttp_elf_view *elf)
{
    for (uint32_t i = 0; i < elf->count; i++) {
        ElfW(Phdr) *s = &elf->segments[i];
        uint64_t start = elf->bias + s->p_vaddr;
        if (s->p_type == PT_LOAD && start + s->p_memsz > elf->read_high)
            s->p_memsz = start < elf->read_high ? elf->read_high - start : 0;
    }
}

/* Where it lies: its first mapping has its first loaded segment. */
static const char *find_place(struct ttp_elf_view *elf, const struct ttp_maps *maps,
                              const char *path)
{
    const struct ttp_map *first = NULL;
    uint64_t low = UINT64_MAX, high = 0, end = 0;
    for (size_t i = 0; i < maps->count && first == NULL; i++)
        if (strcmp(maps->list[i].path, path) == 0)
            first = &maps->list[i];
    for (uint32_t i = 0; i < elf->count; i++) {
        const ElfW(Phdr) *s = &elf->segments[i];
        if (s->p_type != PT_LOAD || s->p_memsz == 0)
            continue;
        if (s->p_vaddr > MEMORY_MOST || s->p_memsz > MEMORY_MOST || s->p_filesz > s->p_memsz)
            return "its executable is mapped in an unusual way";
        low = s->p_vaddr < low ? s->p_vaddr : low;
        high = s->p_vaddr + s->p_memsz > high ? s->p_vaddr + s->p_memsz : high;
        end = s->p_vaddr + s->p_filesz > end ? s->p_vaddr + s->p_filesz : end;
    }
    if (first == NULL || low >= high)
        return "its executable is not mapped (it may have been replaced while it runs)";
    low &= ~(TTP_PAGE - 1);
    if (first->offset != 0)
        return "its executable is mapped in an unusual way";
    end = high - end <= ZEROS_MOST ? high : end;
    if (end - low > FILE_MOST)
        return "its executable is too large";
    elf->bias = first->start - low;
    elf->low = first->start;
    elf->high = first->start + ttp_page_up(high - low);
    elf->read_high = first->start + ttp_page_up(end - low);
    leave_zeros(elf);
    return NULL;
}

static bool is_same_file(int file, const struct ttp_maps *maps, uint64_t at)
{
    struct stat about;
    const struct ttp_map *map = ttp_maps_at(maps, at);
    return map != NULL && fstat(file, &about) == 0 &&
           (about.st_ino == map->inode || about.st_dev != map->device);
}

/* What can be read of it, the rest stays zero. */
static bool read_text(struct ttp_code_text *text, const struct ttp_elf_view *elf, int memory,
                      const struct ttp_maps *maps)
{
    *text = (struct ttp_code_text){.low = elf->low, .high = elf->read_high};
    text->bytes = calloc(1, text->high - text->low + TTP_PAGE);
    for (size_t i = 0; text->bytes != NULL && i < maps->count; i++) {
        const struct ttp_map *map = &maps->list[i];
        uint64_t from = map->start > text->low ? map->start : text->low;
        uint64_t to = map->end < text->high ? map->end : text->high;
        if (from < to && map->can_read &&
            !ttp_memory_read(memory, from, text->bytes + (from - text->low), to - from))
            return false;
    }
    return text->bytes != NULL;
}

/* Where jumps of ours are, the text has what was there before. */
static void undo_ours(struct ttp_code_text *text, const struct ttp_changes *ours)
{
    for (uint32_t i = 0; ours != NULL && i < ours->count; i++) {
        const struct ttp_change *change = &ours->list[i];
        uint8_t *at = text->bytes + (change->at - text->low);
        if (change->at >= text->low && change->at + change->count <= text->high &&
            ttp_bytes_read(at, change->count) == change->becomes)
            ttp_bytes_write(at, change->count, change->was);
    }
}

static bool is_as_in_file(const struct ttp_code_text *text, const struct ttp_elf_view *elf,
                          const ElfW(Phdr) * s, int file)
{
    uint8_t bytes[CHUNK];
    for (uint64_t done = 0; done < s->p_filesz;) {
        size_t size = s->p_filesz - done < CHUNK ? s->p_filesz - done : CHUNK;
        uint64_t at = elf->bias + s->p_vaddr + done;
        if (!read_file(file, s->p_offset + done, bytes, size) ||
            memcmp(bytes, text->bytes + (at - text->low), size) != 0)
            return false;
        done += size;
    }
    return true;
}

static bool is_code(const ElfW(Phdr) * s)
{
    return s->p_type == PT_LOAD && (s->p_flags & (PF_X | PF_W)) == PF_X;
}

static const char *compare_text(const struct ttp_code_text *text, const struct ttp_elf_view *elf,
                                int file)
{
    static const uint8_t go[] = "\xff Go buildinf:";
    if (memmem(text->bytes, text->high - text->low, go, sizeof go - 1) != NULL)
        return "it is a program of Go, whose stacks move";
    for (uint32_t i = 0; i < elf->count; i++)
        if (is_code(&elf->segments[i]) && !is_as_in_file(text, elf, &elf->segments[i], file))
            return "its code is not as in its file: something else has changed it, or the file";
    return NULL;
}

ttape_status ttp_code_open(struct ttp_elf_view *elf, struct ttp_code_text *text,
                           const struct ttp_target_look *look, const char *path, ttape_error *err)
{
    *elf = (struct ttp_elf_view){0};
    *text = (struct ttp_code_text){0};
    int file = open_file(look->pid, path);
    const char *why = file < 0 ? "its executable cannot be opened" : read_head(elf, file);
    if (why == NULL)
        why = find_place(elf, look->maps, path);
    if (why == NULL && !is_same_file(file, look->maps, elf->low))
        why = "its executable was replaced while it runs";
    if (why == NULL && !read_text(text, elf, look->memory, look->maps))
        why = "its code cannot be read";
    if (why == NULL)
        undo_ours(text, look->ours);
    if (why == NULL)
        why = compare_text(text, elf, file);
    if (file >= 0)
        (void)close(file);
    if (why == NULL)
        return TTAPE_OK;
    ttp_code_close(elf, text);
    return ttp_attach_refuse(err, look->pid, "%s", why);
}

void ttp_code_close(struct ttp_elf_view *elf, struct ttp_code_text *text)
{
    free(elf->segments);
    free(text->bytes);
    *elf = (struct ttp_elf_view){0};
    *text = (struct ttp_code_text){0};
}
