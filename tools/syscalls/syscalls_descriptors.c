/* A process has the descriptors of the one that started it, as long as it does nothing to them. */
#include "tools/syscalls/syscalls_descriptors.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/name_table.h"
#include "tools/command/tool.h"
#include "tools/command/tool_map.h"
#include "tools/kernel/kernel_call_numbers.h"
#include "tools/kernel/kernel_calls.h"
#include "tools/kernel/kernel_parts.h"

#define CLOSED   (UINT32_MAX - 1u)
#define PARENTS  64u               /* processes that a descriptor may come from */
#define UNSHARED (1u << 31)        /* of a file: what is executed does not have it */
#define CLOEXEC  UINT64_C(0x80000) /* of all flags that calls have for it */

struct tool_sys_descriptors {
    char **names;
    size_t name_count, name_capacity;
    struct tool_names places;
    struct ttp_key_map files; /* by process and descriptor */
};

struct tool_sys_descriptors *tool_sys_descriptors_open(void)
{
    return tool_allocate(1, sizeof(struct tool_sys_descriptors));
}

void tool_sys_descriptors_close(struct tool_sys_descriptors *known)
{
    if (known == NULL)
        return;
    for (size_t i = 0; i < known->name_count; i++)
        free(known->names[i]);
    free(known->names);
    tool_names_close(&known->places);
    tool_map_close(&known->files);
    free(known);
}

const char *tool_sys_descriptors_text(const struct tool_sys_descriptors *known, uint32_t file)
{
    return known->names[file];
}

static uint32_t name_of(struct tool_sys_descriptors *known, const char *text, size_t size)
{
    bool is_new;
    uint32_t *place = tool_names_find(&known->places, text, size, &is_new);
    if (!is_new)
        return *place;
    tool_grow((void **)&known->names, &known->name_capacity, known->name_count + 1,
              sizeof(*known->names));
    char *copy = tool_allocate(size + 1, 1);
    memcpy(copy, text, size);
    known->names[known->name_count] = copy;
    return *place = (uint32_t)known->name_count++;
}

static uint32_t *place_of(struct tool_sys_descriptors *known, uint32_t process, int32_t descriptor)
{
    return tool_map_at(&known->files, (uint64_t)process << 32 | (uint32_t)descriptor,
                       TOOL_SYS_NO_FILE);
}

/* A process has its own, or the one that a process had which started it. */
static uint32_t file_of(struct tool_sys *view, struct tool_sys_descriptors *known, uint32_t process,
                        int32_t descriptor)
{
    ttape_process info = {0};
    uint64_t pid = 0;
    bool is_executed = false;
    for (unsigned i = 0; i < PARENTS; i++) {
        uint32_t found = *place_of(known, process, descriptor);
        bool is_known = ttape_reader_get_process(view->reader, process, &info) == TTAPE_OK;
        is_executed |= i > 0 && is_known && info.pid == pid;
        if (found == CLOSED || (is_executed && found < CLOSED && (found & UNSHARED) != 0))
            return TOOL_SYS_NO_FILE;
        if (found != TOOL_SYS_NO_FILE)
            return found & ~UNSHARED;
        if (!is_known)
            return TOOL_SYS_NO_FILE;
        pid = info.pid;
        process = info.parent;
    }
    return TOOL_SYS_NO_FILE;
}

static uint32_t unknown_file(struct tool_sys_descriptors *known, int32_t descriptor)
{
    static const char *const usual[] = {"(standard input)", "(standard output)",
                                        "(standard error)"};
    char text[40];
    if (descriptor >= 0 && descriptor < 3)
        return name_of(known, usual[descriptor], strlen(usual[descriptor]));
    int size = snprintf(text, sizeof(text), "(descriptor %" PRId32 ")", descriptor);
    return name_of(known, text, (size_t)size);
}

/* A path below a folder whose descriptor is known. */
static uint32_t path_in(struct tool_sys *view, struct tool_sys_descriptors *known, uint32_t process,
                        const ttape_value *folder, ttape_string path)
{
    uint32_t base = TOOL_SYS_NO_FILE;
    int32_t descriptor = folder != NULL ? (int32_t)folder->number : -1;
    if (descriptor >= 0 && (path.size_bytes == 0 || path.data[0] != '/'))
        base = file_of(view, known, process, descriptor);
    if (base == TOOL_SYS_NO_FILE && path.size_bytes == 0 && descriptor >= 0) /* AT_EMPTY_PATH */
        return unknown_file(known, descriptor);
    if (base == TOOL_SYS_NO_FILE)
        return name_of(known, path.data, path.size_bytes);
    struct tool_output text;
    tool_output_open(&text, -1);
    tool_output_text(&text, known->names[base]);
    tool_output_text(&text, path.size_bytes > 0 ? "/" : "");
    tool_output_bytes(&text, path.data, path.size_bytes);
    uint32_t file = name_of(known, text.data, text.size_bytes);
    free(text.data);
    return file;
}

