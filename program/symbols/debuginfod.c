/* The library is loaded in a child, and only when it is needed: it brings a dozen others with it,
 * and talks to the network. Its answer is a file in the cache, which is looked at as any other
 * file: so nothing of what a server says gets here but "done" and a number of bytes. */
#define _GNU_SOURCE /* asprintf */
#include "program/symbols/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/process/child.h"

#define LIBRARY      "libdebuginfod.so.1"
#define MEMORY_BYTES (2ull << 30)
#define SILENT_MS    30000u  /* without some more bytes */
#define SOME_BYTES   4096u   /* until an answer begins, libdebuginfod counts its turns instead */
#define WHOLE_MS     900000u /* for one file */
#define TOLD_EACH_MS 100u
#define ID_BYTES_MAX 64u

enum { MORE = 1, DONE = 2, NOT_THERE = 3, NO_LIBRARY = 4, FAILED = 5 };

/* What the child says. */
struct telling {
    uint64_t what, done_bytes, total_bytes;
};

struct fetching {
    const uint8_t *build_id;
    size_t build_id_bytes;
};

/* Of libdebuginfod; its header may not be there. */
struct debuginfod_client;
struct library {
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *);
    int (*find)(struct debuginfod_client *, const unsigned char *build_id, int build_id_bytes,
                char **path);
    void (*set_progress)(struct debuginfod_client *,
                         int (*)(struct debuginfod_client *, long done, long total));
    void (*set_user)(struct debuginfod_client *, void *);
};

bool tool_debuginfod_has_servers(void)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    return servers != NULL && servers[strspn(servers, " \t\n")] != '\0';
}

static char *join_path(const char *folder, const char *name)
{
    char *path = NULL;
    return folder != NULL && folder[0] != '\0' && asprintf(&path, "%s%s", folder, name) > 0 ? path
                                                                                            : NULL;
}

/* As libdebuginfod chooses it. */
char *tool_debuginfod_cache(void)
{
    struct stat status;
    const char *home = getenv("HOME");
    char *path = join_path(getenv("DEBUGINFOD_CACHE_PATH"), "");
    if (path != NULL)
        return path;
    path = join_path(home, "/.debuginfod_client_cache");
    if (path != NULL && stat(path, &status) == 0)
        return path;
    free(path);
    path = join_path(getenv("XDG_CACHE_HOME"), "/debuginfod_client");
    return path != NULL ? path : join_path(home, "/.cache/debuginfod_client");
}

/* -- the child -- */

struct asking {
    struct library library;
    int fd;
    uint64_t told_ms;
};

static void tell_progress(struct asking *asking, uint64_t what, long done, long total)
{
    const struct telling telling = {.what = what,
                                    .done_bytes = done > 0 ? (uint64_t)done : 0,
                                    .total_bytes = total > 0 ? (uint64_t)total : 0};
    if (!tool_child_send(asking->fd, &telling, sizeof telling, 0))
        _exit(0); /* nobody waits for it any more */
    asking->told_ms = tool_child_now_ms();
}

/* It has no context but what the client keeps, which dlsym finds again. */
static int take_progress(struct debuginfod_client *of, long done, long total)
{
    void *(*get_user)(struct debuginfod_client *);
    *(void **)&get_user = dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
    struct asking *asking = get_user == NULL ? NULL : get_user(of);
    if (asking != NULL && tool_child_now_ms() >= asking->told_ms + TOLD_EACH_MS)
        tell_progress(asking, MORE, done, total);
    return 0;
}

static bool load_library(struct library *library)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (handle == NULL)
        return false;
    *(void **)&library->begin = dlsym(handle, "debuginfod_begin");
    *(void **)&library->end = dlsym(handle, "debuginfod_end");
    *(void **)&library->find = dlsym(handle, "debuginfod_find_debuginfo");
    *(void **)&library->set_progress = dlsym(handle, "debuginfod_set_progressfn");
    *(void **)&library->set_user = dlsym(handle, "debuginfod_set_user_data");
    return library->begin != NULL && library->end != NULL && library->find != NULL &&
           library->set_progress != NULL && library->set_user != NULL;
}

static void fetch(int fd, const void *context)
{
    const struct fetching *wanted = context;
    struct asking asking = {.fd = fd};
    (void)unsetenv("DEBUGINFOD_PROGRESS"); /* it is ours to tell */
    if (!load_library(&asking.library)) {
        tell_progress(&asking, NO_LIBRARY, 0, 0);
        return;
    }
    struct debuginfod_client *of = asking.library.begin();
    if (of == NULL) {
        tell_progress(&asking, FAILED, 0, 0);
        return;
    }
    asking.library.set_user(of, &asking);
    asking.library.set_progress(of, take_progress);
    int found = asking.library.find(of, wanted->build_id, (int)wanted->build_id_bytes, NULL);
    asking.library.end(of);
    tell_progress(&asking, found >= 0 ? DONE : found == -ENOENT ? NOT_THERE : FAILED, 0, 0);
}

/* -- who waits for it -- */

static const char *words_of(uint64_t what)
{
    switch (what) {
    case DONE: return NULL;
    case NOT_THERE: return "the servers in DEBUGINFOD_URLS do not have its debug file";
    case NO_LIBRARY: return "debuginfod cannot be asked: there is no " LIBRARY;
    default: return "no server in DEBUGINFOD_URLS answers";
    }
}

static uint64_t wait_for(const struct tool_child *asking, const struct tool_fetching *watch)
{
    struct telling told = {.what = MORE};
    uint64_t end_ms = tool_child_now_ms() + WHOLE_MS, silent_ms = 0, done_bytes = 0;
    while (told.what == MORE) {
        uint64_t now = tool_child_now_ms();
        if (silent_ms == 0 || told.done_bytes >= done_bytes + SOME_BYTES) {
            silent_ms = now + SILENT_MS;
            done_bytes = told.done_bytes;
        }
        if (now >= silent_ms || now >= end_ms ||
            !tool_child_receive(asking->fd, &told, sizeof told,
                                silent_ms < end_ms ? silent_ms : end_ms))
            return FAILED;
        if (watch->update != NULL)
            watch->update(told.done_bytes, told.total_bytes);
    }
    return told.what;
}

const char *tool_debuginfod_fetch(const void *build_id, size_t build_id_bytes, const char *path,
                                  const struct tool_fetching *told, bool *is_silent)
{
    struct fetching wanted = {.build_id = build_id, .build_id_bytes = build_id_bytes};
    struct tool_child asking = {0};
    *is_silent = false;
    if (build_id_bytes == 0 || build_id_bytes > ID_BYTES_MAX)
        return "it has no build id to ask debuginfod for";
    if (!tool_child_start(&asking, MEMORY_BYTES, fetch, &wanted))
        return "debuginfod cannot be asked: no process can be started";
    if (told->begin != NULL)
        told->begin(path);
    uint64_t what = wait_for(&asking, told);
    if (told->end != NULL)
        told->end();
    (void)tool_child_end(&asking, true);
    *is_silent = what != DONE && what != NOT_THERE;
    return words_of(what);
}
