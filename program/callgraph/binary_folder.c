/* The files of another machine, in a folder: those whose build id a map has, each once. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "program/callgraph/binary_graph.h"
#include "program/elf/elf_head.h"

#define FOLDERS_MOST 16u /* in each other */
#define FILES_MOST   1000000u

struct looking {
    struct tool_binary_graph *graph;
    uint32_t files_left;
    size_t found;
};

static bool is_there(const struct tool_binary_graph *graph, const struct tool_elf_head *head)
{
    for (size_t i = 0; i < graph->module_count; i++)
        if (graph->modules[i]->is_open &&
            graph->modules[i]->image.build_id_bytes == head->build_id_bytes &&
            memcmp(graph->modules[i]->image.build_id, head->build_id, head->build_id_bytes) == 0)
            return true;
    return false;
}

/* Files with debug information alone have no code: their segments have no bytes. */
static bool has_code(const struct tool_elf_head *head)
{
    for (uint32_t i = 0; i < head->load_count; i++)
        if (head->loads[i].executable && head->loads[i].file_bytes != 0)
            return true;
    return false;
}

static void look_at(struct looking *looking, const char *path)
{
    struct tool_elf_head head;
    uint64_t start;
    if (tool_elf_head_of(NULL, path, &head) != NULL || head.build_id_bytes == 0 ||
        !has_code(&head) || is_there(looking->graph, &head))
        return;
    const ttape_string id = {(const char *)head.build_id, head.build_id_bytes};
    if (!looking->graph->find_start(looking->graph->find_context, (ttape_string){0}, id, &start))
        return;
    if (tool_binary_graph_add(looking->graph, path) == NULL)
        looking->found++;
}

static void look_in(struct looking *looking, const char *path, uint32_t depth)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL && looking->files_left > 0;
         looking->files_left--) {
        struct stat found;
        bool is_itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        char *inside = ttp_region_join(&looking->graph->edges->region, path, "/", entry->d_name);
        if (is_itself || inside == NULL || lstat(inside, &found) != 0)
            ;
        else if (S_ISDIR(found.st_mode) && depth < FOLDERS_MOST)
            look_in(looking, inside, depth + 1);
        else if (S_ISREG(found.st_mode))
            look_at(looking, inside);
        ttp_region_give(&looking->graph->edges->region, inside);
    }
    closedir(folder);
}

const char *tool_binary_graph_add_any(struct tool_binary_graph *graph, const char *path)
{
    struct looking looking = {.graph = graph, .files_left = FILES_MOST};
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return tool_binary_graph_add(graph, path);
    if (graph->find_start == NULL)
        return "it is a folder: --map FILE says which files in it count";
    look_in(&looking, path, 0);
    return graph->edges->region.is_short ? "it would take too much memory"
           : looking.found != 0          ? NULL
                                         : "no file in it has a build id of the map";
}
