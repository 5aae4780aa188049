/* The converter for Chrome trace JSON, first half: objects of the file become records.
 *
 *   [ {"ph":"B",...}, ... ]   or   {"traceEvents":[ ... ], ...};  the end may be missing
 *
 * Events come in any order: an X (a call with its length) is written when it ends, behind all that
 * it called. So records are sorted, on disk where they are many; the second half is
 * convert_chrome_feed.c. This is the door to jansson, which reads one object at a time; times are
 * taken from the text, because a floating point number has not enough digits for nanoseconds. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "tools/command/progress.h"
#include "tools/convert/chrome/convert_chrome.h"
#include "tools/convert/chrome/json_stream.h"

#define SORT_RECORDS     (1u << 20) /* in memory: 56 MiB */
#define PROGRESS_OBJECTS 4096u
#define NAME_BYTES_MAX   1048575u               /* readers may refuse longer names */
#define NAMES_BYTES_MAX  (512u * 1024u * 1024u) /* of all names together */
#define SITES_MAX        (1u << 23)
#define NUMBER_FIRST     (UINT32_C(1) << 30) /* for pids and tids that are texts */

static const ttape_string other_name = {"(too many names)", 16};

/* ---- times ---- */

/* The time under a key: from the text where the scan saw it, otherwise as the library has it. */
static bool get_time(const struct tool_json_object *object, const struct tool_json_part *part,
                     const json_t *value, uint64_t *time_ns)
{
    if (part->size_bytes > 0)
        return tool_chrome_parse_time(object->text + part->start, part->size_bytes, time_ns);
    double micros = json_number_value(value);
    if (!json_is_number(value) || !(micros >= 0) || micros > 1e16)
        return false;
    *time_ns = (uint64_t)(micros * 1000 + 0.5);
    return true;
}

/* ---- threads and sites ---- */

/* A pid or tid: a number, a text that is one, or another text, which gets a number. */
static uint64_t get_number(struct tool_chrome *chrome, const json_t *value, uint64_t missing)
{
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
    bool is_new;
    if (size > 0 && size < 20 && strspn(text, "0123456789") == size) {
        for (size_t i = 0; i < size; i++)
            number = number * 10 + (uint64_t)(text[i] - '0');
        return number;
    }
    uint32_t *known = tool_names_find(&chrome->number_of, text, size < 4096 ? size : 4096, &is_new);
    if (is_new)
        *known = NUMBER_FIRST + chrome->next_number++;
    return *known;
}

static uint32_t process_of(struct tool_chrome *chrome, uint64_t pid)
{
    bool is_new;
    uint32_t *known = tool_names_find(&chrome->process_of, &pid, sizeof(pid), &is_new);
    if (is_new) {
        *known = (uint32_t)chrome->process_count;
        tool_grow((void **)&chrome->processes, &chrome->process_capacity, chrome->process_count + 1,
                  sizeof(struct tool_chrome_process));
        chrome->processes[chrome->process_count++] = (struct tool_chrome_process){.pid = pid};
    }
    return *known;
}

/* The thread of an event; without a tid it is the process's one. */
static uint32_t thread_of(struct tool_chrome *chrome, const json_t *object)
{
    const json_t *tid_text = json_object_get(object, "tid");
    uint64_t pid = get_number(chrome, json_object_get(object, "pid"), 0);
    uint64_t tid = get_number(chrome, tid_text, pid);
    const uint64_t key[] = {pid, tid};
    bool is_new;
    uint32_t *known = tool_names_find(&chrome->thread_of, key, sizeof(key), &is_new);
    if (!is_new)
        return *known;
    *known = (uint32_t)chrome->thread_count;
    uint32_t index = *known;
    struct tool_chrome_thread thread = {.tid = tid, .process = process_of(chrome, pid)};
    if (json_is_string(tid_text)) {
        thread.name_bytes = json_string_length(tid_text);
        thread.name = tool_copy_text(json_string_value(tid_text), thread.name_bytes);
    }
    tool_grow((void **)&chrome->threads, &chrome->thread_capacity, chrome->thread_count + 1,
              sizeof(thread));
    chrome->threads[chrome->thread_count++] = thread;
    return index;
}

