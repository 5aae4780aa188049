/* Names in the dynamic tables of a module that is loaded. */
#ifndef TTP_RUNTIME_LIBRARY_NAMES_H
#define TTP_RUNTIME_LIBRARY_NAMES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct ttp_library_tables {
    const ElfW(Sym) * symbols;
    uint32_t symbol_count;
    const char *names;
    uint64_t name_bytes;
    struct {
        const ElfW(Rela) * list;
        uint64_t bytes;
    } relocations[2];
};

#define TTP_COUNT_OF(list) (sizeof(list) / sizeof(*(list)))

/* Whether a name is one of those, or begins with one of those. */
bool ttp_name_is_among(const char *name, const char *const *names, size_t count);
bool ttp_name_begins_with(const char *name, const char *const *starts, size_t count);

/* True for functions that no window records as library calls (longjmp, vfork, ...). */
bool ttp_library_is_special(const char *name);
/* Of those: what is recorded where the runtime stands in front of it (front_calls.h). */
bool ttp_library_is_fronted(const char *name);
/* Of others: what is recorded there where it has no window. */
bool ttp_library_has_front(const char *name);
/* library_calls.c: tells a function under the name that the program has for it, which libraries
 * without symbols have not. False: it could not be told. */
bool ttp_library_tell(uint64_t address, const char *name);
/* False: it has none. */
bool ttp_library_tables_find(const struct dl_phdr_info *info, struct ttp_library_tables *t);
/* NULL: it has none. */
const char *ttp_library_symbol_name(const struct ttp_library_tables *t, const ElfW(Sym) * symbol);
/* What a relocation asks for. NULL: it asks for no function of others. */
const char *ttp_library_asked(const struct ttp_library_tables *t, uint32_t table, uint64_t i);
/* The word through which the module's PLT jumps to it. NULL: there is none. */
uint64_t *ttp_library_slot(const struct ttp_library_tables *t, uint32_t table, uint64_t i,
                           uintptr_t bias);
/* NULL: that symbol is no function which others may call. is_chosen_later: by the processor; the
 * value is that of what chooses. */
const char *ttp_library_exported(const struct ttp_library_tables *t, uint32_t i, uint64_t *value,
                                 bool *is_chosen_later);

#endif
