/* The converter for CTF behind the pipe: what was said about threads, modules and sites, and the
 * events that wait in a scratch file until all of it is known. */
#ifndef TOOL_CONVERT_CTF_EVENTS_H
#define TOOL_CONVERT_CTF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/calls/name_table.h"
#include "tools/convert/convert.h"
#include "tools/convert/ctf/convert_ctf.h"
#include "tools/convert/open_frames.h"
#include "tools/io/scratch_file.h"

struct tool_ctf_process {
    uint64_t pid, parent_pid, start_ns;
    uint32_t id; /* of the writer */
    char *name;  /* NULL: not known */
};

struct tool_ctf_thread {
    uint64_t tid, start_ns;
    uint32_t process; /* index */
    uint32_t stream;  /* of the writer */
    bool has_events;
    char *name;
    struct tool_open_frames open;
};

struct tool_ctf_module {
    uint64_t pid, start, size_bytes;
    char *path;
    uint8_t build_id[64];
    uint32_t build_id_bytes;
    uint32_t id; /* of the writer, TTAPE_NONE: not defined yet */
};

/* A site that the trace itself defines (ours do). */
struct tool_ctf_site {
    bool is_added;
    uint32_t id, kind, line;
    uint64_t address;
    char *symbol, *module, *file;
};

/* Events that a tracer lost, on a CTF stream, not yet put into a thread. */
struct tool_ctf_lost {
    bool is_pending;
    uint64_t count;
};

/* Temporary folders that stand for those of a damaged trace. */
struct tool_ctf_mended {
    char *root; /* NULL: there are none */
    char **folders;
    size_t count;
    uint64_t damaged_count; /* stream files */
};

struct tool_ctf {
    struct tool_conversion *conversion;
    struct tool_names process_of, thread_of, site_of, path_of;
    struct tool_names module_of, number_of; /* pid and start; numbers of sites -> index */
    struct tool_ctf_process *processes;
    size_t process_count, process_capacity;
    struct tool_ctf_thread *threads;
    size_t thread_count, thread_capacity;
    struct tool_ctf_module *modules; /* sorted by pid and start once all are known */
    size_t module_count, module_capacity;
    struct tool_ctf_site *sites; /* that the trace defines */
    size_t site_count, site_capacity;
    struct tool_ctf_lost *lost; /* by CTF stream */
    size_t lost_count, lost_capacity;
    struct tool_scratch events;
    uint64_t event_count; /* losses, too */
    uint64_t call_count;  /* without these */
    uint64_t other_count, refused_count, untimed_count;
    struct ttp_hash content;
    char *clock;
    bool lacks_threads; /* some event has no vtid */
    bool is_done;       /* the child read to the end */
    bool is_refused;    /* babeltrace2 opened nothing: why is in failure */
    char *failure;
    struct tool_ctf_folders folders; /* of the traces, as they are */
    struct tool_ctf_mended mended;
    ttape_error err;
};

/* convert_ctf_define.c. Takes a record that defines something. */
void tool_ctf_take_definition(struct tool_ctf *ctf, const struct tool_ctf_wire *wire,
                              const char *text);
/* The thread of an event, made when it is new; an index. */
uint32_t tool_ctf_thread_of(struct tool_ctf *ctf, const struct tool_ctf_wire *wire);
/* Defines processes and threads to the writer, and sorts the modules. */
ttape_status tool_ctf_define(struct tool_ctf *ctf);
/* The site of an event, added when it is new. */
ttape_status tool_ctf_find_site(struct tool_ctf *ctf, const struct tool_ctf_wire *wire,
                                uint32_t *site);
void tool_ctf_close(struct tool_ctf *ctf);

/* convert_ctf_folders.c. Warns of stream files that are empty, or not there though their index is:
 * babeltrace2 passes over them. */
void tool_ctf_warn_empty(struct tool_conversion *conversion,
                         const struct tool_ctf_folders *folders);

/* convert_ctf_feed.c. Feeds the events; returns a tool_exit. */
int tool_ctf_feed(struct tool_ctf *ctf);

/* convert_ctf_mend.c. Makes folders that babeltrace2 can open of those that it cannot, with what
 * comes before the damage; names each damaged file. Returns a tool_exit. */
int tool_ctf_mend(struct tool_ctf *ctf, char *const *folders, size_t count);
void tool_ctf_close_mended(struct tool_ctf_mended *mended);

#endif
