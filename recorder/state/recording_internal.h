/* The recorder's inside. Two threads work, each on a struct of its own:
 *
 *   polling (the caller's)  struct ttp_drain
 *                           arena_file.c  makes the arena and lets it grow
 *                           drain.c       copies blocks of the arena to slots of the spill file
 *                           pids.c        sees processes die
 *                           ends.c        writes down how threads and processes ended
 *                           spill.c       keeps the slots, and the queue between the two threads
 *   encoding                struct ttp_encode
 *                           record_decoder.c  turns the records of slots into events
 *                           end_facts.c       what the trace says of ends
 *                           images.c          finds their processes, modules, sites and streams
 *                           held_calls.c      holds what conditions on calls have to decide
 *                           call_filter.c     leaves out calls, by the filters
 *                           recording_output.c  writes trace files, makes checkpoints
 *                           output_file.c     one of them: its name, descriptor and writer
 *                           switches/         when threads did not run, which the kernel tells both
 *                           journal.c         writes what a recovery has to know
 *
 * Every record goes through the spill file, also when encoding keeps up: so no record depends on
 * the recorder's life (spec/decisions/0030-recording.md). A slot may be reused after a checkpoint.
 * A checkpoint means: the slot's events are in partitions on disk, and the journal says so. */
#ifndef TTP_RECORDING_INTERNAL_H
#define TTP_RECORDING_INTERNAL_H

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tracetape/recording.h>

#include "recorder/arena/arena.h"
#include "recorder/state/chosen_calls.h"
#include "recorder/state/clock_lines.h"
#include "recorder/state/ended.h"
#include "recorder/state/held_calls.h"
#include "recorder/state/pace.h"
#include "recorder/state/plain_batch.h"
#include "recorder/state/snapshot.h"
#include "recorder/state/switch_threads.h"
#include "recorder/state/thread_times.h"
#include "recorder/state/unrecorded.h"
#include "recorder/state/waiting_calls.h"
#include "recorder/state/word_map.h"
#include "writer/os_status.h"
#include "writer/writer_threads.h"

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
    uint32_t early;      /* the round in which a block before it was missing first */
    bool is_held;        /* drained; a hook that was left may still store into it */
    bool is_dead;        /* its thread is gone */
    bool has_end;        /* that its thread ended, or recording did, is written */
    struct ttp_end gone; /* where it ended before its process, and nobody knows how */
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
    bool is_last;   /* of its thread */
};

/* A traced process, for knowing when it has died. */
struct ttp_pid_seen {
    uint32_t pid;
    int fd;                /* pidfd or -1 */
    bool is_dead, is_used; /* used: a block is its */
    bool is_followed;      /* an end is to be told still, of a thread without a block */
    bool is_told;          /* a thread of it has its end */
    struct ttp_end end;
};

struct ttp_arena_file {
    char *directory, *path; /* of the arena; the directory is ours alone */
    int fd;
    struct ttp_arena_head *head;
    uint32_t *states;
    uint8_t *blocks;
    size_t map_bytes;
    uint64_t *verdicts;          /* NULL: there are none */
    uint32_t most, capacity;     /* blocks that may be mapped; that the file has room for */
    uint32_t ready, least;       /* blocks allocated; those that are never given back */
    uint32_t peak;               /* of ready */
    uint32_t bound;              /* what ready may become */
    uint64_t bound_ms;           /* when that was found out */
    uint64_t quiet_ms;           /* since when most of them are free; 0: they are not */
    uint32_t thread_blocks;      /* what a thread adds to it, where a size was asked for */
    bool is_sized, has_verdicts; /* a size was asked for; verdicts.h */
    uint64_t stall_ticks;        /* of the arena's head */
    bool is_full;                /* its file system has no room for more */
    struct ttp_block_seen *seen; /* TTP_ARENA_BLOCKS_MAX */
};

