/* The user's side of symbols: modules by path and build id, a helper that is started when it is
 * needed and replaced when it dies, and answers that are checked before they are believed. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "program/process/child.h"
#include "program/symbols/symbols_inside.h"

#define LIST_MAX       4000000u            /* that a helper may tell of one module */
#define LIST_BYTES_MAX ((uint64_t)1 << 29) /* of their texts */

#define DEFAULT_TIMEOUT_SECONDS 60u
#define DEFAULT_MEMORY_BYTES    (2ull << 30)
#define DEATHS_MAX              64u /* after so many helpers, no new one */

struct tool_symbols *tool_symbols_open(const struct tool_symbols_options *options)
{
    struct tool_symbols *symbols = calloc(1, sizeof(struct tool_symbols));
    if (symbols == NULL)
        return NULL;
    symbols->region = ttp_region_of(UINT64_MAX);
    symbols->options = *options;
    if (symbols->options.timeout_seconds == 0)
        symbols->options.timeout_seconds = DEFAULT_TIMEOUT_SECONDS;
    if (symbols->options.memory_bytes == 0)
        symbols->options.memory_bytes = DEFAULT_MEMORY_BYTES;
    return symbols;
}

void tool_symbols_close(struct tool_symbols *symbols)
{
    if (symbols == NULL)
        return;
    tool_child_end(&symbols->helper, false);
    ttp_region_close(&symbols->region);
    free(symbols);
}

static void set_reason(struct tool_symbols_module *module, enum tool_symbols_state state,
                       const char *reason)
{
    module->state = state;
    (void)snprintf(module->reason, sizeof(module->reason), "%s", reason);
}

bool tool_symbols_start(struct tool_symbols *symbols)
{
    if (symbols->helper.pid == 0) {
        symbols->generation += tool_child_start(&symbols->helper, symbols->options.memory_bytes,
                                                tool_symbols_serve, &symbols->options);
    }
    return symbols->helper.pid != 0;
}

static bool ensure_helper(struct tool_symbols *symbols, struct tool_symbols_module *module)
{
    if (symbols->deaths >= DEATHS_MAX) {
        set_reason(module, TOOL_SYMBOLS_FAILED, "too many files before it ended the symbol helper");
        return false;
    }
    if (!tool_symbols_start(symbols)) {
        module->state = TOOL_SYMBOLS_FAILED;
        (void)snprintf(module->reason, sizeof(module->reason), "cannot start the symbol helper: %s",
                       strerror(errno));
        return false;
    }
    return true;
}

