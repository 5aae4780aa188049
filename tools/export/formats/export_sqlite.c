/* A database for SQL: tables of processes, threads, modules, sites, calls (one row a frame, with
 * its own time and its parent) and points, arguments where the trace has them, and a view `events`
 * that puts begins, ends and points into one table again.
 *
 * This is the door to SQLite. The database is made under a temporary name, without a journal: it is
 * there when it is complete, or not at all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tools/export/export.h"
#include "tools/io/target.h"

static const char schema[] =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA application_id=1414807636; PRAGMA user_version=1; PRAGMA cache_size=-32768;"
    "BEGIN;"
    "CREATE TABLE meta(scope INTEGER, key TEXT, value);"
    "CREATE TABLE processes(process INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER,"
    " start_ns INTEGER, name TEXT);"
    "CREATE TABLE streams(stream INTEGER PRIMARY KEY, process INTEGER, tid INTEGER,"
    " start_ns INTEGER, name TEXT);"
    "CREATE TABLE modules(module INTEGER PRIMARY KEY, process INTEGER, start_address INTEGER,"
    " end_address INTEGER, path TEXT, build_id TEXT);"
    "CREATE TABLE sites(site INTEGER PRIMARY KEY, kind TEXT, module INTEGER, address INTEGER,"
    " symbol TEXT, file TEXT, line INTEGER, path INTEGER);"
    "CREATE TABLE paths(path INTEGER PRIMARY KEY, parent INTEGER, site INTEGER);"
    "CREATE TABLE calls(call INTEGER PRIMARY KEY, stream INTEGER, stack INTEGER, parent INTEGER,"
    " depth INTEGER, site INTEGER, signal INTEGER, start_ns INTEGER, duration_ns INTEGER,"
    " self_ns INTEGER, ending TEXT, was_open INTEGER);"
    "CREATE TABLE points(point INTEGER PRIMARY KEY, stream INTEGER, stack INTEGER,"
    " time_ns INTEGER, kind TEXT, depth INTEGER, site INTEGER, detail TEXT, number INTEGER);"
    "CREATE TABLE arguments(call INTEGER, point INTEGER, is_return INTEGER, position INTEGER,"
    " value);"
    "CREATE VIEW events AS"
    " SELECT stream, start_ns AS time_ns, CASE WHEN was_open THEN 'open' ELSE 'enter' END AS kind,"
    "  depth, site, call FROM calls"
    " UNION ALL SELECT stream, start_ns + duration_ns, ending, depth, site, call FROM calls"
    " UNION ALL SELECT stream, time_ns, kind, depth, site, NULL FROM points;";

static const char indexes[] = "CREATE INDEX calls_by_site ON calls(site);"
                              "CREATE INDEX calls_by_time ON calls(stream, start_ns);"
                              "CREATE INDEX calls_by_parent ON calls(parent);"
                              "CREATE INDEX points_by_time ON points(stream, time_ns);"
                              "CREATE INDEX arguments_by_call ON arguments(call);"
                              "COMMIT;";

enum { INSERT_CALL, INSERT_POINT, INSERT_ARGUMENT, INSERT_COUNT };

static const char *const inserts[INSERT_COUNT] = {
    "INSERT INTO calls VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO points VALUES(?,?,?,?,?,?,?,?,?)", "INSERT INTO arguments VALUES(?,?,?,?,?)"};

struct database {
    struct tool_export *export;
    sqlite3 *handle;
    sqlite3_stmt *statements[INSERT_COUNT];
    uint64_t call_count, point_count, last_ns;
    struct tool_buffer text;
};

/* Reports SQLite's failure, once; then everything stops. */
static bool check_result(struct database *base, int result)
{
    if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW)
        return true;
    if (base->export->status != TOOL_CANNOT) {
        base->export->status =
            tool_fail("cannot write '%s': %s", base->export->path,
                      base->handle != NULL ? sqlite3_errmsg(base->handle) : sqlite3_errstr(result));
    }
    return false;
}

static bool execute(struct database *base, const char *text)
{
    return check_result(base, sqlite3_exec(base->handle, text, NULL, NULL, NULL));
}

/* ---- binding ---- Copies need memory; a row whose text could not be bound would hold NULL. */

/* Unsigned numbers keep their bits: above 2^63 - 1 SQL sees them below zero. */
static void bind_number(sqlite3_stmt *row, int column, uint64_t number)
{
    sqlite3_bind_int64(row, column, (sqlite3_int64)number);
}

