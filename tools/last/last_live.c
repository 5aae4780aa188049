/* What the threads of a process that runs are in now, and whether they wait for each other. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names/simple_name.h"
#include "tools/calls/callers/caller_names.h"
#include "tools/command/output.h"
#include "tools/command/pager.h"
#include "tools/command/tool_map.h"
#include "tools/io/json.h"
#include "tools/last/last_view.h"
#include "tools/last/live/live_stacks.h"

#define FRAMES_SHOWN  12u
#define LOCK_IS_AMONG 4u /* innermost frames that tell of a mutex */
#define FRAMES_BRIEF  6u
#define GROUPS_WHOLE  3u /* of more, fewer frames are shown */

struct live_frame {
    char *name, *module, *file;
    uint64_t address, offset; /* in the process; in its module */
    uint32_t line;
    bool is_inlined;
};

struct live_thread {
    struct tool_live_record what;
    char *cut;
    struct live_frame *frames;
    size_t count, capacity;
    bool waits_for_mutex;
    size_t owner;      /* index of the thread that holds it, or SIZE_MAX */
    bool is_told;      /* in a circle, or with others */
    uint64_t key;      /* equal for threads that wait alike */
    size_t from, upto; /* the frames that are shown of it */
};

struct live {
    struct live_thread *threads;
    size_t count, capacity;
};

static char *copy_text(const char *text) { return tool_copy_text(text, strlen(text)); }

static bool is_lock(const char *name)
{
    return strstr(name, "mutex_lock") != NULL || strstr(name, "mutex_timedlock") != NULL ||
           strstr(name, "lll_lock_wait") != NULL;
}

static void take_record(void *context, const struct tool_live_record *record)
{
    struct live *live = context;
    if (record->kind == TOOL_LIVE_THREAD) {
        tool_grow((void **)&live->threads, &live->capacity, live->count + 1,
                  sizeof(*live->threads));
        live->threads[live->count++] = (struct live_thread){.what = *record, .owner = SIZE_MAX};
        return;
    }
    if (live->count == 0)
        return;
    struct live_thread *thread = &live->threads[live->count - 1];
    if (record->kind == TOOL_LIVE_CUT) {
        free(thread->cut);
        thread->cut = copy_text(record->name);
    } else if (record->kind == TOOL_LIVE_FRAME && thread->count < TOOL_LIVE_FRAMES_MOST) {
        size_t name_size = strcspn(record->name, "@"); /* a symbol's version is no part of it */
        tool_grow((void **)&thread->frames, &thread->capacity, thread->count + 1,
                  sizeof(*thread->frames));
        thread->frames[thread->count++] =
            (struct live_frame){tool_copy_text(record->name, name_size),
                                copy_text(record->module),
                                copy_text(record->file),
                                record->address,
                                record->offset,
                                record->line,
                                record->is_inlined};
        if (thread->count <= LOCK_IS_AMONG && thread->what.address != 0)
            thread->waits_for_mutex = thread->waits_for_mutex || is_lock(record->name);
    }
}

static void find_owners(struct live *live)
{
    for (size_t i = 0; i < live->count; i++)
        for (size_t k = 0; live->threads[i].waits_for_mutex && k < live->count; k++)
            if (live->threads[k].what.tid == live->threads[i].what.owner)
                live->threads[i].owner = k;
}

static void put_escaped(struct tool_output *out, const char *text)
{
    tool_output_escaped(out, TTP_ESCAPE_TEXT, (ttape_string){text, strlen(text)});
}

static void put_thread_name(struct tool_output *out, const struct live_thread *thread)
{
    tool_output_printf(out, "thread %" PRIu64 " (", thread->what.tid);
    put_escaped(out, thread->what.name);
    tool_output_text(out, ")");
}

static void put_mutex(struct tool_output *out, const struct live_thread *thread)
{
    if (thread->what.file[0] != '\0')
        put_escaped(out, thread->what.file);
    else
        tool_output_printf(out, "the mutex at 0x%" PRIx64, thread->what.address);
}

/* "deadlock: thread 1 (a) waits for x, held by thread 2 (b), which waits for y, held by ..." */
static void put_circle(struct live *live, struct tool_output *out, size_t first)
{
    tool_output_text(out, "deadlock: ");
    put_thread_name(out, &live->threads[first]);
    for (size_t at = first;;) {
        struct live_thread *thread = &live->threads[at];
        thread->is_told = true;
        tool_output_text(out, at == first ? " waits for " : ",\n  which waits for ");
        put_mutex(out, thread);
        tool_output_text(out, ", held by ");
        at = thread->owner;
        put_thread_name(out, &live->threads[at]);
        if (at == first)
            break;
    }
    tool_output_text(out, "\n\n");
}

static void put_circles(struct live *live, struct tool_output *out)
{
    for (size_t i = 0; i < live->count; i++) {
        size_t at = live->threads[i].owner, steps = 0;
        while (at != i && at != SIZE_MAX && steps++ < live->count)
            at = live->threads[at].owner;
        if (at == i && !live->threads[i].is_told)
            put_circle(live, out, i);
    }
}

