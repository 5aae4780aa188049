/* What patching changes in a process is decided apart from it: by whom, and from where the module's
 * bytes are read and the stubs are written, changes nothing. And every change is a jump to a stub,
 * within a window that has the bytes that it was planned for. */
#define _GNU_SOURCE /* dl_iterate_phdr, MAP_ANONYMOUS, mkdtemp */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program/binary/patch_file.h"
#include "program/binary/plan_file.h"
#include "recorder/runtime/decide/decide.h"
#include "tests/asserts.h"

#define PAGE  4096u
#define MOVED (UINT64_C(1) << 40) /* where nothing is mapped here */
#define LINES 9u                  /* a line begins at a jump's second byte, and one at its last */

/* The C library of this process, and its plans. */
static struct dl_phdr_info module;
static char module_path[4096];
static uint64_t module_start, module_end;
static struct tool_plan_given call_plan;
static struct tool_patch_given patch_plan;

static int find_libc(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "/libc.so.6") == NULL)
        return 0;
    module = *info;
    (void)snprintf(module_path, sizeof module_path, "%s", info->dlpi_name);
    return 1;
}

static void set_up(void)
{
    static char cache[] = "/tmp/ttest-decide-XXXXXX";
    ck_assert(mkdtemp(cache) != NULL && setenv("XDG_CACHE_HOME", cache, 1) == 0);
    ck_assert_int_eq(rmdir(cache), 0); /* nothing is kept */
    ck_assert_int_eq(dl_iterate_phdr(find_libc, NULL), 1);
    module_start = UINT64_MAX;
    for (uint32_t i = 0; i < module.dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module.dlpi_phdr[i];
        uint64_t start = module.dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        module_start = start < module_start ? start : module_start;
        module_end = end > module_end ? end : module_end;
    }
    const struct tool_plan_wish wish = {.path = module_path};
    ck_assert_ptr_null(tool_plan_give(&wish, &call_plan));
    ck_assert_ptr_null(tool_patch_give(&wish, &patch_plan));
}

static void tear_down(void)
{
    tool_plan_given_close(&call_plan);
    tool_patch_given_close(&patch_plan);
}

/* One way to decide: in the process, or from outside. */
struct side {
    struct ttp_code_view view;
    uint8_t *area, *slots; /* where they are written */
    uint64_t area_shift, slot_shift;
    uint8_t *copy; /* of the module; NULL: it is read where it is */
    struct ttp_changes changes;
};

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert(memory != MAP_FAILED);
    return memory;
}

/* Near enough for a jump: somewhere below the module. */
static void *map_near(size_t bytes)
{
    for (uint64_t at = module_start - bytes - PAGE; at > module_start - 0x60000000;
         at -= 0x1000000) {
        void *memory =
            mmap((void *)(at & ~(uint64_t)(PAGE - 1)), bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (memory != MAP_FAILED)
            return memory;
    }
    ck_abort_msg("there is no room near the C library");
}

static void begin(struct side *side, size_t capacity)
{
    side->view.segments = module.dlpi_phdr;
    side->view.segment_count = module.dlpi_phnum;
    side->view.bias = module.dlpi_addr;
    side->changes.capacity = (uint32_t)capacity;
    side->changes.list = calloc(capacity, sizeof *side->changes.list);
    ck_assert_ptr_nonnull(side->changes.list);
}

/* Reads and writes elsewhere than the process does. */
static void leave(struct side *outside, const struct side *within, size_t area_bytes,
                  size_t slot_bytes)
{
    outside->copy = map(module_end - module_start);
    for (uint32_t i = 0; i < module.dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module.dlpi_phdr[i];
        const uint8_t *from = (const uint8_t *)(module.dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) != 0)
            memcpy(outside->copy + ((uintptr_t)from - module_start), from, segment->p_memsz);
    }
    ck_assert_int_eq(mprotect(outside->copy, module_end - module_start, PROT_READ), 0);
    outside->view.distance = (uintptr_t)outside->copy - module_start;
    outside->area = map(area_bytes);
    outside->area_shift = (uintptr_t)within->area - (uintptr_t)outside->area;
    outside->slots = slot_bytes != 0 ? map(slot_bytes) : NULL;
    outside->slot_shift = (uintptr_t)within->slots - (uintptr_t)outside->slots;
}

