/* The recorder's inside. Two threads:
 *
 *   poll (the caller's)    arena_file.c  the arena is made, grows
 *                          drain.c       blocks of the arena -> slots of the spill file
 *                          spill.c       the queue between the two
 *   encoding               record_decoder.c  slots -> events
 *                          images.c      whose they are: processes, modules, sites, streams
 *                          call_filter.c what is kept of them
 *                          recording_output.c  writers, files, checkpoints
 *                          journal.c     what a recovery has to know
 *
 * A slot is given free only when a checkpoint covers it: its events are in partitions that are in
 * the file, and the journal says so. Until then the spill file has it. */
#ifndef TTP_RECORDING_INTERNAL_H
#define TTP_RECORDING_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tracetape/recording.h>

#include "format/base/wide.h"
#include "writer/arena/arena.h"
#include "writer/growing.h"
#include "writer/recording/decode/word_map.h"
#include "writer/recording/snapshot.h"

#define TTP_SLOT_MAGIC      0x746f6c7370617474ull /* "ttapslot" */
#define TTP_SLOT_HEAD_BYTES 64u
#define TTP_SLOT_BYTES      (TTP_SLOT_HEAD_BYTES + TTP_BLOCK_BYTES)
#define TTP_SLOT_MARK       UINT32_MAX /* in the queue, instead of a slot's number */

/* A slot of the spill file: this, the block's head, `count` records. */
struct ttp_slot_head {
    uint64_t magic;
    uint64_t checksum; /* XXH3-64 of all that follows this field */
    uint32_t first;    /* index in the block of its first record */
    uint32_t count;
    uint32_t is_last;     /* of its block */
    uint32_t ends_thread; /* nothing more of it will come, unless its destructors record */
    uint32_t reserved[8];
};

struct ttp_slot {
    struct ttp_slot_head head;
    struct ttp_block_head block;
    uint64_t records[TTP_BLOCK_RECORDS];
};

_Static_assert(sizeof(struct ttp_slot) == TTP_SLOT_BYTES, "no holes");

/* What the draining thread knows of a block of the arena. */
struct ttp_block_seen {
    uint64_t full_since; /* ms; a hole is waited for */
    uint32_t consumed;   /* records taken */
    uint32_t asked;      /* the last time that all was wanted and it was taken */
    bool is_held;        /* drained; a hook that was left may still store into it */
    bool is_dead;        /* its thread is gone */
    bool was_done;       /* in a round before */
};

/* A block in use, in one round. */
struct ttp_candidate {
    uint64_t serial, sequence, image;
    uint32_t index, pid, tid, state;
    bool is_wanted; /* although it is not full */
    bool must_wait; /* for its process's first thread */
    bool is_left;   /* it is being filled, although its thread has a later one */
    bool is_unused; /* and nothing ever came into it: another has its number, or its turn passed */
};

/* A traced process, for knowing when it has died. */
struct ttp_pid_seen {
    uint32_t pid;
    int fd; /* pidfd or -1 */
    bool is_dead, is_used;
};

struct ttp_arena_file {
    char *directory, *path; /* of the arena; the directory is ours alone */
    int fd;
    struct ttp_arena_head *head;
    uint32_t *states;
    uint8_t *blocks;
    size_t map_bytes;
    uint32_t capacity;           /* blocks that the file has room for */
    uint32_t ready, limit;       /* blocks allocated; blocks that may be */
    struct ttp_block_seen *seen; /* TTP_ARENA_BLOCKS_MAX */
    _Atomic bool is_cut;         /* the file was, and zeros stand for what it had */
};

struct ttp_spill {
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct ttp_growing queue; /* uint32_t slot numbers and marks, a ring */
    struct ttp_growing marks; /* struct ttp_mark: those in the queue, in order */
    size_t queue_first, queue_count;
    struct ttp_growing free; /* uint32_t */
    uint32_t slot_count, slot_limit;
    _Atomic uint32_t in_use, in_use_peak; /* read by whoever asks for the status */
    bool is_ended;                        /* no more will come */
};

struct ttp_module_seen {
    ttape_module module; /* strings owned */
    uint32_t id;         /* in the current output, TTAPE_NONE: not yet */
    bool is_gone;        /* unmapped */
    uint64_t gone_ns;    /* when that was told; 0: not known */
};

/* A function as the programs know it. */
struct ttp_site_seen {
    uint64_t address;
    uint32_t module; /* index into the layout's modules, or TTAPE_NONE */
    uint32_t kind, line;
    char *symbol, *file; /* NULL: not asked for yet */
    uint32_t id;         /* in the current output, or TTAPE_NONE */
    uint32_t select;
    uint64_t calls, culled, short_calls; /* for culling */
    bool has_callees, is_culled;
};

