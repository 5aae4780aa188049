/* Calls of the program's own code that lead into libraries: the functions that its relocations
 * name, patched where they lie, and recorded where the return address is the program's. So calls
 * through PLT and GOT and through pointers are all seen, at both ends, whatever linked them when;
 * and what a library calls itself is not. Own code is the executable, and libraries whose functions
 * are patched.
 *
 *     relocations of own code -> names -> dlsym -> functions of plans -> probes
 *
 * Where the loader chooses among several functions by the processor, dlsym says which one.
 *
 * An executable that asks for dlsym may have any function that libraries export; and libraries that
 * call one another are seen the same way. Then all exported functions are patched, those of modules
 * that are loaded later before any of their code runs. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/library/led_calls.h"
#include "recorder/runtime/library/library_values.h"
#include "recorder/runtime/library_functions.h"
#include "recorder/runtime/loader/library_names.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/patch/probe.h"

#define FUNCTIONS_MAX 16384u
#define NAME_MAX_SAID 128u

/* What is looked for, while there is one thread. */
struct library_calls {
    struct ttp_library_function *list;
    uint32_t count, visited;
    uintptr_t of; /* not 0: the one module that is looked at */
    bool is_any;  /* was patched */
    bool is_full; /* of different ones */
};

/* -- names -- */

/* By address, and as they came, so that the executable's names go before those of others. */
static bool is_behind(const struct ttp_library_function *a, const struct ttp_library_function *b)
{
    return a->address != b->address ? a->address > b->address : a->place > b->place;
}

static void sift(struct ttp_library_function *list, uint32_t at, uint32_t count)
{
    struct ttp_library_function moved = list[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_behind(&list[child + 1], &list[child]);
        if (!is_behind(&list[child], &moved))
            break;
        list[at] = list[child];
    }
    list[at] = moved;
}

/* In place, each address once: qsort may ask for memory. */
static void sort(struct library_calls *calls)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < calls->count; i++)
        calls->list[i].place = i;
    for (uint32_t i = calls->count / 2; i > 0; i--)
        sift(calls->list, i - 1, calls->count);
    for (uint32_t i = calls->count; i > 1; i--) {
        struct ttp_library_function last = calls->list[i - 1];
        calls->list[i - 1] = calls->list[0];
        calls->list[0] = last;
        sift(calls->list, 0, i - 1);
    }
    for (uint32_t i = 0; i < calls->count; i++) {
        struct ttp_library_function *last = kept == 0 ? NULL : &calls->list[kept - 1];
        if (last == NULL || last->address != calls->list[i].address)
            calls->list[kept++] = calls->list[i];
        else if (last->also == NULL && strcmp(last->name, calls->list[i].name) != 0)
            last->also = calls->list[i].name;
    }
    calls->count = kept;
}

/* Libraries ask for the same ones again and again. */
static uintptr_t add_name(struct library_calls *calls, const char *name)
{
    bool is_fronted = ttp_library_is_fronted(name);
    const void *found =
        ttp_library_is_special(name) && !is_fronted ? NULL : ttp_next_function(name);
    if (found != NULL && calls->count == FUNCTIONS_MAX && !calls->is_full) {
        sort(calls);
        calls->is_full = calls->count == FUNCTIONS_MAX;
    }
    if (found != NULL && calls->count < FUNCTIONS_MAX)
        calls->list[calls->count++] = (struct ttp_library_function){
            .address = (uint64_t)(uintptr_t)found, .name = name, .is_fronted = is_fronted};
    return (uintptr_t)found;
}

/* Behind us: functions that we stand in front of are meant where we lead to. */
static void add_asked(struct library_calls *calls, const struct ttp_library_tables *t,
                      const struct dl_phdr_info *info)
{
    for (uint32_t table = 0; table < 2; table++) {
        uint64_t count = t->relocations[table].list == NULL
                             ? 0
                             : t->relocations[table].bytes / sizeof(ElfW(Rela));
        for (uint64_t i = 0; i < count; i++) {
            const char *name = ttp_library_asked(t, table, i);
            uintptr_t found = name != NULL ? add_name(calls, name) : 0;
            uint64_t *slot = found != 0 ? ttp_library_slot(t, table, i, info->dlpi_addr) : NULL;
            if (slot != NULL && ttp_plain_is(name))
                ttp_plain_add(name, found, slot, info);
        }
    }
}

