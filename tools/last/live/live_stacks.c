/* One door to libdwfl's unwinder. Threads are seized, not attached: if this process is ended in the
 * middle, the kernel lets them go, and no stop signal stays behind.
 *
 *   parent: take(record) <- socket <- child: seize, interrupt, unwind, detach; thread by thread */
#define _GNU_SOURCE /* process_vm_readv */
#include "tools/last/live/live_stacks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

#include "program/binary/inlined_calls.h"
#include "program/names/demangle.h"
#include "program/process/child.h"
#include "tools/command/tool.h"

#define TIME_MOST_MS   20000u /* for all */
#define THREAD_STOP_MS 1000u
#define UNITS_MOST     200000u
#define MEMORY_BYTES   (UINT64_C(1) << 30)
#define FUTEX_MASK     127u /* without flags: 0 is FUTEX_WAIT */
#define OWNER_OFFSET   8u   /* in the C library's mutex */

struct work {
    pid_t pid;
};

struct reading {
    int fd;
    pid_t pid;
    Dwfl *dwfl;
    Dwfl_Module *module; /* of the last frame, and its unit; NULL: it has none */
    Dwarf_Die *unit;
    Dwarf_Addr bias;
    uint32_t units_left; /* that may be looked at one by one */
    uint32_t frame_count;
    bool is_gone;
    char demangled[TOOL_DEMANGLE_OUTPUT_MAX];
};

static void send_record(struct reading *r, const struct tool_live_record *record)
{
    r->is_gone = r->is_gone || !tool_child_send(r->fd, record, sizeof *record, 0);
}

static void put_text(char *to, size_t room, const char *text)
{
    size_t size = text != NULL ? strnlen(text, room - 1) : 0;
    if (size > 0)
        memcpy(to, text, size);
    to[size] = '\0';
}

static const char *base_of(const char *path) { return path != NULL ? ttp_base_name(path) : NULL; }

/* ---- a frame ---- */

static const char *readable(struct reading *r, const char *name)
{
    return name == NULL || tool_demangle(name, r->demangled) == 0 ? name : r->demangled;
}

/* The unit that has the address: clang makes no table of addresses, and another's may be the one
 * that was found. Often it is that of the frame before. */
static Dwarf_Die *find_unit(struct reading *r, Dwfl_Module *module, Dwarf_Addr place)
{
    if (r->unit != NULL && r->module == module && dwarf_haspc(r->unit, place - r->bias) > 0)
        return r->unit;
    r->module = module;
    r->unit = dwfl_module_addrdie(module, place, &r->bias);
    if (r->unit != NULL && dwarf_haspc(r->unit, place - r->bias) > 0)
        return r->unit;
    r->unit = NULL;
    while (r->units_left > 0 && (r->unit = dwfl_module_nextcu(module, r->unit, &r->bias)) != NULL) {
        r->units_left--;
        if (dwarf_haspc(r->unit, place - r->bias) > 0)
            return r->unit;
    }
    return r->unit = NULL;
}

static void put_line(struct tool_live_record *record, uint32_t line, const char *file)
{
    put_text(record->file, sizeof record->file, base_of(file));
    record->line = file != NULL ? line : 0;
}

static void name_code(struct reading *r, struct tool_live_record *record, Dwarf_Addr place)
{
    GElf_Off offset;
    GElf_Sym symbol;
    int line = 0;
    Dwfl_Module *module = dwfl_addrmodule(r->dwfl, place);
    if (module == NULL)
        return;
    Dwarf_Addr start = 0;
    const char *path = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    const char *name = dwfl_module_addrinfo(module, place, &offset, &symbol, NULL, NULL, NULL);
    Dwarf_Die *unit = find_unit(r, module, place);
    Dwarf_Line *found = unit != NULL ? dwarf_getsrc_die(unit, place - r->bias) : NULL;
    put_text(record->module, sizeof record->module, base_of(path));
    record->offset = record->address - start;
    put_text(record->name, sizeof record->name, readable(r, name));
    if (found != NULL && dwarf_lineno(found, &line) == 0 && line > 0)
        put_line(record, (uint32_t)line, dwarf_linesrc(found, NULL, NULL));
}

/* Inlined functions are sent first, the innermost of all: what is the frame's own line is the
 * innermost one's, and each other one is where it calls the one within. */
