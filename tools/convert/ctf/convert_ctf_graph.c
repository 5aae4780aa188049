/* Reading CTF: babeltrace2's src.ctf.fs into a sink of our own, which writes what it gets
 * to a pipe. Runs in a process of its own. This is a door to babeltrace2. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <babeltrace2/babeltrace.h>

#include "base/ordered.h"
#include "tools/convert/ctf/convert_ctf.h"

#define HELD_BYTES    (16u * 1024u) /* at most what a sudden end takes along */
#define EPOCH_SECONDS 500000000     /* no machine is up that long */
#define CLASSES       1024u         /* event classes whose kind is remembered; a power of two */

struct known_class {
    const bt_event_class *event_class;
    enum tool_ctf_event kind;
};

/* A CTF stream: its number, and the thread that was named last. */
struct known_stream {
    const bt_stream *stream;
    uint64_t pid, tid;
    bool is_named;
};

/* What a stream file gives, message by message: babeltrace2's own muxer would end all of them with
 * the first that is damaged. */
struct stream_port {
    bt_message_iterator *iterator;
    bt_message_array_const messages;
    uint64_t at, count; /* of the messages */
    int64_t time_ns;    /* of the next message */
    uint64_t event_count;
    uint32_t folder;
    const bt_port_output *output;
    const char *file; /* the path of its file, or of the first of several */
    bool has_clock;
};

struct graph_reader {
    struct stream_port *ports;
    size_t port_count;
    uint32_t *order; /* of ports that go on, a heap */
    struct ttp_heap heap;
    struct tool_ctf_out out;
    bool has_clock;
    uint64_t other_count, untimed_count;
    struct known_class classes[CLASSES];
    struct known_stream *streams;
    size_t stream_count;
};

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

static enum tool_ctf_event kind_of(struct graph_reader *reader, const bt_event_class *event_class)
{
    size_t at = ((uintptr_t)event_class >> 4) & (CLASSES - 1);
    struct known_class *known = &reader->classes[at];
    if (known->event_class == event_class)
        return known->kind;
    const char *name = bt_event_class_get_name(event_class);
    *known = (struct known_class){event_class, tool_ctf_event_of(name != NULL ? name : "")};
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
        tool_ctf_out_text(&reader->out, name);
        tool_ctf_out_send(&reader->out, &said);
    }
}

static enum tool_ctf_left left_of(const bt_event *event)
{
    const char *left = get_text(event, "left");
    bool is_exit = *left == '\0' || strcmp(left, "exit") == 0;
    return is_exit                     ? TOOL_CTF_LEFT_EXIT
           : strcmp(left, "open") == 0 ? TOOL_CTF_LEFT_OPEN
                                       : TOOL_CTF_LEFT_UNWIND;
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
        reader->out.text[reader->out.text_bytes++] = (char)byte;
    }
    wire->kind = TOOL_CTF_WIRE_BUILD_ID;
    if (get_number(event, "baddr", &wire->a))
        tool_ctf_out_send(&reader->out, wire);
    reader->out.text_bytes = 0;
}

static void send_site(struct graph_reader *reader, const bt_event *event,
                      struct tool_ctf_wire *wire)
{
    wire->kind = TOOL_CTF_WIRE_SITE;
    (void)get_number(event, "addr", &wire->a);
    (void)get_number(event, "site", &wire->b);
    (void)get_number(event, "line", &wire->c);
    tool_ctf_out_text(&reader->out, get_text(event, "kind"));
    tool_ctf_out_text(&reader->out, get_text(event, "symbol"));
    tool_ctf_out_text(&reader->out, get_text(event, "module"));
    tool_ctf_out_text(&reader->out, get_text(event, "file"));
    tool_ctf_out_send(&reader->out, wire);
}

/* What a call, a point or the like says of its place. */
static void set_place(const bt_event *event, struct tool_ctf_wire *wire)
{
    uint64_t site;
    wire->flags |= get_number(event, "addr", &wire->a) ? TOOL_CTF_HAS_ADDRESS : 0;
    wire->b = get_number(event, "site", &site) && site < UINT32_MAX ? site + 1 : 0;
}