static void end(struct side *side, size_t area_bytes, size_t slot_bytes)
{
    if (side->copy != NULL)
        (void)munmap(side->copy, module_end - module_start);
    (void)munmap(side->area, area_bytes);
    if (side->slots != NULL)
        (void)munmap(side->slots, slot_bytes);
    free(side->changes.list);
}

static int by_place(const void *a, const void *b)
{
    const struct ttp_change *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* No two are of one byte; each is what is there; `list` is in order then. */
static void check_changes(struct ttp_changes *changes)
{
    qsort(changes->list, changes->count, sizeof *changes->list, by_place);
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct ttp_change *change = &changes->list[i];
        ck_assert(change->count == 2 || (change->count >= 5 && change->count <= 6));
        ck_assert(i == 0 || changes->list[i - 1].at + changes->list[i - 1].count <= change->at);
        ck_assert(ttp_bytes_read((const uint8_t *)change->at, change->count) == change->was);
        ck_assert(change->was != change->becomes);
    }
}

/* Where a jump of five bytes or six leads. */
static uint64_t target_of(const struct ttp_change *change)
{
    uint32_t prefix = change->count - TTP_PLAN_WINDOW_MIN;
    uint64_t jump = change->becomes >> 8 * prefix;
    ck_assert_uint_eq(jump & 0xff, 0xe9);
    return change->at + change->count + (uint64_t)(int64_t)(int32_t)(jump >> 8);
}

static void expect_same(const struct side *a, const struct side *b)
{
    ck_assert_uint_gt(a->changes.count, 0);
    ck_assert_uint_eq(a->changes.count, b->changes.count);
    ck_assert_int_eq(
        memcmp(a->changes.list, b->changes.list, a->changes.count * sizeof *a->changes.list), 0);
}

/* ---- system calls ---- */

static uint32_t decide_calls(struct side *side, size_t bytes)
{
    static uint64_t chosen[TTP_CALL_NUMBERS / 64];
    const struct ttp_call_hooks hooks = {.enter = 0x1000, .exit = 0x2000, .chosen = chosen};
    const struct ttp_call_decision decision = {
        .view = &side->view,
        .plan = (const struct ttp_plan_head *)call_plan.bytes,
        .wanted = {.are_recorded = true},
        .data = (struct ttp_area_data *)side->area,
        .stubs = (struct ttp_stub *)(side->area + TTP_AREA_DATA),
        .shift = side->area_shift};
    memset(chosen, 0xff, sizeof chosen);
    ttp_decide_call_data(&decision, &hooks, bytes - TTP_AREA_DATA);
    uint32_t made = ttp_decide_call_stubs(&decision);
    ttp_decide_call_jumps(&decision, &side->changes);
    return made;
}

START_TEST(calls_are_decided_the_same_from_outside)
{
    size_t bytes = TTP_AREA_DATA + (size_t)call_plan.head.site_count * TTP_STUB_BYTES;
    struct side within = {.area = map_near(bytes)}, outside = {0};
    begin(&within, call_plan.head.site_count);
    begin(&outside, call_plan.head.site_count);
    leave(&outside, &within, bytes, 0);
    uint32_t made = decide_calls(&within, bytes);
    ck_assert_uint_gt(made, 100); /* the C library makes that many */
    ck_assert_uint_eq(decide_calls(&outside, bytes), made);
    ck_assert_uint_eq(within.changes.count, made);
    expect_same(&within, &outside);
    ck_assert_int_eq(memcmp(within.area, outside.area, bytes), 0);
    check_changes(&within.changes);
    for (uint32_t i = 0; i < made; i++) {
        uint64_t stub = target_of(&within.changes.list[i]) - TTP_STUB_HEAD;
        ck_assert(stub % TTP_STUB_BYTES == 0 && stub - (uintptr_t)within.area < bytes);
    }
    end(&within, bytes, 0);
    end(&outside, bytes, 0);
}
END_TEST

/* ---- functions ---- */