uint32_t tool_sys_descriptors_find(struct tool_sys *view, struct tool_sys_descriptors *known,
                                   uint32_t process, const struct tool_call_values *call)
{
    const char *letters = tool_kernel_letters(call);
    const ttape_value *folder = NULL;
    struct tool_kernel_token token;
    for (uint32_t i = 0; *letters != '\0' && i < call->argument_count; i++) {
        const ttape_value *value = &call->arguments[i];
        letters = tool_kernel_token(letters, &token);
        if (token.sign != 0)
            continue;
        if (token.letter == 'a') {
            folder = value;
        } else if (token.letter == 's' && value->type == TTAPE_VALUE_STRING) {
            return path_in(view, known, process, folder, value->bytes);
        } else if (token.letter == 'f') {
            if ((int32_t)value->number == -1 && call->number == KERNEL_CALL_MMAP)
                break; /* memory */
            uint32_t file = file_of(view, known, process, (int32_t)value->number);
            return file != TOOL_SYS_NO_FILE ? file : unknown_file(known, (int32_t)value->number);
        }
    }
    return TOOL_SYS_NO_FILE;
}

static bool begins(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* Calls whose names begin so open no file: they make what /proc calls so. */
static const struct {
    const char *call, *kind;
} made[] = {{"socket", "socket"},
            {"accept", "socket"},
            {"epoll_create", "anon_inode:[eventpoll]"},
            {"eventfd", "anon_inode:[eventfd]"},
            {"timerfd_create", "anon_inode:[timerfd]"},
            {"signalfd", "anon_inode:[signalfd]"},
            {"pidfd_open", "anon_inode:[pidfd]"},
            {"inotify_init", "anon_inode:inotify"},
            {"memfd_create", "memfd"}};

/* Flags of a call may have O_CLOEXEC, or its like. */
static uint32_t unshared(const struct tool_call_values *call)
{
    const char *letters = tool_kernel_letters(call);
    bool is_set = call->number == KERNEL_CALL_FCNTL && call->argument_count > 1 &&
                  (uint32_t)call->arguments[1].number == F_DUPFD_CLOEXEC;
    struct tool_kernel_token token;
    for (uint32_t i = 0; *letters != '\0' && i < call->argument_count; i++) {
        letters = tool_kernel_token(letters, &token);
        bool is_flags = token.sign == '\'' ||
                        (token.sign == 0 && token.letter != 0 && strchr("oyKB%", token.letter));
        is_set |= is_flags && (call->arguments[i].number & CLOEXEC) != 0;
    }
    return is_set ? UNSHARED : 0;
}

static bool is_copy(const char *name, const struct tool_call_values *call)
{
    if (strcmp(name, "fcntl") != 0)
        return begins(name, "dup");
    uint32_t what = call->argument_count > 1 ? (uint32_t)call->arguments[1].number : 0;
    return call->argument_count > 1 && (what == F_DUPFD || what == F_DUPFD_CLOEXEC);
}

/* A call has filled in two: of a pipe, of sockets. */
static void follow_pair(struct tool_sys_descriptors *known, uint32_t process, const char *kind,
                        const struct tool_call_values *call)
{
    ttape_string pair = call->result_count > 1 && call->results[1].type == TTAPE_VALUE_BYTES
                            ? call->results[1].bytes
                            : (ttape_string){"", 0};
    for (size_t i = 0; i + 4 <= pair.size_bytes && i < 8; i += 4) {
        int32_t descriptor = (int32_t)tool_part_signed(pair, i, 4);
        *place_of(known, process, descriptor) = name_of(known, kind, strlen(kind)) | unshared(call);
    }
}

void tool_sys_descriptors_follow(struct tool_sys_descriptors *known, uint32_t process,
                                 const char *name, uint32_t file,
                                 const struct tool_call_values *call, int64_t result)
{
    char kind[40];
    if (strcmp(name, "close") == 0 && call->argument_count > 0)
        *place_of(known, process, (int32_t)call->arguments[0].number) = CLOSED;
    else if (begins(name, "pipe"))
        follow_pair(known, process, "(pipe)", call);
    else if (strcmp(name, "socketpair") == 0)
        follow_pair(known, process, "(socket)", call);
    else if (begins(name, "open") || strcmp(name, "creat") == 0 || is_copy(name, call))
        *place_of(known, process, (int32_t)result) =
            file == TOOL_SYS_NO_FILE ? file : file | unshared(call);
    else
        for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
            if (begins(name, made[i].call)) {
                int size = snprintf(kind, sizeof(kind), "(%s)", made[i].kind);
                *place_of(known, process, (int32_t)result) =
                    name_of(known, kind, (size_t)size) | unshared(call);
                return;
            }
}

void tool_sys_descriptors_put(struct tool_sys *view, struct tool_sys_descriptors *known,
                              struct tool_output *out, uint32_t process, int32_t descriptor)
{
    uint32_t file = file_of(view, known, process, descriptor);
    if (file == TOOL_SYS_NO_FILE)
        return;
    ttape_string text = {known->names[file], strlen(known->names[file])};
    bool is_kind = text.size_bytes > 1 && text.data[0] == '(';
    if (is_kind && begins(text.data, "(descriptor "))
        return;
    tool_output_text(out, "<");
    tool_output_escaped(out, TTP_ESCAPE_TEXT,
                        is_kind ? (ttape_string){text.data + 1, text.size_bytes - 2} : text);
    tool_output_text(out, ">");
}
