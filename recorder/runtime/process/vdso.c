/* The kernel's clocks without a system call and without the C library: the shared object that the
 * kernel maps into every process is looked through for its clock_gettime. */
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/runtime/slow.h"

typedef int (*clock_function)(clockid_t, struct timespec *);

static clock_function from_vdso;

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
    uintptr_t bias;
};

static bool find_tables(uintptr_t start, struct tables *tables)
{
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)start;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(start + head->e_phoff);
    const ElfW(Dyn) *dynamic = NULL;
    bool is_loaded = false;
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !is_loaded) {
            tables->bias = start + segments[i].p_offset - segments[i].p_vaddr;
            is_loaded = true;
        } else if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)(start + segments[i].p_offset);
        }
    }
    for (; is_loaded && dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t at = tables->bias + dynamic->d_un.d_ptr;
        switch (dynamic->d_tag) {
        case DT_SYMTAB: tables->symbols = (const ElfW(Sym) *)at; break;
        case DT_STRTAB: tables->strings = (const char *)at; break;
        case DT_HASH: tables->hash = (const uint32_t *)at; break;
        case DT_GNU_HASH: tables->gnu_hash = (const uint32_t *)at; break;
        default: break;
        }
    }
    return tables->symbols != NULL && tables->strings != NULL &&
           (tables->hash != NULL || tables->gnu_hash != NULL);
}

/* One past the last symbol. */
static uint32_t count_symbols(const struct tables *tables)
{
    if (tables->hash != NULL)
        return tables->hash[1];
    const uint32_t *table = tables->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], filter_words = table[2], last = 0;
    const uint32_t *buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + bucket_count;
    for (uint32_t i = 0; i < bucket_count; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < first)
        return 0;
    while ((chains[last - first] & 1) == 0)
        last++;
    return last + 1;
}

void ttp_vdso_find(void)
{
    struct tables tables = {0};
    struct timespec now;
    uintptr_t start = getauxval(AT_SYSINFO_EHDR);
    if (start == 0 || !find_tables(start, &tables))
        return;
    uint32_t count = count_symbols(&tables);
    for (uint32_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &tables.symbols[i];
        if (symbol->st_shndx == SHN_UNDEF ||
            !ttp_is_equal(tables.strings + symbol->st_name, "__vdso_clock_gettime"))
            continue;
        clock_function found = (clock_function)(tables.bias + symbol->st_value);
        if (found(CLOCK_MONOTONIC, &now) == 0)
            from_vdso = found;
        return;
    }
}

bool ttp_vdso_has_clock(void) { return from_vdso != NULL; }

static uint64_t clock_of(clockid_t id)
{
    struct timespec now = {0, 0};
    if (from_vdso == NULL || from_vdso(id, &now) != 0)
        ttp_syscall(SYS_clock_gettime, id, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ttp_clock_monotonic(void) { return clock_of(CLOCK_MONOTONIC); }
uint64_t ttp_clock_coarse(void) { return clock_of(CLOCK_MONOTONIC_COARSE); }
