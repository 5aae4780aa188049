/* Finds the runtime for a session that is not told where it is. */
#define _GNU_SOURCE /* asprintf, dladdr */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/session/session_internal.h"

#define RUNTIME_NAME  "libtracetape-rt.so.0"
#define RUNTIME_NAMED "TRACETAPE_RUNTIME"

/* `path` names a file in the folder that is looked into. To be freed. */
static char *find_beside(const char *path, const char *place)
{
    char *found = NULL;
    struct stat info;
    const char *end = strrchr(path, '/');
    int front = end == NULL ? 0 : (int)(end + 1 - path);
    if (asprintf(&found, "%.*s%s" RUNTIME_NAME, front, path, place) < 0)
        return NULL;
    if (stat(found, &info) == 0 && S_ISREG(info.st_mode))
        return found;
    free(found);
    return NULL;
}

/* A loader says what it opened: the preloaded runtime is looked for by others, in other folders. */
static char *make_absolute(char *path)
{
    char *whole = path != NULL && path[0] != '/' ? realpath(path, NULL) : NULL;
    if (whole == NULL)
        return path;
    free(path);
    return whole;
}

/* The runtime is in the build folder, or where both were installed. */
char *ttp_session_find_runtime(void)
{
    static const char *const places[] = {"", "../lib/", "../lib/x86_64-linux-gnu/", "../lib64/"};
    char self[PATH_MAX], *found = NULL;
    Dl_info library;
    const char *named = getenv(RUNTIME_NAMED);
    if (named != NULL)
        return strdup(named);
    if (dladdr(&places, &library) != 0 && library.dli_fname != NULL)
        found = make_absolute(find_beside(library.dli_fname, ""));
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    self[size < 0 ? 0 : size] = '\0';
    for (size_t i = 0; found == NULL && size > 0 && i < sizeof places / sizeof *places; i++)
        found = find_beside(self, places[i]);
    return found;
}
