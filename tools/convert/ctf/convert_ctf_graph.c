/* Reading CTF: babeltrace2's src.ctf.fs and muxer into a sink of our own, which writes what it gets
 * to a pipe. Runs in a process of its own. This is a door to babeltrace2. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <babeltrace2/babeltrace.h>

#include "tools/convert/ctf/convert_ctf.h"
#include "tools/export/formats/export_ctf.h"
#include "tools/io/child.h"

#define OUT_BYTES     (256u * 1024u)
#define HELD_BYTES    (16u * 1024u) /* at most what a sudden end takes along */
#define EPOCH_SECONDS 500000000     /* no machine is up that long */
#define CLASSES       1024u         /* event classes whose kind is remembered; a power of two */

/* What an event's name makes of it. */
enum event_kind {
    KIND_OTHER = 1,
    KIND_ENTRY,
    KIND_EXIT,
    KIND_POINT,
    KIND_UNSEEN,
    KIND_GAP,
    KIND_SWITCH,
    KIND_SIGNAL,
    KIND_SIGNAL_END,
    KIND_SITE,
    KIND_THREAD,
    KIND_MODULE,
    KIND_BUILD_ID
};

static const struct {
    const char *name;
    enum event_kind kind;
} event_names[] = {{TOOL_CTF_ENTRY, KIND_ENTRY},
                   {TOOL_CTF_EXIT, KIND_EXIT},
                   {"lttng_ust_cyg_profile_fast:func_entry", KIND_ENTRY},
                   {"lttng_ust_cyg_profile_fast:func_exit", KIND_EXIT},
                   {TOOL_CTF_POINT, KIND_POINT},
                   {TOOL_CTF_EXIT_UNSEEN, KIND_UNSEEN},
                   {TOOL_CTF_GAP, KIND_GAP},
                   {TOOL_CTF_SWITCH, KIND_SWITCH},
                   {TOOL_CTF_SIGNAL, KIND_SIGNAL},
                   {TOOL_CTF_SIGNAL_END, KIND_SIGNAL_END},
                   {TOOL_CTF_SITE, KIND_SITE},
                   {TOOL_CTF_THREAD, KIND_THREAD},
                   {"lttng_ust_statedump:bin_info", KIND_MODULE},
                   {"lttng_ust_lib:load", KIND_MODULE},
                   {"lttng_ust_dl:dlopen", KIND_MODULE},
                   {"lttng_ust_statedump:build_id", KIND_BUILD_ID},
                   {"lttng_ust_lib:build_id", KIND_BUILD_ID}};

struct known_class {
    const bt_event_class *event_class;
    enum event_kind kind;
};

/* A CTF stream: its number, and the thread that was named last. */
struct known_stream {
    const bt_stream *stream;
    uint64_t pid, tid;
    bool is_named;
};

struct graph_reader {
    bt_message_iterator *iterator;
    int fd;
    bool failed, has_clock;
    char *out;
    size_t used;
    uint64_t other_count, untimed_count;
    struct known_class classes[CLASSES];
    struct known_stream *streams;
    size_t stream_count;
    char text[TOOL_CTF_TEXT_MAX];
    size_t text_bytes;
};

/* ---- the pipe ---- */

static void flush(struct graph_reader *reader)
{
    reader->failed = reader->failed || !tool_child_send(reader->fd, reader->out, reader->used, 0);
    reader->used = 0;
}

/* Sends a record with what is in reader->text. */
static void send(struct graph_reader *reader, struct tool_ctf_wire *wire)
{
    wire->text_bytes = (uint32_t)reader->text_bytes;
    if (OUT_BYTES - reader->used < sizeof(*wire) + reader->text_bytes)
        flush(reader);
    memcpy(reader->out + reader->used, wire, sizeof(*wire));
    reader->used += sizeof(*wire);
    memcpy(reader->out + reader->used, reader->text, reader->text_bytes);
    reader->used += reader->text_bytes;
    reader->text_bytes = 0;
}

/* Adds a text to the next record, cut where it is too long. */
static void add_text(struct graph_reader *reader, const char *text)
{
    size_t room = TOOL_CTF_TEXT_MAX / 4 - 1; /* of each: there are at most four */
    size_t size = text != NULL ? strlen(text) : 0;
    size = size < room ? size : room;
    if (size > 0)
        memcpy(reader->text + reader->text_bytes, text, size);
    reader->text[reader->text_bytes + size] = '\0';
    reader->text_bytes += size + 1;
}

/* ---- fields ---- */

