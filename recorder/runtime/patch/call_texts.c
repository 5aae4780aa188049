/* Contents of what a system call is given: its strings, and the first bytes of buffers. The kernel
 * reads them for us (process_vm_readv), as what a program gives may be no address, and the call
 * then fails. Under a filter of system calls nothing is read. */
#include <sys/syscall.h>
#include <sys/uio.h>

#include "recorder/arena/call_contents.h"
#include "recorder/runtime/patch/patch.h"

/* Small: programs have it in their memory. */
#define APART      __attribute__((noinline))
#define PAGE       4096u
#define LIST_WORDS 16u /* of a list's addresses at once */

struct ttp_call_texts *ttp_texts_of_thread(void)
{
    if (ttp_process.avoids_system_calls)
        return NULL;
    if (ttp_thread.call_texts == NULL) {
        long memory = ttp_room_map(sizeof(struct ttp_call_texts));
        if (ttp_failed(memory))
            return NULL;
        ttp_thread.call_texts = (struct ttp_call_texts *)memory;
    }
    return ttp_thread.call_texts;
}

void ttp_call_texts_end(void)
{
    struct ttp_call_texts *texts = ttp_thread.call_texts;
    ttp_thread.call_texts = NULL;
    TTP_SIGNAL_FENCE();
    if (texts != NULL)
        ttp_room_unmap(texts, sizeof(*texts));
}

/* How many bytes can be read, up to so many; two pieces, as one is read whole or not at all. */
APART uint32_t ttp_call_bytes_read(uint8_t *into, uint64_t from, uint32_t count)
{
    if (ttp_process.avoids_system_calls)
        return 0;
    uint64_t first = PAGE - from % PAGE;
    struct iovec to = {into, count};
    struct iovec parts[2] = {
        {(void *)(uintptr_t)from, first < count ? first : count},
        {(void *)(uintptr_t)(from + first), first < count ? count - first : 0}};
    long process = ttp_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    long got = ttp_syscall(SYS_process_vm_readv, process, (long)&to, 1, (long)parts,
                           first < count ? 2 : 1, 0);
    return ttp_failed(got) ? 0 : (uint32_t)got;
}

APART static void read_data(struct ttp_call_texts *texts, uint32_t i, uint64_t from, uint64_t size)
{
    uint32_t wanted = ttp_arena.head.call_data_bytes;
    wanted = wanted < TTP_CALL_DATA_MAX ? wanted : TTP_CALL_DATA_MAX;
    wanted = size < wanted ? (uint32_t)size : wanted;
    if (texts->used + wanted > sizeof(texts->bytes))
        return;
    uint32_t got = wanted > 0 ? ttp_call_bytes_read(texts->bytes + texts->used, from, wanted) : 0;
    if (got == wanted)
        ttp_call_text_add(texts, i, TTAPE_VALUE_BYTES, got);
}

/* Strings with their zeros, one behind the other; without room for all, the last has none.
 * A list or a string of it without an end before memory ends is no list. */
APART static void read_list(struct ttp_call_texts *texts, uint32_t i, uint64_t from)
{
    uint8_t *into = texts->bytes + texts->used;
    uint64_t words[LIST_WORDS];
    uint32_t used = 0;
    if (from == 0 || texts->used + TTP_CALL_DATA_MAX > sizeof(texts->bytes))
        return;
    for (;; from += sizeof(words)) {
        uint32_t count =
            ttp_call_bytes_read((uint8_t *)words, from, sizeof(words)) / sizeof(*words);
        for (uint32_t k = 0; k < count; k++) {
            if (words[k] == 0) {
                ttp_call_text_add(texts, i, TTAPE_VALUE_BYTES, used);
                return;
            }
            uint32_t room = TTP_CALL_DATA_MAX - used;
            uint32_t got = ttp_call_bytes_read(into + used, words[k], room);
            uint32_t length = ttp_call_text_length(into + used, got);
            if (length == got && got < room)
                return;
            if (length + 1 >= room) {
                ttp_call_text_add(texts, i, TTAPE_VALUE_BYTES, used + length);
                return;
            }
            used += length + 1;
        }
        if (count < LIST_WORDS)
            return;
    }
}

static uint32_t read_part(const void *context, uint8_t *into, uint64_t from, uint32_t count)
{
    (void)context;
    return ttp_call_bytes_read(into, from, count);
}

/* Value i has what argument k points to; false: nothing. */
APART static bool add_part(struct ttp_call_texts *texts, const struct ttp_part_reading *reading,
                           uint32_t i, char letter, uint32_t k)
{
    if (texts->used + TTP_CALL_DATA_MAX > sizeof(texts->bytes))
        return false;
    uint32_t size = ttp_part_read(reading, (uint8_t)letter, k, texts->bytes + texts->used);
    if (size == TTP_PART_NONE)
        return false;
    ttp_call_text_add(texts, i, TTAPE_VALUE_BYTES, size);
    return true;
}

