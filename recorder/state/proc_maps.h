/* Lines of /proc/PID/maps, see proc(5). */
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

/* The thread by which /proc shows the memory of the process: its first one, or another one where
 * that has ended. */
uint32_t ttp_mapped_task(uint32_t pid);

/* Whether the process (by its name in /proc) has the file mapped: 1 or 0; -1 with errno where that
 * cannot be read. */
int ttp_process_maps(const char *process, dev_t device, ino_t inode);

#endif
