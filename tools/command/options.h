/* Command lines by table: one table per verb gives parsing, error messages and --help. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads an option's argument into a field of the verb's options; false: not understood. */
typedef bool (*tool_option_parser)(const char *text, void *into);

/* One option; a table ends with an entry without name. */
struct tool_option {
    const char *name;     /* long name without dashes */
    char letter;          /* short name, or 0 */
    const char *argument; /* what the argument is called; NULL: a flag, the field is a bool;
                           * "[=WORD]": may be left out, and parse gets NULL then */
    const char *help;
    tool_option_parser parse; /* NULL: the field is a const char *, or a bool without argument */
    size_t at;                /* the field's offset in the verb's options: TOOL_AT(field) */
};

/* A line above the options that follow: what they are for. */
#define TOOL_GROUP(purpose)                                                                        \
    {                                                                                              \
        "", 0, NULL, purpose, NULL, 0                                                              \
    }

/* Each verb's file calls its own options `struct options`. */
#define TOOL_AT(field) offsetof(struct options, field)

/* A verb's command line; texts are whole lines. */
struct tool_command {
    const char *verb;
    const char *usage; /* after "tracetape VERB ", one form per line */
    const char *about;
    const struct tool_option *options;
    const char *examples; /* one command per line */
    const char *statuses; /* NULL: the usual ones */
    int operands_min, operands_max;
    bool runs_command; /* the first operand ends the options: what follows is another command's */
};

/* What a verb goes on with. */
enum tool_parsed {
    TOOL_PARSED_GO,   /* operands are in argv[0..*operand_count) */
    TOOL_PARSED_HELP, /* help was asked for and printed: exit with *status */
    TOOL_PARSED_ERROR /* the error was printed: exit with *status */
};

/* argv[0] is the verb. Operands are moved to the front of argv. Options may stand anywhere; `--`
 * ends them. `options` is the verb's struct, with its defaults filled in. */
enum tool_parsed tool_options_parse(const struct tool_command *command, int argc, char **argv,
                                    void *options, int *operand_count, int *status);

/* The candidate that a mistyped word is closest to, if one is close. */
struct tool_nearest {
    const char *word;
    size_t length;
    const char *found; /* NULL: none */
    size_t distance;
};

void tool_nearest_try(struct tool_nearest *nearest, const char *candidate);

/* How many threads --jobs asks for; 0: one per processor, 64 at most. */
uint32_t tool_jobs(uint32_t asked);

/* Parsers of numbers and ranges. Times are nanoseconds, or a number (with fraction) with s, ms, us
 * or ns. */
struct tool_time {
    bool given, relative; /* relative: from the trace's first event */
    bool has_unit;        /* 1s, and not a plain number of nanoseconds */
    uint64_t value_ns;
};

struct tool_range {
    bool given;
    uint64_t from, to; /* half-open */
};

/* Of an option that may be repeated; the list is freed, the texts are the command line's. */
struct tool_files {
    const char **paths;
    size_t count, capacity;
};

bool tool_parse_here(const char *text, void *into);       /* int: operands before the option */
bool tool_parse_u64(const char *text, void *into);        /* uint64_t */
bool tool_parse_u32(const char *text, void *into);        /* uint32_t, 1 .. UINT32_MAX */
bool tool_parse_time(const char *text, void *into);       /* tool_time */
bool tool_parse_range(const char *text, void *into);      /* tool_range */
bool tool_parse_id(const char *text, void *into);         /* tool_id: "123" */
bool tool_parse_size(const char *text, void *into);       /* uint64_t: "4096", "64k", "1.5G" */
bool tool_parse_file(const char *text, void *into);       /* tool_files: one more of them */
bool tool_parse_resolution(const char *text, void *into); /* uint64_t: exact, none, "64ns" */
bool tool_parse_level(const char *text, void *into);      /* int32_t, of ttape_writer_options */

/* What a digit stands for; -1: it is none. */
int tool_hex_digit(char c);

struct tool_id {
    bool given;
    uint64_t value;
};

#endif