/* An address space: what forked children share until one of them changes it. */
struct ttp_layout {
    uint32_t users;
    uint32_t root, shared;      /* the first modules are those of that layout: one id for both */
    struct ttp_growing modules; /* struct ttp_module_seen */
    struct ttp_growing sites;   /* struct ttp_site_seen */
    struct ttp_word_map by_address;
    struct ttp_output *output;
};

struct ttp_image {
    uint64_t serial, started;
    uint32_t pid, parent_pid;
    uint32_t parent; /* image index or TTAPE_NONE */
    uint32_t layout;
    uint32_t process; /* id in its output, or TTAPE_NONE */
    char *path;
    struct ttp_growing incoming; /* struct ttp_module_seen, until MODULES_END */
    uint64_t scanned_ms;         /* when its maps were last read */
};

/* A frame as the filter sees it. */
struct ttp_call {
    uint32_t site;  /* index in the layout, TTAPE_NONE for signals */
    uint32_t state; /* enum in call_filter.c */
    uint64_t time_ns;
    bool opens_below;
    bool was_open; /* before the stream began: TTAPE_EVENT_OPEN */
};

struct ttp_call_stack {
    uint32_t number; /* of the stack */
    struct ttp_growing calls;
    uint32_t kept, below, pending; /* counts in calls */
};

struct ttp_thread {
    uint64_t serial;
    uint64_t sequence; /* of the block that was decoded last */
    uint32_t consumed; /* records of it */
    uint32_t image;
    uint32_t tid;
    uint32_t stream; /* id in its output, or TTAPE_NONE */
    uint64_t started, last_ns, epoch;
    uint64_t culled;  /* events left out since the last gap that says so */
    bool is_touched;  /* since the last checkpoint */
    bool has_signals; /* handlers have run */
    bool has_hole;    /* of a recovery: what it could not read comes before the next record */
    bool may_attach;  /* its last event is the stream's, and may still get values */
    char name[16];
    struct ttp_growing stacks; /* struct ttp_call_stack, where calls are filtered */
    uint32_t stack;
    /* after a rotation: the state in which the stream goes on in the next file */
    ttape_edge edge;
    struct ttp_growing frames; /* ttape_open_frame */
    bool must_resume;
};

/* A point up to which all is in partitions; it counts once they are in the file. */
struct ttp_checkpoint {
    uint64_t partitions;        /* of the file */
    struct ttp_growing journal; /* bytes that become true then */
    struct ttp_growing slots;   /* uint32_t: may be reused then */
};

/* A trace file that is being written. */
struct ttp_output {
    ttape_writer *writer;
    char *path, *final_path; /* final_path: what it will be called; NULL: path is final */
    int fd;
    uint32_t number;                 /* of the file in the recording, from 0 */
    uint64_t event_count, sealed_at; /* appended; how many of them when last sealed */
    uint64_t opened_ms, last_event_ms, written_bytes;
};

/* A module or site by its layout and place in it. */
struct ttp_place {
    uint32_t layout, index;
};

#define TTP_BATCH_EVENTS 1024u

