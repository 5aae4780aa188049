/* The Python package's Arrow stream, read by DuckDB: arrow_in_duckdb TRACE events|calls SQL prints
 * the rows of a statement over table `whole`. */
#include <duckdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/native/query.h"

/* As Arrow's C stream interface has it; DuckDB fills what get_schema and get_next are given. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "arrow_in_duckdb: %s: %s\n", what, why != NULL ? why : "");
    return 4;
}

static bool start(const char *path, enum table table, struct source *source, ttape_error *err)
{
    struct query query = {.table = table, .has_more = table == TABLE_CALLS, .jobs = 1};
    query.memory_bytes = 256u << 20;
    query.parts = calloc(1, sizeof *query.parts);
    query.part_count = 1;
    query.parts[0].file = file_open(path, query.memory_bytes, 1, err);
    return query.parts[0].file != NULL && query_start(source, &query);
}

static int print_rows(duckdb_connection connection, const char *sql)
{
    duckdb_result result;
    if (duckdb_query(connection, sql, &result) != DuckDBSuccess)
        return fail(sql, duckdb_result_error(&result));
    for (idx_t row = 0; row < duckdb_row_count(&result); row++)
        for (idx_t column = 0; column < duckdb_column_count(&result); column++) {
            char *text = duckdb_value_varchar(&result, column, row);
            printf("%s%c", text != NULL ? text : "",
                   column + 1 == duckdb_column_count(&result) ? '\n' : '\t');
            duckdb_free(text);
        }
    duckdb_destroy_result(&result);
    return 0;
}

int main(int argc, char **argv)
{
    duckdb_database database;
    duckdb_connection connection;
    struct ArrowArrayStream stream;
    struct source source;
    ttape_error err = {0};
    if (argc != 4)
        return 2;
    if (duckdb_open(NULL, &database) != DuckDBSuccess ||
        duckdb_connect(database, &connection) != DuckDBSuccess)
        return fail("DuckDB", "does not open");
    enum table table = strcmp(argv[2], "calls") == 0 ? TABLE_CALLS : TABLE_EVENTS;
    if (!start(argv[1], table, &source, &err) || !arrow_export(&stream, &source))
        return fail(argv[1], err.message);
    if (duckdb_arrow_scan(connection, "t", (duckdb_arrow_stream)&stream) != DuckDBSuccess)
        return fail(argv[1], "DuckDB does not take the stream");
    /* All columns: by this door DuckDB takes a stream for one of just those that it needs. */
    int code = print_rows(connection, "CREATE TABLE whole AS FROM t");
    if (code == 0)
        code = print_rows(connection, argv[3]);
    duckdb_disconnect(&connection);
    duckdb_close(&database);
    if (stream.release != NULL)
        stream.release(&stream);
    return code;
}
