/* Stubs of probes, written as bytes (patch_plan.h draws the kinds), and how to unwind from
 * them: the caller of a stub is the code that its window was in, with every register as it is but
 * for the stack pointer within the hook's bytes. */
#include "recorder/runtime/decide/decide.h"

#define IS_UNLESS 0x70u /* a jump of two bytes, by its condition */

static void put_hook(struct ttp_code_put *w, const uint64_t *hook, uint64_t function)
{
    TTP_PUT(w, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp), %rsp */
    TTP_PUT(w, 0x57, 0x48, 0x8d, 0x3d);       /* push %rdi; lea function(%rip), %rdi */
    ttp_put_distance(w, function, 4);
    TTP_PUT(w, 0xff, 0x15); /* call *hook(%rip) */
    ttp_put_distance(w, (uintptr_t)hook + w->shift, 4);
    TTP_PUT(w, 0x5f, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* pop %rdi; lea 128(%rsp), %rsp */
}

static const uint64_t *hook_of(const struct ttp_probe_data *data, const struct ttp_probe_site *site)
{
    const struct ttp_patch_probe *probe = site->probe;
    bool is_tail = probe->kind == TTP_PATCH_TAIL_IF || probe->kind == TTP_PATCH_TAIL;
    if (ttp_is_copy(probe->kind))
        return probe->kind == TTP_PATCH_MARK ? &data->mark : &data->inlined;
    if (site->answers)
        return &data->inlined;
    if (probe->kind == TTP_PATCH_ENTRY)
        return site->has_values ? &data->enter_valued : &data->enter;
    if ((probe->flags & TTP_PATCH_JOINED_BY) != 0)
        return is_tail ? &data->joined_tail : &data->joined;
    return is_tail ? &data->tail : site->has_values ? &data->exit_valued : &data->exit;
}

/* The call's return address is the last word of the stub. */
static void put_push(struct ttp_code_put *w, struct ttp_probe_stub *stub, uint64_t behind)
{
    uint8_t *word = stub->code + sizeof(stub->code) - TTP_PUSHED_BYTES;
    w->end = word;
    TTP_PUT(w, 0xff, 0x35); /* push behind(%rip) */
    ttp_put_distance(w, (uintptr_t)word + w->shift, 4);
    stub->lower_at = (uint8_t)(w->at - (uint8_t *)stub);
    (void)ttp_put_word(word, behind, TTP_PUSHED_BYTES);
}

/* What the window had, around the hook; a call's push behind what is in front of it. */
static void put_moved(struct ttp_code_put *w, struct ttp_probe_stub *stub,
                      const struct ttp_probe_site *site, bool is_before)
{
    const struct ttp_patch_probe *probe = site->probe;
    bool pushes = (probe->flags & TTP_PATCH_PUSHES) != 0;
    if (is_before != pushes)
        ttp_put_moved(w, &site->moved, 0, probe->before_bytes);
    if (is_before)
        return;
    if (pushes)
        put_push(w, stub, site->moved.bias + probe->window + probe->window_bytes);
    ttp_put_moved(w, &site->moved, probe->before_bytes, probe->after_bytes);
}

bool ttp_probe_stub_make(const struct ttp_probe_decision *d, struct ttp_probe_stub *stub,
                         const struct ttp_probe_site *site)
{
    const struct ttp_patch_probe *probe = site->probe;
    const struct ttp_probe_data *data = d->data;
    struct ttp_code_put w = {
        .at = stub->code, .end = stub->code + TTP_PROBE_TARGET, .shift = d->shift};
    bool is_if = probe->kind == TTP_PATCH_TAIL_IF || probe->kind == TTP_PATCH_RETURN_IF;
    bool is_host = probe->kind == TTP_PATCH_HOST;
    bool goes_on = (probe->kind == TTP_PATCH_ENTRY || ttp_is_copy(probe->kind)) &&
                   (probe->flags & TTP_PATCH_PUSHES) == 0;
    uint8_t *over = NULL;
    stub->lower_at = TTP_PROBE_BYTES;
    put_moved(&w, stub, site, true);
    if (is_if) {
        uint8_t jump[2] = {(uint8_t)(IS_UNLESS | (probe->condition ^ 1)), 0};
        ttp_put_code(&w, jump, sizeof(jump));
        over = w.at;
    }
    stub->window = site->moved.bias + probe->window - TTP_PROBE_HEAD;
    stub->last = (uint8_t)(TTP_PROBE_HEAD + probe->last);
    stub->data_below = (uint32_t)((uintptr_t)stub - (uintptr_t)data) & INT32_MAX;
    stub->hook_at = is_host ? TTP_PROBE_BYTES - 1 : (uint8_t)(w.at - (uint8_t *)stub);
    stub->hook_for = stub->hook_at <= stub->last ? stub->hook_at : stub->last;
    if (!is_host)
        put_hook(&w, hook_of(data, site), site->function);
    put_moved(&w, stub, site, false);
    if (is_if && !w.failed)
        over[-1] = (uint8_t)(w.at - over);
    if (goes_on || is_if || is_host) {
        TTP_PUT(&w, 0xe9);
        ttp_put_distance(&w, site->back, 4);
    }
    stub->is_used = !w.failed;
    while (w.at < w.end)
        *w.at++ = 0xcc;
    if (probe->kind == TTP_PATCH_TAIL || is_if)
        (void)ttp_put_word(stub->code + TTP_PROBE_TARGET, site->target, 8);
    return !w.failed;
}

/* -- the page in front of the stubs -- */

/* Bytes that the stack pointer is lower, `in` bytes from the start of the hook's (put_hook). */
static uint32_t lower_at(uint32_t in)
{
    if (in < 5 || in >= TTP_PROBE_HOOK)
        return 0;
    return in == 5 || in >= 20 ? TTP_RED_ZONE : TTP_RED_ZONE + 8;
}

static void fill_distances(struct ttp_probe_data *data)
{
    for (uint32_t i = 0; i < TTP_PROBE_DISTANCE; i++) {
        uint32_t in = i < TTP_PROBE_MIDDLE ? 0 : i - TTP_PROBE_MIDDLE;
        data->lower[i] = (uint8_t)lower_at(in);
        data->added[i] = (uint8_t)(in < TTP_PROBE_HOOK ? in : TTP_PROBE_HOOK);
    }
}

/* What is above, in the language of unwinders. `at` is on the stack of both expressions first:
 *
 *     at  = (rip & 127) - hook_at          hook_at: the byte at (rip & -128) + 8
 *     CFA = rsp + lower[at + 128]          lower[0] is the table's first byte
 *             + 8, if (rip & 127) is at least lower_at: the byte at (rip & -128) + 9
 *     rip = the word at (rip & -128) + the lesser of
 *               (rip & 127) - added[at + 128]  and  last: the byte at (rip & -128) + 10
 *     rdi = the word at rsp where lower[at + 128] is 136, else as it is
 *
 * Branches are longer where they are moved to: places behind one stand for later ones of the
 * window, whose frame is the same (the plan sees to that), and none for what is behind it.
 */
#define AT                                                                                         \
    0x80, 0, 0x08, 127, 0x1a,                        /* breg16; const1u 127; and */                \
        0x80, 0, 0x09, 0x80, 0x1a, 0x23, 8, 0x94, 1, /* breg16; const1s -128; and; + 8; deref 1 */ \
        0x1c                                         /* minus */
#define AT_BYTES 15u
static const uint8_t cie_start[] = {0,   0,   0,   0, 0, 0,    0,    0, 1,
                                    'z', 'R', 'S', 0, 1, 0x78, 0x10, 1, 0x1b};
static const uint8_t cfa_start[] = {0x0f, AT_BYTES + 33, 0x77, 0, AT, 0x03}; /* breg7; at; addr */
static const uint8_t cfa_end[] = {0x22, 0x94, 1,    0x22,       /* plus; deref 1; plus */
                                  0x80, 0,    0x08, 127,  0x1a, /* rip & 127 */
                                  0x80, 0,    0x09, 0x80, 0x1a,
                                  0x23, 9,    0x94, 1,     /* the byte at (rip & -128) + 9 */
                                  0x2a, 0x33, 0x24, 0x22}; /* ge; lit3; shl; plus */
static const uint8_t rip_start[] = {
    0x16, 0x10, AT_BYTES + 42, 0x80, 0,    0x09, 0x80,
    0x1a, 0x06,                                         /* breg16; const1s -128; and; deref */
    0x80, 0,    0x08,          127,  0x1a, AT,   0x03}; /* rip & 127; at; addr */
static const uint8_t rip_end[] = {
    0x22, 0x94, 1,    0x1c,                            /* plus; deref 1; minus */
    0x80, 0,    0x09, 0x80, 0x1a, 0x23, 10,   0x94, 1, /* the byte at (rip & -128) + 10 */
    0x14, 0x14, 0x2c, 0x28, 1,    0,    0x16, 0x13,    /* over; over; le; bra 1; swap; drop */
    0x22};                                             /* plus */
static const uint8_t rdi_start[] = {0x16, 5, AT_BYTES + 26, AT, 0x03}; /* at; addr */
static const uint8_t rdi_end[] = {0x22, 0x94, 1, 0x08, TTP_RED_ZONE + 8,
                                  0x2e, /* plus; deref 1; const1u 136; ne */
                                  0x28, 6,    0, 0x77, 0,
                                  0x06,                    /* bra 6; breg7; deref */
                                  0x2f, 2,    0, 0x75, 0}; /* skip 2; breg5 */

static uint8_t *copy_bytes(uint8_t *at, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        at[i] = bytes[i];
    return at + count;
}

static uint32_t put_cie(uint8_t *cie, const struct ttp_probe_data *data, uint64_t shift)
{
    uint64_t lower = (uintptr_t)data->lower + shift, added = (uintptr_t)data->added + shift;
    uint8_t *at = copy_bytes(cie, cie_start, sizeof(cie_start));
    at = copy_bytes(at, cfa_start, sizeof(cfa_start));
    at = ttp_put_word(at, lower + TTP_PROBE_MIDDLE, 8);
    at = copy_bytes(at, cfa_end, sizeof(cfa_end));
    at = copy_bytes(at, rip_start, sizeof(rip_start));
    at = ttp_put_word(at, added + TTP_PROBE_MIDDLE, 8);
    at = copy_bytes(at, rip_end, sizeof(rip_end));
    at = copy_bytes(at, rdi_start, sizeof(rdi_start));
    at = ttp_put_word(at, lower + TTP_PROBE_MIDDLE, 8);
    at = copy_bytes(at, rdi_end, sizeof(rdi_end));
    while ((at - cie) % 8 != 0)
        *at++ = 0; /* DW_CFA_nop */
    (void)ttp_put_word(cie, (uint64_t)(at - cie) - 4, 4);
    return (uint32_t)(at - cie);
}

#define CIE_BYTES                                                                                  \
    (sizeof(cie_start) + sizeof(cfa_start) + 8 + sizeof(cfa_end) + sizeof(rip_start) + 8 +         \
     sizeof(rip_end) + sizeof(rdi_start) + 8 + sizeof(rdi_end))
_Static_assert(CIE_BYTES + 8 + TTP_FDE_BYTES + 4 <= TTP_UNWIND_BYTES, "there is room");
_Static_assert(sizeof(cfa_start) + 8 + sizeof(cfa_end) - 2 == AT_BYTES + 33, "as it says");
_Static_assert(sizeof(rip_start) + 8 + sizeof(rip_end) - 3 == AT_BYTES + 42, "as it says");
_Static_assert(sizeof(rdi_start) + 8 + sizeof(rdi_end) - 3 == AT_BYTES + 26, "as it says");
_Static_assert(sizeof(struct ttp_probe_data) <= TTP_AREA_DATA, "it has a page");
_Static_assert(sizeof(struct ttp_probe_stub) == TTP_PROBE_BYTES, "as unwinding has it");

void ttp_decide_probe_data(const struct ttp_probe_decision *d, const struct ttp_probe_hooks *hooks,
                           size_t stub_bytes)
{
    struct ttp_probe_data *data = d->data;
    data->enter = hooks->enter;
    data->exit = hooks->exit;
    data->enter_valued = hooks->enter_valued;
    data->exit_valued = hooks->exit_valued;
    data->joined = hooks->joined;
    data->joined_tail = hooks->joined_tail;
    data->tail = hooks->tail;
    data->inlined = hooks->inlined;
    data->mark = hooks->mark;
    fill_distances(data);
    ttp_unwind_put(data->unwind_head, data->unwind, put_cie(data->unwind, data, d->shift), d->shift,
                   (uintptr_t)d->stubs + d->shift, stub_bytes);
}
