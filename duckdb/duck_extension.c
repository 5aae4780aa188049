/* The extension: tables as DuckDB's table functions. The only file that knows DuckDB, by the stable
 * part of its C interface for extensions.
 *
 *   bind   parameters -> a question (duck_question.c), and the columns
 *   init   columns that are asked for -> a query (duck_files.c), and a scan (duck_scan.c) a thread
 *   scan   a scan's next rows into a chunk of vectors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_query.h"

#define DUCKDB_EXTENSION_NAME ttape
#include <duckdb_extension.h>

_Static_assert(sizeof(struct duck_text) == sizeof(duckdb_string_t) && DUCK_SHORT_BYTES == 12 &&
                   offsetof(struct duck_text, prefix) ==
                       offsetof(duckdb_string_t, value.inlined.inlined) &&
                   offsetof(struct duck_text, in.data) ==
                       offsetof(duckdb_string_t, value.pointer.ptr),
               "texts lie in memory as DuckDB's");

DUCKDB_EXTENSION_EXTERN
bool ttape_init_c_api(duckdb_extension_info info, struct duckdb_extension_access *access);

static const struct duck_table *const tables[] = {&duck_calls,  &duck_events,  &duck_summary,
                                                  &duck_sites,  &duck_streams, &duck_partitions,
                                                  &duck_values, &duck_syscalls};

/* ---- types ---- */

static duckdb_logical_type make_words(const char *const *words)
{
    idx_t count = 0;
    while (words[count] != NULL)
        count++;
    return duckdb_create_enum_type((const char **)words, count);
}

static duckdb_logical_type make_type(const struct duck_column *column)
{
    static const duckdb_type types[DUCK_KIND_COUNT] = {
        [DUCK_BOOL] = DUCKDB_TYPE_BOOLEAN, [DUCK_U32] = DUCKDB_TYPE_UINTEGER,
        [DUCK_U64] = DUCKDB_TYPE_UBIGINT,  [DUCK_I64] = DUCKDB_TYPE_BIGINT,
        [DUCK_F64] = DUCKDB_TYPE_DOUBLE,   [DUCK_TEXT] = DUCKDB_TYPE_VARCHAR,
        [DUCK_BYTES] = DUCKDB_TYPE_BLOB};
    if (column->kind == DUCK_WORD)
        return make_words(column->words);
    if (column->kind != DUCK_TEXTS)
        return duckdb_create_logical_type(types[column->kind]);
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_logical_type list = duckdb_create_list_type(text);
    duckdb_destroy_logical_type(&text);
    return list;
}

/* ---- parameters ---- */

static void say(char *text, size_t size, const ttape_error *err)
{
    (void)snprintf(text, size, "ttape: %s", err->message);
}

static void refuse_bind(duckdb_bind_info info, const ttape_error *err)
{
    char text[sizeof err->message + 16];
    say(text, sizeof text, err);
    duckdb_bind_set_error(info, text);
}

static bool is_list(duckdb_value value)
{
    return duckdb_get_type_id(duckdb_get_value_type(value)) == DUCKDB_TYPE_LIST;
}

/* Takes the texts of a value, or of a list of them. */
static bool take_paths(struct duck_question *question, duckdb_value value, ttape_error *err)
{
    bool is_taken = true;
    if (duckdb_is_null_value(value))
        return true;
    if (is_list(value)) {
        idx_t count = duckdb_get_list_size(value);
        for (idx_t i = 0; i < count && is_taken; i++) {
            duckdb_value child = duckdb_get_list_child(value, i);
            is_taken = take_paths(question, child, err);
            duckdb_destroy_value(&child);
        }
        return is_taken;
    }
    char *path = duckdb_get_varchar(value);
    is_taken =
        path != NULL ? duck_question_add(question, path, err) : duck_no_memory(err) == TTAPE_OK;
    duckdb_free(path);
    return is_taken;
}

