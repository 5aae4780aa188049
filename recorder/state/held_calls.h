/* Calls that conditions of a filter are about (spec/filters.md): what came of a thread waits, in
 * order, behind the oldest call of which it is not known yet what the conditions say.
 *
 *   records -> frames, events in a queue -> the oldest is decided -> call_filter.c */
#ifndef TTP_RECORDING_HELD_CALLS_H
#define TTP_RECORDING_HELD_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/filter.h>
#include <tracetape/recording.h>
#include <tracetape/types.h>

#include "answers/filter/trigger_state.h"
#include "writer/growing.h"

struct ttp_encode;
struct ttp_thread;
struct ttp_call_stack;
struct ttp_site_seen;

#define TTP_HELD_MAX_BYTES (UINT64_C(32) << 20) /* of all threads */

/* One condition of a rule that is about a site. */
struct ttp_condition_seen {
    uint32_t rule, condition; /* numbers in the filter, and in the rule */
    uint32_t place;           /* of the argument; TTAPE_NONE: the site has none of that name */
    bool has_constant;
    int64_t constant; /* what its word is, in values of this site */
};

/* Of the filter, worked out once, and how far triggers have come. */
struct ttp_judging {
    bool is_ready;
    bool asks_words; /* of values: names of what pointers point to may be among them */
    ttape_filter_rule rules[TTAPE_FILTER_MAX_RULES]; /* the filter's, then the triggers' */
    struct ttp_triggers triggers;
    uint64_t of_kind[TTAPE_FILTER_KIND_COUNT];
    uint64_t conditional, late;    /* rules, as bits: with conditions, with some of ends */
    uint64_t limiting;             /* with a depth or a time that holds from a call on */
    bool is_timed;                 /* calls are held until they are long enough */
    struct ttp_growing conditions; /* struct ttp_condition_seen, by site */
    uint64_t held_bytes;           /* of all threads */
};

struct ttp_held_event {
    ttape_event event;
    uint64_t rules;  /* of a call: those that choose it, as far as is known */
    uint64_t min_ns; /* not 0: it waits until it has taken so long, or less; at first: of all calls
                      * when it began */
    uint32_t site, select;
    uint32_t all_depth;   /* of all calls then; 0: any */
    uint32_t value_bytes; /* of the message; they follow those of the event before */
    bool is_question;     /* it is not known what its rules say */
    bool is_short;        /* it has no end of its own */
    bool is_off;          /* it came while recording was switched off */
    bool is_timed;        /* short, and in a call that has to take some time */
};

/* A call that has ended, whose result may come with the next record. */
struct ttp_ended_call {
    uint64_t number; /* of its event */
    uint64_t ns;
    int64_t took_ns;
    uint64_t triggers; /* rules that wait for its end */
    uint32_t site;
};

/* What the next record may say of the last event. */
enum ttp_held_wait { TTP_HELD_NOTHING, TTP_HELD_BEGIN, TTP_HELD_END };

/* Of a thread. */
struct ttp_held {
    struct ttp_growing stacks;        /* struct ttp_call_stack: frames as they were recorded */
    struct ttp_growing events, bytes; /* struct ttp_held_event; their values */
    uint64_t first;                   /* number of the oldest of `events` */
    size_t done, done_bytes;          /* of them, that were given on */
    uint32_t stack;
    enum ttp_held_wait waits;
    bool takes_values;           /* the last event, which is held */
    struct ttp_ended_call ended; /* TTP_HELD_END */
};

/* Whether each call is looked at: by conditions, from where limits hold, or for triggers. */
static inline bool ttp_judging_is_on(const ttape_call_conditions *asked)
{
    return asked->filter != NULL || asked->triggers != NULL;
}

/* Before anything else. */
void ttp_judging_begin_all(struct ttp_encode *e);
/* triggers.c: those of these rules that are about an event of that kind are due at that time. */
void ttp_judging_fire(struct ttp_encode *e, uint64_t rules, ttape_trigger_event event, uint64_t ns);
/* When all was read: whether the trace stays. */
bool ttp_triggers_keep(const struct ttp_encode *e);
/* Those of signals and times: of any event. */
void ttp_judging_see(struct ttp_encode *e, const ttape_event *event);
/* Which rules are about a site, and what their conditions look at; names of its values, or NULL */
ttape_status ttp_judging_take(struct ttp_encode *e, struct ttp_site_seen *seen,
                              const ttape_site *site, const ttape_module *module,
                              const ttape_site_values *names, ttape_error *err);
/* Those of a site's rules that choose a call which is given these values; late ones stay. */
uint64_t ttp_judging_begin(const struct ttp_encode *e, const struct ttp_thread *thread,
                           const struct ttp_site_seen *site, const ttape_value *values,
                           uint32_t count);
/* What of them stays when the call ends; result: NULL: it has none. */
uint64_t ttp_judging_end(const struct ttp_encode *e, const struct ttp_thread *thread,
                         const struct ttp_site_seen *site, uint64_t rules, int64_t duration_ns,
                         const ttape_value *result);
/* The same of a call that has taken so long, and goes on; false: some are not known. */
bool ttp_judging_knows(const struct ttp_encode *e, const struct ttp_site_seen *site,
                       uint64_t *rules, int64_t elapsed_ns);
/* Of a call of which no more will be known: rules that would leave it out do not. */
uint64_t ttp_judging_unknown(const struct ttp_encode *e, uint64_t rules);
/* The least time and the depth that hold from a call of these rules on; false, or TTAPE_NONE: those
 * around it hold. */
bool ttp_judging_least(const struct ttp_encode *e, uint64_t rules, uint64_t *min_ns);
uint32_t ttp_judging_depth(const struct ttp_encode *e, uint64_t rules);
/* TTAPE_SELECT_*: what rules come to. */
uint32_t ttp_judging_select(const struct ttp_encode *e, uint64_t rules);
/* Whether some of these rules wait for what a call returns. */
bool ttp_judging_wants_result(const struct ttp_encode *e, const struct ttp_site_seen *site,
                              uint64_t rules);

/* An event of a filtered recording, and values of the last one: at once where nothing is held. */
ttape_status ttp_held_event(struct ttp_encode *e, struct ttp_thread *thread,
                            const ttape_event *event, uint32_t site, ttape_error *err);
ttape_status ttp_held_values(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *bytes,
                             uint32_t size_bytes, ttape_error *err);
/* The frames of the stack that the thread is on; NULL: none. No more is known of its last event. */
ttape_status ttp_held_frames(struct ttp_encode *e, struct ttp_thread *thread,
                             const struct ttp_call_stack **out, ttape_error *err);
/* Nothing waits any longer: calls that are open are kept. */
ttape_status ttp_held_settle(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err);
/* The thread has ended: what is open has no result, and took the time up to its last event. */
ttape_status ttp_held_end(struct ttp_encode *e, struct ttp_thread *thread, uint64_t last_ns,
                          ttape_error *err);
/* Rules have changed: frames are those of the filter. */
ttape_status ttp_held_begin_again(struct ttp_encode *e, struct ttp_thread *thread,
                                  ttape_error *err);
void ttp_held_close(struct ttp_encode *e, struct ttp_thread *thread);

#endif