static const bt_field *find_field(const bt_event *event, const char *name)
{
    const bt_field *places[] = {bt_event_borrow_payload_field_const(event),
                                bt_event_borrow_specific_context_field_const(event),
                                bt_event_borrow_common_context_field_const(event)};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const bt_field *field =
            places[i] != NULL && bt_field_class_type_is(bt_field_get_class_type(places[i]),
                                                        BT_FIELD_CLASS_TYPE_STRUCTURE)
                ? bt_field_structure_borrow_member_field_by_name_const(places[i], name)
                : NULL;
        if (field != NULL)
            return field;
    }
    return NULL;
}

static bool field_number(const bt_field *field, uint64_t *number)
{
    if (field == NULL)
        return false;
    bt_field_class_type type = bt_field_get_class_type(field);
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
        *number = bt_field_integer_unsigned_get_value(field);
        return true;
    }
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
        *number = (uint64_t)bt_field_integer_signed_get_value(field);
        return true;
    }
    return false;
}

static bool get_number(const bt_event *event, const char *name, uint64_t *number)
{
    return field_number(find_field(event, name), number);
}

/* "" where there is no such text; arrays of characters (LTTng's procname) are texts to the reader
 * already. An empty text has a length of 0, but maybe the bytes of the text before it. */
static const char *get_text(const bt_event *event, const char *name)
{
    const bt_field *field = find_field(event, name);
    return field != NULL && bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_STRING &&
                   bt_field_string_get_length(field) > 0
               ? bt_field_string_get_value(field)
               : "";
}

/* ---- events ---- */

static enum event_kind kind_of(struct graph_reader *reader, const bt_event_class *event_class)
{
    size_t at = ((uintptr_t)event_class >> 4) & (CLASSES - 1);
    struct known_class *known = &reader->classes[at];
    if (known->event_class == event_class)
        return known->kind;
    const char *name = bt_event_class_get_name(event_class);
    *known = (struct known_class){event_class, KIND_OTHER};
    for (size_t i = 0; name != NULL && i < sizeof(event_names) / sizeof(event_names[0]); i++)
        if (strcmp(name, event_names[i].name) == 0)
            known->kind = event_names[i].kind;
    return known->kind;
}

static struct known_stream *stream_of(struct graph_reader *reader, const bt_stream *stream,
                                      uint32_t *number)
{
    for (size_t i = 0; i < reader->stream_count; i++) {
        if (reader->streams[i].stream == stream) {
            *number = (uint32_t)i;
            return &reader->streams[i];
        }
    }
    struct known_stream *grown =
        realloc(reader->streams, (reader->stream_count + 1) * sizeof(struct known_stream));
    if (grown == NULL)
        _exit(1);
    reader->streams = grown;
    *number = (uint32_t)reader->stream_count;
    reader->streams[reader->stream_count] = (struct known_stream){.stream = stream};
    return &reader->streams[reader->stream_count++];
}

/* Which thread: by the context vtid; where there is none, the CTF stream stands for it. */
static void set_thread(struct graph_reader *reader, const bt_event *event,
                       struct tool_ctf_wire *wire)
{
    const bt_stream *stream = bt_event_borrow_stream_const(event);
    struct known_stream *known = stream_of(reader, stream, &wire->source);
    if (get_number(event, "vtid", &wire->tid))
        wire->flags |= TOOL_CTF_HAS_THREAD;
    else
        wire->tid = wire->source;
    if (!get_number(event, "vpid", &wire->pid)) {
        const bt_value *entry = bt_trace_borrow_environment_entry_value_by_name_const(
            bt_stream_borrow_trace_const(stream), "vpid");
        bool is_there = entry != NULL && bt_value_is_signed_integer(entry);
        wire->pid = is_there ? (uint64_t)bt_value_integer_signed_get(entry)
                    : wire->flags & TOOL_CTF_HAS_THREAD ? wire->tid
                                                        : 0;
    }
    const char *name = get_text(event, "procname");
    if (*name != '\0' && (!known->is_named || known->pid != wire->pid || known->tid != wire->tid)) {
        known->pid = wire->pid;
        known->tid = wire->tid;
        known->is_named = true;
        struct tool_ctf_wire said = *wire;
        said.kind = TOOL_CTF_WIRE_NAME;
        add_text(reader, name);
        send(reader, &said);
    }
}

static enum tool_ctf_left left_of(const bt_event *event)
{
    const char *left = get_text(event, "left");
    return strcmp(left, "open") == 0                                  ? TOOL_CTF_LEFT_OPEN
           : strcmp(left, "unwind") == 0 || strcmp(left, "lost") == 0 ? TOOL_CTF_LEFT_UNWIND
                                                                      : TOOL_CTF_LEFT_EXIT;
}

