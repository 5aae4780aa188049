/* Where a jump leads that leaves a function, by the word that was decided for it
 * (decide/tail_words.c). */
#include "recorder/runtime/patch/probe.h"

#define NO_ADDRESS (~(((uint64_t)1 << TTP_TAIL_EMPTY) - 1))

/* Memory of the module whose code runs. What the linker's stub jumps through is filled by its first
 * call: until then nobody knows with what. */
uintptr_t ttp_tail_target(uint64_t said, uintptr_t sp)
{
    if (TTP_LIKELY((said & (TTP_TAIL_REGISTER | TTP_TAIL_MEMORY)) == 0))
        return said;
    if ((said & TTP_TAIL_REGISTER) != 0)
        return ttp_probe_saved(sp, (uint32_t)said);
    uint64_t there = *(const uint64_t *)(said & ~NO_ADDRESS);
    bool is_empty = (said & TTP_TAIL_LINKED) != 0 &&
                    (there & TTP_TAIL_EMPTY_IS) == (said >> TTP_TAIL_EMPTY & TTP_TAIL_EMPTY_IS);
    return is_empty ? 0 : there;
}

/* The loader, which may come in between, keeps what functions are given. */
uintptr_t ttp_tail_registers(uintptr_t sp)
{
    static const uint8_t words[] = {TTP_SAVED_RAX, TTP_SAVED_RCX, TTP_SAVED_RDX, TTP_SAVED_RSI,
                                    TTP_SAVED_RDI, TTP_SAVED_R8,  TTP_SAVED_R9};
    uint64_t mixed = 1;
    for (uint32_t i = 0; i < sizeof(words); i++) {
        mixed = (mixed ^ ttp_probe_saved(sp, words[i])) * 0x9e3779b97f4a7c15u;
        mixed ^= mixed >> 32;
    }
    return mixed;
}
