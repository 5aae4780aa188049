/* Which calls are meant: one language for what is recorded and for what is read of a trace
 * (spec/filters.md).
 *
 *   text -> ttape_filter_parse -> rules -> who compares names (expressions), who leaves out calls
 *
 *   ttape_filter *filter;
 *   ttape_filter_parse(&filter, text, NULL, &err);           "parse_*; !below log_*; time 1ms"
 *   ttape_filter_get_rules(filter, &count);                  three rules
 *   ttape_copy_filtered(writer, reader, filter, ...);        copy.h: what they leave of a trace
 *
 * Parsing is pure: it opens nothing, prints nothing, and takes memory in proportion to the text,
 * which is bounded. Functions, paths and texts become extended regular expressions, which the
 * caller compiles, as the library has no engine for them; they need no more than POSIX says.
 *
 * Threads: a filter does not change: any thread may read it. */
#ifndef TRACETAPE_FILTER_H
#define TRACETAPE_FILTER_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TTAPE_FILTER_MAX_BYTES      65536u /* of a text */
#define TTAPE_FILTER_MAX_RULES      64u    /* each function of a list is one */
#define TTAPE_FILTER_MAX_CONDITIONS 16u    /* of a rule, the result's included */
#define TTAPE_FILTER_MAX_PATTERN    4096u  /* bytes as they are written */

typedef struct ttape_filter ttape_filter;

/* What a rule does. Numbers of a kind add up: a call that one of its rules chooses is chosen. */
typedef enum ttape_filter_kind {
    TTAPE_FILTER_ONLY = 0,        /* f: only these calls */
    TTAPE_FILTER_WITHOUT = 1,     /* !f: these not, but what they call */
    TTAPE_FILTER_BELOW = 2,       /* below f: only these and what they call */
    TTAPE_FILTER_NOT_BELOW = 3,   /* !below f: neither these nor what they call */
    TTAPE_FILTER_TO = 4,          /* to f: only these and the calls that lead to them */
    TTAPE_FILTER_DEPTH = 5,       /* depth n: at most so many calls that are kept in one another */
    TTAPE_FILTER_TIME = 6,        /* time t: only calls that take so long */
    TTAPE_FILTER_SIZE = 7,        /* size n: only functions of so many bytes */
    TTAPE_FILTER_CALLS = 8,       /* of a trigger: leaves nothing out */
    TTAPE_FILTER_DEPTH_BELOW = 9, /* depth n below f: in calls of f that number, from there on */
    TTAPE_FILTER_TIME_BELOW = 10, /* time t below f: in calls of f that time */
    TTAPE_FILTER_KIND_COUNT = 11
} ttape_filter_kind;

typedef enum ttape_filter_operator {
    TTAPE_FILTER_EQUAL = 0,
    TTAPE_FILTER_NOT_EQUAL = 1,
    TTAPE_FILTER_LESS = 2,
    TTAPE_FILTER_LESS_EQUAL = 3,
    TTAPE_FILTER_GREATER = 4,
    TTAPE_FILTER_GREATER_EQUAL = 5,
    TTAPE_FILTER_BITS = 6 /* has all of these bits */
} ttape_filter_operator;

typedef enum ttape_filter_operand {
    TTAPE_FILTER_NUMBER = 0,   /* `number` */
    TTAPE_FILTER_NEGATIVE = 1, /* the same in two's complement, below zero */
    TTAPE_FILTER_REAL = 2,     /* bits of a double in `number` */
    TTAPE_FILTER_WORD = 3,     /* `text`: a constant, true, false, NULL */
    TTAPE_FILTER_TEXT = 4,     /* `text`: an extended regular expression */
    TTAPE_FILTER_SPAN = 5      /* `number`: nanoseconds; of the call's time, with no name */
} ttape_filter_operand;

/* What must hold of a value of a call. */
typedef struct ttape_filter_condition {
    ttape_string name; /* of an argument, or arg1, arg2 ...; "": what the call returned, its time */
    ttape_filter_operator compare;
    ttape_filter_operand operand;
    uint64_t number;
    ttape_string text;
    uint64_t reserved[1];
} ttape_filter_condition;