/* The helper is gone, or has to go, while this module was in hand. */
static void give_up(struct tool_symbols *symbols, struct tool_symbols_module *module, int number)
{
    bool too_long = number == ETIMEDOUT;
    int status = tool_child_end(&symbols->helper, too_long || number == EPROTO);
    symbols->deaths++;
    module->state = TOOL_SYMBOLS_FAILED;
    if (too_long || (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
        (void)snprintf(module->reason, sizeof(module->reason),
                       "reading it took more than %" PRIu32 " seconds",
                       symbols->options.timeout_seconds);
    } else if (number == EPROTO) {
        set_reason(module, TOOL_SYMBOLS_FAILED, "the symbol helper gave a senseless answer");
    } else if (status != -1 && WIFSIGNALED(status)) {
        (void)snprintf(module->reason, sizeof(module->reason),
                       "the symbol helper died of signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else {
        set_reason(module, TOOL_SYMBOLS_FAILED,
                   "the symbol helper gave up, probably for want of memory");
    }
}

static size_t ahead_of(struct tool_symbols *symbols)
{
    if (symbols->ahead_generation != symbols->generation)
        symbols->ahead_at = symbols->ahead_end = 0;
    symbols->ahead_generation = symbols->generation;
    return symbols->ahead_end - symbols->ahead_at;
}

static bool receive(struct tool_symbols *symbols, void *data, size_t size_bytes,
                    uint64_t deadline_ms)
{
    char *to = data;
    while (size_bytes > 0) {
        size_t there = ahead_of(symbols), part = there < size_bytes ? there : size_bytes;
        memcpy(to, symbols->ahead + symbols->ahead_at, part);
        symbols->ahead_at += part;
        to += part;
        size_bytes -= part;
        if (size_bytes == 0)
            break;
        symbols->ahead_at = 0;
        symbols->ahead_end = tool_child_receive_more(symbols->helper.fd, symbols->ahead, 1,
                                                     sizeof symbols->ahead, deadline_ms);
        if (symbols->ahead_end == 0)
            return false;
    }
    return true;
}

/* Sends a request to a helper that may have died since the last one, of no fault of this
 * module's. */
static bool send_request(struct tool_symbols *symbols, const struct tool_wire_request *request,
                         uint64_t deadline_ms)
{
    char byte;
    bool alive = ahead_of(symbols) == 0 && !tool_child_receive(symbols->helper.fd, &byte, 1, 1) &&
                 errno == ETIMEDOUT;
    return alive && tool_child_send(symbols->helper.fd, request, sizeof(*request), deadline_ms);
}

static uint64_t deadline_of(const struct tool_symbols *symbols)
{
    return tool_child_now_ms() + symbols->options.timeout_seconds * 1000ull;
}

/* Is a head from the helper as tool_elf_head_read makes them? */
static bool is_head(const struct tool_elf_head *head)
{
    return head->load_count > 0 && head->load_count <= TOOL_ELF_LOADS_MAX &&
           head->build_id_bytes <= TOOL_BUILD_ID_BYTES_MAX;
}

static bool take_opened(struct tool_symbols_module *module, struct tool_wire_opened *opened)
{
    opened->reason[sizeof(opened->reason) - 1] = '\0';
    if (opened->has_head != 0 && !is_head(&opened->head))
        return false;
    if (opened->has_head != 0 && !module->has_head) {
        module->has_head = true;
        module->head = opened->head;
    }
    module->is_stripped = opened->is_stripped != 0;
    module->names_from = opened->names_from % TOOL_SYMBOLS_FROMS;
    module->lines_from = opened->lines_from % TOOL_SYMBOLS_FROMS;
    opened->debug_path[sizeof(opened->debug_path) - 1] = '\0';
    memcpy(module->debug_path, opened->debug_path, sizeof(module->debug_path));
    if (opened->has_symbols != 0)
        set_reason(module, TOOL_SYMBOLS_READY, "");
    else if (opened->has_head != 0)
        set_reason(module, TOOL_SYMBOLS_EMPTY, opened->reason);
    else if (module->state == TOOL_SYMBOLS_READY)
        set_reason(module, TOOL_SYMBOLS_UNREADABLE, opened->reason);
    return opened->has_symbols == 0 || module->has_head;
}

/* Asks the helper to open the module. One that has a state other than READY keeps it unless the
 * helper finds a debug file. */
static bool ask_to_open(struct tool_symbols *symbols, struct tool_symbols_module *module,
                        struct tool_wire_opened *opened)
{
    size_t path_bytes = strlen(module->file);
    struct tool_wire_request request = {.what = TOOL_WIRE_OPEN,
                                        .module = module->number,
                                        .count = module->build_id_bytes,
                                        .size_bytes = (uint32_t)path_bytes};
    uint64_t deadline_ms = deadline_of(symbols);
    memset(opened, 0, sizeof(*opened));
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!ensure_helper(symbols, module))
            return false;
        if (send_request(symbols, &request, deadline_ms))
            break;
        tool_child_end(&symbols->helper, true);
    }
    if (symbols->helper.pid == 0 ||
        !tool_child_send(symbols->helper.fd, module->build_id, request.count, deadline_ms) ||
        !tool_child_send(symbols->helper.fd, module->file, path_bytes, deadline_ms) ||
        !receive(symbols, opened, sizeof(*opened), deadline_ms)) {
        give_up(symbols, module, errno);
        return false;
    }
    if (!take_opened(module, opened)) {
        give_up(symbols, module, EPROTO);
        return false;
    }
    module->generation = symbols->generation;
    return module->state == TOOL_SYMBOLS_READY;
}

static bool open_in_helper(struct tool_symbols *symbols, struct tool_symbols_module *module)
{
    struct tool_wire_opened opened;
    return ask_to_open(symbols, module, &opened);
}

static void open_whole(struct tool_symbols *symbols, struct tool_symbols_module *module)
{
    struct tool_wire_opened opened;
    do
        (void)ask_to_open(symbols, module, &opened);
    while (symbols->options.debuginfod && tool_symbols_fetch_more(symbols, module, &opened));
}

