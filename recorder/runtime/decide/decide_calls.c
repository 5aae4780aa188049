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

/* -- plans: whatever is in the file, no site is used whose bytes are elsewhere -- */

/* A table of `count` entries that ends within the file. */
static bool holds_section(const struct ttp_plan_head *head, uint64_t at, uint64_t count,
                          uint64_t size)
{
    return at % 8 == 0 && at >= sizeof(*head) && at <= head->total_bytes &&
           count <= (head->total_bytes - at) / size;
}

static bool check_site(const struct ttp_plan_head *head, const struct ttp_plan_site *site)
{
    uint64_t bytes = (uint64_t)site->bytes + site->window_bytes + site->before_bytes +
                     site->after_bytes + site->rule_bytes;
    if (site->kind != TTP_PLAN_CAN)
        return true;
    return site->window_bytes >= TTP_PLAN_WINDOW_MIN && site->window_bytes <= TTP_PLAN_WINDOW_MAX &&
           site->window <= site->address && site->window >= head->code_start &&
           (uint64_t)site->address + 2 <= (uint64_t)site->window + site->window_bytes &&
           (uint64_t)site->window + site->window_bytes <= head->code_end &&
           bytes <= head->byte_count &&
           (uint64_t)site->first_fixup + site->fixup_count <= head->fixup_count;
}

static bool check_fixups(const struct ttp_plan_head *head, const struct ttp_plan_site *site)
{
    const struct ttp_plan_fixup *fixups = ttp_plan_at(head, head->fixups_at);
    uint32_t moved = (uint32_t)site->before_bytes + site->after_bytes;
    for (uint32_t i = 0; site->kind == TTP_PLAN_CAN && i < site->fixup_count; i++)
        if ((uint32_t)fixups[site->first_fixup + i].at + 4 > moved)
            return false;
    return true;
}

bool ttp_plan_check(const struct ttp_plan_head *head, uint64_t size, const uint8_t *content)
{
    if (size < sizeof(*head) || head->magic != TTP_PLAN_MAGIC ||
        head->version != TTP_PLAN_VERSION || head->head_bytes != sizeof(*head) ||
        head->total_bytes != size || head->machine != 62 || head->site_count > TTP_PLAN_SITES_MAX ||
        head->row_count > TTP_PLAN_ROWS_MAX ||
        !ttp_is_same(head->content, content, TTP_PLAN_CONTENT_BYTES))
        return false;
    if (!holds_section(head, head->sites_at, head->site_count, sizeof(struct ttp_plan_site)) ||
        !holds_section(head, head->fixups_at, head->fixup_count, sizeof(struct ttp_plan_fixup)) ||
        !holds_section(head, head->rows_at, head->row_count, sizeof(struct ttp_plan_row)) ||
        !holds_section(head, head->row_index_at, (uint64_t)head->row_index_count + 1,
                       sizeof(uint32_t)) ||
        !holds_section(head, head->bytes_at, head->byte_count, 1))
        return false;
    const struct ttp_plan_site *sites = ttp_plan_at(head, head->sites_at);
    for (uint32_t i = 0; i < head->site_count; i++)
        if (!check_site(head, &sites[i]) || !check_fixups(head, &sites[i]))
            return false;
    return true;
}
