/* Stacks of threads that are stopped: a copy of the words above the stack pointer, walked by the
 * rows of plans (recorder/arena/plan.h). */
#ifndef TTP_WRITER_SYSCALLS_TRACED_STACK_H
#define TTP_WRITER_SYSCALLS_TRACED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/syscalls.h>

#include "recorder/arena/plan.h"

#define TTP_STACK_FRAMES 256u
#define TTP_STACK_BYTES  65536u /* of a stack that are looked at */

/* A file that is mapped with code. */
struct ttp_traced_module {
    uint64_t start, end;           /* of all its mappings */
    uint64_t code_start, code_end; /* of those with code */
    uint64_t bias;
    uint64_t device, inode;           /* of the file, as the kernel's list has them */
    const struct ttp_plan_head *plan; /* NULL: there is none */
    char *path;
};

struct ttp_traced_modules {
    struct ttp_traced_module *modules; /* sorted */
    size_t count, capacity;
};

/* Plans that were asked for, by path, and by which file that was then: of all processes. */
struct ttp_traced_plans {
    struct ttp_traced_plan {
        char *path;
        struct ttp_plan_stamp stamp;
        const struct ttp_plan_head *plan;
    } * plans;
    size_t count, capacity;
};

/* The array with room for one more item, maybe elsewhere; NULL: no memory, and it is as it was. */
void *ttp_traced_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

/* Modules are as the kernel has them now; where the options have no plans, none is looked for. */
void ttp_modules_read(struct ttp_traced_modules *modules, struct ttp_traced_plans *plans,
                      uint32_t pid, const ttape_trace_options *options);
bool ttp_modules_have(const struct ttp_traced_modules *modules, const char *path);
void ttp_modules_free(struct ttp_traced_modules *modules);
void ttp_plans_free(struct ttp_traced_plans *plans);

struct ttp_traced_stack {
    uint32_t count;
    bool is_cut;                       /* there are more frames further out */
    uint64_t frames[TTP_STACK_FRAMES]; /* innermost first */
    uint64_t low, filled;              /* bytes of the copy, from where */
    uint8_t bytes[TTP_STACK_BYTES];
};

void ttp_stack_walk(struct ttp_traced_stack *stack, const struct ttp_traced_modules *modules,
                    uint32_t tid, uint64_t pc, uint64_t sp, uint64_t rbp);

#endif