struct ttape_recording {
    ttape_recording_options options;
    ttape_allocator allocator;
    char *output, *directory;
    int parent_fd, directory_fd; /* of the output's directory, of our own */
    bool has_directory;
    struct ttp_arena_file arena;
    struct ttp_spill spill;
    struct ttp_growing pids;       /* struct ttp_pid_seen */
    struct ttp_growing candidates; /* struct ttp_candidate */
    struct ttp_slot *slot;         /* of the draining thread */
    struct ttp_word_map known;     /* image serials that were drained */
    bool may_rest;                 /* blocks of ended threads, for a round */
    uint64_t round, polled_ms, checked_ms, threads_checked_ms, partial_ms, opened_ms;
    uint32_t flushes_seen, snapshots_seen, stops_seen;
    uint64_t drained_bytes;
    /* clock */
    uint64_t clock_base, clock_base_ns, clock_scale; /* ns = base + (ticks * scale >> 32) */
    /* encoding thread */
    pthread_t thread;
    pthread_cond_t started; /* with spill.lock */
    bool is_synchronous;    /* there was no thread to be had */
    bool has_started, has_thread, has_spill, is_opened, is_finished;
    _Atomic bool is_discarded;
    uint32_t first_pid; /* of the first process that recorded anything */
    bool is_direct;     /* the end: slots are decoded at once, by the encoding thread */
    bool is_replaying;  /* a recovery: nothing is journaled */
    struct ttp_snapshots snapshots;
    _Atomic uint64_t arena_lost;
    uint64_t finished_bytes;
    uint64_t overwritten;       /* events that were recorded and are not kept */
    bool is_full;               /* the trace has its full size: nothing more goes into it */
    struct ttp_growing images;  /* struct ttp_image */
    struct ttp_growing layouts; /* struct ttp_layout */
    struct ttp_growing threads; /* struct ttp_thread * */
    struct ttp_word_map image_by_serial, thread_by_serial;
    struct ttp_growing outputs; /* struct ttp_output * */
    /* what has an id in the current file, in order: a file after a rotation has the same ids */
    struct ttp_growing processes;      /* uint32_t image */
    struct ttp_growing streams;        /* uint32_t thread */
    struct ttp_growing modules, sites; /* struct ttp_place */
    struct ttp_output *current;        /* NULL with separate files */
    struct ttp_growing consumed;       /* uint32_t slots that no checkpoint covers yet */
    struct ttp_growing journal;        /* bytes to be written with the next checkpoint */
    struct ttp_growing touched;        /* struct ttp_thread *: changed since the last checkpoint */
    struct ttp_growing waiting;        /* struct ttp_checkpoint: sealed, not in the file yet */
    uint64_t sealed_ms;
    uint32_t next_file;
    int journal_fd;
    ttape_event events[TTP_BATCH_EVENTS];
    uint32_t event_count;
    const struct ttp_slot *decoded_slot; /* now, and where in it */
    uint32_t decoded_at;
    bool has_peeked;            /* at the modules that the rest of it tells of */
    uint64_t told_ns;           /* time of the message that is being taken */
    struct ttp_growing values;  /* ttape_value of the event being decoded */
    struct ttp_growing files;   /* char *, finished */
    struct ttp_growing numbers; /* struct ttp_number: metadata of the caller */
    ttape_status status;        /* of the encoding thread */
    ttape_error error;
    _Atomic uint64_t appended, lost, culled, written;
    _Atomic uint64_t uncounted; /* gaps of which nobody knows how many events they are */
    _Atomic uint32_t process_count, thread_count, file_count, live_count, snapshot_failures;
    _Atomic bool failed, stopped, wants_snapshot;
};

uint64_t ttp_now_ms(void);
/* What a thread that is about to be made blocks. */
void ttp_signals_of_thread(sigset_t *blocked);

/* recording_directory.c: `name` is one in our own directory, `path` that of an output */
ttape_status ttp_directory_make(ttape_recording *r, const char *output, ttape_error *err);
int ttp_directory_create(const ttape_recording *r, const char *name, int flags);
int ttp_directory_create_final(const ttape_recording *r, const char *path);
ttape_status ttp_directory_publish(const ttape_recording *r, const char *name, const char *path,
                                   ttape_error *err);
void ttp_directory_sync(const ttape_recording *r);
void ttp_directory_close(ttape_recording *r, bool remove);
const char *ttp_directory_base(const char *path);
ttape_status ttp_directory_fail(ttape_error *err, const char *what, const char *path);

/* arena_file.c */
ttape_status ttp_arena_make(ttape_recording *r, ttape_error *err);
void ttp_arena_grow(ttape_recording *r, uint32_t thread_count);
void ttp_arena_free_block(ttape_recording *r, uint32_t index);
/* Stops it for the programs. */
void ttp_arena_close(ttape_recording *r, bool remove);

/* What no gap tells of. One more where it was cut: nobody knows what was there. */
static inline uint64_t ttp_arena_lost(const ttape_recording *r)
{
    return r->arena_lost + r->arena.is_cut;
}

/* recorder_clock.c */
void ttp_clock_choose(ttape_recording *r);

#define TTP_CLOCK_SCALE_BITS 32

static inline uint64_t ttp_clock_scaled(const ttape_recording *r, uint64_t ticks)
{
    ttape_wide ns = ttp_wide_multiply(ticks, r->clock_scale);
    return ns.high << (64 - TTP_CLOCK_SCALE_BITS) | ns.low >> TTP_CLOCK_SCALE_BITS;
}

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t ttp_clock_ns(const ttape_recording *r, uint64_t ticks)
{
    if (__builtin_expect(ticks < r->clock_base, 0))
        return r->clock_base_ns - ttp_clock_scaled(r, r->clock_base - ticks);
    return r->clock_base_ns + ttp_clock_scaled(r, ticks - r->clock_base);
}

/* drain.c: everything: also blocks that are not full; at the end: of processes that live */
ttape_status ttp_drain_round(ttape_recording *r, bool everything, bool at_end, ttape_error *err);

