/* What a mark's stub calls: its values, from where the compiler had them, go into a record of the
 * API's. What a value is in may be no memory: the thread's own stack is read where it is, all else
 * by the kernel. */
#include <tracetape/runtime.h>

#include "recorder/runtime/patch/probe.h"

#define PAGE 4096u

struct mark {
    ttape_rt_site site;
    uint32_t is_counted; /* in its semaphore */
    uint32_t reserved;
};

/* Of one module. */
struct ttp_marks {
    const struct ttp_marks_head *head; /* of the choice, which stays mapped */
    uint64_t bias;
    uint32_t are_let; /* semaphores were counted down */
    uint32_t count;
    struct mark marks[]; /* by row */
};

static size_t bytes_of(uint32_t count)
{
    return sizeof(struct ttp_marks) + (size_t)count * sizeof(struct mark);
}

struct ttp_marks *ttp_marks_open(const struct ttp_marks_head *head, uint64_t bias)
{
    if (head == NULL || head->row_count == 0)
        return NULL;
    long memory = ttp_room_map(bytes_of(head->row_count));
    if (ttp_failed(memory))
        return NULL;
    struct ttp_marks *marks = (struct ttp_marks *)memory;
    const struct ttp_marks_row *rows = ttp_marks_rows(head);
    marks->head = head;
    marks->bias = bias;
    marks->count = head->row_count;
    for (uint32_t i = 0; i < marks->count; i++) {
        ttape_rt_site *site = &marks->marks[i].site;
        site->name = ttp_marks_names(head) + rows[i].name;
        site->kind = TTAPE_SITE_MARKER;
        site->announced[1] = bias + rows[i].address;
    }
    return marks;
}

void ttp_marks_close(struct ttp_marks *marks)
{
    if (marks != NULL)
        ttp_room_unmap(marks, bytes_of(marks->count));
}

/* -- semaphores -- */

static bool holds(const ElfW(Phdr) * segment, uint64_t address)
{
    return address >= segment->p_vaddr &&
           address + sizeof(uint16_t) <= segment->p_vaddr + segment->p_memsz;
}

/* The loader has taken the right to write from what it has relocated. */
static bool is_writable(const struct dl_phdr_info *info, uint64_t address)
{
    bool is_there = false;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_RELRO && holds(segment, address))
            return false;
        is_there |=
            segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0 && holds(segment, address);
    }
    return is_there;
}

static uint32_t find_row(const struct ttp_marks *marks, uint32_t address)
{
    const struct ttp_marks_row *rows = ttp_marks_rows(marks->head);
    uint32_t from = 0, end = marks->count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (rows[middle].address < address)
            from = middle + 1;
        else
            end = middle;
    }
    return from < marks->count && rows[from].address == address ? from : marks->count;
}

static uint16_t *semaphore_of(const struct ttp_marks *marks, uint32_t row)
{
    return (uint16_t *)(marks->bias + ttp_marks_rows(marks->head)[row].semaphore);
}

void ttp_marks_begin(struct ttp_marks *marks, const struct dl_phdr_info *info, uint32_t address)
{
    uint32_t row = find_row(marks, address);
    uint32_t semaphore = row < marks->count ? ttp_marks_rows(marks->head)[row].semaphore : 0;
    if (semaphore == 0 || semaphore % sizeof(uint16_t) != 0 || !is_writable(info, semaphore))
        return;
    __atomic_add_fetch(semaphore_of(marks, row), 1, __ATOMIC_RELAXED);
    marks->marks[row].is_counted = 1;
}

/* Recording is over, and the program goes on: who asks a semaphore need not come here any more. */
static void let_all(struct ttp_marks *marks)
{
    if (__atomic_exchange_n(&marks->are_let, 1, __ATOMIC_RELAXED) != 0)
        return;
    for (uint32_t i = 0; i < marks->count; i++)
        if (marks->marks[i].is_counted != 0)
            __atomic_sub_fetch(semaphore_of(marks, i), 1, __ATOMIC_RELAXED);
}

/* -- values -- */

static uint64_t read_register(uintptr_t sp, uint32_t number)
{
    static const uint8_t words[TTP_MARK_XMM] = {
        TTP_SAVED_RAX, TTP_SAVED_RCX, TTP_SAVED_RDX, TTP_SAVED_RBX,     0,
        TTP_SAVED_RBP, TTP_SAVED_RSI, TTP_SAVED_RDI, TTP_SAVED_R8,      TTP_SAVED_R9,
        TTP_SAVED_R10, TTP_SAVED_R11, TTP_SAVED_R12, TTP_SAVED_R12 + 1, TTP_SAVED_R12 + 2,
        TTP_SAVED_R15};
    if (number == TTP_MARK_RSP)
        return sp;
    if (number < TTP_MARK_XMM)
        return ttp_probe_saved(sp, words[number]);
    return number < TTP_MARK_RIP ? ttp_probe_saved(sp, TTP_SAVED_MARK_XMM - (number - TTP_MARK_XMM))
                                 : 0;
}

