/* The probes of each function: its entry, then its exits; what is moved for them. */
#include <stdlib.h>
#include <string.h>

#include "program/binary/patch/patch_place.h"

#define IN_DISTANCE 15u /* of lines, those that begin in the jump's distance */

static bool grow(struct tool_patch *patch, void *array, size_t *capacity, size_t needed,
                 size_t each)
{
    void **at = array, *grown = *at;
    bool fits = tool_bounded_grow(&patch->code->memory, &grown, capacity, needed, each);
    *at = grown;
    return fits;
}

static bool add_bytes(struct tool_patch *patch, const uint8_t *bytes, size_t count)
{
    if (patch->byte_count + count > TTP_PATCH_BYTES_MAX ||
        !grow(patch, &patch->bytes, &patch->byte_capacity, patch->byte_count + count, 1))
        return false;
    memcpy(patch->bytes + patch->byte_count, bytes, count);
    patch->byte_count += count;
    return true;
}

bool tool_patch_add_probe(struct tool_patch *patch, const struct ttp_patch_probe *probe)
{
    if (patch->probe_count >= TTP_PATCH_PROBES_MAX ||
        !grow(patch, &patch->probes, &patch->probe_capacity, patch->probe_count + 1, sizeof *probe))
        return false;
    patch->probes[patch->probe_count++] = *probe;
    return true;
}

/* A probe that can be patched: its bytes, moved code and fixups. */
static bool fill_window(const struct tool_patch_place *place, struct ttp_patch_probe *probe,
                        const struct tool_moved *moved)
{
    struct tool_patch *patch = place->patch;
    size_t available;
    const uint8_t *original = tool_image_at(patch->code->image, probe->window, &available);
    probe->bytes = (uint32_t)patch->byte_count;
    probe->first_fixup = (uint32_t)patch->fixup_count;
    probe->fixup_count = (uint8_t)moved->fixup_count;
    if (!add_bytes(patch, original, probe->window_bytes) ||
        !add_bytes(patch, moved->bytes, moved->used) ||
        !grow(patch, &patch->fixups, &patch->fixup_capacity,
              patch->fixup_count + moved->fixup_count, sizeof *moved->fixups))
        return false;
    for (size_t i = 0; i < moved->fixup_count; i++)
        patch->fixups[patch->fixup_count++] = moved->fixups[i];
    for (uint32_t i = 0; i < probe->window_bytes; i++) {
        uint64_t bit = (uint64_t)probe->window + i - patch->code->image->code_start;
        patch->taken[bit / 64] |= (uint64_t)1 << bit % 64;
    }
    return true;
}

static bool add_window(const struct tool_patch_place *place, struct ttp_patch_probe *probe,
                       const struct tool_moved *moved)
{
    return fill_window(place, probe, moved) && tool_patch_add_probe(place->patch, probe);
}

/* Stubs of these do not go on behind the window. */
static uint8_t last_of(const struct tool_patch_place *place, enum ttp_patch_kind kind,
                       const struct tool_patch_window *window)
{
    bool ends = kind == TTP_PATCH_RETURN || kind == TTP_PATCH_TAIL;
    return (uint8_t)(ends ? place->all[window->to].address - place->all[window->from].address
                          : window->bytes);
}

/* Lines that begin within a jump of five bytes, and at the next one, which a prefix makes its last.
 */
static uint8_t lines_at(const struct tool_patch_place *place, uint32_t jump)
{
    uint8_t lines = 0;
    for (uint32_t i = 0; i < TTP_PLAN_WINDOW_MIN; i++)
        if (tool_code_begins_line(place->patch->code, jump + 1 + i))
            lines |= (uint8_t)(1u << i);
    return lines;
}

