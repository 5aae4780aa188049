#include "program/elf/elf_needed.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "program/binary/frames/image.h"
#include "program/elf/elf_head.h"
#include "program/elf/elf_sections.h"

#define ENTRY_BYTES      16u /* of the dynamic section */
#define NAMES_BYTES_MAX  (1u << 24)
#define TABLE_HEAD_BYTES 12u   /* of .eh_frame_hdr: four kinds, a pointer, how many */
#define UDATA4           0x03u /* a kind: four bytes */

struct dynamic {
    uint8_t *entries;
    char *names;
    size_t entries_bytes, names_bytes;
};

/* Folders are separated by colons. */
static void take_folders(const char *list, tool_elf_take_text take, void *context)
{
    while (*list != '\0') {
        size_t size = strcspn(list, ":");
        char *folder = strndup(list, size);
        if (folder != NULL)
            take(context, folder);
        free(folder);
        list += size + (list[size] == ':');
    }
}

static void take_entries(const struct dynamic *d, tool_elf_take_text take_library,
                         tool_elf_take_text take_folder, void *context)
{
    for (size_t at = 0; at + ENTRY_BYTES <= d->entries_bytes; at += ENTRY_BYTES) {
        uint64_t tag = tool_le64(d->entries + at), name = tool_le64(d->entries + at + 8);
        if (tag == DT_NULL)
            return;
        if (name >= d->names_bytes)
            continue;
        if (tag == DT_NEEDED)
            take_library(context, d->names + name);
        else if (tag == DT_RUNPATH || tag == DT_RPATH)
            take_folders(d->names + name, take_folder, context);
    }
}

void tool_elf_needed(const char *path, tool_elf_take_text take_library,
                     tool_elf_take_text take_folder, void *context)
{
    struct tool_elf_sections sections;
    struct dynamic d = {0};
    if (tool_elf_sections_open(&sections, path)) {
        d.entries = tool_elf_section_copy(&sections, ".dynamic",
                                          TOOL_IMAGE_DYNAMIC_MAX * ENTRY_BYTES, &d.entries_bytes);
        d.names = tool_elf_section_copy(&sections, ".dynstr", NAMES_BYTES_MAX, &d.names_bytes);
        take_entries(&d, take_library, take_folder, context);
    }
    free(d.entries);
    free(d.names);
    tool_elf_sections_close(&sections);
}

static bool has_soname(const char *path)
{
    struct tool_elf_sections sections;
    size_t bytes = 0;
    bool has_name = false;
    uint8_t *entries = NULL;
    if (tool_elf_sections_open(&sections, path))
        entries = tool_elf_section_copy(&sections, ".dynamic", TOOL_IMAGE_DYNAMIC_MAX * ENTRY_BYTES,
                                        &bytes);
    for (size_t at = 0; at + ENTRY_BYTES <= bytes && tool_le64(entries + at) != DT_NULL;
         at += ENTRY_BYTES)
        has_name |= tool_le64(entries + at) == DT_SONAME;
    free(entries);
    tool_elf_sections_close(&sections);
    return has_name;
}

bool tool_elf_is_program(const char *path)
{
    struct tool_elf_head head;
    return tool_elf_head_of(NULL, path, &head) == NULL &&
           (head.type == TOOL_ELF_FIXED || (head.has_interpreter && !has_soname(path)));
}

uint32_t tool_elf_function_count(const char *path)
{
    struct tool_elf_sections sections;
    uint8_t head[TABLE_HEAD_BYTES];
    bool is_there =
        tool_elf_sections_open(&sections, path) &&
        tool_elf_section_read(&sections, ".eh_frame_hdr", head, sizeof head) == sizeof head &&
        head[2] == UDATA4 && (head[1] & 0x0fu) % 8u == UDATA4;
    tool_elf_sections_close(&sections);
    return is_there ? tool_le32(head + 8) : 0;
}
