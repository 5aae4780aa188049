/* What a program writes to chosen descriptors, for a log that it does not know it is read with: of
 * each write, behind its result, a hash of the first bytes and the context value. Looked at when
 * the call has ended: only what was written counts, and of what did not come back nothing did. */
#include <sys/syscall.h>
#include <sys/uio.h>

#include "recorder/runtime/context/context_state.h"
#include "recorder/runtime/patch/patch.h"

#define PIECES_MAX 16u /* of a writev that are looked at */

/* Which call this will be when it ends: a handler that writes meanwhile takes its place, and it has
 * nothing then. */
void ttp_call_line_begins(const struct ttp_call_registers *r, uintptr_t sp)
{
    uint32_t number = (uint32_t)r->rax, fd = (uint32_t)r->rdi;
    bool is_write = number == SYS_write || number == SYS_writev || number == SYS_pwrite64;
    if (!is_write || fd >= 64 || (ttp_arena.head.line_descriptors >> fd & 1) == 0)
        return;
    ttp_thread.line_number = number;
    TTP_SIGNAL_FENCE();
    ttp_thread.line_sp = sp;
}

/* The pieces' first bytes, one behind the other. */
static bool hash_pieces(uint64_t pieces, uint64_t count, uint32_t left, uintptr_t sp,
                        uint64_t *hash)
{
    for (uint64_t i = 0; i < count && left != 0; i++) {
        uint64_t from, bytes;
        if (i == PIECES_MAX || !ttp_call_word_read(pieces + i * sizeof(struct iovec), &from) ||
            !ttp_call_word_read(pieces + i * sizeof(struct iovec) + sizeof(from), &bytes))
            return false;
        uint32_t size = bytes < left ? (uint32_t)bytes : left;
        if (size != 0 && !ttp_call_bytes_hash(from, size, sp, hash))
            return false;
        left -= size;
    }
    return left == 0;
}

static void add_value(struct ttp_call_values *values, uint64_t number, uint8_t type)
{
    values->types[values->count] = type;
    values->numbers[values->count++] = number;
}

bool ttp_call_line_ended(struct ttp_call_values *values, const struct ttp_call_registers *r,
                         uintptr_t sp)
{
    uint64_t written = values->numbers[0], hash = TTP_HASH_FIRST;
    if (ttp_thread.line_sp != sp)
        return false;
    ttp_thread.line_sp = 0;
    uint32_t hashed = written < TTP_LINE_HASHED ? (uint32_t)written : TTP_LINE_HASHED;
    if ((int64_t)written <= 0 || !ttp_has_state() ||
        !(ttp_thread.line_number == SYS_writev ? hash_pieces(r->rsi, r->rdx, hashed, sp, &hash)
                                               : ttp_call_bytes_hash(r->rsi, hashed, sp, &hash)))
        return false;
    ttape_context_value context = ttp_context_at(sp);
    values->has_types = true;
    values->types[0] = TTAPE_VALUE_SIGNED;
    add_value(values, hash, TTAPE_VALUE_POINTER);
    if ((context.flags & TTAPE_CONTEXT_UNKNOWN) == 0) {
        add_value(values, context.value, TTAPE_VALUE_POINTER);
        add_value(values, context.depth, TTAPE_VALUE_UNSIGNED);
    }
    return true;
}
