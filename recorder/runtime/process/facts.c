/* Facts of threads and processes: markers of our own, see spec/facts.md. */
#include <sys/syscall.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/slow.h"

#define VALUES    2u
#define CODE_MASK 0xFFu /* what a parent gets of a status */

#define FACT(symbol)                                                                               \
    {                                                                                              \
        .name = "tracetape:" symbol, .kind = TTAPE_SITE_MARKER                                     \
    }

static ttape_rt_site sites[] = {[TTP_FACT_THREAD_CREATE] = FACT("thread_create"),
                                [TTP_FACT_THREAD_CREATE_FAILED] = FACT("thread_create_failed"),
                                [TTP_FACT_THREAD_START] = FACT("thread_start"),
                                [TTP_FACT_PROCESS_CREATE] = FACT("process_create"),
                                [TTP_FACT_THREAD_NAME] = FACT("thread_name"),
                                [TTP_FACT_FAULT] = FACT("fault")};
static const uint32_t second_types[] = {[TTP_FACT_THREAD_CREATE] = TTAPE_VALUE_POINTER,
                                        [TTP_FACT_THREAD_CREATE_FAILED] = TTAPE_VALUE_UNSIGNED,
                                        [TTP_FACT_THREAD_START] = TTAPE_VALUE_UNSIGNED,
                                        [TTP_FACT_PROCESS_CREATE] = TTAPE_VALUE_POINTER,
                                        [TTP_FACT_FAULT] = TTAPE_VALUE_POINTER};

static void make_fact(ttape_value *values, enum ttp_fact fact, uint64_t first, uint64_t second)
{
    values[0] = (ttape_value){.type = TTAPE_VALUE_UNSIGNED, .number = first};
    values[1] = (ttape_value){.type = second_types[fact], .number = second};
}

/* A fact makes no stream where there would be none. Each process has a thread with a state: that
 * which wrote the list of modules. */
static bool is_in_call(void) { return ttp_has_state() && !ttp_is_base(ttp_thread.top); }

void ttp_fact_pass(enum ttp_fact fact, uint64_t first, uint64_t second, uintptr_t sp)
{
    ttape_value values[VALUES];
    if (ttp_arena.head.mode != TTP_MODE_ON || !is_in_call())
        return;
    make_fact(values, fact, first, second);
    ttp_marker_pass(&sites[fact], values, VALUES, sp);
}

void ttp_fact_name(uint32_t thread_id, const char *name, uint32_t size_bytes, uintptr_t sp)
{
    if (ttp_arena.head.mode != TTP_MODE_ON || !is_in_call())
        return;
    ttape_value values[VALUES] = {{.type = TTAPE_VALUE_UNSIGNED, .number = thread_id},
                                  {.type = TTAPE_VALUE_STRING, .bytes = {name, size_bytes}}};
    ttp_marker_pass(&sites[TTP_FACT_THREAD_NAME], values, VALUES, sp);
}

static void write_now(enum ttp_fact fact, uint64_t first, uint64_t second)
{
    ttape_value values[VALUES];
    make_fact(values, fact, first, second);
    if (!ttp_marker_write(&sites[fact], values, VALUES) && ttp_has_state())
        ttp_add_here(&ttp_thread.page->dropped, 1);
}

void ttp_fact_write_start(void)
{
    uint64_t number = ttp_thread.start_number;
    if (number == 0 || ttp_is_dropping() || ttp_arena.head.mode != TTP_MODE_ON)
        return;
    ttp_thread.start_number = 0; /* a handler must not write it once more */
    write_now(TTP_FACT_THREAD_START, number, ttp_thread.starter_id);
}

void ttp_fact_write_fault(uint32_t number, uint64_t address)
{
    if (!ttp_is_dropping() && ttp_arena.head.mode == TTP_MODE_ON)
        write_now(TTP_FACT_FAULT, number, address);
}

/* The recorder asks the kernel as well, which need not know any more. */
void ttp_fact_end(uint32_t how, int status)
{
    uint64_t now;
    uint32_t number = (uint32_t)status & CODE_MASK;
    if (ttp_process.page == NULL) /* it never found an arena */
        return;
    uint32_t process = ttp_process_now();
    if (ttp_arena.head.mode == TTP_MODE_STOPPED || !ttp_has_state())
        return;
    ttp_drop_try_last();
    if (ttp_is_dropping())
        return;
    uint64_t *place = ttp_reserve_timed(1, &now), record = ttp_end_payload(true, how, number);
    if (place != NULL && !ttp_is_child_of(process))
        ttp_store(place, ttp_record_extension(TTP_EXT_END, now, record | TTP_END_SAID));
}

/* vfork.c calls the one before, and the other in the parent, when its child is gone or has become
 * another program. */
void ttp_vfork_begin(uintptr_t sp, uintptr_t caller, uintptr_t rbp);
__attribute__((used)) void ttp_vfork_begin(uintptr_t sp, uintptr_t caller, uintptr_t rbp)
{
    const struct ttp_begun_call call = {
        .number = SYS_vfork, .rbp = rbp, .frame_sp = sp - sizeof(uintptr_t)};
    ttp_front_begin_call((const void *)ttp_process.vfork_function, caller, sp);
    ttp_call_begins(&call, caller, sp);
}

void ttp_vforked(uint64_t child, uintptr_t caller, uintptr_t sp);
__attribute__((used)) void ttp_vforked(uint64_t child, uintptr_t caller, uintptr_t sp)
{
    ttp_exec_done();
    ttp_thread.child_avoids = false;
    ttp_call_ended(SYS_vfork, child, caller, sp - sizeof(uintptr_t));
    if (!ttp_failed((long)child))
        ttp_fact_pass(TTP_FACT_PROCESS_CREATE, child, caller, sp);
    ttp_front_end_call((const void *)ttp_process.vfork_function, caller, sp);
}