static void bind_id(sqlite3_stmt *row, int column, uint32_t id)
{
    if (id == TTAPE_NONE)
        sqlite3_bind_null(row, column);
    else
        sqlite3_bind_int64(row, column, (sqlite3_int64)id);
}

static void bind_path(sqlite3_stmt *row, int column, uint32_t path)
{
    bind_id(row, column, path != 0 ? path : TTAPE_NONE);
}

static void bind_text(sqlite3_stmt *row, int column, const char *text)
{
    sqlite3_bind_text(row, column, text, -1, SQLITE_STATIC);
}

static void bind_name(struct database *base, sqlite3_stmt *row, int column, ttape_string name)
{
    base->text.size_bytes = 0;
    tool_buffer_name(&base->text, TTP_ESCAPE_TERMINAL, name);
    (void)check_result(base, sqlite3_bind_text(row, column, base->text.data,
                                               (int)base->text.size_bytes, SQLITE_TRANSIENT));
}

static void bind_value(struct database *base, sqlite3_stmt *row, int column,
                       const ttape_value *value)
{
    double real;
    switch (value->type) {
    case TTAPE_VALUE_NULL: sqlite3_bind_null(row, column); break;
    case TTAPE_VALUE_STRING: bind_name(base, row, column, value->bytes); break;
    case TTAPE_VALUE_BYTES:
        (void)check_result(base, sqlite3_bind_blob(row, column, value->bytes.data,
                                                   (int)value->bytes.size_bytes, SQLITE_TRANSIENT));
        break;
    case TTAPE_VALUE_FLOAT:
        memcpy(&real, &value->number, sizeof(real));
        sqlite3_bind_double(row, column, real);
        break;
    default: bind_number(row, column, value->number); break;
    }
}

static void step_row(struct database *base, sqlite3_stmt *row)
{
    (void)check_result(base, sqlite3_step(row));
    sqlite3_reset(row);
}

/* ---- definitions ---- */

static sqlite3_stmt *prepare_statement(struct database *base, const char *text)
{
    sqlite3_stmt *row = NULL;
    (void)check_result(base, sqlite3_prepare_v2(base->handle, text, -1, &row, NULL));
    return row;
}

static void put_meta(struct database *base, ttape_reader *reader)
{
    ttape_metadata_entry entry;
    sqlite3_stmt *row = prepare_statement(base, "INSERT INTO meta VALUES(?,?,?)");
    for (uint32_t i = 0; row != NULL && ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK;
         i++) {
        sqlite3_bind_int64(row, 1, entry.scope);
        bind_name(base, row, 2, entry.key);
        if (entry.type == TTAPE_METADATA_TEXT)
            bind_name(base, row, 3, entry.text);
        else if (entry.type == TTAPE_METADATA_NUMBER)
            bind_number(row, 3, entry.number);
        else
            sqlite3_bind_null(row, 3);
        step_row(base, row);
    }
    sqlite3_finalize(row);
}

static void put_threads(struct database *base, ttape_reader *reader)
{
    ttape_process process;
    ttape_stream_info stream;
    sqlite3_stmt *row = prepare_statement(base, "INSERT INTO processes VALUES(?,?,?,?,?)");
    for (uint32_t i = 0; row != NULL && ttape_reader_get_process(reader, i, &process) == TTAPE_OK;
         i++) {
        bind_number(row, 1, i);
        bind_number(row, 2, process.pid);
        bind_id(row, 3, process.parent);
        bind_number(row, 4, process.start_time_ns);
        bind_name(base, row, 5, process.name);
        step_row(base, row);
    }
    sqlite3_finalize(row);
    row = prepare_statement(base, "INSERT INTO streams VALUES(?,?,?,?,?)");
    for (uint32_t i = 0; row != NULL && ttape_reader_get_stream(reader, i, &stream) == TTAPE_OK;
         i++) {
        bind_number(row, 1, i);
        bind_id(row, 2, stream.stream.process);
        bind_number(row, 3, stream.stream.tid);
        bind_number(row, 4, stream.stream.start_time_ns);
        bind_name(base, row, 5, stream.stream.name);
        step_row(base, row);
    }
    sqlite3_finalize(row);
}