static void send_build_id(struct graph_reader *reader, const bt_event *event,
                          struct tool_ctf_wire *wire)
{
    const bt_field *array = find_field(event, "build_id");
    if (array == NULL ||
        !bt_field_class_type_is(bt_field_get_class_type(array), BT_FIELD_CLASS_TYPE_ARRAY))
        return;
    uint64_t length = bt_field_array_get_length(array), byte = 0;
    for (uint64_t i = 0; i < length && i < 64; i++) {
        if (!field_number(bt_field_array_borrow_element_field_by_index_const(array, i), &byte))
            return;
        reader->text[reader->text_bytes++] = (char)byte;
    }
    wire->kind = TOOL_CTF_WIRE_BUILD_ID;
    if (get_number(event, "baddr", &wire->a))
        send(reader, wire);
    reader->text_bytes = 0;
}

static void send_site(struct graph_reader *reader, const bt_event *event,
                      struct tool_ctf_wire *wire)
{
    wire->kind = TOOL_CTF_WIRE_SITE;
    (void)get_number(event, "addr", &wire->a);
    (void)get_number(event, "site", &wire->b);
    (void)get_number(event, "line", &wire->c);
    add_text(reader, get_text(event, "kind"));
    add_text(reader, get_text(event, "symbol"));
    add_text(reader, get_text(event, "module"));
    add_text(reader, get_text(event, "file"));
    send(reader, wire);
}

/* What a call, a point or the like says of its place. */
static void set_place(const bt_event *event, struct tool_ctf_wire *wire)
{
    uint64_t site;
    wire->flags |= get_number(event, "addr", &wire->a) ? TOOL_CTF_HAS_ADDRESS : 0;
    wire->b = get_number(event, "site", &site) && site < UINT32_MAX ? site + 1 : 0;
}

static void send_event(struct graph_reader *reader, const bt_event *event, enum event_kind kind,
                       struct tool_ctf_wire *wire)
{
    static const uint32_t kinds[] = {
        [KIND_ENTRY] = TOOL_CTF_WIRE_ENTRY,   [KIND_EXIT] = TOOL_CTF_WIRE_EXIT,
        [KIND_POINT] = TOOL_CTF_WIRE_POINT,   [KIND_UNSEEN] = TOOL_CTF_WIRE_UNSEEN,
        [KIND_GAP] = TOOL_CTF_WIRE_GAP,       [KIND_SWITCH] = TOOL_CTF_WIRE_SWITCH,
        [KIND_SIGNAL] = TOOL_CTF_WIRE_SIGNAL, [KIND_SIGNAL_END] = TOOL_CTF_WIRE_SIGNAL_END};
    wire->kind = kinds[kind];
    set_place(event, wire);
    if (kind == KIND_GAP) {
        (void)get_number(event, "lost", &wire->a);
        add_text(reader, get_text(event, "reason"));
    } else if (kind == KIND_SWITCH) {
        (void)get_number(event, "stack", &wire->a);
    } else if (kind == KIND_SIGNAL || kind == KIND_SIGNAL_END) {
        (void)get_number(event, "signal", &wire->a);
    }
    if (kind == KIND_ENTRY || kind == KIND_SIGNAL)
        (void)get_number(event, "was_open", &wire->c);
    else if (kind == KIND_EXIT || kind == KIND_SIGNAL_END)
        wire->c = left_of(event);
    const char *values = get_text(event, "values");
    if (*values != '\0' && kind != KIND_GAP)
        add_text(reader, values);
    send(reader, wire);
}

/* LTTng calls its clock monotonic, but adds what makes it count from 1970. */
static const char *clock_name(const bt_clock_class *clock_class)
{
    int64_t seconds = 0;
    uint64_t cycles = 0;
    bt_clock_class_get_offset(clock_class, &seconds, &cycles);
    return bt_clock_class_origin_is_unix_epoch(clock_class) || seconds > EPOCH_SECONDS
               ? "realtime"
               : bt_clock_class_get_name(clock_class);
}

