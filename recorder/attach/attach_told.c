/* What the recording is told of a process that was attached to: its image, its modules, the names
 * of its threads. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"

#define PATH_BYTES 4096u

static ssize_t read_text(const char *path, char *into, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, into, room - 1);
    if (file >= 0)
        (void)close(file);
    into[size < 0 ? 0 : size] = '\0';
    return size;
}

void ttp_told_name(uint32_t pid, uint32_t thread_id, char name[16])
{
    char path[64], text[64];
    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, thread_id);
    (void)read_text(path, text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    memset(name, 0, 16);
    memcpy(name, text, strnlen(text, 15));
}

static uint32_t parent_of(uint32_t pid)
{
    char path[64], text[8192];
    (void)snprintf(path, sizeof path, "/proc/%u/status", pid);
    return read_text(path, text, sizeof text) <= 0
               ? 0
               : (uint32_t)ttp_look_number(text, "PPid:", 10, 0);
}

void ttp_told_give(struct ttp_outside *outside, uint32_t pid, struct ttp_agent_known *known,
                   uint64_t *image)
{
    char link[64], path[PATH_BYTES];
    struct ttp_outside_thread out = {.pid = pid, .tid = known->thread_id};
    struct ttp_mark_stream given;
    out.serial = ttp_outside_serial(outside);
    out.image = *image = out.serial;
    out.started = ttp_outside_clock(outside);
    (void)snprintf(link, sizeof link, "/proc/%u/exe", pid);
    ssize_t size = readlink(link, path, sizeof path);
    uint64_t numbers[3] = {out.image, 0, out.started};
    uint32_t ids[2] = {pid, parent_of(pid)};
    const struct ttp_outside_field fields[3] = {
        {numbers, sizeof numbers}, {ids, sizeof ids}, {path, size > 0 ? (size_t)size : 0}};
    (void)ttp_outside_message(outside, &out, TTP_MESSAGE_PROCESS, fields, 3);
    ttp_outside_give(outside, &out, &given);
    known->serial = given.serial;
    known->sequence = given.sequence;
    known->started = given.started;
}
