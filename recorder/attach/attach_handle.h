/* A process that is attached to, as the rooms have it that do it in order: attach_process.c,
 * attach_change.c, attach_later.c, attach_functions.c, attach_picks.c. */
#ifndef TTP_ATTACH_HANDLE_H
#define TTP_ATTACH_HANDLE_H

#include <sys/stat.h>

#include "recorder/attach/attach_inside.h"

#define TTP_ATTACH_ROUNDS 4u /* of stops for functions that somebody is inside */

/* What is patched later: libraries that have come together, or functions that were not chosen
 * before. */
struct ttp_later {
    struct ttp_wishes wishes;
    struct ttp_targets targets;
    bool owns_chosen; /* of each wish */
};

struct ttp_attach {
    struct ttp_attach_options options;
    struct ttp_attach_counts *counts;
    struct ttp_outside outside;
    struct ttp_agent_shared *shared;
    struct ttp_maps maps;
    struct ttp_wishes wishes;
    struct ttp_targets targets;
    struct ttp_segment segment;
    struct ttp_call_places places;
    struct ttp_traced_modules modules; /* for stacks */
    struct ttp_traced_plans plans;
    struct ttp_targets *now; /* which are being changed: targets, or the last of these */
    struct ttp_later *later[TTP_AGENT_LATER];
    uint32_t later_count, area_count, module_count;
    struct ttp_traced_modules seen; /* that were followed, or not: they are not looked at again */
    size_t waiting_count;           /* that had come at the last look, and wait for the next one */
    uint64_t looked_ns;
    uint32_t busy;
    struct ttp_thread_name names[TTP_AGENT_KNOWN]; /* of threads that were there before the stop */
    uint32_t name_count;
    struct stat arena, program;
    uint64_t caught; /* signals of faults that the program had handlers for */
    uint32_t area;   /* of stubs, that is mapped now */
    bool is_mapped, is_retried;
    bool was_debugged;
};

/* -- attach_process.c -- */

ttape_status ttp_attach_refuse_it(const struct ttp_attach *a, const char *why, ttape_error *err);
bool ttp_attach_look_at_maps(struct ttp_attach *a);
/* How modules are looked at, with the process's memory. */
struct ttp_target_look ttp_attach_target_look(const struct ttp_attach *a, int memory);
void ttp_attach_note_threads(struct ttp_attach *a, const struct ttp_stop *stop);
/* One step while it stands still, tried again where something else was mapped meanwhile. */
ttape_status ttp_attach_stop_where_room(struct ttp_attach *a,
                                        const char *(*map)(struct ttp_attach *, struct ttp_stop *),
                                        ttape_error *err);
/* The stubs of a->area of those that are being changed get their place. */
const char *ttp_attach_map_area(struct ttp_attach *a, struct ttp_stop *stop);

/* -- attach_change.c -- */

/* Something is written into its memory while it runs. Returns NULL, or why not. */
const char *ttp_attach_put(struct ttp_attach *a,
                           const char *(*put)(struct ttp_attach *a, int memory));
/* Stubs, the list, jumps: of a->now, which have their places. */
ttape_status ttp_attach_change(struct ttp_attach *a, ttape_error *err);
/* Between two stops the program runs for ten times as long as it stood: 1 to 50 ms. */
void ttp_attach_pause(uint64_t stood_ns);

/* -- attach_later.c -- */

void ttp_later_close(struct ttp_attach *a);
void ttp_later_close_one(struct ttp_later *later);
/* Their stubs, and their list, get a place each in a stop of its own. */
ttape_status ttp_later_map(struct ttp_attach *a, struct ttp_targets *targets, ttape_error *err);
/* Whether the segment has room for lists of them. */
bool ttp_later_has_room(const struct ttp_attach *a, const struct ttp_targets *targets);

/* -- attach_functions.c -- */

/* A jump that is to come, or to go. */
struct ttp_pick {
    struct ttp_change change; /* from what is there to what is to be there */
    struct ttp_target *target;
    uint32_t index; /* of the target's changes */
    bool was_done;
};

struct ttp_choosing {
    struct ttp_attach *a;
    const struct ttp_attach_wish *wishes;
    size_t wish_count;
    uint32_t rounds; /* of stops for functions that somebody is inside */
    struct ttp_attach_changed *changed;
    struct ttp_pick *picks;         /* sorted by function */
    uint32_t all, count, next, end; /* of these count are left; a stop changes [next, end) */
    struct ttp_changes changes;     /* sorted by address: of a stop; for all there is room */
    bool *skip;                     /* of each pick: it stays as it is */
    uint32_t waiting;               /* functions that are to come, and somebody is inside */
    struct ttp_agent_range *ranges; /* of modules and stubs, sorted */
    size_t range_count;
};

/* Layers of modules: those that came first, and what came later each time. */
static inline uint32_t ttp_attach_layers(const struct ttp_attach *a) { return 1 + a->later_count; }

static inline struct ttp_targets *ttp_attach_layer(struct ttp_attach *a, uint32_t number)
{
    return number == 0 ? &a->targets : &a->later[number - 1]->targets;
}

/* -- attach_picks.c -- */

/* Finds which jumps are to come or to go. False: no memory. */
bool ttp_picks_find(struct ttp_choosing *c);
/* Changes them, all or none, but where somebody stays inside. */
ttape_status ttp_picks_change(struct ttp_choosing *c, ttape_error *err);
void ttp_picks_free(struct ttp_choosing *c);

#endif
