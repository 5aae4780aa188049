/* CTF through babeltrace2's library: a source component of our own, whose messages its sink.ctf.fs
 * writes into a folder.
 *
 *   tool_merged -> record -> message iterator (next) -> sink.ctf.fs -> metadata, trace
 *
 * One CTF stream holds all threads in the order of time, with the thread in every event's context,
 * as LTTng's per-CPU streams do. This is a door to babeltrace2. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <babeltrace2/babeltrace.h>

#include "tools/export/export_folder.h"
#include "tools/export/export_merged.h"
#include "tools/export/formats/export_ctf.h"

#define PACKET_EVENTS 16384u
#define FIELDS_MAX    8
#define WAIT_NS       2000000l

/* Kinds of events, and their fields: u unsigned, i of 32 bits, x in hexadecimal, s text. */
enum {
    EVENT_THREAD,
    EVENT_SITE,
    EVENT_ENTRY,
    EVENT_EXIT,
    EVENT_POINT,
    EVENT_UNSEEN,
    EVENT_GAP,
    EVENT_SWITCH,
    EVENT_SIGNAL,
    EVENT_SIGNAL_END,
    EVENT_COUNT
};

static const struct {
    const char *name;
    const char *fields[FIELDS_MAX + 1]; /* a letter and the name */
} event_kinds[EVENT_COUNT] = {
    {TOOL_CTF_THREAD, {"upid", "utid", "uparent_pid", "sprocess", "sthread"}},
    {TOOL_CTF_SITE, {"isite", "skind", "xaddr", "ssymbol", "smodule", "sfile", "iline"}},
    {TOOL_CTF_ENTRY, {"xaddr", "xcall_site", "isite", "iwas_open", "svalues"}},
    {TOOL_CTF_EXIT, {"xaddr", "xcall_site", "isite", "sleft", "svalues"}},
    {TOOL_CTF_POINT, {"xaddr", "isite", "svalues"}},
    {TOOL_CTF_EXIT_UNSEEN, {"xaddr", "isite", "svalues"}},
    {TOOL_CTF_GAP, {"sreason", "ulost"}},
    {TOOL_CTF_SWITCH, {"istack"}},
    {TOOL_CTF_SIGNAL, {"isignal", "iwas_open", "svalues"}},
    {TOOL_CTF_SIGNAL_END, {"isignal", "sleft", "svalues"}},
};

static const char *const endings[] = {"exit", "unwind", "open", "lost", "unseen", "late"};

struct ctf {
    struct tool_export *export;
    struct tool_merged *merged;
    bt_stream_class *stream_class;
    bt_event_class *event_classes[EVENT_COUNT];
    bt_trace *trace;
    bt_stream *stream;
    bt_packet *packet;
    bool has_begun, has_ended;
    uint64_t packet_events, last_ns;
    struct tool_record record; /* the next one, which may wait for its definitions */
    bool has_record, is_last;
    bool *has_site, *has_thread; /* by site, by index of the stream */
    struct tool_buffer texts[3];
};

/* ---- classes ---- */