static struct ttp_patch_probe new_probe(const struct tool_patch_place *place,
                                        enum ttp_patch_kind kind,
                                        const struct tool_patch_window *window)
{
    return (struct ttp_patch_probe){.window = place->all[window->from].address,
                                    .function = (uint32_t)place->patch->function_count,
                                    .jump = place->all[window->from].address,
                                    .window_bytes = (uint8_t)window->bytes,
                                    .kind = (uint8_t)kind,
                                    .last = last_of(place, kind, window),
                                    .lines = lines_at(place, place->all[window->from].address)};
}

/* Moves the instructions [from, to). False: there is no room for them. */
static bool move(const struct tool_patch_place *place, size_t from, size_t to,
                 struct tool_moved *moved)
{
    for (size_t i = from; i < to; i++)
        if (!tool_code_move(place->patch->code->image, &place->all[i], moved))
            return false;
    return moved->used <= TTP_PATCH_MOVED_MAX;
}

static enum ttp_patch_kind kind_of(enum tool_patch_exit exit)
{
    return exit == TOOL_EXIT_RETURN ? TTP_PATCH_RETURN
           : exit == TOOL_EXIT_TAIL ? TTP_PATCH_TAIL
                                    : TTP_PATCH_TAIL_IF;
}

/* A probe that says only why there is none. */
bool tool_patch_add_reason(const struct tool_patch_place *place, enum ttp_patch_kind kind,
                           enum ttp_patch_reason reason, uint32_t address)
{
    struct ttp_patch_probe probe = {.window = address,
                                    .function = (uint32_t)place->patch->function_count,
                                    .kind = (uint8_t)kind,
                                    .reason = (uint8_t)reason};
    return tool_patch_add_probe(place->patch, &probe);
}

/* A jump to where no function starts: where to is told, as that function's exits may be needed. */
static bool add_lost(const struct tool_patch_place *place, const struct tool_instruction *jump)
{
    struct ttp_patch_probe probe = {.window = jump->address,
                                    .function = (uint32_t)place->patch->function_count,
                                    .jump = jump->target,
                                    .kind = TTP_PATCH_TAIL,
                                    .reason = TTP_PATCH_ELSEWHERE};
    return tool_patch_add_probe(place->patch, &probe);
}

/* Moves an exit's instructions. False: they are too long. */
static bool move_exit(const struct tool_patch_place *place, enum tool_patch_exit exit,
                      const struct tool_patch_window *window, struct ttp_patch_probe *probe,
                      struct tool_moved *moved)
{
    const struct tool_image *image = place->patch->code->image;
    struct tool_instruction last = place->all[window->to];
    bool fits = move(place, window->from, window->to, moved);
    *probe = new_probe(place, kind_of(exit), window);
    probe->before_bytes = (uint8_t)moved->used;
    if (exit == TOOL_EXIT_TAIL_IF) { /* what is left of it is the jump, once it is taken */
        probe->condition = tool_code_condition(image, &last);
        last.kind = TOOL_CODE_JUMP;
    }
    fits = fits && tool_code_move(image, &last, moved) && moved->used <= TTP_PATCH_MOVED_MAX;
    probe->after_bytes = (uint8_t)(moved->used - probe->before_bytes);
    return fits;
}

static bool add_exit(struct tool_patch_place *place, enum tool_patch_exit exit,
                     const struct tool_patch_window *window)
{
    struct tool_moved moved = {0};
    struct ttp_patch_probe probe;
    if (!move_exit(place, exit, window, &probe, &moved))
        return tool_patch_add_reason(place, kind_of(exit), TTP_PATCH_FAR,
                                     place->all[window->to].address);
    place->free_from = probe.window + probe.window_bytes;
    return add_window(place, &probe, &moved);
}

