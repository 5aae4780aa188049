/* Calls of the executable that lead into libraries: the functions that its relocations name,
 * patched where they lie, and recorded where the return address is the executable's. So calls
 * through PLT and GOT and through pointers are all seen, at both ends, whatever linked them when;
 * and what a library calls itself is not.
 *
 *     relocations of the executable -> names -> dlsym -> functions of plans -> probes
 *
 * Where the loader chooses among several functions by the processor, dlsym says which one. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/runtime/library/prototypes.h"
#include "writer/runtime/patch/probe.h"

#define FUNCTIONS_MAX 16384u
#define NAME_MAX_SAID 128u
#define PLAN_WAIT_S   2
#define PLAN_TURNS    2u
#define FUTEX_WAIT    0
#define JUMPS_MAX     4u /* of one function to the next, that are followed */

/* What is looked for, while there is one thread. */
struct library_calls {
    struct ttp_library_function *list;
    uint32_t count, visited;
    uint64_t program; /* where the executable begins */
};

/* -- names -- */

/* Functions that return twice or to elsewhere, that are called in a way of their own, or that
 * others than programs call. */
static bool is_special(const char *name)
{
    static const char *const names[] = {"vfork",
                                        "_Fork",
                                        "clone",
                                        "__tls_get_addr",
                                        "mcount",
                                        "_mcount",
                                        "__fentry__",
                                        "swapcontext",
                                        "getcontext",
                                        "setcontext",
                                        "makecontext",
                                        "__libc_start_main",
                                        "__stack_chk_fail",
                                        "__cxa_finalize",
                                        "_setjmp",
                                        "setjmp",
                                        "__sigsetjmp",
                                        "longjmp",
                                        "_longjmp",
                                        "siglongjmp",
                                        "__longjmp_chk"};
    static const char *const starts[] = {"__cyg_", "__sanitizer_", "__asan_", "__tsan_",
                                         "_dl_",   "ttape_",       "_ITM_",   "__gmon_"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* The executable's tables, as the loader has them. */
struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    uint64_t name_bytes;
    struct {
        const ElfW(Rela) * list;
        uint64_t bytes;
    } relocations[2];
};

static bool find_tables(const struct dl_phdr_info *info, struct tables *t)
{
    const ElfW(Dyn) *dynamic = NULL;
    *t = (struct tables){0};
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
        default: break;
        }
    }
    return t->symbols != NULL && t->names != NULL;
}