static void read_given_parts(struct ttp_call_texts *texts, const struct ttp_call_values *values,
                             uint32_t number)
{
    const char *letters = ttp_call_given[ttp_call_contents[number].given_row];
    const struct ttp_part_reading reading = {.read = read_part,
                                             .arguments = values->numbers,
                                             .number = number,
                                             .data_bytes = ttp_arena.head.call_data_bytes};
    for (uint32_t i = 0; i < TTP_CALL_PARTS; i++)
        if (letters[i] != 0)
            (void)add_part(texts, &reading, i, letters[i], i);
}

void ttp_call_texts_given(struct ttp_call_values *values, uint32_t number, uintptr_t sp)
{
    if (number >= TTP_CALL_CONTENTS)
        return;
    const struct ttp_call_contents *contents = &ttp_call_contents[number];
    bool has_data = ttp_arena.head.call_data_bytes != 0;
    uint32_t given = has_data ? contents->given : 0;
    if (contents->strings == 0 && given == 0 && contents->given_row == 0 &&
        contents->filled_row == 0 && (!has_data || contents->filled == 0))
        return;
    struct ttp_call_texts *texts = ttp_texts_take(sp);
    if (texts == NULL)
        return;
    for (uint32_t i = 0; contents->strings >> i != 0; i++)
        if ((contents->strings >> i & 1) != 0)
            ttp_call_text_read(texts, i, values->numbers[i]);
    if (contents->list != 0)
        read_list(texts, contents->list - 1u, values->numbers[contents->list - 1u]);
    if (given != 0)
        read_data(texts, given - 1, values->numbers[given - 1], values->numbers[given]);
    if (contents->given_row != 0)
        read_given_parts(texts, values, number);
    texts->call_sp = sp;
    texts->call_number = number;
    values->texts = texts;
}

/* Values of what the call has filled, in the order of its arguments: none is left out that another
 * one follows. */
static void read_filled(struct ttp_call_texts *texts, struct ttp_call_values *values,
                        const struct ttp_part_reading *reading)
{
    const struct ttp_call_contents *contents = &ttp_call_contents[reading->number];
    uint32_t count = values->count;
    for (uint32_t k = 0; k < TTP_CALL_PARTS; k++) {
        char letter = ttp_call_filled[contents->filled_row][k];
        bool is_data = contents->filled == k + 1, is_known = false;
        if (!is_data && letter == 0)
            continue;
        if (is_data && reading->data_bytes != 0 && reading->result >= 0)
            read_data(texts, count, reading->arguments[k], (uint64_t)reading->result);
        else if (letter != 0 && ttp_part_is_filled(letter, reading->result))
            (void)add_part(texts, reading, count, letter, k);
        is_known = texts->types[count] == TTAPE_VALUE_BYTES;
        if (!is_known)
            ttp_call_text_add(texts, count, TTAPE_VALUE_BYTES, 0);
        count++;
        values->count = is_known ? count : values->count;
    }
}

/* Which call it was is known as long as no handler has made another one, and until its end. */
void ttp_call_texts_filled(struct ttp_call_values *values, const struct ttp_call_registers *r,
                           uintptr_t sp)
{
    struct ttp_call_texts *last = ttp_thread.call_texts;
    const uint64_t arguments[TTP_CALL_ARGUMENTS] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
    if (last == NULL || last->call_sp != sp)
        return;
    last->call_sp = 0;
    uint32_t number = last->call_number;
    const struct ttp_call_contents *contents = &ttp_call_contents[number];
    bool is_filled = contents->filled != 0 || contents->filled_row != 0;
    struct ttp_call_texts *texts = is_filled ? ttp_texts_take(sp) : NULL;
    if (texts == NULL)
        return;
    const struct ttp_part_reading reading = {.read = read_part,
                                             .arguments = arguments,
                                             .result = (int64_t)values->numbers[0],
                                             .number = number,
                                             .data_bytes = ttp_arena.head.call_data_bytes,
                                             .is_filled = true};
    read_filled(texts, values, &reading);
    values->texts = texts;
}

bool ttp_call_bytes_hash(uint64_t from, uint32_t bytes, uintptr_t sp, uint64_t *hash)
{
    struct ttp_call_texts *texts = ttp_texts_take(sp);
    if (texts == NULL)
        return false;
    bool is_read = ttp_call_bytes_read(texts->bytes, from, bytes) == bytes;
    for (uint32_t i = 0; i < bytes && is_read; i++)
        *hash = (*hash ^ texts->bytes[i]) * UINT64_C(0x100000001B3);
    TTP_SIGNAL_FENCE();
    texts->user_sp = 0;
    return is_read;
}
