/* task.txt and the .dat files: which processes, threads and sessions there were, and which records
 * belong to which of them. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"

/* "key=NUMBER" or "key=SEC.NSEC" somewhere in a line. */
static bool find_number(const char *text, const char *key, int base, uint64_t *value)
{
    const char *at = strstr(text, key);
    if (at == NULL)
        return false;
    char *end;
    errno = 0;
    *value = strtoull(at + strlen(key), &end, base);
    return errno == 0 && end != at + strlen(key);
}

static bool find_time(const char *text, uint64_t *time_ns)
{
    uint64_t seconds = 0, rest = 0;
    const char *point = NULL;
    if (find_number(text, "timestamp=", 10, &seconds))
        point = strchr(strstr(text, "timestamp="), '.');
    if (point == NULL || seconds > UINT64_MAX / 1000000000u - 1)
        return false;
    rest = strtoull(point + 1, NULL, 10);
    *time_ns = seconds * 1000000000u + rest % 1000000000u;
    return true;
}

/* What stands between the quotes of key="...", or up to the next blank of key=...; freed by the
 * caller. */
static char *find_text(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (at == NULL)
        return tool_copy_text("", 0);
    at += strlen(key);
    if (*at != '"')
        return tool_copy_text(at, strcspn(at, " \t"));
    const char *end = strrchr(++at, '"');
    return tool_copy_text(at, end != NULL ? (size_t)(end - at) : strlen(at));
}

static struct tool_uft_session *add_session(struct tool_uft_recording *recording)
{
    tool_grow((void **)&recording->sessions, &recording->session_capacity,
              recording->session_count + 1, sizeof(struct tool_uft_session));
    struct tool_uft_session *session = &recording->sessions[recording->session_count++];
    memset(session, 0, sizeof(*session));
    tool_uft_sites_open(&session->sites);
    return session;
}

static void add_process(struct tool_uft_recording *recording, uint64_t pid, uint64_t start_ns,
                        const uint64_t *parent_pid)
{
    tool_grow((void **)&recording->processes, &recording->process_capacity,
              recording->process_count + 1, sizeof(struct tool_uft_process));
    recording->processes[recording->process_count++] =
        (struct tool_uft_process){.pid = pid,
                                  .start_ns = start_ns,
                                  .has_parent = parent_pid != NULL,
                                  .parent_pid = parent_pid != NULL ? *parent_pid : 0,
                                  .id = TTAPE_NONE};
}

static void add_thread(struct tool_uft_recording *recording, uint64_t tid, uint64_t pid,
                       uint64_t start_ns)
{
    tool_grow((void **)&recording->threads, &recording->thread_capacity,
              recording->thread_count + 1, sizeof(struct tool_uft_thread));
    recording->threads[recording->thread_count++] = (struct tool_uft_thread){tid, pid, start_ns};
}

static bool take_session(struct tool_uft_recording *recording, const char *text, uint64_t time_ns)
{
    uint64_t pid;
    if (!find_number(text, " pid=", 10, &pid) && !find_number(text, " tid=", 10, &pid))
        return false;
    struct tool_uft_session *session = add_session(recording);
    session->pid = pid;
    session->time_ns = time_ns;
    session->sid = find_text(text, " sid=");
    session->executable = find_text(text, " exename=");
    add_process(recording, pid, time_ns, NULL);
    tool_uft_read_map(recording, session);
    return true;
}

static bool take_library(struct tool_uft_recording *recording, const char *text, uint64_t time_ns)
{
    uint64_t base, tid = 0;
    if (!find_number(text, " base=", 16, &base) || !find_number(text, " tid=", 10, &tid))
        return false;
    char *sid = find_text(text, " sid=");
    char *path = find_text(text, " libname=");
    for (size_t i = 0; i < recording->session_count; i++) {
        struct tool_uft_session *session = &recording->sessions[i];
        if (session->sid != NULL && strcmp(session->sid, sid) == 0)
            tool_uft_add_load(recording, session, base, path, time_ns, tid);
    }
    free(sid);
    free(path);
    return true;
}

