/* The threads of a process: by their control blocks, while it stands still, and their names; and
 * what the recording is told of it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"

#define BLOCK_BYTES 1024u /* of a thread's control block */
#define USUAL_ID_AT 0x2d0u
#define PATH_BYTES  4096u

/* The place of its id in a thread's control block, by all threads. */
uint32_t ttp_threads_id_place(const struct ttp_stop *stop)
{
    uint8_t block[BLOCK_BYTES], is_it[BLOCK_BYTES / 4];
    memset(is_it, 1, sizeof is_it);
    for (size_t i = 0; i < stop->count; i++) {
        if (!ttp_memory_read(stop->memory, stop->tasks[i].registers.fs_base, block, sizeof block))
            return 0;
        for (uint32_t at = 0; at < BLOCK_BYTES; at += 4)
            is_it[at / 4] &= memcmp(block + at, &stop->tasks[i].tid, 4) == 0;
    }
    if (is_it[USUAL_ID_AT / 4])
        return USUAL_ID_AT;
    for (uint32_t at = 8; at < BLOCK_BYTES; at += 4)
        if (is_it[at / 4])
            return at;
    return 0;
}

/* Its threads are told apart by their control blocks, which begin with their own address. */
const char *ttp_threads_check(const struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        uint64_t base = stop->tasks[i].registers.fs_base, word = 0;
        if (base == 0 || !ttp_memory_read(stop->memory, base, &word, sizeof word) || word != base)
            return "a thread of it is none of a C library's";
        for (size_t j = 0; j < i; j++)
            if (stop->tasks[j].registers.fs_base == base)
                return "two threads of it share their thread-local storage";
    }
    return NULL;
}

/* Where a thread's own stack is, whatever it runs on now, as handlers may on one of theirs: its
 * control block lies at its end, but for the first thread's. */
const struct ttp_map *ttp_threads_stack(const struct ttp_maps *maps, uint32_t pid,
                                        const struct ttp_stopped_task *task)
{
    const struct ttp_map *own = NULL;
    if ((uint32_t)task->tid != pid) {
        own = ttp_maps_at(maps, task->registers.fs_base - 1);
    } else {
        for (size_t i = 0; i < maps->count; i++)
            if (strcmp(maps->list[i].path, "[stack]") == 0)
                own = &maps->list[i];
    }
    return own != NULL ? own : ttp_maps_at(maps, task->registers.rsp);
}

uint32_t ttp_threads_names(struct ttp_thread_name *names, uint32_t pid)
{
    char path[64];
    uint32_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = opendir(path);
    for (const struct dirent *entry;
         folder != NULL && count < TTP_AGENT_KNOWN && (entry = readdir(folder)) != NULL;) {
        struct ttp_thread_name *name = &names[count];
        *name = (struct ttp_thread_name){.thread_id = (uint32_t)strtoul(entry->d_name, NULL, 10)};
        if (name->thread_id == 0)
            continue;
        ttp_told_name(pid, name->thread_id, name->name);
        count++;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

void ttp_threads_name(const struct ttp_thread_name *names, uint32_t count, uint32_t pid,
                      uint32_t thread_id, char name[16])
{
    for (uint32_t i = 0; i < count; i++)
        if (names[i].thread_id == thread_id) {
            memcpy(name, names[i].name, sizeof names[i].name);
            return;
        }
    ttp_told_name(pid, thread_id, name);
}

/* ---- what the recording is told ---- */

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
