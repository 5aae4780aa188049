/* Functions' ids. What the loader knows of an address may be asked in signal handlers, too; what
 * was found of a module is kept until the program loads or unloads one. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "recorder/arena/context_file.h"
#include "recorder/runtime/context/context_state.h"

#define MODULES_MAX 256u
#define PATH_BYTES  4096u
#define PATH_LOOKS  20000u /* for a path that another thread asks for: a millisecond or so */

/* Written by any thread, read by all; `version` is odd while it is written. */
struct module {
    uint64_t version;
    uintptr_t low, high;
    uint64_t seed;
    uint32_t number; /* the dictionary's */
    uint32_t changes, turn;
};
static struct module modules[MODULES_MAX];
static uint32_t module_count;

static uint32_t changes_now(void)
{
    return __atomic_load_n(&ttp_process.module_changes, __ATOMIC_RELAXED);
}

static bool read_module(const struct module *module, struct module *copy)
{
    copy->version = __atomic_load_n(&module->version, __ATOMIC_ACQUIRE);
    copy->low = __atomic_load_n(&module->low, __ATOMIC_RELAXED);
    copy->high = __atomic_load_n(&module->high, __ATOMIC_RELAXED);
    copy->seed = __atomic_load_n(&module->seed, __ATOMIC_RELAXED);
    copy->number = __atomic_load_n(&module->number, __ATOMIC_RELAXED);
    copy->changes = __atomic_load_n(&module->changes, __ATOMIC_RELAXED);
    copy->turn = __atomic_load_n(&module->turn, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (copy->version & 1) == 0 &&
           __atomic_load_n(&module->version, __ATOMIC_RELAXED) == copy->version;
}

static bool is_current(const struct module *module, uint32_t changes)
{
    return module->changes == changes && module->turn == ttp_context_settings.turn;
}

static bool find_known(uintptr_t function, struct module *found)
{
    uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE), changes = changes_now();
    for (uint32_t i = 0; i < count && i < MODULES_MAX; i++)
        if (read_module(&modules[i], found) && found->low <= function && function < found->high &&
            is_current(found, changes))
            return true;
    return false;
}

/* Into a place that is nobody's any more, or a new one; where there is none, it is not kept. */
static void keep_module(const struct module *found)
{
    uint32_t i = 0, count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
    struct module copy;
    for (; i < count && i < MODULES_MAX; i++)
        if (read_module(&modules[i], &copy) && !is_current(&copy, found->changes))
            break;
    if (i >= count)
        i = __atomic_fetch_add(&module_count, count < MODULES_MAX ? 1 : 0, __ATOMIC_ACQ_REL);
    if (i >= MODULES_MAX)
        return;
    struct module *place = &modules[i];
    uint64_t version = __atomic_load_n(&place->version, __ATOMIC_RELAXED);
    if ((version & 1) != 0 ||
        !__atomic_compare_exchange_n(&place->version, &version, version + 1, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&place->low, found->low, __ATOMIC_RELAXED);
    __atomic_store_n(&place->high, found->high, __ATOMIC_RELAXED);
    __atomic_store_n(&place->seed, found->seed, __ATOMIC_RELAXED);
    __atomic_store_n(&place->number, found->number, __ATOMIC_RELAXED);
    __atomic_store_n(&place->changes, found->changes, __ATOMIC_RELAXED);
    __atomic_store_n(&place->turn, found->turn, __ATOMIC_RELAXED);
    __atomic_store_n(&place->version, version + 2, __ATOMIC_RELEASE);
}

/* -- what the loader knows -- */

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object

/* The program itself has no name; a handler has no room for one. Asked for when a value is, as a
 * program may be under a filter of system calls. */
static char program_path[PATH_BYTES];
static uint32_t program_path_state; /* 1: it is being asked for, 2: it is there */

static void ask_path(void)
{
    uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&program_path_state, &none, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    (void)ttp_program_path(program_path, PATH_BYTES - 1);
    __atomic_store_n(&program_path_state, 2, __ATOMIC_RELEASE);
}

/* NULL: somebody is just asking for it, as what a handler interrupted may be. */
static const char *path_of(const struct link_map *map)
{
    if (map->l_name != NULL && map->l_name[0] != '\0')
        return map->l_name;
    ask_path();
    for (uint32_t i = 0; i < PATH_LOOKS; i++) {
        if (__atomic_load_n(&program_path_state, __ATOMIC_ACQUIRE) == 2)
            return program_path;
        __builtin_ia32_pause();
    }
    return NULL;
}

static uint64_t seed_of(const struct ttp_module_seen *module, const char *path)
{
    char name[5 + 256] = "file:";
    const char *last = path;
    size_t size = 5;
    if (module->build_id != NULL)
        return ttape_context_seed(module->build_id, module->build_id_size);
    for (const char *at = path; *at != '\0'; at++)
        last = *at == '/' ? at + 1 : last;
    while (*last != '\0' && size < sizeof(name))
        name[size++] = *last++;
    return ttape_context_seed(name, size);
}

/* The module's own program headers are mapped with it, where its first page is. */
static bool look_up_module(uintptr_t function, struct module *found)
{
    struct dl_find_object object;
    struct ttp_module_seen seen;
    if (_dl_find_object == NULL || _dl_find_object((void *)function, &object) != 0 ||
        object.dlfo_link_map == NULL)
        return false;
    const ElfW(Ehdr) *head = object.dlfo_map_start;
    if (head->e_ident[0] != ELFMAG0 || head->e_ident[1] != ELFMAG1 || head->e_ident[2] != ELFMAG2 ||
        head->e_ident[3] != ELFMAG3 || head->e_phentsize != sizeof(ElfW(Phdr)))
        return false;
    struct dl_phdr_info info = {.dlpi_addr = object.dlfo_link_map->l_addr,
                                .dlpi_phdr =
                                    (const ElfW(Phdr) *)((const char *)head + head->e_phoff),
                                .dlpi_phnum = head->e_phnum};
    if (!ttp_module_look(&info, &seen) || function - seen.start >= seen.end - seen.start)
        return false;
    /* Only a dictionary, and a module without a build id, need a name: the value does not wait. */
    bool needs_path = seen.build_id == NULL || ttp_context_settings.dictionary != NULL;
    const char *path = needs_path ? path_of(object.dlfo_link_map) : "";
    if (path == NULL)
        return false;
    *found = (struct module){.low = seen.start,
                             .high = seen.end,
                             .seed = seed_of(&seen, path),
                             .changes = changes_now(),
                             .turn = ttp_context_settings.turn};
    found->number = ttp_dictionary_module(found->seed, &seen, path);
    keep_module(found);
    return true;
}
void ttp_context_name_program(void) { ask_path(); }
#else
void ttp_context_name_program(void) {}

static bool look_up_module(uintptr_t function, struct module *found)
{
    (void)function;
    (void)found;
    return false;
}
#endif

struct ttp_context_place ttp_context_find(uintptr_t function)
{
    struct module module;
    if (!find_known(function, &module) && !look_up_module(function, &module))
        module = (struct module){0};
    uint64_t offset = function - module.low;
    bool is_stable = ttp_context_settings.ids == TTAPE_CONTEXT_IDS_STABLE;
    return (struct ttp_context_place){
        .id = is_stable ? ttape_context_id(module.seed, offset) : function,
        .place = (uint64_t)module.number << TTP_CONTEXT_OFFSET_BITS |
                 (offset & ((UINT64_C(1) << TTP_CONTEXT_OFFSET_BITS) - 1))};
}
