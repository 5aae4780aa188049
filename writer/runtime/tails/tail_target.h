/* Where a jump that leaves a function leads to: a word in its stub says how that is found. */
#ifndef TTP_RUNTIME_TAIL_TARGET_H
#define TTP_RUNTIME_TAIL_TARGET_H

#include "writer/runtime/patch/code_put.h"

struct dl_phdr_info;

/* Of a jump of that module, which is the moved code [from, to). is_function: a function of the plan starts where it
 * leads, so that it is none of the linker's stubs. 0: it is not known. */
uint64_t ttp_tail_target_of(const struct dl_phdr_info *info, const struct ttp_moved *moved,
                            uint32_t from, uint32_t to, bool is_function);
/* The address, by such a word, where the stub has called its hook. */
uintptr_t ttp_tail_target(uint64_t said, uintptr_t sp);

#endif