/* Ids as people compare them; 20 bytes tell enough. */
static void put_id(char *out, size_t room, const void *id, size_t size_bytes)
{
    const uint8_t *bytes = id;
    size_bytes = size_bytes < 20 ? size_bytes : 20;
    for (size_t i = 0; i < size_bytes && 2 * i + 3 <= room; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void refuse_build(struct tool_symbols_module *module, const struct tool_elf_head *head)
{
    char has[44] = "", wanted[44] = "";
    put_id(has, sizeof(has), head->build_id, head->build_id_bytes);
    put_id(wanted, sizeof(wanted), module->build_id, module->build_id_bytes);
    module->state = TOOL_SYMBOLS_MISMATCH;
    (void)snprintf(module->reason, sizeof(module->reason), "its build id is %s instead of %s",
                   has[0] != '\0' ? has : "missing", wanted);
}

static bool ends_with_deleted(const struct tool_symbols_module *module)
{
    static const char ending[] = " (deleted)"; /* what the kernel adds to a removed file's name */
    size_t length = sizeof(ending) - 1;
    return module->path_bytes > length &&
           strcmp(module->path + module->path_bytes - length, ending) == 0;
}

/* Reads the head of the module's file and compares build ids. */
static void look_at_file(const struct tool_symbols *symbols, struct tool_symbols_module *module)
{
    struct tool_elf_head head;
    if (strlen(module->path) != module->path_bytes || module->path_bytes == 0 ||
        module->path_bytes >= TOOL_WIRE_PATH_MAX) {
        module->file[0] = '\0';
        set_reason(module, TOOL_SYMBOLS_MISSING, "its path names no file");
        return;
    }
    const char *reason = tool_elf_head_of(symbols->options.root, module->file, &head);
    if (reason != NULL && module->build_id_bytes > 0 && ends_with_deleted(module)) {
        *strrchr(module->file, ' ') = '\0'; /* a file of that name may be the same again */
        reason = tool_elf_head_of(symbols->options.root, module->file, &head);
    }
    if (reason != NULL) {
        bool missing = strcmp(reason, "no such file") == 0;
        set_reason(module, missing ? TOOL_SYMBOLS_MISSING : TOOL_SYMBOLS_UNREADABLE, reason);
        return;
    }
    if (module->build_id_bytes > 0 &&
        (head.build_id_bytes != module->build_id_bytes ||
         memcmp(head.build_id, module->build_id, module->build_id_bytes) != 0)) {
        refuse_build(module, &head);
        return;
    }
    module->has_head = true;
    module->head = head;
    set_reason(module, TOOL_SYMBOLS_READY, "");
}

static bool is_same(const struct tool_symbols_module *module, ttape_string path,
                    ttape_string build_id)
{
    return module->path_bytes == path.size_bytes && module->build_id_bytes == build_id.size_bytes &&
           (path.size_bytes == 0 || memcmp(module->path, path.data, path.size_bytes) == 0) &&
           (build_id.size_bytes == 0 ||
            memcmp(module->build_id, build_id.data, build_id.size_bytes) == 0);
}

/* What stands for all modules for which there is no memory. */
static struct tool_symbols_module *no_module(struct tool_symbols *symbols)
{
    symbols->none.path = symbols->none.file = symbols->none.build_id = symbols->none.debug_path;
    set_reason(&symbols->none, TOOL_SYMBOLS_FAILED, "memory is short");
    return &symbols->none;
}

static struct tool_symbols_module *add_module(struct tool_symbols *symbols, ttape_string path,
                                              ttape_string build_id)
{
    struct ttp_region *region = &symbols->region;
    struct tool_symbols_module *module = ttp_region_take(region, 1, sizeof *module);
    if (module == NULL || !ttp_region_grow(region, &symbols->modules, &symbols->capacity,
                                           symbols->count + 1, sizeof *symbols->modules))
        return NULL;
    module->path = ttp_region_copy(region, path.data, path.size_bytes);
    module->file = ttp_region_copy(region, path.data, path.size_bytes);
    module->path_bytes = path.size_bytes;
    module->build_id = ttp_region_copy(region, build_id.data, build_id.size_bytes);
    module->build_id_bytes = (uint32_t)build_id.size_bytes;
    module->number = (uint32_t)symbols->count;
    if (region->is_short)
        return NULL;
    return symbols->modules[symbols->count++] = module;
}

struct tool_symbols_module *tool_symbols_module_open(struct tool_symbols *symbols,
                                                     ttape_string path, ttape_string build_id)
{
    struct ttp_hash hash = ttp_key_map_hash(&symbols->by_name);
    ttp_hash_bytes(&hash, path.data, path.size_bytes);
    ttp_hash_bytes(&hash, build_id.data, build_id.size_bytes);
    uint32_t *number;
    for (;; ttp_hash_word(&hash, 0)) { /* as long as others have the same */
        number =
            ttp_region_at(&symbols->region, &symbols->by_name, hash.low ^ hash.high, TTAPE_NONE);
        if (*number == TTAPE_NONE)
            break;
        if (is_same(symbols->modules[*number], path, build_id))
            return symbols->modules[*number];
    }
    struct tool_symbols_module *module = add_module(symbols, path, build_id);
    if (module == NULL)
        return no_module(symbols);
    *number = module->number;
    if (build_id.size_bytes > TOOL_BUILD_ID_BYTES_MAX) {
        set_reason(module, TOOL_SYMBOLS_MISMATCH, "no file has a build id as long as its");
        return module;
    }
    look_at_file(symbols, module);
    if (module->state == TOOL_SYMBOLS_READY || module->build_id_bytes > 0)
        open_whole(symbols, module); /* a debug file can stand in for the file */
    return module;
}

void tool_symbols_module_release(struct tool_symbols *symbols, struct tool_symbols_module *module)
{
    struct tool_wire_request request = {.what = TOOL_WIRE_RELEASE, .module = module->number};
    if (symbols->helper.pid != 0 && module->generation == symbols->generation &&
        !send_request(symbols, &request, deadline_of(symbols)))
        tool_child_end(&symbols->helper, true);
    module->generation = 0;
}

/* The two texts of an answer; false with errno where they did not come or make no sense. */
static bool take_texts(struct tool_symbols *symbols, uint32_t name_bytes, uint32_t file_bytes,
                       uint64_t deadline_ms)
{
    bool fits = name_bytes <= TOOL_WIRE_NAME_MAX && file_bytes <= TOOL_WIRE_FILE_MAX;
    errno = fits ? errno : EPROTO;
    return fits && receive(symbols, symbols->name, name_bytes, deadline_ms) &&
           receive(symbols, symbols->file, file_bytes, deadline_ms);
}

/* One answer; false with errno where it did not come or makes no sense. */
static bool take_answer(struct tool_symbols *symbols, uint64_t deadline_ms,
                        struct tool_symbol *found)
{
    struct tool_wire_found wire;
    if (!receive(symbols, &wire, sizeof(wire), deadline_ms))
        return false;
    *found = (struct tool_symbol){.name = {symbols->name, wire.name_bytes},
                                  .file = {symbols->file, wire.file_bytes},
                                  .line = wire.line,
                                  .last_line = wire.last_line,
                                  .begins = wire.begins != 0,
                                  .is_optimized = wire.is_optimized != 0,
                                  .is_data = wire.is_data != 0,
                                  .start = wire.start,
                                  .size_bytes = wire.size_bytes};
    return take_texts(symbols, wire.name_bytes, wire.file_bytes, deadline_ms);
}

/* Sends a batch to a helper that has the module open. */
static bool send_batch(struct tool_symbols *symbols, struct tool_symbols_module *module,
                       const struct tool_symbols_query *queries, size_t count, uint64_t deadline_ms)
{
    struct tool_wire_query wire[TOOL_WIRE_BATCH];
    struct tool_wire_request request = {.what = TOOL_WIRE_FIND,
                                        .module = module->number,
                                        .count = (uint32_t)count,
                                        .size_bytes = (uint32_t)(count * sizeof(wire[0]))};
    for (size_t i = 0; i < count; i++)
        wire[i] = (struct tool_wire_query){.elf_address = queries[i].elf_address,
                                           .entry = queries[i].entry,
                                           .section = queries[i].section,
                                           .data = queries[i].data};
    bool open = symbols->helper.pid != 0 && module->generation == symbols->generation;
    if (open && !send_request(symbols, &request, deadline_ms)) { /* it died in the meantime */
        tool_child_end(&symbols->helper, true);
        open = false;
    } else if (open) {
        return tool_child_send(symbols->helper.fd, wire, request.size_bytes, deadline_ms);
    }
    return open_in_helper(symbols, module) &&
           tool_child_send(symbols->helper.fd, &request, sizeof(request), deadline_ms) &&
           tool_child_send(symbols->helper.fd, wire, request.size_bytes, deadline_ms);
}

size_t tool_symbols_find_all(struct tool_symbols *symbols, struct tool_symbols_module *module,
                             const struct tool_symbols_query *queries, size_t count,
                             tool_symbols_take take, void *context)
{
    size_t done = 0;
    while (done < count && module->state == TOOL_SYMBOLS_READY) {
        size_t batch = count - done < TOOL_WIRE_BATCH ? count - done : TOOL_WIRE_BATCH;
        uint64_t deadline_ms = deadline_of(symbols);
        struct tool_symbol found;
        bool fine = send_batch(symbols, module, queries + done, batch, deadline_ms);
        for (size_t i = 0; i < batch && fine; i++) {
            fine = take_answer(symbols, deadline_ms, &found);
            if (fine)
                take(context, done++, &found);
        }
        if (!fine && module->state == TOOL_SYMBOLS_READY)
            give_up(symbols, module, errno);
    }
    return done;
}

static void keep_answer(void *context, size_t number, const struct tool_symbol *found)
{
    (void)number;
    *(struct tool_symbol *)context = *found;
}

bool tool_symbols_find(struct tool_symbols *symbols, struct tool_symbols_module *module,
                       const struct tool_symbols_query *query, struct tool_symbol *found)
{
    *found = (struct tool_symbol){.name = {"", 0}, .file = {"", 0}};
    return tool_symbols_find_all(symbols, module, query, 1, keep_answer, found) == 1 &&
           (found->name.size_bytes > 0 || found->file.size_bytes > 0);
}

/* -- lists of a module: bounded, as its helper may never end one -- */

static bool can_list(struct tool_symbols *symbols, struct tool_symbols_module *module)
{
    bool open = symbols->helper.pid != 0 && module->generation == symbols->generation;
    return module->state == TOOL_SYMBOLS_READY && (open || open_in_helper(symbols, module));
}

static bool ask_for_list(struct tool_symbols *symbols, const struct tool_symbols_module *module,
                         uint32_t what, uint32_t size_bytes, uint64_t deadline_ms)
{
    const struct tool_wire_request request = {
        .what = what, .module = module->number, .size_bytes = size_bytes};
    return send_request(symbols, &request, deadline_ms);
}

/* fine: all that was asked for came; is_whole: to its end */
static bool end_list(struct tool_symbols *symbols, struct tool_symbols_module *module, bool fine,
                     bool is_whole)
{
    if (!fine || !is_whole)
        give_up(symbols, module, fine ? EPROTO : errno);
    return fine && is_whole;
}

bool tool_symbols_variable(struct tool_symbols *symbols, struct tool_symbols_module *module,
                           ttape_string name, struct tool_symbol *found)
{
    uint64_t deadline_ms = deadline_of(symbols);
    if (name.size_bytes > TOOL_WIRE_NAME_MAX || !can_list(symbols, module))
        return false;
    bool fine =
        ask_for_list(symbols, module, TOOL_WIRE_VARIABLE, (uint32_t)name.size_bytes, deadline_ms) &&
        tool_child_send(symbols->helper.fd, name.data, name.size_bytes, deadline_ms) &&
        take_answer(symbols, deadline_ms, found);
    return end_list(symbols, module, fine, true) && found->size_bytes != 0;
}

/* One inlined function, or what is behind the last: an end of 0. False with errno where it did not
 * come. */
static bool take_inlined(struct tool_symbols *symbols, uint64_t deadline_ms,
                         struct tool_symbols_inlined *found)
{
    struct tool_wire_inlined wire;
    if (!receive(symbols, &wire, sizeof(wire), deadline_ms))
        return false;
    *found = (struct tool_symbols_inlined){.start = wire.start,
                                           .end = wire.end,
                                           .entry = wire.entry,
                                           .name = {symbols->name, wire.name_bytes},
                                           .file = {symbols->file, wire.file_bytes},
                                           .line = wire.line};
    return take_texts(symbols, wire.name_bytes, wire.file_bytes, deadline_ms);
}

static bool take_copies(struct tool_symbols *symbols, struct tool_symbols_module *module, bool fine,
                        uint64_t deadline_ms, tool_symbols_take_inlined take, void *context)
{
    uint64_t count = 0, size_bytes = 0;
    struct tool_symbols_inlined found = {.end = 1};
    while (fine && found.end != 0 && count++ < LIST_MAX && size_bytes < LIST_BYTES_MAX) {
        fine = take_inlined(symbols, deadline_ms, &found);
        size_bytes += found.name.size_bytes + found.file.size_bytes;
        if (fine && found.end != 0)
            take(context, &found);
    }
    return end_list(symbols, module, fine, found.end == 0);
}

static bool list_copies(struct tool_symbols *symbols, struct tool_symbols_module *module,
                        uint32_t what, tool_symbols_take_inlined take, void *context)
{
    uint64_t deadline_ms = deadline_of(symbols);
    return can_list(symbols, module) &&
           take_copies(symbols, module, ask_for_list(symbols, module, what, 0, deadline_ms),
                       deadline_ms, take, context);
}

bool tool_symbols_inlined_list(struct tool_symbols *symbols, struct tool_symbols_module *module,
                               tool_symbols_take_inlined take, void *context)
{
    return list_copies(symbols, module, TOOL_WIRE_INLINED, take, context);
}

bool tool_symbols_calls_list(struct tool_symbols *symbols, struct tool_symbols_module *module,
                             tool_symbols_take_inlined take, void *context)
{
    return list_copies(symbols, module, TOOL_WIRE_CALLS, take, context);
}

bool tool_symbols_inlined_between(struct tool_symbols *symbols, struct tool_symbols_module *module,
                                  const struct tool_symbols_between *between,
                                  tool_symbols_take_inlined take, void *context)
{
    const struct tool_wire_between wire = {between->caller, between->callee};
    const ttape_string name = between->name;
    uint64_t deadline_ms = deadline_of(symbols);
    if (name.size_bytes > TOOL_WIRE_NAME_MAX || !can_list(symbols, module))
        return false;
    bool fine =
        ask_for_list(symbols, module, TOOL_WIRE_BETWEEN, (uint32_t)name.size_bytes, deadline_ms) &&
        tool_child_send(symbols->helper.fd, &wire, sizeof wire, deadline_ms) &&
        tool_child_send(symbols->helper.fd, name.data, name.size_bytes, deadline_ms);
    return take_copies(symbols, module, fine, deadline_ms, take, context);
}

/* One function's values, or what is behind the last: none. False with errno where it did not come
 * or makes no sense. */
static bool take_values(struct tool_symbols *symbols, uint64_t deadline_ms,
                        struct tool_symbols_values *found)
{
    struct tool_wire_values wire;
    if (!receive(symbols, &wire, sizeof(wire), deadline_ms))
        return false;
    *found = (struct tool_symbols_values){.entry = wire.entry,
                                          .given = wire.given,
                                          .returned = wire.returned,
                                          .texts = {symbols->name, wire.text_bytes}};
    memcpy(found->places, wire.places, sizeof(found->places));
    errno = EPROTO;
    return wire.given <= TTP_VALUES_MAX && wire.returned <= TTP_VALUES_MAX &&
           ttp_value_places_check(wire.places, wire.given) &&
           ttp_value_places_check(wire.places + wire.given, wire.returned) &&
           take_texts(symbols, wire.text_bytes, 0, deadline_ms);
}

bool tool_symbols_values_list(struct tool_symbols *symbols, struct tool_symbols_module *module,
                              tool_symbols_take_values take, void *context)
{
    struct tool_symbols_values found = {.given = 1};
    uint64_t deadline_ms = deadline_of(symbols), count = 0, size_bytes = 0;
    if (!can_list(symbols, module))
        return false;
    bool fine = ask_for_list(symbols, module, TOOL_WIRE_VALUES, 0, deadline_ms);
    while (fine && found.given + found.returned != 0 && count++ < LIST_MAX &&
           size_bytes < LIST_BYTES_MAX) {
        fine = take_values(symbols, deadline_ms, &found);
        size_bytes += found.texts.size_bytes;
        if (fine && found.given + found.returned != 0)
            take(context, &found);
    }
    return end_list(symbols, module, fine, found.given + found.returned == 0);
}
