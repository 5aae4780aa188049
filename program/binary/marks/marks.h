/* Static probes (SDT): places that a program's makers have marked. Each is a nop in the code, and a
 * note in the section .note.stapsdt that says where it is, what it is called, and where its values
 * are then:
 *
 *     provider, name   "postgresql", "transaction__start"; people see provider:name
 *     semaphore        the address of a counter of 16 bits that debuggers count up while they
 *                      look; the program may leave out what only the mark needs while it is 0
 *     arguments        "4@%ebx -8@-16(%rbp) 4@$5", as the assembler has them
 *
 * Notes are a stranger's bytes: what makes no sense is no mark, or a value that is not known. */
#ifndef TOOL_MARKS_H
#define TOOL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "recorder/arena/patch_plan.h"

#define TOOL_MARKS_BYTES_MAX ((size_t)16 << 20) /* of all notes of a file */
#define TOOL_MARK_NAME_MAX   256u               /* of provider and name together */

struct tool_mark {
    uint32_t address;                       /* of the nop; ELF addresses */
    uint32_t semaphore;                     /* 0: it has none */
    ttape_string provider, name, arguments; /* in the notes */
};

/* mark_notes.c: pure. Calls `take` for each mark, in the order of the notes. base: where the
 * section .stapsdt.base is; 0: there is none, addresses are as the notes say. */
typedef void (*tool_take_mark)(void *context, const struct tool_mark *mark);
void tool_mark_notes(const uint8_t *notes, size_t size_bytes, uint64_t base, tool_take_mark take,
                     void *context);

/* mark_values.c: pure. What the arguments of a note say; of those beyond TTP_MARK_VALUES_MAX
 * nothing. `find` gives the address of a symbol, or false. Returns how many there are: a value that
 * is not understood has the kind TTP_MARK_UNKNOWN. */
typedef bool (*tool_find_symbol)(void *context, ttape_string name, uint64_t *address);
uint32_t tool_mark_values(ttape_string arguments, tool_find_symbol find, void *context,
                          struct ttp_mark_value values[TTP_MARK_VALUES_MAX]);

/* mark_file.c: the marks of a file, sorted by address. */
struct tool_marks {
    struct tool_mark *items;
    size_t count, capacity;
    struct tool_marks_file *file; /* what their texts lie in */
};
/* False: there is no memory. A file that cannot be read, or has no such section, has no marks.
 * Close it in any case. */
bool tool_marks_open(struct tool_marks *marks, const char *path);
void tool_marks_close(struct tool_marks *marks);
/* Finds where the values of one mark are; symbols are looked up in the file. */
uint32_t tool_marks_values(const struct tool_marks *marks, const struct tool_mark *mark,
                           struct ttp_mark_value values[TTP_MARK_VALUES_MAX]);

#endif
