/* The programs that are traced: their threads, and what each is about to do. */
#ifndef TTP_WRITER_SYSCALLS_TRACER_H
#define TTP_WRITER_SYSCALLS_TRACER_H

#include <sched.h>
#include <sys/ptrace.h>

#include <tracetape/syscalls.h>

#include "recorder/arena/stack_sample.h"
#include "recorder/ptrace/counters.h"
#include "recorder/ptrace/outside.h"
#include "recorder/ptrace/traced_stack.h"

#define TTP_CALLS_OPEN 64u /* calls in handlers in calls in handlers ... */

#define TTP_TRACED_ARGUMENTS  6u
#define TTP_TRACED_NO_COUNTER (-1) /* it is not opened yet; */
#define TTP_TRACED_CANNOT     (-2) /* it could not be */

struct ttp_traced_call {
    uint64_t sp, key;
    uint64_t counted;                         /* the thread's counter at the entry, */
    bool is_counted;                          /* where there is one */
    uint64_t arguments[TTP_TRACED_ARGUMENTS]; /* where those are recorded */
    uint32_t number;
    bool is_pending; /* it was interrupted, and whether it goes on is not known yet */
    bool is_written;
    bool is_own; /* the runtime's */
};

/* The runtime, as it is loaded and when it is there. */
struct ttp_traced_runtime {
    uint64_t start, end; /* where it is mapped; 0: not yet */
    uint64_t file;       /* the loader's descriptor of it */
    uint64_t length;     /* that is being mapped; 0: none is */
    bool is_opening, has_file;
};

/* It says that it executes a program that may have more rights: its calls stop it until it has. */
enum ttp_traced_executing { TTP_EXECUTES_NOT, TTP_EXECUTES_SOON, TTP_EXECUTES_NOW };

#define TTP_CALL_OF_32_BITS 0xfffffffeu /* in the place of a number: no kernel's */

struct ttp_traced {
    struct ttp_outside_thread out;
    uint32_t tid, pid;
    bool is_seen;     /* its calls are recorded: it has executed its program */
    bool is_held;     /* it stands still until its starter has said whose it is */
    bool is_given;    /* its stream is its own */
    bool is_free;     /* it records its calls itself: only starts and ends of others stop it */
    uint8_t executes; /* enum ttp_traced_executing, of one that is free */
    bool is_let_go;   /* it is the runtime's, and ends by itself; or it executes such a program */
    bool hides_flag;  /* its clone was not asked to be CLONE_UNTRACED */
    uint64_t hidden;  /* the first argument, as it is to be again */
    bool was_in_call; /* when it was attached to, in call_then, with these arguments */
    uint32_t call_then;
    uint64_t arguments_then[TTP_TRACED_ARGUMENTS];
    struct ttp_traced_runtime runtime;
    bool has_ended;      /* or is about to: its status is known */
    bool has_signals;    /* its stream has been told of the fact about them */
    uint64_t left_out;   /* calls while recording was off, since it last was on, */
    uint32_t off_period; /* which was then */
    uint32_t open_count;
    struct ttp_traced_call open[TTP_CALLS_OPEN];
    uint8_t announced[TTAPE_CALL_NUMBERS / 8];
    uint64_t space_version; /* of the modules that its stream has been told of */
    struct ttp_stack_sample stack_sample;
    int counter;    /* its descriptor, or one of TTP_TRACED_* */
    uint64_t *said; /* keys of calls over stacks: a table; 0: free */
    size_t said_count, said_capacity;
};

/* The memory of a process. */
struct ttp_traced_space {
    uint64_t image, version; /* counts the times that modules were read */
    uint32_t pid;
    bool is_stale;
    struct ttp_traced_modules modules;
};

struct ttp_traced_paths {
    struct ttp_traced_path **slots;
    size_t count, capacity;
};

struct ttp_tracer {
    const ttape_trace_options *options;
    ttape_trace_counts *counts;
    const struct ttp_counter *counter; /* NULL: nothing is counted */
    struct ttp_outside outside;
    struct ttp_traced **threads; /* sorted by their ids */
    size_t count, capacity;
    struct ttp_traced_space *spaces;
    size_t space_count;
    struct ttp_traced_plans plans;
    struct ttp_traced_paths paths;
    struct ttp_traced_stack *stack; /* that was walked last; NULL: stacks are not asked for */
    struct ttp_traced_values *kept; /* of the call that executes a command; NULL: none yet */
    bool is_leaving;
    bool takes_rights; /* from programs with more rights that are executed while they are traced */
    bool is_near;      /* on the processor of the only thread that is traced */
    uint32_t stops;
    cpu_set_t processors; /* that it may run on; none: not asked yet */
};

/* ---- traced_paths.c ---- */

