/* A session's handle, and its engines: each kind of recording is a row of steps. */
#ifndef TTP_SESSION_INTERNAL_H
#define TTP_SESSION_INTERNAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include <tracetape/session.h>

#include "recorder/attach/attach.h"
#include "recorder/session/session_machine.h"
#include "recorder/session/session_tracer.h"
#include "writer/os_status.h"

enum ttp_session_stage {
    TTP_SESSION_OPENED,
    TTP_SESSION_FAILED, /* by start */
    TTP_SESSION_RUNNING,
    TTP_SESSION_OVER,
    TTP_SESSION_ENDED
};

/* The steps of one kind of recording (spec/session.md). Steps that a kind does not have are NULL.
 */
struct ttp_engine {
    bool loads;   /* the runtime goes into the command */
    bool records; /* there is a recording */
    /* Before the recording has threads. */
    ttape_status (*open)(ttape_session *session, ttape_error *err);
    /* Afterwards the command's process exists, and waits. */
    ttape_status (*start)(ttape_session *session, ttape_error *err);
    /* The process has executed nothing of the program yet. */
    ttape_status (*held)(ttape_session *session, ttape_error *err);
    /* Whether this round was the last one. */
    bool (*is_over)(ttape_session *session, const ttape_recording_status *now);
    void (*end)(ttape_session *session);
};

/* Modules of a process that are patched. */
struct ttp_session_wishes {
    struct ttp_attach_wish *list;
    size_t count, capacity;
};
/* Another choice of functions: it is tried again for those that somebody is inside. */
struct ttp_session_choice {
    struct ttp_session_wishes wishes;
    struct ttp_attach_changed changed; /* until now */
    uint32_t tries;                    /* that are left; 0: there is no such choice */
    uint64_t next_ns;                  /* when the next one comes */
};

struct ttape_session {
    ttape_session_options options;
    ttape_recording_options recording_options;
    const struct ttp_engine *engine;
    enum ttp_session_stage stage;
    ttape_recording *recording; /* NULL: the engine has none */
    char *runtime, *line;       /* the runtime's path; the command as one text */
    struct ttp_session_tracer tracer;
    ttape_error switches; /* why the kernel does not tell of them */
    ttape_session_state state;
    atomic_bool is_left; /* the caller does not wait any longer */
    bool has_asked;      /* the process that traces to let go */
    bool was_ended;      /* the command, before this round */
    uint32_t users_round, idle_rounds;
    ttape_trace_counts traced;
    struct ttp_attach *attached; /* NULL: nothing is patched from outside */
    struct ttp_attach_counts attach_counts;
    uint32_t attach_round;
    uint64_t attach_ns, attach_until_ns; /* for how long, and until when; 0: until it is left */
    struct ttp_session_choice choice;    /* of functions that is not answered yet */
    struct ttp_machine machine;          /* when the command began */
    struct rusage usage;                 /* of the command, once it has ended and has_usage */
    bool has_usage;
};

/* A call of the system has failed: "cannot WHAT: why". */
ttape_status ttp_session_fail(ttape_error *err, int os_errno, const char *what);
/* session_runtime.c: the path of the runtime; to be freed. NULL: it is nowhere. */
char *ttp_session_find_runtime(void);
/* session_start.c: forks the command's process, which waits; `held` is called meanwhile, then it
 * executes the program. */
ttape_status ttp_session_start_command(ttape_session *session, ttape_error *err);
/* session_rounds.c */
bool ttp_session_is_command_over(ttape_session *session, const ttape_recording_status *now);
bool ttp_session_has_let_go(ttape_session *session, const ttape_recording_status *now);
/* session_attach.c: functions of a process that runs */
ttape_status ttp_session_attach(ttape_session *session, ttape_error *err);
bool ttp_session_is_attach_over(ttape_session *session, const ttape_recording_status *now);
void ttp_session_detach(ttape_session *session);
bool ttp_session_has_bare_ended(ttape_session *session, const ttape_recording_status *now);

#endif