/* The spill file and the queue: both threads use it, under its lock. */
struct ttp_spill {
    ttape_allocator allocator;
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct ttp_growing queue;    /* uint32_t slot numbers and marks, a ring */
    struct ttp_growing marks;    /* struct ttp_mark: those in the queue, in order */
    struct ttp_growing lines;    /* struct ttp_tick_rate: of the clock, for slots put after them */
    _Atomic uint32_t line_count; /* lines.count, also read without the lock */
    size_t queue_first;
    struct ttp_growing free; /* uint32_t */
    uint32_t slot_count, slot_limit;
    uint64_t refused_count;               /* how often there was no room */
    _Atomic uint32_t served_count;        /* marks that were reached, and answered */
    _Atomic uint32_t in_use, in_use_peak; /* also read without the lock, for the status */
    bool is_ended;                        /* no more slots will come */
};

struct ttp_module_seen {
    ttape_module module;                    /* strings owned */
    uint32_t id;                            /* in the current output, TTAPE_NONE: not yet */
    bool is_gone, is_asked, is_application; /* unmapped; application_part.c */
    uint64_t gone_ns;                       /* when its end was recorded; 0: not known */
};

/* A function as the programs know it. */
struct ttp_site_seen {
    uint64_t address;
    uint32_t module; /* index into the layout's modules, or TTAPE_NONE */
    uint32_t kind, line;
    char *symbol, *file; /* NULL: not asked for yet */
    uint32_t id;         /* in the current output, or TTAPE_NONE */
    uint32_t select;
    uint32_t first_condition, condition_count; /* of e->judging.conditions; none: no call differs */
    uint64_t rules;                            /* of the filter that has them, as bits */
    uint64_t calls, culled, short_calls;       /* for culling */
    bool has_callees, is_culled, is_checkpoint, has_call_site;
    bool has_path;        /* the program told it ... */
    bool is_cut;          /* ... and that there are more frames further out ... */
    uint32_t first_frame; /* ... and layout->frames, innermost first */
    uint32_t frame_count;
    uint32_t path; /* in the current output, once there is an id */
};

/* An address space: what forked children share until one of them changes it. */
struct ttp_layout {
    uint32_t users;
    uint32_t root, shared;      /* the first modules are those of that layout: one id for both */
    struct ttp_growing modules; /* struct ttp_module_seen */
    struct ttp_growing sites;   /* struct ttp_site_seen */
    struct ttp_growing frames;  /* uint64_t: return addresses of the paths of sites */
    struct ttp_word_map by_address, by_frame, by_target, by_call;
    struct ttp_output *output;
};

struct ttp_image {
    uint64_t serial, started;
    uint32_t pid, parent_pid;
    uint32_t parent; /* image index or TTAPE_NONE */
    uint32_t layout;
    uint32_t process;  /* id in its output, or TTAPE_NONE */
    char *path, *link; /* link: by which it was executed, where that has another name; or NULL */
    struct ttp_growing incoming; /* struct ttp_module_seen, until MODULES_END */
    uint64_t scanned_ms;         /* when its maps were last read */
    struct ttp_end end;          /* how the process ended, as it said itself or as it was seen */
    bool is_over;                /* the recorder has seen it end */
    bool is_end_told;            /* in one of its streams */
};

struct ttp_thread {
    uint64_t serial;
    uint64_t sequence; /* of the block that was decoded last */
    uint32_t consumed; /* records of it */
    uint32_t image;
    uint32_t tid;
    uint32_t stream; /* id in its output, or TTAPE_NONE */
    uint64_t started, last_ns, epoch, jump_ns, last_record;
    uint64_t culled;              /* events left out since the last gap that says so */
    bool is_touched, has_signals; /* since the last checkpoint; handlers have run */
    bool has_hole;   /* of a recovery: what it could not read comes before the next record */
    bool has_ended;  /* the trace says so */
    bool may_attach; /* its last event is the stream's, and may still get values */
    bool has_jumped; /* behind that event its innermost function has jumped, at jump_ns */
    bool is_told_of; /* what comes is the recorder's */
    bool is_followed, has_placed; /* its switches are known; it has an event, at placed_ns */
    bool has_said;                /* that its process exits */
    uint64_t placed_ns, named_ns; /* 0: the name is that of its first block */
    size_t first_file;            /* how many files there were when its stream began */
    char name[16];
    struct ttp_growing stacks; /* struct ttp_call_stack, where calls are filtered */
    struct ttp_waiting waiting;
    struct ttp_held held; /* before that, where conditions choose them */
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
    const struct ttp_directory *directory;
    char *path, *final_path;         /* final_path: what it will be called; NULL: path is final */
    int fd;                          /* -1: it is opened when something is written */
    uint32_t number;                 /* of the file in the recording, from 0 */
    uint64_t event_count, sealed_at; /* appended; how many of them when last sealed */
    uint64_t counted;                /* partitions, when the pace was last judged */
    uint64_t opened_ms, last_event_ms, written_bytes;
};

