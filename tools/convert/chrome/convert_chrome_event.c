/* The converter for Chrome trace JSON: an object becomes a record of what begins, ends or happens
 * at a time, or, of phase X, a call with its length.
 *
 * This is the door to jansson. What it refuses is mended (json_mend.c) where it can be: a value
 * may be lost, a call is not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tools/convert/chrome/convert_chrome.h"

#define NAME_BYTES_MAX  1048575u               /* readers may refuse longer names */
#define NAMES_BYTES_MAX (512u * 1024u * 1024u) /* of all names together */
#define SITES_MAX       (1u << 23)
#define NUMBER_FIRST    (UINT32_C(1) << 30) /* for pids and tids that are texts */

static const ttape_string other_name = {"(too many names)", 16}, no_name = {"(no name)", 9};

/* ---- times ---- */

/* The time under a key: from the text where the scan saw it, otherwise as the library has it. */
static bool get_time(const struct tool_json_object *object, const struct tool_json_part *part,
                     const json_t *value, struct tool_chrome_time *time)
{
    if (part->size_bytes > 0)
        return tool_chrome_parse_time(object->text + part->start, part->size_bytes, time);
    double micros = json_number_value(value);
    if (!json_is_number(value) || !(micros >= -1e15) || micros > 1e16)
        return false;
    double ns = micros * 1000 + (micros < 0 ? -0.5 : 0.5);
    *time = (struct tool_chrome_time){TOOL_CHROME_BIAS + (uint64_t)(int64_t)ns, 0};
    return true;
}

static uint64_t rounded(const struct tool_chrome_time *time)
{
    return time->ns + (time->ps >= 500);
}

void tool_chrome_count_odd(struct tool_chrome *chrome, enum tool_chrome_oddity what, uint64_t count,
                           uint64_t offset)
{
    if (count > 0 && chrome->oddities[what] == 0)
        chrome->first_odd[what] = offset;
    chrome->oddities[what] += count;
}

/* ---- threads and sites ---- */

/* A pid or tid: a number, a text that is one, or another text, which gets a number. */
static uint64_t get_number(struct tool_chrome *chrome, const json_t *value, uint64_t missing,
                           bool *is_text)
{
    *is_text = false;
    if (json_is_integer(value))
        return (uint64_t)json_integer_value(value);
    if (json_is_real(value)) {
        double number = json_real_value(value);
        return number >= 0 && number < 1e18 ? (uint64_t)number : missing;
    }
    if (!json_is_string(value))
        return missing;
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    uint64_t number = 0;
    bool is_new, is_number = size > 0 && strspn(text, "0123456789") == size;
    for (size_t i = 0; is_number && i < size; i++) {
        is_number = !__builtin_mul_overflow(number, 10u, &number) &&
                    !__builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number);
    }
    if (is_number)
        return number;
    uint32_t *known = tool_names_find(&chrome->number_of, text, size < 4096 ? size : 4096, &is_new);
    if (is_new)
        *known = NUMBER_FIRST + chrome->next_number++;
    *is_text = true;
    return *known;
}

static uint32_t process_of(struct tool_chrome *chrome, const json_t *object, uint64_t *pid)
{
    bool is_new, is_text;
    *pid = get_number(chrome, json_object_get(object, "pid"), 0, &is_text);
    const uint64_t key[] = {*pid, is_text};
    uint32_t *known = tool_names_find(&chrome->process_of, key, sizeof(key), &is_new);
    if (is_new) {
        *known = (uint32_t)chrome->process_count;
        tool_grow((void **)&chrome->processes, &chrome->process_capacity, chrome->process_count + 1,
                  sizeof(struct tool_chrome_process));
        chrome->processes[chrome->process_count++] = (struct tool_chrome_process){.pid = *pid};
    }
    return *known;
}

/* The thread of an event; without a tid it is the process's one. */
static uint32_t thread_of(struct tool_chrome *chrome, const json_t *object)
{
    const json_t *tid_text = json_object_get(object, "tid");
    uint64_t pid;
    bool is_new, is_text;
    uint32_t process = process_of(chrome, object, &pid);
    uint64_t tid = get_number(chrome, tid_text, pid, &is_text);
    const uint64_t key[] = {process, tid, is_text};
    uint32_t *known = tool_names_find(&chrome->thread_of, key, sizeof(key), &is_new);
    if (!is_new)
        return *known;
    *known = (uint32_t)chrome->thread_count;
    uint32_t index = *known;
    struct tool_chrome_thread thread = {.tid = tid, .process = process};
    if (json_is_string(tid_text)) {
        thread.name_bytes = json_string_length(tid_text);
        thread.name = tool_copy_text(json_string_value(tid_text), thread.name_bytes);
    }
    tool_grow((void **)&chrome->threads, &chrome->thread_capacity, chrome->thread_count + 1,
              sizeof(thread));
    chrome->threads[chrome->thread_count++] = thread;
    return index;
}