static void send_event(struct graph_reader *reader, const bt_event *event, enum tool_ctf_event kind,
                       struct tool_ctf_wire *wire)
{
    static const uint32_t kinds[] = {[TOOL_CTF_EVENT_ENTRY] = TOOL_CTF_WIRE_ENTRY,
                                     [TOOL_CTF_EVENT_EXIT] = TOOL_CTF_WIRE_EXIT,
                                     [TOOL_CTF_EVENT_POINT] = TOOL_CTF_WIRE_POINT,
                                     [TOOL_CTF_EVENT_UNSEEN] = TOOL_CTF_WIRE_UNSEEN,
                                     [TOOL_CTF_EVENT_GAP] = TOOL_CTF_WIRE_GAP,
                                     [TOOL_CTF_EVENT_SWITCH] = TOOL_CTF_WIRE_SWITCH,
                                     [TOOL_CTF_EVENT_SIGNAL] = TOOL_CTF_WIRE_SIGNAL,
                                     [TOOL_CTF_EVENT_SIGNAL_END] = TOOL_CTF_WIRE_SIGNAL_END};
    wire->kind = kinds[kind];
    set_place(event, wire);
    if (kind == TOOL_CTF_EVENT_GAP) {
        (void)get_number(event, "lost", &wire->a);
        tool_ctf_out_text(&reader->out, get_text(event, "reason"));
    } else if (kind == TOOL_CTF_EVENT_SWITCH) {
        (void)get_number(event, "stack", &wire->a);
    } else if (kind == TOOL_CTF_EVENT_SIGNAL || kind == TOOL_CTF_EVENT_SIGNAL_END) {
        (void)get_number(event, "signal", &wire->a);
    }
    if (kind == TOOL_CTF_EVENT_ENTRY || kind == TOOL_CTF_EVENT_SIGNAL)
        (void)get_number(event, "was_open", &wire->c);
    else if (kind == TOOL_CTF_EVENT_EXIT || kind == TOOL_CTF_EVENT_SIGNAL_END)
        wire->c = left_of(event);
    const char *values = get_text(event, "values");
    if (*values != '\0' && kind != TOOL_CTF_EVENT_GAP)
        tool_ctf_out_text(&reader->out, values);
    tool_ctf_out_send(&reader->out, wire);
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

static void take_event(struct graph_reader *reader, const bt_message *message, bool has_clock)
{
    const bt_event *event = bt_message_event_borrow_event_const(message);
    enum tool_ctf_event kind = kind_of(reader, bt_event_borrow_class_const(event));
    struct tool_ctf_wire wire = {0};
    int64_t time_ns = 0;
    if (kind == TOOL_CTF_EVENT_OTHER) {
        reader->other_count++;
        return;
    }
    const bt_clock_snapshot *clock =
        has_clock ? bt_message_event_borrow_default_clock_snapshot_const(message) : NULL;
    if (clock == NULL || bt_clock_snapshot_get_ns_from_origin(clock, &time_ns) !=
                             BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
        reader->untimed_count++;
        return;
    }
    wire.time_ns = time_ns > 0 ? (uint64_t)time_ns : 0;
    if (!reader->has_clock) {
        struct tool_ctf_wire said = {.kind = TOOL_CTF_WIRE_CLOCK};
        reader->has_clock = true;
        tool_ctf_out_text(&reader->out,
                          clock_name(bt_clock_snapshot_borrow_clock_class_const(clock)));
        tool_ctf_out_send(&reader->out, &said);
    }
    set_thread(reader, event, &wire);
    if (kind == TOOL_CTF_EVENT_BUILD_ID) {
        send_build_id(reader, event, &wire);
    } else if (kind == TOOL_CTF_EVENT_SITE) {
        send_site(reader, event, &wire);
    } else if (kind == TOOL_CTF_EVENT_MODULE) {
        wire.kind = TOOL_CTF_WIRE_MODULE;
        tool_ctf_out_text(&reader->out, get_text(event, "path"));
        if (get_number(event, "baddr", &wire.a) && get_number(event, "memsz", &wire.b))
            tool_ctf_out_send(&reader->out, &wire);
        reader->out.text_bytes = 0;
    } else if (kind == TOOL_CTF_EVENT_THREAD) {
        wire.kind = TOOL_CTF_WIRE_THREAD;
        (void)get_number(event, "pid", &wire.a);
        (void)get_number(event, "tid", &wire.b);
        (void)get_number(event, "parent_pid", &wire.c);
        tool_ctf_out_text(&reader->out, get_text(event, "process"));
        tool_ctf_out_text(&reader->out, get_text(event, "thread"));
        tool_ctf_out_send(&reader->out, &wire);
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
    tool_ctf_out_send(&reader->out, &wire);
}

/* ---- the sink ---- */

static bool is_port_before(const void *context, const void *a, const void *b)
{
    const struct stream_port *ports = context;
    uint32_t one, two;
    memcpy(&one, a, sizeof(one));
    memcpy(&two, b, sizeof(two));
    return ports[one].time_ns != ports[two].time_ns ? ports[one].time_ns < ports[two].time_ns
                                                    : one < two;
}

/* Messages without a time come with the one before them. */
static const bt_clock_snapshot *clock_of(const struct stream_port *port, const bt_message *message)
{
    const bt_stream_class *stream_class;
    switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT:
        return port->has_clock ? bt_message_event_borrow_default_clock_snapshot_const(message)
                               : NULL;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        stream_class =
            bt_stream_borrow_class_const(bt_message_discarded_events_borrow_stream_const(message));
        return bt_stream_class_discarded_events_have_default_clock_snapshots(stream_class)
                   ? bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(
                         message)
                   : NULL;
    default: return NULL;
    }
}

/* A stream file that is damaged ends there. */
static void send_damage(struct graph_reader *reader, const struct stream_port *port)
{
    struct tool_ctf_wire wire = {
        .kind = TOOL_CTF_WIRE_DAMAGE, .a = port->event_count, .b = port->folder};
    const bt_error *error = bt_current_thread_take_error();
    if (error != NULL)
        bt_error_release(error);
    const char *slash = strrchr(port->file, '/');
    tool_ctf_out_text(&reader->out, slash != NULL ? slash + 1 : port->file);
    tool_ctf_out_send(&reader->out, &wire);
}

/* Makes a message the port's next. False: there is none. */
static bool find_next(struct graph_reader *reader, struct stream_port *port)
{
    const bt_clock_snapshot *clock;
    while (port->at == port->count) {
        port->at = port->count = 0;
        bt_message_iterator_next_status status =
            bt_message_iterator_next(port->iterator, &port->messages, &port->count);
        if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK ||
            status == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
            continue;
        if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
            send_damage(reader, port);
        return false;
    }
    int64_t time_ns = 0;
    clock = clock_of(port, port->messages[port->at]);
    if (clock != NULL && bt_clock_snapshot_get_ns_from_origin(clock, &time_ns) ==
                             BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
        port->time_ns = time_ns;
    return true;
}

static void begin_stream(struct stream_port *port, const bt_stream *stream)
{
    const char *name = bt_stream_get_name(stream);
    port->file = name != NULL ? name : port->file;
    port->has_clock = bt_stream_class_borrow_default_clock_class_const(
                          bt_stream_borrow_class_const(stream)) != NULL;
}

static void take_message(struct graph_reader *reader, struct stream_port *port)
{
    const bt_message *message = port->messages[port->at++];
    switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
        begin_stream(port, bt_message_stream_beginning_borrow_stream_const(message));
        break;
    case BT_MESSAGE_TYPE_EVENT:
        port->event_count++;
        take_event(reader, message, port->has_clock);
        break;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS: take_discarded(reader, message, false); break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS: take_discarded(reader, message, true); break;
    default: break;
    }
    bt_message_put_ref(message);
}

static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
    struct graph_reader *reader =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
    struct ttp_heap *heap = &reader->heap;
    for (uint32_t i = 0; i < reader->port_count && heap->elements == NULL; i++)
        if (find_next(reader, &reader->ports[i]))
            reader->order[heap->count++] = i;
    *heap = (struct ttp_heap){reader->order, heap->count, sizeof(uint32_t), is_port_before,
                              reader->ports};
    ttp_heap_make(heap);
    while (heap->count > 0 && !reader->out.failed) {
        struct stream_port *port = &reader->ports[reader->order[0]];
        take_message(reader, port);
        if (find_next(reader, port))
            ttp_heap_sink(heap, 0);
        else
            ttp_heap_drop(heap);
        if (reader->out.used > HELD_BYTES)
            tool_ctf_out_flush(&reader->out);
    }
    return reader->out.failed ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR
                              : BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

static bt_component_class_sink_graph_is_configured_method_status
configured(bt_self_component_sink *self)
{
    struct graph_reader *reader =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
    for (size_t i = 0; i < reader->port_count; i++)
        if (bt_message_iterator_create_from_sink_component(
                self, bt_self_component_sink_borrow_input_port_by_index(self, i),
                &reader->ports[i].iterator) !=
            BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
            return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
    return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_initialize_method_status
initialize(bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,
           const bt_value *params, void *data)
{
    const struct graph_reader *reader = data;
    char name[32];
    (void)configuration;
    (void)params;
    bt_self_component_set_data(bt_self_component_sink_as_self_component(self), data);
    for (size_t i = 0; i < reader->port_count; i++) {
        snprintf(name, sizeof(name), "in%zu", i);
        if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) !=
            BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
            return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
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

/* Adds the source of one folder. NULL: it cannot be opened. */
static const bt_component_source *add_source(bt_graph *graph, const char *folder, size_t number,
                                             bool is_one_of_many)
{
    char name[32];
    const bt_plugin *ctf = NULL;
    const bt_component_source *source = NULL;
    bt_value *params = make_params(folder, is_one_of_many);
    snprintf(name, sizeof(name), "source%zu", number);
    if (params != NULL && bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE,
                                         &ctf) == BT_PLUGIN_FIND_STATUS_OK)
        (void)bt_graph_add_source_component(
            graph, bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs"), name, params,
            BT_LOGGING_LEVEL_NONE, &source);
    bt_value_put_ref(params);
    return source;
}

static bool add_ports(struct graph_reader *reader, const bt_component_source *source,
                      uint32_t folder)
{
    size_t count = bt_component_source_get_output_port_count(source);
    struct stream_port *ports =
        realloc(reader->ports, (reader->port_count + count + 1) * sizeof(*ports));
    if (ports == NULL)
        return false;
    reader->ports = ports;
    for (size_t i = 0; i < count; i++) {
        const bt_port_output *output =
            bt_component_source_borrow_output_port_by_index_const(source, i);
        ports[reader->port_count++] =
            (struct stream_port){.time_ns = INT64_MIN,
                                 .folder = folder,
                                 .output = output,
                                 .file = bt_port_get_name(bt_port_output_as_port_const(output))};
    }
    return true;
}

/* babeltrace2 lists files as their folder does, in any order; what is made of them must not depend
 * on that. */
static int compare_ports(const void *a, const void *b)
{
    const struct stream_port *one = a, *two = b;
    return one->folder != two->folder ? (one->folder < two->folder ? -1 : 1)
                                      : strcmp(one->file, two->file);
}

static bool build(bt_graph *graph, struct graph_reader *reader, char *const *folders, size_t count)
{
    const bt_component_sink *sink = NULL;
    bt_component_class_sink *sink_class = bt_component_class_sink_create("tracetape", consume);
    if (sink_class == NULL)
        return false;
    (void)bt_component_class_sink_set_initialize_method(sink_class, initialize);
    (void)bt_component_class_sink_set_graph_is_configured_method(sink_class, configured);
    for (size_t i = 0; i < count; i++) {
        const bt_component_source *source = add_source(graph, folders[i], i, count > 1);
        if (source == NULL || !add_ports(reader, source, (uint32_t)i))
            return false;
    }
    if (reader->port_count > 0)
        qsort(reader->ports, reader->port_count, sizeof(*reader->ports), compare_ports);
    reader->order = calloc(reader->port_count + 1, sizeof(uint32_t));
    bool is_built = reader->order != NULL && reader->port_count > 0 &&
                    bt_graph_add_sink_component_with_initialize_method_data(
                        graph, sink_class, "sink", NULL, reader, BT_LOGGING_LEVEL_NONE, &sink) ==
                        BT_GRAPH_ADD_COMPONENT_STATUS_OK;
    for (size_t i = 0; i < reader->port_count && is_built; i++)
        is_built =
            bt_graph_connect_ports(graph, reader->ports[i].output,
                                   bt_component_sink_borrow_input_port_by_index_const(sink, i),
                                   NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
    return is_built;
}

int tool_ctf_read(char *const *folders, size_t count, int fd)
{
    struct graph_reader *reader = calloc(1, sizeof(*reader));
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    bt_graph *graph = bt_graph_create(0);
    if (reader == NULL || graph == NULL || !tool_ctf_out_begin(&reader->out, fd))
        return 1;
    bool is_built = build(graph, reader, folders, count);
    bool is_done = is_built && bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
    struct tool_ctf_wire wire = {
        .kind = TOOL_CTF_WIRE_OTHER, .a = reader->other_count, .b = reader->untimed_count};
    reader->out.text_bytes = 0;
    tool_ctf_out_send(&reader->out, &wire);
    wire = (struct tool_ctf_wire){.kind = is_done ? TOOL_CTF_WIRE_DONE : TOOL_CTF_WIRE_FAILED,
                                  .a = !is_built};
    const bt_error *error = is_done ? NULL : bt_current_thread_take_error();
    if (error != NULL && bt_error_get_cause_count(error) > 0)
        tool_ctf_out_text(&reader->out,
                          bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
    else if (!is_done)
        tool_ctf_out_text(&reader->out, "its plugin 'ctf' was not found, or there is no stream");
    tool_ctf_out_send(&reader->out, &wire);
    tool_ctf_out_flush(&reader->out);
    return reader->out.failed; /* the process ends: nothing is freed */
}

bool tool_ctf_is_sound(const char *folder)
{
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    bt_graph *graph = bt_graph_create(0);
    return graph != NULL && add_source(graph, folder, 0, false) != NULL;
}
