/* The public API, <tracetape/runtime.h>: calls of sites that the program names itself, markers with
 * values, and the switches. Sites are announced in each thread's stream, before their first use. */
#include <string.h>

#include <tracetape/runtime.h>

#include "recorder/runtime/hot.h"
#include "recorder/runtime/slow.h"

#define TEXT_MAX       16384u
#define VALUES_MAX     24576u
#define NAME_BYTES_MAX 1024u

static bool is_off(void) { return TTP_LIKELY(ttp_arena.head.mode != TTP_MODE_ON); }

static uintptr_t *announced_at(struct ttp_thread_page *page, const ttape_rt_site *site)
{
    uintptr_t address = (uintptr_t)site;
    return &page->announced[(address >> 4 ^ address >> 12) & (TTP_SITES_ANNOUNCED - 1)];
}

/* Where it is: a mark's is in the code. */
static uint64_t address_of(const ttape_rt_site *site)
{
    return site->announced[1] != 0 ? site->announced[1] : (uintptr_t)site;
}

/* By some thread of this process. Zero again where another library came to the site's place. */
static bool is_known(const ttape_rt_site *site)
{
    return ttp_process.page != NULL &&
           __atomic_load_n(&site->announced[0], __ATOMIC_RELAXED) == ttp_process.page->image;
}

/* By this thread: messages of others are in their streams, which may be read later. */
static bool is_announced(const ttape_rt_site *site)
{
    return *announced_at(ttp_thread.page, site) == (uintptr_t)site && is_known(site);
}

static size_t text_size(const char *text, size_t most)
{
    return text == NULL ? 0 : strnlen(text, most);
}

/* Without the C library, whose functions use vector registers: where a mark is, those are the
 * program's. */
static size_t name_size(const char *name)
{
    size_t size = 0;
    while (name != NULL && size < NAME_BYTES_MAX && name[size] != '\0')
        size++;
    return size;
}

void ttp_event_missed(void)
{
    uint32_t gate = ttp_thread.page->gate;
    if (ttp_has_state())
        ttp_add_here(&ttp_thread.page->dropped, 1);
    else if (ttp_thread.page == &ttp_page_silent)
        ttp_silence_lost();
    else if (gate == TTP_GATE_UNUSABLE)
        ttp_event_lost();
}

/* False: nothing can be recorded of it now. */
static bool write_site(ttape_rt_site *site)
{
    if (is_announced(site))
        return true;
    uint64_t address = address_of(site);
    uint32_t numbers[2] = {site->kind, site->line};
    uint16_t size = (uint16_t)name_size(site->name);
    struct ttp_message_field fields[5] = {{&address, sizeof(address)},
                                          {numbers, sizeof(numbers)},
                                          {&size, sizeof(size)},
                                          {site->name, size},
                                          {site->file, name_size(site->file)}};
    if (!ttp_message(TTP_MESSAGE_SITE, fields, 5))
        return false;
    __atomic_store_n(&site->announced[0], ttp_process.page->image, __ATOMIC_RELAXED);
    *announced_at(ttp_thread.page, site) = (uintptr_t)site;
    return true;
}

static bool announce(ttape_rt_site *site, uintptr_t sp)
{
    return ttp_thread_ready(sp) && write_site(site);
}

void ttape_rt_enter(ttape_rt_site *site)
{
    uintptr_t sp = TTP_CALLER_SP();
    if (is_off())
        return;
    if (announce(site, sp))
        ttp_enter_in_call((uintptr_t)site, sp);
    else
        ttp_event_missed();
}

void ttape_rt_exit(ttape_rt_site *site)
{
    uintptr_t sp = TTP_CALLER_SP();
    if (is_off() || ttp_thread.page->gate == TTP_GATE_NO_STATE || !is_known(site))
        return;
    const struct ttp_runtime_frame *top = ttp_thread.top;
    bool is_top = top != NULL && ttp_function_of(top) == (uintptr_t)site;
    ttp_exit_slow((uintptr_t)site, is_top ? top->call_site : 0, sp, NULL);
}