static ttape_status site_of(struct tool_chrome *chrome, const json_t *name, uint32_t kind,
                            uint32_t *site)
{
    ttape_string symbol = {"", 0};
    bool is_new;
    if (json_is_string(name))
        symbol = (ttape_string){json_string_value(name), json_string_length(name)};
    if (symbol.size_bytes > NAME_BYTES_MAX)
        symbol.size_bytes = NAME_BYTES_MAX;
    if (chrome->name_bytes > NAMES_BYTES_MAX || chrome->site_of.count >= SITES_MAX)
        symbol = other_name;
    char *key = tool_allocate(symbol.size_bytes + 1, 1);
    key[0] = (char)kind;
    memcpy(key + 1, symbol.data, symbol.size_bytes);
    uint32_t *known = tool_names_find(&chrome->site_of, key, symbol.size_bytes + 1, &is_new);
    free(key);
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

/* What an object came to. */
enum taken { TAKEN, REFUSED, FAILED };

static enum taken refuse(struct tool_chrome *chrome, const struct tool_json_object *object,
                         const char *why)
{
    tool_conversion_warn(chrome->conversion, "event at byte %" PRIu64 " skipped: %s",
                         object->offset, why);
    return REFUSED;
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
        uint64_t pid = get_number(chrome, json_object_get(root, "pid"), 0);
        uint32_t index = process_of(chrome, pid); /* which may move them */
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

static enum taken take_event(struct tool_chrome *chrome, const struct tool_json_object *object,
                             json_t *root, char phase)
{
    struct tool_chrome_record record = {.site = TTAPE_NONE, .phase = (unsigned char)phase};
    const json_t *name = json_object_get(root, "name");
    if (!get_time(object, &object->ts, json_object_get(root, "ts"), &record.time_ns) ||
        __builtin_add_overflow(record.time_ns, chrome->origin_ns, &record.time_ns))
        return refuse(chrome, object, "its time 'ts' is missing, below 0 or too large");
    if (phase == 'X' &&
        (!get_time(object, &object->dur, json_object_get(root, "dur"), &record.duration_ns) ||
         record.duration_ns > UINT64_MAX - record.time_ns))
        return refuse(chrome, object, "its length 'dur' is missing, below 0 or too large");
    uint32_t kind = phase == 'i' ? TTAPE_SITE_MARKER : TTAPE_SITE_FUNCTION;
    if ((phase != 'E' || json_is_string(name)) &&
        site_of(chrome, name, kind, &record.site) != TTAPE_OK) {
        (void)tool_conversion_fail(chrome->conversion, &chrome->err);
        return FAILED;
    }
    record.thread = thread_of(chrome, root);
    record.sequence = chrome->event_count++;
    return keep_values(chrome, json_object_get(root, "args"), &record.values) &&
                   tool_sorter_add(chrome->sorter, &record)
               ? TAKEN
               : FAILED;
}

static enum taken take_root(struct tool_chrome *chrome, const struct tool_json_object *object,
                            json_t *root)
{
    const json_t *phase = json_object_get(root, "ph");
    const char *text = json_string_value(phase);
    if (text == NULL || json_string_length(phase) != 1)
        return refuse(chrome, object, "its phase 'ph' is missing or no letter");
    switch (*text) {
    case 'B':
    case 'E':
    case 'X': return take_event(chrome, object, root, *text);
    case 'i':
    case 'I':
    case 'R': return take_event(chrome, object, root, 'i');
    case 'M': take_metadata(chrome, root); return TAKEN;
    default: chrome->left_out[(unsigned char)*text % TOOL_CHROME_PHASES]++; return REFUSED;
    }
}

static enum taken take_object(struct tool_chrome *chrome, const struct tool_json_object *object)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_error_t error;
    if (object->is_too_long)
        return refuse(chrome, object, "it is longer than 16 MiB");
    if (!object->is_complete)
        return refuse(chrome, object, "the file ends in it");
    json_t *root = json_loadb(object->text, object->size_bytes, flags, &error);
    if (root == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        root =
            json_loadb(object->text, object->size_bytes, flags | JSON_DECODE_INT_AS_REAL, &error);
    }
    if (root == NULL)
        return refuse(chrome, object, error.text);
    enum taken result = take_root(chrome, object, root);
    json_decref(root);
    return result;
}

/* ---- the file ---- */

/* The elements of the array whose bracket was taken. False: failed, reported. */
static bool take_elements(struct tool_chrome *chrome, struct tool_json_stream *json,
                          uint64_t total_bytes)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct tool_json_object object;
    for (uint64_t count = 0;; count++) {
        int byte = tool_json_stream_peek(json);
        if (byte == '{') {
            tool_json_stream_object(json, &object);
            if (take_object(chrome, &object) == FAILED)
                return false;
        } else if (byte == ',') {
            tool_json_stream_skip(json);
        } else if (byte == ']' || byte < 0) {
            tool_json_stream_skip(json); /* an end that is missing is no loss: writers die */
            return true;
        } else {
            tool_conversion_warn(conversion, "byte %" PRIu64 " begins no event",
                                 tool_json_stream_offset(json));
            if (byte == '}' || byte == ':' || !tool_json_stream_pass(json))
                return true;
        }
        if (count % PROGRESS_OBJECTS == 0)
            tool_progress_update(tool_json_stream_offset(json), total_bytes, chrome->event_count);
    }
}

