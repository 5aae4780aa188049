/* The loader is asked only where it may find one: that takes it a millisecond. */
#define _GNU_SOURCE /* strcasecmp */
#include "tools/record/start/record_own.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "program/binary/elf_hooks.h"
#include "program/elf/elf_needed.h"
#include "tools/command/tool.h"
#include "tools/kernel/system_module.h"
#include "tools/record/modules/record_modules.h"

#define FUNCTIONS_MAX 20000u /* that are planned within a second or two */
#define STEM_MIN      2u     /* letters: libm is not m4's */

struct own {
    char folder[PATH_MAX]; /* the program's, as its links lead */
    const char *name;
    char **folders; /* that it names, as their links lead */
    size_t folder_count, folder_capacity;
    bool is_likely; /* that it has a library of its own */
};

static bool is_of_the_system(const char *folder)
{
    static const char *const folders[] = {
        "/lib",     "/lib64",     "/lib/x86_64-linux-gnu",     "/usr/local/lib",
        "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib/x86_64-linux-gnu"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (strcmp(folder, folders[i]) == 0)
            return true;
    return false;
}

/* The letters that a name begins with. */
static size_t stem_bytes(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static bool is_namesake(const struct own *own, const char *library)
{
    size_t stem = stem_bytes(own->name);
    return strncmp(library, "lib", 3) == 0 && stem >= STEM_MIN && stem_bytes(library + 3) == stem &&
           strncasecmp(library + 3, own->name, stem) == 0;
}

static void take_library(void *context, const char *name)
{
    struct own *own = context;
    own->is_likely |= is_namesake(own, ttp_base_name(name));
}

/* With the program's folder in the place of $ORIGIN or ${ORIGIN}; other words of the loader's are
 * left, and no folder is called so. */
static void take_folder(void *context, const char *text)
{
    struct own *own = context;
    char found[PATH_MAX], folder[2 * PATH_MAX];
    size_t word = strncmp(text, "$ORIGIN", 7) == 0 ? 7 : strncmp(text, "${ORIGIN}", 9) == 0 ? 9 : 0;
    size_t base = word == 0 ? 0 : strlen(own->folder), rest = strlen(text + word);
    if (rest >= PATH_MAX)
        return;
    memcpy(folder, own->folder, base);
    memcpy(folder + base, text + word, rest + 1);
    if (realpath(folder, found) == NULL || is_of_the_system(found))
        return;
    tool_grow((void **)&own->folders, &own->folder_capacity, own->folder_count + 1,
              sizeof *own->folders);
    own->folders[own->folder_count++] = tool_copy_text(found, strlen(found));
    own->is_likely = true;
}

/* To be traced, and not recorded as it is. */
static bool is_built_for(const char *library)
{
    return !tool_is_system_module((ttape_string){library, strlen(library)}) &&
           tool_elf_has_pads(library) && !tool_elf_has_hooks(library);
}

static bool is_own(const struct own *own, const char *library)
{
    char path[PATH_MAX];
    if (is_namesake(own, ttp_base_name(library)) || is_built_for(library))
        return true;
    if (realpath(library, path) == NULL)
        return false;
    path[ttp_base_name(path) - path - 1] = '\0';
    if (own->folder[0] != '\0' && !is_of_the_system(path) && strcmp(path, own->folder) == 0)
        return true;
    for (size_t i = 0; i < own->folder_count; i++)
        if (strcmp(path, own->folders[i]) == 0)
            return true;
    return false;
}

/* Keeps those that are, in place; frees the others. */
static char **keep_own(const struct own *own, char **modules)
{
    uint64_t functions = 0;
    size_t kept = 0;
    free(modules[0]); /* the program */
    for (size_t i = 1; modules[i] != NULL; i++) {
        uint32_t count = is_own(own, modules[i]) ? tool_elf_function_count(modules[i]) : 0;
        bool is_kept = count != 0 && functions + count <= FUNCTIONS_MAX;
        functions += is_kept ? count : 0;
        if (is_kept)
            modules[kept++] = modules[i];
        else
            free(modules[i]);
    }
    modules[kept] = NULL;
    if (kept != 0)
        return modules;
    free(modules);
    return NULL;
}

char **tool_record_own_libraries(const char *program)
{
    const char *search = getenv("LD_LIBRARY_PATH");
    struct own *own = tool_allocate(1, sizeof *own);
    char **libraries = NULL;
    own->name = ttp_base_name(program);
    if (realpath(program, own->folder) != NULL)
        own->folder[ttp_base_name(own->folder) - own->folder - 1] = '\0';
    own->is_likely = search != NULL && search[0] != '\0';
    tool_elf_needed(program, take_library, take_folder, own);
    if (own->is_likely)
        libraries = keep_own(own, tool_record_modules(program));
    for (size_t i = 0; i < own->folder_count; i++)
        free(own->folders[i]);
    free(own->folders);
    free(own);
    return libraries;
}
