/* Restartable sequences: where a thread is interrupted between `start` and the commit behind it,
 * the kernel goes on at `abort`, as it looks where the thread is. So none of it may be elsewhere,
 * nor the instruction in front of it, which arms the sequence.
 *
 *     struct rseq_cs    version, flags u32; start, length up to the commit's end, abort u64: in
 *                       sections __rseq_cs, or where __rseq_cs_ptr_array says
 *     abort             is behind a signature of 4 bytes
 *
 * Files need not have sections: whatever in data ends with the address of a place behind the C
 * library's signature is one, too. Who takes such a place's address makes one up as it runs. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/code/ways/ways.h"

#define SIGNATURE   0x53053053u
#define CS_BYTES    32u
#define LENGTH_MOST (1u << 20)

struct aborts {
    uint32_t *all;
    size_t count, capacity;
};

static int compare_aborts(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}

static bool find_aborts(struct tool_code *code, struct aborts *aborts)
{
    for (uint32_t s = 0; s < code->image->segment_count; s++) {
        const struct tool_image_segment *segment = &code->image->segments[s];
        const uint8_t *bytes = code->image->bytes + segment->offset;
        const uint8_t *end = bytes + segment->file_bytes;
        for (const uint8_t *at = bytes; segment->executable && at != NULL && end - at > 4; at++) {
            void *array = aborts->all;
            at = memchr(at, SIGNATURE & 0xff, (size_t)(end - at) - 4);
            if (at == NULL)
                break;
            if (tool_le32(at) != SIGNATURE)
                continue;
            if (!tool_bounded_grow(&code->memory, &array, &aborts->capacity, aborts->count + 1,
                                   sizeof *aborts->all))
                return false;
            aborts->all = array;
            aborts->all[aborts->count++] =
                (uint32_t)(segment->address + (uint64_t)(at - bytes) + 4);
        }
    }
    if (aborts->count > 0)
        qsort(aborts->all, aborts->count, sizeof *aborts->all, compare_aborts);
    return true;
}

static bool is_abort(const struct aborts *aborts, uint64_t address)
{
    for (size_t from = 0, end = aborts->count; from < end;) {
        size_t middle = from + (end - from) / 2;
        if (aborts->all[middle] == address)
            return true;
        if (aborts->all[middle] < address)
            from = middle + 1;
        else
            end = middle;
    }
    return false;
}

static bool close_sequence(struct tool_code *code, const struct tool_held_words *words,
                           uint64_t descriptor)
{
    uint64_t start = tool_held_at(code, words, descriptor + 8);
    uint64_t length = tool_held_at(code, words, descriptor + 16);
    if (!tool_code_holds(code, start) || length == 0 || length > LENGTH_MOST)
        return true;
    tool_code_set_entered(code, tool_held_at(code, words, descriptor + 24));
    return tool_closed_add(code, (uint32_t)start - 1, (uint32_t)(start + length),
                           TTP_PLAN_RESTARTABLE);
}

static bool close_listed(struct tool_code *code, const struct tool_held_words *words)
{
    const struct tool_image_part *all = &code->image->sequences;
    const struct tool_image_part *pointers = &code->image->sequence_pointers;
    bool fits = true;
    for (uint64_t at = 0; fits && at + CS_BYTES <= all->size_bytes; at += CS_BYTES)
        fits = close_sequence(code, words, all->address + at);
    for (uint64_t at = 0; fits && at + 8 <= pointers->size_bytes; at += 8)
        fits = close_sequence(code, words, tool_held_at(code, words, pointers->address + at));
    return fits;
}

static bool close_held(struct tool_code *code, const struct tool_held_words *words,
                       const struct aborts *aborts)
{
    bool fits = true;
    for (size_t i = 0; fits && i < words->count; i++)
        if (is_abort(aborts, words->all[i].word))
            fits = close_sequence(code, words, words->all[i].place - 24);
    for (uint32_t s = 0; fits && code->image->is_fixed && s < code->image->segment_count; s++) {
        const struct tool_image_segment *segment = &code->image->segments[s];
        const uint8_t *bytes = code->image->bytes + segment->offset;
        for (uint64_t at = 0; fits && at + 8 <= segment->file_bytes; at++)
            if (is_abort(aborts, tool_le64(bytes + at)))
                fits = close_sequence(code, words, segment->address + at - 24);
    }
    return fits;
}

/* Functions that take the address of a place to go on at. */
static bool close_made(struct tool_code *code, const struct aborts *aborts)
{
    bool fits = true;
    for (size_t i = 0; i < code->function_count; i++) {
        const struct tool_function *function = &code->functions[i];
        for (size_t n = function->first; fits && n < function->first + function->count; n++) {
            const struct tool_instruction *at = &code->instructions[n];
            if ((at->is_address && is_abort(aborts, at->target)) ||
                (code->image->is_fixed && is_abort(aborts, at->constant)))
                fits = tool_closed_add(code, function->start, function->end, TTP_PLAN_RESTARTABLE);
        }
    }
    return fits;
}

bool tool_rseq_mark(struct tool_code *code)
{
    struct aborts aborts = {0};
    struct tool_held_words words = {0};
    bool fits = find_aborts(code, &aborts);
    bool is_any = aborts.count > 0 || code->image->sequences.bytes != NULL ||
                  code->image->sequence_pointers.bytes != NULL;
    if (fits && is_any)
        fits = tool_held_open(code, &words) && close_listed(code, &words) &&
               close_held(code, &words, &aborts) && close_made(code, &aborts);
    tool_held_close(&words);
    free(aborts.all);
    return fits;
}