/* A module or site by its layout and place in it. */
struct ttp_place {
    uint32_t layout, index;
};

/* The folders that a recording writes into; constant once it is open. */
struct ttp_directory {
    char *output, *path;  /* of the trace; of our own folder */
    int parent_fd, fd;    /* of the output's folder, of our own */
    bool is_made;         /* our own */
    bool replaces_output; /* files that are there already */
    bool keeps_old;       /* traces that are there already, as NAME.old */
};

/* What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, from when on. */
struct ttp_realtime {
    _Atomic uint64_t from_ns, offset_ns;
};

#define TTP_REALTIMES_MAX 17u /* the first, and the changes that are told */

/* What several threads read and write. */
struct ttp_shared {
    /* the arena's counts, as the polling thread read them last */
    _Atomic uint64_t arena_lost, arena_sandboxed, waited_ticks, wait_count;
    _Atomic uint64_t block_lost; /* events in blocks that say of no thread */
    /* the clock, as that thread found it; realtimes: ascending, those below the count are set */
    _Atomic uint64_t clock_error_ns, clock_drift_ppb;
    _Atomic uint32_t clock_jumps, realtime_count;
    struct ttp_realtime realtimes[TTP_REALTIMES_MAX];
    /* by how much these may be wrong; against UTC at first, last, at most; UINT64_MAX: not known */
    _Atomic uint64_t realtime_error_ns, utc_error_ns, utc_error_end_ns, utc_error_most_ns;
    _Atomic uint64_t unrecorded[TTAPE_UNRECORDED_COUNT]; /* processes, by reason */
    _Atomic uint64_t unseen[TTP_UNSEEN_COUNT];           /* what was patched, and not */
    _Atomic bool is_arena_cut; /* its file was: zeros stand for what it had */
    _Atomic bool failed, stopped, wants_snapshot, is_discarded, has_other_functions, is_kept;
    _Atomic uint32_t stop_reason;            /* ttape_stop_reason, of stopped */
    struct ttp_hits hits;                    /* entries of such sites */
    _Atomic bool is_checkpointing;           /* one was asked for and is not answered */
    _Atomic uint64_t checkpoint_ms, rest_ms; /* when the last one began; none before that */
};

/* The polling thread's state; the encoding thread's after ttp_spill_end, when it drains the rest.
 * Other threads read the atomic counters. */
struct ttp_drain {
    ttape_allocator allocator;
    struct ttp_arena_file arena;
    struct ttp_spill *spill;
    struct ttp_encode *direct;     /* the end: it decodes slots at once, and none is spilled */
    struct ttp_growing pids;       /* struct ttp_pid_seen */
    struct ttp_growing candidates; /* struct ttp_candidate */
    struct ttp_growing blockless;  /* of ends.c: threads that have no block, and have not ended */
    struct ttp_slot *slot;         /* the one that is being filled */
    struct ttp_word_map known;     /* image serials that were drained */
    struct ttp_word_map taken;     /* by thread serial, the last block taken: its sequence */
    struct ttp_shared *shared;
    struct ttp_unrecorded unrecorded; /* whom it waits for */
    struct ttp_thread_times times;    /* where switches are not told */
    ttape_clock clock;                /* constant */
    struct ttp_clock_tracker tracker; /* of the time stamp counter */
    uint64_t sampled_ticks;           /* when a pair was read last */
    uint64_t realtime_offset_ns;      /* as it was seen last */
    uint64_t utc_looked_ms;           /* when the kernel was asked for its error; 0: never */
    bool may_rest;                    /* blocks of ended threads, for a round */
    uint64_t round, polled_ms;
    uint64_t processes_checked_ms, threads_checked_ms, partial_ms; /* when each was last done */
    uint32_t flushes_seen, snapshots_seen, stops_seen;             /* requests in the arena */
    struct ttp_asked asked;
    bool is_cut;  /* the last round left something: the spill file had no room for it, */
    bool is_late; /* or it has to wait, for a hook under way or another thread's block */
    uint64_t drained_bytes;
    _Atomic uint32_t live_count, live_pid, snapshot_failures;
    uint64_t checkpoint_events; /* that were in the trace then */
};

