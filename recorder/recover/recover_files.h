/* What lies in the directory of a recorder that was killed. */
#ifndef TTP_LIBTRACE_RECOVER_FILES_H
#define TTP_LIBTRACE_RECOVER_FILES_H

#include <stdbool.h>

#include <tracetape/recover.h>

#include "recorder/recover/recover_arena.h"
#include "recorder/recover/recover_tell.h"
#include "recorder/state/recording_internal.h"

/* A trace file, and how many of its partitions the journal says are complete. */
struct ttp_recovered_file {
    char *path;
    uint32_t number;
    uint64_t partitions;
    bool is_named; /* as it will stay: where it is complete, nothing is to be recovered of it */
};

/* Records outside of the trace: in the spill file, or in a block of the arena. */
struct ttp_recovered_slot {
    uint64_t serial, sequence;
    uint32_t first;
    uint32_t number; /* of the slot or block */
    uint32_t end;    /* of one that is damaged: behind its last record, if it can be believed */
    bool in_arena;
};

struct ttp_recovered_slots {
    struct ttp_recovered_slot *items;
    size_t count, capacity;
};

struct ttp_recovered_files {
    char *directory, *arena_path, *command;
    uint8_t *journal;
    size_t journal_bytes;             /* up to and with the last checkpoint */
    uint64_t journal_lost_bytes;      /* behind it */
    struct ttp_recovered_file *items; /* by number */
    size_t count;
    uint32_t naming; /* of files: TTP_JOURNAL_... */
    int spill_fd;
    bool has_spill;
    uint32_t version; /* of the recorder's records */
    uint8_t trace_id[16];
    struct ttp_recovered_arena arena;
    uint64_t arena_lost;
    struct ttp_recovered_slots slots,
        damaged;      /* damaged: of the spill file, where they say whose */
    uint64_t nobodys; /* those that do not even say that */
    uint32_t nobodys_last,
        spill_count; /* the last of them; slots that the file is long enough for */
};

/* Reads the journal. Close in any case. */
ttape_status ttp_recovered_start(struct ttp_recovered_files *files, const char *directory,
                                 ttape_error *err);
/* Whether that is the name of a trace file in the folder. */
bool ttp_recovered_number(const char *name, uint32_t *number);
/* Start, and opens everything; tells the arena to stop. TTAPE_E_STATE: its recorder lives. */
ttape_status ttp_recovered_open(struct ttp_recovered_files *files, const char *directory,
                                ttape_error *err);
/* Fills *out; TTAPE_END: there is nothing any more. */
ttape_status ttp_recovered_load(const struct ttp_recovered_files *files,
                                const struct ttp_recovered_slot *slot, struct ttp_slot *out,
                                ttape_error *err);
/* Tells of the damaged slots of the spill file: a line for those that are a loss, a line for the
 * others. How many are a loss. To be called when the journal was replayed. */
uint64_t ttp_slots_tell(const struct ttp_telling *t, const struct ttp_recovered_files *files,
                        const struct ttp_encode *e);
void ttp_recovered_close(struct ttp_recovered_files *files);

#endif
