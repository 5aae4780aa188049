/* A uftrace recording: what its files say, and how they hang together.
 *
 *   info          header, feature and info masks, lines of text, argument specifications
 *   task.txt      SESS (a memory map's birth), TASK, FORK, DLOP lines
 *   sid-*.map     a session's memory map
 *   *.sym, *.dbg  a module's symbols, lines, specifications, enumerations
 *   TID.dat       a task's records
 *   events.txt    names of user events
 *
 * All files are opened below the directory's descriptor, without following links. */
#ifndef TOOL_UFTRACE_H
#define TOOL_UFTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tools/calls/name_table.h"
#include "tools/convert/convert.h"
#include "tools/io/lines.h"

#define TOOL_UFT_RECORD_BYTES 16u
#define TOOL_UFT_NO_TIME      UINT64_MAX

/* Feature bits of the header that matter here. */
#define TOOL_UFT_FEATURE_DEBUG_INFO (1u << 10)

struct tool_uft_info {
    bool is_64_bit;
    uint64_t features;
    char *argument_specs, *return_specs; /* asked for by the user; NULL: none */
    char *automatic_arguments, *automatic_returns, *enumerations;
    bool automatic; /* every function has automatic specifications */
    char *pattern_type;
    char *executable;
};

/* A line of a symbol or debug file, by address: the rest stays in the file. */
struct tool_uft_entry {
    uint64_t address;
    uint64_t offset; /* of its line; UINT64_MAX: an end marker */
};

struct tool_uft_table {
    bool loaded;
    char *file; /* name below the directory, NULL: none */
    struct tool_uft_entry *entries;
    size_t count, capacity;
};

struct tool_uft_module {
    char *path, *build_id; /* hex, may be "" */
    struct tool_uft_table symbols, debug;
    bool has_enumerations; /* of its debug file are known */
};

/* "enum color {RED,GREEN=5}" of a debug file, or of `info`. */
struct tool_uft_enumeration {
    char *text; /* which the names lie in */
    ttape_string name;
    ttape_value_constant *constants;
    uint32_t count;
};

struct tool_uft_map {
    uint64_t start, end;
    uint32_t module; /* index of the recording's modules */
    uint32_t id;     /* module id in the trace, or TTAPE_NONE as long as it has none */
    uint32_t place;  /* in the file, as long as maps are not sorted; then the shared range's
                      * number + 1, 0: no other map has an address of it */
    bool is_first;   /* it is there from the session's begin on */
};

/* A map that came after the session's begin: a DLOP line. */
struct tool_uft_load {
    uint64_t time_ns, tid;
    uint64_t pid; /* of tid, once threads are known */
    uint32_t map; /* index */
    uint32_t range;
};

/* Addresses that several maps have, at different times. */
struct tool_uft_range {
    uint64_t start, end;
    size_t first_load, load_count;
};

#define TOOL_UFT_PYTHON (UINT32_MAX - 1) /* in the place of a map's index: python.fake.sym */

/* What lies at an address, how long. */
struct tool_uft_place {
    uint32_t map; /* index, TOOL_UFT_PYTHON, or TTAPE_NONE */
    bool is_shared;
    uint64_t from_ns, until_ns; /* where it is shared */
};

/* The site of a shared address in a process. */
struct tool_uft_shared_site {
    struct tool_uft_place place;
    uint32_t site;
};

/* Address -> site id: open addressing, power of two, at most half full. Empty slots have site
 * TTAPE_NONE. Places are found under a secret key. */
struct tool_uft_slot {
    uint64_t address;
    uint32_t site;
    uint32_t map; /* index of the session's maps, or TTAPE_NONE */
};

struct tool_uft_sites {
    struct tool_uft_slot *slots;
    uint32_t shift; /* 64 - log2(slots) */
    uint64_t key;
    size_t count, capacity;
};

/* A memory map from a time on: a process image. Threads share it, forked children inherit it, exec
 * starts another. */
struct tool_uft_session {
    char *sid, *executable;
    uint64_t pid, time_ns;
    struct tool_uft_map *maps; /* by start, once they are sorted */
    size_t map_count, map_capacity;
    struct tool_names map_of;    /* by start and path */
    struct tool_uft_load *loads; /* by range and time, once maps are sorted */
    size_t load_count, load_capacity;
    struct tool_uft_range *ranges; /* by start */
    size_t range_count, range_capacity;
    struct tool_uft_sites sites; /* of addresses that one map has */
    struct tool_names shared_of; /* (address, process) -> shared; (address, map) -> site */
    struct tool_uft_shared_site *shared;
    size_t shared_count, shared_capacity;
};

struct tool_uft_process {
    uint64_t pid, parent_pid, start_ns;
    bool has_parent;
    uint32_t id; /* in the trace */
};

/* A line of task.txt about a thread. */
struct tool_uft_thread {
    uint64_t tid, pid, start_ns;
};