#define TTP_BATCH_EVENTS 1024u

/* The encoding thread's state, and recovery's. Other threads read the atomic counters. */
struct ttp_encode {
    ttape_recording_options options; /* constant, and so are all up to begun_ms */
    ttape_allocator allocator;
    struct ttp_tick_rate rate; /* of ticks, as it was at the start */
    const struct ttp_directory *directory;
    struct ttp_spill *spill;
    struct ttp_shared *shared;
    struct ttp_follower *switches; /* NULL: a recovery */
    uint64_t *verdicts;            /* of the arena, or NULL */
    bool is_replaying;             /* a recovery: nothing is journaled */
    uint64_t begun_ms, begun_turn; /* recording_limits.c */
    struct ttp_clock clock;
    /* the processes and threads of the records */
    uint32_t first_pid;                /* of the first process that recorded anything */
    struct ttp_growing images;         /* struct ttp_image */
    struct ttp_growing layouts;        /* struct ttp_layout */
    struct ttp_growing threads, names; /* struct ttp_thread *; struct ttp_thread_name */
    struct ttp_word_map image_by_serial, thread_by_serial;
    struct ttp_word_map call_by_key, call_by_path; /* of system calls: places in `sites` */
    /* what has an id in the current file, in order: a file after a rotation has the same ids */
    struct ttp_growing processes, streams; /* uint32_t: images, threads */
    struct ttp_growing modules, sites;     /* struct ttp_place */
    struct ttp_growing paths;              /* ttape_path */
    /* the slot that is being decoded */
    ttape_event events[TTP_BATCH_EVENTS];
    uint32_t event_count;
    struct ttp_plain plain;
    const struct ttp_slot *decoded_slot; /* now, and where in it */
    uint32_t decoded_at, expected_to;    /* to where new functions in it were looked for ahead */
    bool has_peeked;                     /* at the modules that the rest of it names */
    uint64_t told_ns;                    /* time of the message that is being taken */
    struct ttp_growing values;           /* ttape_value of the event being decoded */
    struct ttp_judging judging;
    struct ttp_growing changes; /* characters: what filters and triggers were changed to */
    /* trace files */
    struct ttp_growing outputs;           /* struct ttp_output * */
    struct ttp_output *current;           /* NULL with separate files */
    struct ttp_growing files;             /* char *, finished */
    struct ttp_growing numbers;           /* struct ttp_number: metadata of the caller */
    uint64_t finished_bytes, overwritten; /* the latter: events, of those that were recorded */
    bool is_full, ends_only;        /* the trace has its full size: nothing more goes into it, */
    uint64_t full_ns, little_count; /* from then on, but so many records of new threads, and ends */
    uint64_t off_ns;                /* for which threads were seen to be off, added up */
    bool has_gone_on;               /* a thread, when recording ended, */
    uint32_t stop_reason;           /* for this reason */
    uint32_t next_file, end_at;     /* the latter: of such a slot */
    /* checkpoints */
    int journal_fd;
    struct ttp_growing consumed; /* uint32_t slots that no checkpoint covers yet */
    struct ttp_growing journal;  /* bytes to be written with the next checkpoint */
    struct ttp_growing touched;  /* struct ttp_thread *: changed since the last checkpoint */
    struct ttp_growing waiting;  /* struct ttp_checkpoint: sealed, not in the file yet */
    uint64_t sealed_ms;
    struct ttp_pace pace;
    ttape_status status; /* how encoding went */
    ttape_error error;
    _Atomic uint64_t appended, ends, lost, sandboxed, culled, written; /* ends: facts of them */
    _Atomic uint64_t uncounted; /* gaps without a number of events */
    _Atomic uint32_t process_count, thread_count, file_count;
};

static inline struct ttp_image *ttp_image_at(const struct ttp_encode *e, size_t index)
{
    return (struct ttp_image *)e->images.data + index;
}

