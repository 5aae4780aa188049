/* Names that say what was chosen, where a file has several of one address: which inlined function a
 * copy is of that was patched, as several may be entered there; and by which name a process that is
 * attached to asks for a function of a library. Plans are made and names are asked for in different
 * threads. */
#ifndef TOOL_RECORD_COPIES_H
#define TOOL_RECORD_COPIES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

struct tool_record_copy; /* one of them */

struct tool_record_copies {
    pthread_mutex_t lock;
    struct tool_record_copy *items; /* sorted by module, address */
    size_t count, capacity;
    bool is_open, is_sorted;
};

void tool_record_copies_open(struct tool_record_copies *copies);
/* Of several at one address the first is kept. */
void tool_record_copies_add(struct tool_record_copies *copies, ttape_string build_id,
                            uint64_t elf_address, ttape_string name, ttape_string file,
                            uint32_t line);
/* A library's function, and the name that is asked for. */
void tool_record_copies_ask(struct tool_record_copies *copies, ttape_string build_id,
                            uint64_t elf_address, const char *name);
/* False: none is known to be there. What it fills in lives until close; of what is asked for that
 * is the symbol alone. */
bool tool_record_copies_find(struct tool_record_copies *copies, ttape_string build_id,
                             uint64_t elf_address, ttape_site *site);
/* Nothing happens to what was not opened. */
void tool_record_copies_close(struct tool_record_copies *copies);

#endif
