/* The functions of a program that XRay has numbered: its section xray_instr_map has an entry for
 * each place that is patched, function by function; they are numbered from 1 in that order.
 *
 *   u64 place | u64 function | u8 kind | u8 always | u8 version | 13 bytes
 *
 * From version 2 on both addresses count from where they stand. */
#include <stdlib.h>
#include <string.h>

#include "program/elf/elf_head.h"
#include "program/elf/elf_sections.h"
#include "tools/convert/xray/convert_xray.h"
#include "tools/io/debug_files.h"

#define ENTRY_BYTES     32u
#define SECTION_MAX     (256u << 20)
#define SECTION_ADDRESS 16u /* where the head of a section has its address */
#define MAP             "xray_instr_map"

struct tool_xray_program {
    char *path; /* as it would be found again */
    struct tool_elf_head head;
    uint64_t *functions; /* ELF addresses, by number - 1 */
    size_t count, capacity;
    uint64_t start; /* of its module */
    uint32_t module;
    struct tool_symbols *symbols;
    struct tool_symbols_module *names;
};

static void number_functions(struct tool_xray_program *program, const uint8_t *entries,
                             size_t size_bytes, uint64_t address)
{
    uint64_t last = 0;
    for (size_t at = 0; at + ENTRY_BYTES <= size_bytes; at += ENTRY_BYTES) {
        uint64_t function = tool_xray_load(entries + at + 8, 8);
        if (entries[at + 18] >= 2)
            function += address + at + 8;
        if (program->count > 0 && function == last)
            continue;
        last = function;
        tool_grow((void **)&program->functions, &program->capacity, program->count + 1,
                  sizeof(uint64_t));
        program->functions[program->count++] = function;
    }
}

/* NULL: done, or why not. */
static const char *read_map(struct tool_xray_program *program)
{
    struct tool_elf_sections sections;
    const char *reason = NULL;
    if (!tool_elf_sections_open(&sections, program->path)) {
        tool_elf_sections_close(&sections);
        return "it is no program for x86-64";
    }
    uint64_t size = tool_elf_section_bytes(&sections, MAP);
    if (size == 0)
        reason = "it was not built with -fxray-instrument (it has no section " MAP ")";
    else if (size > SECTION_MAX)
        reason = "its section " MAP " is over 256 MiB";
    uint8_t *entries = reason == NULL ? tool_allocate((size_t)size, 1) : NULL;
    if (reason == NULL &&
        tool_elf_section_read(&sections, MAP, entries, (size_t)size) != (size_t)size)
        reason = "its section " MAP " cannot be read";
    if (reason == NULL) {
        const uint8_t *head = tool_elf_section_find(&sections, MAP);
        number_functions(program, entries, (size_t)size, tool_xray_load(head + SECTION_ADDRESS, 8));
    }
    free(entries);
    tool_elf_sections_close(&sections);
    return reason;
}

struct tool_xray_program *tool_xray_program_open(const char *path)
{
    struct tool_xray_program *program = tool_allocate(1, sizeof *program);
    char *whole = realpath(path, NULL);
    program->path = whole != NULL ? whole : tool_copy_text(path, strlen(path));
    const char *reason = tool_elf_head_of(NULL, program->path, &program->head);
    if (reason == NULL)
        reason = read_map(program);
    if (reason != NULL) {
        tool_fail("cannot use '%s' as the program of this log: %s", path, reason);
        tool_xray_program_close(program);
        return NULL;
    }
    const struct tool_elf_head *head = &program->head;
    const struct tool_symbols_options options = {0};
    program->symbols = tool_symbols_make(&options);
    program->names = tool_symbols_module_open(
        program->symbols, (ttape_string){program->path, strlen(program->path)},
        (ttape_string){(const char *)head->build_id, head->build_id_bytes});
    (void)tool_symbols_warn(program->names);
    return program;
}

void tool_xray_program_close(struct tool_xray_program *program)
{
    if (program == NULL)
        return;
    tool_symbols_close(program->symbols);
    free(program->functions);
    free(program->path);
    free(program);
}

/* The log says nothing of where it was loaded: its addresses are those of the file. */
bool tool_xray_program_add(struct tool_xray_program *program, ttape_writer *writer,
                           uint32_t process, ttape_error *err)
{
    const struct tool_elf_head *head = &program->head;
    ttape_module module = {.process = process,
                           .path = {program->path, strlen(program->path)},
                           .build_id = {(const char *)head->build_id, head->build_id_bytes}};
    if (!tool_elf_lowest_page(head, &module.start))
        module.start = 0;
    for (uint32_t i = 0; i < head->load_count; i++) {
        uint64_t end = head->loads[i].address + head->loads[i].memory_bytes;
        module.end = end > module.end ? end : module.end;
    }
    return ttape_writer_add_module(writer, &module, &program->module, err) == TTAPE_OK;
}

bool tool_xray_program_find(struct tool_xray_program *program, uint32_t function, ttape_site *site)
{
    struct tool_symbol found;
    if (function == 0 || function > program->count)
        return false;
    site->address = program->functions[function - 1];
    site->module = program->module;
    const struct tool_symbols_query query = {.elf_address = site->address, .entry = true};
    if (tool_symbols_find(program->symbols, program->names, &query, &found)) {
        site->symbol = found.name;
        site->file = found.file;
        site->line = found.line;
    }
    return true;
}