static inline struct ttp_layout *ttp_layout_at(const struct ttp_encode *e, size_t index)
{
    return (struct ttp_layout *)e->layouts.data + index;
}

static inline struct ttp_thread *ttp_thread_at(const struct ttp_encode *e, size_t index)
{
    return ((struct ttp_thread **)e->threads.data)[index];
}

struct ttape_recording {
    struct ttp_directory directory;
    struct ttp_shared shared;
    struct ttp_spill spill;
    struct ttp_drain drain;
    struct ttp_encode encoder;
    struct ttp_snapshots snapshots;
    struct ttp_follower switches;
    /* the caller's thread, which starts and ends the encoding thread */
    pthread_t thread;
    pthread_cond_t started;       /* with spill.lock */
    struct robust_list_head life; /* see announce_life */
    struct robust_list life_node;
    uint32_t held_requests; /* the arena's off_requests when it was held */
    bool has_started, has_thread, has_spill, is_opened, is_finished, is_held, is_synchronous;
};

/* It is to stop, and this is why, if there is no other reason yet. */
static inline void ttp_shared_stop(struct ttp_shared *shared, ttape_stop_reason reason)
{
    uint32_t none = TTAPE_STOP_UNKNOWN;
    (void)atomic_compare_exchange_strong(&shared->stop_reason, &none, reason);
    shared->stopped = true;
}

uint64_t ttp_now_ms(void);
/* What a thread that is about to be made blocks. */
void ttp_signals_of_thread(sigset_t *blocked);

/* recording_directory.c: `name` is one in our own directory, `path` that of an output */
ttape_status ttp_directory_make(struct ttp_directory *d, const char *output, ttape_error *err);
/* A symbolic link, where there is a target. */
ttape_status ttp_directory_link(const struct ttp_directory *d, const char *name, const char *target,
                                ttape_error *err);
int ttp_directory_create(const struct ttp_directory *d, const char *name, int flags);
int ttp_directory_create_final(const struct ttp_directory *d, const char *path);
ttape_status ttp_directory_publish(const struct ttp_directory *d, const char *name,
                                   const char *path, ttape_error *err);
void ttp_directory_sync(const struct ttp_directory *d);
/* remove: it and what is in it, with as many trace files as were begun. */
void ttp_directory_close(struct ttp_directory *d, bool remove, uint32_t file_count);
const char *ttp_directory_base(const char *path);
ttape_status ttp_directory_fail(ttape_error *err, const char *what, const char *path);

/* arena_file.c */
ttape_status ttp_arena_make(ttape_recording *r, ttape_error *err);
/* How many blocks there are now: programs add some as well. */
void ttp_arena_look(struct ttp_arena_file *arena);
void ttp_arena_grow(struct ttp_arena_file *arena, uint32_t thread_count, uint64_t now_ms);
/* Where most blocks have been free for a while. */
void ttp_arena_shrink(struct ttp_arena_file *arena, uint64_t now_ms);
/* Programs that wait for a block look again. */
void ttp_arena_wake(const struct ttp_arena_file *arena);
/* arena_bound.c: bytes that this process may still take, or map; that an arena of own_bytes, a file
 * in fd, may have. */
uint64_t ttp_memory_free(void), ttp_addresses_free(void);
uint64_t ttp_arena_bound(int fd, uint64_t own_bytes);
void ttp_arena_free_block(struct ttp_arena_file *arena, uint32_t index);
void ttp_arena_set_mode(struct ttp_arena_file *arena, uint32_t mode, uint64_t now_ticks);
/* Stops it for the programs. */
void ttp_arena_close(struct ttp_arena_file *arena, const ttape_allocator *allocator, bool remove);

/* What no gap counts. One more where the arena was cut: what was there is not known. */
static inline uint64_t ttp_arena_lost(const struct ttp_shared *shared)
{
    return shared->arena_lost + shared->block_lost + shared->is_arena_cut;
}