static void send_inlined(struct reading *r, struct tool_live_record *record, Dwarf_Addr place)
{
    const char *file;
    Dwarf_Die function, inlined[TOOL_INLINED_MOST];
    Dwfl_Module *module = dwfl_addrmodule(r->dwfl, place);
    Dwarf_Die *unit = module != NULL ? find_unit(r, module, place) : NULL;
    if (unit == NULL || !tool_die_function_at(unit, place - r->bias, &function))
        return;
    for (uint32_t i = tool_die_inlined_at(&function, place - r->bias, inlined); i-- > 0;) {
        struct tool_live_record one = *record;
        one.is_inlined = true;
        put_text(one.name, sizeof one.name, readable(r, tool_die_linked_name(&inlined[i])));
        send_record(r, &one);
        uint32_t line = tool_die_call_line(unit, &inlined[i], &file);
        put_line(record, line, file);
    }
}

static int take_frame(Dwfl_Frame *state, void *context)
{
    struct reading *r = context;
    struct tool_live_record record = {.kind = TOOL_LIVE_FRAME};
    Dwarf_Addr at;
    bool is_exact;
    if (!dwfl_frame_pc(state, &at, &is_exact) || r->is_gone)
        return DWARF_CB_ABORT;
    record.address = at;
    at -= !is_exact; /* the call is before where it returns to */
    name_code(r, &record, at);
    send_inlined(r, &record, at);
    send_record(r, &record);
    return ++r->frame_count < TOOL_LIVE_FRAMES_MOST ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* ---- a thread ---- */

static FILE *open_file(pid_t pid, pid_t tid, const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    return fopen(path, "re");
}

static void read_name(struct reading *r, pid_t tid, struct tool_live_record *record)
{
    FILE *file = open_file(r->pid, tid, "comm");
    if (file == NULL)
        return;
    if (fgets(record->name, 32, file) != NULL)
        record->name[strcspn(record->name, "\n")] = '\0';
    (void)fclose(file);
}

/* The word that a thread sleeps at, and the id behind it, which is the owner's in a mutex. Whether
 * it is one, names of its functions tell: the parent asks. */
static void read_futex(struct reading *r, pid_t tid, struct tool_live_record *record)
{
    FILE *file = open_file(r->pid, tid, "syscall");
    int number = -1;
    uint64_t word = 0, operation = 0;
    int32_t owner = 0;
    if (file == NULL)
        return;
    int count = fscanf(file, "%d %" SCNx64 " %" SCNx64, &number, &word, &operation);
    (void)fclose(file);
    if (count != 3 || number != SYS_futex || (operation & FUTEX_MASK) != 0)
        return;
    struct iovec to = {&owner, sizeof owner},
                 from = {(void *)(uintptr_t)(word + OWNER_OFFSET), sizeof owner};
    record->address = word;
    if (process_vm_readv(r->pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof owner && owner > 0)
        record->owner = (uint64_t)owner;
    Dwfl_Module *module = dwfl_addrmodule(r->dwfl, word);
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = module == NULL
                           ? NULL
                           : dwfl_module_addrinfo(module, word, &offset, &symbol, NULL, NULL, NULL);
    if (name != NULL && offset == 0)
        put_text(record->file, sizeof record->file, readable(r, name));
    else if (name != NULL)
        (void)snprintf(record->file, sizeof record->file, "%.200s+%" PRIu64, readable(r, name),
                       (uint64_t)offset);
}

/* False with errno: it did not stop in time, or may not be stopped. *signal came first, and is
 * delivered when the thread goes on. */
static bool stop_thread(pid_t tid, int *signal)
{
    int status;
    *signal = 0;
    uint64_t until = tool_child_now_ms() + THREAD_STOP_MS;
    const struct timespec nap = {.tv_nsec = 1000000};
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return false;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return false;
    while (tool_child_now_ms() < until) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid && WIFSTOPPED(status)) {
            *signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
            return true;
        }
        if (got != 0) {
            errno = ESRCH;
            return false;
        }
        (void)nanosleep(&nap, NULL);
    }
    errno = ETIMEDOUT;
    return false;
}

static const char *why_not(int code)
{
    return code == EPERM       ? "it may not be looked at: be its user, or root; another tracer or "
                                 "kernel.yama.ptrace_scope may forbid it, too"
           : code == ESRCH     ? "it has ended"
           : code == ETIMEDOUT ? "it did not stop within a second: it waits within the kernel"
                               : strerror(code);
}

