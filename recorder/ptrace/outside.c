#define _GNU_SOURCE
#include "recorder/ptrace/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tracetape/types.h>

#include "format/base/fail.h"
#include "recorder/arena/wait_share.h"

#define WAIT_NS 1000000 /* between two looks for a free block */

ttape_status ttp_outside_open(struct ttp_outside *outside, const char *path, ttape_error *err)
{
    struct stat about;
    *outside = (struct ttp_outside){0};
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0) {
        int code = errno;
        if (file >= 0)
            (void)close(file);
        return ttp_fail(err, TTAPE_E_IO, "", TTAPE_ERROR_NO_OFFSET, "cannot open '%s': %s", path,
                        strerror(code));
    }
    outside->bytes = (uint64_t)about.st_size;
    void *memory = mmap(NULL, outside->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    if (memory == MAP_FAILED)
        return ttp_fail(err, TTAPE_E_IO, "", TTAPE_ERROR_NO_OFFSET, "cannot map '%s'", path);
    outside->file = memory;
    outside->head = memory;
    if (outside->bytes < TTP_ARENA_HEAD_BYTES || outside->head->magic != TTP_ARENA_MAGIC ||
        outside->head->version != TTP_ARENA_VERSION) {
        ttp_outside_close(outside);
        return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                        "'%s' is no arena of this version", path);
    }
    return TTAPE_OK;
}

void ttp_outside_close(struct ttp_outside *outside)
{
    if (outside->file != NULL)
        (void)munmap(outside->file, outside->bytes);
    *outside = (struct ttp_outside){0};
}

uint64_t ttp_outside_serial(struct ttp_outside *outside)
{
    return __atomic_add_fetch(&outside->head->next_serial, 1, __ATOMIC_RELAXED);
}

/* ---- blocks ---- */

static uint32_t *state_of(struct ttp_outside *outside, uint32_t block)
{
    return (uint32_t *)(void *)(outside->file + TTP_ARENA_HEAD_BYTES) + block;
}

static void *block_at(struct ttp_outside *outside, uint32_t block)
{
    return outside->file + outside->head->blocks_offset + (uint64_t)block * TTP_BLOCK_BYTES;
}