/* recorder_clock.c: chooses one where that is left to us, and measures the rate of ticks. */
void ttp_clock_choose(ttape_clock *clock, struct ttp_tick_rate *rate);
/* Reads the clocks again. before_slot: what is converted next may be as late as now. */
ttape_status ttp_clock_sample(struct ttp_drain *d, bool before_slot, ttape_error *err);
/* Takes over the lines that hold for the slot that was taken. */
ttape_status ttp_clock_take(struct ttp_encode *e, ttape_error *err);
/* What the metadata says of the clock: adds struct ttp_number. */
ttape_status ttp_clock_numbers(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err);
ttape_status ttp_clock_describe(const struct ttp_encode *e, ttape_writer *w, ttape_error *err);

/* The most by which times were seen to differ from CLOCK_MONOTONIC. */
uint64_t ttp_clock_error_ns(const struct ttp_encode *e);

/* 0: the clock does not go on, or in steps that are too long. */
static inline uint64_t ttp_clock_ticks(ttape_clock clock, const struct ttp_tick_rate *rate,
                                       uint64_t ns)
{
    if (clock == TTAPE_CLOCK_NONE)
        return 0;
    return (uint64_t)((double)ns * (double)(1ull << TTP_CLOCK_SCALE_BITS) / (double)rate->scale);
}

/* A reading of the recording's clock. */
uint64_t ttp_clock_now(ttape_clock clock);

/* pids.c: NULL: no memory. Until the next call. */
struct ttp_pid_seen *ttp_pid_find(struct ttp_drain *d, uint32_t pid);
/* Which of them have died by now, and how. */
void ttp_pids_check(struct ttp_drain *d);
void ttp_pid_check(const struct ttp_drain *d, struct ttp_pid_seen *seen);
/* It was waited for. */
void ttp_pid_ended(struct ttp_drain *d, uint32_t pid, int wait_status);

/* end_facts.c: what a process said of its end, and what was seen of it. */
void ttp_end_merge(struct ttp_end *seen, uint32_t how, uint32_t number);

/* drain.c: asks /proc; a block's head, where its program can write at any time */
bool ttp_thread_is_gone(const struct ttp_candidate *c);
const struct ttp_block_head *ttp_block_at(const struct ttp_drain *d, uint32_t index);
/* everything: also blocks that are not full; at the end: of processes that live */
ttape_status ttp_drain_round(struct ttp_drain *d, bool everything, bool at_end, ttape_error *err);
/* Whether a block that is in use holds more than was taken of it. */
bool ttp_drain_has_more(const struct ttp_drain *d);

/* spill.c */
ttape_status ttp_spill_open(struct ttp_spill *spill, const struct ttp_directory *directory,
                            uint64_t limit_bytes, ttape_error *err);
bool ttp_spill_has_room(struct ttp_spill *spill);
/* Writes the slot and queues it: only then may its block be given back. */
ttape_status ttp_spill_put(struct ttp_spill *spill, struct ttp_slot *slot, ttape_error *err);
/* Puts a mark into the queue: it is reached when all that was drained before has been encoded. */
ttape_status ttp_spill_mark(struct ttp_spill *spill, const struct ttp_mark *mark, ttape_error *err);
void ttp_spill_take_mark(struct ttp_spill *spill, struct ttp_mark *mark);
bool ttp_spill_has_mark(struct ttp_spill *spill);
/* What waits in it, and how often it had no room. */
void ttp_spill_backlog(struct ttp_spill *spill, struct ttp_backlog *backlog);
/* Waits for a slot, or TTP_SLOT_MARK; false: none will come. */
bool ttp_spill_take(struct ttp_spill *spill, uint32_t *number, uint32_t wait_ms, bool *timed_out);
ttape_status ttp_spill_read(int fd, uint32_t number, struct ttp_slot *slot, ttape_error *err);
bool ttp_slot_is_whole(const struct ttp_slot *slot);
void ttp_spill_release(struct ttp_spill *spill, const uint32_t *numbers, size_t count);
/* Lines of the clock, for the slots that are put from now on. */
ttape_status ttp_spill_add_line(struct ttp_spill *spill, const struct ttp_tick_rate *line,
                                ttape_error *err);
void ttp_spill_end(struct ttp_spill *spill);
void ttp_spill_close(struct ttp_spill *spill);