static bool is_whole_number(duckdb_value value)
{
    duckdb_type type = duckdb_get_type_id(duckdb_get_value_type(value));
    return type >= DUCKDB_TYPE_TINYINT && type <= DUCKDB_TYPE_UBIGINT;
}

/* A thread's number. */
static bool take_tid(struct duck_question *question, duckdb_value value)
{
    if (duckdb_is_null_value(value) || !is_whole_number(value))
        return false;
    if (duckdb_get_int64(value) < 0 && duckdb_get_uint64(value) <= INT64_MAX)
        return false; /* a getter whose type cannot hold the number returns its least one */
    question->tids[question->tid_count++] = duckdb_get_uint64(value);
    return true;
}

static bool take_tids(struct duck_question *question, duckdb_value value)
{
    idx_t count = is_list(value) ? duckdb_get_list_size(value) : 1;
    question->has_tids = true;
    question->tids = calloc(count + 1, sizeof *question->tids);
    bool is_taken = question->tids != NULL;
    if (is_taken && !is_list(value))
        return take_tid(question, value);
    for (idx_t i = 0; is_taken && i < count; i++) {
        duckdb_value child = duckdb_get_list_child(value, i);
        is_taken = take_tid(question, child);
        duckdb_destroy_value(&child);
    }
    return is_taken;
}

static bool take_named(struct duck_question *question, const char *name, duckdb_value value,
                       ttape_error *err)
{
    bool is_taken = true;
    *err = (ttape_error){.status = TTAPE_E_ARGUMENT, .offset = TTAPE_ERROR_NO_OFFSET};
    if (strcmp(name, "thread") == 0) {
        (void)snprintf(err->message, sizeof err->message,
                       "thread is a number, or a list of numbers");
        return take_tids(question, value);
    }
    char *text = duckdb_get_varchar(value);
    if (text == NULL)
        return duck_no_memory(err) == TTAPE_OK;
    if (strcmp(name, "times") == 0) {
        is_taken = duck_question_set_time(question, text);
        (void)snprintf(err->message, sizeof err->message,
                       "no time: '%.80s': write times := '1s..2s'", text);
    } else if (strcmp(name, "function") == 0) {
        question->function = strdup(text);
        is_taken = question->function != NULL;
        (void)snprintf(err->message, sizeof err->message, "out of memory");
    } else {
        question->skips_damage = strcmp(text, "skip") == 0;
        is_taken = question->skips_damage || strcmp(text, "raise") == 0;
        (void)snprintf(err->message, sizeof err->message,
                       "damaged is 'raise' or 'skip', not '%.80s'", text);
    }
    duckdb_free(text);
    return is_taken;
}

static const struct {
    const char *name;
    duckdb_type type;
    size_t is_known; /* of a table, where this says so */
} parameters[] = {{"function", DUCKDB_TYPE_VARCHAR, offsetof(struct duck_table, has_function)},
                  {"thread", DUCKDB_TYPE_ANY, offsetof(struct duck_table, has_thread)},
                  {"times", DUCKDB_TYPE_VARCHAR, offsetof(struct duck_table, has_time)},
                  {"damaged", DUCKDB_TYPE_VARCHAR, offsetof(struct duck_table, has_damaged)}};
enum { PARAMETERS = sizeof parameters / sizeof parameters[0] };

static bool has_parameter(const struct duck_table *table, unsigned number)
{
    return *(const bool *)((const char *)table + parameters[number].is_known);
}

static bool take_parameters(duckdb_bind_info info, struct duck_question *question, ttape_error *err)
{
    duckdb_value files = duckdb_bind_get_parameter(info, 0);
    bool is_taken = take_paths(question, files, err);
    duckdb_destroy_value(&files);
    for (unsigned i = 0; i < PARAMETERS && is_taken; i++) {
        duckdb_value value = has_parameter(question->table, i)
                                 ? duckdb_bind_get_named_parameter(info, parameters[i].name)
                                 : NULL;
        if (value != NULL && !duckdb_is_null_value(value))
            is_taken = take_named(question, parameters[i].name, value, err);
        if (value != NULL)
            duckdb_destroy_value(&value);
    }
    return is_taken;
}

