/* Files of a query: opened by the first thread that reads one, closed by the last; and what is
 * known of each: which streams and sites are chosen, and what its functions are called. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "duckdb/duck_files.h"

#define MEMORY_BYTES        (256ull << 20) /* of a reader, for two threads */
#define MEMORY_BYTES_THREAD (128ull << 20) /* for each further one */
#define NAMES_BYTES_MOST    (1ull << 30)   /* of one file */

/* ---- names ---- */

struct name_room {
    char *text;
    size_t size;
};

/* A site's name, in `room`, which grows. */
static bool get_name(const struct duck_file *file, uint32_t site, struct name_room *room,
                     ttape_string *out)
{
    size_t size = ttape_site_name(file->reader, site, room->text, room->size);
    if (size >= room->size) {
        char *grown = realloc(room->text, size + 1);
        if (grown == NULL)
            return false;
        room->text = grown;
        room->size = size + 1;
        (void)ttape_site_name(file->reader, site, room->text, room->size);
    }
    *out = (ttape_string){room->text, size};
    return true;
}

static bool fill_names(struct duck_file *file, struct name_room *room)
{
    ttape_string name;
    size_t total = 0, at = 0;
    for (uint32_t i = 0; i < file->info.site_count; i++) {
        if (!get_name(file, i, room, &name))
            return false;
        size_t size = ttp_utf8_mend(NULL, name.data, name.size_bytes);
        total += size > DUCK_SHORT_BYTES ? size : 0;
    }
    file->names = malloc((file->info.site_count + 1ull) * sizeof *file->names);
    file->name_bytes = total <= NAMES_BYTES_MOST ? malloc(total + DUCK_SHORT_BYTES) : NULL;
    if (file->names == NULL || file->name_bytes == NULL)
        return false;
    for (uint32_t i = 0; i < file->info.site_count; i++) {
        if (!get_name(file, i, room, &name))
            return false;
        /* a short one is overwritten by the next */
        size_t size = ttp_utf8_mend(file->name_bytes + at, name.data, name.size_bytes);
        file->names[i] = duck_lasting(file->name_bytes + at, size);
        at += size > DUCK_SHORT_BYTES ? size : 0;
    }
    return true;
}

static ttape_status name_sites(struct duck_file *file, ttape_error *err)
{
    struct name_room room = {malloc(256), 256};
    bool is_done = room.text != NULL && fill_names(file, &room);
    free(room.text);
    return is_done ? TTAPE_OK : duck_no_memory(err);
}

static ttape_status find_keys(struct duck_file *file, ttape_error *err)
{
    const ttape_reader *reader = file->reader;
    const ttape_functions_options how = {.size = sizeof how, .by = TTAPE_FUNCTIONS_BY_BUILD};
    ttape_functions *functions;
    uint32_t row_count, site_count;
    ttape_status status = ttape_functions_make(&functions, &reader, 1, &how, err);
    if (status != TTAPE_OK)
        return status;
    const ttape_function *rows = ttape_functions_get_rows(functions, &row_count);
    const uint32_t *sites = ttape_functions_get_sites(functions, 0, &site_count);
    file->keys = calloc(file->info.site_count + 1ull, sizeof *file->keys);
    for (uint32_t i = 0; file->keys != NULL && i < file->info.site_count && i < site_count; i++)
        file->keys[i] = sites[i] < row_count ? rows[sites[i]].key : 0;
    ttape_functions_close(functions);
    return file->keys != NULL ? TTAPE_OK : duck_no_memory(err);
}

/* ---- where segments are ---- */

/* Calls `put` for each segment that can be read, partition by partition. */
static void each_segment(struct duck_file *file,
                         void (*put)(struct duck_file *, const ttape_segment_info *, uint32_t))
{
    ttape_segment_info segment;
    ttape_error err;
    for (uint32_t p = 0; p < file->info.partition_count; p++) {
        ttape_partition_info about;
        (void)ttape_reader_get_partition(file->reader, p, &about);
        for (uint32_t s = 0; s < about.segment_count; s++)
            if (ttape_reader_get_segment(file->reader, p, s, &segment, &err) == TTAPE_OK &&
                segment.stream < file->info.stream_count)
                put(file, &segment, p);
    }
}

static void count_place(struct duck_file *file, const ttape_segment_info *segment, uint32_t number)
{
    (void)number;
    file->first_place[segment->stream + 2]++;
}

static void put_place(struct duck_file *file, const ttape_segment_info *segment, uint32_t number)
{
    uint64_t at = file->first_place[segment->stream + 1];
    if (at < file->place_count) /* a file that changes may have more now */
        file->places[file->first_place[segment->stream + 1]++] =
            (struct duck_place){segment->start.event_number + segment->event_count, number};
}