/* What our own exporter says about its times, where it stands before them. */
static void take_origin(struct tool_chrome *chrome, struct tool_json_stream *json)
{
    struct tool_json_object object;
    tool_json_stream_object(json, &object);
    if (!object.is_complete || object.is_too_long)
        return;
    json_t *root = json_loadb(object.text, object.size_bytes, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "time_origin_ns"));
    uint64_t origin_ns = 0;
    for (; text != NULL && *text >= '0' && *text <= '9' && origin_ns < UINT64_MAX / 20; text++)
        origin_ns = origin_ns * 10 + (uint64_t)(*text - '0');
    chrome->origin_ns = text != NULL && *text == '\0' ? origin_ns : 0;
    json_decref(root);
}

/* {"traceEvents":[...],...}: any other member is passed over. */
static bool take_members(struct tool_chrome *chrome, struct tool_json_stream *json,
                         uint64_t total_bytes)
{
    char key[32];
    bool goes_on = true, has_events = false;
    tool_json_stream_skip(json);
    while (goes_on) {
        int byte = tool_json_stream_peek(json);
        if (byte == ',') {
            tool_json_stream_skip(json);
            continue;
        }
        if (byte == '}') {
            tool_json_stream_skip(json);
            break;
        }
        if (byte != '"')
            break;
        bool fits = tool_json_stream_string(json, key, sizeof(key));
        if (tool_json_stream_peek(json) != ':')
            break;
        tool_json_stream_skip(json);
        byte = tool_json_stream_peek(json);
        if (fits && strcmp(key, "traceEvents") == 0 && byte == '[') {
            tool_json_stream_skip(json);
            has_events = true;
            if (!take_elements(chrome, json, total_bytes))
                return false;
        } else if (fits && strcmp(key, "otherData") == 0 && byte == '{' && !has_events) {
            take_origin(chrome, json);
        } else {
            goes_on = tool_json_stream_pass(json);
        }
    }
    if (!has_events)
        tool_fail("'%s' has no array 'traceEvents'", chrome->conversion->input);
    return has_events;
}

static int take_file(struct tool_chrome *chrome)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct tool_json_stream json;
    struct stat status;
    uint64_t total_bytes = fstat(conversion->fd, &status) == 0 && S_ISREG(status.st_mode)
                               ? (uint64_t)status.st_size
                               : 0;
    tool_json_stream_open(&json, conversion->fd, conversion->head, conversion->head_bytes);
    bool is_array = tool_json_stream_peek(&json) == '[';
    if (is_array)
        tool_json_stream_skip(&json);
    bool is_read = is_array ? take_elements(chrome, &json, total_bytes)
                            : take_members(chrome, &json, total_bytes);
    if (is_read && tool_json_stream_peek(&json) >= 0) {
        tool_conversion_warn(conversion, "left out from byte %" PRIu64 " on: the events have ended",
                             tool_json_stream_offset(&json));
    }
    int failed_errno = json.failed_errno;
    tool_json_stream_close(&json);
    if (failed_errno != 0)
        return tool_fail("cannot read '%s': %s", conversion->input, strerror(failed_errno));
    return is_read ? TOOL_OK : TOOL_CANNOT;
}

