/* Where a jump leads that leaves a function, by the word that was decided for it
 * (decide/tail_words.c). */
#include "recorder/runtime/patch/probe.h"

/* Memory of the module whose code runs. */
uintptr_t ttp_tail_target(uint64_t said, uintptr_t sp)
{
    if (TTP_LIKELY((said & (TTP_TAIL_REGISTER | TTP_TAIL_MEMORY)) == 0))
        return said;
    if ((said & TTP_TAIL_REGISTER) != 0)
        return ttp_probe_saved(sp, (uint32_t)said);
    return *(const uint64_t *)(said & ~TTP_TAIL_MEMORY);
}
