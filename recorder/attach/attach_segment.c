/* The segment: made by two system calls of the program's own, and by the agent, which maps the
 * arena into it. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/attach/attach_inside.h"

#define CHILDREN_ROUNDS 8u
#define FRAMES          8192u
#define STATES_MORE     64u /* for threads that start */
#define STATES_MOST     2048u
#define BLOCKS_MOST     4096u
#define STACK_BYTES     UINT64_C(16384) /* of the agent's beginning */
#define NOT_REPLACED    0x100000        /* MAP_FIXED_NOREPLACE */

void ttp_segment_lay(struct ttp_segment *s, const struct ttp_segment_wish *wish,
                     const struct ttp_arena_head *arena)
{
    const struct ttp_agent_head *head = ttp_agent_image_head();
    uint64_t before = arena->blocks_offset;
    uint32_t blocks = arena->block_capacity < BLOCKS_MOST ? arena->block_capacity : BLOCKS_MOST;
    size_t states = 2 + 2 * wish->threads + STATES_MORE;
    *s =
        (struct ttp_segment){.state_count = (uint32_t)(states < STATES_MOST ? states : STATES_MOST),
                             .frame_count = FRAMES,
                             .block_count = blocks};
    s->state_bytes =
        (uint32_t)(TTP_AGENT_FRAMES_AT + ttp_page_up((uint64_t)FRAMES * TTP_AGENT_FRAME_BYTES));
    s->memory_at = wish->has_values ? s->state_bytes : 0;
    s->state_bytes += wish->has_values ? TTP_AGENT_MEMORY : 0;
    s->states = ttp_page_up(head->image_bytes);
    s->pages = s->states + (uint64_t)s->state_count * s->state_bytes;
    s->changes = s->pages + (uint64_t)s->state_count * TTP_PAGE;
    s->calls = ttp_page_up(s->changes + (uint64_t)wish->changes * sizeof(struct ttp_change));
    s->scratch = s->calls + TTP_AGENT_CALLS * sizeof(struct ttp_agent_call);
    s->area = s->scratch + STACK_BYTES + TTP_FRAME_ROOM;
    s->blocks = (s->area + wish->area_bytes + before + TTP_BLOCK_BYTES - 1) / TTP_BLOCK_BYTES *
                TTP_BLOCK_BYTES;
    s->file_bytes = before + (uint64_t)blocks * TTP_BLOCK_BYTES;
    s->bytes = s->blocks + (uint64_t)blocks * TTP_BLOCK_BYTES;
}

static bool call(struct ttp_stop *stop, const struct ttp_call_places *places, long number,
                 const uint64_t arguments[6], int64_t *result)
{
    struct ttp_called called = {.number = number};
    memcpy(called.arguments, arguments, sizeof called.arguments);
    bool is_made = ttp_call(stop, places, &called);
    *result = called.result;
    return is_made;
}

static const char *word_of(int64_t result)
{
    switch (-result) {
    case ENOMEM: return "there is no memory for the segment";
    case EMFILE:
    case ENFILE: return "its table of open files is full";
    case EACCES:
    case EPERM: return "it may not map executable memory, or open the recorder's";
    case ENOENT: return "it cannot see the recorder's memory (another view of the file system)";
    default: return "a system call of its own fails";
    }
}

const char ttp_segment_no_room[] = "something else was mapped where the segment should go";
static const char disobeys[] = "its thread does not do what it is told";
static const char no_memory[] = "its memory cannot be written to";

/* Its head and what is said in front of its areas: all that is needed to leave, and by what others
 * see that somebody is at work. More pages would take microseconds each. Whoever is killed in
 * between has changed nothing yet. */
static bool put_head(const struct ttp_segment *s, int memory, const struct ttp_agent_shared *shared)
{
    const struct ttp_agent_head *head = ttp_agent_image_head();
    return ttp_memory_write(memory, s->at, head, sizeof *head) &&
           ttp_memory_write(memory, ttp_segment_shared(s, 0), shared,
                            offsetof(struct ttp_agent_shared, areas));
}