/* Events of phases that a trace has no place for: counters, flows, asynchronous ones, ... */
static void say_left_out(const struct tool_chrome *chrome)
{
    for (unsigned i = 0; i < TOOL_CHROME_PHASES; i++) {
        if (chrome->left_out[i] > 0) {
            tool_conversion_warn(chrome->conversion, "%" PRIu64 " events of phase '%c' left out",
                                 chrome->left_out[i], (char)i);
        }
    }
}

static int convert(struct tool_chrome *chrome)
{
    struct tool_conversion *conversion = chrome->conversion;
    struct tool_hash content = {0};
    tool_hash_bytes(&content, conversion->head, conversion->head_bytes);
    int status = tool_conversion_begin(conversion, &content);
    if (status == TOOL_OK &&
        ttape_writer_set_text(conversion->writer, "source", (ttape_string){"chrome", 6},
                              &chrome->err) != TTAPE_OK)
        status = tool_conversion_fail(conversion, &chrome->err);
    status = status == TOOL_OK ? take_file(chrome) : status;
    if (status == TOOL_OK) {
        say_left_out(chrome);
        status = tool_sorter_finish(chrome->sorter) ? tool_chrome_feed(chrome) : TOOL_CANNOT;
    }
    if (status == TOOL_OK && chrome->event_count == 0 && conversion->warning_count > 0)
        status = tool_fail("'%s' holds no event that could be used", conversion->input);
    return status == TOOL_OK && conversion->warning_count > 0 ? TOOL_LOSS : status;
}

static int compare_records(const void *a, const void *b)
{
    const struct tool_chrome_record *one = a, *two = b;
    if (one->time_ns != two->time_ns)
        return one->time_ns < two->time_ns ? -1 : 1;
    if (one->thread != two->thread)
        return one->thread < two->thread ? -1 : 1;
    return one->sequence < two->sequence ? -1 : one->sequence > two->sequence;
}

/* Without memory jansson says that the text is wrong: an event would be left out as invalid. */
static void *allocate(size_t size_bytes) { return tool_allocate(size_bytes, 1); }

static int run(struct tool_conversion *conversion)
{
    json_set_alloc_funcs(allocate, free);
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    struct tool_chrome chrome = {.conversion = conversion, .values = {.fd = -1}};
    chrome.sorter =
        tool_sorter_open(sizeof(struct tool_chrome_record), SORT_RECORDS, compare_records);
    int status = convert(&chrome);
    for (size_t i = 0; i < chrome.process_count; i++)
        free(chrome.processes[i].name);
    for (size_t i = 0; i < chrome.thread_count; i++)
        free(chrome.threads[i].name);
    tool_sorter_close(chrome.sorter);
    tool_scratch_close(&chrome.values);
    tool_names_close(&chrome.process_of);
    tool_names_close(&chrome.thread_of);
    tool_names_close(&chrome.site_of);
    tool_names_close(&chrome.number_of);
    free(chrome.processes);
    free(chrome.threads);
    return status;
}

/* An array of objects, or an object with a member: no other input looks like that. */
static bool probe(const struct tool_conversion *conversion)
{
    const char *at = (const char *)conversion->head, *end = at + conversion->head_bytes;
    if (conversion->is_directory)
        return false;
    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
        at++;
    if (at == end || (*at != '[' && *at != '{'))
        return false;
    char next = *at == '[' ? '{' : '"', empty = *at == '[' ? ']' : '}';
    for (at++; at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0'; at++) {
    }
    return at == end || *at == next || *at == empty;
}

const struct tool_converter tool_converter_chrome = {
    .name = "chrome", .summary = "Chrome trace JSON", .probe = probe, .run = run};