/* Their addresses say nothing of the functions: the processor chooses among several. */
static void add_chosen_later(struct library_calls *calls, const struct ttp_library_tables *t)
{
    for (uint32_t i = 0; i < t->symbol_count; i++) {
        uint64_t value;
        bool is_chosen_later;
        const char *name = ttp_library_exported(t, i, &value, &is_chosen_later);
        if (name != NULL && is_chosen_later)
            add_name(calls, name);
    }
}

/* -- modules -- */

static bool has_window(const struct ttp_patch_head *plan, const struct ttp_patch_function *function)
{
    const struct ttp_patch_probe *probes = ttp_plan_at(plan, plan->probes_at);
    return probes[function->first_probe].reason == TTP_PATCH_CAN;
}

/* False: it has no window, and is seen otherwise. */
static bool is_seen(const struct ttp_patch_head *plan, const struct ttp_patch_function *function,
                    uint64_t address, const char *name)
{
    bool can_be = has_window(plan, function);
    if (!ttp_plain_has(address))
        return can_be || !ttp_library_has_front(name);
    if (!can_be)
        return false;
    ttp_plain_is_seen(address);
    return true;
}

/* Names of functions that have no window, as far as there is room. */
struct left_names {
    char text[NAME_MAX_SAID];
    uint32_t used;
};

static void add_left(struct left_names *left, const char *name)
{
    uint32_t size = name == NULL ? 0 : (uint32_t)strnlen(name, NAME_MAX_SAID);
    if (size == 0 || left->used + size + sizeof ", " > sizeof left->text)
        return;
    if (left->used != 0) {
        left->text[left->used++] = ',';
        left->text[left->used++] = ' ';
    }
    memcpy(left->text + left->used, name, size);
    left->used += size;
}

/* Bits of the plan's functions that are called; both are sorted by address. */
static uint32_t choose_functions(const struct library_calls *calls,
                                 const struct ttp_patch_head *plan, uint64_t bias, uint64_t *bits,
                                 struct left_names *left)
{
    const struct ttp_patch_function *functions = ttp_plan_at(plan, plan->functions_at);
    uint32_t chosen = 0, at = 0;
    for (uint32_t i = 0; i < plan->function_count; i++) {
        uint64_t start = bias + functions[i].start;
        while (at < calls->count && calls->list[at].address < start)
            at++;
        if (at == calls->count)
            break;
        if (calls->list[at].address == start && !calls->list[at].is_fronted &&
            is_seen(plan, &functions[i], start, calls->list[at].name)) {
            bits[i / 64] |= (uint64_t)1 << i % 64;
            chosen++;
            if (!has_window(plan, &functions[i])) {
                add_left(left, calls->list[at].name);
                add_left(left, calls->list[at].also);
            }
        }
    }
    return chosen;
}

/* What others may have the address of. A function is left alone under all of its names. */
static uint32_t choose_exports(const struct dl_phdr_info *info, const struct ttp_patch_head *plan,
                               uint64_t *bits)
{
    struct ttp_library_tables tables;
    uint32_t chosen = 0;
    if (!ttp_library_tables_find(info, &tables))
        return 0;
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < tables.symbol_count; i++) {
            uint64_t value;
            bool is_chosen_later;
            const char *name = ttp_library_exported(&tables, i, &value, &is_chosen_later);
            uint32_t at = name == NULL || is_chosen_later || ttp_library_is_special(name) != turn
                              ? plan->function_count
                              : ttp_patch_function_at(plan, value);
            uint64_t bit = (uint64_t)1 << at % 64;
            if (at == plan->function_count || ((bits[at / 64] & bit) != 0) != turn)
                continue;
            bits[at / 64] ^= bit;
            chosen += turn == 0 ? 1 : -1u;
        }
    return chosen;
}

