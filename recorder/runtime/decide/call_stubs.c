/* Stubs of system calls, written as bytes. One of a site whose call has number N:
 *
 *     instructions that stood before
 *     movzbl is_seen + N(%rip), %ecx    rcx and r11 are free around a system call, flags are not
 *     jrcxz  plain
 *     lea    1f(%rip), %r11;  jmp *enter(%rip)
 *  1: syscall
 *     lea    2f(%rip), %rcx;  jmp *exit(%rip)
 *  2: instructions that stood behind;  jmp back
 *  plain: syscall;  instructions that stood behind;  jmp back
 *
 * Where the number is not known, its byte is found by two tables; what is above its 16 bits, enter
 * looks at. */
#include <sys/syscall.h>

#include "recorder/runtime/decide/decide.h"

static uint64_t place_of(const struct ttp_call_decision *d, const void *written)
{
    return (uintptr_t)written + d->shift;
}

static void put_number_test(struct ttp_code_put *w, const struct ttp_call_decision *d,
                            const struct ttp_plan_site *site)
{
    const struct ttp_area_data *data = d->data;
    if (ttp_stub_knows(site)) {
        TTP_PUT(w, 0x0f, 0xb6, 0x0d); /* movzbl is_seen + number(%rip), %ecx */
        ttp_put_distance(w, place_of(d, &data->is_seen[site->number]), 4);
        return;
    }
    TTP_PUT(w, 0x0f, 0xb6, 0xcc, 0x4c, 0x8d, 0x1d); /* movzbl %ah, %ecx; lea pages(%rip), %r11 */
    ttp_put_distance(w, place_of(d, data->pages), 4);
    TTP_PUT(w, 0x4d, 0x8b, 0x1c, 0xcb);       /* mov (%r11, %rcx, 8), %r11 */
    TTP_PUT(w, 0x0f, 0xb6, 0xc8);             /* movzbl %al, %ecx */
    TTP_PUT(w, 0x41, 0x0f, 0xb6, 0x0c, 0x0b); /* movzbl (%r11, %rcx), %ecx */
}

static void put_back(struct ttp_code_put *w, const struct ttp_plan_site *site,
                     const struct ttp_moved *moved)
{
    ttp_put_moved(w, moved, site->before_bytes, site->after_bytes);
    TTP_PUT(w, 0xe9);
    ttp_put_distance(w, moved->bias + site->window + site->window_bytes, 4);
}

bool ttp_stub_make(const struct ttp_call_decision *d, struct ttp_stub *stub,
                   const struct ttp_plan_site *site)
{
    struct ttp_code_put w = {
        .at = stub->code, .end = stub->code + sizeof(stub->code), .shift = d->shift};
    const struct ttp_plan_head *plan = d->plan;
    uint64_t bias = d->view->bias;
    const struct ttp_plan_fixup *fixups = ttp_plan_at(plan, plan->fixups_at);
    const uint8_t *bytes = ttp_plan_at(plan, plan->bytes_at);
    const struct ttp_moved moved = {.bytes = bytes + site->bytes + site->window_bytes,
                                    .fixups = fixups + site->first_fixup,
                                    .fixup_count = site->fixup_count,
                                    .bias = bias};
    stub->after = bias + site->address + 2;
    stub->bias = bias;
    ttp_put_moved(&w, &moved, 0, site->before_bytes);
    put_number_test(&w, d, site);
    TTP_PUT(&w, 0xe3, 0x00); /* jrcxz plain */
    uint8_t *jump = w.at;
    TTP_PUT(&w, 0x4c, 0x8d, 0x1d, 0x06, 0, 0, 0, 0xff,
            0x25); /* lea 6(%rip), %r11; jmp *enter(%rip) */
    ttp_put_distance(&w, place_of(d, &d->data->enter), 4);
    TTP_PUT(&w, 0x0f, 0x05);
    TTP_PUT(&w, 0x48, 0x8d, 0x0d, 0x06, 0, 0, 0, 0xff,
            0x25); /* lea 6(%rip), %rcx; jmp *exit(%rip) */
    ttp_put_distance(&w, place_of(d, &d->data->exit), 4);
    put_back(&w, site, &moved);
    long distance = w.at - jump;
    w.failed |= distance > INT8_MAX;
    if (!w.failed)
        jump[-1] = (uint8_t)distance;
    TTP_PUT(&w, 0x0f, 0x05);
    put_back(&w, site, &moved);
    while (w.at < w.end)
        *w.at++ = 0xcc;
    return !w.failed;
}

/* -- the page in front of the stubs -- */

