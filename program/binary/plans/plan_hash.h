/* The hash that plans are called by. */
#ifndef TOOL_PLAN_HASH_H
#define TOOL_PLAN_HASH_H

#include "program/binary/plans/plan_cache.h"
#include "recorder/arena/plan.h"

/* Who does not know the key makes no two files with one hash. */
void tool_plan_hash(uint8_t hash[TTP_PLAN_CONTENT_BYTES], const uint8_t *bytes, size_t size_bytes,
                    const uint8_t key[TOOL_PLAN_KEY_BYTES]);

#endif
