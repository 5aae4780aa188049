/* Jumps into the code of modules: at the start of the process, while it has one thread and no
 * signal is delivered; and of what is loaded later, before any of its code has run.
 *
 * Memory is never writable and executable at once: stubs are written, then made executable; the
 * code is made writable, changed, and made executable again. Where that last step is refused, the
 * module's file is mapped over it anew. What cannot be patched stays as it is, and is counted. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/patch/probe.h"

#define PAGE      4096u
#define TOLD_PART 16384u           /* of a second: what takes as long is told */
#define OWN_IMAGE "/proc/self/exe" /* the program's file, whatever has its name by now */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static uint64_t loader_bias;   /* 0: it is not patched */
static uint32_t start_modules; /* that were there at the start: they are the first */

/* -- one module -- */

static bool records_calls(void) { return (ttp_arena.head.call_flags & TTP_CALLS_ON) != 0; }

static void count_unseen(void)
{
    if (records_calls())
        ttp_count_more(&ttp_arena.head.unseen_modules, 1);
}

struct ttp_calls_wanted ttp_calls_wanted_here(void)
{
    return (struct ttp_calls_wanted){.are_recorded = records_calls(),
                                     .are_traced =
                                         (ttp_arena.head.call_flags & TTP_CALLS_TRACED) != 0};
}

struct patching {
    const struct dl_phdr_info *info;
    struct ttp_module_seen module;
    const struct ttp_plan_head *plan;
    struct ttp_area area;
    struct ttp_stub *stubs;
    long file; /* of the module */
};

static uint32_t count_left(const struct ttp_plan_head *plan)
{
    return ttp_calls_count_left(ttp_calls_wanted_here(), plan);
}

/* Where the kernel has put it. */
static bool is_loader_at(uint64_t bias) { return bias != 0 && bias == getauxval(AT_BASE); }

bool ttp_is_loader(const struct ttp_stub *stub)
{
    return loader_bias != 0 && stub->bias == loader_bias;
}

static bool put_jumps(const struct patching *p, const struct ttp_call_decision *decision)
{
    struct ttp_changes changes;
    const struct ttp_code_change change = {.info = p->info, .file = p->file, .changes = &changes};
    if (!ttp_changes_begin(&changes, p->plan->site_count))
        return false;
    ttp_decide_call_jumps(decision, &changes);
    bool is_any = ttp_code_change(&change);
    ttp_changes_end(&changes);
    return is_any;
}

/* The area stays where any of it is used. */
static bool fill_area(struct patching *p, uintptr_t memory, size_t bytes)
{
    struct ttp_area_data *data = (struct ttp_area_data *)memory;
    const struct ttp_code_view view = ttp_view_of(p->info);
    p->stubs = (struct ttp_stub *)(memory + TTP_AREA_DATA);
    p->area.start = (uintptr_t)p->stubs;
    p->area.end = memory + bytes;
    p->area.unwind_head = data->unwind_head;
    bool is_loader = is_loader_at(p->area.bias);
    const struct ttp_call_hooks hooks = {.enter = (uintptr_t)ttp_stub_enter,
                                         .exit = (uintptr_t)ttp_stub_exit,
                                         .chosen = ttp_arena.head.chosen_calls,
                                         .is_loader = is_loader};
    const struct ttp_call_decision decision = {.view = &view,
                                               .plan = p->plan,
                                               .wanted = ttp_calls_wanted_here(),
                                               .data = data,
                                               .stubs = p->stubs};
    ttp_decide_call_data(&decision, &hooks, bytes - TTP_AREA_DATA);
    uint32_t made = ttp_decide_call_stubs(&decision);
    struct ttp_area *added;
    if (made == 0 || !ttp_area_seal(&p->area) || (added = ttp_area_add(&p->area)) == NULL)
        return false;
    bool is_any = put_jumps(p, &decision);
    if (is_loader && is_any)
        loader_bias = p->area.bias;
    if (records_calls()) {
        ttp_count_more(&ttp_arena.head.seen_sites, is_any ? made : 0);
        ttp_count_more(&ttp_arena.head.unseen_sites,
                       p->plan->site_count - count_left(p->plan) - (is_any ? made : 0));
    }
    ttp_process.program_has_stubs =
        ttp_process.minds_program && is_any && made + count_left(p->plan) == p->plan->site_count;
    if (!is_any)
        ttp_area_drop(added);
    return is_any;
}

/* Its stubs are there already: it was in this place before. */
static bool patch_again(struct patching *p)
{
    const struct ttp_area *area = ttp_area_with(p->module.start, p->plan);
    if (area == NULL)
        return false;
    const struct ttp_code_view view = ttp_view_of(p->info);
    const struct ttp_call_decision decision = {
        .view = &view, .plan = p->plan, .stubs = (struct ttp_stub *)area->start};
    p->area = *area;
    if (!put_jumps(p, &decision))
        count_unseen();
    return true;
}