/* One line; false when it is of a known kind and cannot be understood. */
static bool take_line(struct tool_uft_recording *recording, const char *text)
{
    uint64_t time_ns = 0, pid = 0, other = 0;
    bool has_time = find_time(text, &time_ns);
    if (tool_after(text, "SESS ") != NULL)
        return has_time && take_session(recording, text, time_ns);
    if (tool_after(text, "TASK ") != NULL) {
        if (!has_time || !find_number(text, " tid=", 10, &other) ||
            !find_number(text, " pid=", 10, &pid))
            return false;
        add_thread(recording, other, pid, time_ns);
        add_process(recording, pid, time_ns, NULL);
        return true;
    }
    if (tool_after(text, "FORK ") != NULL) {
        if (!has_time || !find_number(text, " pid=", 10, &pid) ||
            !find_number(text, " ppid=", 10, &other))
            return false;
        add_thread(recording, pid, pid, time_ns);
        add_process(recording, pid, time_ns, &other);
        return true;
    }
    if (tool_after(text, "DLOP ") != NULL)
        return has_time && take_library(recording, text, time_ns);
    return true; /* kinds of other versions */
}

static void read_task_file(struct tool_uft_recording *recording)
{
    struct tool_conversion *conversion = recording->conversion;
    int fd = tool_uft_open(recording, "task.txt");
    if (fd < 0) {
        tool_conversion_warn(conversion, "cannot open 'task.txt': %s: no names, no processes",
                             strerror(errno));
        return;
    }
    struct tool_lines lines;
    struct tool_line line = {0};
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line)) {
        ttp_hash_bytes(&recording->content, line.text, line.size_bytes);
        if (line.too_long || strlen(line.text) != line.size_bytes ||
            !take_line(recording, line.text)) {
            tool_conversion_warn(conversion, "cannot use line %llu of 'task.txt'",
                                 (unsigned long long)line.number);
        }
    }
    tool_uft_close_lines(recording, &lines, "task.txt");
}

static int compare_u64(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare_sessions(const void *a, const void *b)
{
    const struct tool_uft_session *one = a, *two = b;
    int order = compare_u64(one->sid != NULL, two->sid != NULL);
    order = order != 0 ? order : compare_u64(one->pid, two->pid);
    return order != 0 ? order : compare_u64(one->time_ns, two->time_ns);
}

/* By pid; of several lines about one, the fork comes first, then the earliest. */
static int compare_processes(const void *a, const void *b)
{
    const struct tool_uft_process *one = a, *two = b;
    int order = compare_u64(one->pid, two->pid);
    order = order != 0 ? order : compare_u64(two->has_parent, one->has_parent);
    return order != 0 ? order : compare_u64(one->start_ns, two->start_ns);
}

static int compare_threads(const void *a, const void *b)
{
    const struct tool_uft_thread *one = a, *two = b;
    int order = compare_u64(one->tid, two->tid);
    return order != 0 ? order : compare_u64(one->start_ns, two->start_ns);
}

static int compare_tasks(const void *a, const void *b)
{
    const struct tool_uft_task *one = a, *two = b;
    int order = compare_u64(one->pid, two->pid);
    order = order != 0 ? order : compare_u64(one->tid, two->tid);
    return order != 0 ? order : compare_u64(one->start_ns, two->start_ns);
}

/* Sorts processes and leaves one of each pid. */
static void settle_processes(struct tool_uft_recording *recording)
{
    struct tool_uft_process *all = recording->processes;
    size_t count = 0;
    if (recording->process_count > 0)
        qsort(all, recording->process_count, sizeof(*all), compare_processes);
    for (size_t i = 0; i < recording->process_count; i++)
        if (count == 0 || all[count - 1].pid != all[i].pid)
            all[count++] = all[i];
    recording->process_count = count;
}

struct tool_uft_process *tool_uft_find_process(const struct tool_uft_recording *recording,
                                               uint64_t pid)
{
    struct ttp_bisect s = {.end = recording->process_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, recording->processes[s.middle].pid < pid);
    bool found = s.first < recording->process_count && recording->processes[s.first].pid == pid;
    return found ? &recording->processes[s.first] : NULL;
}

const struct tool_uft_thread *tool_uft_find_thread(const struct tool_uft_recording *recording,
                                                   uint64_t tid)
{
    struct ttp_bisect s = {.end = recording->thread_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, recording->threads[s.middle].tid < tid);
    bool found = s.first < recording->thread_count && recording->threads[s.first].tid == tid;
    return found ? &recording->threads[s.first] : NULL;
}

/* First session (index) with (pid, time) after the given one. */
static size_t session_after(const struct tool_uft_recording *recording, uint64_t pid,
                            uint64_t time_ns)
{
    struct ttp_bisect s = {.first = 1, .end = recording->session_count};
    while (ttp_bisect_next(&s)) {
        const struct tool_uft_session *session = &recording->sessions[s.middle];
        ttp_bisect_turn(&s,
                        session->pid < pid || (session->pid == pid && session->time_ns <= time_ns));
    }
    return s.first;
}

uint32_t tool_uft_session_at(struct tool_uft_recording *recording, uint64_t pid, uint64_t time_ns,
                             uint64_t *next_ns)
{
    size_t after = session_after(recording, pid, time_ns);
    bool has_next = after < recording->session_count && recording->sessions[after].pid == pid;
    *next_ns = has_next ? recording->sessions[after].time_ns : TOOL_UFT_NO_TIME;
    /* Its own, or the one that its parent had when it forked, and so on. */
    for (size_t steps = 0; steps <= recording->process_count; steps++) {
        after = session_after(recording, pid, time_ns);
        if (after > 1 && recording->sessions[after - 1].pid == pid)
            return (uint32_t)(after - 1);
        const struct tool_uft_process *process = tool_uft_find_process(recording, pid);
        if (process == NULL || !process->has_parent)
            break;
        pid = process->parent_pid;
        time_ns = process->start_ns;
    }
    if (after < recording->session_count && recording->sessions[after].pid == pid)
        return (uint32_t)after; /* records from just before its session's line */
    return recording->session_count > 1 ? 1 : 0;
}

/* A file's name is TID.dat with a plain number, and nothing else. */
static bool parse_name(const char *name, uint64_t *tid)
{
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 10 || strcmp(name + digits, ".dat") != 0 ||
        (name[0] == '0' && digits > 1))
        return false;
    *tid = strtoull(name, NULL, 10);
    return true;
}

