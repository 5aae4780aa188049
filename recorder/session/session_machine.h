/* The machine on which a command runs, and what the command took of it. */
#ifndef TTP_SESSION_MACHINE_H
#define TTP_SESSION_MACHINE_H

#include <stdint.h>
#include <sys/resource.h>

#include <tracetape/recording.h>

struct ttp_machine {
    char system[96], cpu[96], load[48]; /* "": not known */
    uint64_t cpus, memory_bytes, memory_free_bytes;
};

void ttp_machine_read(struct ttp_machine *machine);
/* Both: into the metadata of a recording, before it is finished. */
void ttp_machine_put(const struct ttp_machine *machine, ttape_recording *recording);
void ttp_usage_put(const struct rusage *usage, ttape_recording *recording);

#endif
