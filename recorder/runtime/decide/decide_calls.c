/* System calls of a module: which get a stub, and the jumps to those. */
#include <elf.h>
#include <sys/syscall.h>

#include "recorder/runtime/decide/decide.h"

#define SIGNAL_RETURN 15u
#define VFORK         58u

const ElfW(Phdr) *
    ttp_view_segment(const struct ttp_code_view *view, uint32_t window, uint32_t window_bytes)
{
    for (uint32_t i = 0; i < view->segment_count; i++) {
        const ElfW(Phdr) *segment = &view->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            (segment->p_flags & PF_W) == 0 && window >= segment->p_vaddr &&
            segment->p_filesz >= window_bytes &&
            window - segment->p_vaddr <= segment->p_filesz - window_bytes)
            return segment;
    }
    return NULL;
}

static const struct ttp_plan_site *sites_of(const struct ttp_plan_head *plan)
{
    return ttp_plan_at(plan, plan->sites_at);
}

/* Where calls are not recorded, functions that make them have the room: but for those that load and
 * unload, those that begin what shares a thread's state, and those that forbid calls. */
static bool is_of_use(struct ttp_calls_wanted wanted, const struct ttp_plan_site *site)
{
    return wanted.are_recorded || !site->number_known || site->number == SYS_mprotect ||
           site->number == SYS_munmap || site->number == SYS_clone || site->number == SYS_clone3 ||
           site->number == SYS_arch_prctl || site->number == SYS_prctl ||
           site->number == SYS_seccomp;
}

/* The signal return is told by its bytes (signal_frames.c, debuggers); a vfork child would find our
 * words in its parent's stack. */
bool ttp_call_is_left(struct ttp_calls_wanted wanted, const struct ttp_plan_site *site)
{
    return !is_of_use(wanted, site) ||
           (site->number_known &&
            ((site->number == SIGNAL_RETURN && !wanted.are_traced) || site->number == VFORK));
}

uint32_t ttp_calls_count_left(struct ttp_calls_wanted wanted, const struct ttp_plan_head *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->site_count; i++)
        count += ttp_call_is_left(wanted, &sites_of(plan)[i]);
    return count;
}

static bool is_as_planned(const struct ttp_call_decision *d, const struct ttp_plan_site *site)
{
    const uint8_t *planned = (const uint8_t *)ttp_plan_at(d->plan, d->plan->bytes_at) + site->bytes;
    return ttp_is_same(ttp_view_at(d->view, d->view->bias + site->window), planned,
                       site->window_bytes);
}

static bool has_segment(const struct ttp_call_decision *d, const struct ttp_plan_site *site)
{
    return ttp_view_segment(d->view, site->window, site->window_bytes) != NULL;
}

uint32_t ttp_decide_call_stubs(const struct ttp_call_decision *d)
{
    const struct ttp_plan_site *sites = sites_of(d->plan);
    uint32_t made = 0;
    for (uint32_t i = 0; i < d->plan->site_count; i++) {
        struct ttp_stub *stub = &d->stubs[i];
        if (sites[i].kind == TTP_PLAN_CAN && !ttp_call_is_left(d->wanted, &sites[i]) &&
            has_segment(d, &sites[i]) && is_as_planned(d, &sites[i]) &&
            ttp_stub_make(d, stub, &sites[i]))
            made++;
        else
            stub->after = 0;
    }
    return made;
}

void ttp_decide_call_jumps(const struct ttp_call_decision *d, struct ttp_changes *changes)
{
    for (uint32_t i = 0; i < d->plan->site_count; i++) {
        const struct ttp_plan_site *site = &sites_of(d->plan)[i];
        if (d->stubs[i].after == 0 || !has_segment(d, site) || !is_as_planned(d, site))
            continue;
        uint64_t at = d->view->bias + site->window;
        uint64_t jump = ttp_jump_bytes(at, (uintptr_t)d->stubs[i].code + d->shift);
        ttp_change_add(changes, d->view, at, jump, TTP_PLAN_WINDOW_MIN);
    }
}