static struct ttp_probe_decision decide_probes(struct side *side, size_t bytes, size_t slot_bytes)
{
    const struct ttp_patch_head *plan = (const struct ttp_patch_head *)patch_plan.bytes;
    const struct ttp_probe_hooks hooks = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct ttp_probe_decision d = {.view = &side->view,
                                   .plan = plan,
                                   .calls = (const struct ttp_plan_head *)call_plan.bytes,
                                   .wanted = {.are_recorded = true},
                                   .data = (struct ttp_probe_data *)side->area,
                                   .stubs = (struct ttp_probe_stub *)(side->area + TTP_AREA_DATA),
                                   .shift = side->area_shift};
    d.taken = calloc((plan->code_end - plan->code_start) / 64 + 1, sizeof *d.taken);
    ck_assert_ptr_nonnull(d.taken);
    if (slot_bytes != 0) /* both kinds: one place serves both, as no jump has two */
        for (uint32_t i = 0; i < TTP_SLOT_IMAGES; i++)
            d.images[i] =
                (struct ttp_slot_image){.memory = (uintptr_t)side->slots + side->slot_shift,
                                        .bytes = slot_bytes,
                                        .shift = side->slot_shift,
                                        .distance = (uintptr_t)side->slots + side->slot_shift -
                                                    (side->view.bias + plan->code_start)};
    ttp_decide_probes_begin(&d);
    ttp_decide_take_calls(&d);
    ttp_decide_probe_data(&d, &hooks, bytes - TTP_AREA_DATA);
    ttp_decide_probe_stubs(&d);
    ttp_decide_probe_jumps(&d, &side->changes);
    free(d.taken);
    return d;
}

static void check_probes(bool has_lines)
{
    const struct ttp_patch_head *plan = (const struct ttp_patch_head *)patch_plan.bytes;
    size_t bytes = TTP_AREA_DATA + (size_t)plan->probe_count * TTP_PROBE_BYTES;
    size_t slot_bytes = has_lines ? plan->code_end - plan->code_start + PAGE : 0;
    struct side within = {.area = map_near(bytes)}, outside = {0};
    within.slots = has_lines ? map_near(slot_bytes) : NULL;
    begin(&within, 2 * plan->probe_count);
    begin(&outside, 2 * plan->probe_count);
    leave(&outside, &within, bytes, slot_bytes);
    struct ttp_probe_decision d = decide_probes(&within, bytes, slot_bytes);
    struct ttp_probe_decision other = decide_probes(&outside, bytes, slot_bytes);
    ck_assert_uint_gt(d.entries, 1000);
    ck_assert(d.entries == other.entries && d.exits == other.exits &&
              d.exits_left == other.exits_left);
    ck_assert_uint_ge(within.changes.count, d.entries);
    expect_same(&within, &outside);
    ck_assert_int_eq(memcmp(within.area, outside.area, bytes), 0);
    ck_assert(!has_lines || memcmp(within.slots, outside.slots, slot_bytes) == 0);
    check_changes(&within.changes);
    uint32_t slot_count = 0;
    for (uint32_t i = 0; i < within.changes.count; i++) {
        const struct ttp_change *change = &within.changes.list[i];
        uint64_t to = change->count == 2 ? 0 : target_of(change);
        bool is_stub =
            (to - TTP_PROBE_HEAD) % TTP_PROBE_BYTES == 0 && to - (uintptr_t)within.area < bytes;
        bool is_slot =
            has_lines && to - (uintptr_t)within.slots < slot_bytes && *(const uint8_t *)to == 0xe9;
        ck_assert(change->count == 2 || is_stub || is_slot);
        slot_count += is_slot;
    }
    ck_assert(!has_lines || slot_count > 100);
    end(&within, bytes, slot_bytes);
    end(&outside, bytes, slot_bytes);
}

/* Of a process that has all of it at other addresses nothing is read but through the view. */
START_TEST(a_process_may_have_other_addresses)
{
    const struct ttp_patch_head *plan = (const struct ttp_patch_head *)patch_plan.bytes;
    size_t bytes = TTP_AREA_DATA + (size_t)plan->probe_count * TTP_PROBE_BYTES;
    struct side within = {.area = map_near(bytes)}, outside = {0};
    begin(&within, 2 * plan->probe_count);
    begin(&outside, 2 * plan->probe_count);
    leave(&outside, &within, bytes, 0);
    outside.view.bias += MOVED;
    outside.view.distance -= MOVED;
    outside.area_shift += MOVED;
    struct ttp_probe_decision d = decide_probes(&within, bytes, 0);
    struct ttp_probe_decision other = decide_probes(&outside, bytes, 0);
    ck_assert(d.entries == other.entries && d.exits == other.exits);
    ck_assert_uint_eq(within.changes.count, outside.changes.count);
    for (uint32_t i = 0; i < within.changes.count; i++) {
        ck_assert_uint_eq(within.changes.list[i].at + MOVED, outside.changes.list[i].at);
        ck_assert_uint_eq(within.changes.list[i].becomes, outside.changes.list[i].becomes);
    }
    end(&within, bytes, 0);
    end(&outside, bytes, 0);
}
END_TEST

