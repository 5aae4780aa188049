/* Compilers' files of calls: found beside a binary, or in a folder; their edges between functions
 * that symbols name, each once. Calls of an instruction get a source more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "program/callgraph/binary_graph.h"
#include "program/callgraph/ci_text.h"

#define FILE_MOST   (UINT64_C(256) << 20) /* bytes */
#define FILES_MOST  100000u
#define FOLDER_MOST 16u /* in each other */
#define AMBIGUOUS   UINT32_MAX

static void index_names(struct tool_binary_graph *graph)
{
    if (graph->by_symbol.used_count != 0)
        return;
    for (uint32_t i = 0; i < graph->module_count; i++)
        for (uint32_t f = 0; f < graph->modules[i]->code.function_count; f++) {
            const char *name = graph->modules[i]->code.functions[f].name;
            if (name == NULL)
                continue;
            uint32_t *machine = ttp_region_at(&graph->edges->region, &graph->by_symbol,
                                              tool_binary_name_hash(graph, name, strlen(name)), 0);
            *machine = *machine == 0 ? tool_binary_machine(graph, i, f) + 1 : AMBIGUOUS;
        }
}

/* TTAPE_NONE: none is called so, or several are. */
static uint32_t find_machine(struct tool_binary_graph *graph, ttape_string title)
{
    ttape_string name = tool_ci_name(title);
    uint32_t found = ttp_key_map_find(&graph->by_symbol,
                                      tool_binary_name_hash(graph, name.data, name.size_bytes), 0);
    return found == 0 || found == AMBIGUOUS ? TTAPE_NONE : found - 1;
}

static void take_call(void *context, ttape_string from_title, ttape_string to_title)
{
    struct tool_binary_graph *graph = context;
    uint32_t from = find_machine(graph, from_title), to = find_machine(graph, to_title);
    if (from != TTAPE_NONE && to != TTAPE_NONE)
        tool_binary_called(graph, from, to, TOOL_EDGE_COMPILER);
}

static enum tool_binary_result tell_failure(const struct tool_binary_graph *graph,
                                            const struct tool_binary_trouble trouble)
{
    if (graph->tell != NULL)
        graph->tell(&trouble);
    return trouble.problem == TOOL_BINARY_NO_GRAPH ? TOOL_BINARY_LOSS : TOOL_BINARY_CANNOT;
}

static enum tool_binary_result read_file(struct tool_binary_graph *graph, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed = 0;
    if (fd < 0)
        return tell_failure(graph,
                            (struct tool_binary_trouble){TOOL_BINARY_NOT_OPENED, path, errno, 0});
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size > FILE_MOST) {
        close(fd);
        return tell_failure(graph,
                            (struct tool_binary_trouble){TOOL_BINARY_NO_FILE_OF_CALLS, path, 0, 0});
    }
    size_t size = (size_t)status.st_size, done = 0;
    char *text = ttp_region_take(&graph->edges->region, size + 1, 1);
    while (text != NULL && done < size && failed == 0) {
        ssize_t got = read(fd, text + done, size - done);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            failed = errno;
        done += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    size_t line = failed == 0 && text != NULL ? tool_ci_parse(text, done, take_call, graph) : 0;
    ttp_region_give(&graph->edges->region, text);
    if (failed != 0)
        return tell_failure(graph,
                            (struct tool_binary_trouble){TOOL_BINARY_NOT_READ, path, failed, 0});
    if (line == 0)
        return TOOL_BINARY_FINE;
    return tell_failure(graph, (struct tool_binary_trouble){TOOL_BINARY_NO_GRAPH, path, 0, line});
}

static bool ends_with_ci(const char *name)
{
    size_t size = strlen(name);
    return size > 3 && strcmp(name + size - 3, ".ci") == 0;
}

static enum tool_binary_result worse(enum tool_binary_result one, enum tool_binary_result other)
{
    return one > other ? one : other;
}

/* Those of a folder, and of folders in it; where `base` is given, those of this folder that
 * compilers call after it: BASE.ci, BASE-SOURCE.ci. */
static enum tool_binary_result read_folder(struct tool_binary_graph *graph, const char *path,
                                           const char *base, uint32_t depth)
{
    DIR *folder = opendir(path);
    enum tool_binary_result status = TOOL_BINARY_FINE;
    size_t base_bytes = base != NULL ? strlen(base) : 0;
    if (folder == NULL)
        return base != NULL ? TOOL_BINARY_FINE
                            : tell_failure(graph, (struct tool_binary_trouble){
                                                      TOOL_BINARY_NOT_OPENED, path, errno, 0});
    for (const struct dirent *entry;
         (entry = readdir(folder)) != NULL && status != TOOL_BINARY_CANNOT;) {
        struct stat found;
        char *inside = ttp_region_join(&graph->edges->region, path, "/", entry->d_name);
        bool is_meant = base == NULL ||
                        (strncmp(entry->d_name, base, base_bytes) == 0 &&
                         (entry->d_name[base_bytes] == '-' || entry->d_name[base_bytes] == '.'));
        if (!is_meant || inside == NULL || entry->d_name[0] == '.' || lstat(inside, &found) != 0)
            ;
        else if (S_ISDIR(found.st_mode) && base == NULL && depth < FOLDER_MOST)
            status = worse(status, read_folder(graph, inside, NULL, depth + 1));
        else if (S_ISREG(found.st_mode) && ends_with_ci(entry->d_name) &&
                 graph->ci_files++ < FILES_MOST)
            status = worse(status, read_file(graph, inside));
        ttp_region_give(&graph->edges->region, inside);
    }
    closedir(folder);
    return status;
}

enum tool_binary_result tool_binary_graph_add_ci(struct tool_binary_graph *graph, const char *path)
{
    struct stat status;
    index_names(graph);
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    graph->ci_files += !is_folder;
    return is_folder ? read_folder(graph, path, NULL, 0) : read_file(graph, path);
}

enum tool_binary_result tool_binary_graph_add_ci_beside(struct tool_binary_graph *graph,
                                                        const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = ttp_base_name(path);
    char *folder = slash == NULL || slash == path
                       ? ttp_region_copy(&graph->edges->region, slash == NULL ? "." : "/", 1)
                       : ttp_region_copy(&graph->edges->region, path, (size_t)(slash - path));
    if (folder == NULL || base[0] == '\0')
        return TOOL_BINARY_FINE;
    index_names(graph);
    enum tool_binary_result result = read_folder(graph, folder, base, 0);
    ttp_region_give(&graph->edges->region, folder);
    return result;
}