struct tool_uft_task {
    uint64_t tid, pid, start_ns;
    uint32_t stream;
    uint32_t session;         /* index */
    uint64_t next_session_ns; /* when its process has another session; TOOL_UFT_NO_TIME: never */
    uint64_t size_bytes;
    uint64_t position; /* file offset of its first byte that is not parsed yet */
    uint64_t head_ns;  /* time of the record there */
    int32_t buffer;    /* index of its read buffer, -1: none */
    bool evicted;      /* it lost a buffer with unread bytes: small reads from then on */
};

/* A line of events.txt. */
struct tool_uft_user_event {
    uint64_t id;
    size_t place; /* of the line */
    char *name;
};

/* The symbol or debug file that was read last. */
struct tool_uft_open_file {
    int fd;           /* -1: none */
    const char *name; /* a table's */
};

struct tool_uft_recording {
    struct tool_conversion *conversion;
    int directory;
    struct tool_uft_open_file *last_file;
    struct tool_uft_info info;
    struct ttp_hash content;
    struct tool_uft_module *modules;
    size_t module_count, module_capacity;
    struct tool_names module_of;      /* by path and build id */
    uint32_t python;                  /* index of the module of python.fake.sym, TTAPE_NONE */
    struct tool_names enumeration_of; /* by module and name; of `info`: TTAPE_NONE for a module */
    struct tool_uft_enumeration *enumerations;
    size_t enumeration_count, enumeration_capacity;
    bool has_enumerations;             /* those of `info` are known */
    struct tool_uft_session *sessions; /* by (pid, time); [0] is the empty one */
    size_t session_count, session_capacity;
    struct tool_uft_process *processes; /* by pid */
    size_t process_count, process_capacity;
    struct tool_uft_thread *threads; /* by tid */
    size_t thread_count, thread_capacity;
    struct tool_uft_task *tasks; /* by (pid, tid, start): the streams' order */
    size_t task_count, task_capacity;
    struct tool_uft_sites events;            /* event id -> marker site */
    struct tool_uft_user_event *user_events; /* by id and place, once they were asked for */
    size_t user_event_count, user_event_capacity;
    bool has_user_events;
    uint32_t site_count; /* of the trace so far */
};

/* A value in a payload. */
struct tool_uft_spec {
    char type; /* 'a' argument by index, 'f' by float index, 'r' in a register, 's' on the stack */
    char where[15]; /* index, register or stack place: what tells two of one type apart */
    char format;    /* d i u x o p s S c f e t */
    bool is_return, exact;
    bool is_int; /* nothing says how long it is: an int, where the register says no more */
    uint16_t size_bytes;
    uint32_t enumeration; /* number + 1, 0: it is none */
};

#define TOOL_UFT_LAYOUT_MAX 64u

struct tool_uft_layout {
    uint32_t count;
    struct tool_uft_spec specs[TOOL_UFT_LAYOUT_MAX]; /* as many as there are, where it is kept */
};

/* uftrace_files.c: opens a regular file below the directory; -1 with errno (EINVAL: not regular).
 */
int tool_uft_open(const struct tool_uft_recording *recording, const char *name);
/* Closes them with their descriptor, and warns where they ended because the file could not be read:
 * what it says further on is lost. */
void tool_uft_close_lines(const struct tool_uft_recording *recording, struct tool_lines *lines,
                          const char *name);

/* uftrace_info.c: reads `info` and sets the metadata that it holds. Returns a tool_exit. */
int tool_uft_read_info(struct tool_uft_recording *recording);
int tool_uft_set_metadata(struct tool_uft_recording *recording);
void tool_uft_info_close(struct tool_uft_info *info);

/* uftrace_tasks.c: reads task.txt and finds the .dat files; then sessions, processes and tasks are
 * there. */
int tool_uft_read_tasks(struct tool_uft_recording *recording);
struct tool_uft_process *tool_uft_find_process(const struct tool_uft_recording *recording,
                                               uint64_t pid);
const struct tool_uft_thread *tool_uft_find_thread(const struct tool_uft_recording *recording,
                                                   uint64_t tid);
/* The session of a process at a time, and when its next one starts. */
uint32_t tool_uft_session_at(struct tool_uft_recording *recording, uint64_t pid, uint64_t time_ns,
                             uint64_t *next_ns);

/* uftrace_maps.c: memory maps and modules. */
void tool_uft_read_map(struct tool_uft_recording *recording, struct tool_uft_session *session);
/* A library that was loaded later: `end` is known by its symbols. */
void tool_uft_add_load(struct tool_uft_recording *recording, struct tool_uft_session *session,
                       uint64_t start, const char *path, uint64_t time_ns, uint64_t tid);
