/* Context values in the program: of the frames that hooks keep anyway. Calls do nothing for it; the
 * value is worked out when it is asked for, from where the thread's last one differs.
 *
 *     frames        main  parse  expr  term   <- top
 *     cache         main  parse  expr  call      value, depth and dictionary entry of each
 *                   ~~~~ the same ~~~~  ^ from here on anew */
#ifndef TTP_RUNTIME_CONTEXT_H
#define TTP_RUNTIME_CONTEXT_H

#include <tracetape/context.h>

#include "recorder/runtime/slow.h"

/* Of the process. `turn` changes with it. */
struct ttp_context_settings {
    uint32_t turn;
    ttape_context_operation operation;
    ttape_context_ids ids;
    struct ttp_context_head *dictionary; /* NULL: none */
    uint32_t entry_count;
};
extern struct ttp_context_settings ttp_context_settings;

/* context_value.c: as ttape_context(), of what has its stack pointer there. */
ttape_context_value ttp_context_at(uintptr_t sp);

/* context_modules.c: where a function is. Module 0: in none that is known. */
struct ttp_context_place {
    uint64_t id;
    uint64_t place; /* as in the dictionary */
};
struct ttp_context_place ttp_context_find(uintptr_t function);
/* With a dictionary it is needed sooner or later: now nobody has to wait for it. */
void ttp_context_name_program(void);

/* context_map.c: one line, where the environment asks for it. */
void ttp_context_tell_map(char **environment);

/* context_dictionary.c: number of the context's entry, or 0: it has no place. */
uint32_t ttp_dictionary_add(uint64_t value, uint32_t around, uint32_t depth, uint64_t place);
/* A context was asked for that has none. */
void ttp_dictionary_missed(void);
/* The dictionary's number of a module, or 0. */
struct ttp_module_seen;
uint32_t ttp_dictionary_module(uint64_t seed, const struct ttp_module_seen *module,
                               const char *path);
/* False: it cannot be had, and `why` says why. */
bool ttp_dictionary_open(const char *path, uint64_t bytes, const char **why);
#endif