static void put_sites(struct database *base, ttape_reader *reader)
{
    ttape_module module;
    ttape_site site;
    char hex[128];
    sqlite3_stmt *row = prepare_statement(base, "INSERT INTO modules VALUES(?,?,?,?,?,?)");
    for (uint32_t i = 0; row != NULL && ttape_reader_get_module(reader, i, &module) == TTAPE_OK;
         i++) {
        size_t length = 0;
        for (size_t j = 0; j < module.build_id.size_bytes && length + 2 < sizeof(hex); j++) {
            uint8_t byte = (uint8_t)module.build_id.data[j];
            hex[length++] = "0123456789abcdef"[byte >> 4];
            hex[length++] = "0123456789abcdef"[byte & 15];
        }
        bind_number(row, 1, i);
        bind_id(row, 2, module.process);
        bind_number(row, 3, module.start);
        bind_number(row, 4, module.end);
        bind_name(base, row, 5, module.path);
        (void)check_result(base, sqlite3_bind_text(row, 6, hex, (int)length, SQLITE_TRANSIENT));
        step_row(base, row);
    }
    sqlite3_finalize(row);
    row = prepare_statement(base, "INSERT INTO sites VALUES(?,?,?,?,?,?,?,?)");
    for (uint32_t i = 0; row != NULL && ttape_reader_get_site(reader, i, &site) == TTAPE_OK; i++) {
        bind_number(row, 1, i);
        bind_text(row, 2, ttape_site_kind_name(site.kind));
        bind_id(row, 3, site.module);
        bind_number(row, 4, site.address);
        bind_name(base, row, 5, tool_site_text(&base->export->names, i));
        bind_name(base, row, 6, site.file);
        bind_number(row, 7, site.line);
        bind_path(row, 8, site.path);
        step_row(base, row);
    }
    sqlite3_finalize(row);
}

/* How system calls were reached: a frame, and the path that led to that. */
static void put_paths(struct database *base, ttape_reader *reader)
{
    ttape_path path;
    sqlite3_stmt *row = prepare_statement(base, "INSERT INTO paths VALUES(?,?,?)");
    for (uint32_t i = 1; row != NULL && ttape_reader_get_path(reader, i, &path) == TTAPE_OK; i++) {
        bind_number(row, 1, i);
        bind_path(row, 2, path.parent);
        bind_id(row, 3, path.site);
        step_row(base, row);
    }
    sqlite3_finalize(row);
}

/* ---- calls and points ---- */

static void put_arguments(struct database *base, uint64_t call, uint64_t point, bool is_return,
                          const struct tool_moment *now)
{
    sqlite3_stmt *row = base->statements[INSERT_ARGUMENT];
    for (uint32_t i = 0; i < now->value_count; i++) {
        sqlite3_bind_null(row, 1);
        sqlite3_bind_null(row, 2);
        bind_number(row, call > 0 ? 1 : 2, call > 0 ? call : point);
        bind_number(row, 3, is_return);
        bind_number(row, 4, i + 1);
        bind_value(base, row, 5, &now->values[i]);
        step_row(base, row);
    }
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct database *base = context;
    const struct tool_stack *stack = tool_walk_stack(walk);
    if (walk->stack == walk->active)
        tool_stack_account(stack, (size_t)(frame - stack->frames), &base->last_ns, now->time_ns);
    frame->id = ++base->call_count;
    put_arguments(base, frame->id, 0, false, now);
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    static const char *const endings[] = {"exit", "unwind", "still_open", "lost", "unseen", "late"};
    struct database *base = context;
    const struct tool_stack *stack = tool_walk_stack(walk);
    sqlite3_stmt *row = base->statements[INSERT_CALL];
    if (walk->stack == walk->active)
        tool_stack_account(stack, stack->shown, &base->last_ns, now->time_ns);
    bind_number(row, 1, frame->id);
    bind_number(row, 2, walk->stream->stream);
    bind_number(row, 3, walk->stack);
    if (frame > stack->frames)
        bind_number(row, 4, frame[-1].id);
    else
        sqlite3_bind_null(row, 4);
    bind_number(row, 5, (uint64_t)(frame - stack->frames));
    bind_id(row, 6, frame->site);
    if (frame->kind == TTAPE_EVENT_SIGNAL_BEGIN)
        bind_number(row, 7, frame->signal);
    else
        sqlite3_bind_null(row, 7);
    bind_number(row, 8, frame->start_ns);
    bind_number(row, 9, now->time_ns - frame->start_ns);
    bind_number(row, 10, frame->self_ns);
    bind_text(row, 11, endings[ending]);
    bind_number(row, 12, frame->is_cut || frame->kind == TTAPE_EVENT_OPEN);
    step_row(base, row);
    if (ending == TOOL_ENDING_EXIT)
        put_arguments(base, frame->id, 0, true, now);
}

