/* Blocks' numbers: of the calls of the callback in a function's code, which one this is. Found by
 * looking at the code's bytes from the function's beginning on, as who decodes does; what was found
 * is kept. */
#include "recorder/runtime/branch/branch_state.h"

#define CALL_OPCODE    0xE8u
#define FUNCTION_BYTES 65536u /* code behind a function's beginning that is looked at */
#define KEPT           4096u  /* a power of two */
#define KEPT_SHIFT     52u    /* 64 less the bits of KEPT */

/* An address of 48 bits, and 1 more than its number, in one word: any thread may write it. */
static uint64_t kept[KEPT];
static uint16_t primes[TTAPE_BRANCH_NUMBERS];

bool ttp_branch_is_call(uintptr_t end, uintptr_t callback)
{
    const uint8_t *code = (const uint8_t *)end - TTP_CALL_BYTES;
    uint32_t to = (uint32_t)code[1] | (uint32_t)code[2] << 8 | (uint32_t)code[3] << 16 |
                  (uint32_t)code[4] << 24;
    return code[0] == CALL_OPCODE && end + (uintptr_t)(int32_t)to == callback;
}

static uint32_t count_calls(uintptr_t function, uintptr_t end, uintptr_t callback)
{
    uint32_t count = 0;
    for (uintptr_t at = function + TTP_CALL_BYTES; at < end; at++)
        count += ttp_branch_is_call(at, callback);
    return count;
}

uint32_t ttp_branch_number(uintptr_t function, uintptr_t end, uintptr_t callback)
{
    if (end <= function || end - function > FUNCTION_BYTES)
        return TTP_BRANCH_NO_NUMBER;
    uint64_t *place = &kept[(end * TTAPE_BRANCH_FACTOR) >> KEPT_SHIFT];
    uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (TTP_LIKELY(seen >> 16 == end && (seen & 0xFFFF) != 0))
        return (uint32_t)(seen & 0xFFFF) - 1;
    uint32_t number = count_calls(function, end, callback);
    if (number < 0xFFFF)
        __atomic_store_n(place, (uint64_t)end << 16 | (number + 1), __ATOMIC_RELAXED);
    return number;
}

void ttp_branch_find_primes(void)
{
    uint32_t count = 0;
    for (uint32_t candidate = 2; count < TTAPE_BRANCH_NUMBERS; candidate++) {
        bool is_prime = true;
        for (uint32_t i = 0; i < count && is_prime; i++)
            is_prime = candidate % primes[i] != 0;
        if (is_prime)
            primes[count++] = (uint16_t)candidate;
    }
}

uint64_t ttp_branch_prime(uint32_t number)
{
    return number < TTAPE_BRANCH_NUMBERS ? primes[number] : 0;
}
