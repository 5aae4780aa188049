/* Folders and lists become names of files. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/rollup.h>

#include "tools/command/tool.h"
#include "tools/io/operands/operands.h"

#define MAGIC_BYTES 8

static void add_path(struct tool_operands *paths, char *path)
{
    tool_grow((void **)&paths->paths, &paths->capacity, paths->count + 1, sizeof(char *));
    paths->paths[paths->count++] = path;
}

void tool_operands_close(struct tool_operands *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->paths[i]);
    free(paths->paths);
    *paths = (struct tool_operands){0};
}

/* ---- folders ---- */

static int compare_entries(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t size = strlen(name), end = strlen(suffix);
    return size > end && strcmp(name + size - end, suffix) == 0;
}

static bool is_ours(const FTSENT *entry)
{
    return entry->fts_info == FTS_F && (ends_with(entry->fts_name, TOOL_TRACE_SUFFIX) ||
                                        ends_with(entry->fts_name, TOOL_ROLLUP_SUFFIX));
}

/* Links in a folder are entries of their own; the folder itself may be one. A file that is gone
 * meanwhile is none. */
static int add_folder(struct tool_operands *paths, char *folder)
{
    char *folders[] = {folder, NULL};
    size_t before = paths->count;
    int status = TOOL_OK;
    FTS *walk = fts_open(folders, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_entries);
    if (walk == NULL)
        return tool_fail("cannot read the folder '%s': %s", folder, strerror(errno));
    for (FTSENT *entry; status == TOOL_OK && (entry = fts_read(walk)) != NULL;)
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
            (entry->fts_info == FTS_NS && entry->fts_errno != ENOENT))
            status = tool_fail("cannot read '%s': %s", entry->fts_path, strerror(entry->fts_errno));
        else if (is_ours(entry))
            add_path(paths, tool_copy_text(entry->fts_path, strlen(entry->fts_path)));
    if (status == TOOL_OK && errno != 0) /* fts_read sets it, to 0 at the end */
        status = tool_fail("cannot read the folder '%s': %s", folder, strerror(errno));
    (void)fts_close(walk);
    if (status == TOOL_OK && paths->count == before)
        return tool_fail("the folder '%s' has no files *%s or *%s; what a recorder left there is "
                         "for 'tracetape recover', what another tool did for 'tracetape convert'",
                         folder, TOOL_TRACE_SUFFIX, TOOL_ROLLUP_SUFFIX);
    return status;
}

static int add_file_or_folder(struct tool_operands *paths, char *path)
{
    struct stat is;
    if (strcmp(path, "-") != 0 && stat(path, &is) == 0 && S_ISDIR(is.st_mode)) {
        paths->are_many = true;
        return add_folder(paths, path);
    }
    add_path(paths, tool_copy_text(path, strlen(path)));
    return TOOL_OK;
}

/* ---- lists ---- */

/* A path as the list's folder sees it. */
static char *beside(const char *list, const char *path, size_t length)
{
    const char *slash = strrchr(list, '/');
    size_t folder = path[0] == '/' || slash == NULL ? 0 : (size_t)(slash - list) + 1;
    char *whole = tool_allocate(folder + length + 1, 1);
    memcpy(whole, list, folder);
    memcpy(whole + folder, path, length);
    return whole;
}

static int add_lines(struct tool_operands *paths, const char *list, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    int status = TOOL_OK;
    for (ssize_t got; status == TOOL_OK && (got = getline(&line, &capacity, file)) > 0;) {
        size_t length = strlen(line); /* a zero in it ends it */
        length -= length > 0 && line[length - 1] == '\n';
        line[length] = '\0';
        if (length == 0)
            continue;
        char *path = beside(list, line, length);
        status = add_file_or_folder(paths, path);
        free(path);
    }
    if (status == TOOL_OK && ferror(file))
        status = tool_fail("cannot read the list '%s': %s", list, strerror(errno));
    free(line);
    return status;
}

static int add_list(struct tool_operands *paths, const char *list)
{
    size_t before = paths->count;
    FILE *file = fopen(list, "re");
    paths->are_many = true;
    if (file == NULL)
        return tool_fail("cannot open the list '%s': %s; '@@%s' is the file '@%s'", list,
                         strerror(errno), list, list);
    int status = add_lines(paths, list, file);
    (void)fclose(file);
    if (status == TOOL_OK && paths->count == before)
        return tool_fail("the list '%s' names no file", list);
    return status;
}

int tool_operands_take(struct tool_operands *paths, int count, char **operands)
{
    int status = TOOL_OK;
    *paths = (struct tool_operands){.are_many = count > 1};
    for (int i = 0; i < count && status == TOOL_OK; i++) {
        char *operand = operands[i];
        if (operand[0] == '@' && operand[1] == '@')
            status = add_file_or_folder(paths, operand + 1);
        else if (operand[0] == '@')
            status = add_list(paths, operand + 1);
        else
            status = add_file_or_folder(paths, operand);
    }
    return status;
}

bool tool_is_rollup(const char *path)
{
    char head[MAGIC_BYTES];
    int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return false;
    ssize_t got = pread(fd, head, sizeof head, 0);
    close(fd);
    return got == (ssize_t)sizeof head && ttape_rollup_begins(head, sizeof head);
}