static void add_task(struct tool_uft_recording *recording, uint64_t tid)
{
    tool_grow((void **)&recording->tasks, &recording->task_capacity, recording->task_count + 1,
              sizeof(struct tool_uft_task));
    struct tool_uft_task *task = &recording->tasks[recording->task_count++];
    const struct tool_uft_thread *thread = tool_uft_find_thread(recording, tid);
    *task = (struct tool_uft_task){.tid = tid, .pid = tid, .buffer = -1, .stream = TTAPE_NONE};
    if (thread != NULL) {
        task->pid = thread->pid;
        task->start_ns = thread->start_ns;
    } else if (recording->thread_count > 0) {
        tool_conversion_warn(recording->conversion, "'task.txt' does not name task %llu",
                             (unsigned long long)tid);
    }
    if (tool_uft_find_process(recording, task->pid) == NULL) {
        add_process(recording, task->pid, task->start_ns, NULL);
        settle_processes(recording);
    }
}

static int list_tasks(struct tool_uft_recording *recording)
{
    struct tool_conversion *conversion = recording->conversion;
    int fd = dup(recording->directory);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL)
        return tool_fail("cannot list '%s': %s", conversion->input, strerror(errno));
    size_t others = 0;
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        uint64_t tid;
        size_t length = strlen(entry->d_name);
        if (parse_name(entry->d_name, &tid))
            add_task(recording, tid);
        else if (length > 4 && strcmp(entry->d_name + length - 4, ".dat") == 0)
            others++;
    }
    closedir(directory);
    if (others > 0 && conversion->verbose) {
        tool_message("'%s': %zu files of scheduler, kernel or external events (another layout) are "
                     "left out",
                     conversion->input, others);
    }
    if (recording->task_count == 0)
        return tool_fail("'%s' has no records: no file named TID.dat", conversion->input);
    qsort(recording->tasks, recording->task_count, sizeof(struct tool_uft_task), compare_tasks);
    return TOOL_OK;
}

int tool_uft_read_tasks(struct tool_uft_recording *recording)
{
    add_session(recording); /* the empty one, for tasks that nothing is known about */
    read_task_file(recording);
    qsort(recording->sessions, recording->session_count, sizeof(struct tool_uft_session),
          compare_sessions);
    settle_processes(recording);
    if (recording->thread_count > 0) {
        qsort(recording->threads, recording->thread_count, sizeof(struct tool_uft_thread),
              compare_threads);
    }
    tool_uft_find_python(recording);
    for (size_t i = 0; i < recording->session_count; i++)
        tool_uft_sort_maps(recording, &recording->sessions[i]);
    return list_tasks(recording);
}