void ttape_rt_scope_enter(ttape_rt_site *site)
{
    uintptr_t sp = TTP_CALLER_SP(), function = (uintptr_t)site;
    uint64_t place;
    if (is_off())
        return;
    const struct ttp_thread_page *page = ttp_thread.page;
    if (TTP_UNLIKELY(page->gate == TTP_GATE_NO_STATE || !is_announced(site)) &&
        !announce(site, sp)) {
        ttp_event_missed();
        return;
    }
    /* As what is inlined in the function around it. */
    struct ttp_runtime_frame *top = ttp_thread.top;
    uintptr_t call_site = top != NULL && top->sp == sp ? top->call_site : 0;
    if (page->gate != TTP_GATE_TSC || !ttp_fits_enter(top, page, sp, call_site)) {
        ttp_part_enter_slow(function, call_site, sp);
        return;
    }
    ttp_push(top, function, call_site, sp);
    if (!ttp_record_tsc(page, TTP_TAG_ENTER, function, &place))
        ttp_enter_put(function, place, page);
}

void ttape_rt_scope_exit(ttape_rt_site *site)
{
    uintptr_t sp = TTP_CALLER_SP(), function = (uintptr_t)site;
    uint64_t place;
    if (is_off())
        return;
    const struct ttp_thread_page *page = ttp_thread.page;
    if (page->gate == TTP_GATE_NO_STATE || !is_known(site))
        return;
    struct ttp_runtime_frame *top = ttp_thread.top;
    uintptr_t call_site = top != NULL && ttp_function_of(top) == function ? top->call_site : 0;
    if (page->gate != TTP_GATE_TSC || !ttp_fits_exit(top, function, call_site, sp)) {
        ttp_exit_slow(function, call_site, sp, NULL);
        return;
    }
    ttp_pop(top);
    if (!ttp_record_tsc(page, TTP_TAG_EXIT, function, &place))
        ttp_exit_put(function, place, page);
}

/* -- markers -- */

static bool has_bytes(const ttape_value *value)
{
    return value->type == TTAPE_VALUE_BYTES || value->type == TTAPE_VALUE_STRING;
}

static size_t bytes_of(const ttape_value *value)
{
    return value->bytes.size_bytes < TEXT_MAX ? value->bytes.size_bytes : TEXT_MAX;
}

static size_t value_size(const ttape_value *value)
{
    return 1 + (has_bytes(value) ? sizeof(uint32_t) + bytes_of(value) : sizeof(uint64_t));
}

static void put_value(struct ttp_message_out *out, const ttape_value *value)
{
    uint8_t type = (uint8_t)value->type;
    uint32_t size = (uint32_t)bytes_of(value);
    ttp_message_bytes(out, &type, 1);
    if (has_bytes(value)) {
        ttp_message_bytes(out, &size, sizeof(size));
        ttp_message_bytes(out, value->bytes.data, size);
    } else {
        ttp_message_bytes(out, &value->number, sizeof(value->number));
    }
}

bool ttp_marker_write(ttape_rt_site *site, const ttape_value *values, uint32_t count)
{
    struct ttp_message_out out;
    uint64_t address = address_of(site);
    size_t size = sizeof(address);
    uint32_t fitting = 0;
    for (; fitting < count && fitting < TTAPE_EVENT_MAX_VALUES; fitting++) {
        if (size + value_size(&values[fitting]) > VALUES_MAX)
            break;
        size += value_size(&values[fitting]);
    }
    if (!write_site(site) || !ttp_message_begin(&out, size))
        return false;
    ttp_message_bytes(&out, &address, sizeof(address));
    for (uint32_t i = 0; i < fitting; i++)
        put_value(&out, &values[i]);
    ttp_message_end(&out, TTP_MESSAGE_LEAF);
    return true;
}

void ttp_marker_pass(ttape_rt_site *site, const ttape_value *values, uint32_t count, uintptr_t sp)
{
    if (!ttp_thread_ready(sp) || !ttp_marker_write(site, values, count))
        ttp_event_missed();
}

void ttape_rt_mark(ttape_rt_site *site, const ttape_value *values, uint32_t count)
{
    if (!is_off())
        ttp_marker_pass(site, values, count, TTP_CALLER_SP());
}