static ttape_status find_places(struct duck_file *file, ttape_error *err)
{
    uint64_t streams = file->info.stream_count;
    file->first_place = calloc(streams + 2, sizeof *file->first_place);
    if (file->first_place == NULL)
        return duck_no_memory(err);
    each_segment(file, count_place);
    for (uint64_t i = 2; i < streams + 2; i++)
        file->first_place[i] += file->first_place[i - 1];
    file->place_count = file->first_place[streams + 1];
    file->places = calloc(file->place_count + 1, sizeof *file->places);
    if (file->places == NULL)
        return duck_no_memory(err);
    each_segment(file, put_place); /* first_place[i + 1] becomes where stream i ends */
    return TTAPE_OK;
}

uint32_t duck_partition_of(const struct duck_file *file, uint32_t stream, uint64_t event)
{
    uint64_t low = file->first_place[stream], end = file->first_place[stream + 1], high = end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (file->places[middle].end_event <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? file->places[low].partition : TTAPE_NONE;
}

/* ---- what is chosen ---- */

static void choose_syscalls(struct duck_file *file)
{
    for (uint32_t i = 0; i < file->info.site_count; i++) {
        ttape_site site;
        (void)ttape_reader_get_site(file->reader, i, &site);
        file->sites[i] = site.kind == TTAPE_SITE_SYSCALL;
    }
}

/* Of the sites that are chosen, those whose name matches. */
static ttape_status match_sites(const struct duck_question *question, struct duck_file *file,
                                ttape_error *err)
{
    struct name_room room = {malloc(256), 256};
    ttape_string name;
    regex_t pattern;
    bool is_whole = room.text != NULL;
    if (!is_whole || regcomp(&pattern, question->function, REG_EXTENDED | REG_NOSUB) != 0) {
        free(room.text);
        return duck_no_memory(err);
    }
    for (uint32_t i = 0; is_whole && i < file->info.site_count; i++) {
        is_whole = get_name(file, i, &room, &name);
        int failure = is_whole ? regexec(&pattern, room.text, 0, NULL, 0) : 0;
        file->sites[i] &= failure == 0;
        is_whole = is_whole && (failure == 0 || failure == REG_NOMATCH); /* else: no memory */
    }
    regfree(&pattern);
    free(room.text);
    return is_whole ? TTAPE_OK : duck_no_memory(err);
}

static ttape_status choose_sites(const struct duck_question *question, struct duck_file *file,
                                 ttape_error *err)
{
    file->sites = malloc(file->info.site_count + 1ull);
    if (file->sites == NULL)
        return duck_no_memory(err);
    memset(file->sites, 1, file->info.site_count + 1ull);
    if (question->table->only_syscalls)
        choose_syscalls(file);
    return question->function != NULL ? match_sites(question, file, err) : TTAPE_OK;
}

static bool is_tid(const struct duck_question *question, uint64_t tid)
{
    for (uint32_t i = 0; i < question->tid_count; i++)
        if (question->tids[i] == tid)
            return true;
    return false;
}

static ttape_status choose_streams(const struct duck_question *question, struct duck_file *file,
                                   ttape_error *err)
{
    file->streams = calloc(file->info.stream_count + 1ull, 1);
    if (file->streams == NULL)
        return duck_no_memory(err);
    for (uint32_t i = 0; i < file->info.stream_count; i++) {
        ttape_stream_info about;
        (void)ttape_reader_get_stream(file->reader, i, &about);
        file->streams[i] = is_tid(question, about.stream.tid);
    }
    return TTAPE_OK;
}

/* The range of a file's own clock. */
static ttape_status choose_range(const struct duck_question *question, struct duck_file *file,
                                 ttape_error *err)
{
    const ttape_selection_options how = {
        .size = sizeof how, .from = question->from, .to = question->to};
    ttape_selection *selection;
    ttape_selection_info chosen;
    ttape_status status = ttape_selection_make(&selection, file->reader, &how, err);
    if (status != TTAPE_OK)
        return status;
    ttape_selection_get_info(selection, &chosen);
    file->has_range = chosen.has_range;
    file->from_ns = chosen.from_ns;
    file->to_ns = chosen.to_ns;
    ttape_selection_close(selection);
    return TTAPE_OK;
}

/* ---- opening ---- */

/* Frees what is known of a file. */
static void forget_file(struct duck_file *file)
{
    free(file->streams);
    free(file->sites);
    free(file->names);
    free(file->name_bytes);
    free(file->keys);
    free(file->places);
    free(file->first_place);
    free(file->path_text);
    file->streams = file->sites = NULL;
    file->names = NULL;
    file->name_bytes = file->path_text = NULL;
    file->keys = file->first_place = NULL;
    file->places = NULL;
}

static ttape_status set_cells(struct duck_file *file, ttape_error *err)
{
    size_t length = strlen(file->path), size = ttp_utf8_mend(NULL, file->path, length);
    file->path_text = malloc(size + 1);
    if (file->path_text == NULL)
        return duck_no_memory(err);
    (void)ttp_utf8_mend(file->path_text, file->path, length);
    file->path_cell = duck_lasting(file->path_text, size);
    for (unsigned i = 0; i < sizeof file->info.trace_id; i++)
        (void)snprintf(file->trace + (size_t)2 * i, 3, "%02x", file->info.trace_id[i]);
    file->trace_cell = duck_lasting(file->trace, sizeof file->trace - 1);
    return TTAPE_OK;
}

static ttape_status know(const struct duck_query *query, struct duck_file *file, ttape_error *err)
{
    const struct duck_question *question = query->question;
    forget_file(file); /* of an attempt before */
    ttape_reader_get_info(file->reader, &file->info);
    file->has_times = file->info.resolution_ns != TTAPE_TIME_NONE;
    ttape_status status = set_cells(file, err);
    file->unit = file->origins != NULL ? DUCK_BY_PARTITION : query->unit;
    file->unit_count = file->unit == DUCK_BY_PARTITION ? (uint32_t)file->info.partition_count
                       : file->unit == DUCK_BY_STREAM  ? file->info.stream_count
                                                       : 1;
    if (status == TTAPE_OK && (question->function != NULL || question->table->only_syscalls))
        status = choose_sites(question, file, err);
    if (status == TTAPE_OK && question->has_tids)
        status = choose_streams(question, file, err);
    if (status == TTAPE_OK && file->streams != NULL &&
        !memchr(file->streams, 1, file->info.stream_count))
        file->unit_count = 0;
    if (status == TTAPE_OK && (question->from.is_given || question->to.is_given))
        status = choose_range(question, file, err);
    if (status == TTAPE_OK && (query->columns & question->table->name_columns) != 0)
        status = name_sites(file, err);
    if (status == TTAPE_OK && (query->columns & question->table->key_columns) != 0)
        status = find_keys(file, err);
    if (status == TTAPE_OK && file->unit == DUCK_BY_STREAM &&
        (query->columns & question->table->place_columns) != 0)
        status = find_places(file, err);
    file->is_known = status == TTAPE_OK;
    return status;
}

/* Numbers of calls, where they can be known without reading streams from their beginning. What is
 * wrong with them is no reason not to read. */
static ttape_status find_origins(const struct duck_query *query, struct duck_file *file,
                                 ttape_error *err)
{
    const struct duck_table *table = query->question->table;
    if (query->unit != DUCK_BY_STREAM || !table->has_origins ||
        (query->columns & table->whole_columns) != 0 ||
        (file->is_known && file->unit != DUCK_BY_PARTITION))
        return TTAPE_OK;
    ttape_status status = ttape_call_origins_make(&file->origins, file->reader, err);
    return status == TTAPE_E_MEMORY || (status != TTAPE_OK && file->is_known) ? status : TTAPE_OK;
}

static ttape_status open_reader(struct duck_file *file, ttape_error *err)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    ttape_reader_options how = {.size = sizeof how};
    how.limits.memory_bytes =
        MEMORY_BYTES + (threads > 2 ? (uint64_t)(threads - 2) * MEMORY_BYTES_THREAD : 0);
    ttape_status status = ttape_reader_open_path(&file->reader, file->path, &how, err);
    if (status != TTAPE_OK)
        duck_say_file(err, file->path);
    return status;
}

