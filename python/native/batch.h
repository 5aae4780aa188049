/* Columns: what the package hands out. A batch is some rows of all columns of a table, each column
 * one block of memory, which numpy and Arrow take as it is. Nothing here knows Python. */
#ifndef TTAPE_PYTHON_BATCH_H
#define TTAPE_PYTHON_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/tracetape.h>

/* Kinds of columns, by the letters of Python's struct; TEXT: offsets (int64), then bytes. */
#define COLUMN_TEXT 's'

struct column {
    const char *name;
    char kind;                /* B I Q q d, or COLUMN_TEXT */
    bool has_none;            /* all bits set, or the least q: there is no value */
    const char *const *words; /* of kind B: what numbers mean; NULL-terminated. NULL: numbers */
};

struct batch {
    atomic_uint owners;
    size_t rows, capacity;
    unsigned column_count;
    const struct column *columns;
    void **data;       /* by column; TEXT: rows + 1 offsets */
    char **texts;      /* by column: the bytes of TEXT */
    size_t *text_room; /* ... and how many fit */
};

size_t column_width(char kind);

/* NULL: no memory. One owner. */
struct batch *batch_make(const struct column *columns, unsigned column_count, size_t capacity);
struct batch *batch_keep(struct batch *batch);
void batch_drop(struct batch *batch);

static inline uint8_t *batch_bytes(struct batch *batch, unsigned column)
{
    return batch->data[column];
}
static inline uint32_t *batch_words(struct batch *batch, unsigned column)
{
    return batch->data[column];
}
static inline uint64_t *batch_longs(struct batch *batch, unsigned column)
{
    return batch->data[column];
}
static inline double *batch_doubles(struct batch *batch, unsigned column)
{
    return batch->data[column];
}
/* The text of row batch->rows, which is filled column by column; false: no memory. */
bool batch_put_text(struct batch *batch, unsigned column, ttape_string text);

/* Texts of files and programs may be anything, Arrow's are UTF-8: of a column that is not, a copy
 * is made, with U+FFFD in the place of each byte that is wrong; else *offsets is NULL. False: no
 * memory. */
bool batch_mend_texts(const struct batch *batch, unsigned column, int64_t **offsets, char **texts);

/* Where batches come from. */
struct source {
    /* The next batch, or NULL at the end. The watch may be NULL. */
    ttape_status (*next)(void *state, const ttape_watch *watch, struct batch **out,
                         ttape_error *err);
    /* Rows behind those of the batch until it is full, or there are no more; NULL: texts are no
     * rows that somebody else has room for. */
    ttape_status (*fill)(void *state, const ttape_watch *watch, struct batch *into,
                         ttape_error *err);
    void (*close)(void *state);
    void *state;
    const struct column *columns;
    unsigned column_count;
};

/* ---- arrow.c ---- */

struct ArrowArrayStream;
/* Fills *stream, which owns the source from then on. False: no memory. */
bool arrow_export(struct ArrowArrayStream *stream, const struct source *source);
struct ArrowArrayStream *arrow_allocate(void);
void arrow_free(struct ArrowArrayStream *stream); /* released first where nobody took it */

#endif
