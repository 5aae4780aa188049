/* A list of modules that has no place among the records is kept, and written before the next ones:
 * without it nobody knows which functions these are, once the program is gone. Who drops events, or
 * is off, when a program begins or a library is loaded, loses no list.
 *
 * It is kept as messages, one behind another: a size (u32), then so many bytes. Writing them takes
 * no lock of the loader's, so any hook may. One list is there at a time, the last. */
#include "recorder/arena/record.h"
#include "recorder/runtime/slow.h"

#define KEPT_BYTES (64u << 10) /* about 500 modules: memory that is not touched before */
#define TRIES_MAX  100u        /* of a millisecond: who writes it does not wait for us */

static uint8_t kept[KEPT_BYTES];
static uint32_t kept_end;   /* 0: there is none */
static uint32_t kept_at;    /* what is in front of it was written */
static uint32_t kept_count; /* of modules, as MODULES_END has it */
static uint32_t next_end;   /* of one that is being made */

/* In memory that a forked child has anew: a thread that held it there is not in the child. */
static bool hold_list(void)
{
    return __atomic_exchange_n(&ttp_process.page->keeping, 1, __ATOMIC_ACQUIRE) == 0;
}

static void let_go(void) { __atomic_store_n(&ttp_process.page->keeping, 0, __ATOMIC_RELEASE); }

bool ttp_kept_begin(void)
{
    if (ttp_process.state != TTP_PROCESS_ON || ttp_arena.head.mode == TTP_MODE_STOPPED)
        return false;
    for (uint32_t i = 0; !hold_list(); i++) {
        if (i == TRIES_MAX)
            return false;
        ttp_wait_spin();
    }
    __atomic_store_n(&kept_end, 0, __ATOMIC_RELAXED);
    next_end = 0;
    return true;
}

static void add_bytes(const void *data, uint32_t size_bytes)
{
    for (uint32_t i = 0; i < size_bytes; i++)
        kept[next_end++] = ((const uint8_t *)data)[i];
}

/* What has no room is left out, as what was before it is of use. */
void ttp_kept_add(const struct ttp_message_field *fields, uint32_t count)
{
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        size += fields[i].size_bytes;
    if (size > TTP_MESSAGE_MAX || size + sizeof(uint32_t) > KEPT_BYTES - next_end)
        return;
    uint32_t size_bytes = (uint32_t)size;
    add_bytes(&size_bytes, sizeof size_bytes);
    for (uint32_t i = 0; i < count; i++)
        add_bytes(fields[i].data, (uint32_t)fields[i].size_bytes);
}

/* The thread's next event then comes behind it. */
void ttp_kept_end(uint32_t count)
{
    kept_at = 0;
    kept_count = count;
    __atomic_store_n(&kept_end, next_end, __ATOMIC_RELEASE);
    let_go();
    if (ttp_has_state() && !ttp_is_dropping())
        ttp_drop_begin(TTP_GATE_DROP, 0);
}

void ttp_kept_forget(void)
{
    if (__atomic_load_n(&kept_end, __ATOMIC_RELAXED) == 0 || !hold_list())
        return;
    __atomic_store_n(&kept_end, 0, __ATOMIC_RELAXED);
    let_go();
}

static bool write_next(void)
{
    uint32_t size_bytes;
    __builtin_memcpy(&size_bytes, kept + kept_at, sizeof size_bytes);
    const struct ttp_message_field field = {kept + kept_at + sizeof size_bytes, size_bytes};
    if (!ttp_message(TTP_MESSAGE_MODULE, &field, 1))
        return false;
    kept_at += (uint32_t)sizeof size_bytes + size_bytes;
    return true;
}

/* What was written stays so: a small buffer may never have room for all of it at once. */
bool ttp_kept_write(void)
{
    if (__atomic_load_n(&kept_end, __ATOMIC_ACQUIRE) == 0 || !hold_list())
        return true; /* another thread is at it */
    bool is_written = true;
    const struct ttp_message_field count = {&kept_count, sizeof kept_count};
    while (is_written && kept_at < kept_end)
        is_written = write_next();
    is_written = is_written && ttp_message(TTP_MESSAGE_MODULES_END, &count, 1);
    if (is_written)
        __atomic_store_n(&kept_end, 0, __ATOMIC_RELAXED);
    let_go();
    return is_written;
}
