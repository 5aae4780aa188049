/* A thread of Firefox Profiler's profile, between what reads it and what writes its tables. */
#ifndef EXPORT_FIREFOX_H
#define EXPORT_FIREFOX_H

#include "tools/command/tool_map.h"
#include "tools/export/export_paths.h"
#include "tools/export/export_stacks.h"
#include "tools/io/scratch_file.h"

struct sample {
    uint64_t start_ns, end_ns;
    uint64_t node; /* 0: nothing runs */
};

/* A frame of a thread, which is its function, too. */
struct used_frame {
    uint32_t label, name, file, resource; /* texts and a resource; TTAPE_NONE: it has none */
    uint32_t line;
    uint64_t address; /* in the module, where it has one */
};

struct firefox {
    struct tool_export *export;
    uint64_t origin_ns;
    struct tool_names names; /* of calls with a path, and of frames: their first site */
    struct tool_export_path path;
    uint32_t thread_count;
    /* of the thread that is read */
    struct tool_stacks stacks;
    uint64_t last_ns;
    struct sample pending;
    struct tool_scratch samples;
    uint64_t thread_start; /* of its samples in the scratch file */
    uint64_t sample_count;
    struct tool_names text_of; /* number of a text as JSON */
    struct tool_buffer texts;
    uint32_t text_count;
    struct ttp_key_map frame_of; /* by label */
    struct used_frame *frames;
    size_t frame_count, frame_capacity;
    struct ttp_key_map resource_of; /* by module */
    uint32_t *modules;              /* by resource */
    size_t module_count, module_capacity;
};

/* export_firefox_tables.c: all of the thread that was read, but for its name and its end. */
void tool_firefox_put_tables(struct firefox *out);
/* Forgets it. */
void tool_firefox_close_thread(struct firefox *out);

#endif