static bool is_there(void *context, const uint8_t *content)
{
    struct ttp_probe_wish *wish = context;
    wish->plan = ttp_patch_plan_map(content);
    return wish->plan != NULL;
}

static bool patch_chosen(const struct library_calls *calls, struct ttp_probe_wish *wish,
                         struct ttp_chosen_head *chosen)
{
    uint64_t *bits = (uint64_t *)(chosen + 1);
    struct left_names left = {.used = 0};
    uint32_t count = choose_functions(calls, wish->plan, wish->info->dlpi_addr, bits, &left);
    wish->left_names = left.text;
    if (ttp_process.calls_exports)
        count += choose_exports(wish->info, wish->plan, bits);
    if (count != 0)
        ttp_choose_jumped_to(wish->plan, bits);
    wish->chosen = chosen;
    bool is_any = count != 0 && ttp_probes_patch(wish);
    wish->left_names = NULL;
    return is_any;
}

static bool patch(const struct library_calls *calls, struct ttp_probe_wish *wish)
{
    bool is_any = false;
    struct ttp_module_file file;
    ttp_module_file_open(&file, wish->module, wish->path);
    if (!ttp_plan_wait(&file, wish->path, TTP_NOTE_FUNCTIONS | TTP_NOTE_NO_CALLS, is_there, wish)) {
        ttp_module_file_close(&file);
        return false;
    }
    size_t bytes =
        sizeof(struct ttp_chosen_head) + ttp_chosen_bits_bytes(wish->plan->function_count);
    long memory = ttp_room_map(bytes);
    wish->file = file.file;
    if (!ttp_failed(memory)) {
        is_any = patch_chosen(calls, wish, (struct ttp_chosen_head *)memory);
        ttp_room_unmap((void *)memory, bytes);
    }
    ttp_module_file_close(&file);
    ttp_patch_plan_unmap(wish->plan);
    return is_any;
}

static bool leads_into(const struct library_calls *calls, const struct ttp_module_seen *module)
{
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->list[i].address - module->start < module->end - module->start)
            return true;
    return false;
}

static bool is_own(const struct ttp_module_seen *module)
{
    return (uintptr_t)&ttp_library_calls_begin - module->start < module->end - module->start;
}

/* By address. Of what does not fit only the functions themselves are recorded. */
static void add_caller(const struct ttp_module_seen *module)
{
    uint32_t at = ttp_process.caller_count;
    if (at == TTP_CALLERS_MAX)
        return;
    for (; at > 0 && ttp_process.callers[at - 1].low > module->start; at--)
        ttp_process.callers[at] = ttp_process.callers[at - 1];
    ttp_process.callers[at] =
        (struct ttp_caller){.low = module->start, .bytes = module->end - module->start};
    ttp_process.caller_count++;
}

/* The executable is the first of all. */
static int see_names(struct dl_phdr_info *info, size_t size, void *data)
{
    struct library_calls *calls = data;
    struct ttp_library_tables tables;
    struct ttp_module_seen module;
    bool is_program = calls->visited++ == 0;
    (void)size;
    if (!ttp_module_look(info, &module))
        return is_program;
    if (is_program) {
        ttp_process.caller_low = module.start;
        ttp_process.caller_bytes = module.end - module.start;
    } else if (is_own(&module)) {
        ttp_process.own_low = module.start;
        ttp_process.own_bytes = module.end - module.start;
        return 0;
    }
    bool is_caller = is_program || ttp_area_with(module.start, NULL) != NULL;
    if (is_caller && !is_program)
        add_caller(&module);
    if (!ttp_library_tables_find(info, &tables))
        return 0;
    if (is_caller || ttp_process.calls_nested)
        add_asked(calls, &tables, info);
    if (!is_program && ttp_process.calls_exports)
        add_chosen_later(calls, &tables);
    return 0;
}

/* What the kernel and the loader have themselves is called in ways of their own. */
static bool is_wanted(const struct library_calls *calls, const struct dl_phdr_info *info,
                      const struct ttp_module_seen *module)
{
    if (is_own(module) || ttp_area_with(module->start, NULL) != NULL)
        return false;
    return leads_into(calls, module) ||
           (ttp_process.calls_exports && info->dlpi_addr != getauxval(AT_BASE));
}