/* A kernel without MAP_FIXED_NOREPLACE maps it elsewhere: there it is given back. */
const char *ttp_segment_map_at(uint64_t at, uint64_t bytes, struct ttp_stop *stop,
                               const struct ttp_call_places *places)
{
    const uint64_t whole[6] = {at,
                               bytes,
                               PROT_READ | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | NOT_REPLACED,
                               UINT64_MAX,
                               0};
    int64_t result;
    if (!call(stop, places, SYS_mmap, whole, &result))
        return disobeys;
    if (result == -EEXIST)
        return ttp_segment_no_room;
    if (result < 0 && result >= -4095)
        return word_of(result);
    if ((uint64_t)result == at)
        return NULL;
    const uint64_t back[6] = {(uint64_t)result, bytes};
    (void)call(stop, places, SYS_munmap, back, &result);
    return ttp_segment_no_room;
}

const char *ttp_segment_map(const struct ttp_segment *s, struct ttp_stop *stop,
                            const struct ttp_call_places *places,
                            const struct ttp_agent_shared *shared)
{
    const uint64_t back[6] = {s->at, s->bytes};
    int64_t result;
    const char *why = ttp_segment_map_at(s->at, s->bytes, stop, places);
    if (why != NULL)
        return why;
    if (put_head(s, stop->memory, shared))
        return NULL;
    (void)call(stop, places, SYS_munmap, back, &result);
    return no_memory;
}

const char *ttp_segment_put(const struct ttp_segment *s, int memory,
                            const struct ttp_agent_shared *shared)
{
    size_t size = (size_t)(ttp_agent_image_end - ttp_agent_image);
    size_t told = offsetof(struct ttp_agent_shared, known) +
                  shared->known_count * sizeof *shared->known; /* all else is zero there */
    return ttp_memory_write(memory, ttp_segment_shared(s, 0), shared, told) &&
                   ttp_memory_write(memory, s->at, ttp_agent_image, size)
               ? NULL
               : no_memory;
}

uint64_t ttp_segment_shared(const struct ttp_segment *s, size_t distance)
{
    return s->at + ttp_agent_image_head()->shared + distance;
}

bool ttp_segment_is_there(const struct ttp_segment *s, int memory)
{
    uint64_t magic = 0;
    return ttp_memory_read(memory, s->at, &magic, sizeof magic) && magic == TTP_AGENT_MAGIC;
}

const char *ttp_segment_open(const struct ttp_segment *s, struct ttp_stop *stop,
                             const struct ttp_call_places *places)
{
    const struct ttp_agent_head *head = ttp_agent_image_head();
    const uint64_t rights[6] = {s->at + head->code_bytes, s->area - head->code_bytes,
                                PROT_READ | PROT_WRITE};
    int64_t result;
    if (!ttp_segment_is_there(s, stop->memory) ||
        !call(stop, places, SYS_mprotect, rights, &result))
        return disobeys;
    return result != 0 ? word_of(result) : NULL;
}

const char *ttp_segment_begin(const struct ttp_segment *s, struct ttp_stop *stop)
{
    const struct ttp_agent_head *head = ttp_agent_image_head();
    uint64_t stack = s->at + s->scratch + STACK_BYTES;
    struct ttp_called_code code = {
        .begin = s->at + head->begin,
        .low = s->at,
        .high = s->at + head->code_bytes,
        .stack = stack,
        .frame = stack,
        .result_at = ttp_segment_shared(s, offsetof(struct ttp_agent_shared, result)),
        .result = TTP_AGENT_NOT_YET};
    if (!ttp_segment_is_there(s, stop->memory) || !ttp_call_code(stop, &code))
        return disobeys;
    return code.result == 0  ? NULL
           : code.result < 0 ? word_of(code.result)
                             : "the agent does not begin";
}

