/* Records of a thread that another process writes for it: the same blocks, the same messages, by
 * the rules of spec/recording.md. Nothing interrupts here, so that none of the runtime's care is
 * needed. */
#ifndef TTP_WRITER_SYSCALLS_OUTSIDE_H
#define TTP_WRITER_SYSCALLS_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "recorder/arena/arena.h"
#include "recorder/arena/record.h"

struct ttp_outside {
    struct ttp_arena_head *head;
    uint8_t *file; /* mapped whole */
    uint64_t bytes;
    uint64_t lost;
};

/* A thread of one process image. */
struct ttp_outside_thread {
    uint64_t serial, image; /* serial 0: nothing was written yet */
    uint64_t sequence, epoch, started;
    uint64_t dropped; /* events since the last that was written */
    uint32_t pid, tid, block;
    uint32_t at; /* of the next record in the block; 0: there is none */
    char name[16];
};

ttape_status ttp_outside_open(struct ttp_outside *outside, const char *path, ttape_error *err);
void ttp_outside_close(struct ttp_outside *outside);

uint64_t ttp_outside_serial(struct ttp_outside *outside);
uint64_t ttp_outside_clock(const struct ttp_outside *outside); /* the arena's */
/* A call, an extension or a message; false: there was no room, and the event is lost. */
bool ttp_outside_call(struct ttp_outside *outside, struct ttp_outside_thread *thread, uint64_t tag,
                      uint64_t address);
/* A call that was open before. */
bool ttp_outside_call_open(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                           uint64_t address);
bool ttp_outside_extension(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                           uint64_t type, uint64_t payload);

/* Recording is on again: it went off with that period, and so many events were left out. */
void ttp_outside_stopped(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                         uint32_t period, uint64_t events);

struct ttp_outside_field {
    const void *data;
    size_t size_bytes;
};

bool ttp_outside_message(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                         uint32_t kind, const struct ttp_outside_field *fields, uint32_t count);
/* One end of a call, with values; what fits into no block is left out. The time is one of
 * ttp_outside_clock, from behind the last record. */
struct ttp_outside_end {
    uint64_t tag, address, now;
};
bool ttp_outside_valued(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                        const struct ttp_outside_end *call, const struct ttp_outside_field *fields,
                        uint32_t count);
/* The thread goes on with its stream by itself. */
void ttp_outside_give(struct ttp_outside *outside, struct ttp_outside_thread *thread,
                      struct ttp_mark_stream *given);
/* The image of a process that records itself; 0: none of its records is there. */
uint64_t ttp_outside_image_of(struct ttp_outside *outside, uint32_t pid);
void ttp_outside_lose(struct ttp_outside *outside);
/* Tells the recorder, as the runtime does, that the process executes a program; it is not traced,
 * for the rights that it has. */
void ttp_outside_let_go(struct ttp_outside *outside, uint32_t pid, const char *path);
/* No more comes of this thread. */
void ttp_outside_end(struct ttp_outside *outside, struct ttp_outside_thread *thread);

#endif
