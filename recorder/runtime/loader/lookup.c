/* Where dlsym is not there, the tables of the modules are read: that is a program of an older glibc
 * without libdl, so one that loads nothing later on. */
#include "recorder/runtime/loader/lookup.h"

#include <string.h>

#include "recorder/runtime/loader/library_names.h"

#define HIDDEN_VERSION 0x8000u

#if defined(TTP_RUNTIME_SHARED) && defined(__GLIBC__)
const char *gnu_get_libc_version(void);
#pragma weak gnu_get_libc_version
#endif

bool ttp_libc_is_ours(void)
{
#if defined(TTP_RUNTIME_SHARED) && defined(__GLIBC__)
    return gnu_get_libc_version != NULL;
#else
    return true;
#endif
}

void ttp_lookup_quiet(void)
{
    if (dlerror != NULL)
        (void)dlerror();
}

struct search {
    const char *name;
    bool is_behind; /* ours is passed */
    void *found;
};

static bool has_address(const struct dl_phdr_info *info, uintptr_t address)
{
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static const ElfW(Half) * versions_of(const struct dl_phdr_info *info)
{
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *at = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; at->d_tag != DT_NULL; at++)
            if (at->d_tag == DT_VERSYM)
                return (const ElfW(Half) *)(at->d_un.d_ptr + (at->d_un.d_ptr < info->dlpi_addr
                                                                  ? info->dlpi_addr
                                                                  : 0));
    }
    return NULL;
}

static int search_in(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct ttp_library_tables t;
    (void)size;
    if (!search->is_behind) {
        search->is_behind = has_address(info, (uintptr_t)ttp_next_function);
        return 0;
    }
    if (!ttp_library_tables_find(info, &t))
        return 0;
    const ElfW(Half) *versions = versions_of(info);
    for (uint32_t i = 0; i < t.symbol_count; i++) {
        uint64_t value;
        bool is_chosen_later;
        const char *name = ttp_library_exported(&t, i, &value, &is_chosen_later);
        if (name == NULL || strcmp(name, search->name) != 0 ||
            (versions != NULL && (versions[i] & HIDDEN_VERSION) != 0))
            continue;
        search->found = (void *)(info->dlpi_addr + value);
        if (is_chosen_later)
            search->found = ((void *(*)(void))search->found)();
        return 1;
    }
    return 0;
}

static void *search_for(const char *name, bool is_behind)
{
    struct search search = {.name = name, .is_behind = is_behind};
    (void)dl_iterate_phdr(search_in, &search);
    return search.found;
}

/* dlsym sees by its return address behind whom it is to look: it must not be jumped to. */
void *ttp_next_function(const char *name)
{
    void *volatile found = dlsym != NULL ? dlsym(RTLD_NEXT, name) : search_for(name, false);
    return found;
}

void *ttp_defined_function(const char *name) { return search_for(name, true); }

void *ttp_first_symbol(const char *name)
{
    void *volatile found = dlsym != NULL ? dlsym(RTLD_DEFAULT, name) : NULL;
    ttp_lookup_quiet();
    return found;
}

void *ttp_next_version(const char *name, const char *version)
{
    void *volatile found = dlvsym != NULL ? dlvsym(RTLD_NEXT, name, version) : NULL;
    ttp_lookup_quiet();
    return found;
}