static bool take_block(struct ttp_outside *outside, struct ttp_outside_thread *thread)
{
    uint32_t ready = __atomic_load_n(&outside->head->block_ready, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < ready; i++) {
        uint32_t none = TTP_BLOCK_FREE;
        if (outside->head->blocks_offset + (i + UINT64_C(1)) * TTP_BLOCK_BYTES > outside->bytes)
            return false;
        if (__atomic_compare_exchange_n(state_of(outside, i), &none,
                                        thread->pid << 2 | TTP_BLOCK_FILLING, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            thread->block = i;
            return true;
        }
    }
    return false;
}

static uint64_t monotonic_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* As the runtime waits (recorder/runtime/hooks/wait.c): the thread is stopped meanwhile. */
static uint64_t share_clock(const struct ttp_outside *outside)
{
    return outside->head->stall_ticks != 0 ? ttp_outside_clock(outside)
                                           : monotonic_ns(CLOCK_MONOTONIC);
}

static bool wait_for_block(struct ttp_outside *outside, struct ttp_outside_thread *thread)
{
    static const struct timespec nap = {0, WAIT_NS};
    struct ttp_arena_head *head = outside->head;
    uint64_t stall = head->stall_ticks != 0 ? head->stall_ticks : TTP_ARENA_STALL_NS;
    uint64_t now = share_clock(outside);
    struct ttp_share_wait share = ttp_share_begin(head, now);
    bool may_wait = thread->dropped == 0 && ttp_share_is_left(head, now, stall);
    bool is_there = take_block(outside, thread);
    while (!is_there && may_wait) {
        __atomic_store_n(&head->waiters, 1, __ATOMIC_SEQ_CST);
        (void)nanosleep(&nap, NULL);
        is_there = take_block(outside, thread);
        now = share_clock(outside);
        ttp_share_note(head, &share, now, stall);
        may_wait = now - share.began < stall && ttp_share_is_left(head, now, stall);
    }
    return is_there;
}

static void leave_block(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                        uint32_t state)
{
    uint32_t filling = thread->pid << 2 | TTP_BLOCK_FILLING;
    if (thread->at != 0)
        (void)__atomic_compare_exchange_n(state_of(outside, thread->block), &filling,
                                          thread->pid << 2 | state, false, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED);
    thread->at = 0;
}

static void begin_block(struct ttp_outside *outside, struct ttp_outside_thread *thread)
{
    struct ttp_block_head *head = block_at(outside, thread->block);
    head->sequence = ++thread->sequence;
    head->epoch = thread->epoch;
    head->started = thread->started;
    head->process_id = thread->pid;
    head->thread_id = thread->tid;
    head->image = thread->image;
    memcpy(head->name, thread->name, sizeof head->name);
    __atomic_store_n(&head->serial, thread->serial, __ATOMIC_RELEASE);
    thread->at = TTP_BLOCK_HEAD_BYTES;
}

/* The first of records that belong together is stored last: the recorder takes what lies in front
 * of the first empty place. */
static uint32_t leave_place(struct ttp_outside_thread *thread)
{
    uint32_t at = thread->at;
    thread->at += 8;
    return at;
}

static void put_at(struct ttp_outside *outside, const struct ttp_outside_thread *thread,
                   uint32_t at, uint64_t record)
{
    uint64_t *place = (uint64_t *)block_at(outside, thread->block) + at / 8;
    __atomic_store_n(place, record, __ATOMIC_RELEASE);
}

static void put_record(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                       uint64_t record)
{
    put_at(outside, thread, leave_place(thread), record);
}

static void end_block(struct ttp_outside *outside, struct ttp_outside_thread *thread)
{
    while (thread->at != 0 && thread->at < TTP_BLOCK_BYTES)
        put_record(outside, thread, ttp_record_extension(TTP_EXT_NOTHING, 0, 0));
    leave_block(outside, thread, TTP_BLOCK_FULL);
}

/* Room for so many records in one block. */
static bool make_room(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                      uint32_t records)
{
    if (thread->at != 0 && thread->at + 8 * records <= TTP_BLOCK_BYTES)
        return true;
    end_block(outside, thread);
    if (!wait_for_block(outside, thread))
        return false;
    begin_block(outside, thread);
    return true;
}

/* ---- records ---- */

uint64_t ttp_outside_clock(const struct ttp_outside *outside)
{
    if (outside->head->clock == TTP_CLOCK_NONE)
        return 0;
    if (outside->head->clock == TTP_CLOCK_TSC)
        return __builtin_ia32_rdtsc();
    return monotonic_ns(outside->head->clock == TTP_CLOCK_COARSE ? CLOCK_MONOTONIC_COARSE
                                                                 : CLOCK_MONOTONIC);
}

/* Room, and the epoch of the time of what comes; a gap for what had no room before. */
static bool begin_record_at(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                            uint32_t records, uint64_t now)
{
    uint64_t epoch = now >> TTP_RECORD_TIME_BITS;
    if (thread->serial == 0)
        thread->serial = ttp_outside_serial(outside);
    if (thread->at == 0)
        thread->epoch = epoch;
    if (thread->started == 0)
        thread->started = now;
    if (!make_room(outside, thread, records + 2)) {
        thread->dropped++;
        outside->lost++;
        return false;
    }
    if (thread->epoch != epoch) {
        thread->epoch = epoch;
        put_record(outside, thread, ttp_record_epoch(epoch));
    }
    if (thread->dropped > 0)
        put_record(outside, thread,
                   ttp_record_extension(TTP_EXT_GAP, now,
                                        thread->dropped << TTP_GAP_REASON_BITS |
                                            TTAPE_GAP_REASON_OVERFLOW));
    thread->dropped = 0;
    return true;
}

static bool begin_record(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                         uint32_t records, uint64_t *now)
{
    *now = ttp_outside_clock(outside);
    return begin_record_at(outside, thread, records, *now);
}

bool ttp_outside_call(struct ttp_outside *outside, struct ttp_outside_thread *thread, uint64_t tag,
                      uint64_t address)
{
    uint64_t now;
    if (!begin_record(outside, thread, 1, &now))
        return false;
    put_record(outside, thread, ttp_record_call(tag, now, address));
    return true;
}

bool ttp_outside_call_open(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                           uint64_t address)
{
    uint64_t now;
    if (!begin_record(outside, thread, 2, &now))
        return false;
    uint32_t first = leave_place(thread);
    put_record(outside, thread, ttp_record_call(TTP_TAG_ENTER, now, address));
    put_at(outside, thread, first, ttp_record_extension(TTP_EXT_OPEN, now, 0));
    return true;
}

bool ttp_outside_extension(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                           uint64_t type, uint64_t payload)
{
    uint64_t now;
    if (!begin_record(outside, thread, 1, &now))
        return false;
    put_record(outside, thread, ttp_record_extension(type, now, payload));
    return true;
}

void ttp_outside_stopped(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                         uint32_t period, uint64_t events)
{
    uint64_t now, off = ttp_arena_off_ticks(outside->head, period);
    if (!begin_record(outside, thread, 2, &now))
        return;
    uint64_t ago = off != 0 && now > off ? (now - off) / TTP_AGO_TICKS : 0;
    uint32_t first = leave_place(thread);
    put_record(
        outside, thread,
        ttp_record_extension(TTP_EXT_GAP, now,
                             ttp_stop_payload(TTAPE_GAP_REASON_STOPPED, TTP_STOP_SEEN, events)));
    put_at(outside, thread, first, ttp_record_extension(TTP_EXT_AGO, now, ago));
}

struct packing {
    uint64_t word;
    uint32_t count;
};

static void pack(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                 struct packing *packing, const uint8_t *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        packing->word |= (uint64_t)bytes[i] << (8 * packing->count);
        if (++packing->count == TTP_DATA_BYTES) {
            put_record(outside, thread, ttp_record_data(packing->word));
            *packing = (struct packing){0};
        }
    }
}

