/* The dump's segments and notes, and memory by address. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ordered.h"
#include "tools/command/tool.h"
#include "tools/context/core/core_file.h"

#define NOTES_MOST     (UINT64_C(64) << 20)
#define THREADS_MOST   65536u
#define STATUS_BYTES   336u /* of NT_PRSTATUS, x86-64; in it: */
#define STATUS_SIGNAL  12u
#define STATUS_THREAD  32u
#define STATUS_VALUES  112u
#define PROCESS_BYTES  136u /* of NT_PRPSINFO; in it: */
#define PROCESS_NUMBER 24u
#define PROCESS_NAME   40u

uint64_t tool_core_number(const uint8_t *at, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = bytes; i > 0; i--)
        number = number << 8 | at[i - 1];
    return number;
}

/* -- memory -- */

static const struct tool_core_load *find_load(const struct tool_core *core, uint64_t address)
{
    struct ttp_bisect s = {.end = core->load_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, core->loads[s.middle].start <= address);
    if (s.first == 0 || address - core->loads[s.first - 1].start >= core->loads[s.first - 1].bytes)
        return NULL;
    return &core->loads[s.first - 1];
}

/* How much there is from there on, in one piece of the dump or of a mapped file. */
static uint64_t find_piece(struct tool_core *core, uint64_t address, bool is_own, int *fd,
                           uint64_t *offset)
{
    const struct tool_core_load *load = find_load(core, address);
    uint64_t in = load == NULL ? 0 : address - load->start;
    if (load != NULL && in < load->file_bytes) {
        *fd = core->fd;
        *offset = load->offset + in;
        return load->file_bytes - in;
    }
    const struct tool_core_mapping *mapping = is_own ? NULL : tool_core_mapping(core, address);
    if (mapping == NULL || mapping->module == TOOL_CORE_NONE ||
        !tool_core_find_file(core, &core->modules[mapping->module]))
        return 0;
    *fd = core->modules[mapping->module].fd;
    *offset = mapping->offset + (address - mapping->start);
    return mapping->end - address;
}

static bool read_pieces(struct tool_core *core, uint64_t address, uint8_t *buffer, uint64_t bytes,
                        bool is_own)
{
    while (bytes != 0) {
        int fd;
        uint64_t offset, size = find_piece(core, address, is_own, &fd, &offset);
        if (size > bytes)
            size = bytes;
        if (size == 0 || offset > INT64_MAX - size ||
            !tool_elf_read_exactly(fd, offset, buffer, (size_t)size))
            return false;
        address += size;
        buffer += size;
        bytes -= size;
    }
    return true;
}

bool tool_core_read(struct tool_core *core, uint64_t address, void *buffer, uint64_t bytes)
{
    return address <= UINT64_MAX - bytes && read_pieces(core, address, buffer, bytes, false);
}

bool tool_core_read_own(struct tool_core *core, uint64_t address, void *buffer, uint64_t bytes)
{
    return address <= UINT64_MAX - bytes && read_pieces(core, address, buffer, bytes, true);
}

bool tool_core_word(struct tool_core *core, uint64_t address, uint64_t *word)
{
    uint8_t bytes[8];
    if (!tool_core_read(core, address, bytes, sizeof bytes))
        return false;
    *word = tool_core_number(bytes, 8);
    return true;
}

/* -- notes -- */

bool tool_core_note(const uint8_t *notes, uint64_t bytes, uint64_t *at, struct tool_core_note *note)
{
    if (*at > bytes || bytes - *at < 12)
        return false;
    uint64_t name_bytes = tool_core_number(notes + *at, 4);
    uint64_t data_bytes = tool_core_number(notes + *at + 4, 4);
    uint64_t name = *at + 12, data = name + (name_bytes + 3) / 4 * 4;
    if (data > bytes || data_bytes > bytes - data)
        return false;
    *note =
        (struct tool_core_note){.type = (uint32_t)tool_core_number(notes + *at + 8, 4),
                                .bytes = (uint32_t)data_bytes,
                                .data = notes + data,
                                .is_gnu = name_bytes == 4 && memcmp(notes + name, "GNU", 4) == 0};
    *at = data + (data_bytes + 3) / 4 * 4;
    return true;
}

static void add_thread(struct tool_core *core, const struct tool_core_note *note)
{
    if (note->bytes < STATUS_BYTES || core->thread_count == THREADS_MOST)
        return;
    tool_grow((void **)&core->threads, &core->thread_capacity, core->thread_count + 1,
              sizeof *core->threads);
    struct tool_core_thread *thread = &core->threads[core->thread_count++];
    thread->signal = (uint32_t)tool_core_number(note->data + STATUS_SIGNAL, 2);
    thread->id = (uint32_t)tool_core_number(note->data + STATUS_THREAD, 4);
    for (uint32_t i = 0; i < TOOL_CORE_REGISTERS; i++)
        thread->registers[i] = tool_core_number(note->data + STATUS_VALUES + 8 * i, 8);
}

