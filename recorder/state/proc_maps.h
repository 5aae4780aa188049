/* What /proc says of a process: lines of its maps, its tasks. See proc(5). */
#ifndef TTP_RECORDING_PROC_MAPS_H
#define TTP_RECORDING_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ttp_mapping {
    uint64_t start, end, offset, inode;
    unsigned major, minor; /* of the file's device */
    bool is_shared;
    char *path; /* in the line; not a file's where it does not begin with a slash */
};

/* Cuts the line at its end and writes the path as it is on disk. False: it is no such line. */
bool ttp_mapping_parse(char *line, struct ttp_mapping *m);

bool ttp_mapping_is_of(const struct ttp_mapping *m, dev_t device, ino_t inode);

/* The letter of a task's state; 'X': it is not there. */
char ttp_task_state(pid_t tid);
/* It has ended, and is at most there for who waits for it. */
bool ttp_task_is_ended(pid_t tid);
/* The processor that a task runs on, or has run on last. Returns -1 where that is not known. */
int ttp_task_processor(pid_t tid);
/* The task by whose name /proc shows what a process has: its first thread, or, where that one has
 * ended, another one. */
uint32_t ttp_living_task(uint32_t pid);

/* Whether the process (by its name in /proc) has the file mapped: 1 or 0; -1 with errno where that
 * cannot be read. */
int ttp_process_maps(const char *process, dev_t device, ino_t inode);

#endif
