#include "python/native/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

size_t column_width(char kind) { return kind == 'B' ? 1 : kind == 'I' ? 4 : 8; }

struct batch *batch_make(const struct column *columns, unsigned column_count, size_t capacity)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        return NULL;
    *batch = (struct batch){.capacity = capacity,
                            .column_count = column_count,
                            .columns = columns,
                            .data = calloc(column_count, sizeof(void *)),
                            .texts = calloc(column_count, sizeof(char *)),
                            .text_room = calloc(column_count, sizeof(size_t))};
    atomic_init(&batch->owners, 1);
    bool is_whole = batch->data != NULL && batch->texts != NULL && batch->text_room != NULL;
    for (unsigned i = 0; i < column_count && is_whole; i++) {
        /* one more, for the last offset; Arrow wants no NULL where there are no rows */
        batch->data[i] = malloc((capacity + 1) * column_width(columns[i].kind));
        is_whole = batch->data[i] != NULL;
        if (is_whole && columns[i].kind == COLUMN_TEXT)
            *(int64_t *)batch->data[i] = 0;
    }
    if (is_whole)
        return batch;
    batch_drop(batch);
    return NULL;
}

struct batch *batch_keep(struct batch *batch)
{
    atomic_fetch_add(&batch->owners, 1);
    return batch;
}

void batch_drop(struct batch *batch)
{
    if (batch == NULL || atomic_fetch_sub(&batch->owners, 1) != 1)
        return;
    for (unsigned i = 0; i < batch->column_count; i++) {
        if (batch->data != NULL)
            free(batch->data[i]);
        if (batch->texts != NULL)
            free(batch->texts[i]);
    }
    free(batch->data);
    free(batch->texts);
    free(batch->text_room);
    free(batch);
}

bool batch_put_text(struct batch *batch, unsigned column, ttape_string text)
{
    int64_t *offsets = batch->data[column];
    size_t start = (size_t)offsets[batch->rows], end = start + text.size_bytes;
    if (end > batch->text_room[column]) {
        size_t room = end + end / 2 + 64;
        char *grown = realloc(batch->texts[column], room);
        if (grown == NULL)
            return false;
        batch->texts[column] = grown;
        batch->text_room[column] = room;
    }
    if (text.size_bytes > 0)
        memcpy(batch->texts[column] + start, text.data, text.size_bytes);
    offsets[batch->rows + 1] = (int64_t)end;
    return true;
}

/* ---- texts as UTF-8 ---- */

bool batch_mend_texts(const struct batch *batch, unsigned column, int64_t **offsets, char **texts)
{
    const int64_t *from = batch->data[column];
    const char *bytes = batch->texts[column];
    size_t total = 0;
    *offsets = NULL;
    *texts = NULL;
    for (size_t i = 0; i < batch->rows && bytes != NULL; i++)
        total += ttp_utf8_mend(NULL, bytes + from[i], (size_t)(from[i + 1] - from[i]));
    if (bytes == NULL || total == (size_t)from[batch->rows]) /* what is replaced gets longer */
        return true;
    *offsets = calloc(batch->rows + 1, sizeof **offsets);
    *texts = malloc(total);
    if (*offsets == NULL || *texts == NULL) {
        free(*offsets);
        free(*texts);
        return false;
    }
    for (size_t i = 0; i < batch->rows; i++)
        (*offsets)[i + 1] =
            (*offsets)[i] + (int64_t)ttp_utf8_mend(*texts + (*offsets)[i], bytes + from[i],
                                                   (size_t)(from[i + 1] - from[i]));
    return true;
}