struct message {
    uint32_t kind, count;
    const struct ttp_outside_field *fields;
};

static size_t size_of(const struct message *m)
{
    size_t size = 0;
    for (uint32_t i = 0; i < m->count; i++)
        size += m->fields[i].size_bytes;
    return size;
}

static uint32_t records_of(size_t size_bytes)
{
    return 1 + (uint32_t)((size_bytes + TTP_DATA_BYTES - 1) / TTP_DATA_BYTES);
}

static void put_message(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                        const struct message *m, uint64_t now)
{
    struct packing packing = {0};
    uint32_t head = leave_place(thread);
    for (uint32_t i = 0; i < m->count; i++)
        pack(outside, thread, &packing, m->fields[i].data, m->fields[i].size_bytes);
    if (packing.count > 0)
        put_record(outside, thread, ttp_record_data(packing.word));
    put_at(outside, thread, head,
           ttp_record_extension(TTP_EXT_MESSAGE, now, (uint64_t)m->kind << 24 | size_of(m)));
}

bool ttp_outside_message(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                         uint32_t kind, const struct ttp_outside_field *fields, uint32_t count)
{
    uint64_t now;
    const struct message m = {kind, count, fields};
    uint32_t records = records_of(size_of(&m));
    if (records + 2 > TTP_BLOCK_RECORDS || !begin_record(outside, thread, records, &now))
        return false;
    put_message(outside, thread, &m, now);
    return true;
}