typedef struct ttape_filter_rule {
    ttape_filter_kind kind;
    ttape_string function; /* expression of names; "" with depth, time and size */
    ttape_string path;     /* expression of the path of the module, or of the source; "": any */
    uint64_t number;       /* depth, nanoseconds, bytes */
    const ttape_filter_condition *conditions; /* all must hold */
    uint32_t condition_count;
    uint32_t text_at, text_bytes; /* where the rule stands in the text */
    uint64_t reserved[2];
} ttape_filter_rule;

/* *out is NULL on failure: TTAPE_E_ARGUMENT with the place in the text as err->offset, and what to
 * write there; TTAPE_E_LIMIT past the bounds above. An empty text is a filter without rules.
 * allocator: NULL is malloc. Nothing of the text is kept. */
TTAPE_API ttape_status ttape_filter_parse(ttape_filter **out, ttape_string text,
                                          const ttape_allocator *allocator, ttape_error *err);
/* NULL is fine. */
TTAPE_API void ttape_filter_close(ttape_filter *filter);
/* They live as long as the filter, as all texts in them, which end with a zero. Of NULL: none. */
TTAPE_API const ttape_filter_rule *ttape_filter_get_rules(const ttape_filter *filter,
                                                          uint32_t *rule_count);

/* ---- triggers ---- */

typedef enum ttape_trigger_event {
    TTAPE_TRIGGER_BEGIN = 0,  /* a call begins */
    TTAPE_TRIGGER_END = 1,    /* one ends */
    TTAPE_TRIGGER_SIGNAL = 2, /* a handler of the signal `number` begins */
    TTAPE_TRIGGER_AFTER = 3,  /* `number` nanoseconds are over */
    TTAPE_TRIGGER_EXIT = 4    /* the command's exit status is, as `compare` says, `number` */
} ttape_trigger_event;

#define TTAPE_TRIGGER_ON         1u  /* calls that begin are recorded; the trigger's own is */
#define TTAPE_TRIGGER_OFF        2u  /* they are not, behind the trigger's own */
#define TTAPE_TRIGGER_CHECKPOINT 4u  /* the trace so far is copied */
#define TTAPE_TRIGGER_FINISH     8u  /* recording ends */
#define TTAPE_TRIGGER_KEEP       16u /* the trace stays; without, it does not */
#define TTAPE_TRIGGER_DEPTH      32u /* `depth` holds for calls that begin, but for the trigger's */
#define TTAPE_TRIGGER_TIME       64u /* `min_ns` does */

/* What is done while a program is recorded, and when: "parse > 5ms do checkpoint". */
typedef struct ttape_trigger {
    ttape_trigger_event event;
    uint32_t actions; /* TTAPE_TRIGGER_* */
    uint32_t rule;    /* of ttape_filter_get_rules: which calls; TTAPE_NONE: it is of none */
    uint64_t times;   /* each so many of these calls */
    uint64_t number;
    uint32_t text_at, text_bytes;  /* where it stands in the text */
    ttape_filter_operator compare; /* of TTAPE_TRIGGER_EXIT */
    uint32_t depth;                /* of TTAPE_TRIGGER_DEPTH: 1 at least */
    uint64_t min_ns;               /* of TTAPE_TRIGGER_TIME: 0: any time */
    uint64_t reserved[2];
} ttape_trigger;

/* As ttape_filter_parse, of triggers: their calls are rules of the kind TTAPE_FILTER_CALLS. */
TTAPE_API ttape_status ttape_filter_parse_triggers(ttape_filter **out, ttape_string text,
                                                   const ttape_allocator *allocator,
                                                   ttape_error *err);
/* They live as long as the filter. Of NULL, and of one that has rules only: none. */
TTAPE_API const ttape_trigger *ttape_filter_get_triggers(const ttape_filter *filter,
                                                         uint32_t *trigger_count);

#ifdef __cplusplus
}
#endif
#endif