static ttape_status site_by_name(struct tool_chrome *chrome, ttape_string symbol, uint32_t kind,
                                 uint32_t *site)
{
    bool is_new;
    if (symbol.size_bytes > NAME_BYTES_MAX)
        symbol.size_bytes = NAME_BYTES_MAX;
    if (chrome->name_bytes > NAMES_BYTES_MAX || chrome->site_of.table.count >= SITES_MAX)
        symbol = other_name;
    tool_grow((void **)&chrome->key, &chrome->key_capacity, symbol.size_bytes + 1, 1);
    chrome->key[0] = (char)kind;
    memcpy(chrome->key + 1, symbol.data, symbol.size_bytes);
    uint32_t *known =
        tool_names_find(&chrome->site_of, chrome->key, symbol.size_bytes + 1, &is_new);
    if (is_new) {
        const ttape_site added = {.module = TTAPE_NONE, .kind = kind, .symbol = symbol};
        ttape_status status =
            ttape_writer_add_site(chrome->conversion->writer, &added, known, &chrome->err);
        if (status != TTAPE_OK)
            return status;
        chrome->name_bytes += symbol.size_bytes;
    }
    *site = *known;
    return TTAPE_OK;
}

/* A name that is a number or a list is its text; an end without a name has no site. */
static ttape_status site_of(struct tool_chrome *chrome, const json_t *name, char phase,
                            uint32_t *site)
{
    uint32_t kind = phase == 'i' ? TTAPE_SITE_MARKER : TTAPE_SITE_FUNCTION;
    if (json_is_string(name) && json_string_length(name) > 0) {
        ttape_string text = {json_string_value(name), json_string_length(name)};
        return site_by_name(chrome, text, kind, site);
    }
    *site = TTAPE_NONE;
    if (name == NULL || json_is_null(name) || json_is_string(name))
        return phase == 'E' ? TTAPE_OK : site_by_name(chrome, no_name, kind, site);
    char *text = json_dumps(name, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    ttape_string symbol = {text, text != NULL ? strlen(text) : 0};
    ttape_status status = site_by_name(chrome, text != NULL ? symbol : no_name, kind, site);
    free(text);
    return status;
}

/* ---- values ---- */

static bool put_value(struct tool_chrome *chrome, uint32_t type, uint64_t number, const char *text,
                      size_t size_bytes)
{
    uint32_t size =
        size_bytes < TTAPE_VALUE_MAX_BYTES ? (uint32_t)size_bytes : TTAPE_VALUE_MAX_BYTES;
    return tool_scratch_write(&chrome->values, &type, sizeof(type)) &&
           tool_scratch_write(&chrome->values, &number, sizeof(number)) &&
           tool_scratch_write(&chrome->values, &size, sizeof(size)) &&
           tool_scratch_write(&chrome->values, text, size);
}

static bool put_json(struct tool_chrome *chrome, const json_t *value)
{
    double real = json_real_value(value);
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    switch (json_typeof(value)) {
    case JSON_STRING:
        return put_value(chrome, TTAPE_VALUE_STRING, 0, json_string_value(value),
                         json_string_length(value));
    case JSON_INTEGER:
        return put_value(chrome,
                         json_integer_value(value) < 0 ? TTAPE_VALUE_SIGNED : TTAPE_VALUE_UNSIGNED,
                         (uint64_t)json_integer_value(value), "", 0);
    case JSON_REAL: return put_value(chrome, TTAPE_VALUE_FLOAT, bits, "", 0);
    case JSON_TRUE:
    case JSON_FALSE: return put_value(chrome, TTAPE_VALUE_UNSIGNED, json_is_true(value), "", 0);
    case JSON_NULL: return put_value(chrome, TTAPE_VALUE_NULL, 0, "", 0);
    default: {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        bool is_put = put_value(chrome, TTAPE_VALUE_STRING, 0, text != NULL ? text : "",
                                text != NULL ? strlen(text) : 0);
        free(text);
        return is_put;
    }
    }
}

/* Keeps the members of "args" for later; their names have no place in a trace. */
static bool keep_values(struct tool_chrome *chrome, json_t *args, uint64_t *offset)
{
    const char *key;
    json_t *value;
    uint32_t count = 0;
    size_t size = json_object_size(args);
    *offset = 0;
    if (size == 0)
        return true;
    if (chrome->values.fd < 0 && !tool_scratch_open(&chrome->values))
        return false;
    *offset = chrome->values.size_bytes + 1;
    uint32_t kept = size < TTAPE_EVENT_MAX_VALUES ? (uint32_t)size : TTAPE_EVENT_MAX_VALUES;
    bool is_put = tool_scratch_write(&chrome->values, &kept, sizeof(kept));
    json_object_foreach(args, key, value)
    {
        is_put = is_put && (count++ >= kept || put_json(chrome, value));
    }
    return is_put;
}

/* ---- objects ---- */

static bool refuse_event(struct tool_chrome *chrome, const struct tool_json_object *object,
                         const char *why)
{
    tool_conversion_warn(chrome->conversion, "event at byte %" PRIu64 " skipped: %s",
                         object->offset, why);
    return true;
}

/* process_name and thread_name. */
static void take_metadata(struct tool_chrome *chrome, const json_t *root)
{
    const char *what = json_string_value(json_object_get(root, "name"));
    const json_t *name = json_object_get(json_object_get(root, "args"), "name");
    if (what == NULL || !json_is_string(name))
        return;
    bool is_process = strcmp(what, "process_name") == 0;
    if (!is_process && strcmp(what, "thread_name") != 0)
        return;
    size_t size = json_string_length(name);
    size = size < NAME_BYTES_MAX ? size : NAME_BYTES_MAX;
    char *copy = tool_copy_text(json_string_value(name), size);
    if (is_process) {
        uint64_t pid;
        uint32_t index = process_of(chrome, root, &pid); /* which may move them */
        struct tool_chrome_process *process = &chrome->processes[index];
        free(process->name);
        process->name = copy;
        process->name_bytes = size;
    } else {
        uint32_t index = thread_of(chrome, root);
        struct tool_chrome_thread *thread = &chrome->threads[index];
        free(thread->name);
        thread->name = copy;
        thread->name_bytes = size;
    }
}

/* Writers of each X at its end have the inner one of twins first. */
static void follow_x(struct tool_chrome_thread *thread, uint64_t begin, uint64_t end)
{
    if (end == TOOL_CHROME_OPEN)
        return;
    thread->last_end = end > thread->last_end ? end : thread->last_end;
    thread->is_by_end = thread->is_by_end || (begin < thread->x_begin && end >= thread->x_end);
    thread->x_begin = begin;
    thread->x_end = end;
}

static bool take_x(struct tool_chrome *chrome, const struct tool_json_object *object,
                   const json_t *root, const struct tool_chrome_time *time,
                   struct tool_chrome_record *record)
{
    struct tool_chrome_time length;
    struct tool_chrome_item item = {.begin = record->time,
                                    .end = TOOL_CHROME_OPEN,
                                    .sequence = record->sequence,
                                    .values = record->values,
                                    .thread = record->thread,
                                    .site = record->site,
                                    .kind = TOOL_CHROME_X};
    const json_t *dur = json_object_get(root, "dur");
    bool is_length = dur != NULL && get_time(object, &object->dur, dur, &length) &&
                     length.ns >= TOOL_CHROME_BIAS;
    if (is_length) {
        uint64_t part = (time->ps + length.ps + 500) / 1000;
        is_length =
            !__builtin_add_overflow(time->ns, length.ns - TOOL_CHROME_BIAS + part, &item.end) &&
            item.end != TOOL_CHROME_OPEN;
        item.end = is_length ? item.end : TOOL_CHROME_OPEN;
    }
    if (!is_length && dur != NULL)
        tool_chrome_count_odd(chrome, TOOL_CHROME_ODD_LENGTH, 1, object->offset);
    follow_x(&chrome->threads[record->thread], item.begin, item.end);
    if (item.end > item.begin)
        return tool_sorter_add(chrome->items, &item);
    record->phase = 'z';
    return tool_sorter_add(chrome->records, record);
}

/* When an event was; in the place of a time that is none the last one of its thread, of an E behind
 * all that may be inside its call. False: there is none. */
static bool find_time(struct tool_chrome *chrome, const struct tool_json_object *object,
                      const json_t *root, const struct tool_chrome_record *record,
                      struct tool_chrome_time *time)
{
    const json_t *ts = json_object_get(root, "ts");
    struct tool_chrome_thread *thread = &chrome->threads[record->thread];
    uint64_t sum;
    if (ts != NULL && get_time(object, &object->ts, ts, time) &&
        (time->ns < TOOL_CHROME_BIAS ||
         !__builtin_add_overflow(time->ns - TOOL_CHROME_BIAS + 1, chrome->origin_ns, &sum))) {
        thread->last = rounded(time);
    } else if (ts == NULL || thread->last == 0) {
        return false;
    } else {
        bool is_end = record->phase == 'E' && thread->last_end > thread->last;
        *time = (struct tool_chrome_time){is_end ? thread->last_end : thread->last, 0};
        tool_chrome_count_odd(chrome, TOOL_CHROME_ODD_TIME, 1, object->offset);
    }
    if (thread->last < chrome->least)
        chrome->least = thread->last;
    return true;
}

static bool take_event(struct tool_chrome *chrome, const struct tool_json_object *object,
                       json_t *root, char phase)
{
    struct tool_chrome_record record = {.phase = (unsigned char)phase,
                                        .thread = thread_of(chrome, root)};
    struct tool_chrome_time time;
    if (!find_time(chrome, object, root, &record, &time))
        return refuse_event(chrome, object, "it has no time 'ts' that could be used");
    record.time = rounded(&time);
    if (site_of(chrome, json_object_get(root, "name"), phase, &record.site) != TTAPE_OK) {
        (void)tool_conversion_fail(chrome->conversion, &chrome->err);
        return false;
    }
    record.sequence = chrome->event_count++;
    if (!keep_values(chrome, json_object_get(root, "args"), &record.values))
        return false;
    return phase == 'X' ? take_x(chrome, object, root, &time, &record)
                        : tool_sorter_add(chrome->records, &record);
}

static bool take_root(struct tool_chrome *chrome, const struct tool_json_object *object,
                      json_t *root)
{
    const json_t *phase = json_object_get(root, "ph");
    const char *text = json_string_value(phase);
    if (text == NULL || json_string_length(phase) != 1)
        return refuse_event(chrome, object, "its phase 'ph' is missing or no letter");
    switch (*text) {
    case 'B':
    case 'E':
    case 'X': return take_event(chrome, object, root, *text);
    case 'i':
    case 'I':
    case 'R': return take_event(chrome, object, root, 'i');
    case 'M': take_metadata(chrome, root); return true;
    default: chrome->left_out[(unsigned char)*text % TOOL_CHROME_PHASES]++; return true;
    }
}

/* Reads an object's text; of a key that comes twice the last counts, as for viewers. */
static json_t *load_object(struct tool_chrome *chrome, const char *text, size_t size_bytes,
                           uint64_t offset, json_error_t *error)
{
    json_t *root = json_loadb(text, size_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, error);
    if (root == NULL && json_error_code(error) == json_error_duplicate_key) {
        root = json_loadb(text, size_bytes, JSON_ALLOW_NUL, error);
        tool_chrome_count_odd(chrome, TOOL_CHROME_ODD_KEY, root != NULL, offset);
    }
    return root;
}

static json_t *mend(struct tool_chrome *chrome, const struct tool_json_object *object,
                    json_error_t *error)
{
    uint64_t counts[TOOL_CHROME_ODDITIES] = {0};
    size_t size = tool_json_mend(object->text, object->size_bytes, &chrome->mended,
                                 &chrome->mended_capacity, counts);
    json_t *root = load_object(chrome, chrome->mended, size, object->offset, error);
    for (int i = 0; root != NULL && i < TOOL_CHROME_ODDITIES; i++)
        tool_chrome_count_odd(chrome, (enum tool_chrome_oddity)i, counts[i], object->offset);
    return root;
}

bool tool_chrome_take_object(struct tool_chrome *chrome, const struct tool_json_object *object)
{
    json_error_t error;
    if (object->is_too_long)
        return refuse_event(chrome, object, "it is longer than 16 MiB");
    if (!object->is_complete)
        return refuse_event(chrome, object, "the file ends in it");
    json_t *root = load_object(chrome, object->text, object->size_bytes, object->offset, &error);
    if (root == NULL)
        root = mend(chrome, object, &error);
    if (root == NULL)
        return refuse_event(chrome, object, error.text);
    tool_chrome_count_odd(chrome, TOOL_CHROME_ODD_SIZE, object->has_dropped, object->offset);
    bool is_taken = take_root(chrome, object, root);
    json_decref(root);
    return is_taken;
}

void tool_chrome_take_origin(struct tool_chrome *chrome, const struct tool_json_object *object)
{
    if (!object->is_complete || object->is_too_long)
        return;
    json_t *root = json_loadb(object->text, object->size_bytes, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "time_origin_ns"));
    uint64_t origin_ns = 0;
    for (; text != NULL && *text >= '0' && *text <= '9' && origin_ns < UINT64_MAX / 20; text++)
        origin_ns = origin_ns * 10 + (uint64_t)(*text - '0');
    chrome->origin_ns = text != NULL && *text == '\0' ? origin_ns : 0;
    json_decref(root);
}

/* Without memory jansson says that the text is wrong: an event would be left out as invalid. */
static void *allocate(size_t size_bytes)
{
    void *memory = malloc(size_bytes);
    if (memory == NULL && size_bytes > 0)
        tool_out_of_memory();
    return memory;
}

void tool_chrome_use_memory(void) { json_set_alloc_funcs(allocate, free); }