/* The head is that of the arena's file, while it is not mapped there yet. */
static bool read_file(const struct ttp_agent_shared *shared, struct ttp_arena_head *head)
{
    int file = shared->path[TTP_AGENT_PATH - 1] != 0
                   ? -1
                   : open(shared->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_read = file >= 0 && pread(file, head, sizeof *head, 0) == (ssize_t)sizeof *head;
    if (file >= 0)
        (void)close(file);
    return is_read && head->magic == TTP_ARENA_MAGIC;
}

/* Whether the recorder of a segment lives. */
bool ttp_segment_is_used(const struct ttp_agent_shared *shared, int memory)
{
    struct ttp_arena_head head;
    bool is_mapped =
        ttp_memory_read(memory, shared->blocks - shared->blocks_offset, &head, sizeof head) &&
        head.magic == TTP_ARENA_MAGIC;
    if (!is_mapped && !read_file(shared, &head))
        return false;
    if (head.recorder_alive != 0)
        return (head.recorder_alive & FUTEX_OWNER_DIED) == 0;
    return kill((pid_t)head.recorder_pid, 0) == 0 || errno == EPERM;
}

/* Any memory that can be executed, and begins as the agent does. */
bool ttp_segment_find(struct ttp_segment *s, struct ttp_agent_shared *shared,
                      const struct ttp_maps *maps, int memory)
{
    *s = (struct ttp_segment){0};
    for (size_t i = 0; i < maps->count; i++) {
        const struct ttp_map *map = &maps->list[i];
        struct ttp_agent_head head;
        if (!map->can_execute || map->path[0] != '\0' ||
            !ttp_memory_read(memory, map->start, &head, sizeof head) ||
            head.magic != TTP_AGENT_MAGIC || head.version != TTP_AGENT_VERSION ||
            head.head_bytes != sizeof head ||
            !ttp_memory_read(memory, map->start + head.shared, shared, sizeof *shared) ||
            (shared->region != map->start && shared->region != 0))
            continue;
        s->at = map->start;
        s->bytes = shared->region != 0 ? shared->region_bytes : map->end - map->start;
        return true;
    }
    return false;
}

/* ---- in children ---- */

/* Whether a process has our segment: a child that was forked meanwhile. */
static bool has_segment(const struct ttp_segment *segment, uint32_t pid, uint64_t arena)
{
    struct ttp_maps maps;
    bool is_read = ttp_maps_read(&maps, pid);
    const struct ttp_map *map = is_read ? ttp_maps_at(&maps, segment->at + segment->blocks) : NULL;
    bool has_it = map != NULL && map->inode == arena;
    ttp_maps_free(&maps);
    return has_it;
}

struct left_children {
    uint32_t gone; /* the segment is */
    uint32_t kept; /* it stays in these, and would be found again */
};

static void leave_children_once(const struct ttp_segment *segment, uint32_t parent, uint64_t arena,
                                struct left_children *left)
{
    left->kept = 0;
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        struct ttp_leaving leaving = {.pid = pid};
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == parent ||
            pid == (uint32_t)getpid() || !has_segment(segment, pid, arena))
            continue;
        bool is_left = ttp_leave(&leaving, segment, NULL) == TTAPE_OK && !leaving.is_gone;
        left->gone += is_left && leaving.is_unmapped;
        left->kept += is_left && !leaving.is_unmapped;
    }
    if (folder != NULL)
        (void)closedir(folder);
}

/* They may fork while they are looked for. */
uint32_t ttp_leave_children(const struct ttp_segment *segment, uint32_t parent, uint64_t arena)
{
    struct left_children left = {0};
    bool is_any = true;
    for (uint32_t i = 0; i < CHILDREN_ROUNDS && is_any; i++) {
        uint32_t before = left.gone;
        leave_children_once(segment, parent, arena, &left);
        is_any = left.gone != before;
    }
    return left.gone + left.kept;
}
