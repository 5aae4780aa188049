/* Tables for people: columns that are as wide as their cells, one that gives way where the terminal
 * is too narrow, colours where there is a terminal. */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "tools/command/output.h"

#define TOOL_TABLE_COLUMNS 24u

enum tool_tone { TOOL_PLAIN, TOOL_HOT, TOOL_WARM, TOOL_FAINT };

struct tool_column {
    const char *title;
    bool is_text;   /* left-aligned; otherwise right-aligned */
    bool gives_way; /* cut where the terminal is too narrow: at most one, best the last */
    unsigned rank;  /* 0: always there; others are left out where all their cells are empty, and
                      where it is still too narrow, the largest first */
    unsigned cut; /* not 0: where nothing else gives way any more, it is cut to no fewer columns */
    bool keeps_end; /* it is cut in front: of a path the end tells more */
};

struct tool_table {
    const struct tool_column *columns;
    size_t column_count, row_count, cell_count, cell_capacity, text_count, text_capacity;
    struct tool_cell *cells;
    char *text;
    size_t least; /* columns that the one which gives way keeps, while others can be left out */
    size_t least_tight; /* the same, while only columns of ranks 1 and 2 are left; 0: as `least` */
    bool keeps_all;     /* nobody looks at how wide it is: no column is left out */
};

void tool_table_open(struct tool_table *table, const struct tool_column *columns,
                     size_t column_count);
void tool_table_close(struct tool_table *table);

/* Cells of a row in order; a row is complete with its last one. They are escaped
 * here, as names come from files; what was escaped before stays as it is. */
void tool_table_text(struct tool_table *table, enum tool_tone tone, const char *text);
void tool_table_bytes(struct tool_table *table, enum tool_tone tone, const char *text,
                      size_t size_bytes);
/* "a < b < c", and how many more there are behind c: cut between two names where there is no room,
 * it says how many are left out in all. */
void tool_table_callers(struct tool_table *table, enum tool_tone tone, const char *names,
                        size_t size_bytes, size_t more);
void tool_table_printf(struct tool_table *table, enum tool_tone tone, const char *format, ...)
    TOOL_PRINTF(3, 4);
/* 1,234,567 */
void tool_table_count(struct tool_table *table, enum tool_tone tone, uint64_t count);
/* A time with three digits after the point: "12.345 us"; "0" is printed as such. */
void tool_table_time(struct tool_table *table, enum tool_tone tone, int64_t time_ns);
/* The same behind a mark: ">=" of a time that may be more, "~" of one that is not exact. */
void tool_table_time_marked(struct tool_table *table, enum tool_tone tone, int64_t time_ns,
                            const char *mark);

/* Columns to print within: the terminal's. Where there is none, all columns are there: within 120
 * as far as names that were shortened to fit there may be cut, and in any number for others. */
unsigned tool_table_width(struct tool_table *table, bool is_shortened);
/* Title line and rows. `columns`: of the terminal, 0: any; `colours`: use them. */
void tool_table_print(const struct tool_table *table, struct tool_output *out, unsigned columns,
                      bool colours);

/* Writes count (time) as text; returns its length. `at` has room for 40 bytes. */
size_t tool_put_count(char *at, uint64_t count);
size_t tool_put_time(char *at, int64_t time_ns);
/* Switches a tone on or off. */
void tool_put_tone(struct tool_output *out, enum tool_tone tone, bool on);

#endif
