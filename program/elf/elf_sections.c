#include "program/elf/elf_sections.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/binary/frames/image.h"
#include "program/elf/elf_head.h"

#define HEAD_BYTES      64u /* of a section */
#define NAMES_BYTES_MAX (1u << 20)

static bool read_sections(struct tool_elf_sections *sections)
{
    uint8_t head[HEAD_BYTES];
    struct tool_elf_head elf;
    int fd = sections->fd;
    if (tool_elf_head_read(fd, &elf) != NULL || elf.machine != TOOL_ELF_X86_64 || !elf.is_64 ||
        !tool_elf_read_exactly(fd, 0, head, sizeof head) || tool_le16(head + 58) != HEAD_BYTES)
        return false;
    uint64_t offset = tool_le64(head + 40);
    uint32_t names_at = tool_le16(head + 62);
    sections->count = tool_le16(head + 60);
    if (names_at >= sections->count ||
        (sections->heads = malloc((size_t)sections->count * HEAD_BYTES)) == NULL ||
        !tool_elf_read_exactly(fd, offset, sections->heads, (size_t)sections->count * HEAD_BYTES))
        return false;
    const uint8_t *names = sections->heads + (size_t)names_at * HEAD_BYTES;
    sections->names_bytes = tool_le64(names + 32);
    if (sections->names_bytes == 0 || sections->names_bytes > NAMES_BYTES_MAX ||
        (sections->names = malloc((size_t)sections->names_bytes)) == NULL)
        return false;
    sections->names[sections->names_bytes - 1] = '\0';
    return tool_elf_read_exactly(fd, tool_le64(names + 24), sections->names,
                                 (size_t)sections->names_bytes - 1);
}

bool tool_elf_sections_open(struct tool_elf_sections *sections, const char *path)
{
    const char *reason;
    *sections = (struct tool_elf_sections){.fd = tool_elf_open_file(NULL, path, &reason)};
    return sections->fd >= 0 && read_sections(sections);
}

void tool_elf_sections_close(struct tool_elf_sections *sections)
{
    if (sections->fd >= 0)
        (void)close(sections->fd);
    free(sections->heads);
    free(sections->names);
}

const uint8_t *tool_elf_section_find(const struct tool_elf_sections *sections, const char *name)
{
    for (uint32_t i = 0; i < sections->count; i++) {
        const uint8_t *head = sections->heads + (size_t)i * HEAD_BYTES;
        uint32_t at = tool_le32(head);
        if (at < sections->names_bytes && strcmp(sections->names + at, name) == 0)
            return head;
    }
    return NULL;
}

uint64_t tool_elf_section_bytes(const struct tool_elf_sections *sections, const char *name)
{
    const uint8_t *head = tool_elf_section_find(sections, name);
    return head == NULL ? 0 : tool_le64(head + 32);
}

size_t tool_elf_section_read(const struct tool_elf_sections *sections, const char *name, void *into,
                             size_t room)
{
    const uint8_t *head = tool_elf_section_find(sections, name);
    uint64_t bytes = head == NULL ? 0 : tool_le64(head + 32);
    bytes = bytes < room ? bytes : room;
    return bytes != 0 &&
                   tool_elf_read_exactly(sections->fd, tool_le64(head + 24), into, (size_t)bytes)
               ? (size_t)bytes
               : 0;
}

void *tool_elf_section_copy(const struct tool_elf_sections *sections, const char *name, size_t most,
                            size_t *size_bytes)
{
    uint64_t size = tool_elf_section_bytes(sections, name);
    uint8_t *content = size == 0 || size > most ? NULL : malloc((size_t)size + 1);
    *size_bytes = 0;
    if (content == NULL)
        return NULL;
    *size_bytes = tool_elf_section_read(sections, name, content, (size_t)size);
    content[*size_bytes] = 0;
    return content;
}