/* ---- bind ---- */

static void free_question(void *question)
{
    duck_question_free(question);
    free(question);
}

static void bind(duckdb_bind_info info)
{
    ttape_error err = {0};
    const struct duck_table *table = duckdb_bind_get_extra_info(info);
    struct duck_question *question = calloc(1, sizeof *question);
    if (question == NULL) {
        (void)duck_no_memory(&err);
        refuse_bind(info, &err);
        return;
    }
    question->table = table;
    if (!take_parameters(info, question, &err) || !duck_question_check(question, &err)) {
        refuse_bind(info, &err);
        free_question(question);
        return;
    }
    for (unsigned i = 0; i < table->column_count; i++) {
        duckdb_logical_type type = make_type(&table->columns[i]);
        duckdb_bind_add_result_column(info, table->columns[i].name, type);
        duckdb_destroy_logical_type(&type);
    }
    duckdb_bind_set_cardinality(info, question->estimated_rows, false);
    duckdb_bind_set_bind_data(info, question, free_question);
}

/* ---- init ---- */

struct state {
    struct duck_query *query;
    unsigned column_count;
    uint8_t columns[DUCK_COLUMNS_MAX];
};

static void free_state(void *memory)
{
    struct state *state = memory;
    duck_query_close(state->query);
    free(state);
}

static void init(duckdb_init_info info)
{
    const struct duck_question *question = duckdb_init_get_bind_data(info);
    struct state *state = calloc(1, sizeof *state);
    uint32_t columns = 0;
    idx_t count = duckdb_init_get_column_count(info);
    for (idx_t i = 0; state != NULL && i < count && i < DUCK_COLUMNS_MAX; i++) {
        idx_t column = duckdb_init_get_column_index(info, i);
        bool is_own = column < question->table->column_count; /* or rows are only counted */
        state->columns[state->column_count++] = is_own ? (uint8_t)column : UINT8_MAX;
        columns |= is_own ? 1u << column : 0;
    }
    if (state != NULL)
        state->query = duck_query_open(question, columns);
    if (state == NULL || state->query == NULL) {
        free(state);
        duckdb_init_set_error(info, "ttape: out of memory");
        return;
    }
    duckdb_init_set_max_threads(info, question->unit_count > 0 ? question->unit_count : 1);
    duckdb_init_set_init_data(info, state, free_state);
}

/* A thread's own state is made when it first has something to do: here its query is not known. */
struct local {
    struct duck_scan *scan;
};

static void free_local(void *memory)
{
    struct local *local = memory;
    duck_scan_close(local->scan);
    free(local);
}

static void init_local(duckdb_init_info info)
{
    struct local *local = calloc(1, sizeof *local);
    if (local == NULL)
        duckdb_init_set_error(info, "ttape: out of memory");
    else
        duckdb_init_set_init_data(info, local, free_local);
}

/* ---- scan ---- */

static duckdb_vector vector_of(const struct duck_rows *rows, unsigned place)
{
    return duckdb_data_chunk_get_vector(rows->sink, place);
}

static void mark(struct duck_rows *rows, unsigned place)
{
    duckdb_vector vector = vector_of(rows, place);
    duckdb_vector_ensure_validity_writable(vector);
    rows->valid[place] = duckdb_vector_get_validity(vector);
}

static void copy_column(struct duck_rows *rows, unsigned place, size_t row, const char *data,
                        size_t size)
{
    duckdb_vector_assign_string_element_len(vector_of(rows, place), row, data, size);
}

