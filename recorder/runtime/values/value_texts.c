/* Strings and bytes among values of calls: where they are kept until they are written, and what of
 * the program's memory becomes one. Who reads that is another matter: the kernel (call_texts.c), or
 * whoever knows what is there (agent/agent_memory.c). */
#include "recorder/runtime/patch/patch.h"

#define APART     __attribute__((noinline)) /* small: programs have it in their memory */
#define FIRST_TRY 256u

bool ttp_use_begin(uint64_t *user_sp, uintptr_t sp)
{
    const struct ttp_runtime_stack *stack = ttp_stack_current();
    uint64_t user = *(volatile uint64_t *)user_sp;
    bool is_left =
        user != 0 && sp > user && ttp_stack_holds(stack, sp) && ttp_stack_holds(stack, user);
    return (user == 0 || is_left) && ttp_swap_here(user_sp, user, sp);
}

struct ttp_call_texts *ttp_texts_take(uintptr_t sp)
{
    if (!ttp_has_state())
        return NULL;
    struct ttp_call_texts *texts = ttp_texts_of_thread();
    if (texts == NULL || !ttp_use_begin(&texts->user_sp, sp))
        return NULL;
    texts->used = 0;
    for (uint32_t i = 0; i < TTP_CALL_VALUES_MAX; i++)
        texts->types[i] = TTAPE_VALUE_UNSIGNED;
    return texts;
}

void ttp_call_texts_done(struct ttp_call_values *values)
{
    if (values->texts == NULL)
        return;
    TTP_SIGNAL_FENCE();
    values->texts->user_sp = 0;
}

bool ttp_call_word_read(uintptr_t at, uint64_t *word)
{
    return ttp_call_bytes_read((uint8_t *)word, at, sizeof(*word)) == sizeof(*word);
}

uint32_t ttp_call_text_length(const uint8_t *text, uint32_t count)
{
    uint32_t length = 0;
    while (length < count && text[length] != 0)
        length++;
    return length;
}

void ttp_call_text_add(struct ttp_call_texts *texts, uint32_t i, uint32_t type, uint32_t size)
{
    texts->types[i] = type;
    texts->at[i] = texts->used;
    texts->sizes[i] = size;
    texts->used += size;
}

/* A string without an end before memory ends is no string. */
APART void ttp_call_text_read(struct ttp_call_texts *texts, uint32_t i, uint64_t from)
{
    uint8_t *into = texts->bytes + texts->used;
    if (from == 0 || texts->used + TTP_CALL_STRING_MAX > sizeof(texts->bytes))
        return;
    uint32_t got = ttp_call_bytes_read(into, from, FIRST_TRY),
             length = ttp_call_text_length(into, got);
    if (length == got && got == FIRST_TRY) {
        got = ttp_call_bytes_read(into, from, TTP_CALL_STRING_MAX);
        length = ttp_call_text_length(into, got);
    }
    if (length < got || got == TTP_CALL_STRING_MAX)
        ttp_call_text_add(texts, i, TTAPE_VALUE_STRING, length);
}

bool ttp_call_texts_begin(struct ttp_call_values *values, uint32_t count, uintptr_t sp)
{
    struct ttp_call_texts *texts = ttp_texts_take(sp);
    if (texts == NULL)
        return false;
    texts->call_sp = 0; /* of no system call */
    for (uint32_t i = TTP_CALL_VALUES_MAX; i < count && i < TTP_VALUES_MAX; i++)
        texts->types[i] = TTAPE_VALUE_UNSIGNED;
    values->texts = texts;
    return true;
}

void ttp_call_text_sized(struct ttp_call_texts *texts, uint32_t i, uint64_t from, uint64_t size)
{
    uint32_t wanted = size < TTP_CALL_STRING_MAX ? (uint32_t)size : TTP_CALL_STRING_MAX;
    if (texts->used + wanted > sizeof(texts->bytes) || (from == 0 && wanted != 0))
        return;
    if (wanted == 0 || ttp_call_bytes_read(texts->bytes + texts->used, from, wanted) == wanted)
        ttp_call_text_add(texts, i, TTAPE_VALUE_STRING, wanted);
}

void ttp_call_text_keep(struct ttp_call_texts *texts, uint32_t i, uint32_t type,
                        const uint8_t *bytes, uint32_t size)
{
    if (texts->used + size > sizeof(texts->bytes))
        size = 0;
    for (uint32_t k = 0; k < size; k++)
        texts->bytes[texts->used + k] = bytes[k];
    ttp_call_text_add(texts, i, type, size);
}

void ttp_call_texts_strings(struct ttp_call_values *values, uint32_t strings, uintptr_t sp)
{
    if (strings == 0 || !ttp_call_texts_begin(values, values->count, sp))
        return;
    for (uint32_t i = 0; i < values->count; i++)
        if ((strings >> i & 1) != 0)
            ttp_call_text_read(values->texts, i, values->numbers[i]);
}
