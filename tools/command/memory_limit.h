/* What a verb that reads may take: --memory bounds the library's reader and its reports. Verbs with
 * tables of their own that grow with the file, and that write no trace, bind the process as a whole
 * to it (tool_memory_bound). A verb that has the option lists TOOL_MEMORY_OPTION, keeps the number
 * in `memory_bytes` of its options, and gives it to the library; 0: the default, 256 MiB. */
#ifndef TOOL_MEMORY_LIMIT_H
#define TOOL_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/region.h"
#include "tools/command/options.h"

#define TOOL_MEMORY_HINT_BYTES 80u

#define TOOL_MEMORY_OPTION                                                                         \
    {                                                                                              \
        "memory", 0, "SIZE", "memory that it may take, as 512M or 4G (default 256M)",              \
            tool_parse_size, TOOL_AT(memory_bytes)                                                 \
    }

/* From here on large blocks are mapped alone, and go back to the system as soon as they are free:
 * between such that come and go malloc's heap gets holes that nothing fits into, and the process
 * has half as much again as what is in use. */
void tool_memory_give_back(void);
/* From here on tool_allocate and its like end the command where the process would take more than
 * that. Verbs that write a trace do not call it: what a writer needs comes on top. */
void tool_memory_bound(uint64_t memory_bytes);
/* What a reader of the library may take of `memory_bytes`: most of it where the process is bound,
 * which has its code and unused ends of blocks beside what the reader counts. */
uint64_t tool_memory_of_reader(uint64_t memory_bytes);
/* What an answer of the library may take of that now; everything where the process is not bound. */
uint64_t tool_memory_left(void);
/* The same for reports and lists of calls, and some in a process that had all of it from the start;
 * never 0, which would be a default. */
uint64_t tool_memory_of_answer(void);
/* Blocks of the command's memory: where there is none the command ends, so nothing ever fails. */
struct ttp_region tool_region(void);
/* Ends the command: an answer found no more memory, within the bound or at all. */
_Noreturn void tool_memory_short(void);
/* Ends the command: it would take `needed_bytes` more than it has. */
_Noreturn void tool_memory_over(uint64_t needed_bytes);
/* What to type where it was not enough; what was needed so far, or 0. */
const char *tool_memory_hint(char *text, size_t size_bytes, uint64_t needed_bytes);

/* Where there is no more memory, `call` goes first: it may end the process as it likes. A child of
 * this process does not call it: what it would do has been done, or will be, by its parent. */
void tool_memory_on_failure(void (*call)(void *context), void *context);

#endif
