/* What patched functions are given and return: of which it is recorded, and where it is. Plans are
 * made, and names are asked for, in different threads. */
#ifndef TOOL_RECORD_VALUES_H
#define TOOL_RECORD_VALUES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "program/binary/patch_file.h"
#include "program/symbols/symbols.h"
#include "tools/record/rules/record_rules.h"

struct tool_record_hand;         /* what a person says of functions */
struct tool_record_known_values; /* of one function */
struct tool_record_value_names;

struct tool_record_values {
    bool given;                      /* anything was asked for */
    bool all_arguments, all_results; /* without a pattern */
    struct tool_patterns arguments;  /* of these what they are given, and return; */
    struct tool_patterns results;    /* of these what they return; */
    struct tool_patterns excluded;   /* of these nothing; */
    struct tool_patterns called;     /* of these where they were called, whatever `excluded` says */
    bool all_called;
    bool *has_called; /* a function's name matched; after the opening */
    struct tool_record_hand *hands;
    size_t hand_count, hand_capacity;
    bool has_more_hands; /* than there may be */
    bool has_counters;   /* of functions */
    uint64_t number;     /* of all that was said, for the choice */
    pthread_mutex_t lock;
    struct tool_record_known_values *known; /* sorted once they are looked for */
    size_t known_count, known_capacity;
    bool is_sorted;
    struct tool_record_value_names *names; /* of the last that was named */
};

/* What was said by hand of functions that nobody has found: a line each. */
void tool_record_values_say_unused(const struct tool_record_values *values);
/* The same of `called`. */
void tool_record_values_say_uncalled(const struct tool_record_values *values);

/* Option parsers, of tool_record_values. --args[=REGEX | NAME@arg1/i32,...,retval/s] */
bool tool_parse_values(const char *text, void *into);
bool tool_parse_results(const char *text, void *into);
bool tool_parse_measured(const char *text, void *into); /* "COUNTER,...=REGEX" */
bool tool_parse_values_excluded(const char *text, void *into);
bool tool_parse_call_sites(const char *text, void *into); /* --call-sites[=REGEX] */

/* Whether anything but the places of calls was asked for, and whether these were. */
bool tool_record_values_are_given(const struct tool_record_values *values);
bool tool_record_values_have_sites(const struct tool_record_values *values);

void tool_record_values_open(struct tool_record_values *values);
void tool_record_values_close(struct tool_record_values *values);

/* What is wanted of a function of that name: TTAPE_VALUES_*, and what is said by hand, by the bits
 * above. */
#define TOOL_VALUES_BY_HAND    4u
#define TOOL_VALUES_POINTED    8u /* with fields of what is pointed to: it was named */
#define TOOL_VALUES_CALL_SITE  16u
#define TOOL_VALUES_HAND_SHIFT 8u
#define TOOL_VALUES_HANDS_MOST 24u
#define TOOL_VALUES_HANDS      (UINT32_MAX << TOOL_VALUES_HAND_SHIFT)
uint32_t tool_record_values_wanted(const struct tool_record_values *values, ttape_string name);

/* Of a plan's functions, `wanted` each; what stands behind a ttp_values_head, which is filled in
 * but for its place. NULL: nothing is known of any. To be freed. */
struct ttp_values_head *
tool_record_values_make(struct tool_record_values *values, const struct tool_patch_given *given,
                        const uint32_t *wanted, struct tool_symbols *symbols,
                        struct tool_symbols_module *module, size_t *size_bytes);

/* What the values of the function at an address are called, for name_values of
 * ttape_recording_options. `out` is valid until the next call, in the one thread that asks. */
bool tool_record_values_name(struct tool_record_values *values, ttape_string build_id,
                             uint64_t elf_address, ttape_site_values *out);

#endif
