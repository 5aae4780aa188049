/* From a statement's parameters to files that are there and times that are meant. */
#include <errno.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "duckdb/duck_query.h"

enum { PATHS_MOST = 1 << 20 };

ttape_status duck_no_memory(ttape_error *err)
{
    *err = (ttape_error){.status = TTAPE_E_MEMORY, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "out of memory");
    return TTAPE_E_MEMORY;
}

void duck_say_file(ttape_error *err, const char *path)
{
    char what[sizeof err->message];
    memcpy(what, err->message, sizeof what);
    (void)snprintf(err->message, sizeof err->message, "'%.100s': %.120s", path, what);
}

static bool refuse_value(ttape_error *err, const char *what, const char *subject)
{
    *err = (ttape_error){.status = TTAPE_E_ARGUMENT, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "%s '%.180s'", what, subject);
    return false;
}

void duck_question_free(struct duck_question *question)
{
    for (uint32_t i = 0; i < question->path_count; i++)
        free(question->paths[i]);
    free(question->paths);
    free(question->tids);
    free(question->function);
    *question = (struct duck_question){0};
}

/* ---- files ---- */

static bool add_path(struct duck_question *question, const char *path, ttape_error *err)
{
    uint32_t count = question->path_count;
    if (count >= PATHS_MOST)
        return refuse_value(err, "too many files: no room for", path);
    if ((count & (count - 1)) == 0) { /* full: it grows at powers of two */
        char **grown = realloc(question->paths,
                               (count == 0 ? 1 : 2 * (size_t)count) * sizeof *question->paths);
        if (grown == NULL)
            return duck_no_memory(err) == TTAPE_OK;
        question->paths = grown;
    }
    question->paths[count] = strdup(path);
    if (question->paths[count] == NULL)
        return duck_no_memory(err) == TTAPE_OK;
    question->path_count++;
    return true;
}

/* Where a pattern means no files: why. */
static bool refuse_pattern(ttape_error *err, const char *path, bool has_memory, bool is_read)
{
    if (!has_memory)
        return duck_no_memory(err) == TTAPE_OK;
    return refuse_value(err, is_read ? "no file matches" : "cannot read the folders of", path);
}

static bool add_deep(struct duck_question *question, const char *pattern, ttape_error *err)
{
    char **found;
    size_t count;
    int failure = duck_folders_find(pattern, &found, &count);
    bool is_whole = failure == 0 && count > 0;
    if (!is_whole)
        (void)refuse_pattern(err, pattern, failure != ENOMEM, failure == 0);
    for (size_t i = 0; i < count; i++) {
        is_whole = is_whole && add_path(question, found[i], err);
        free(found[i]);
    }
    free(found);
    return is_whole;
}

bool duck_question_add(struct duck_question *question, const char *path, ttape_error *err)
{
    struct stat about;
    glob_t found;
    if (stat(path, &about) == 0 || strpbrk(path, "*?[") == NULL)
        return add_path(question, path, err);
    if (duck_folders_any_depth(path))
        return add_deep(question, path, err);
    int failure = glob(path, GLOB_ERR, NULL, &found);
    bool is_whole = failure == 0;
    for (size_t i = 0; is_whole && i < found.gl_pathc; i++)
        is_whole = add_path(question, found.gl_pathv[i], err);
    if (failure != 0)
        (void)refuse_pattern(err, path, failure != GLOB_NOSPACE, failure == GLOB_NOMATCH);
    globfree(&found);
    return is_whole;
}

/* ---- times ---- */

/* A moment at *text: "+" counts from the start, a unit makes it a span; moves *text behind it. */
static bool scan_moment(const char **text, ttape_selection_time *out)
{
    out->is_given = true;
    out->is_relative = **text == '+';
    *text += out->is_relative;
    const char *start = *text;
    if (!ttp_time_scan(text, &out->time_ns))
        return false;
    out->is_span = start + strspn(start, ".0123456789") != *text;
    return true;
}

bool duck_question_set_time(struct duck_question *question, const char *text)
{
    question->from = question->to = (ttape_selection_time){0};
    if (strncmp(text, "..", 2) != 0 && !scan_moment(&text, &question->from))
        return false;
    if (strncmp(text, "..", 2) != 0)
        return false;
    text += 2;
    return *text == '\0' || (scan_moment(&text, &question->to) && *text == '\0');
}

/* ---- looking into the files ---- */

static uint32_t units_of(const struct duck_table *table, const ttape_info *info)
{
    uint64_t count = table->unit == DUCK_BY_PARTITION ? info->partition_count : 1;
    return (uint32_t)count;
}

static bool check_function(const struct duck_question *question, ttape_error *err)
{
    regex_t pattern;
    if (question->function == NULL)
        return true;
    int failure = regcomp(&pattern, question->function, REG_EXTENDED | REG_NOSUB);
    if (failure == REG_ESPACE)
        return duck_no_memory(err) == TTAPE_OK;
    if (failure != 0)
        return refuse_value(err, "no regular expression: function :=", question->function);
    regfree(&pattern);
    return true;
}

bool duck_question_check(struct duck_question *question, ttape_error *err)
{
    if (!check_function(question, err))
        return false;
    if (question->path_count == 0)
        return refuse_value(err, "no file is named for", question->table->name);
    for (uint32_t i = 0; i < question->path_count; i++) {
        ttape_reader_options how = {.size = sizeof how, .cache_bytes = 1};
        ttape_reader *reader;
        ttape_info info;
        ttape_error failure = {0};
        if (ttape_reader_open_path(&reader, question->paths[i], &how, &failure) != TTAPE_OK) {
            *err = failure;
            duck_say_file(err, question->paths[i]);
            return false;
        }
        ttape_reader_get_info(reader, &info);
        question->unit_count += units_of(question->table, &info) + info.stream_count;
        question->estimated_rows += question->table->estimate(&info);
        ttape_reader_close(reader);
    }
    return true;
}