static bool is_equal(const void *context, size_t a, size_t b)
{
    const struct live_thread *thread = context;
    return thread->frames[a].name[0] != '\0' &&
           strcmp(thread->frames[a].name, thread->frames[b].name) == 0;
}

static void put_frame(struct tool_output *out, const struct live_frame *frame)
{
    tool_output_text(out, "  ");
    if (frame->name[0] == '\0') { /* as a trace calls code that has no name */
        put_escaped(out, frame->module);
        tool_output_printf(out, frame->module[0] != '\0' ? "+0x%" PRIx64 "\n" : "0x%" PRIx64 "\n",
                           frame->module[0] != '\0' ? frame->offset : frame->address);
        return;
    }
    char name[TTP_SIMPLE_NAME_BYTES(sizeof((struct tool_live_record *)0)->name)];
    (void)ttp_simple_name(name, frame->name, strlen(frame->name), TTP_NAME_SHORT);
    put_escaped(out, name);
    tool_output_text(out, frame->is_inlined ? " (inlined) (" : " (");
    put_escaped(out, frame->file[0] != '\0' ? frame->file : frame->module);
    if (frame->line != 0)
        tool_output_printf(out, ":%" PRIu32, frame->line);
    tool_output_text(out, ")\n");
}

static bool is_of_libc(const struct live_frame *frame)
{
    return strncmp(frame->module, "libc.so", 7) == 0 ||
           strncmp(frame->module, "libpthread", 10) == 0;
}

/* What the C library does inside what the program called of it; but that it waits for a lock is
 * told. */
static bool is_inside(const struct live_frame *frame, const struct live_frame *next)
{
    return is_of_libc(frame) && is_of_libc(next) &&
           (frame->is_inlined || strncmp(frame->name, "__", 2) == 0) &&
           (!is_lock(frame->name) || is_lock(next->name));
}

/* Begins a thread, or main. */
static bool is_beginning(const struct live_frame *frame)
{
    return strcmp(frame->name, "_start") == 0 ||
           (is_of_libc(frame) &&
            (strncmp(frame->name, "__libc_start", 12) == 0 ||
             strcmp(frame->name, "start_thread") == 0 || strncmp(frame->name, "__clone", 7) == 0 ||
             strcmp(frame->name, "clone") == 0));
}

static void choose_frames(struct live_thread *thread)
{
    thread->upto = thread->count;
    while (thread->upto > 1 && is_beginning(&thread->frames[thread->upto - 1]))
        thread->upto--;
    while (thread->from + 1 < thread->upto &&
           is_inside(&thread->frames[thread->from], &thread->frames[thread->from + 1]))
        thread->from++;
}

static void find_keys(struct live *live, struct ttp_key_map *map)
{
    for (size_t i = 0; i < live->count; i++) {
        struct live_thread *thread = &live->threads[i];
        struct ttp_hash hash = ttp_key_map_hash(map);
        choose_frames(thread);
        ttp_hash_word(&hash, thread->waits_for_mutex ? thread->what.address : 0);
        ttp_hash_word(&hash, thread->owner);
        ttp_hash_bytes(&hash, thread->cut, thread->cut != NULL ? strlen(thread->cut) : 0);
        for (size_t k = thread->from; k < thread->upto; k++) {
            const struct live_frame *frame = &thread->frames[k];
            ttp_hash_bytes(&hash, frame->name, strlen(frame->name));
            ttp_hash_bytes(&hash, frame->module, strlen(frame->module));
            ttp_hash_word(&hash, frame->name[0] != '\0' ? frame->line : frame->offset);
        }
        thread->key = hash.low;
    }
}

static void put_mutex_owner(const struct live *live, struct tool_output *out,
                            const struct live_thread *thread)
{
    if (!thread->waits_for_mutex)
        return;
    tool_output_text(out, ": waits for ");
    put_mutex(out, thread);
    if (thread->owner == SIZE_MAX)
        return;
    tool_output_text(out, ", held by ");
    put_thread_name(out, &live->threads[thread->owner]);
}

static void put_frames(struct tool_output *out, const struct live_thread *thread, size_t most)
{
    size_t lines = 0, i = thread->from;
    for (; i < thread->upto && lines < most; i++, lines++) {
        size_t period, size;
        put_frame(out, &thread->frames[i]);
        size = tool_find_repeats(i + 1, thread->upto, is_equal, thread, &period);
        if (size > 0)
            tool_output_printf(out, "  (the same %zu %s, %zu more times)\n", period,
                               period == 1 ? "call" : "calls", size / period);
        i += size;
    }
    if (i < thread->upto)
        tool_output_printf(out, "  and %zu more\n", thread->upto - i);
    if (thread->cut != NULL) {
        tool_output_text(out, "  [");
        put_escaped(out, thread->cut);
        tool_output_text(out, "]\n");
    }
}