static bt_field_class *make_field(bt_trace_class *trace_class, char letter)
{
    if (letter == 's')
        return bt_field_class_string_create(trace_class);
    bt_field_class *field = bt_field_class_integer_unsigned_create(trace_class);
    if (field != NULL && letter == 'i')
        bt_field_class_integer_set_field_value_range(field, 32);
    if (field != NULL && letter == 'x') {
        bt_field_class_integer_set_preferred_display_base(
            field, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
    }
    return field;
}

static bt_field_class *make_structure(bt_trace_class *trace_class, const char *const *fields)
{
    bt_field_class *structure = bt_field_class_structure_create(trace_class);
    for (; structure != NULL && *fields != NULL; fields++) {
        bt_field_class *field = make_field(trace_class, (*fields)[0]);
        bool is_added = field != NULL &&
                        bt_field_class_structure_append_member(structure, *fields + 1, field) ==
                            BT_FIELD_CLASS_STRUCTURE_APPEND_MEMBER_STATUS_OK;
        bt_field_class_put_ref(field);
        if (!is_added) {
            bt_field_class_put_ref(structure);
            return NULL;
        }
    }
    return structure;
}

static bool make_events(struct ctf *out, bt_trace_class *trace_class)
{
    for (int i = 0; i < EVENT_COUNT; i++) {
        bt_event_class *event = bt_event_class_create(out->stream_class);
        bt_field_class *payload = make_structure(trace_class, event_kinds[i].fields);
        bool is_made = event != NULL && payload != NULL &&
                       bt_event_class_set_name(event, event_kinds[i].name) ==
                           BT_EVENT_CLASS_SET_NAME_STATUS_OK &&
                       bt_event_class_set_payload_field_class(event, payload) ==
                           BT_EVENT_CLASS_SET_FIELD_CLASS_STATUS_OK;
        bt_field_class_put_ref(payload);
        out->event_classes[i] = event;
        if (!is_made)
            return false;
    }
    return true;
}

static bool make_stream_class(struct ctf *out, bt_self_component *self, bt_trace_class *trace_class)
{
    static const char *const context[] = {"ivpid", "ivtid", NULL};
    bt_clock_class *clock = bt_clock_class_create(self);
    bt_field_class *fields = make_structure(trace_class, context);
    out->stream_class = bt_stream_class_create(trace_class);
    bool is_made =
        clock != NULL && fields != NULL && out->stream_class != NULL &&
        bt_clock_class_set_name(clock, "monotonic") == BT_CLOCK_CLASS_SET_NAME_STATUS_OK &&
        bt_stream_class_set_default_clock_class(out->stream_class, clock) ==
            BT_STREAM_CLASS_SET_DEFAULT_CLOCK_CLASS_STATUS_OK &&
        bt_stream_class_set_event_common_context_field_class(out->stream_class, fields) ==
            BT_STREAM_CLASS_SET_FIELD_CLASS_STATUS_OK;
    if (is_made) {
        bt_clock_class_set_frequency(clock, 1000000000u);
        bt_clock_class_set_origin_is_unix_epoch(clock, BT_FALSE);
        bt_stream_class_set_supports_packets(out->stream_class, BT_TRUE, BT_TRUE, BT_TRUE);
        is_made = make_events(out, trace_class);
    }
    bt_field_class_put_ref(fields);
    bt_clock_class_put_ref(clock);
    return is_made;
}

static bool make_trace(struct ctf *out, bt_self_component *self)
{
    bt_trace_class *trace_class = bt_trace_class_create(self);
    bool is_made = trace_class != NULL && make_stream_class(out, self, trace_class);
    if (is_made) {
        out->trace = bt_trace_create(trace_class);
        out->stream = out->trace != NULL ? bt_stream_create(out->stream_class, out->trace) : NULL;
        is_made = out->stream != NULL &&
                  bt_stream_set_name(out->stream, "trace") == BT_STREAM_SET_NAME_STATUS_OK &&
                  bt_trace_set_environment_entry_string(out->trace, "tracer_name", "tracetape") ==
                      BT_TRACE_SET_ENVIRONMENT_ENTRY_STATUS_OK &&
                  bt_trace_set_environment_entry_string(out->trace, "domain", "ust") ==
                      BT_TRACE_SET_ENVIRONMENT_ENTRY_STATUS_OK;
    }
    bt_trace_class_put_ref(trace_class);
    return is_made;
}

/* ---- events ---- */

/* One value of a field: a number or a text. */
struct field_value {
    uint64_t number;
    const char *text;
};

static void set_field(bt_field *structure, uint64_t index, const struct field_value *value)
{
    bt_field *field = bt_field_structure_borrow_member_field_by_index(structure, index);
    if (value->text != NULL)
        (void)bt_field_string_set_value(field, value->text);
    else
        bt_field_integer_unsigned_set_value(field, value->number);
}

static const bt_message *make_message(struct ctf *out, bt_self_message_iterator *self, int kind,
                                      uint32_t stream, const struct field_value *values)
{
    const struct tool_export_stream *chosen = &out->export->streams[stream];
    bt_message *message = bt_message_event_create_with_packet_and_default_clock_snapshot(
        self, out->event_classes[kind], out->packet, out->last_ns);
    if (message == NULL)
        return NULL;
    bt_event *event = bt_message_event_borrow_event(message);
    bt_field *context = bt_event_borrow_common_context_field(event);
    set_field(context, 0, &(struct field_value){.number = chosen->shown_pid});
    set_field(context, 1, &(struct field_value){.number = chosen->shown_tid});
    bt_field *payload = bt_event_borrow_payload_field(event);
    for (uint64_t i = 0; event_kinds[kind].fields[i] != NULL; i++)
        set_field(payload, i, &values[i]);
    out->packet_events++;
    return message;
}

/* A name, escaped, that lives until the next call with the same room. No text is empty: babeltrace2
 * (2.0.4) reads an empty one as the text that the field held before. */
static const char *escaped(struct ctf *out, int room, ttape_string name)
{
    struct tool_buffer *text = &out->texts[room];
    text->size_bytes = 0;
    tool_buffer_name(text, TTP_ESCAPE_TERMINAL, name);
    return text->size_bytes > 0 ? text->data : TOOL_CTF_NO_TEXT;
}

static const bt_message *make_thread(struct ctf *out, bt_self_message_iterator *self,
                                     uint32_t index)
{
    const struct tool_export_stream *stream = &out->export->streams[index];
    struct tool_buffer name = {0};
    ttape_process process = {.parent = TTAPE_NONE}, parent = {0};
    if (ttape_reader_get_process(out->export->reader, stream->process, &process) == TTAPE_OK &&
        process.parent != TTAPE_NONE)
        (void)ttape_reader_get_process(out->export->reader, process.parent, &parent);
    tool_export_thread_name(out->export, stream, 0, &name);
    const struct field_value values[] = {
        {stream->pid, NULL},
        {stream->tid, NULL},
        {parent.pid, NULL},
        {0, escaped(out, 0, tool_export_process_name(out->export, stream->process))},
        {0, escaped(out, 1, (ttape_string){name.data, name.size_bytes})}};
    tool_buffer_close(&name);
    out->has_thread[index] = true;
    return make_message(out, self, EVENT_THREAD, index, values);
}

static const bt_message *make_site(struct ctf *out, bt_self_message_iterator *self,
                                   const struct tool_record *record)
{
    ttape_site site = {.module = TTAPE_NONE};
    tool_export_get_site(out->export, record->site, &site);
    const struct field_value values[] = {
        {record->site, NULL},
        {0, ttape_site_kind_name(site.kind)},
        {site.address, NULL},
        {0, escaped(out, 0, site.symbol)},
        {0, escaped(out, 1, tool_export_module(out->export, &site))},
        {0, escaped(out, 2, site.file)},
        {site.line, NULL}};
    out->has_site[record->site] = true;
    return make_message(out, self, EVENT_SITE, record->stream, values);
}

static const char *values_of(const struct tool_record *record)
{
    return record->values != NULL ? record->values : "()";
}

static const bt_message *make_call(struct ctf *out, bt_self_message_iterator *self,
                                   const struct tool_record *record)
{
    bool is_begin = record->kind == TOOL_RECORD_BEGIN;
    const char *text = values_of(record);
    const struct field_value how = is_begin ? (struct field_value){record->number, NULL}
                                            : (struct field_value){0, endings[record->number]};
    if (record->site == TTAPE_NONE) {
        const struct field_value values[] = {{record->signal, NULL}, how, {0, text}};
        return make_message(out, self, is_begin ? EVENT_SIGNAL : EVENT_SIGNAL_END, record->stream,
                            values);
    }
    ttape_site site = {0};
    (void)ttape_reader_get_site(out->export->reader, record->site, &site);
    const struct field_value values[] = {
        {site.address, NULL}, {0, NULL}, {record->site, NULL}, how, {0, text}};
    return make_message(out, self, is_begin ? EVENT_ENTRY : EVENT_EXIT, record->stream, values);
}

static const bt_message *make_event(struct ctf *out, bt_self_message_iterator *self,
                                    const struct tool_record *record)
{
    if (record->kind == TOOL_RECORD_GAP) {
        const struct field_value values[] = {{0, ttape_gap_reason_name(record->event)},
                                             {record->number, NULL}};
        return make_message(out, self, EVENT_GAP, record->stream, values);
    }
    if (record->kind == TOOL_RECORD_SWITCH) {
        const struct field_value values[] = {{record->number, NULL}};
        return make_message(out, self, EVENT_SWITCH, record->stream, values);
    }
    if (record->kind != TOOL_RECORD_POINT)
        return make_call(out, self, record);
    ttape_site site = {0};
    (void)ttape_reader_get_site(out->export->reader, record->site, &site);
    const struct field_value values[] = {
        {site.address, NULL}, {record->site, NULL}, {0, values_of(record)}};
    return make_message(out, self,
                        record->event == TTAPE_EVENT_EXIT_UNSEEN ? EVENT_UNSEEN : EVENT_POINT,
                        record->stream, values);
}

/* ---- the message iterator ---- */

/* The first record, or what must come before it: the thread, the site. */
static const bt_message *make_next_event(struct ctf *out, bt_self_message_iterator *self)
{
    const struct tool_record *record = &out->record;
    if (!out->has_thread[record->stream])
        return make_thread(out, self, record->stream);
    if (record->site != TTAPE_NONE && !out->has_site[record->site])
        return make_site(out, self, record);
    const bt_message *message = make_event(out, self, record);
    free(out->record.values);
    out->has_record = false;
    return message;
}

static const bt_message *end_packet(struct ctf *out, bt_self_message_iterator *self)
{
    const bt_message *message =
        bt_message_packet_end_create_with_default_clock_snapshot(self, out->packet, out->last_ns);
    bt_packet_put_ref(out->packet);
    out->packet = NULL;
    return message;
}

static const bt_message *begin_packet(struct ctf *out, bt_self_message_iterator *self)
{
    out->packet = bt_packet_create(out->stream);
    out->packet_events = 0;
    return out->packet == NULL ? NULL
                               : bt_message_packet_beginning_create_with_default_clock_snapshot(
                                     self, out->packet, out->last_ns);
}

/* The next message; NULL: a failure, or the end (has_ended). */
static const bt_message *make_next(struct ctf *out, bt_self_message_iterator *self)
{
    if (!out->has_begun) {
        out->has_begun = true;
        return bt_message_stream_beginning_create(self, out->stream);
    }
    if (!out->has_record && !out->is_last) {
        out->has_record = tool_merged_next(out->merged, &out->record);
        out->is_last = !out->has_record;
        out->last_ns = out->has_record ? out->record.time_ns : out->last_ns;
        if (out->has_record && out->packet != NULL && out->packet_events >= PACKET_EVENTS)
            return end_packet(out, self);
    }
    if (out->has_record)
        return out->packet == NULL ? begin_packet(out, self) : make_next_event(out, self);
    if (out->packet != NULL)
        return end_packet(out, self);
    if (out->has_ended)
        return NULL;
    out->has_ended = true;
    return bt_message_stream_end_create(self, out->stream);
}

static bt_message_iterator_class_next_method_status next(bt_self_message_iterator *self,
                                                         bt_message_array_const messages,
                                                         uint64_t capacity, uint64_t *count)
{
    struct ctf *out = bt_self_component_get_data(bt_self_message_iterator_borrow_component(self));
    *count = 0;
    while (*count < capacity) {
        bool was_over = out->has_ended;
        const bt_message *message = tool_folder_interrupted() != 0 ? NULL : make_next(out, self);
        if (message != NULL) {
            messages[(*count)++] = message;
            continue;
        }
        if (*count > 0 && was_over)
            break;
        for (uint64_t i = 0; i < *count; i++)
            bt_message_put_ref(messages[i]);
        *count = 0;
        return was_over ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END
                        : BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_ERROR;
    }
    return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK;
}

/* ---- the graph ---- */

static bt_component_class_initialize_method_status
initialize(bt_self_component_source *self, bt_self_component_source_configuration *configuration,
           const bt_value *params, void *data)
{
    bt_self_component *component = bt_self_component_source_as_self_component(self);
    (void)configuration;
    (void)params;
    bt_self_component_set_data(component, data);
    if (!make_trace(data, component) ||
        bt_self_component_source_add_output_port(self, "out", NULL, NULL) !=
            BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_source *make_source_class(void)
{
    bt_message_iterator_class *iterator = bt_message_iterator_class_create(next);
    bt_component_class_source *source =
        iterator != NULL ? bt_component_class_source_create("tracetape", iterator) : NULL;
    if (source != NULL)
        (void)bt_component_class_source_set_initialize_method(source, initialize);
    bt_message_iterator_class_put_ref(iterator);
    return source;
}

static bt_value *make_params(const char *folder)
{
    bt_value *params = bt_value_map_create();
    if (params != NULL && (bt_value_map_insert_string_entry(params, "path", folder) !=
                               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
                           bt_value_map_insert_bool_entry(params, "assume-single-trace", BT_TRUE) !=
                               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
                           bt_value_map_insert_bool_entry(params, "quiet", BT_TRUE) !=
                               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK)) {
        bt_value_put_ref(params);
        return NULL;
    }
    return params;
}

/* Source and sink, connected. */
static bool connect(struct ctf *out, bt_graph *graph, const bt_component_class_source *source_class,
                    const bt_component_class_sink *sink_class, const bt_value *params)
{
    const bt_component_source *source = NULL;
    const bt_component_sink *sink = NULL;
    return bt_graph_add_source_component_with_initialize_method_data(
               graph, source_class, "source", NULL, out, BT_LOGGING_LEVEL_NONE, &source) ==
               BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           bt_graph_add_sink_component(graph, sink_class, "sink", params, BT_LOGGING_LEVEL_NONE,
                                       &sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           bt_graph_connect_ports(graph,
                                  bt_component_source_borrow_output_port_by_index_const(source, 0),
                                  bt_component_sink_borrow_input_port_by_index_const(sink, 0),
                                  NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
}

static bool run_graph(struct ctf *out, const char *folder)
{
    const bt_plugin *plugin = NULL;
    bt_component_class_source *source_class = make_source_class();
    bt_graph *graph = bt_graph_create(0);
    bt_value *params = make_params(folder);
    const bt_component_class_sink *sink_class = NULL;
    if (bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) ==
        BT_PLUGIN_FIND_STATUS_OK)
        sink_class = bt_plugin_borrow_sink_component_class_by_name_const(plugin, "fs");
    bool is_done = source_class != NULL && graph != NULL && params != NULL && sink_class != NULL &&
                   connect(out, graph, source_class, sink_class, params) &&
                   bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
    bt_packet_put_ref(out->packet);
    bt_stream_put_ref(out->stream);
    bt_trace_put_ref(out->trace);
    for (int i = 0; i < EVENT_COUNT; i++)
        bt_event_class_put_ref(out->event_classes[i]);
    bt_stream_class_put_ref(out->stream_class);
    bt_graph_put_ref(graph);
    bt_value_put_ref(params);
    bt_component_class_source_put_ref(source_class);
    bt_plugin_put_ref(plugin);
    return is_done;
}

/* The first cause that babeltrace2 gives is the deepest. */
static int print_failure(const struct tool_export *export)
{
    const bt_error *error = bt_current_thread_take_error();
    const char *why = "its plugin 'ctf' was not found";
    if (error != NULL && bt_error_get_cause_count(error) > 0)
        why = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
    if (export->status != TOOL_CANNOT && tool_folder_interrupted() == 0)
        tool_fail("cannot write '%s': babeltrace2: %s", export->path, why);
    if (error != NULL)
        bt_error_release(error);
    return TOOL_CANNOT;
}

static int write_folder(struct tool_export *export, const char *folder)
{
    struct ctf out = {.export = export};
    int status = TOOL_CANNOT;
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    out.has_site = tool_allocate(export->info.site_count, sizeof(bool));
    out.has_thread = tool_allocate(export->stream_count, sizeof(bool));
    out.merged = tool_merged_open(export);
    if (out.merged != NULL)
        status = run_graph(&out, folder) ? export->status : print_failure(export);
    if (out.has_record)
        free(out.record.values);
    for (int i = 0; i < 3; i++)
        tool_buffer_close(&out.texts[i]);
    tool_merged_close(out.merged);
    free(out.has_site);
    free(out.has_thread);
    return status;
}

static int wait_for(pid_t child, const struct tool_export *export)
{
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    bool told = false;
    int status = 0;
    pid_t got;
    while ((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (tool_folder_interrupted() != 0 && !told)
            told = kill(child, SIGTERM) == 0;
        nanosleep(&pause, NULL);
    }
    int exit_status = got == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (exit_status == TOOL_OK || exit_status == TOOL_LOSS || exit_status == TOOL_CANNOT)
        return exit_status;
    if (tool_folder_interrupted() != 0)
        return TOOL_CANNOT;
    return tool_fail("cannot write '%s': babeltrace2 gave up (no room, or no memory?)",
                     export->path);
}

/* babeltrace2 and the library below it abort where memory, a file or room on the disk is missing:
 * in a process of its own that is a failure like others. */
static int write_apart(struct tool_export *export, const char *folder)
{
    pid_t child = fork();
    if (child < 0)
        return tool_fail("cannot write '%s': %s", export->path, strerror(errno));
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(write_folder(export, folder));
    }
    return wait_for(child, export);
}

static int write_ctf(struct tool_export *export)
{
    struct tool_folder folder;
    if (!export->has_times)
        return tool_fail("'%s' has no times: CTF needs them", export->input->name);
    int status = tool_folder_open(&folder, export->path, export->force);
    if (status != TOOL_OK)
        return status;
    status = write_apart(export, folder.inside);
    if (status == TOOL_OK || status == TOOL_LOSS) {
        int committed = tool_folder_commit(&folder);
        status = committed != TOOL_OK ? committed : status;
    }
    tool_folder_close(&folder);
    return status;
}

const struct tool_export_format tool_export_ctf = {.name = "ctf",
                                                   .summary = "a folder in the Common Trace Format",
                                                   .shape = TOOL_EXPORT_DIRECTORY,
                                                   .run = write_ctf};
