/* Programs that the runtime is loaded into: they are traced until it has put its jumps into their
 * code, and then run free.
 *
 *   exec --traced--> STREAM: the runtime goes on with the thread's stream --> RECORDS: free
 *   free --> EXECUTES: its calls stop it, until it has executed a program with more rights, or not
 *
 * Both are calls of the runtime's constructor, while the process has one thread and takes no
 * signal: no call is under way, and none is seen twice. A child that shares its parent's memory but
 * is another process (vfork) is traced until it executes a program, as the runtime records nothing
 * of it. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "recorder/ptrace/tracer.h"

#define PATH_BYTES 4096u

static bool is_within(const struct ttp_traced_runtime *runtime, uint64_t address)
{
    return address - runtime->start < runtime->end - runtime->start;
}

static bool is_its_path(const struct ttp_tracer *tracer, const struct ttp_traced *thread,
                        uint64_t address)
{
    char path[PATH_BYTES];
    size_t wanted = strlen(tracer->options->runtime) + 1;
    return wanted <= sizeof(path) && ttp_traced_read(thread, path, address, wanted) == wanted &&
           memcmp(path, tracer->options->runtime, wanted) == 0;
}

/* ---- what the runtime says ---- */

static void give_stream(struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t address)
{
    struct ttp_mark_stream given;
    struct iovec local = {&given, sizeof(given)}, remote = {(void *)address, sizeof(given)};
    if (thread->is_given)
        return;
    ttp_outside_give(&tracer->outside, &thread->out, &given);
    thread->is_given = true;
    (void)process_vm_writev((pid_t)thread->tid, &local, 1, &remote, 1, 0);
}

static void take_mark(struct ttp_tracer *tracer, struct ttp_traced *thread, const uint64_t *words)
{
    thread->open_count = 0;
    if (words[1] == TTP_MARK_STREAM)
        give_stream(tracer, thread, words[2]);
    else if (words[1] == TTP_MARK_RECORDS)
        thread->is_free = true;
}

/* ---- calls ---- */

bool ttp_runtime_enters(struct ttp_tracer *tracer, struct ttp_traced *thread,
                        const struct __ptrace_syscall_info *info, const uint64_t *words)
{
    struct ttp_traced_runtime *runtime = &thread->runtime;
    if (tracer->options->runtime == NULL || info->arch != AUDIT_ARCH_X86_64)
        return false;
    if (is_within(runtime, info->instruction_pointer)) {
        if (info->entry.nr == SYS_prctl && words[0] == TTP_MARK)
            take_mark(tracer, thread, words);
        return true;
    }
    bool is_file = runtime->has_file && words[0] == runtime->file;
    switch (info->entry.nr) {
    case SYS_openat:
        runtime->is_opening = runtime->end == 0 && is_its_path(tracer, thread, words[1]);
        return runtime->is_opening;
    case SYS_mmap:
        if (!runtime->has_file || words[4] != runtime->file)
            return is_within(runtime, words[0]);
        runtime->length = runtime->end == 0 ? words[1] : 0;
        return true;
    case SYS_mprotect:
    case SYS_munmap: return is_within(runtime, words[0]);
    case SYS_close: runtime->has_file &= !is_file; return is_file;
    case SYS_read:
    case SYS_pread64:
    case SYS_fstat:
    case SYS_newfstatat: return is_file;
    default: return false;
    }
}

void ttp_runtime_leaves(struct ttp_traced *thread, int64_t result)
{
    struct ttp_traced_runtime *runtime = &thread->runtime;
    if (runtime->is_opening && result >= 0) {
        runtime->file = (uint64_t)result;
        runtime->has_file = true;
    }
    if (runtime->length != 0 && result > 0) {
        runtime->start = (uint64_t)result;
        runtime->end = (uint64_t)result + runtime->length;
    }
    runtime->is_opening = false;
    runtime->length = 0;
}

/* ---- threads ---- */

bool ttp_runtime_starts(struct ttp_traced *thread)
{
    struct user_regs_struct registers;
    if (!thread->is_free || ptrace(PTRACE_GETREGS, (pid_t)thread->tid, NULL, &registers) != 0 ||
        registers.orig_rax != SYS_clone || registers.rdi != (CLONE_VM | CLONE_VFORK) ||
        registers.r8 != TTP_MARK || registers.r10 != TTP_MARK_EXECUTES)
        return false;
    thread->executes = TTP_EXECUTES_SOON;
    return true;
}

bool ttp_runtime_is_free(const struct ttp_traced *thread, const struct ttp_traced *parent)
{
    if (parent == NULL || !parent->is_free)
        return false;
    return thread->pid == parent->pid ||
           syscall(SYS_kcmp, parent->tid, thread->tid, KCMP_VM, 0, 0) != 0;
}
