/* Patterns with folders of any depth, as DuckDB's own readers have them: a part of two stars.
 * glob(3) takes two for one, so that some of the files would be read, and nothing be said. What
 * links lead to is not entered there: a file is found once. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "duckdb/duck_query.h"

struct search {
    char path[PATH_MAX]; /* so far */
    char **found;
    size_t count, capacity;
    int failure; /* of errno */
};

static void search_folder(struct search *search, size_t size, const char *pattern);

static bool is_any_depth(const char *pattern)
{
    return strncmp(pattern, "**", 2) == 0 && (pattern[2] == '/' || pattern[2] == '\0');
}

bool duck_folders_any_depth(const char *pattern)
{
    bool is_meant = false;
    for (const char *at = pattern; at != NULL && !is_meant; at = strchr(at, '/')) {
        at += *at == '/';
        is_meant = is_any_depth(at);
    }
    return is_meant;
}

static void keep_path(struct search *search)
{
    if (search->count == search->capacity) {
        size_t capacity = search->capacity != 0 ? 2 * search->capacity : 16;
        char **grown = realloc(search->found, capacity * sizeof *grown);
        search->failure = grown == NULL ? ENOMEM : 0;
        if (grown == NULL)
            return;
        search->found = grown;
        search->capacity = capacity;
    }
    search->found[search->count] = strdup(search->path);
    search->failure = search->found[search->count] == NULL ? ENOMEM : 0;
    search->count += search->failure == 0;
}

/* Appends an entry's name to the path; the new size, or 0: it is too long. */
static size_t append_name(struct search *search, size_t size, const char *name)
{
    int more = snprintf(search->path + size, sizeof search->path - size, "%s", name);
    return more > 0 && (size_t)more + 1 < sizeof search->path - size ? size + (size_t)more : 0;
}

/* What of a folder's entry is found: itself, or what is in it. `rest` is the pattern behind the
 * part that the name matches; NULL: that was the last. */
static void enter(struct search *search, size_t size, const char *name, const char *rest)
{
    struct stat about;
    size_t end = append_name(search, size, name);
    bool is_there = end != 0 && stat(search->path, &about) == 0;
    if (is_there && rest == NULL && !S_ISDIR(about.st_mode)) {
        keep_path(search);
    } else if (is_there && rest != NULL && S_ISDIR(about.st_mode)) {
        search->path[end] = '/';
        search_folder(search, end + 1, rest);
    }
}

static bool is_link(struct search *search, size_t size, const char *name)
{
    struct stat about;
    return append_name(search, size, name) == 0 || lstat(search->path, &about) != 0 ||
           S_ISLNK(about.st_mode);
}

/* The pattern's first part, and whether it is a name as it stands. */
static bool take_part(char part[NAME_MAX + 1], const char *pattern, size_t size)
{
    if (size > NAME_MAX)
        size = 0; /* nothing is called so */
    memcpy(part, pattern, size);
    part[size] = '\0';
    return strpbrk(part, "*?[\\") == NULL;
}

static void search_entry(struct search *search, size_t size, const char *pattern, const char *name)
{
    char part[NAME_MAX + 1];
    size_t part_size = strcspn(pattern, "/");
    const char *rest = pattern + part_size + strspn(pattern + part_size, "/");
    rest = pattern[part_size] == '/' ? rest : NULL;
    if (!is_any_depth(pattern)) {
        (void)take_part(part, pattern, part_size);
        if (fnmatch(part, name, FNM_PERIOD) == 0)
            enter(search, size, name, rest);
        return;
    }
    if (name[0] == '.')
        return;
    if (rest == NULL)
        enter(search, size, name, NULL);
    if (!is_link(search, size, name))
        enter(search, size, name, pattern);
}

/* What the pattern means in the folder path[0..size), which ends with a slash or is empty. */
static void search_folder(struct search *search, size_t size, const char *pattern)
{
    char part[NAME_MAX + 1];
    size_t part_size = strcspn(pattern, "/");
    const char *rest = pattern + part_size + strspn(pattern + part_size, "/");
    bool is_last = pattern[part_size] == '\0';
    if (search->failure != 0)
        return;
    if (take_part(part, pattern, part_size)) {
        enter(search, size, part, is_last ? NULL : rest);
        return;
    }
    if (is_any_depth(pattern) && !is_last)
        search_folder(search, size, rest);
    struct dirent **entries = NULL;
    search->path[size] = '\0';
    int count = scandir(size == 0 ? "." : search->path, &entries, NULL, alphasort);
    if (count < 0 && search->failure == 0)
        search->failure = errno;
    for (int i = 0; i < count; i++) {
        if (search->failure == 0)
            search_entry(search, size, pattern, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int duck_folders_find(const char *pattern, char ***found, size_t *count)
{
    struct search search = {.count = 0};
    size_t size = strspn(pattern, "/");
    if (size >= sizeof search.path)
        return ENAMETOOLONG;
    memcpy(search.path, pattern, size);
    search_folder(&search, size, pattern + size);
    if (search.count > 0)
        qsort(search.found, search.count, sizeof *search.found, compare_paths);
    size_t kept = 0; /* two such parts may find one file in several ways */
    for (size_t i = 0; i < search.count; i++)
        if (kept > 0 && strcmp(search.found[kept - 1], search.found[i]) == 0)
            free(search.found[i]);
        else
            search.found[kept++] = search.found[i];
    *found = search.found;
    *count = kept;
    return search.failure;
}