/* The threads from number `first` on that wait as that does. */
static void put_group(struct live *live, struct tool_output *out, size_t first, size_t most)
{
    struct live_thread *thread = &live->threads[first];
    struct tool_last_member *members = tool_allocate(live->count, sizeof *members);
    size_t count = 0;
    for (size_t i = first; i < live->count; i++) {
        struct live_thread *other = &live->threads[i];
        if (other->key != thread->key)
            continue;
        other->is_told = true;
        members[count++] = (struct tool_last_member){other->what.tid,
                                                     {other->what.name, strlen(other->what.name)}};
    }
    if (count == 1)
        put_thread_name(out, thread);
    else {
        tool_output_printf(out, "%zu threads", count);
        if (tool_last_have_one_name(members, count)) {
            tool_output_text(out, " (");
            put_escaped(out, thread->what.name);
            tool_output_text(out, ")");
        }
        tool_output_text(out, " with equal stacks");
    }
    put_mutex_owner(live, out, thread);
    tool_output_text(out, "\n");
    if (count > 1)
        tool_last_put_members(out, members, count, tool_terminal_columns());
    put_frames(out, thread, most);
    free(members);
}

static void put_text(struct live *live, struct tool_output *out)
{
    struct ttp_key_map groups = {0};
    uint32_t count = 0;
    put_circles(live, out);
    find_keys(live, &groups);
    for (size_t i = 0; i < live->count; i++) {
        uint32_t *group = tool_map_at(&groups, live->threads[i].key, count);
        count += *group == count;
        live->threads[i].is_told = false;
    }
    tool_map_close(&groups);
    for (size_t i = 0; i < live->count; i++) {
        if (live->threads[i].is_told)
            continue;
        tool_output_text(out, i > 0 ? "\n" : "");
        put_group(live, out, i, count > GROUPS_WHOLE ? FRAMES_BRIEF : FRAMES_SHOWN);
    }
}

static void put_json_frame(struct tool_json *json, const struct live_frame *frame)
{
    tool_json_begin(json, NULL, '{');
    tool_json_text(json, "function", frame->name);
    tool_json_text(json, "module", frame->module);
    tool_json_text(json, "file", frame->file);
    tool_json_number_if(json, "line", frame->line != 0, frame->line);
    tool_json_bool(json, "inlined", frame->is_inlined);
    tool_json_number(json, "address", frame->address);
    tool_json_end(json, '}');
}

static void put_json(const struct live *live, struct tool_output *out, pid_t pid)
{
    struct tool_json json;
    tool_json_open(&json, out);
    tool_json_begin(&json, NULL, '{');
    tool_json_number(&json, "pid", (uint64_t)pid);
    tool_json_begin(&json, "threads", '[');
    for (size_t i = 0; i < live->count; i++) {
        const struct live_thread *thread = &live->threads[i];
        bool has_owner = thread->owner != SIZE_MAX;
        tool_json_begin(&json, NULL, '{');
        tool_json_number(&json, "tid", thread->what.tid);
        tool_json_text(&json, "name", thread->what.name);
        tool_json_number_if(&json, "mutex", thread->waits_for_mutex, thread->what.address);
        tool_json_number_if(&json, "held_by", has_owner,
                            has_owner ? live->threads[thread->owner].what.tid : 0);
        tool_json_text(&json, "incomplete", thread->cut != NULL ? thread->cut : "");
        tool_json_begin(&json, "open", '[');
        for (size_t k = 0; k < thread->count; k++)
            put_json_frame(&json, &thread->frames[k]);
        tool_json_end(&json, ']');
        tool_json_end(&json, '}');
    }
    tool_json_end(&json, ']');
    tool_json_end(&json, '}');
}

static void close_live(struct live *live)
{
    for (size_t i = 0; i < live->count; i++) {
        for (size_t k = 0; k < live->threads[i].count; k++) {
            free(live->threads[i].frames[k].name);
            free(live->threads[i].frames[k].module);
            free(live->threads[i].frames[k].file);
        }
        free(live->threads[i].frames);
        free(live->threads[i].cut);
    }
    free(live->threads);
}

int tool_last_live(pid_t pid, bool json)
{
    char text[512];
    struct live live = {0};
    struct tool_output out;
    const char *why = tool_live_stacks(pid, take_record, &live, text);
    bool has_any = false;
    for (size_t i = 0; i < live.count; i++)
        has_any = has_any || live.threads[i].count > 0;
    if (!has_any) {
        if (why == NULL && live.count > 0)
            why = live.threads[0].cut;
        int status = tool_fail("cannot read the stacks of process %d: %s", (int)pid,
                               why != NULL ? why : "it has no threads");
        close_live(&live);
        return status;
    }
    find_owners(&live);
    tool_output_open(&out, STDOUT_FILENO);
    if (json)
        put_json(&live, &out, pid);
    else
        put_text(&live, &out);
    int closed = tool_output_close(&out);
    close_live(&live);
    if (why != NULL && closed == TOOL_OK) {
        tool_message("process %d: %s: some of its threads are not shown", (int)pid, why);
        closed = TOOL_LOSS;
    }
    return closed;
}