bool ttp_outside_valued(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                        const struct ttp_outside_end *call, const struct ttp_outside_field *fields,
                        uint32_t count)
{
    const struct message m = {TTP_MESSAGE_VALUES, count, fields};
    uint32_t records = 1 + records_of(size_of(&m));
    bool has_values = records + 2 <= TTP_BLOCK_RECORDS;
    if (!begin_record_at(outside, thread, has_values ? records : 1, call->now))
        return false;
    uint32_t first = leave_place(thread);
    if (has_values)
        put_message(outside, thread, &m, call->now);
    put_at(outside, thread, first, ttp_record_call(call->tag, call->now, call->address));
    return true;
}

void ttp_outside_give(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                      struct ttp_mark_stream *given)
{
    end_block(outside, thread);
    if (thread->serial == 0)
        thread->serial = ttp_outside_serial(outside);
    if (thread->started == 0)
        thread->started = ttp_outside_clock(outside);
    *given = (struct ttp_mark_stream){.serial = thread->serial,
                                      .sequence = thread->sequence,
                                      .image = thread->image,
                                      .started = thread->started};
    *thread =
        (struct ttp_outside_thread){.pid = thread->pid, .tid = thread->tid, .image = thread->image};
}

uint64_t ttp_outside_image_of(struct ttp_outside *outside, uint32_t pid)
{
    uint32_t ready = __atomic_load_n(&outside->head->block_ready, __ATOMIC_ACQUIRE);
    uint64_t last = 0, image = 0;
    for (uint32_t i = 0; i < ready; i++) {
        if (outside->head->blocks_offset + (i + UINT64_C(1)) * TTP_BLOCK_BYTES > outside->bytes)
            break;
        const struct ttp_block_head *head = block_at(outside, i);
        uint64_t serial = __atomic_load_n(&head->serial, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(state_of(outside, i), __ATOMIC_ACQUIRE) >> 2 == pid && serial > last) {
            last = serial;
            image = head->image;
        }
    }
    return image;
}

/* As of a thread that has no block. */
void ttp_outside_lose(struct ttp_outside *outside)
{
    (void)__atomic_add_fetch(&outside->head->lost, 1, __ATOMIC_RELAXED);
    outside->lost++;
}

void ttp_outside_end(struct ttp_outside *outside, struct ttp_outside_thread *thread)
{
    leave_block(outside, thread, TTP_BLOCK_DONE);
}

/* ---- notes ---- */

static struct ttp_note *take_note(struct ttp_outside *outside, uint32_t turn)
{
    for (uint32_t i = 0; i < TTP_NOTES; i++) {
        struct ttp_note *note =
            (struct ttp_note *)(void *)(outside->file + TTP_NOTES_AT) + (turn + i) % TTP_NOTES;
        uint32_t before = __atomic_load_n(&note->state, __ATOMIC_RELAXED);
        if ((before & (TTP_NOTE_WRITING | TTP_NOTE_THERE)) == 0 &&
            __atomic_compare_exchange_n(&note->state, &before,
                                        turn << TTP_NOTE_TURN_SHIFT | TTP_NOTE_WRITING, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return note;
    }
    __atomic_add_fetch(&outside->head->notes_missed, 1, __ATOMIC_RELAXED);
    return NULL;
}

void ttp_outside_let_go(struct ttp_outside *outside, uint32_t pid, const char *path)
{
    uint32_t turn = __atomic_add_fetch(&outside->head->note_turn, 1, __ATOMIC_RELAXED);
    struct ttp_note *note = take_note(outside, turn);
    size_t size = strnlen(path, TTP_NOTE_PATH_BYTES - 1);
    if (note == NULL)
        return;
    note->kind = TTP_NOTE_EXEC;
    note->pid = pid;
    note->flags = TTP_NOTE_LET_GO;
    note->image = note->left = 0;
    note->turn = turn;
    memcpy(note->path, path, size);
    note->path[size] = '\0';
    __atomic_store_n(&note->state, turn << TTP_NOTE_TURN_SHIFT | TTP_NOTE_THERE, __ATOMIC_RELEASE);
    __atomic_add_fetch(&outside->head->note_count, 1, __ATOMIC_RELEASE);
}
