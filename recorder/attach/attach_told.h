/* What the recording is told of a process that was attached to: its image, its modules, the names
 * of its threads. */
#ifndef TTP_ATTACH_TOLD_H
#define TTP_ATTACH_TOLD_H

#include "recorder/arena/agent_layout.h"
#include "recorder/ptrace/outside.h"

void ttp_told_name(uint32_t pid, uint32_t thread_id, char name[16]);
/* Begins the stream of the process's first thread, which then goes on with it. */
void ttp_told_give(struct ttp_outside *outside, uint32_t pid, struct ttp_agent_known *known,
                   uint64_t *image);

#endif
