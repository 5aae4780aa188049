/* Line tables come from anywhere and are read by code that is not ours, so in a process of its own.
 * It sends what it finds: an entry, with the file's name where that is another one than before.
 * What it had not sent when it died or hung is not known. */
#include "program/binary/patch_lines.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "program/process/child.h"

#define LINES_KEPT   1000000u /* by libdw: about 50 MB */
#define MEMORY_BYTES (UINT64_C(512) << 20)
#define SECONDS_MOST 60u     /* of its processor time */
#define WALL_MS      600000u /* a busy machine gives it that much later */
#define SENT_BYTES   65536u
#define FILE_MOST    4096u

struct entry {
    uint64_t address;
    uint32_t line, file_bytes; /* 0: as before */
};

/* -- the child -- */

struct line_starts {
    Elf *elf;
    Dwarf *dwarf;
    Dwarf_CU *unit; /* of the last table */
    size_t kept, used;
    int fd;
    bool is_over; /* nobody listens */
    char file[FILE_MOST];
    char sent[SENT_BYTES];
};

static void flush_starts(struct line_starts *s)
{
    s->is_over = s->is_over || !tool_child_send(s->fd, s->sent, s->used, 0);
    s->used = 0;
}

static void put_line(struct line_starts *s, uint64_t address, uint32_t line, const char *file)
{
    size_t size = strnlen(file, FILE_MOST - 1);
    bool is_same = memcmp(s->file, file, size) == 0 && s->file[size] == '\0';
    struct entry entry = {address, line, is_same ? 0 : (uint32_t)size};
    if (s->used + sizeof entry + entry.file_bytes > SENT_BYTES)
        flush_starts(s);
    memcpy(s->sent + s->used, &entry, sizeof entry);
    memcpy(s->sent + s->used + sizeof entry, file, entry.file_bytes);
    s->used += sizeof entry + entry.file_bytes;
    memcpy(s->file, file, size);
    s->file[size] = '\0';
}

static void put_lines(struct line_starts *s, Dwarf_Lines *lines, size_t count)
{
    for (size_t i = 0; i < count && !s->is_over; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address = 0;
        bool begins = false, ends = true;
        int number = 0;
        if (dwarf_linebeginstatement(line, &begins) != 0 || dwarf_lineaddr(line, &address) != 0 ||
            dwarf_lineendsequence(line, &ends) != 0 || dwarf_lineno(line, &number) != 0 ||
            !begins || ends || number <= 0)
            continue;
        const char *file = dwarf_linesrc(line, NULL, NULL);
        put_line(s, address, (uint32_t)number, file != NULL && file[0] != '\0' ? file : "?");
    }
    s->kept += count;
}

/* libdw keeps what it has decoded: it begins anew now and then. */
static bool make_room(struct line_starts *s)
{
    if (s->dwarf != NULL && s->kept < LINES_KEPT)
        return true;
    if (s->dwarf != NULL)
        (void)dwarf_end(s->dwarf);
    s->kept = 0;
    s->unit = NULL;
    s->dwarf = dwarf_begin_elf(s->elf, DWARF_C_READ, NULL);
    return s->dwarf != NULL;
}

static void send_lines(int fd, const void *context)
{
    const struct tool_plan_input *input = context;
    struct line_starts *s = tool_child_allocate(1, sizeof *s);
    Dwarf_Off offset = 0, next;
    Dwarf_Lines *lines;
    size_t count;
    tool_child_limit(RLIMIT_CPU, SECONDS_MOST);
    s->fd = fd;
    (void)elf_version(EV_CURRENT);
    s->elf = elf_memory((char *)input->bytes, input->size_bytes);
    while (s->elf != NULL && !s->is_over && make_room(s) &&
           dwarf_next_lines(s->dwarf, offset, &next, &s->unit, NULL, NULL, &lines, &count) == 0) {
        if (lines != NULL)
            put_lines(s, lines, count);
        offset = next;
    }
    flush_starts(s);
}

/* -- the parent -- */

static bool take_entry(struct tool_child_input *from, struct entry *entry, char file[FILE_MOST])
{
    const char *data = tool_child_take(from, sizeof *entry);
    if (data == NULL)
        return false;
    memcpy(entry, data, sizeof *entry);
    if (entry->file_bytes == 0)
        return true;
    data = entry->file_bytes < FILE_MOST ? tool_child_take(from, entry->file_bytes) : NULL;
    if (data == NULL)
        return false;
    memcpy(file, data, entry->file_bytes);
    file[entry->file_bytes] = '\0';
    return true;
}

/* Calls `take` as tool_patch_lines_each does, of an ELF file in memory. False: there was no time
 * or memory, so that the answer would be another one when the machine is less busy. */
static bool each_line(const struct tool_plan_input *input, tool_take_line take, void *context)
{
    struct tool_child child = {0};
    struct entry entry;
    char file[FILE_MOST] = "";
    if (!tool_child_start(&child, MEMORY_BYTES, send_lines, input))
        return true;
    struct tool_child_input from = {.fd = child.fd,
                                    .deadline_ms = tool_child_now_ms() + WALL_MS,
                                    .data = malloc(SENT_BYTES),
                                    .room = SENT_BYTES};
    errno = 0;
    while (from.data != NULL && take_entry(&from, &entry, file)) {
        take(context, entry.address, file, entry.line);
        errno = 0;
    }
    bool is_all = from.data != NULL && errno != ETIMEDOUT;
    (void)tool_child_end(&child, true);
    free(from.data);
    return is_all;
}

/* -- bits -- */

struct lines {
    uint64_t *bits;
    uint32_t start, end; /* of code */
};

static void take_line(void *context, uint64_t address, const char *file, uint32_t line)
{
    const struct lines *lines = context;
    (void)file;
    (void)line;
    if (address >= lines->start && address < lines->end)
        lines->bits[(address - lines->start) / 64] |= (uint64_t)1 << (address - lines->start) % 64;
}

uint64_t *tool_patch_lines_read(const struct tool_image *image, const struct tool_plan_input *input)
{
    struct lines lines = {.start = image->code_start, .end = image->code_end};
    lines.bits = calloc((size_t)(lines.end - lines.start) / 64 + 1, sizeof *lines.bits);
    if (lines.bits == NULL)
        return NULL;
    if (!each_line(input, take_line, &lines)) {
        free(lines.bits);
        return NULL;
    }
    return lines.bits;
}

void tool_patch_lines_each(const char *path, tool_take_line take, void *context)
{
    struct tool_plan_input input;
    if (tool_plan_input_open(&input, path) == NULL)
        (void)each_line(&input, take, context);
    tool_plan_input_close(&input);
}