static int see(struct dl_phdr_info *info, size_t size, void *data)
{
    static char path[PATH_MAX];
    struct library_calls *calls = data;
    struct ttp_module_seen module;
    (void)size;
    bool is_program = calls->visited++ == 0;
    if (is_program || !ttp_module_look(info, &module) ||
        (calls->of != 0 && calls->of - module.start >= module.end - module.start) ||
        !is_wanted(calls, info, &module) || !ttp_module_path(info, &module, path))
        return 0;
    const struct ttp_seen_module *seen = ttp_seen_module_at(module.start);
    if (ttp_process.libc_low - module.start < module.end - module.start)
        ttp_front_is_in(module.start, module.end);
    struct ttp_probe_wish wish = {.info = info,
                                  .module = &module,
                                  .path = path,
                                  .calls = seen != NULL ? seen->plan : NULL,
                                  .is_library = true};
    calls->is_any |= patch(calls, &wish);
    return 0;
}

bool ttp_library_tell(uint64_t address, const char *name)
{
    uint32_t numbers[2] = {0, 0}; /* a function's kind, no line */
    uint16_t size = (uint16_t)strnlen(name, NAME_MAX_SAID);
    const struct ttp_message_field fields[4] = {{&address, sizeof(address)},
                                                {numbers, sizeof(numbers)},
                                                {&size, sizeof(size)},
                                                {name, size}};
    return ttp_message(TTP_MESSAGE_SITE, fields, 4);
}

static void tell_counts(const struct library_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++)
        if (!ttp_library_tell(calls->list[i].address, calls->list[i].name))
            return;
}

void ttp_library_calls_look(const struct dl_phdr_info *program)
{
    struct ttp_library_tables t;
    ttp_process.calls_nested = (ttp_arena.head.patch_flags & TTP_PATCH_NESTED) != 0;
    ttp_process.calls_exports = ttp_process.calls_nested;
    if (ttp_process.calls_nested || !ttp_library_tables_find(program, &t))
        return;
    for (uint32_t i = 0; i < t.symbol_count && !ttp_process.calls_exports; i++) {
        const ElfW(Sym) *symbol = &t.symbols[i];
        const char *name = symbol->st_shndx != 0 ? NULL : ttp_library_symbol_name(&t, symbol);
        ttp_process.calls_exports =
            name != NULL && (strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0);
    }
}

/* What is called meanwhile is not the program's. */
static void visit(int (*take)(struct dl_phdr_info *, size_t, void *), struct library_calls *calls)
{
    struct ttp_thread_page *page = ttp_thread.page;
    ttp_thread.page = &ttp_page_recorder_thread;
    TTP_SIGNAL_FENCE();
    calls->visited = 0;
    ttp_modules_visit(take, calls);
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
}

void ttp_library_calls_begin(void)
{
    struct library_calls calls = {.count = 0};
    size_t bytes = FUNCTIONS_MAX * sizeof(*calls.list);
    long memory = ttp_room_map(bytes);
    if (ttp_failed(memory))
        return;
    calls.list = (struct ttp_library_function *)memory;
    visit(see_names, &calls);
    ttp_lookup_quiet();
    sort(&calls);
    for (uint32_t i = 0; i < calls.count; i++)
        ttp_prototype_find(&calls.list[i]);
    if ((ttp_arena.head.patch_flags & TTP_PATCH_ARGUMENTS) != 0)
        ttp_said_find_all(calls.list, calls.count);
    visit(see, &calls);
    if (ttp_has_state())
        tell_counts(&calls);
    ttp_plain_begin();
    if ((ttp_arena.head.patch_flags & TTP_PATCH_ARGUMENTS) != 0)
        ttp_process.library = (struct ttp_library_functions){calls.list, calls.count};
    else
        ttp_room_unmap(calls.list, bytes);
}

bool ttp_library_calls_loaded(uintptr_t start)
{
    struct library_calls calls = {.of = start};
    visit(see, &calls);
    return calls.is_any;
}