static void read_notes(struct tool_core *core)
{
    struct tool_core_note note, files = {0};
    uint64_t at = 0;
    while (tool_core_note(core->notes, core->notes_bytes, &at, &note)) {
        if (note.is_gnu)
            continue;
        if (note.type == NT_PRSTATUS)
            add_thread(core, &note);
        if (note.type == NT_FILE)
            files = note;
        if (note.type == NT_PRPSINFO && note.bytes >= PROCESS_BYTES) {
            core->process_id = (uint32_t)tool_core_number(note.data + PROCESS_NUMBER, 4);
            memcpy(core->program, note.data + PROCESS_NAME, sizeof core->program - 1);
        }
    }
    tool_core_list_modules(core, &files);
}

/* -- the file -- */

static int compare_loads(const void *a, const void *b)
{
    const struct tool_core_load *one = a, *two = b;
    return one->start < two->start ? -1 : one->start > two->start;
}

/* What lies past the file's end was cut. */
static void add_load(struct tool_core *core, const Elf64_Phdr *segment)
{
    struct tool_core_load load = {segment->p_vaddr, segment->p_memsz, segment->p_filesz,
                                  segment->p_offset};
    if (load.bytes > UINT64_MAX - load.start)
        load.bytes = UINT64_MAX - load.start;
    if (load.file_bytes > load.bytes)
        load.file_bytes = load.bytes;
    uint64_t there = load.offset < core->file_bytes ? core->file_bytes - load.offset : 0;
    core->is_cut |= load.file_bytes > there;
    if (load.file_bytes > there)
        load.file_bytes = there;
    if (load.bytes != 0)
        core->loads[core->load_count++] = load;
}

static void add_notes(struct tool_core *core, const Elf64_Phdr *segment)
{
    uint64_t there =
        segment->p_offset < core->file_bytes ? core->file_bytes - segment->p_offset : 0;
    uint64_t bytes = segment->p_filesz < there ? segment->p_filesz : there;
    core->is_cut |= bytes < segment->p_filesz;
    if (core->notes != NULL || bytes == 0 || bytes > NOTES_MOST)
        return;
    core->notes = tool_allocate((size_t)bytes, 1);
    if (tool_elf_read_exactly(core->fd, segment->p_offset, core->notes, (size_t)bytes))
        core->notes_bytes = bytes;
}

/* More segments than the head can say are in the first section's head. */
static uint64_t count_segments(const struct tool_core *core, const Elf64_Ehdr *head)
{
    Elf64_Shdr section;
    if (head->e_phnum != PN_XNUM)
        return head->e_phnum;
    if (head->e_shoff == 0 || head->e_shentsize != sizeof section ||
        !tool_elf_read_exactly(core->fd, head->e_shoff, &section, sizeof section))
        return 0;
    return section.sh_info;
}

static const char *read_segments(struct tool_core *core)
{
    Elf64_Ehdr head;
    if (!tool_elf_read_exactly(core->fd, 0, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return "it is no ELF file";
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_machine != EM_X86_64)
        return "it is of another kind of machine than x86-64";
    if (head.e_type != ET_CORE)
        return "it is no core dump";
    uint64_t count = count_segments(core, &head);
    if (head.e_phentsize != sizeof(Elf64_Phdr) || count == 0 ||
        count > core->file_bytes / sizeof(Elf64_Phdr))
        return "it has no list of segments that can be read";
    core->loads = tool_allocate((size_t)count, sizeof *core->loads);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr segment;
        uint64_t at = i * sizeof segment;
        if (head.e_phoff > INT64_MAX - at ||
            !tool_elf_read_exactly(core->fd, head.e_phoff + at, &segment, sizeof segment)) {
            core->is_cut = true;
            break;
        }
        if (segment.p_type == PT_LOAD)
            add_load(core, &segment);
        else if (segment.p_type == PT_NOTE)
            add_notes(core, &segment);
    }
    qsort(core->loads, core->load_count, sizeof *core->loads, compare_loads);
    return NULL;
}

int tool_core_open(struct tool_core *core, const char *path)
{
    const char *why;
    struct stat status;
    core->path = path;
    core->fd = tool_elf_open_file(NULL, path, &why);
    if (core->fd < 0)
        return tool_fail("cannot open '%s': %s", path, why);
    if (fstat(core->fd, &status) != 0)
        return tool_fail("cannot read '%s': %s", path, strerror(errno));
    core->file_bytes = (uint64_t)status.st_size;
    why = read_segments(core);
    if (why != NULL)
        return tool_fail("cannot use '%s': %s", path, why);
    read_notes(core);
    if (core->thread_count == 0)
        return tool_fail("cannot use '%s': %s", path,
                         core->is_cut ? "it was cut before its list of threads"
                                      : "it has no list of threads");
    return TOOL_OK;
}

void tool_core_close(struct tool_core *core)
{
    if (core->fd >= 0)
        close(core->fd);
    for (size_t i = 0; i < core->module_count; i++)
        if (core->modules[i].fd >= 0)
            close(core->modules[i].fd);
    free(core->loads);
    free(core->threads);
    free(core->mappings);
    free(core->modules);
    free(core->notes);
}
