/* Programs that would be executed with more rights than their process has: set-user-id,
 * set-group-id, with capabilities. The kernel gives none to a thread whose tracer has not
 * CAP_SYS_PTRACE; so that thread is let go in front of the call, and runs untraced from there on.
 *
 * The file is found as the kernel finds it: from the thread's root or folder, through the
 * interpreters of scripts. Where it cannot be found or executed the call fails as well. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "recorder/ptrace/tracer.h"

#ifndef SYS_openat2 /* older headers */
#define SYS_openat2 437
#endif

#define LINE_BYTES  256u /* of a script that the kernel looks at */
#define SCRIPTS_MAX 5u
#define PLACE_BYTES 64u

/* These are the calls of x86-64, x32 and 32-bit programs. */
#define X32_BIT        0x40000000u
#define X32_EXECVE     520u
#define X32_EXECVEAT   545u
#define OTHER_EXECVE   11u
#define OTHER_EXECVEAT 358u

bool ttp_tracer_takes_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &head, data) != 0 ||
           (data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) == 0;
}

/* ---- which file ---- */

static bool has_front(const char *path, const char *front, const char **rest)
{
    size_t size = strlen(front);
    if (strncmp(path, front, size) != 0)
        return false;
    *rest = path + size;
    return true;
}

/* From the thread's root, where links lead to places below it, too. */
static int open_whole(const struct ttp_traced *thread, const char *path)
{
    char place[PLACE_BYTES], own[PLACE_BYTES + PATH_MAX];
    const char *rest;
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    struct stat root, here;
    bool is_self =
        has_front(path, "/proc/self/", &rest) || has_front(path, "/proc/thread-self/", &rest);
    bool is_descriptor = !is_self && has_front(path, "/dev/fd/", &rest);
    if (is_self || is_descriptor) {
        (void)snprintf(own, sizeof(own), "/proc/%u/%s%s", thread->tid, is_self ? "" : "fd/", rest);
        return open(own, O_PATH | O_CLOEXEC);
    }
    (void)snprintf(place, sizeof(place), "/proc/%u/root/", thread->tid);
    if (stat(place, &root) != 0 || stat("/", &here) != 0 ||
        (root.st_dev == here.st_dev && root.st_ino == here.st_ino))
        return open(path, O_PATH | O_CLOEXEC);
    int folder = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int file = folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
    if (folder >= 0)
        (void)close(folder);
    return file;
}

static int open_from(const struct ttp_traced *thread, int32_t folder, const char *path, bool is_it)
{
    char place[PLACE_BYTES];
    if (*path == '/')
        return open_whole(thread, path);
    if (folder == AT_FDCWD)
        (void)snprintf(place, sizeof(place), "/proc/%u/cwd", thread->tid);
    else
        (void)snprintf(place, sizeof(place), "/proc/%u/fd/%d", thread->tid, folder);
    int from = open(place, O_PATH | O_CLOEXEC);
    if (from < 0 || (*path == '\0' && is_it))
        return from;
    int file = openat(from, path, O_PATH | O_CLOEXEC);
    (void)close(from);
    return file;
}

/* The interpreter that a script names; false: it is none, or nobody may read it. */
static bool read_interpreter(const char *link, char line[LINE_BYTES])
{
    int file = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : pread(file, line, LINE_BYTES - 1, 0);
    if (file >= 0)
        (void)close(file);
    if (size < 3 || memcmp(line, "#!", 2) != 0)
        return false;
    line[size] = '\0';
    size_t start = 2 + strspn(line + 2, " \t"), length = strcspn(line + start, " \t\n");
    memmove(line, line + start, length);
    line[length] = '\0';
    return length > 0;
}

/* ---- what it gives ---- */

static bool gives(const struct ttp_traced *thread, int file, const char *link,
                  const struct stat *about)
{
    struct statvfs system;
    uint32_t user = ttp_traced_status(thread->tid, "Uid:", 0);
    bool is_group = (about->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    bool has_any = ((about->st_mode & S_ISUID) != 0 && about->st_uid != user) ||
                   (is_group && about->st_gid != ttp_traced_status(thread->tid, "Gid:", 0)) ||
                   (user != 0 && getxattr(link, "security.capability", NULL, 0) > 0);
    return has_any && faccessat(AT_FDCWD, link, X_OK, AT_EACCESS) == 0 &&
           (fstatvfs(file, &system) != 0 || (system.f_flag & ST_NOSUID) == 0) &&
           ttp_traced_status(thread->tid, "NoNewPrivs:", 0) == 0;
}

/* `file` is closed. */
static bool file_gives(const struct ttp_traced *thread, int file)
{
    char link[PLACE_BYTES], line[LINE_BYTES];
    bool is_found = false;
    for (uint32_t i = 0; file >= 0 && i <= SCRIPTS_MAX; i++) {
        struct stat about;
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
        if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
            break;
        bool is_script = read_interpreter(link, line);
        is_found = !is_script && gives(thread, file, link, &about);
        if (!is_script)
            break;
        (void)close(file);
        file = open_from(thread, AT_FDCWD, line, false);
    }
    if (file >= 0)
        (void)close(file);
    return is_found;
}

/* ---- calls ---- */

enum execution { NONE, EXECVE, EXECVEAT };

static enum execution execution_of(const struct __ptrace_syscall_info *info)
{
    uint64_t number = info->entry.nr;
    if (info->arch != AUDIT_ARCH_X86_64)
        return number == OTHER_EXECVE ? EXECVE : number == OTHER_EXECVEAT ? EXECVEAT : NONE;
    if ((number & X32_BIT) != 0)
        return (number ^ X32_BIT) == X32_EXECVE     ? EXECVE
               : (number ^ X32_BIT) == X32_EXECVEAT ? EXECVEAT
                                                    : NONE;
    return number == SYS_execve ? EXECVE : number == SYS_execveat ? EXECVEAT : NONE;
}

bool ttp_traced_executes(const struct __ptrace_syscall_info *info)
{
    return execution_of(info) != NONE;
}

bool ttp_traced_gains(const struct ttp_traced *thread, const struct __ptrace_syscall_info *info,
                      char path[TTP_NOTE_PATH_BYTES])
{
    char whole[PATH_MAX];
    bool is_at = execution_of(info) == EXECVEAT;
    uint64_t from = info->entry.args[is_at], flags = is_at ? info->entry.args[4] : 0;
    size_t size = ttp_traced_read(thread, whole, from, sizeof(whole));
    if (memchr(whole, '\0', size) == NULL)
        return false;
    int32_t folder = is_at ? (int32_t)info->entry.args[0] : AT_FDCWD;
    int file = open_from(thread, folder, whole, (flags & AT_EMPTY_PATH) != 0);
    char link[PLACE_BYTES];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    ssize_t shown = file < 0 ? 0 : readlink(link, path, TTP_NOTE_PATH_BYTES - 1);
    path[shown > 0 ? shown : 0] = '\0';
    return file_gives(thread, file);
}