static uint64_t base_of(uintptr_t sp, uint32_t number, uint64_t bias)
{
    return number == TTP_MARK_RIP ? bias : read_register(sp, number);
}

/* The page that the stack pointer is in is there, and so is what lies above it in that. */
static bool read_memory(uintptr_t sp, uintptr_t at, uint32_t bytes, uint64_t *number)
{
    const volatile uint8_t *from = (const volatile uint8_t *)at;
    if (at < sp || at / PAGE != sp / PAGE || (at + bytes - 1) / PAGE != sp / PAGE)
        return !ttp_process.avoids_system_calls &&
               ttp_call_bytes_read((uint8_t *)number, at, bytes) == bytes;
    for (uint32_t i = 0; i < bytes; i++)
        *number |= (uint64_t)from[i] << 8 * i;
    return true;
}

static bool read_value(const struct ttp_mark_value *value, uintptr_t sp, uint64_t bias,
                       uint64_t *number)
{
    switch (value->kind) {
    case TTP_MARK_NUMBER: *number = (uint64_t)value->number; return true;
    case TTP_MARK_ADDRESS: *number = bias + (uint64_t)value->number; return true;
    case TTP_MARK_REGISTER: *number = read_register(sp, value->base) >> value->shift; return true;
    case TTP_MARK_MEMORY:
        return read_memory(sp,
                           base_of(sp, value->base, bias) +
                               base_of(sp, value->index, bias) * value->scale +
                               (uint64_t)value->number,
                           value->size_bytes & 15, number);
    default: return false;
    }
}

static void take_value(ttape_value *into, const struct ttp_mark_value *value, uintptr_t sp,
                       uint64_t bias)
{
    uint64_t number = 0;
    bool is_there = read_value(value, sp, bias, &number);
    uint32_t type = value->type == TTAPE_VALUE_STRING ? TTAPE_VALUE_POINTER : value->type;
    into->type = is_there && type <= TTAPE_VALUE_FLOAT ? type : TTAPE_VALUE_NULL;
    into->number = is_there ? ttp_value_narrow(number, type, value->size_bytes) : 0;
}

/* Addresses of texts become these, as far as the kernel reads them. */
static void take_texts(struct ttp_call_values *call, ttape_value *values,
                       const struct ttp_mark_value *places, uintptr_t sp)
{
    for (uint32_t i = 0; i < call->count; i++) {
        if (places[i].type != TTAPE_VALUE_STRING || values[i].type != TTAPE_VALUE_POINTER ||
            ttp_process.avoids_system_calls)
            continue;
        if (call->texts == NULL &&
            (!ttp_thread_ready(sp) || !ttp_call_texts_begin(call, call->count, sp)))
            return;
        struct ttp_call_texts *texts = call->texts;
        ttp_call_text_read(texts, i, values[i].number);
        if (texts->types[i] == TTAPE_VALUE_STRING)
            values[i] = (ttape_value){
                .type = TTAPE_VALUE_STRING,
                .bytes = {(const char *)texts->bytes + texts->at[i], texts->sizes[i]}};
    }
}

void ttp_probe_mark(uintptr_t address, uintptr_t unused, uintptr_t sp)
{
    struct ttp_marks *marks = ttp_probe_data_of(sp)->marks;
    ttape_value values[TTP_MARK_VALUES_MAX];
    uint32_t mode = ttp_arena.head.mode;
    (void)unused;
    if (mode == TTP_MODE_STOPPED)
        let_all(marks);
    if (mode != TTP_MODE_ON)
        return;
    uint32_t row = find_row(marks, (uint32_t)(address - marks->bias));
    if (row == marks->count)
        return;
    const struct ttp_marks_row *found = &ttp_marks_rows(marks->head)[row];
    const struct ttp_mark_value *places = ttp_marks_values(marks->head) + found->first;
    for (uint32_t i = 0; i < found->value_count; i++)
        take_value(&values[i], &places[i], sp, marks->bias);
    struct ttp_call_values call = {.count = found->value_count};
    take_texts(&call, values, places, sp);
    ttp_marker_pass(&marks->marks[row].site, values, found->value_count, sp);
    ttp_call_texts_done(&call);
}
