#define _GNU_SOURCE /* memmem */
#include "tools/binary/elf_hooks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/binary/elf_head.h"
#include "tools/binary/frames/image.h"
#include "tools/binary/plans/plan_module.h"

#define SECTION_BYTES   64u /* of a section's head */
#define NAMES_BYTES_MAX (1u << 20)
#define COMMENT_BYTES   4096u /* of .comment that are looked at */

/* Heads of sections, and their names. */
struct sections {
    uint8_t *heads;
    char *names;
    uint32_t count;
    uint64_t names_bytes;
};

typedef bool (*is_wanted)(const char *name);

static bool is_hook(const char *name)
{
    static const char hooks[] = "__cyg_profile_func_", own[] = "ttape_rt_";
    return strncmp(name, hooks, sizeof hooks - 1) == 0 || strncmp(name, own, sizeof own - 1) == 0;
}

static bool is_stub(const char *name) { return strcmp(name, "ttape_rt_block") == 0; }

static bool names_any(const struct tool_image_part *symbols, const struct tool_image_part *names,
                      is_wanted wanted)
{
    struct tool_image_symbol symbol;
    for (size_t i = 0; tool_image_symbol_at(symbols, names, i, &symbol); i++)
        if (wanted(symbol.name))
            return true;
    return false;
}

/* 1: it has such a symbol, 0: none, -1: it cannot be read. */
static int has_symbol(const char *path, is_wanted wanted)
{
    struct tool_plan_input input;
    struct tool_image *image = malloc(sizeof *image);
    int has = -1;
    if (tool_plan_input_open(&input, path) == NULL && image != NULL &&
        tool_image_open(image, input.bytes, input.size_bytes) == NULL)
        has = names_any(&image->dynamic_symbols, &image->dynamic_names, wanted) ||
              names_any(&image->symbols, &image->symbol_names, wanted);
    tool_plan_input_close(&input);
    free(image);
    return has;
}

bool tool_elf_has_hooks(const char *path) { return has_symbol(path, is_hook) == 1; }

static bool read_sections(int fd, struct sections *sections)
{
    uint8_t head[SECTION_BYTES];
    struct tool_elf_head elf;
    if (tool_elf_head_read(fd, &elf) != NULL || elf.machine != TOOL_ELF_X86_64 || !elf.is_64 ||
        !tool_elf_read_exactly(fd, 0, head, sizeof head) || tool_le16(head + 58) != SECTION_BYTES)
        return false;
    uint64_t offset = tool_le64(head + 40);
    uint32_t names_at = tool_le16(head + 62);
    sections->count = tool_le16(head + 60);
    if (names_at >= sections->count ||
        (sections->heads = malloc((size_t)sections->count * SECTION_BYTES)) == NULL ||
        !tool_elf_read_exactly(fd, offset, sections->heads,
                               (size_t)sections->count * SECTION_BYTES))
        return false;
    const uint8_t *names = sections->heads + (size_t)names_at * SECTION_BYTES;
    sections->names_bytes = tool_le64(names + 32);
    if (sections->names_bytes == 0 || sections->names_bytes > NAMES_BYTES_MAX ||
        (sections->names = malloc(sections->names_bytes)) == NULL)
        return false;
    sections->names[sections->names_bytes - 1] = '\0';
    return tool_elf_read_exactly(fd, tool_le64(names + 24), sections->names,
                                 sections->names_bytes - 1);
}

static const uint8_t *find_section(const struct sections *sections, const char *wanted)
{
    for (uint32_t i = 0; i < sections->count; i++) {
        const uint8_t *head = sections->heads + (size_t)i * SECTION_BYTES;
        uint32_t name = tool_le32(head);
        if (name < sections->names_bytes && strcmp(sections->names + name, wanted) == 0)
            return head;
    }
    return NULL;
}

/* Opens the file, too; both are to be closed. */
static bool open_sections(const char *path, int *fd, struct sections *sections)
{
    const char *reason;
    *sections = (struct sections){0};
    *fd = tool_elf_open_file(NULL, path, &reason);
    return *fd >= 0 && read_sections(*fd, sections);
}

static void close_sections(int fd, struct sections *sections)
{
    if (fd >= 0)
        (void)close(fd);
    free(sections->heads);
    free(sections->names);
}

bool tool_elf_keeps_blocks(const char *path)
{
    struct sections sections;
    int fd;
    bool has_blocks =
        open_sections(path, &fd, &sections) && find_section(&sections, "__sancov_guards") != NULL;
    close_sections(fd, &sections);
    return has_blocks && has_symbol(path, is_stub) == 0;
}

/* What compilers say of themselves there begins with their names. */
static bool says(int fd, const uint8_t *comment, const char *word)
{
    char text[COMMENT_BYTES];
    uint64_t bytes = comment == NULL ? 0 : tool_le64(comment + 32);
    bytes = bytes < sizeof text ? bytes : sizeof text;
    return bytes != 0 && tool_elf_read_exactly(fd, tool_le64(comment + 24), text, bytes) &&
           memmem(text, bytes, word, strlen(word)) != NULL;
}

enum tool_elf_language tool_elf_language_of(const char *path)
{
    enum tool_elf_language language = TOOL_LANGUAGE_OTHER;
    struct sections sections;
    int fd;
    if (open_sections(path, &fd, &sections)) {
        if (find_section(&sections, ".go.buildinfo") != NULL ||
            find_section(&sections, ".gopclntab") != NULL)
            language = TOOL_LANGUAGE_GO;
        else if (says(fd, find_section(&sections, ".comment"), "rustc version"))
            language = TOOL_LANGUAGE_RUST;
    }
    close_sections(fd, &sections);
    return language;
}
