/* Batches as an Arrow C stream: struct arrays whose children are the columns. The two structs are
 * those of Arrow's C data interface and its C stream interface, which ask for this text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/native/batch.h"

#define ARROW_NULLABLE 2

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

static const char *format_of(char kind)
{
    return kind == 'B'   ? "C"
           : kind == 'I' ? "I"
           : kind == 'Q' ? "L"
           : kind == 'q' ? "l"
           : kind == 'd' ? "g"
                         : "U";
}

/* ---- schema ---- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child != NULL && child->release != NULL)
            child->release(child);
        free(child);
    }
    if (schema->dictionary != NULL && schema->dictionary->release != NULL)
        schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    free(schema->children);
    schema->release = NULL;
}

static bool fill_schema(struct ArrowSchema *schema, const struct column *column)
{
    *schema = (struct ArrowSchema){.format = format_of(column->kind),
                                   .name = column->name,
                                   .flags = column->has_none ? ARROW_NULLABLE : 0,
                                   .release = release_schema};
    if (column->words == NULL)
        return true;
    schema->dictionary = calloc(1, sizeof *schema->dictionary);
    if (schema->dictionary == NULL)
        return false;
    *schema->dictionary =
        (struct ArrowSchema){.format = "U", .name = "", .release = release_schema};
    return true;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct source *source = stream->private_data;
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .children = calloc(source->column_count, sizeof(void *)),
                                .release = release_schema};
    bool is_whole = out->children != NULL;
    for (unsigned i = 0; i < source->column_count && is_whole; i++) {
        out->children[i] = calloc(1, sizeof(struct ArrowSchema));
        is_whole = out->children[i] != NULL;
        if (is_whole) {
            out->n_children++;
            is_whole = fill_schema(out->children[i], &source->columns[i]);
        }
    }
    if (is_whole)
        return 0;
    release_schema(out);
    return ENOMEM;
}

/* ---- arrays ---- */

/* What an array keeps: the batch, and what was made for it. */
struct kept {
    struct batch *batch;
    void *made[2];
    const void *buffers[3];
};

static void release_array(struct ArrowArray *array)
{
    struct kept *kept = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child != NULL && child->release != NULL)
            child->release(child);
        free(child);
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    free(array->dictionary);
    free(array->children);
    if (kept != NULL) {
        batch_drop(kept->batch);
        free(kept->made[0]);
        free(kept->made[1]);
    }
    free(kept);
    array->release = NULL;
}

/* Whether rows have no value, a bit each for up to 8 of them. */
static uint8_t none_bits(const struct batch *batch, unsigned column, size_t first, size_t count)
{
    const void *data = batch->data[column];
    unsigned bits = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_none;
        switch (batch->columns[column].kind) {
        case 'B': is_none = ((const uint8_t *)data)[first + i] == UINT8_MAX; break;
        case 'I': is_none = ((const uint32_t *)data)[first + i] == UINT32_MAX; break;
        case 'q': is_none = ((const int64_t *)data)[first + i] == INT64_MIN; break;
        default: is_none = ((const uint64_t *)data)[first + i] == UINT64_MAX; break;
        }
        bits |= (unsigned)is_none << i;
    }
    return (uint8_t)bits;
}

/* Mostly none is missing: that is one quick look at a column, and no bits. */
static size_t count_missing_words(const uint32_t *words, size_t rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows; i++)
        count += words[i] == UINT32_MAX;
    return count;
}

/* A bit for each row, set where there is a value; none at all where each row has one. */
static bool fill_validity(struct ArrowArray *array, struct kept *kept, unsigned column)
{
    const struct batch *batch = kept->batch;
    size_t rows = batch->rows;
    if (batch->columns[column].kind == 'I' && count_missing_words(batch->data[column], rows) == 0)
        return true;
    uint8_t *bits = calloc(rows / 8 + 1, 1);
    if (bits == NULL)
        return false;
    for (size_t i = 0; i < rows; i += 8) {
        size_t count = rows - i < 8 ? rows - i : 8;
        uint8_t missing = none_bits(batch, column, i, count);
        bits[i / 8] = (uint8_t)(missing ^ ((1u << count) - 1));
        array->null_count += __builtin_popcount(missing);
    }
    kept->made[0] = bits;
    kept->buffers[0] = bits;
    return true;
}

/* Texts that are no UTF-8 are copied. */
static bool fill_texts(struct kept *kept, unsigned column)
{
    int64_t *offsets;
    char *texts;
    kept->buffers[2] = kept->batch->texts[column] != NULL ? kept->batch->texts[column] : "";
    if (!batch_mend_texts(kept->batch, column, &offsets, &texts))
        return false;
    if (offsets != NULL) {
        kept->buffers[1] = kept->made[0] = offsets;
        kept->buffers[2] = kept->made[1] = texts;
    }
    return true;
}