/* The key of the call that the thread is at the entry of, over its stack; 0: there is none. */
uint64_t ttp_traced_key(struct ttp_tracer *tracer, struct ttp_traced *thread, uint32_t number);
/* The thread's stream begins anew. */
void ttp_traced_forget(struct ttp_traced *thread);
void ttp_space_changed(struct ttp_tracer *tracer, uint32_t pid);
void ttp_space_end(struct ttp_tracer *tracer, uint32_t pid);
void ttp_paths_free(struct ttp_traced_paths *paths);

/* ---- tracer_place.c ---- */

/* The tracer on the processor of the thread, as waking another one costs more than the call; where
 * there are several threads, on any. Now and then. */
void ttp_tracer_place(struct ttp_tracer *tracer);

/* ---- tracer.c ---- */

/* A number of /proc/TID/status; as it is, where that cannot be read. */
uint32_t ttp_traced_status(uint32_t tid, const char *name, uint32_t number);

/* ---- traced_link.c ---- */

/* The path of a program; behind a 0 byte that of a link of another name, by which it was executed.
 * The size of both. */
size_t ttp_traced_path(uint32_t pid, char *path, size_t room);

/* ---- traced_values.c: a call's entry or exit, with values behind it ---- */

/* Reads `count` bytes of the thread's memory, a page at most; or fewer, where it ends before. */
size_t ttp_traced_read(const struct ttp_traced *thread, void *into, uint64_t from, size_t count);
/* Writes the entry, and notes whether it is written. */
void ttp_traced_arguments(struct ttp_tracer *tracer, struct ttp_traced *thread,
                          struct ttp_traced_call *call, const uint64_t *arguments);
/* Writes the exit. `counted`: what the counter says of the call; NULL: nothing. */
void ttp_traced_result(struct ttp_tracer *tracer, struct ttp_traced *thread,
                       const struct ttp_traced_call *call, int64_t result, const uint64_t *counted);

/* Of a command that is about to be executed: what its call is given, as its memory is gone then. */
void ttp_traced_keep(struct ttp_tracer *tracer, const struct ttp_traced *thread, uint32_t number,
                     const uint64_t *arguments);
/* That call's entry, and its exit; without values where nothing was kept. False: not written. */
bool ttp_traced_put_kept(struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t key);
void ttp_traced_put_success(struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t key);

/* ---- traced_facts.c ---- */

/* The thread is about to end, and what it ends with: where it is its process's last, that is in the
 * stream. */
void ttp_traced_end(struct ttp_tracer *tracer, struct ttp_traced *thread);
/* It is about to get a signal: whose, and why. */
void ttp_traced_signal(struct ttp_tracer *tracer, struct ttp_traced *thread);

/* ---- traced_runtime.c: programs that come to record themselves ---- */

/* Whether a call with these arguments is the runtime's, or loads it. The runtime's own may say that
 * the thread takes its stream, and that it is free. */
bool ttp_runtime_enters(struct ttp_tracer *tracer, struct ttp_traced *thread,
                        const struct __ptrace_syscall_info *info, const uint64_t *words);
void ttp_runtime_leaves(struct ttp_traced *thread, int64_t result);
/* It has started another thread: whether only to say that it executes a program that may have more
 * rights. */
bool ttp_runtime_starts(struct ttp_traced *thread);
/* Whether a thread that was started records its calls itself. */
bool ttp_runtime_is_free(const struct ttp_traced *thread, const struct ttp_traced *parent);

/* ---- traced_exec.c: programs with more rights than their process ---- */

/* Whether such a program would get none, as it is this process that traces it. */
bool ttp_tracer_takes_rights(void);
/* At an entry: whether it is a call that executes a program. */
bool ttp_traced_executes(const struct __ptrace_syscall_info *info);
/* At the entry of such a call: whether the program would have more; its path, which may be cut. */
bool ttp_traced_gains(const struct ttp_traced *thread, const struct __ptrace_syscall_info *info,
                      char path[TTP_NOTE_PATH_BYTES]);

/* ---- traced_calls.c: what is written of a stop ---- */

/* The thread is at the entry or the exit of a call; is_let_go is set where it may not be traced
 * further. */
void ttp_traced_syscall(struct ttp_tracer *tracer, struct ttp_traced *thread);
/* Puts the clone's first argument back, as it was before a flag was taken out of it. */
void ttp_traced_show_flag(struct ttp_traced *thread);
/* It has executed a program, as the process's only thread from here on. */
void ttp_traced_exec(struct ttp_tracer *tracer, struct ttp_traced *thread);
/* A process image begins with this thread; `parent`: of which it is a copy, or NULL. */
void ttp_traced_image(struct ttp_tracer *tracer, struct ttp_traced *thread,
                      const struct ttp_traced *parent);

#endif