/* How to unwind from a stub: to the code that has the jump, as if that had been interrupted at its
 * `syscall` instruction, with every register as it is: all places in the window have that frame.
 * One description is enough for all stubs of an area, as each has the address behind the
 * instruction in its first word.
 *
 *     CFA = rsp;  rip = the word at (rip & -256), less 2 */
static const uint8_t cie[] = {
    0x20, 0,    0,    0, 0,    0,    0,    0, 1,
    'z',  'R',  'S',  0, 1,    0x78, 0x10, 1, 0x1b, /* factors 1 and -8, rip, distances */
    0x0c, 7,    0,                                  /* DW_CFA_def_cfa rsp + 0 */
    0x16, 0x10, 9,                                  /* DW_CFA_val_expression rip */
    0x80, 0,    0x0b, 0, 0xff, 0x1a, 0x06,          /* breg16 + 0; const2s -256; and; deref */
    0x32, 0x1c, 0,    0, 0};                        /* lit2; minus; nops */

void ttp_unwind_put(uint8_t *head, uint8_t *entries, uint32_t cie_bytes, uint64_t shift,
                    uint64_t stubs, size_t stub_bytes)
{
    uint8_t *fde = entries + cie_bytes, *at = fde;
    uint64_t from_here = stubs - shift; /* as if they were where this is written */
    at = ttp_put_word(at, TTP_FDE_BYTES - 4, 4);
    at = ttp_put_word(at, cie_bytes + 4, 4); /* back to the CIE */
    at = ttp_put_word(at, from_here - (uintptr_t)at, 4);
    at = ttp_put_word(at, stub_bytes, 4);
    at = ttp_put_word(at, 0, 4); /* no augmentation, and padding */
    (void)ttp_put_word(at, 0, 4);
    head[0] = 1;    /* version */
    head[1] = 0x1b; /* where .eh_frame is: distance of 4 bytes */
    head[2] = 0x03; /* count: 4 bytes */
    head[3] = 0x3b; /* table: from the head, 4 bytes */
    (void)ttp_put_word(head + 4, (uintptr_t)entries - (uintptr_t)(head + 4), 4);
    (void)ttp_put_word(head + 8, 1, 4);
    (void)ttp_put_word(head + 12, from_here - (uintptr_t)head, 4);
    (void)ttp_put_word(head + 16, (uintptr_t)fde - (uintptr_t)head, 4);
}

_Static_assert(sizeof(cie) == 0x20 + 4, "as it says");
_Static_assert(sizeof(cie) + TTP_FDE_BYTES + 4 <= TTP_UNWIND_BYTES, "there is room");
_Static_assert(sizeof(struct ttp_area_data) <= TTP_AREA_DATA, "it has a page");
_Static_assert(sizeof(struct ttp_stub) == TTP_STUB_BYTES, "as unwinding has it");

void ttp_decide_call_data(const struct ttp_call_decision *d, const struct ttp_call_hooks *hooks,
                          size_t stub_bytes)
{
    struct ttp_area_data *data = d->data;
    data->enter = hooks->enter;
    data->exit = hooks->exit;
    bool has_others = ttp_call_is_among(hooks->chosen, UINT32_MAX);
    for (uint32_t i = 0; i < TTP_NUMBERS_PAGE; i++) {
        data->pages[i] = place_of(d, data->others);
        data->others[i] = has_others;
    }
    for (uint32_t i = 0; i < TTP_CALL_NUMBERS; i++) {
        data->is_seen[i] = ttp_call_is_among(hooks->chosen, i);
        if (!has_others) /* else their higher bits are looked at, too */
            data->pages[i / TTP_NUMBERS_PAGE] =
                place_of(d, &data->is_seen[i & ~(TTP_NUMBERS_PAGE - 1)]);
    }
    /* Their children may have this thread's state: sharing.c. */
    data->is_seen[SYS_clone] = data->is_seen[SYS_clone3] = 1;
    if (d->wanted.are_traced)
        data->is_seen[SYS_execve] = data->is_seen[SYS_execveat] = 1; /* ttp_warn_tracer */
    data->is_seen[SYS_arch_prctl] = 1;                               /* aside.c */
    data->is_seen[SYS_prctl] = data->is_seen[SYS_seccomp] = 1;       /* restrictions.c */
    if (hooks->is_loader)
        data->is_seen[SYS_mprotect] = data->is_seen[SYS_munmap] = 1;
    for (uint32_t i = 0; i < sizeof(cie); i++)
        data->unwind[i] = cie[i];
    ttp_unwind_put(data->unwind_head, data->unwind, sizeof(cie), d->shift, place_of(d, d->stubs),
                   stub_bytes);
}