static void put_point(struct database *base, const struct tool_walk *walk, uint64_t time_ns,
                      const char *kind, uint32_t site, const char *detail, uint64_t number)
{
    sqlite3_stmt *row = base->statements[INSERT_POINT];
    bind_number(row, 1, ++base->point_count);
    bind_number(row, 2, walk->stream->stream);
    bind_number(row, 3, walk->stack);
    bind_number(row, 4, time_ns);
    bind_text(row, 5, kind);
    bind_number(row, 6, tool_walk_stack(walk)->count);
    bind_id(row, 7, site);
    bind_text(row, 8, detail);
    bind_number(row, 9, number);
    step_row(base, row);
}

static void take_point(void *context, struct tool_walk *walk, const struct tool_moment *now)
{
    struct database *base = context;
    const ttape_event *event = now->event;
    ttape_site site = {.kind = TTAPE_SITE_MARKER};
    if (event->site != TTAPE_NONE)
        (void)ttape_reader_get_site(base->export->reader, event->site, &site);
    bool is_gap = event->kind == TTAPE_EVENT_GAP;
    put_point(base, walk, now->time_ns,
              event->kind == TTAPE_EVENT_EXIT_UNSEEN
                  ? "exit_unseen"
                  : ttape_event_kind_name(event->kind, site.kind),
              event->site, is_gap ? ttape_gap_reason_name(event->argument) : "", event->lost_count);
    put_arguments(base, 0, base->point_count, event->kind == TTAPE_EVENT_EXIT_UNSEEN, now);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    struct database *base = context;
    tool_stack_account(walk->stacks[from], walk->stacks[from]->shown, &base->last_ns, now->time_ns);
    put_point(base, walk, now->time_ns, "switch", TTAPE_NONE, "stack", walk->stack);
}

static void take_skip(void *context, struct tool_walk *walk, uint64_t to_ns)
{
    struct database *base = context;
    tool_stack_account(tool_walk_stack(walk), tool_walk_stack(walk)->shown, &base->last_ns,
                       walk->now_ns);
    base->last_ns = to_ns;
}

static void take_stream(void *context, struct tool_walk *walk)
{
    ((struct database *)context)->last_ns = walk->now_ns;
}

static void fill_tables(struct database *base)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .point = take_point,
                                                   .changed = take_change,
                                                   .skip = take_skip};
    if (!execute(base, schema))
        return;
    put_meta(base, base->export->reader);
    put_threads(base, base->export->reader);
    put_sites(base, base->export->reader);
    put_paths(base, base->export->reader);
    for (int i = 0; i < INSERT_COUNT; i++)
        base->statements[i] = prepare_statement(base, inserts[i]);
    tool_export_walk(base->export, &calls, base);
    if (base->export->status != TOOL_CANNOT)
        (void)execute(base, indexes);
}

static int write_sqlite(struct tool_export *export)
{
    struct database base = {.export = export};
    struct tool_target target;
    int status = tool_target_open(&target, export->path, export->force);
    if (status == TOOL_OK && target.file == NULL)
        status = tool_fail("cannot write '%s': a database needs a regular file", export->path);
    if (status == TOOL_OK) {
        const char *name = ttape_file_sink_temporary_name(target.file);
        if (check_result(&base, sqlite3_open_v2(name, &base.handle, SQLITE_OPEN_READWRITE, NULL)))
            fill_tables(&base);
        for (int i = 0; i < INSERT_COUNT; i++)
            sqlite3_finalize(base.statements[i]);
        (void)check_result(&base, sqlite3_close(base.handle));
        status = export->status == TOOL_CANNOT ? TOOL_CANNOT : tool_target_commit(&target);
    }
    tool_buffer_close(&base.text);
    tool_target_close(&target);
    return status;
}

const struct tool_export_format tool_export_sqlite = {.name = "sqlite",
                                                      .summary = "a database for SQL",
                                                      .shape = TOOL_EXPORT_FILE,
                                                      .run = write_sqlite};
