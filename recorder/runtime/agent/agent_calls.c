/* System calls of a program that was attached to: the stubs and hooks of patch/calls.c, with
 * numbers alone, as nothing that they point to may be read. Threads wait in stubs; so the loader's
 * answer to unwinders is ours for a place in one. */
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

/* -- unwinders -- */

/* As <dlfcn.h> has it from glibc 2.35 on. */
struct found_object {
    uint64_t flags, start, end, link_map, eh_frame, reserved[7];
};

/* 0: it is found; 1: the loader is to be asked. */
int ttp_find_object(uintptr_t code, struct found_object *result);
__attribute__((used)) int ttp_find_object(uintptr_t code, struct found_object *result)
{
    const struct ttp_agent_module *modules = ttp_agent_shared.modules;
    for (uint32_t i = 0; i < TTP_AGENT_MODULES && modules[i].high != 0; i++) {
        uint64_t start = modules[i].calls, end = start + modules[i].calls_bytes;
        if (code - start >= end - start)
            continue;
        const struct ttp_area_data *data = (const struct ttp_area_data *)start;
        *result = (struct found_object){
            .start = start, .end = end, .eh_frame = (uintptr_t)data->unwind_head};
        return 0;
    }
    return 1;
}

/* The hook of _dl_find_object's entry: its stub has rdi on the stack (patch/probe_entry.c). What
 * is found is returned at once, 144 bytes above. */
__asm__(".text\n\t.p2align 5\n\t.globl ttp_find_entry\n\t.hidden ttp_find_entry\n\t"
        ".type ttp_find_entry, @function\nttp_find_entry:\n\t"
        "pushq %rsi\n\tmovq 16(%rsp), %rdi\n\tcld\n\tcall ttp_find_object\n\tpopq %rsi\n\t"
        "testl %eax, %eax\n\tjne 1f\n\tleaq 144(%rsp), %rsp\n1:\tret\n\t"
        ".size ttp_find_entry, . - ttp_find_entry\n\t");