/* NULL: it asks for no function of others. */
static const char *name_of(const struct tables *t, const ElfW(Rela) * relocation)
{
    uint64_t type = ELF64_R_TYPE(relocation->r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
        return NULL;
    const ElfW(Sym) *symbol = &t->symbols[ELF64_R_SYM(relocation->r_info)];
    uint32_t kind = ELF64_ST_TYPE(symbol->st_info);
    bool is_function = kind == STT_FUNC || kind == STT_NOTYPE || kind == STT_GNU_IFUNC;
    return is_function && symbol->st_shndx == 0 && symbol->st_name != 0 &&
                   symbol->st_name < t->name_bytes
               ? t->names + symbol->st_name
               : NULL;
}

static void add(struct library_calls *calls, uint64_t address, const char *name)
{
    uint32_t at = calls->count;
    for (; at > 0 && calls->list[at - 1].address >= address; at--)
        if (calls->list[at - 1].address == address)
            return;
    if (calls->count == FUNCTIONS_MAX)
        return;
    memmove(&calls->list[at + 1], &calls->list[at], (calls->count - at) * sizeof(*calls->list));
    calls->list[at] = (struct ttp_library_function){address, name, ttp_prototype_of(name)};
    calls->count++;
}

/* Behind us: functions that we stand in front of are meant where we lead to. */
static void find_functions(struct library_calls *calls, const struct tables *t)
{
    for (uint32_t table = 0; table < 2; table++) {
        uint64_t count = t->relocations[table].list == NULL
                             ? 0
                             : t->relocations[table].bytes / sizeof(ElfW(Rela));
        for (uint64_t i = 0; i < count; i++) {
            const char *name = name_of(t, &t->relocations[table].list[i]);
            if (name == NULL || is_special(name))
                continue;
            const void *found = dlsym(RTLD_NEXT, name);
            if (found != NULL)
                add(calls, (uint64_t)(uintptr_t)found, name);
        }
    }
    (void)dlerror();
}

/* -- modules -- */

/* The recorder makes it where there is none, once for each build. */
static const struct ttp_patch_head *get_plan(const struct ttp_plan_name *name, const char *path)
{
    const struct timespec limit = {.tv_sec = PLAN_WAIT_S};
    const struct ttp_patch_head *plan = ttp_patch_plan_map(name);
    uint32_t turn = __atomic_load_n(&ttp_arena.head.plan_turn, __ATOMIC_ACQUIRE);
    if (plan != NULL || name->count == 0)
        return plan;
    ttp_note_plan(path, TTP_NOTE_FUNCTIONS | TTP_NOTE_NO_CALLS);
    for (uint32_t i = 0; i < PLAN_TURNS && plan == NULL; i++) {
        if (ttp_syscall(SYS_futex, (long)&ttp_arena.head.plan_turn, FUTEX_WAIT, turn, (long)&limit,
                        0, 0) < 0 &&
            turn == __atomic_load_n(&ttp_arena.head.plan_turn, __ATOMIC_ACQUIRE))
            break; /* nobody makes it */
        turn = __atomic_load_n(&ttp_arena.head.plan_turn, __ATOMIC_ACQUIRE);
        plan = ttp_patch_plan_map(name);
    }
    return plan;
}

/* Bits of the plan's functions that are called; both are sorted by address. */
static uint32_t choose(const struct library_calls *calls, const struct ttp_patch_head *plan,
                       uint64_t bias, uint64_t *bits)
{
    const struct ttp_patch_function *functions = ttp_plan_at(plan, plan->functions_at);
    uint32_t chosen = 0, at = 0;
    for (uint32_t i = 0; i < plan->function_count; i++) {
        uint64_t start = bias + functions[i].start;
        while (at < calls->count && calls->list[at].address < start)
            at++;
        if (at == calls->count)
            break;
        if (calls->list[at].address == start) {
            bits[i / 64] |= (uint64_t)1 << i % 64;
            chosen++;
        }
    }
    return chosen;
}

/* Functions that chosen ones jump to return in their place. Returns how many were added. */
static uint32_t choose_jumped_to(const struct ttp_patch_head *plan, uint64_t *bits)
{
    const struct ttp_patch_function *functions = ttp_plan_at(plan, plan->functions_at);
    const struct ttp_patch_probe *probes = ttp_plan_at(plan, plan->probes_at);
    const struct ttp_plan_fixup *fixups = ttp_plan_at(plan, plan->fixups_at);
    uint32_t added = 0;
    for (uint32_t i = 0; i < plan->probe_count; i++) {
        const struct ttp_patch_probe *probe = &probes[i];
        bool is_jump = probe->kind == TTP_PATCH_TAIL || probe->kind == TTP_PATCH_TAIL_IF;
        if (!is_jump || probe->reason != TTP_PATCH_CAN || probe->fixup_count == 0 ||
            (bits[probe->function / 64] >> probe->function % 64 & 1) == 0)
            continue;
        uint32_t target = fixups[probe->first_fixup + probe->fixup_count - 1].target;
        uint32_t from = 0, end = plan->function_count;
        while (from < end) {
            uint32_t middle = from + (end - from) / 2;
            if (functions[middle].start < target)
                from = middle + 1;
            else
                end = middle;
        }
        if (from < plan->function_count && functions[from].start == target &&
            (bits[from / 64] >> from % 64 & 1) == 0) {
            bits[from / 64] |= (uint64_t)1 << from % 64;
            added++;
        }
    }
    return added;
}

static void patch(const struct library_calls *calls, struct ttp_probe_wish *wish, const char *path)
{
    struct ttp_plan_name name;
    ttp_plan_name_of(&name, wish->module, path);
    wish->plan = get_plan(&name, path);
    if (wish->plan == NULL)
        return;
    size_t bytes =
        sizeof(struct ttp_chosen_head) + ((size_t)wish->plan->function_count + 63) / 64 * 8;
    long memory = ttp_room_map(bytes);
    if (!ttp_failed(memory)) {
        struct ttp_chosen_head *chosen = (struct ttp_chosen_head *)memory;
        wish->chosen = chosen;
        wish->file = ttp_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
        uint64_t *bits = (uint64_t *)(chosen + 1);
        if (!ttp_failed(wish->file) &&
            choose(calls, wish->plan, wish->info->dlpi_addr, bits) != 0) {
            for (uint32_t i = 0; i < JUMPS_MAX && choose_jumped_to(wish->plan, bits) != 0; i++) {
            }
            (void)ttp_probes_patch(wish);
        }
        if (!ttp_failed(wish->file))
            ttp_syscall(SYS_close, wish->file, 0, 0, 0, 0, 0);
        ttp_room_unmap(chosen, bytes);
    }
    ttp_patch_plan_unmap(wish->plan);
}

static bool leads_into(const struct library_calls *calls, const struct ttp_module_seen *module)
{
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->list[i].address - module->start < module->end - module->start)
            return true;
    return false;
}

