/* What account.c and account_sites.c share. */
#ifndef TTP_ANSWERS_ACCOUNT_INTERNAL_H
#define TTP_ANSWERS_ACCOUNT_INTERNAL_H

#include "answers/report/account.h"
#include "base/active.h"

struct account_frame {
    uint32_t row, below;
    uint32_t key; /* what its callees name as caller */
    uint32_t flags;
    uint64_t enter_ns;
    uint64_t clock, idle_clock; /* of its stack, when it was entered */
};

struct account_stack {
    uint32_t top, idle_depth; /* frames on it that block */
    uint32_t below_depth;     /* frames on it below which things count; where all counts, one */
    uint32_t epoch;
    uint64_t clock, idle_clock;              /* where switches are known, that of blocked time */
    uint64_t unknown_clock; /* only there */ /* of its stack, when it was entered */
};

/* What a symbol means here. */
struct account_symbol {
    uint32_t row; /* by_call: of the last caller, or place of a call */
    uint32_t key, caller;
    uint32_t idle;   /* FRAME_IDLE or 0 */
    uint32_t opened; /* FRAME_OPENED or 0 */
    uint32_t below;  /* FRAME_BELOW or 0 */
};

struct frame_clocks { /* by frame */
    uint64_t *ns;
    uint32_t capacity;
};

/* Where the open call of a stack was made, from one segment of its stream to the next. */
struct account_call {
    uint32_t stack, call; /* call: a key, or TTAPE_NONE */
    uint64_t enter_ns;
};
struct account_calls {
    struct account_call *list; /* of each stack, outermost first */
    uint32_t count, capacity;
};

/* by_site: where calls were made, as their values say (account_sites.c). */
struct account_sites {
    uint32_t call; /* of the frame that is pushed next: a key, or TTAPE_NONE */
    uint32_t next; /* of the events with values */
    uint32_t stream, recalled;
    const struct ttp_definition_tables *definitions;
    struct account_calls *open; /* by stream */
    uint32_t open_count;
    uint64_t last_number; /* as of the last call: most are made where the one before was */
    uint32_t last_site, last_call;
};

struct ttp_account {
    const struct ttp_account_plan *plan;
    struct ttp_account_rows *rows;
    struct account_frame *frames;
    struct account_stack *stacks;
    struct account_symbol *symbols;
    struct frame_clocks unknown;    /* when a frame was entered, where switches are known */
    struct frame_clocks own;        /* its own time so far, where that is asked for */
    struct ttp_active_table active; /* frames of a row on a stack, where there are several */
    uint32_t frame_count, frame_capacity, free_frame, stack_capacity, symbol_capacity;
    uint32_t current; /* the current stack's slot; the epoch is that of `active` */
    /* the partition at hand */
    const struct ttp_loaded *p;
    uint32_t stack_count, wide;
    struct ttp_switch_walk walk;   /* of the segment, where switches are known */
    uint32_t next_off;             /* its next event with spans */
    uint64_t time_ns, event_count; /* events in the range */
    struct account_sites sites;
};

/* account_sites.c. A segment begins, whose first event that is. */
void ttp_account_sites_start(struct ttp_account *account, uint32_t first);
/* Where the call was made that is entered by an event of that symbol. */
void ttp_account_site_see(struct ttp_account *account, uint32_t event, uint32_t symbol);
/* The same of a frame that was open before the segment; outermost first. */
void ttp_account_site_recall(struct ttp_account *account, uint32_t stack, uint64_t enter_ns);
/* Keeps what is open at the segment's end. */
ttape_status ttp_account_sites_keep(struct ttp_account *account, ttape_error *err);
void ttp_account_sites_close(struct ttp_account *account);

#endif