static void take_event(struct graph_reader *reader, const bt_message *message)
{
    const bt_event *event = bt_message_event_borrow_event_const(message);
    enum event_kind kind = kind_of(reader, bt_event_borrow_class_const(event));
    struct tool_ctf_wire wire = {0};
    int64_t time_ns = 0;
    if (kind == KIND_OTHER) {
        reader->other_count++;
        return;
    }
    const bt_clock_snapshot *clock = bt_message_event_borrow_default_clock_snapshot_const(message);
    if (bt_clock_snapshot_get_ns_from_origin(clock, &time_ns) !=
        BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
        reader->untimed_count++;
        return;
    }
    wire.time_ns = time_ns > 0 ? (uint64_t)time_ns : 0;
    if (!reader->has_clock) {
        struct tool_ctf_wire said = {.kind = TOOL_CTF_WIRE_CLOCK};
        reader->has_clock = true;
        add_text(reader, clock_name(bt_clock_snapshot_borrow_clock_class_const(clock)));
        send(reader, &said);
    }
    set_thread(reader, event, &wire);
    if (kind == KIND_BUILD_ID) {
        send_build_id(reader, event, &wire);
    } else if (kind == KIND_SITE) {
        send_site(reader, event, &wire);
    } else if (kind == KIND_MODULE) {
        wire.kind = TOOL_CTF_WIRE_MODULE;
        add_text(reader, get_text(event, "path"));
        if (get_number(event, "baddr", &wire.a) && get_number(event, "memsz", &wire.b))
            send(reader, &wire);
        reader->text_bytes = 0;
    } else if (kind == KIND_THREAD) {
        wire.kind = TOOL_CTF_WIRE_THREAD;
        (void)get_number(event, "pid", &wire.a);
        (void)get_number(event, "tid", &wire.b);
        (void)get_number(event, "parent_pid", &wire.c);
        add_text(reader, get_text(event, "process"));
        add_text(reader, get_text(event, "thread"));
        send(reader, &wire);
    } else {
        send_event(reader, event, kind, &wire);
    }
}

/* Events or packets that the tracer threw away. */
static void take_discarded(struct graph_reader *reader, const bt_message *message, bool are_packets)
{
    struct tool_ctf_wire wire = {.kind = TOOL_CTF_WIRE_LOST};
    const bt_stream *stream = are_packets
                                  ? bt_message_discarded_packets_borrow_stream_const(message)
                                  : bt_message_discarded_events_borrow_stream_const(message);
    (void)stream_of(reader, stream, &wire.source);
    if (!are_packets && bt_message_discarded_events_get_count(message, &wire.a) !=
                            BT_PROPERTY_AVAILABILITY_AVAILABLE)
        wire.a = 0;
    send(reader, &wire);
}

/* ---- the sink ---- */

static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
    struct graph_reader *reader =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
    bt_message_array_const messages;
    uint64_t count = 0;
    bt_message_iterator_next_status status =
        bt_message_iterator_next(reader->iterator, &messages, &count);
    if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) {
        for (uint64_t i = 0; i < count; i++) {
            switch (bt_message_get_type(messages[i])) {
            case BT_MESSAGE_TYPE_EVENT: take_event(reader, messages[i]); break;
            case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
                take_discarded(reader, messages[i], false);
                break;
            case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
                take_discarded(reader, messages[i], true);
                break;
            default: break;
            }
            bt_message_put_ref(messages[i]);
        }
    }
    if (reader->used > HELD_BYTES)
        flush(reader);
    return reader->failed ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR
                          : (bt_component_class_sink_consume_method_status)status;
}

static bt_component_class_sink_graph_is_configured_method_status
configured(bt_self_component_sink *self)
{
    struct graph_reader *reader =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
    return bt_message_iterator_create_from_sink_component(
               self, bt_self_component_sink_borrow_input_port_by_index(self, 0),
               &reader->iterator) == BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK
               ? BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK
               : BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
}

static bt_component_class_initialize_method_status
initialize(bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,
           const bt_value *params, void *data)
{
    (void)configuration;
    (void)params;
    bt_self_component_set_data(bt_self_component_sink_as_self_component(self), data);
    return bt_self_component_sink_add_input_port(self, "in", NULL, NULL) ==
                   BT_SELF_COMPONENT_ADD_PORT_STATUS_OK
               ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
               : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
}

/* ---- the graph ---- */

static bt_value *make_params(const char *folder, bool is_one_of_many)
{
    bt_value *params = bt_value_map_create();
    bt_value *inputs = NULL;
    bool is_made = params != NULL &&
                   bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
                       BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
                   bt_value_array_append_string_element(inputs, folder) ==
                       BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK;
    if (is_made && is_one_of_many) { /* traces of clocks without an epoch have no common order */
        is_made = bt_value_map_insert_bool_entry(params, "force-clock-class-origin-unix-epoch",
                                                 BT_TRUE) == BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK;
    }
    return is_made ? params : NULL;
}