static void mark_number(ttape_rt_site *site, uint32_t type, uint64_t number, uintptr_t sp)
{
    ttape_value value = {.type = type, .number = number};
    ttp_marker_pass(site, &value, 1, sp);
}

void ttape_rt_mark_unsigned(ttape_rt_site *site, uint64_t value)
{
    if (!is_off())
        mark_number(site, TTAPE_VALUE_UNSIGNED, value, TTP_CALLER_SP());
}

void ttape_rt_mark_signed(ttape_rt_site *site, int64_t value)
{
    if (!is_off())
        mark_number(site, TTAPE_VALUE_SIGNED, (uint64_t)value, TTP_CALLER_SP());
}

void ttape_rt_mark_pointer(ttape_rt_site *site, const void *value)
{
    if (!is_off())
        mark_number(site, TTAPE_VALUE_POINTER, (uint64_t)(uintptr_t)value, TTP_CALLER_SP());
}

static void mark_text(ttape_rt_site *site, uint32_t type, const void *data, size_t size,
                      uintptr_t sp)
{
    ttape_value value = {.type = data == NULL ? TTAPE_VALUE_NULL : type,
                         .bytes = {data, data == NULL ? 0 : size}};
    ttp_marker_pass(site, &value, 1, sp);
}

void ttape_rt_mark_string(ttape_rt_site *site, const char *value)
{
    if (!is_off())
        mark_text(site, TTAPE_VALUE_STRING, value, text_size(value, TEXT_MAX), TTP_CALLER_SP());
}

void ttape_rt_mark_bytes(ttape_rt_site *site, const void *data, size_t size_bytes)
{
    if (!is_off())
        mark_text(site, TTAPE_VALUE_BYTES, data, size_bytes, TTP_CALLER_SP());
}

/* -- names, switches, requests -- */

void ttape_rt_thread_name(const char *name)
{
    struct ttp_message_field field = {name, text_size(name, NAME_BYTES_MAX)};
    if (ttp_arena.head.mode == TTP_MODE_STOPPED || !ttp_thread_ready(TTP_CALLER_SP()))
        return;
    struct ttp_thread_page *page = ttp_thread.page;
    size_t size = field.size_bytes < sizeof(page->name) ? field.size_bytes : sizeof(page->name) - 1;
    for (size_t i = 0; i < sizeof(page->name); i++)
        page->name[i] = i < size ? name[i] : '\0';
    page->is_named = true;
    ttp_message(TTP_MESSAGE_THREAD, &field, 1);
}

void ttape_rt_stack(const void *low, size_t size_bytes)
{
    ttp_stack_register((uintptr_t)low, (uintptr_t)low + size_bytes);
}

static bool is_attached(void)
{
    return __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON;
}

int ttape_rt_is_recording(void) { return is_attached() && !is_off(); }

void ttape_rt_on(void)
{
    uint32_t expected = TTP_MODE_OFF;
    if (!is_attached() || ttp_arena.head.mode != TTP_MODE_OFF)
        return;
    __atomic_add_fetch(&ttp_arena.head.periods, 1, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&ttp_arena.head.mode, &expected, TTP_MODE_ON, false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    if (ttp_thread.page->gate == TTP_GATE_TSC || ttp_thread.page->gate == TTP_GATE_CLOCK ||
        ttp_thread.page->gate == TTP_GATE_FILTER || ttp_thread.page->gate == TTP_GATE_SITES)
        ttp_thread.page->epoch_start = 0; /* so that this thread notices at once */
}

void ttape_rt_off(void)
{
    if (is_attached())
        ttp_arena_ask_off(&ttp_arena.head, ttp_process.clock());
}

void ttape_rt_flush(void)
{
    if (is_attached())
        __atomic_add_fetch(&ttp_arena.head.flush_requests, 1, __ATOMIC_RELAXED);
}

void ttape_rt_snapshot(void)
{
    if (is_attached())
        __atomic_add_fetch(&ttp_arena.head.snapshot_requests, 1, __ATOMIC_RELAXED);
}