/* The executable is the first of all. */
static int see(struct dl_phdr_info *info, size_t size, void *data)
{
    struct library_calls *calls = data;
    struct ttp_module_seen module;
    struct tables tables;
    struct ttp_probe_wish wish = {.info = info, .module = &module, .is_library = true};
    (void)size;
    bool is_program = calls->visited++ == 0;
    if (!ttp_module_look(info, &module))
        return is_program;
    if (is_program) {
        ttp_process.caller_low = module.start;
        ttp_process.caller_bytes = module.end - module.start;
        if (find_tables(info, &tables))
            find_functions(calls, &tables);
        return 0;
    }
    bool is_own = (uintptr_t)&ttp_library_calls_begin - module.start < module.end - module.start;
    const char *path = info->dlpi_name;
    if (!is_own && path != NULL && path[0] == '/' && leads_into(calls, &module) &&
        ttp_area_with(module.start, NULL) == NULL) {
        const struct ttp_seen_module *seen = ttp_seen_module_at(module.start);
        wish.path = path;
        wish.calls = seen != NULL ? seen->plan : NULL;
        patch(calls, &wish, path);
    }
    return 0;
}

/* Under the names that the program has for them, which libraries without symbols have not. */
static void tell(const struct library_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        const struct ttp_library_function *function = &calls->list[i];
        uint32_t numbers[2] = {0, 0}; /* a function's kind, no line */
        uint16_t size = (uint16_t)strnlen(function->name, NAME_MAX_SAID);
        const struct ttp_message_field fields[4] = {{&function->address, sizeof(uint64_t)},
                                                    {numbers, sizeof(numbers)},
                                                    {&size, sizeof(size)},
                                                    {function->name, size}};
        if (!ttp_message(TTP_MESSAGE_SITE, fields, 4))
            return;
    }
}

void ttp_library_calls_begin(void)
{
    struct library_calls calls = {.count = 0};
    size_t bytes = FUNCTIONS_MAX * sizeof(*calls.list);
    struct ttp_thread_page *page = ttp_thread.page;
    long memory = ttp_room_map(bytes);
    if (ttp_failed(memory))
        return;
    calls.list = (struct ttp_library_function *)memory;
    ttp_thread.page = &ttp_page_recorder_thread; /* what we call is not the program's */
    TTP_SIGNAL_FENCE();
    ttp_modules_visit(see, &calls);
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
    if (ttp_has_state())
        tell(&calls);
    if ((ttp_arena.head.patch_flags & TTP_PATCH_ARGUMENTS) != 0)
        ttp_process.library = (struct ttp_library_functions){calls.list, calls.count};
    else
        ttp_room_unmap(calls.list, bytes);
}