/* Adds the source of one folder and connects its ports to the muxer. */
static bool add_source(bt_graph *graph, const bt_component_class_source *source_class,
                       const bt_component_filter *muxer, const char *folder, size_t number,
                       bool is_one_of_many)
{
    char name[32];
    const bt_component_source *source = NULL;
    bt_value *params = make_params(folder, is_one_of_many);
    snprintf(name, sizeof(name), "source%zu", number);
    bool is_added = params != NULL && bt_graph_add_source_component(
                                          graph, source_class, name, params, BT_LOGGING_LEVEL_NONE,
                                          &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK;
    bt_value_put_ref(params);
    uint64_t count = is_added ? bt_component_source_get_output_port_count(source) : 0;
    for (uint64_t i = 0; i < count && is_added; i++) {
        uint64_t inputs = bt_component_filter_get_input_port_count(muxer);
        is_added = bt_graph_connect_ports(
                       graph, bt_component_source_borrow_output_port_by_index_const(source, i),
                       bt_component_filter_borrow_input_port_by_index_const(muxer, inputs - 1),
                       NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
    }
    return is_added;
}

static bool build(bt_graph *graph, struct graph_reader *reader, char *const *folders, size_t count)
{
    const bt_plugin *ctf = NULL, *utils = NULL;
    const bt_component_filter *muxer = NULL;
    const bt_component_sink *sink = NULL;
    bt_component_class_sink *sink_class = bt_component_class_sink_create("tracetape", consume);
    if (sink_class == NULL ||
        bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf) !=
            BT_PLUGIN_FIND_STATUS_OK ||
        bt_plugin_find("utils", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &utils) !=
            BT_PLUGIN_FIND_STATUS_OK)
        return false;
    (void)bt_component_class_sink_set_initialize_method(sink_class, initialize);
    (void)bt_component_class_sink_set_graph_is_configured_method(sink_class, configured);
    const bt_component_class_source *source_class =
        bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
    const bt_component_class_filter *muxer_class =
        bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
    bool is_built =
        source_class != NULL && muxer_class != NULL &&
        bt_graph_add_filter_component(graph, muxer_class, "muxer", NULL, BT_LOGGING_LEVEL_NONE,
                                      &muxer) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
        bt_graph_add_sink_component_with_initialize_method_data(
            graph, sink_class, "sink", NULL, reader, BT_LOGGING_LEVEL_NONE, &sink) ==
            BT_GRAPH_ADD_COMPONENT_STATUS_OK;
    for (size_t i = 0; i < count && is_built; i++)
        is_built = add_source(graph, source_class, muxer, folders[i], i, count > 1);
    return is_built && bt_graph_connect_ports(
                           graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
                           bt_component_sink_borrow_input_port_by_index_const(sink, 0),
                           NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
}

int tool_ctf_read(char *const *folders, size_t count, int fd)
{
    struct graph_reader *reader = calloc(1, sizeof(*reader));
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    bt_graph *graph = bt_graph_create(0);
    if (reader == NULL || graph == NULL || (reader->out = malloc(OUT_BYTES)) == NULL)
        return 1;
    reader->fd = fd;
    bool is_built = build(graph, reader, folders, count);
    bool is_done = is_built && bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
    struct tool_ctf_wire wire = {
        .kind = TOOL_CTF_WIRE_OTHER, .a = reader->other_count, .b = reader->untimed_count};
    reader->text_bytes = 0;
    send(reader, &wire);
    wire = (struct tool_ctf_wire){.kind = is_done ? TOOL_CTF_WIRE_DONE : TOOL_CTF_WIRE_FAILED,
                                  .a = !is_built};
    const bt_error *error = is_done ? NULL : bt_current_thread_take_error();
    if (error != NULL && bt_error_get_cause_count(error) > 0)
        add_text(reader, bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
    else if (!is_done)
        add_text(reader, "its plugins 'ctf' and 'utils' were not found");
    send(reader, &wire);
    flush(reader);
    return reader->failed; /* the process ends: nothing is freed */
}

bool tool_ctf_is_sound(const char *folder)
{
    const bt_plugin *ctf = NULL;
    const bt_component_source *source = NULL;
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    bt_graph *graph = bt_graph_create(0);
    bt_value *params = make_params(folder, false);
    return graph != NULL && params != NULL &&
           bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf) ==
               BT_PLUGIN_FIND_STATUS_OK &&
           bt_graph_add_source_component(
               graph, bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs"), "source",
               params, BT_LOGGING_LEVEL_NONE, &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK;
}