/* The words that a column's numbers mean, as an array of texts. */
static bool fill_words(struct ArrowArray *array, const char *const *words)
{
    struct kept *kept = calloc(1, sizeof *kept);
    int64_t count = 0;
    size_t size = 0;
    *array = (struct ArrowArray){.n_buffers = 3, .release = release_array, .private_data = kept};
    if (kept == NULL)
        return false;
    for (; words[count] != NULL; count++)
        size += strlen(words[count]);
    int64_t *offsets = calloc((size_t)count + 1, sizeof(int64_t));
    char *texts = malloc(size + 1);
    kept->made[0] = offsets;
    kept->made[1] = texts;
    kept->buffers[1] = offsets;
    kept->buffers[2] = texts;
    array->buffers = kept->buffers;
    array->length = count;
    if (offsets == NULL || texts == NULL)
        return false;
    for (int64_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        memcpy(texts + offsets[i], words[i], length);
        offsets[i + 1] = offsets[i] + (int64_t)length;
    }
    return true;
}

static bool fill_column(struct ArrowArray *array, struct batch *batch, unsigned number)
{
    const struct column *column = &batch->columns[number];
    struct kept *kept = calloc(1, sizeof *kept);
    *array = (struct ArrowArray){.length = (int64_t)batch->rows,
                                 .n_buffers = column->kind == COLUMN_TEXT ? 3 : 2,
                                 .release = release_array,
                                 .private_data = kept};
    if (kept == NULL)
        return false;
    kept->batch = batch_keep(batch);
    kept->buffers[1] = batch->data[number];
    array->buffers = kept->buffers;
    if (column->kind == COLUMN_TEXT && !fill_texts(kept, number))
        return false;
    if (column->has_none && !fill_validity(array, kept, number))
        return false;
    if (column->words == NULL)
        return true;
    array->dictionary = calloc(1, sizeof *array->dictionary);
    return array->dictionary != NULL && fill_words(array->dictionary, column->words);
}

static bool fill_array(struct ArrowArray *out, struct batch *batch)
{
    struct kept *kept = calloc(1, sizeof *kept);
    *out = (struct ArrowArray){.length = (int64_t)batch->rows,
                               .n_buffers = 1,
                               .children = calloc(batch->column_count, sizeof(void *)),
                               .release = release_array,
                               .private_data = kept};
    if (kept == NULL || out->children == NULL)
        return false;
    out->buffers = kept->buffers; /* all rows are there: no bits */
    for (unsigned i = 0; i < batch->column_count; i++) {
        out->children[i] = calloc(1, sizeof(struct ArrowArray));
        if (out->children[i] == NULL)
            return false;
        out->n_children++;
        if (!fill_column(out->children[i], batch, i))
            return false;
    }
    return true;
}

/* ---- stream ---- */

struct stream {
    struct source source; /* first: get_schema takes it */
    ttape_error error;
    char text[320];
};

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *own = stream->private_data;
    struct batch *batch = NULL;
    *out = (struct ArrowArray){0}; /* released: the end */
    own->error = (ttape_error){0};
    if (own->source.next(own->source.state, NULL, &batch, &own->error) != TTAPE_OK)
        return own->error.status == TTAPE_E_MEMORY ? ENOMEM : EIO;
    if (batch == NULL)
        return 0;
    bool is_whole = fill_array(out, batch);
    batch_drop(batch);
    if (is_whole)
        return 0;
    release_array(out);
    return ENOMEM;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct stream *own = stream->private_data;
    if (own->error.message[0] == '\0')
        return NULL;
    (void)snprintf(own->text, sizeof own->text, "%s%s%s", own->error.message,
                   own->error.rule[0] != '\0' ? ": " : "", own->error.rule);
    return own->text;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream *own = stream->private_data;
    own->source.close(own->source.state);
    free(own);
    stream->release = NULL;
}

bool arrow_export(struct ArrowArrayStream *stream, const struct source *source)
{
    struct stream *own = calloc(1, sizeof *own);
    if (own == NULL)
        return false;
    own->source = *source;
    *stream = (struct ArrowArrayStream){.get_schema = get_schema,
                                        .get_next = get_next,
                                        .get_last_error = get_last_error,
                                        .release = release_stream,
                                        .private_data = own};
    return true;
}

struct ArrowArrayStream *arrow_allocate(void) { return calloc(1, sizeof(struct ArrowArrayStream)); }

void arrow_free(struct ArrowArrayStream *stream)
{
    if (stream != NULL && stream->release != NULL)
        stream->release(stream);
    free(stream);
}