ttape_status duck_file_use(struct duck_query *query, struct duck_file *file, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    if (file->users == 0)
        status = open_reader(file, err);
    if (status != TTAPE_OK)
        return status;
    if (file->users++ == 0)
        status = find_origins(query, file, err);
    if (status == TTAPE_OK && !file->is_known)
        status = know(query, file, err);
    if (status != TTAPE_OK)
        duck_file_leave(file);
    return status;
}

void duck_file_leave(struct duck_file *file)
{
    if (--file->users > 0)
        return;
    ttape_call_origins_close(file->origins);
    ttape_reader_close(file->reader);
    file->origins = NULL;
    file->reader = NULL;
}

/* ---- queries ---- */

struct duck_query *duck_query_open(const struct duck_question *question, uint32_t columns)
{
    struct duck_query *query = calloc(1, sizeof *query);
    if (query == NULL)
        return NULL;
    query->question = question;
    query->columns = columns;
    query->unit =
        (columns & question->table->by_stream) != 0 ? DUCK_BY_STREAM : question->table->unit;
    query->files = calloc(question->path_count + 1ull, sizeof *query->files);
    if (query->files == NULL || pthread_mutex_init(&query->mutex, NULL) != 0) {
        free(query->files);
        free(query);
        return NULL;
    }
    for (uint32_t i = 0; i < question->path_count; i++)
        query->files[i].path = question->paths[i];
    return query;
}

void duck_query_close(struct duck_query *query)
{
    if (query == NULL)
        return;
    for (uint32_t i = 0; i < query->question->path_count; i++) {
        ttape_call_origins_close(query->files[i].origins);
        ttape_reader_close(query->files[i].reader);
        forget_file(&query->files[i]);
    }
    (void)pthread_mutex_destroy(&query->mutex);
    free(query->files);
    free(query);
}