static bool list(struct duck_rows *rows, unsigned place, size_t row, size_t count, size_t *first)
{
    duckdb_vector vector = vector_of(rows, place);
    duckdb_list_entry *entries = duckdb_vector_get_data(vector);
    *first = duckdb_list_vector_get_size(vector);
    entries[row] = (duckdb_list_entry){*first, count};
    return duckdb_list_vector_reserve(vector, *first + count) == DuckDBSuccess &&
           duckdb_list_vector_set_size(vector, *first + count) == DuckDBSuccess;
}

static void copy_into_list(struct duck_rows *rows, unsigned place, size_t row, const char *data,
                           size_t size)
{
    duckdb_vector child = duckdb_list_vector_get_child(vector_of(rows, place));
    duckdb_vector_assign_string_element_len(child, row, data, size);
}

static void scan(duckdb_function_info info, duckdb_data_chunk output)
{
    struct state *state = duckdb_function_get_init_data(info);
    struct local *local = duckdb_function_get_local_init_data(info);
    ttape_error err = {0};
    struct duck_rows rows = {.column_count = state->column_count,
                             .sink = output,
                             .mark = mark,
                             .list = list,
                             .copy_into_list = copy_into_list,
                             .copy = copy_column};
    memcpy(rows.columns, state->columns, sizeof rows.columns);
    for (unsigned i = 0; i < rows.column_count; i++)
        rows.cells[i] = duckdb_vector_get_data(vector_of(&rows, i));
    if (local->scan == NULL)
        local->scan = duck_scan_open(state->query);
    bool is_read = local->scan != NULL ? duck_scan_next(local->scan, &rows, &err)
                                       : duck_no_memory(&err) == TTAPE_OK;
    if (!is_read) {
        char text[sizeof local->scan->said + 16];
        (void)snprintf(text, sizeof text, "ttape: %s",
                       local->scan != NULL ? local->scan->said : err.message);
        duckdb_function_set_error(info, text);
    }
    duckdb_data_chunk_set_size(output, is_read ? rows.count : 0);
}

/* ---- what DuckDB calls ---- */

static bool offer(duckdb_connection connection, const struct duck_table *table)
{
    duckdb_table_function function = duckdb_create_table_function();
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
    duckdb_table_function_set_name(function, table->name);
    duckdb_table_function_add_parameter(function, any);
    duckdb_destroy_logical_type(&any);
    for (unsigned i = 0; i < PARAMETERS; i++) {
        if (!has_parameter(table, i))
            continue;
        duckdb_logical_type type = duckdb_create_logical_type(parameters[i].type);
        duckdb_table_function_add_named_parameter(function, parameters[i].name, type);
        duckdb_destroy_logical_type(&type);
    }
    duckdb_table_function_set_extra_info(function, (void *)table, NULL);
    duckdb_table_function_set_bind(function, bind);
    duckdb_table_function_set_init(function, init);
    duckdb_table_function_set_local_init(function, init_local);
    duckdb_table_function_set_function(function, scan);
    duckdb_table_function_supports_projection_pushdown(function, true);
    bool is_offered = duckdb_register_table_function(connection, function) == DuckDBSuccess;
    duckdb_destroy_table_function(&function);
    return is_offered;
}

/* FROM 'run.ttape' is the calls of that file. */
static void replace_name(duckdb_replacement_scan_info info, const char *name, void *data)
{
    static const char ending[] = ".ttape";
    size_t size = strlen(name);
    (void)data;
    if (size < sizeof ending || strcmp(name + size - (sizeof ending - 1), ending) != 0)
        return;
    duckdb_value path = duckdb_create_varchar(name);
    duckdb_replacement_scan_set_function_name(info, duck_calls.name);
    duckdb_replacement_scan_add_parameter(info, path);
    duckdb_destroy_value(&path);
}

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access *access)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (!offer(connection, tables[i])) {
            access->set_error(info, "ttape: a table function cannot be registered");
            return false;
        }
    duckdb_add_replacement_scan(*access->get_database(info), replace_name, NULL, NULL);
    return true;
}