/* record_decoder.c */
ttape_status ttp_decode_slot(struct ttp_encode *e, const struct ttp_slot *slot, ttape_error *err);
/* Applies the messages about modules that stand further on in the slot that is being decoded. */
ttape_status ttp_decode_peek_modules(struct ttp_encode *e, struct ttp_thread *thread,
                                     ttape_error *err);
ttape_status ttp_decode_flush(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err);

/* images.c */
struct ttp_image *ttp_image_of(struct ttp_encode *e, const struct ttp_block_head *block,
                               ttape_error *err);
ttape_status ttp_thread_of(struct ttp_encode *e, const struct ttp_block_head *block,
                           struct ttp_thread **out, ttape_error *err);
/* A module whose message comes too late: it was mapped before. */
ttape_status ttp_image_early_module(struct ttp_encode *e, struct ttp_thread *thread,
                                    const uint8_t *bytes, size_t size_bytes, ttape_error *err);
ttape_status ttp_image_message(struct ttp_encode *e, struct ttp_thread *thread, uint32_t kind,
                               const uint8_t *bytes, size_t size_bytes, ttape_error *err);
/* Index of the site in the thread's layout; it has an id in the current output. */
ttape_status ttp_site_of(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                         uint32_t *index, ttape_error *err);
ttape_status ttp_block_site_of(struct ttp_encode *e, struct ttp_thread *thread, uint64_t address,
                               uint32_t *index, ttape_error *err); /* a basic block's */
struct ttp_site_seen *ttp_site_at(struct ttp_encode *e, const struct ttp_thread *thread,
                                  uint32_t index);
struct ttp_output *ttp_output_of(struct ttp_encode *e, const struct ttp_thread *thread);
ttape_status ttp_stream_ready(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err);
ttape_status ttp_thread_touch(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err);
/* Defines everything again, with the same ids, in the file that is current now. */
ttape_status ttp_images_define_again(struct ttp_encode *e, ttape_error *err);
void ttp_images_close(struct ttp_encode *e);

/* call_filter.c: of functions that are left out anyway, for hooks. */
bool ttp_verdicts_are_wanted(const ttape_recording_options *options);

/* output_file.c: of many files, one that was flushed has neither a partition nor a descriptor. */
ttape_status ttp_output_rest(const struct ttp_encode *e, struct ttp_output *o, ttape_error *err);
/* The name of a file of a rotation: run.ttape -> run.0001.ttape; NULL: no memory. */
char *ttp_output_piece(const char *output, uint32_t number);
/* A new file; pid is in its name where each process has its own (0: no). */
ttape_status ttp_output_begin(struct ttp_encode *e, uint32_t pid, struct ttp_output **out,
                              ttape_error *err);
/* How system calls are recorded, as metadata; a recovery knows that from the journal. */
ttape_status ttp_output_set_calls(ttape_writer *w, const ttape_recording_options *options,
                                  ttape_error *err);
/* recording_output.c */
ttape_status ttp_output_append(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_events events, size_t count, ttape_error *err);
/* After a slot: a checkpoint where one is due (or wanted now), rotation, limits. */
ttape_status ttp_output_due(struct ttp_encode *e, bool now, ttape_error *err);
void ttp_limits_check(struct ttp_encode *e);
bool ttp_limits_late(struct ttp_encode *e, const struct ttp_arena_head *head, uint64_t now_ms);
/* Decodes a slot; of a trace that is full, nearly all is only counted. */
ttape_status ttp_output_take(struct ttp_encode *e, const struct ttp_slot *slot, ttape_error *err);
/* So, at the end, where slots come from the arena itself: what is due after each is done, too. */
ttape_status ttp_output_take_rest(struct ttp_encode *e, const struct ttp_slot *s, ttape_error *err);
/* All that was decoded is in the files. */
ttape_status ttp_outputs_flush(struct ttp_encode *e, ttape_error *err);
ttape_status ttp_number_add(struct ttp_encode *e, struct ttp_growing *list, const char *key,
                            uint64_t value, ttape_error *err);
/* What the metadata says of now: struct ttp_number, as it is added above. */
ttape_status ttp_output_numbers(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err);
ttape_status ttp_outputs_finish(struct ttp_encode *e, ttape_error *err);
void ttp_outputs_close(struct ttp_encode *e, bool leaves_nothing);

#endif
