/* System calls of a program that was attached to: the stubs and hooks of patch/calls.c, with
 * numbers alone, as nothing that they point to may be read. */
#include "recorder/runtime/agent/agent.h"
#include "recorder/runtime/patch/patch.h"

uint8_t ttp_is_aside;
struct ttp_thread_page ttp_page_vfork_child = {.gate = TTP_GATE_VFORK_CHILD};

/* -- what is pointed to, paths, and what is counted -- */

void ttp_call_texts_given(struct ttp_call_values *values, uint32_t number, uintptr_t sp)
{
    (void)values;
    (void)number;
    (void)sp;
}

void ttp_call_texts_filled(struct ttp_call_values *values, const struct ttp_call_registers *r,
                           uintptr_t sp)
{
    (void)values;
    (void)r;
    (void)sp;
}

void ttp_call_line_begins(const struct ttp_call_registers *r, uintptr_t sp)
{
    (void)r;
    (void)sp;
}

bool ttp_call_line_ended(struct ttp_call_values *values, const struct ttp_call_registers *r,
                         uintptr_t sp)
{
    (void)values;
    (void)r;
    (void)sp;
    return false;
}

void ttp_call_count_begins(uintptr_t sp) { (void)sp; }

void ttp_call_count_ends(struct ttp_call_values *values, uintptr_t sp)
{
    (void)values;
    (void)sp;
}

struct ttp_path_site *ttp_path_of(uint32_t number, uint64_t after, uintptr_t sp, uintptr_t rbp)
{
    (void)number;
    (void)after;
    (void)sp;
    (void)rbp;
    return NULL;
}

/* -- what is changed by them: who has attached looks at that -- */

bool ttp_is_loader(const struct ttp_stub *stub)
{
    (void)stub;
    return false;
}

void ttp_loader_protects(uintptr_t start) { (void)start; }

void ttp_loader_unmaps(uintptr_t start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

void ttp_thread_call_seen(uint64_t number, uint64_t first, uint64_t second, uintptr_t sp)
{
    (void)number;
    (void)first;
    (void)second;
    (void)sp;
}

void ttp_warn_tracer(void) {}

uint32_t ttp_prctl_restricts(int option, uintptr_t first, uintptr_t second)
{
    (void)option;
    (void)first;
    (void)second;
    return 0;
}

uint32_t ttp_seccomp_restricts(uint32_t operation, uint32_t flags, uintptr_t arguments)
{
    (void)operation;
    (void)flags;
    (void)arguments;
    return 0;
}

bool ttp_seccomp_is_done(long result, uint32_t flags)
{
    (void)result;
    (void)flags;
    return false;
}

void ttp_prctl_done(int option, uintptr_t first)
{
    (void)option;
    (void)first;
}

void ttp_restriction_begin(struct ttp_restriction *r, uint32_t what)
{
    (void)r;
    (void)what;
}

void ttp_restriction_end(struct ttp_restriction *r, bool is_done)
{
    (void)r;
    (void)is_done;
}

void ttp_gap_reserve(struct ttp_gap_place *gap) { (void)gap; }

bool ttp_gap_settle(struct ttp_gap_place *gap, bool is_told)
{
    (void)gap;
    (void)is_told;
    return false;
}

/* -- what is lost: nothing in a forked child, and nothing of threads that were not named -- */

void ttp_event_missed(void)
{
    if (ttp_has_state())
        ttp_add_here(&ttp_thread.page->dropped, 1);
}
