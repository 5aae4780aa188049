/* What threads are called: by themselves or by others, whose records may come before theirs. */
#ifndef TTP_DECODE_THREAD_NAMES_H
#define TTP_DECODE_THREAD_NAMES_H

#include "recorder/state/recording_internal.h"

/* A name of a thread of which nothing has come yet. */
struct ttp_thread_name {
    uint32_t image, tid;
    uint64_t ns;
    char name[16];
};

/* A message about its name, or another thread's of its image; the latest one holds. */
ttape_status ttp_thread_named(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                              uint64_t ns, const uint8_t *bytes, size_t size_bytes,
                              ttape_error *err);
/* A thread is new: it has the name that it got before. */
void ttp_thread_take_name(struct ttp_encode *e, struct ttp_thread *thread);

#endif
