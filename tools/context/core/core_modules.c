/* What was mapped from files, which builds they were, and where such files are now. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "tools/command/tool.h"
#include "tools/context/core/core_file.h"

#define SEGMENTS_MOST 64u
#define NOTE_MOST     4096u
#define MODULES_MOST  4096u

const struct tool_core_mapping *tool_core_mapping(const struct tool_core *core, uint64_t address)
{
    struct ttp_bisect s = {.end = core->mapping_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, core->mappings[s.middle].start <= address);
    return s.first != 0 && address < core->mappings[s.first - 1].end ? &core->mappings[s.first - 1]
                                                                     : NULL;
}

struct tool_core_module *tool_core_module_at(struct tool_core *core, uint64_t address)
{
    const struct tool_core_mapping *mapping = tool_core_mapping(core, address);
    return mapping == NULL || mapping->module == TOOL_CORE_NONE ? NULL
                                                                : &core->modules[mapping->module];
}

/* -- the list -- */

static void take_id(struct tool_core_module *module, const uint8_t *bytes, uint64_t size)
{
    struct tool_core_note note;
    uint64_t at = 0;
    while (tool_core_note(bytes, size, &at, &note))
        if (note.is_gnu && note.type == NT_GNU_BUILD_ID && note.bytes != 0 &&
            note.bytes <= sizeof module->build_id && module->build_id_bytes == 0) {
            module->build_id_bytes = note.bytes;
            memcpy(module->build_id, note.data, note.bytes);
        }
}

/* The build id, from what the dump has of the file's first pages. */
static void read_head(struct tool_core *core, struct tool_core_module *module)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[SEGMENTS_MOST];
    uint64_t low = UINT64_MAX;
    uint8_t note[NOTE_MOST];
    if (!tool_core_read_own(core, module->start, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof *segments ||
        head.e_phnum > SEGMENTS_MOST ||
        !tool_core_read_own(core, module->start + head.e_phoff, segments,
                            head.e_phnum * sizeof *segments))
        return;
    for (uint32_t i = 0; i < head.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < low)
            low = segments[i].p_vaddr;
    low &= ~(uint64_t)(TOOL_ELF_PAGE - 1);
    module->has_head = true;
    for (uint32_t i = 0; i < head.e_phnum; i++) {
        uint64_t size = segments[i].p_filesz < NOTE_MOST ? segments[i].p_filesz : NOTE_MOST;
        if (segments[i].p_type != PT_NOTE)
            continue;
        if (tool_core_read_own(core, module->start + segments[i].p_vaddr - low, note, size))
            take_id(module, note, size);
        else
            module->has_head = false; /* its id may be there */
    }
    module->has_head |= module->build_id_bytes != 0;
}

static uint32_t add_module(struct tool_core *core, const struct tool_core_mapping *mapping)
{
    tool_grow((void **)&core->modules, &core->module_capacity, core->module_count + 1,
              sizeof *core->modules);
    core->modules[core->module_count] =
        (struct tool_core_module){.path = mapping->path, .start = mapping->start, .fd = -1};
    return (uint32_t)core->module_count++;
}

/* A file's mappings follow each other, its beginning first. */
static void group(struct tool_core *core)
{
    const struct tool_core_mapping *before = NULL;
    for (size_t i = 0; i < core->mapping_count; i++) {
        struct tool_core_mapping *mapping = &core->mappings[i];
        bool is_same = before != NULL && strcmp(before->path, mapping->path) == 0;
        mapping->module = is_same ? before->module : TOOL_CORE_NONE;
        if (mapping->offset == 0 && (!is_same || before->offset != 0) &&
            core->module_count < MODULES_MOST)
            mapping->module = add_module(core, mapping);
        before = mapping;
    }
    for (size_t i = 0; i < core->module_count; i++)
        read_head(core, &core->modules[i]);
}

static int compare_mappings(const void *a, const void *b)
{
    const struct tool_core_mapping *one = a, *two = b;
    return one->start < two->start ? -1 : one->start > two->start;
}

/* NT_FILE: how many, size of a page; start, end and first page of each; paths. */
void tool_core_list_modules(struct tool_core *core, const struct tool_core_note *files)
{
    if (files->bytes < 16)
        return;
    uint64_t count = tool_core_number(files->data, 8), page = tool_core_number(files->data + 8, 8);
    if (count > (files->bytes - 16) / 24)
        count = (files->bytes - 16) / 24;
    const char *path = (const char *)files->data + 16 + count * 24;
    const char *end = (const char *)files->data + files->bytes;
    core->mappings = tool_allocate((size_t)count + 1, sizeof *core->mappings);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = files->data + 16 + i * 24;
        size_t size = strnlen(path, (size_t)(end - path));
        struct tool_core_mapping mapping = {.start = tool_core_number(at, 8),
                                            .end = tool_core_number(at + 8, 8),
                                            .offset = tool_core_number(at + 16, 8) * page,
                                            .path = path};
        if (path + size == end)
            break;
        if (mapping.start < mapping.end)
            core->mappings[core->mapping_count++] = mapping;
        path += size + 1;
    }
    qsort(core->mappings, core->mapping_count, sizeof *core->mappings, compare_mappings);
    group(core);
}

/* -- files -- */

/* NULL: it is the right one. */
static const char *differs(const struct tool_core_module *module, const struct tool_elf_head *head)
{
    if (!module->has_head)
        return NULL; /* nothing says so */
    bool is_same = head->build_id_bytes == module->build_id_bytes &&
                   memcmp(head->build_id, module->build_id, module->build_id_bytes) == 0;
    return is_same ? NULL : "what is there is another build";
}

static bool try_file(struct tool_core_module *module, const char *path)
{
    const char *why = NULL;
    int fd = tool_elf_open_file(NULL, path, &why);
    if (fd >= 0)
        why = tool_elf_head_read(fd, &module->head);
    if (why == NULL)
        why = differs(module, &module->head);
    if (why == NULL) {
        module->fd = fd;
        module->file = path;
        module->is_verified = module->has_head && module->build_id_bytes != 0;
        return true;
    }
    if (fd >= 0)
        close(fd);
    module->why = why;
    return false;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool tool_core_find_file(struct tool_core *core, struct tool_core_module *module)
{
    if (module->is_looked_for)
        return module->fd >= 0;
    module->is_looked_for = true;
    for (size_t i = 0; i < core->binary_count; i++) {
        bool is_called_so = strcmp(last_part(core->binaries[i]), last_part(module->path)) == 0;
        if ((module->build_id_bytes != 0 || is_called_so) && try_file(module, core->binaries[i]))
            return true;
    }
    return try_file(module, module->path);
}

void tool_core_open_again(struct tool_core *core)
{
    const char *why;
    core->fd = tool_elf_open_file(NULL, core->path, &why);
    for (size_t i = 0; i < core->module_count; i++)
        if (core->modules[i].fd >= 0)
            core->modules[i].fd = tool_elf_open_file(NULL, core->modules[i].file, &why);
}
