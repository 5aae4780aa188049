/* By which path a program was executed, as the kernel has told the program itself: its auxiliary
 * vector has the address of that text. */
#define _GNU_SOURCE /* process_vm_readv */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "recorder/ptrace/tracer.h"

#define PLACE_BYTES 64u
#define LINK_BYTES  1024u
#define WORDS_MAX   128u /* of an auxiliary vector; it has some 44 */

/* 0: there is none. */
static uint64_t executed_at(uint32_t pid)
{
    char place[PLACE_BYTES];
    uint64_t words[WORDS_MAX] = {0}, at = 0;
    (void)snprintf(place, sizeof(place), "/proc/%u/auxv", pid);
    int file = open(place, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, words, sizeof(words));
    if (file >= 0)
        (void)close(file);
    for (size_t i = 0; size > 0 && i + 1 < (size_t)size / sizeof(words[0]); i += 2)
        if (words[i] == AT_EXECFN)
            at = words[i + 1];
    return at;
}

/* False: not all of it is there. */
static bool read_executed(uint32_t pid, char text[LINK_BYTES])
{
    uint64_t at = executed_at(pid);
    struct iovec to = {text, LINK_BYTES}, from = {(void *)(uintptr_t)at, LINK_BYTES};
    ssize_t size = at == 0 ? -1 : process_vm_readv((pid_t)pid, &to, 1, &from, 1, 0);
    return size > 0 && memchr(text, '\0', (size_t)size) != NULL && text[0] != '\0';
}

/* A script is not: that is its interpreter. */
static bool is_program_file(uint32_t pid, const char *path)
{
    char own[PLACE_BYTES], named[PLACE_BYTES + LINK_BYTES];
    struct stat program, executed;
    (void)snprintf(own, sizeof(own), "/proc/%u/exe", pid);
    (void)snprintf(named, sizeof(named), "/proc/%u/%s%s", pid, path[0] == '/' ? "root" : "cwd/",
                   path);
    return stat(own, &program) == 0 && stat(named, &executed) == 0 &&
           program.st_dev == executed.st_dev && program.st_ino == executed.st_ino;
}

/* Behind the program's path, a 0 byte and that of the link. */
static size_t add_link(uint32_t pid, const char *executed, char *path, size_t size, size_t room)
{
    char place[PLACE_BYTES];
    size_t at = size + 1;
    path[size] = '\0';
    if (executed[0] != '/') {
        (void)snprintf(place, sizeof(place), "/proc/%u/cwd", pid);
        ssize_t folder = at + 1 < room ? readlink(place, path + at, room - at - 1) : -1;
        if (folder <= 0 || path[at] != '/')
            return size;
        at += (size_t)folder;
        path[at++] = '/';
        while (strncmp(executed, "./", 2) == 0)
            executed += 2;
    }
    size_t more = strlen(executed);
    if (more > room - at)
        return size;
    memcpy(path + at, executed, more);
    return at + more;
}

size_t ttp_traced_path(uint32_t pid, char *path, size_t room)
{
    char place[PLACE_BYTES], executed[LINK_BYTES];
    (void)snprintf(place, sizeof(place), "/proc/%u/exe", pid);
    ssize_t read = readlink(place, path, room - 1);
    size_t size = read > 0 ? (size_t)read : 0;
    path[size] = '\0';
    if (size == 0 || !read_executed(pid, executed) ||
        strcmp(ttp_base_name(path), ttp_base_name(executed)) == 0 ||
        !is_program_file(pid, executed))
        return size;
    return add_link(pid, executed, path, size, room);
}