static void patch_module(struct patching *p)
{
    if (count_left(p->plan) == p->plan->site_count)
        return;
    size_t bytes = TTP_AREA_DATA + (size_t)p->plan->site_count * TTP_STUB_BYTES;
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    const struct ttp_reach reach = {p->area.bias, p->plan->code_start, p->plan->code_end,
                                    p->plan->fixup_count, ttp_plan_at(p->plan, p->plan->fixups_at)};
    uintptr_t memory = ttp_map_near(&p->module, &reach, bytes);
    if (memory != 0 && fill_area(p, memory, bytes))
        return;
    if (memory != 0)
        ttp_syscall(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
    count_unseen();
}

/* -- all modules -- */

/* What is wanted of a module, and is there. */
struct plans {
    const char *path;
    bool wants_calls, wants_probes;
    const struct ttp_plan_head *calls;
    const struct ttp_patch_head *patch;
    const struct ttp_chosen_head *chosen;
};

static bool is_chosen(const struct plans *plans)
{
    return plans->chosen != NULL && (plans->chosen->flags & TTP_CHOSEN_NONE) == 0;
}

static bool map_plans(void *context, const uint8_t *content)
{
    struct plans *plans = context;
    if (plans->wants_calls && plans->calls == NULL)
        plans->calls = ttp_plan_map(content);
    if (plans->wants_probes && plans->chosen == NULL)
        plans->chosen = ttp_chosen_map(content, plans->path);
    if (is_chosen(plans) && plans->patch == NULL)
        plans->patch = ttp_patch_plan_map(content);
    if (plans->patch != NULL && !ttp_chosen_is_of(plans->chosen, plans->patch)) {
        ttp_chosen_unmap(plans->chosen);
        plans->chosen = NULL;
    }
    return (!plans->wants_calls || plans->calls != NULL) &&
           (!plans->wants_probes ||
            (plans->chosen != NULL && (plans->patch != NULL || !is_chosen(plans))));
}

static void get_plans(struct plans *plans, struct ttp_module_file *file)
{
    uint32_t flags = (plans->wants_probes ? TTP_NOTE_FUNCTIONS : 0) |
                     (plans->wants_calls ? 0 : TTP_NOTE_NO_CALLS);
    (void)ttp_plan_wait(file, plans->path, flags, map_plans, plans);
}

static void see_calls(struct patching *p, bool is_start, bool is_again)
{
    bool is_known =
        is_again || ttp_seen_module_add(&p->module, p->info->dlpi_addr, p->plan, is_start);
    p->area = (struct ttp_area){
        .module_start = p->module.start, .bias = p->info->dlpi_addr, .plan = p->plan};
    if (!is_known || p->plan == NULL || ttp_failed(p->file))
        count_unseen();
    else if (p->plan->site_count != 0 && !(is_again && patch_again(p)))
        patch_module(p);
}

/* Whether any was patched. */
static bool see_functions(const struct patching *p, const struct plans *plans)
{
    bool is_any = false;
    struct ttp_probe_wish wish = {.info = p->info,
                                  .module = &p->module,
                                  .plan = plans->patch,
                                  .chosen = plans->chosen,
                                  .path = plans->path,
                                  .calls = p->plan,
                                  .file = p->file};
    if (plans->chosen == NULL ||
        (is_chosen(plans) && (plans->patch == NULL || ttp_failed(p->file)))) {
        ttp_count_more(&ttp_arena.head.unpatched_modules, 1);
    } else if (is_chosen(plans)) {
        wish.inlined = ttp_chosen_inlined(plans->chosen);
        wish.values = ttp_chosen_values(plans->chosen);
        wish.marks = ttp_chosen_marks(plans->chosen);
        is_any = ttp_probes_patch(&wish);
    }
    if (plans->chosen != NULL && !wish.keeps_chosen)
        ttp_chosen_unmap(plans->chosen);
    if (plans->patch != NULL)
        ttp_patch_plan_unmap(plans->patch);
    return is_any;
}

/* The program is the first of all modules. */
struct visit {
    uint32_t count;
    bool is_start, has_patched; /* functions of a module */
    bool is_found;              /* where it is not the start: that module */
    bool is_left;               /* nothing of the program is chosen, nor what it calls */
    uintptr_t of;               /* where it is not the start: of the module that has this address */
};

/* Of the modules it is the first, and has no name. */
static bool is_program(const struct dl_phdr_info *info, const struct visit *visit)
{
    return visit->count == 1 && (info->dlpi_name == NULL || info->dlpi_name[0] == '\0');
}

/* False: it is the kernel's own. A module that is loaded may have a name that is no path. */
static bool find_path(const struct dl_phdr_info *info, const struct visit *visit,
                      const struct ttp_module_seen *module, char *path)
{
    const char *name = info->dlpi_name != NULL ? info->dlpi_name : "";
    if (is_program(info, visit)) {
        path[ttp_program_path(path, PATH_MAX - 1)] = '\0';
        return true;
    }
    if (visit->is_start && name[0] != '/')
        return false;
    (void)ttp_module_path(info, module, path);
    return true;
}

static bool is_within(const struct ttp_module_seen *module, uintptr_t address)
{
    return address - module->start < module->end - module->start;
}

static bool is_own(const struct ttp_module_seen *module)
{
    return is_within(module, (uintptr_t)__ehdr_start);
}

/* The runtime stands in front of functions of the C library: walks go through it. Not where it is a
 * part of the program. */
static void see_own(struct patching *p, const char *path)
{
#ifdef TTP_RUNTIME_SHARED
    struct plans plans = {.path = path, .wants_calls = true};
    struct ttp_module_file file;
    if ((ttp_arena.head.call_flags & TTP_CALLS_STACKS) == 0)
        return;
    ttp_module_file_open(&file, &p->module, path);
    get_plans(&plans, &file);
    ttp_module_file_close(&file);
    if (plans.calls != NULL &&
        ttp_seen_module_add(&p->module, p->info->dlpi_addr, plans.calls, true))
        ttp_seen_module_own(p->module.start);
#else
    (void)p;
    (void)path;
#endif
}

/* Where functions of any module are patched, the loader says when one comes or goes; and children
 * that the C library makes may have this thread's state (sharing.c). Of the program itself it is
 * wanted where it makes threads of its own (aside.c). */
static bool wants_calls(const struct patching *p, bool is_program)
{
    return records_calls() ||
           (is_program && (ttp_arena.head.patch_choice != 0 || ttp_process.minds_program)) ||
           (ttp_process.calls_exports && is_loader_at(p->info->dlpi_addr)) ||
           (ttp_patches_modules() &&
            (is_loader_at(p->info->dlpi_addr) || is_within(&p->module, (uintptr_t)getauxval)));
}

static bool wants_probes(const struct patching *p, bool is_program)
{
    return ttp_arena.head.patch_choice != 0 && (is_program || ttp_patches_modules()) &&
           ttp_area_with(p->module.start, NULL) == NULL;
}

static bool calls_libraries(void)
{
    return (ttp_arena.head.patch_flags & TTP_PATCH_CALLS) != 0 && ttp_arena.head.patch_choice != 0;
}

static int see(struct dl_phdr_info *info, size_t size, void *data)
{
    static char path[PATH_MAX];
    struct visit *visit = data;
    struct patching p = {.info = info};
    struct plans plans = {.path = path};
    bool is_first = visit->count++ == 0;
    (void)size;
    if (!ttp_module_look(info, &p.module) ||
        (!visit->is_start && !is_within(&p.module, visit->of)) ||
        !find_path(info, visit, &p.module, path))
        return 0;
    visit->is_found = true;
    if (is_first && visit->is_start && calls_libraries())
        ttp_library_calls_look(info);
    if (is_own(&p.module)) {
        if (visit->is_start)
            see_own(&p, path);
        return 0;
    }
    if (ttp_seen_module_unmiss(&p.module))
        __atomic_sub_fetch(&ttp_arena.head.unseen_modules, 1, __ATOMIC_RELAXED);
    plans.wants_calls =
        wants_calls(&p, is_first && visit->is_start) && ttp_seen_module_at(p.module.start) == NULL;
    plans.wants_probes = wants_probes(&p, is_first && visit->is_start);
    if (!plans.wants_calls && !plans.wants_probes)
        return 0;
    struct ttp_module_file file;
    ttp_module_file_open(&file, &p.module, is_program(info, visit) ? OWN_IMAGE : path);
    const struct ttp_plan_head *again = NULL;
    if (ttp_seen_modules_gone_count() != 0 && ttp_module_file_known(&file))
        again = ttp_seen_module_again(&p.module, info->dlpi_addr, file.content);
    plans.calls = again;
    get_plans(&plans, &file);
    p.plan = plans.calls;
    p.file = file.file;
    if (plans.wants_calls)
        see_calls(&p, visit->is_start, again != NULL);
    if (is_first && visit->is_start)
        visit->is_left = plans.chosen == NULL || (plans.chosen->flags & TTP_CHOSEN_LEFT) != 0;
    if (plans.wants_probes)
        visit->has_patched |= see_functions(&p, &plans);
    ttp_module_file_close(&file);
    return 0;
}

static bool is_wanted_here(void)
{
    return (records_calls() || ttp_arena.head.patch_choice != 0 || ttp_process.minds_program) &&
           ttp_arena.head.mode != TTP_MODE_STOPPED && !ttp_process.avoids_system_calls &&
           ttp_unwinders_ask();
}

static void look_at_modules(struct visit *visit)
{
    uint64_t before;
    if (!is_wanted_here() || !ttp_patching_begin(&before))
        return;
    struct ttp_thread_page *page = ttp_thread.page;
    ttp_thread.page = &ttp_page_recorder_thread; /* what we call is not the program's */
    TTP_SIGNAL_FENCE();
    ttp_modules_visit(see, visit);
    TTP_SIGNAL_FENCE();
    ttp_thread.page = page;
    if (visit->is_start && records_calls()) {
        ttp_tell_tracer(TTP_MARK_RECORDS, NULL);
        ttp_process.records_calls = true;
    }
    if (visit->is_start && !visit->is_left && calls_libraries())
        ttp_library_calls_begin();
    else if (visit->is_start)
        ttp_process.calls_exports = ttp_process.calls_nested = false;
    else if (ttp_process.calls_exports)
        visit->has_patched |= ttp_library_calls_loaded(visit->of);
    ttp_patching_end(&before);
}

/* Other threads could be in the code that is changed: then all of it stays. */
void ttp_calls_begin(void)
{
    struct ttp_status status;
    struct visit visit = {.is_start = true};
    if (is_wanted_here() && ttp_status_read(&status) && status.threads == 1) {
        ttp_mapped_files_hold();
        look_at_modules(&visit);
        ttp_mapped_files_let();
    } else if (records_calls() && !ttp_unwinders_ask())
        ttp_count_more(&ttp_arena.head.unseen_modules, 1); /* as none of them can be changed */
    start_modules = visit.count;
}

/* -- modules that are loaded later -- */

/* Of a module that could not be patched in time, and none of its functions is. */
static void note_late(const struct dl_phdr_info *info, const struct ttp_module_seen *module)
{
    char path[PATH_MAX];
    if (ttp_module_path(info, module, path))
        ttp_note_patched(path, 0, 0, 0, NULL);
}

/* Another namespace (dlmopen) is in no list that we get, so nobody would know its names. */
static void note_elsewhere(uintptr_t start)
{
    const struct dl_phdr_info info = {.dlpi_name = ""};
    const struct ttp_module_seen module = {.start = start};
    note_late(&info, &module);
}

/* What that takes is not the program's time. */
static void look_timed(struct visit *visit)
{
    uint64_t least = ttp_arena.head.stall_ticks / TOLD_PART;
    uint64_t from = least != 0 ? ttp_process.clock() : 0;
    look_at_modules(visit);
    uint64_t until = least != 0 ? ttp_process.clock() : 0;
    if (until - from < least || least == 0 || !ttp_has_state() || ttp_is_dropping())
        return;
    ttp_wait_note(from, until);
    ttp_wait_tell();
}

/* The list of modules comes before the first path through this one, and the first of its calls. */
void ttp_loader_protects(uintptr_t start)
{
    struct visit visit = {.of = start};
    const struct ttp_seen_module *module = ttp_seen_module_at(start);
    if (module != NULL && !module->is_missed)
        return;
    look_timed(&visit);
    if (ttp_patches_modules() && is_wanted_here() && !visit.is_found)
        note_elsewhere(start);
    bool has_stacks = (ttp_arena.head.call_flags & TTP_CALLS_STACKS) != 0;
    if (visit.has_patched || (has_stacks && ttp_has_state()))
        ttp_modules_write();
}

void ttp_loader_unmaps(uintptr_t start, size_t bytes)
{
    ttp_seen_modules_gone(start, bytes);
    ttp_probe_areas_gone(start, bytes);
}

/* The loader says nothing of a module in which it makes nothing read-only. */
static bool is_untold(const struct dl_phdr_info *info, const struct ttp_module_seen *module)
{
    for (uint32_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            return false;
    return ttp_patches_modules() && ttp_area_with(module->start, NULL) == NULL;
}

static int count_not_seen(struct dl_phdr_info *info, size_t size, void *data)
{
    struct ttp_module_seen module;
    struct visit *visit = data;
    bool is_late = visit->count++ >= start_modules;
    (void)size;
    if (!ttp_module_look(info, &module) || module.start == getauxval(AT_SYSINFO_EHDR) ||
        is_own(&module))
        return 0;
    bool is_noted = is_late && is_untold(info, &module);
    if ((!records_calls() && !is_noted) || !ttp_seen_module_miss(&module))
        return 0;
    if (records_calls())
        ttp_count_more(&ttp_arena.head.unseen_modules, 1);
    if (is_noted)
        note_late(info, &module);
    return 0;
}

void ttp_calls_modules_changed(void)
{
    struct visit visit = {.count = 0};
    if (records_calls() || ttp_patches_modules())
        ttp_modules_visit(count_not_seen, &visit);
}
