/* Where the tracer runs. A wake-up of another processor takes as long as many calls. */
#define _GNU_SOURCE
#include <sched.h>

#include "recorder/ptrace/tracer.h"
#include "recorder/state/proc_maps.h"

#define STOPS_BETWEEN 256u

void ttp_tracer_place(struct ttp_tracer *tracer)
{
    cpu_set_t one, *any = &tracer->processors;
    if (tracer->stops++ % STOPS_BETWEEN != 0 && (tracer->count == 1 || !tracer->is_near))
        return;
    if (CPU_COUNT(any) == 0 && sched_getaffinity(0, sizeof(*any), any) != 0)
        return;
    int processor = tracer->count == 1 ? ttp_task_processor((pid_t)tracer->threads[0]->tid) : -1;
    CPU_ZERO(&one);
    if (processor >= 0 && processor < CPU_SETSIZE && CPU_ISSET(processor, any))
        CPU_SET(processor, &one);
    tracer->is_near = CPU_COUNT(&one) > 0;
    (void)sched_setaffinity(0, sizeof(one), tracer->is_near ? &one : any);
}