static void read_thread(struct reading *r, pid_t tid)
{
    struct tool_live_record record = {.kind = TOOL_LIVE_THREAD, .tid = (uint64_t)tid};
    struct tool_live_record cut = {.kind = TOOL_LIVE_CUT, .tid = (uint64_t)tid};
    int signal;
    read_name(r, tid, &record);
    read_futex(r, tid, &record); /* before it is stopped: it is in no system call then */
    send_record(r, &record);
    if (!stop_thread(tid, &signal)) {
        put_text(cut.name, sizeof cut.name, why_not(errno));
        send_record(r, &cut);
        return;
    }
    r->frame_count = 0;
    int status = dwfl_getthread_frames(r->dwfl, tid, take_frame, r);
    (void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal);
    if (status > 0 && r->frame_count == TOOL_LIVE_FRAMES_MOST)
        put_text(cut.name, sizeof cut.name, "there are more");
    else if (r->frame_count == 0)
        put_text(cut.name, sizeof cut.name, "its stack could not be unwound");
    else
        return;
    send_record(r, &cut);
}

static void read_threads(struct reading *r)
{
    char path[64];
    uint32_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", r->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int tid = atoi(entry->d_name);
        if (tid > 0 && count++ < TOOL_LIVE_THREADS_MOST && !r->is_gone)
            read_thread(r, tid);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

static void work(int fd, const void *context)
{
    char *paths = NULL; /* the usual folders of debug information */
    const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                      .find_debuginfo = dwfl_standard_find_debuginfo,
                                      .debuginfo_path = &paths};
    struct reading *r = calloc(1, sizeof *r);
    struct tool_live_record record = {.kind = TOOL_LIVE_END};
    if (r == NULL)
        return;
    r->fd = fd;
    r->units_left = UNITS_MOST;
    r->pid = ((const struct work *)context)->pid;
    (void)unsetenv("DEBUGINFOD_URLS"); /* nothing is fetched while a process hangs */
    r->dwfl = dwfl_begin(&callbacks);
    int status = r->dwfl == NULL ? ENOMEM : dwfl_linux_proc_report(r->dwfl, r->pid);
    if (status == 0 && dwfl_report_end(r->dwfl, NULL, NULL) == 0)
        status = dwfl_linux_proc_attach(r->dwfl, r->pid, true);
    if (status != 0) {
        record.kind = TOOL_LIVE_FAILED;
        put_text(record.name, sizeof record.name,
                 status > 0 ? why_not(status == EACCES   ? EPERM
                                      : status == ENOENT ? ESRCH
                                                         : status)
                            : dwfl_errmsg(-1));
    } else {
        read_threads(r);
    }
    send_record(r, &record);
    dwfl_end(r->dwfl);
    free(r);
}

/* ---- the parent ---- */

/* Nothing that the child says is trusted. */
static void close_texts(struct tool_live_record *record)
{
    record->name[sizeof record->name - 1] = '\0';
    record->module[sizeof record->module - 1] = '\0';
    record->file[sizeof record->file - 1] = '\0';
}

const char *tool_live_stacks(pid_t pid, void (*take)(void *, const struct tool_live_record *),
                             void *context, char text[512])
{
    struct tool_child child = {0};
    const struct work what = {pid};
    uint64_t until = tool_child_now_ms() + TIME_MOST_MS;
    struct tool_live_record *record = calloc(1, sizeof *record);
    const char *why = NULL;
    if (record == NULL || !tool_child_start(&child, MEMORY_BYTES, work, &what)) {
        (void)snprintf(text, 512, "%s", strerror(errno));
        free(record);
        return text;
    }
    for (;;) {
        if (!tool_child_receive(child.fd, record, sizeof *record, until)) {
            (void)snprintf(text, 512, "%s",
                           errno == ETIMEDOUT ? "it took longer than 20 s"
                                              : "what reads its stacks ended early");
            why = text;
            break;
        }
        close_texts(record);
        if (record->kind == TOOL_LIVE_FAILED) {
            memcpy(text, record->name, 512);
            why = text;
        }
        if (record->kind == TOOL_LIVE_END || record->kind == TOOL_LIVE_FAILED)
            break;
        take(context, record);
    }
    (void)tool_child_end(&child, why != NULL);
    free(record);
    return why;
}