START_TEST(functions_are_decided_the_same_from_outside) { check_probes(false); }
END_TEST

/* The C library has no debug information here, so that its plan knows of no lines: they are put. */
START_TEST(so_are_jumps_over_lines)
{
    const struct ttp_patch_head *plan = (const struct ttp_patch_head *)patch_plan.bytes;
    struct ttp_patch_probe *probes =
        (struct ttp_patch_probe *)(void *)(patch_plan.bytes + plan->probes_at);
    for (uint32_t i = 0; i < plan->probe_count; i += 3)
        probes[i].lines = i % 2 != 0 ? LINES : 8;
    check_probes(true);
}
END_TEST

/* Another byte than the plan's: neither stub nor jump. */
START_TEST(other_code_stays_as_it_is)
{
    const struct ttp_plan_head *plan = (const struct ttp_plan_head *)call_plan.bytes;
    size_t bytes = TTP_AREA_DATA + (size_t)plan->site_count * TTP_STUB_BYTES;
    struct side within = {.area = map_near(bytes)}, outside = {0};
    begin(&outside, plan->site_count);
    leave(&outside, &within, bytes, 0);
    ck_assert_int_eq(mprotect(outside.copy, module_end - module_start, PROT_READ | PROT_WRITE), 0);
    const struct ttp_plan_site *sites = ttp_plan_at(plan, plan->sites_at);
    for (uint32_t i = 0; i < plan->site_count; i++)
        if (sites[i].kind == TTP_PLAN_CAN)
            outside.copy[module.dlpi_addr + sites[i].window - module_start] ^= 0xff;
    ck_assert_uint_eq(decide_calls(&outside, bytes), 0);
    ck_assert_uint_eq(outside.changes.count, 0);
    end(&outside, bytes, 0);
    (void)munmap(within.area, bytes);
}
END_TEST

/* A plan's place is never that of code whose last 32 bits are the same. */
START_TEST(a_place_is_not_the_one_4_gib_above)
{
    const uint64_t above = UINT64_C(1) << 32;
    ElfW(Phdr) segment = {
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0xffffe000, .p_filesz = 0x4000};
    const struct ttp_code_view view = {.segments = &segment, .segment_count = 1};
    ck_assert_ptr_eq(ttp_view_segment(&view, 0xffffe000, 64), &segment);
    ck_assert_ptr_eq(ttp_view_segment(&view, UINT32_MAX, 64), &segment); /* its end has no name */
    ck_assert_ptr_null(ttp_view_segment(&view, 0x10, 5));
    segment.p_vaddr += above;
    ck_assert_ptr_null(ttp_view_segment(&view, 0xffffe000, 5));
    ck_assert_ptr_null(ttp_view_segment(&view, 0x10, 5));
}
END_TEST

START_TEST(a_full_list_takes_no_more)
{
    const uint8_t code[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct ttp_change one[1];
    struct ttp_changes changes = {.list = one, .capacity = 1};
    const struct ttp_code_view view = {.distance = 0};
    ttp_change_add(&changes, &view, (uintptr_t)code, 0x0a0b, 2);
    ttp_change_add(&changes, &view, (uintptr_t)code, 0x0a0b, 2);
    ck_assert_uint_eq(changes.count, 1);
    ck_assert_uint_eq(one[0].was, 0x0201);
    for (uint32_t count = 4; count <= 8; count++) {
        uint8_t copy[8] = {0};
        uint64_t bytes = ttp_bytes_read(code, count);
        ttp_bytes_write(copy, count, bytes);
        ck_assert(memcmp(copy, code, count) == 0 && (count == 8 || copy[count] == 0));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *all = tcase_create("all");
    tcase_add_unchecked_fixture(all, set_up, tear_down);
    tcase_add_test(all, calls_are_decided_the_same_from_outside);
    tcase_add_test(all, a_process_may_have_other_addresses);
    tcase_add_test(all, functions_are_decided_the_same_from_outside);
    tcase_add_test(all, so_are_jumps_over_lines);
    tcase_add_test(all, other_code_stays_as_it_is);
    tcase_add_test(all, a_place_is_not_the_one_4_gib_above);
    tcase_add_test(all, a_full_list_takes_no_more);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
