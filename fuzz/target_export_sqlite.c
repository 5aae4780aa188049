/* The verb export, to a database: it is sound, and what people see of it is clean. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_folder.h"
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

/* ---- SQLite's memory ---- */

/* Some thousand small blocks for each database: they are kept by size, as a sanitizer has nothing
 * to find in a library that it did not compile. A leak is found as before. One thread uses it. */
#define LEAST_BITS 5u
#define MOST_BITS  17u

struct piece {
    struct piece *next; /* while it is idle */
    uint64_t bits;      /* of its size */
};
static struct piece *idle[MOST_BITS + 1];

static unsigned bits_of(int bytes)
{
    unsigned bits = LEAST_BITS;
    while ((1u << bits) < (unsigned)bytes)
        bits++;
    return bits;
}

static void *lite_take(int bytes)
{
    unsigned bits = bits_of(bytes);
    struct piece *piece = bits <= MOST_BITS ? idle[bits] : NULL;
    if (piece != NULL)
        idle[bits] = piece->next;
    else if ((piece = malloc(sizeof *piece + (1u << bits))) == NULL)
        return NULL;
    *piece = (struct piece){NULL, bits};
    return piece + 1;
}

static void lite_give(void *block)
{
    struct piece *piece = (struct piece *)block - 1;
    if (piece->bits > MOST_BITS) {
        free(piece);
        return;
    }
    piece->next = idle[piece->bits];
    idle[piece->bits] = piece;
}

static int lite_size(void *block) { return 1 << ((struct piece *)block - 1)->bits; }

static int lite_round(int bytes) { return 1 << bits_of(bytes); }

static void *lite_change(void *block, int bytes)
{
    int had = lite_size(block);
    void *moved = bytes <= had ? block : lite_take(bytes);
    if (moved != NULL && moved != block) {
        memcpy(moved, block, (size_t)had);
        lite_give(block);
    }
    return moved;
}

static int lite_begin(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void lite_end(void *context) { (void)context; }

static void keep_memory(void)
{
    static const sqlite3_mem_methods methods = {lite_take,  lite_give,  lite_change, lite_size,
                                                lite_round, lite_begin, lite_end,    NULL};
    static bool done;
    if (done)
        return;
    done = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
           sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
    FUZZ_REQUIRE(done);
}

/* ---- the database ---- */

/* Every text of a query's rows. */
static void require_texts(sqlite3 *base, const char *query)
{
    sqlite3_stmt *rows;
    FUZZ_REQUIRE(sqlite3_prepare_v2(base, query, -1, &rows, NULL) == SQLITE_OK);
    int result = sqlite3_step(rows);
    for (; result == SQLITE_ROW; result = sqlite3_step(rows))
        for (int i = 0; i < sqlite3_column_count(rows); i++)
            if (sqlite3_column_type(rows, i) == SQLITE_TEXT) {
                const void *text = sqlite3_column_text(rows, i);
                struct fuzz_bytes copy = fuzz_copy(text, (size_t)sqlite3_column_bytes(rows, i));
                fuzz_require_clean(&copy);
            }
    FUZZ_REQUIRE(result == SQLITE_DONE);
    FUZZ_REQUIRE(sqlite3_finalize(rows) == SQLITE_OK);
}

static void require_database(const char *path)
{
    static const char *const queries[] = {
        "SELECT key, value FROM meta", "SELECT name FROM processes UNION SELECT name FROM streams",
        "SELECT path, build_id FROM modules", "SELECT kind, symbol, file FROM sites",
        "SELECT value FROM arguments"};
    sqlite3 *base;
    FUZZ_REQUIRE(sqlite3_open_v2(path, &base, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        require_texts(base, queries[i]);
    FUZZ_REQUIRE(sqlite3_close(base) == SQLITE_OK && unlink(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char path[128];
    keep_memory();
    struct fuzz_input p = fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    uint32_t cut = fuzz_number(&p, 1);
    struct fuzz_words line = {0};
    (void)snprintf(path, sizeof path, "%s/base", fuzz_folder_make(data, 0));
    fuzz_word(&line, "export");
    fuzz_word(&line, "--format=sqlite");
    fuzz_word(&line, "--jobs=1");
    fuzz_word(&line, "--output=%s", path);
    fuzz_word(&line, "%s", fuzz_verb_file(0, in.data, in.size));
    if (cut & 1)
        fuzz_word(&line, "--min-time=%llu", (unsigned long long)fuzz_time(&p));
    if (cut & 2)
        fuzz_word(&line, "--time=+%llu..", (unsigned long long)fuzz_time(&p));
    if (fuzz_trace_look(in, 0).event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_export, line.words);
        if (fuzz_outcome_is_whole(&outcome))
            require_database(path);
    }
    fuzz_release_all();
    return 0;
}