/* What Python programs were recorded with: their functions have numbers for addresses. */
void tool_uft_find_python(struct tool_uft_recording *recording);
/* Once all is read. */
void tool_uft_sort_maps(struct tool_uft_recording *recording, struct tool_uft_session *session);
/* What lies at an address of a process at a time. */
struct tool_uft_place tool_uft_find_place(struct tool_uft_recording *recording,
                                          const struct tool_uft_session *session, uint64_t pid,
                                          uint64_t time_ns, uint64_t address);
void tool_uft_close_maps(struct tool_uft_session *session);

/* uftrace_symbols.c: what a module's files say about an address relative to its base. */
struct tool_uft_symbol {
    uint64_t start;    /* relative address */
    char *name, *file; /* freed by tool_uft_symbol_reset; "" and NULL when unknown */
    uint32_t line;
    char *arguments, *returns; /* specifications of the debug file, or NULL */
};
void tool_uft_find_symbol(const struct tool_uft_recording *recording,
                          struct tool_uft_module *module, uint64_t address,
                          struct tool_uft_symbol *symbol);
void tool_uft_symbol_reset(struct tool_uft_symbol *symbol);
void tool_uft_close_last(struct tool_uft_open_file *last);
/* Calls for each line of the module's debug file that begins with a key, with the rest of it. */
void tool_uft_each_debug(struct tool_uft_recording *recording, uint32_t module, const char *key,
                         void (*take)(struct tool_uft_recording *recording, uint32_t module,
                                      const char *text));
/* Last address that the module's symbol file names. */
uint64_t tool_uft_symbols_end(const struct tool_uft_recording *recording,
                              struct tool_uft_module *module);

/* uftrace_sites.c: address -> site. */
static inline size_t tool_uft_place(const struct tool_uft_sites *sites, uint64_t address)
{
    uint64_t hash = address * sites->key;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    return (size_t)(hash >> sites->shift);
}
static inline const struct tool_uft_slot *tool_uft_find_site(const struct tool_uft_sites *sites,
                                                             uint64_t address)
{
    size_t mask = sites->capacity - 1;
    size_t at = tool_uft_place(sites, address);
    while (sites->slots[at].address != address && sites->slots[at].site != UINT32_MAX)
        at = (at + 1) & mask;
    return &sites->slots[at];
}
void tool_uft_sites_open(struct tool_uft_sites *sites);
void tool_uft_sites_close(struct tool_uft_sites *sites);
/* The site of an address that has no slot, and its map's index as in a place; it gets a slot if it
 * is the same at all times. */
struct tool_uft_site {
    uint32_t number, map;
};
ttape_status tool_uft_get_site(struct tool_uft_recording *recording,
                               const struct tool_uft_task *task, uint64_t time_ns, uint64_t address,
                               struct tool_uft_site *site, ttape_error *err);
ttape_status tool_uft_add_event(struct tool_uft_recording *recording, uint64_t event_id,
                                ttape_error *err);

/* uftrace_layout.c: what follows a record of the function at an address of a map; false when
 * nothing says it. */
bool tool_uft_find_layout(struct tool_uft_recording *recording, const struct tool_uft_map *map,
                          uint64_t address, bool is_return, struct tool_uft_layout *layout);

/* uftrace_enums.c: the number + 1 of an enumeration of a module or of `info`, 0: there is none. */
uint32_t tool_uft_find_enumeration(struct tool_uft_recording *recording, uint32_t module,
                                   const char *name, size_t size_bytes);
/* Tells the trace which values of a site are of enumerations; layouts may be NULL. */
ttape_status tool_uft_name_values(const struct tool_uft_recording *recording, uint32_t site,
                                  const struct tool_uft_layout *arguments,
                                  const struct tool_uft_layout *returns, ttape_error *err);
void tool_uft_close_enumerations(struct tool_uft_recording *recording);

/* uftrace_patterns.c: does a specification's pattern mean this function? `type` is the recording's
 * pattern_type, or NULL. Bounded in time and memory, whatever the pattern is. */
bool tool_uft_pattern_is_simple(const char *pattern, const char *type); /* just a name */
bool tool_uft_pattern_matches(const char *pattern, const char *type, const char *name);

/* uftrace_payload.c: decodes a payload at data. Returns its size with padding, 0 when it does not
 * fit into size_bytes. Strings are borrowed from data. */
size_t tool_uft_decode(const struct tool_uft_layout *layout, const uint8_t *data, size_t size_bytes,
                       ttape_value *values, uint32_t *value_count);
size_t tool_uft_decode_event(uint64_t event_id, const uint8_t *data, size_t size_bytes,
                             ttape_value *values, uint32_t *value_count);
/* Name of a built-in event, or NULL. */
const char *tool_uft_event_name(uint64_t event_id);

/* uftrace_feed.c: all records of all tasks, in time order. Returns TOOL_OK, or TOOL_CANNOT
 * (reported). */
int tool_uft_feed(struct tool_uft_recording *recording);

static inline uint64_t tool_load_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

#endif
