/* Rows on their way into DuckDB: which columns are asked for, and where their cells go. Tables fill
 * them column by column. Nothing here knows DuckDB but for how its texts lie in memory. */
#ifndef TTAPE_DUCK_ROWS_H
#define TTAPE_DUCK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

#define DUCK_ROWS         2048u /* at most, of one step */
#define DUCK_COLUMNS_MAX  24u   /* of a table */
#define DUCK_SHORT_BYTES  12u   /* a text up to this is in its cell */
#define DUCK_PREFIX_BYTES 4u

enum duck_kind {
    DUCK_BOOL, /* one byte */
    DUCK_WORD, /* one byte, which means a word */
    DUCK_U32,
    DUCK_U64,
    DUCK_I64,
    DUCK_F64,
    DUCK_TEXT,
    DUCK_BYTES,
    DUCK_TEXTS, /* a list */
    DUCK_KIND_COUNT
};

struct duck_column {
    const char *name;
    enum duck_kind kind;
    const char *const *words; /* DUCK_WORD: NULL-terminated */
};

/* A text in a column: its first bytes, and the rest where it is short; else where all of it lies,
 * for as long as the query. What a short text does not fill is 0. */
struct duck_text {
    uint32_t size_bytes;
    char prefix[DUCK_PREFIX_BYTES];
    union {
        char rest[DUCK_SHORT_BYTES - DUCK_PREFIX_BYTES];
        const char *data;
    } in;
};

struct duck_rows {
    size_t count;          /* of what was filled last */
    unsigned column_count; /* asked for */
    uint8_t columns[DUCK_COLUMNS_MAX];
    void *cells[DUCK_COLUMNS_MAX];     /* by place in `columns` */
    uint64_t *valid[DUCK_COLUMNS_MAX]; /* a bit a row; NULL: all have a value so far */
    void *sink;                        /* of the functions below */
    /* Makes valid[place], all set. */
    void (*mark)(struct duck_rows *rows, unsigned place);
    /* The list of a row: its texts are copied next, as rows of its own from *first on. */
    bool (*list)(struct duck_rows *rows, unsigned place, size_t row, size_t count, size_t *first);
    void (*copy_into_list)(struct duck_rows *rows, unsigned place, size_t row, const char *data,
                           size_t size_bytes);
    /* Copies a text, or bytes. */
    void (*copy)(struct duck_rows *rows, unsigned place, size_t row, const char *data,
                 size_t size_bytes);
};

static inline void duck_none(struct duck_rows *rows, unsigned place, size_t row)
{
    if (rows->valid[place] == NULL)
        rows->mark(rows, place);
    rows->valid[place][row / 64] &= ~(1ull << row % 64);
}

static inline void duck_put_byte(struct duck_rows *rows, unsigned place, size_t row, uint8_t value)
{
    ((uint8_t *)rows->cells[place])[row] = value;
}

static inline void duck_put_u32(struct duck_rows *rows, unsigned place, size_t row, uint32_t value)
{
    ((uint32_t *)rows->cells[place])[row] = value;
}

/* TTAPE_NONE: no value. */
static inline void duck_put_id(struct duck_rows *rows, unsigned place, size_t row, uint32_t id)
{
    duck_put_u32(rows, place, row, id);
    if (id == TTAPE_NONE)
        duck_none(rows, place, row);
}

static inline void duck_put_u64(struct duck_rows *rows, unsigned place, size_t row, uint64_t value)
{
    ((uint64_t *)rows->cells[place])[row] = value;
}

static inline void duck_put_i64(struct duck_rows *rows, unsigned place, size_t row, int64_t value)
{
    ((int64_t *)rows->cells[place])[row] = value;
}

static inline void duck_put_f64(struct duck_rows *rows, unsigned place, size_t row, double value)
{
    ((double *)rows->cells[place])[row] = value;
}

static inline void duck_put_lasting(struct duck_rows *rows, unsigned place, size_t row,
                                    struct duck_text text)
{
    ((struct duck_text *)rows->cells[place])[row] = text;
}

/* ---- duck_text.c ---- */

/* A cell for UTF-8 that lies there for as long as the query. */
struct duck_text duck_lasting(const char *data, size_t size_bytes);
/* Copies any text. False: no memory. */
bool duck_put_text(struct duck_rows *rows, unsigned place, size_t row, ttape_string text);
/* The same, of a list. */
bool duck_put_listed(struct duck_rows *rows, unsigned place, size_t row, ttape_string text);

#endif
