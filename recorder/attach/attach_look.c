/* May this process be attached to? Everything here only reads, and says no in words. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"

#define TEXT_BYTES   16384u
#define HAS_FSGSBASE 2u /* of AT_HWCAP2 */
#define ANCESTORS    64u

ttape_status ttp_attach_refuse(ttape_error *err, uint32_t pid, const char *format, ...)
{
    char why[192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return ttp_fail_plain(err, TTAPE_E_UNSUPPORTED, "cannot attach to process %u: %s", pid, why);
}

static const char *find_line(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, name, length) == 0)
            return line + length;
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return NULL;
}

uint64_t ttp_look_number(const char *text, const char *name, int base, uint64_t missing)
{
    const char *at = find_line(text, name);
    return at == NULL ? missing : strtoull(at, NULL, base);
}

/* "Max address space        unlimited            unlimited            bytes" */
static bool is_limited(const char *limits, const char *name)
{
    const char *at = limits == NULL ? NULL : find_line(limits, name);
    if (at == NULL)
        return false;
    at += strspn(at, " \t");
    return strncmp(at, "unlimited", 9) != 0;
}

/* A thread with one returns only to where it was called from, by what the processor keeps: neither
 * from a call that is taken back, nor over a frame of ours. "x86_Thread_features:\tshstk " */
static bool has_shadow_stack(const char *status)
{
    const char *at = find_line(status, "x86_Thread_features:");
    const char *end = at == NULL ? NULL : strchr(at, '\n');
    const char *word = at == NULL ? NULL : strstr(at, "shstk");
    return word != NULL && (end == NULL || word < end);
}

static const char *refuse_scope(const struct ttp_look_texts *t)
{
    int scope = t->ptrace_scope == NULL ? 0 : atoi(t->ptrace_scope);
    if (scope >= 3)
        return "this machine forbids all tracing (kernel.yama.ptrace_scope is 3)";
    if (scope == 2 && !t->has_all_rights)
        return "this machine allows tracing to root only (kernel.yama.ptrace_scope is 2)";
    if (scope == 1 && !t->has_all_rights && !t->is_descendant)
        return "this machine allows tracing of own children only (kernel.yama.ptrace_scope is 1): "
               "root may, or sysctl kernel.yama.ptrace_scope=0";
    return NULL;
}

const char *ttp_look_refuse(const struct ttp_look_texts *t)
{
    if (t->status == NULL || ttp_look_number(t->status, "Tgid:", 10, 0) == 0)
        return "there is none";
    const char *state = find_line(t->status, "State:");
    state = state == NULL ? "" : state + strspn(state, " \t");
    if (ttp_look_number(t->status, "Tgid:", 10, 0) != t->pid)
        return "it is a thread; name its process";
    if (*state == 'Z' || *state == 'X')
        return "it has ended";
    if (ttp_look_number(t->status, "Uid:", 10, 0) != t->own_user)
        return "it is another user's";
    if (find_line(t->status, "VmSize:") == NULL)
        return "it is a thread of the kernel's";
    if (ttp_look_number(t->status, "TracerPid:", 10, 0) != 0)
        return "it is traced already (by a debugger, strace, or another recorder)";
    if (*state == 'T' || *state == 't')
        return "it is stopped; let it go on first";
    if (ttp_look_number(t->status, "Seccomp:", 10, 0) != 0)
        return "it is under a filter of system calls, which may end it for one of ours";
    if (ttp_look_number(t->status, "VmLck:", 10, 0) != 0)
        return "it locks memory, and what it maps may be locked as well";
    if (has_shadow_stack(t->status))
        return "it has a shadow stack, which calls that are made for us would not be in: start it "
               "without one, or record it from its start";
    if (is_limited(t->limits, "Max address space"))
        return "its address space is limited (ulimit -v), and the segment may not fit";
    return refuse_scope(t);
}

static char *read_text(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char *text = file < 0 ? NULL : malloc(TEXT_BYTES);
    size_t size = 0;
    for (ssize_t got = 1; text != NULL && got > 0 && size < TEXT_BYTES - 1; size += (size_t)got) {
        got = read(file, text + size, TEXT_BYTES - 1 - size);
        if (got <= 0)
            break;
    }
    if (text != NULL)
        text[size] = '\0';
    if (file >= 0)
        (void)close(file);
    return text;
}

char *ttp_look_read(uint32_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    return read_text(path);
}

static bool is_descendant(uint32_t pid)
{
    for (uint32_t i = 0; i < ANCESTORS && pid > 1; i++) {
        char *status = ttp_look_read(pid, "status");
        pid = status == NULL ? 0 : (uint32_t)ttp_look_number(status, "PPid:", 10, 0);
        free(status);
        if (pid == (uint32_t)getpid())
            return true;
    }
    return false;
}

ttape_status ttp_look(uint32_t pid, ttape_error *err)
{
    if (pid == (uint32_t)getpid())
        return ttp_attach_refuse(err, pid, "it is this one");
    if ((getauxval(AT_HWCAP2) & HAS_FSGSBASE) == 0)
        return ttp_attach_refuse(err, pid,
                                 "this kernel or processor lacks the instruction rdfsbase "
                                 "(Linux 5.9 has it)");
    char *status = ttp_look_read(pid, "status"), *limits = ttp_look_read(pid, "limits");
    char *scope = read_text("/proc/sys/kernel/yama/ptrace_scope");
    const struct ttp_look_texts texts = {.status = status,
                                         .limits = limits,
                                         .ptrace_scope = scope,
                                         .own_user = (uint32_t)geteuid(),
                                         .pid = pid,
                                         .has_all_rights = geteuid() == 0,
                                         .is_descendant = is_descendant(pid)};
    const char *why = ttp_look_refuse(&texts);
    free(status);
    free(limits);
    free(scope);
    return why == NULL ? TTAPE_OK : ttp_attach_refuse(err, pid, "%s", why);
}

bool ttp_look_may_call(int status)
{
    char text[TEXT_BYTES];
    ssize_t size = pread(status, text, sizeof text - 1, 0);
    text[size < 0 ? 0 : size] = '\0';
    return ttp_look_number(text, "Seccomp:", 10, 1) == 0;
}
