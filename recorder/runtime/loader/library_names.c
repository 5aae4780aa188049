/* Names in a module's tables, as the loader has them: what it asks for, and what it exports. */
#include "recorder/runtime/loader/library_names.h"

#include <string.h>

#include "recorder/arena/special_names.h"

bool ttp_name_is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool ttp_name_begins_with(const char *name, const char *const *starts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

bool ttp_library_has_front(const char *name)
{
    static const char *const names[] = {"pthread_create", "thrd_create", "posix_spawn",
                                        "posix_spawnp"};
    return ttp_name_is_among(name, names, TTP_COUNT_OF(names));
}

bool ttp_library_is_fronted(const char *name)
{
    static const char *const names[] = {TTP_FRONTED_NAMES};
    return ttp_name_is_among(name, names, TTP_COUNT_OF(names));
}

bool ttp_library_is_special(const char *name)
{
    static const char *const names[] = {TTP_SPECIAL_NAMES};
    static const char *const starts[] = {TTP_SPECIAL_STARTS};
    return ttp_library_is_fronted(name) || ttp_name_is_among(name, names, TTP_COUNT_OF(names)) ||
           ttp_name_begins_with(name, starts, TTP_COUNT_OF(starts));
}

/* Symbols are numbered up to the last one of a chain. */
static uint32_t count_of_gnu_hash(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], last = 0;
    const uint32_t *bucket = hash + 4 + (size_t)hash[2] * 2; /* behind a filter of 64-bit words */
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while ((chain[last - first] & 1) == 0)
        last++;
    return last + 1;
}

bool ttp_library_tables_find(const struct dl_phdr_info *info, struct ttp_library_tables *t)
{
    const ElfW(Dyn) *dynamic = NULL;
    const uint32_t *gnu_hash = NULL;
    *t = (struct ttp_library_tables){0};
    for (uint32_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t at = dynamic->d_un.d_ptr; /* moved already, by the C library */
        at += at < info->dlpi_addr ? info->dlpi_addr : 0;
        switch (dynamic->d_tag) {
        case DT_SYMTAB: t->symbols = (const ElfW(Sym) *)at; break;
        case DT_STRTAB: t->names = (const char *)at; break;
        case DT_STRSZ: t->name_bytes = dynamic->d_un.d_val; break;
        case DT_RELA: t->relocations[0].list = (const ElfW(Rela) *)at; break;
        case DT_RELASZ: t->relocations[0].bytes = dynamic->d_un.d_val; break;
        case DT_JMPREL: t->relocations[1].list = (const ElfW(Rela) *)at; break;
        case DT_PLTRELSZ: t->relocations[1].bytes = dynamic->d_un.d_val; break;
        case DT_GNU_HASH: gnu_hash = (const uint32_t *)at; break;
        case DT_HASH: t->symbol_count = ((const uint32_t *)at)[1]; break;
        default: break;
        }
    }
    if (t->symbol_count == 0 && gnu_hash != NULL)
        t->symbol_count = count_of_gnu_hash(gnu_hash);
    return t->symbols != NULL && t->names != NULL;
}

const char *ttp_library_symbol_name(const struct ttp_library_tables *t, const ElfW(Sym) * symbol)
{
    return symbol->st_name != 0 && symbol->st_name < t->name_bytes ? t->names + symbol->st_name
                                                                   : NULL;
}

const char *ttp_library_asked(const struct ttp_library_tables *t, uint32_t table, uint64_t i)
{
    const ElfW(Rela) *relocation = &t->relocations[table].list[i];
    uint64_t type = ELF64_R_TYPE(relocation->r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
        return NULL;
    const ElfW(Sym) *symbol = &t->symbols[ELF64_R_SYM(relocation->r_info)];
    uint32_t kind = ELF64_ST_TYPE(symbol->st_info);
    bool is_function = kind == STT_FUNC || kind == STT_NOTYPE || kind == STT_GNU_IFUNC;
    return is_function && symbol->st_shndx == 0 ? ttp_library_symbol_name(t, symbol) : NULL;
}

uint64_t *ttp_library_slot(const struct ttp_library_tables *t, uint32_t table, uint64_t i,
                           uintptr_t bias)
{
    const ElfW(Rela) *relocation = &t->relocations[table].list[i];
    return ELF64_R_TYPE(relocation->r_info) == R_X86_64_JUMP_SLOT && relocation->r_addend == 0
               ? (uint64_t *)(bias + relocation->r_offset)
               : NULL;
}

const char *ttp_library_exported(const struct ttp_library_tables *t, uint32_t i, uint64_t *value,
                                 bool *is_chosen_later)
{
    const ElfW(Sym) *symbol = &t->symbols[i];
    uint32_t kind = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    *value = symbol->st_value;
    *is_chosen_later = kind == STT_GNU_IFUNC;
    return symbol->st_shndx != 0 && (kind == STT_FUNC || kind == STT_GNU_IFUNC) &&
                   binding != STB_LOCAL
               ? ttp_library_symbol_name(t, symbol)
               : NULL;
}