/* spill.c */
ttape_status ttp_spill_open(ttape_recording *r, ttape_error *err);
bool ttp_spill_has_room(ttape_recording *r);
/* Writes the slot and queues it: only then may its block be given back. */
ttape_status ttp_spill_put(ttape_recording *r, struct ttp_slot *slot, ttape_error *err);
/* Puts a place into the queue that is reached when all that was drained before has been encoded. */
ttape_status ttp_spill_mark(ttape_recording *r, const struct ttp_mark *mark, ttape_error *err);
void ttp_spill_take_mark(ttape_recording *r, struct ttp_mark *mark);
bool ttp_spill_has_mark(ttape_recording *r);
/* Waits for a slot, or TTP_SLOT_MARK; false: none will come. */
bool ttp_spill_take(ttape_recording *r, uint32_t *number, uint32_t wait_ms, bool *timed_out);
ttape_status ttp_spill_read(int fd, uint32_t number, struct ttp_slot *slot, ttape_error *err);
bool ttp_slot_is_whole(const struct ttp_slot *slot);
void ttp_spill_release(ttape_recording *r, const uint32_t *numbers, size_t count);
void ttp_spill_end(ttape_recording *r);
void ttp_spill_close(ttape_recording *r);

/* record_decoder.c */
ttape_status ttp_decode_slot(ttape_recording *r, const struct ttp_slot *slot, ttape_error *err);
/* Applies the messages about modules that stand further on in the slot that is being decoded. */
ttape_status ttp_decode_peek_modules(ttape_recording *r, struct ttp_thread *thread,
                                     ttape_error *err);
ttape_status ttp_decode_flush(ttape_recording *r, struct ttp_thread *thread, ttape_error *err);

/* images.c */
struct ttp_image *ttp_image_of(ttape_recording *r, const struct ttp_block_head *block,
                               ttape_error *err);
ttape_status ttp_thread_of(ttape_recording *r, const struct ttp_block_head *block,
                           struct ttp_thread **out, ttape_error *err);
/* A module that was told of too late: it was mapped before. */
ttape_status ttp_image_early_module(ttape_recording *r, struct ttp_thread *thread,
                                    const uint8_t *bytes, size_t size_bytes, ttape_error *err);
ttape_status ttp_image_message(ttape_recording *r, struct ttp_thread *thread, uint32_t kind,
                               const uint8_t *bytes, size_t size_bytes, ttape_error *err);
/* Index of the site in the thread's layout; it has an id in the current output. */
ttape_status ttp_site_of(ttape_recording *r, struct ttp_thread *thread, uint64_t address,
                         uint32_t *index, ttape_error *err);
struct ttp_site_seen *ttp_site_at(ttape_recording *r, const struct ttp_thread *thread,
                                  uint32_t index);
struct ttp_output *ttp_output_of(ttape_recording *r, const struct ttp_thread *thread);
ttape_status ttp_stream_ready(ttape_recording *r, struct ttp_thread *thread, ttape_error *err);
ttape_status ttp_thread_touch(ttape_recording *r, struct ttp_thread *thread, ttape_error *err);
/* Defines everything again, with the same ids, in the file that is current now. */
ttape_status ttp_images_define_again(ttape_recording *r, ttape_error *err);
void ttp_images_close(ttape_recording *r);

/* call_filter.c */
bool ttp_filter_is_on(const ttape_recording *r);
ttape_status ttp_filter_event(ttape_recording *r, struct ttp_thread *thread, ttape_event *event,
                              uint32_t site, ttape_error *err);
/* The calls of the stack that the thread is on, those that are not kept included; NULL: none. */
const struct ttp_call_stack *ttp_filter_stack(const struct ttp_thread *thread);
/* Whether that one of them, from the outermost, is a signal's handler. */
bool ttp_filter_is_signal(const struct ttp_call_stack *stack, uint32_t call);
ttape_status ttp_filter_settle(ttape_recording *r, struct ttp_thread *thread, ttape_error *err);
void ttp_filter_close(ttape_recording *r, struct ttp_thread *thread);

/* recording_output.c */
/* The name of a file of a rotation: run.ttape -> run.0001.ttape; NULL: no memory. */
char *ttp_output_piece(const char *output, uint32_t number);
/* A new file; pid is in its name where each process has its own (0: no). */
ttape_status ttp_output_begin(ttape_recording *r, uint32_t pid, struct ttp_output **out,
                              ttape_error *err);
ttape_status ttp_output_append(ttape_recording *r, struct ttp_thread *thread,
                               const ttape_event *events, size_t count, ttape_error *err);
/* After a slot: a checkpoint where one is due (or wanted now), rotation, limits. */
ttape_status ttp_output_due(ttape_recording *r, bool now, ttape_error *err);
/* All that was decoded is in the files. */
ttape_status ttp_outputs_flush(ttape_recording *r, ttape_error *err);
/* Adds a struct ttp_number. */
ttape_status ttp_number_add(ttape_recording *r, struct ttp_growing *list, const char *key,
                            uint64_t value, ttape_error *err);
/* What the metadata says of now: struct ttp_number. */
ttape_status ttp_output_numbers(ttape_recording *r, struct ttp_growing *list, ttape_error *err);
ttape_status ttp_outputs_finish(ttape_recording *r, ttape_error *err);
void ttp_outputs_close(ttape_recording *r);

#endif