/* The instruction at an address that was one's before. */
size_t tool_patch_index_of(const struct tool_patch_place *place, uint32_t address)
{
    size_t from = 0, end = place->count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (place->all[middle].address < address)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* With the window of a host, whose probe follows. */
static bool add_hosted(struct tool_patch_place *place, const struct tool_patch_window *host,
                       struct ttp_patch_probe *probe, const struct tool_moved *moved, bool *fits)
{
    struct tool_moved host_moved = {0};
    *fits = move(place, host->from, host->to + 1, &host_moved);
    if (!*fits)
        return true;
    struct ttp_patch_probe host_probe = new_probe(place, TTP_PATCH_HOST, host);
    host_probe.after_bytes = (uint8_t)host_moved.used;
    probe->jump = host_probe.window + TTP_PLAN_WINDOW_MIN;
    probe->lines = lines_at(place, probe->jump);
    return fill_window(place, probe, moved) && add_window(place, &host_probe, &host_moved);
}

/* Gives an exit that has no room the window of a host, too. */
static bool add_relay(struct tool_patch_place *place, size_t number)
{
    struct tool_patch *patch = place->patch;
    struct tool_patch_window window, host;
    struct ttp_patch_probe probe;
    struct tool_moved moved = {0};
    bool fits = false;
    size_t at = tool_patch_index_of(place, patch->probes[number].window);
    enum tool_patch_exit exit = tool_patch_exit_of(patch, place->range, &place->all[at]);
    if (!tool_patch_find_relay(place, at, &window, &host) ||
        !move_exit(place, exit, &window, &probe, &moved))
        return true;
    if (!add_hosted(place, &host, &probe, &moved, &fits))
        return false;
    if (fits)
        patch->probes[number] = probe;
    return true;
}

/* Moves what leads to a return, and that behind it. */
static bool move_way(const struct tool_patch_place *place, enum ttp_patch_kind kind,
                     const struct tool_patch_window *window, const struct tool_instruction *returns,
                     struct ttp_patch_probe *probe, struct tool_moved *moved)
{
    const struct tool_image *image = place->patch->code->image;
    const struct tool_instruction *last = &place->all[window->to];
    bool is_branch = kind == TTP_PATCH_RETURN_IF || last->kind == TOOL_CODE_JUMP;
    bool fits = move(place, window->from, window->to + !is_branch, moved);
    *probe = new_probe(place, kind, window);
    probe->before_bytes = (uint8_t)moved->used;
    if (kind == TTP_PATCH_RETURN_IF)
        probe->condition = tool_code_condition(image, last);
    if (!is_branch) /* the hook stands for the return, which is behind the window, with its frame */
        probe->last = (uint8_t)window->bytes;
    fits = fits && tool_code_move(image, returns, moved) && moved->used <= TTP_PATCH_MOVED_MAX;
    probe->after_bytes = (uint8_t)(moved->used - probe->before_bytes);
    return fits;
}

bool tool_patch_add_way(struct tool_patch_place *place, enum ttp_patch_kind kind, size_t at,
                        const struct tool_instruction *returns, struct ttp_patch_probe *probe,
                        bool *is_there)
{
    struct tool_patch_window window, host;
    struct tool_moved moved = {0};
    *is_there = tool_patch_find_free(place, at, &window) &&
                move_way(place, kind, &window, returns, probe, &moved);
    if (*is_there)
        return fill_window(place, probe, &moved);
    moved = (struct tool_moved){0};
    if (!tool_patch_find_relay(place, at, &window, &host) ||
        !move_way(place, kind, &window, returns, probe, &moved))
        return true;
    return add_hosted(place, &host, probe, &moved, is_there);
}

static bool wants_relay(const struct ttp_patch_probe *probe)
{
    return probe->kind != TTP_PATCH_ENTRY && probe->kind != TTP_PATCH_HOST &&
           (probe->reason == TTP_PATCH_BRANCHED || probe->reason == TTP_PATCH_NO_ROOM ||
            probe->reason == TTP_PATCH_IMMOVABLE || probe->reason == TTP_PATCH_SHARED ||
            probe->reason == TTP_PATCH_FAULTS || probe->reason == TTP_PATCH_LINES);
}

/* An exit whose window has a line within the jump, and no host to do without: it has that window,
 * if no other one has come there. */
static bool add_lined(struct tool_patch_place *place, size_t number)
{
    struct tool_patch *patch = place->patch;
    struct tool_patch_window window;
    struct ttp_patch_probe probe;
    struct tool_moved moved = {0};
    size_t at = tool_patch_index_of(place, patch->probes[number].window);
    enum tool_patch_exit exit = tool_patch_exit_of(patch, place->range, &place->all[at]);
    if (!tool_patch_find_free(place, at, &window) ||
        !move_exit(place, exit, &window, &probe, &moved))
        return true;
    if (!fill_window(place, &probe, &moved))
        return false;
    patch->probes[number] = probe;
    return true;
}

/* Second ways of exits that have no window, or not the best one. */
static bool add_others(struct tool_patch_place *place, size_t first)
{
    struct tool_patch *patch = place->patch;
    for (size_t i = first, count = patch->probe_count; i < count; i++) {
        if (wants_relay(&patch->probes[i]) && !add_relay(place, i))
            return false;
        if (patch->probes[i].reason == TTP_PATCH_LINES && !add_lined(place, i))
            return false;
        if (wants_relay(&patch->probes[i]) && patch->probes[i].kind == TTP_PATCH_RETURN &&
            !tool_patch_split(place, i))
            return false;
    }
    return true;
}

/* The exits of a range, but for those in windows that are there already. */
static bool add_exits(struct tool_patch_place *place)
{
    const struct tool_patch *patch = place->patch;
    const struct tool_patch_part *owner = &patch->parts[patch->parts[place->range].owner];
    uint32_t free_from = place->free_from;
    size_t first = patch->probe_count;
    for (size_t i = 0; i < place->count; i++) {
        struct tool_patch_window window;
        enum tool_patch_exit exit = tool_patch_exit_of(patch, place->range, &place->all[i]);
        enum ttp_patch_reason reason = TTP_PATCH_NO_FRAME;
        if (exit == TOOL_EXIT_NONE || (exit != TOOL_EXIT_TAIL_IF && exit != TOOL_EXIT_LOST &&
                                       !owner->is_joined && place->all[i].address < free_from))
            continue;
        if (exit != TOOL_EXIT_LOST && tool_patch_is_framed(patch->code, place->all[i].address))
            reason = tool_patch_find_exit(place, i, &window);
        if (reason == TTP_PATCH_CAN &&
            (lines_at(place, place->all[window.from].address) & IN_DISTANCE) != 0)
            reason = TTP_PATCH_LINES;
        bool fits = exit == TOOL_EXIT_LOST    ? add_lost(place, &place->all[i])
                    : reason == TTP_PATCH_CAN ? add_exit(place, exit, &window)
                                              : tool_patch_add_reason(place, kind_of(exit), reason,
                                                                      place->all[i].address);
        if (!fits)
            return false;
    }
    if (!add_others(place, first))
        return false;
    for (size_t i = first; owner->is_joined && i < patch->probe_count; i++)
        patch->probes[i].flags |= TTP_PATCH_JOINED_BY;
    return true;
}

static bool is_pad(const struct tool_patch_place *place, const struct tool_patch_window *window)
{
    for (size_t i = window->from; i <= window->to; i++)
        if (!place->all[i].is_nop)
            return false;
    return true;
}

/* XRay's: a jump over nops. It stays, as there is no instruction where the window ends. */
static bool is_sled(const struct tool_patch_place *place, const struct tool_patch_window *window)
{
    const struct tool_instruction *jump = &place->all[window->from];
    size_t next = window->from + 1;
    if (jump->kind != TOOL_CODE_JUMP || window->to != window->from)
        return false;
    while (next < place->count && place->all[next].is_nop)
        next++;
    return next > window->from + 1 && next < place->count &&
           place->all[next].address == jump->target;
}

bool tool_patch_add_start(struct tool_patch_place *place, enum ttp_patch_kind kind,
                          const struct tool_patch_window *window)
{
    const struct tool_instruction *last = &place->all[window->to];
    struct ttp_patch_probe probe = new_probe(place, kind, window);
    struct tool_moved moved = {0};
    bool is_call = tool_instruction_is_call(last);
    bool fits = move(place, window->from, window->to + !(is_call || window->is_behind), &moved);
    if (window->is_behind) {
        probe.before_bytes = (uint8_t)moved.used;
        fits = fits && move(place, window->to, window->to + 1, &moved);
    }
    if (is_call) {
        probe.flags |= TTP_PATCH_PUSHES;
        probe.before_bytes = (uint8_t)moved.used;
        probe.last = (uint8_t)(last->address - probe.window);
    }
    if (fits && is_call && !tool_code_move_call(place->patch->code->image, last, &moved))
        return tool_patch_add_reason(place, kind, TTP_PATCH_IMMOVABLE, probe.window);
    bool is_plain_pad = is_pad(place, window);
    if (is_plain_pad || is_sled(place, window))
        probe.flags |= TTP_PATCH_PAD;
    if (is_plain_pad)
        moved.used = probe.before_bytes = 0;
    if (!fits || moved.used > TTP_PATCH_MOVED_MAX)
        return tool_patch_add_reason(place, kind, TTP_PATCH_FAR, probe.window);
    probe.after_bytes = (uint8_t)(moved.used - probe.before_bytes);
    return add_window(place, &probe, &moved);
}

static bool add_entry(struct tool_patch_place *place, const struct tool_patch_window *window)
{
    const struct tool_instruction *last = &place->all[window->to];
    struct tool_patch *patch = place->patch;
    enum tool_patch_exit exit = tool_patch_exit_of(patch, place->range, last);
    struct ttp_patch_probe probe = new_probe(place, TTP_PATCH_ENTRY, window);
    struct tool_moved moved = {0}, none = {0};
    bool is_joined = patch->parts[place->range].is_joined;
    place->free_from = probe.window + probe.window_bytes;
    if (!is_joined && (exit == TOOL_EXIT_RETURN || exit == TOOL_EXIT_TAIL)) {
        struct ttp_patch_probe behind;
        if (!move_exit(place, exit, window, &behind, &moved)) /* too long for both */
            return tool_patch_add_reason(place, TTP_PATCH_ENTRY, TTP_PATCH_FAR, probe.window);
        return add_window(place, &probe, &none) && add_window(place, &behind, &moved);
    }
    return tool_patch_add_start(place, TTP_PATCH_ENTRY, window);
}

void tool_patch_start_range(struct tool_patch *patch, size_t range, struct tool_patch_place *place)
{
    const struct tool_code *code = patch->code;
    const struct tool_function *function = &code->functions[range];
    bool is_last = range + 1 == code->function_count;
    *place = (struct tool_patch_place){.patch = patch,
                                       .range = range,
                                       .all = code->instructions + function->first,
                                       .count = function->count,
                                       .limit = is_last ? code->image->code_end
                                                        : code->functions[range + 1].start,
                                       .free_from = function->start,
                                       .least = TTP_PLAN_WINDOW_MIN};
    uint32_t flags = function->flags | code->functions[patch->parts[range].owner].flags;
    place->is_computed = (flags & TTP_PLAN_FUNCTION_COMPUTED) != 0;
}

static enum ttp_patch_reason judge_function(const struct tool_patch *patch, size_t range)
{
    const struct tool_patch_part *part = &patch->parts[range];
    const struct tool_function *function = &patch->code->functions[range];
    if (part->is_special)
        return TTP_PATCH_SPECIAL;
    if (!tool_patch_is_framed(patch->code, function->start) ||
        !tool_patch_is_framed(patch->code, tool_patch_body(patch->code, function)))
        return TTP_PATCH_NO_FRAME;
    if (part->is_torn)
        return TTP_PATCH_UNDECODED;
    return part->is_hooked ? TTP_PATCH_HOOKED : part->is_looped ? TTP_PATCH_LOOPED : TTP_PATCH_CAN;
}

/* The entry with the exit that it shares a window with; where that would be too long, alone. */
static bool add_first(struct tool_patch_place *place, uint32_t body)
{
    struct tool_patch *patch = place->patch;
    size_t first = body != place->patch->code->functions[place->range].start;
    size_t count = patch->probe_count;
    for (unsigned turn = 0; turn < 2; turn++) {
        struct tool_patch_window window = {0};
        enum ttp_patch_reason reason = judge_function(patch, place->range);
        place->is_parted = turn == 1;
        place->free_from = body;
        patch->probe_count = count;
        if (reason == TTP_PATCH_CAN)
            reason = first < place->count ? tool_patch_find_entry(place, first, &window)
                                          : TTP_PATCH_NO_ROOM;
        if (reason == TTP_PATCH_CAN ? !add_entry(place, &window)
                                    : !tool_patch_add_reason(place, TTP_PATCH_ENTRY, reason, body))
            return false;
        if (patch->probes[count].reason != TTP_PATCH_FAR)
            break;
    }
    return true;
}

bool tool_patch_add_function(struct tool_patch *patch, const struct ttp_patch_function *function)
{
    if (patch->function_count >= TTP_PATCH_FUNCTIONS_MAX ||
        !grow(patch, &patch->functions, &patch->function_capacity, patch->function_count + 1,
              sizeof *function))
        return false;
    patch->functions[patch->function_count++] = *function;
    return true;
}

static bool add_function(struct tool_patch *patch, size_t range)
{
    const struct tool_function *function = &patch->code->functions[range];
    struct ttp_patch_function added = {.start = function->start,
                                       .end = function->end,
                                       .first_probe = (uint32_t)patch->probe_count};
    struct tool_patch_place place;
    tool_patch_start_range(patch, range, &place);
    if (!add_first(&place, tool_patch_body(patch->code, function)))
        return false;
    bool is_patched = patch->probes[added.first_probe].reason == TTP_PATCH_CAN;
    if (is_patched && !add_exits(&place))
        return false;
    for (uint32_t piece = patch->parts[range].first_piece; is_patched && piece != TOOL_PATCH_NOBODY;
         piece = patch->parts[piece].next_piece) {
        tool_patch_start_range(patch, piece, &place);
        if (!add_exits(&place))
            return false;
    }
    added.probe_count = (uint32_t)patch->probe_count - added.first_probe;
    return tool_patch_add_function(patch, &added);
}

bool tool_patch_probes(struct tool_patch *patch)
{
    const struct tool_image *image = patch->code->image;
    patch->taken = tool_code_new_bits(patch->code, image->code_end - image->code_start);
    if (patch->taken == NULL)
        return false;
    for (size_t i = 0; i < patch->code->function_count; i++)
        if (patch->parts[i].owner == i && !add_function(patch, i))
            return false;
    return true;
}

const char *tool_patch_open(struct tool_patch *patch, struct tool_code *code)
{
    *patch = (struct tool_patch){.code = code};
    if (!tool_decode_is_there())
        return "this build of tracetape decodes no instructions";
    if (tool_code_find_ways(code) && tool_patch_parts(patch) && tool_patch_probes(patch))
        return NULL;
    return code->memory.is_short ? "it would take too much memory" : "there is too much in it";
}

void tool_patch_close(struct tool_patch *patch)
{
    tool_code_links_close(&patch->links);
    free(patch->parts);
    free(patch->functions);
    free(patch->probes);
    free(patch->fixups);
    free(patch->bytes);
    free(patch->taken);
    *patch = (struct tool_patch){0};
}
