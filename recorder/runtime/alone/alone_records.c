/* Where the runtime would record: nothing is. What slow operations do to frames stays. */
#include <tracetape/runtime.h>

#include "recorder/runtime/faults/faults.h"
#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/operation.h"

bool ttp_put_record(uint32_t process, uint64_t head, uint64_t tag_or_type, bool is_call,
                    uint64_t value)
{
    (void)process;
    (void)head;
    (void)tag_or_type;
    (void)is_call;
    (void)value;
    return true;
}

bool ttp_is_in_stubs(uintptr_t code)
{
    (void)code;
    return false;
}

bool ttp_is_inherited(const struct ttp_thread_page *before)
{
    (void)before;
    return false;
}

bool ttp_gate_set(struct ttp_thread_page *page, uint32_t gate)
{
    (void)page;
    (void)gate;
    return false;
}

void ttape_rt_block(uintptr_t address, uintptr_t sp)
{
    (void)address;
    (void)sp;
}

uintptr_t ttp_fault_handler(uintptr_t front) { return front; }
bool ttp_is_fault_return(uintptr_t call_site)
{
    (void)call_site;
    return false;
}

void ttp_count_dropped(void) {}
void ttp_correct_inherited(uintptr_t function) { (void)function; }
void ttp_adopt_page(struct operation *op) { op->page = ttp_thread.page; }

void ttp_put_call(const struct operation *op, uint64_t tag, uintptr_t function, long change)
{
    (void)op;
    (void)tag;
    (void)function;
    (void)change;
}

void ttp_put_extension(const struct operation *op, uint64_t type, uint64_t payload, long change)
{
    (void)op;
    (void)type;
    (void)payload;
    (void)change;
}

bool ttp_drop_end(void) { return false; }
void ttp_drop_write_gap(void) {}
void ttp_slot_fill(uint64_t slot) { (void)slot; }
void ttp_fact_write_fault(uint32_t number, uint64_t address)
{
    (void)number;
    (void)address;
}
void ttp_hooks_left(uintptr_t sp, uintptr_t target)
{
    (void)sp;
    (void)target;
}
/* The thread's, in a child too, which goes on with its parent's frames. */
uint32_t ttp_thread_number(void) { return ttp_thread.page->thread_id; }
uint32_t ttp_process_number(void) { return ttp_thread.process_id; }

bool ttp_kept_begin(void) { return false; }
void ttp_kept_end(uint32_t count) { (void)count; }
void ttp_kept_forget(void) {}
void ttp_kept_add(const struct ttp_message_field *fields, uint32_t count)
{
    (void)fields;
    (void)count;
}

bool ttp_message(uint32_t kind, const struct ttp_message_field *fields, uint32_t count)
{
    (void)kind;
    (void)fields;
    (void)count;
    return false;
}

void ttp_front_point(const void *real, uintptr_t call_site, uintptr_t caller_sp)
{
    (void)real;
    (void)call_site;
    (void)caller_sp;
}
