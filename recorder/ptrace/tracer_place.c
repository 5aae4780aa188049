/* Where the tracer runs. A wake-up of another processor takes as long as many calls. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "recorder/ptrace/tracer.h"

#define STOPS_BETWEEN 256u

static int processor_of(uint32_t tid)
{
    char path[64], text[1024];
    int processor = -1;
    (void)snprintf(path, sizeof(path), "/proc/%u/stat", tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    const char *at = fgets(text, sizeof(text), file) != NULL ? strrchr(text, ')') : NULL;
    (void)fclose(file);
    for (int field = 2; at != NULL && field < 39; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%d", &processor) == 1 ? processor : -1;
}

void ttp_tracer_place(struct ttp_tracer *tracer)
{
    cpu_set_t one, *any = &tracer->processors;
    if (tracer->stops++ % STOPS_BETWEEN != 0 && (tracer->count == 1 || !tracer->is_near))
        return;
    if (CPU_COUNT(any) == 0 && sched_getaffinity(0, sizeof(*any), any) != 0)
        return;
    int processor = tracer->count == 1 ? processor_of(tracer->threads[0]->tid) : -1;
    CPU_ZERO(&one);
    if (processor >= 0 && processor < CPU_SETSIZE && CPU_ISSET(processor, any))
        CPU_SET(processor, &one);
    tracer->is_near = CPU_COUNT(&one) > 0;
    (void)sched_setaffinity(0, sizeof(one), tracer->is_near ? &one : any);
}
