/* The verb export, to a database: it is sound, and what people see of it is clean. */
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz_folder.h"
#include "fuzz_trace.h"
#include "fuzz_verb.h"
#include "tools/command/tool.h"

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
    (void)fuzz_part(&in, FUZZ_PARAMETER_BYTES);
    (void)snprintf(path, sizeof path, "%s/base", fuzz_folder_make(data, 0));
    const char *const argv[] = {"export",   "--to=sqlite", "--jobs=1",
                                "--output", path,          fuzz_verb_file(0, in.data, in.size),
                                NULL};
    if (fuzz_trace_look(in, 0).event_count <= FUZZ_PRINTED_EVENTS) {
        struct fuzz_outcome outcome = fuzz_verb_run(tool_verb_export, argv);
        if (fuzz_outcome_is_whole(&outcome))
            require_database(path);
    }
    fuzz_release_all();
    return 0;
}
