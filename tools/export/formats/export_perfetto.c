/* Perfetto's protobuf trace: a packet for each begin, end and point of a track; names, categories
 * and source locations are interned: written once, with the first packet that needs them.
 *
 * This is the door to protobuf-c and to what it generates from export_perfetto.proto. All packets
 * are of one sequence, the first one clears its state. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <export_perfetto.pb-c.h>

#include "tools/calls/losses.h"
#include "tools/command/tool_map.h"
#include "tools/export/export_paths.h"

typedef Perfetto__Protos__Trace pf_trace;
typedef Perfetto__Protos__TracePacket pf_packet;
typedef Perfetto__Protos__TrackEvent pf_event;
typedef Perfetto__Protos__TrackDescriptor pf_track;
typedef Perfetto__Protos__DebugAnnotation pf_annotation;
typedef Perfetto__Protos__InternedData pf_interned;

#define SLICE_BEGIN PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define SLICE_END   PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END
#define INSTANT     PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT
#define CLEARED     PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED
#define NEEDS       PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE

#define SEQUENCE    1u
#define PLAIN_BYTES 256u /* most that a packet without texts can take */

/* Ids of what is interned. Categories are the site kinds, then these; annotation names and the
 * names of what is no site go into one table of texts. */
enum {
    CATEGORY_SIGNAL = TTAPE_SITE_MARKER + 1,
    CATEGORY_GAP,
    CATEGORY_UNSEEN,
    CATEGORY_SWITCH,
    CATEGORY_COUNT
};
static const char *const category_names[CATEGORY_COUNT] = {[TTAPE_SITE_FUNCTION] = "function",
                                                           [TTAPE_SITE_BLOCK] = "block",
                                                           [TTAPE_SITE_BRANCH] = "branch",
                                                           [TTAPE_SITE_SYSCALL] = "syscall",
                                                           [TTAPE_SITE_MARKER] = "marker",
                                                           [CATEGORY_SIGNAL] = "signal",
                                                           [CATEGORY_GAP] = "gap",
                                                           [CATEGORY_UNSEEN] = "exit_unseen",
                                                           [CATEGORY_SWITCH] = "switch"};

/* A packet that is being made: what it points to lives here until it is written. */
struct making {
    pf_packet packet;
    pf_event event;
    pf_interned interned;
    uint64_t category;
    Perfetto__Protos__EventCategory new_category, *categories;
    Perfetto__Protos__EventName new_name, *names;
    Perfetto__Protos__SourceLocation new_location, *locations;
};

struct perfetto {
    struct tool_export *export;
    uint64_t uuid_count, process_uuid;
    uint32_t last_process;
    bool is_started, has_category[CATEGORY_COUNT];
    uint8_t *site_kinds;        /* by site: kind + 1 once its name was interned */
    bool *has_location;         /* by site */
    struct ttp_key_map signals; /* those that have a name, numbered */
    struct tool_buffer packed, name, file, text;
    size_t annotation_room; /* of each of these: a file may say more values than writers write */
    pf_annotation **annotation_list;
    struct tool_buffer *annotation_texts; /* their names and values */
    struct tool_export_path path;
};

/* ---- packets ---- */

/* Appends the packet as one element of Trace.packet. */
static void put_packet(struct perfetto *out, pf_packet *packet, bool is_plain)
{
    pf_packet *list[] = {packet};
    pf_trace trace = PERFETTO__PROTOS__TRACE__INIT;
    trace.n_packet = 1;
    trace.packet = list;
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    packet->has_sequence_flags = true;
    packet->sequence_flags = out->is_started ? NEEDS : CLEARED;
    out->is_started = true;
    if (is_plain) {
        char *at = tool_output_reserve(&out->export->out, PLAIN_BYTES);
        at += perfetto__protos__trace__pack(&trace, (uint8_t *)at);
        tool_output_commit(&out->export->out, at);
        return;
    }
    size_t size = perfetto__protos__trace__get_packed_size(&trace);
    tool_grow((void **)&out->packed.data, &out->packed.capacity, size, 1);
    (void)perfetto__protos__trace__pack(&trace, (uint8_t *)out->packed.data);
    tool_output_bytes(&out->export->out, out->packed.data, size);
}

static void start_event(struct making *make, uint64_t time_ns,
                        Perfetto__Protos__TrackEvent__Type type, uint64_t uuid)
{
    perfetto__protos__trace_packet__init(&make->packet);
    perfetto__protos__track_event__init(&make->event);
    perfetto__protos__interned_data__init(&make->interned);
    make->packet.track_event = &make->event;
    make->packet.has_timestamp = true;
    make->packet.timestamp = time_ns;
    make->event.has_type = true;
    make->event.type = type;
    make->event.has_track_uuid = true;
    make->event.track_uuid = uuid;
}

static void set_category(struct perfetto *out, struct making *make, int category)
{
    make->category = (uint64_t)category + 1;
    make->event.n_category_iids = 1;
    make->event.category_iids = &make->category;
    if (out->has_category[category])
        return;
    out->has_category[category] = true;
    perfetto__protos__event_category__init(&make->new_category);
    make->new_category.has_iid = true;
    make->new_category.iid = make->category;
    make->new_category.name = (char *)category_names[category];
    make->categories = &make->new_category;
    make->interned.n_event_categories = 1;
    make->interned.event_categories = &make->categories;
    make->packet.interned_data = &make->interned;
}

static void set_name(struct making *make, uint64_t iid, char *new_name)
{
    make->event.has_name_iid = true;
    make->event.name_iid = iid;
    if (new_name == NULL)
        return;
    perfetto__protos__event_name__init(&make->new_name);
    make->new_name.has_iid = true;
    make->new_name.iid = iid;
    make->new_name.name = new_name;
    make->names = &make->new_name;
    make->interned.n_event_names = 1;
    make->interned.event_names = &make->names;
    make->packet.interned_data = &make->interned;
}

static void set_location(struct perfetto *out, struct making *make, uint32_t number,
                         const ttape_site *site)
{
    out->has_location[number] = true;
    out->file.size_bytes = 0;
    tool_buffer_name(&out->file, TTP_ESCAPE_TERMINAL, site->file);
    perfetto__protos__source_location__init(&make->new_location);
    make->new_location.has_iid = true;
    make->new_location.iid = (uint64_t)number + 1;
    make->new_location.file_name = out->file.data;
    make->new_location.function_name = out->name.data;
    make->new_location.has_line_number = site->line > 0;
    make->new_location.line_number = site->line;
    make->locations = &make->new_location;
    make->interned.n_source_locations = 1;
    make->interned.source_locations = &make->locations;
}

/* Name, category and source location of a site; `category` may be another one than its kind. */
static void set_site(struct perfetto *out, struct making *make, uint32_t number, int category)
{
    uint8_t *known = &out->site_kinds[number];
    char *new_name = NULL;
    ttape_site site = {.module = TTAPE_NONE};
    char room[TOOL_EXPORT_PLACE_BYTES];
    if (*known == 0) {
        tool_export_get_site(out->export, number, &site);
        *known = (uint8_t)((site.kind <= TTAPE_SITE_MARKER ? site.kind : TTAPE_SITE_MARKER) + 1);
        out->name.size_bytes = 0;
        tool_buffer_name(&out->name, TTP_ESCAPE_TERMINAL,
                         tool_export_place(out->export, &site, room));
        new_name = out->name.data;
    }
    set_name(make, (uint64_t)number + 1, new_name);
    set_category(out, make, category >= 0 ? category : *known - 1);
    if (new_name != NULL && site.file.size_bytes > 0)
        set_location(out, make, number, &site);
    if (out->has_location[number]) {
        make->event.has_source_location_iid = true;
        make->event.source_location_iid = (uint64_t)number + 1;
    }
}

/* Names of what is no site have ids above those of sites: gap, switch, then the signals. */
static void set_other(struct perfetto *out, struct making *make, int category, uint32_t signal)
{
    uint64_t first = (uint64_t)out->export->info.site_count + 1;
    bool is_new = !out->has_category[category];
    const char *fixed = category == CATEGORY_GAP ? "gap" : "switch";
    uint64_t iid = first + (category == CATEGORY_GAP ? 0 : 1);
    out->name.size_bytes = 0;
    if (category == CATEGORY_SIGNAL) {
        uint32_t *number = tool_map_at(&out->signals, signal, TTAPE_NONE);
        is_new = *number == TTAPE_NONE;
        if (is_new)
            *number = (uint32_t)out->signals.used_count - 1;
        tool_buffer_printf(&out->name, "signal %" PRIu32, signal);
        iid = first + 2 + *number;
    } else {
        tool_buffer_text(&out->name, fixed);
    }
    set_name(make, iid, is_new ? out->name.data : NULL);
    set_category(out, make, category);
}

/* ---- annotations ---- */

static void add_annotation_room(struct perfetto *out)
{
    size_t index = out->annotation_room, text_room = index;
    tool_grow((void **)&out->annotation_list, &out->annotation_room, index + 1,
              sizeof(pf_annotation *));
    tool_grow((void **)&out->annotation_texts, &text_room, index + 1, sizeof(struct tool_buffer));
    for (; index < out->annotation_room; index++) {
        out->annotation_list[index] = tool_allocate(1, sizeof(pf_annotation));
        out->annotation_texts[index] = (struct tool_buffer){0};
    }
}

static pf_annotation *add_annotation(struct perfetto *out, struct making *make, const char *name)
{
    size_t index = make->event.n_debug_annotations++;
    if (index == out->annotation_room)
        add_annotation_room(out);
    pf_annotation *annotation = out->annotation_list[index];
    struct tool_buffer *text = &out->annotation_texts[index];
    perfetto__protos__debug_annotation__init(annotation);
    make->event.debug_annotations = out->annotation_list;
    text->size_bytes = 0;
    tool_buffer_text(text, name);
    tool_buffer_add(text, "", 1); /* the value's text follows the name */
    annotation->name = text->data;
    return annotation;
}

static void add_text(struct perfetto *out, struct making *make, const char *name, const char *value)
{
    pf_annotation *annotation = add_annotation(out, make, name);
    annotation->string_value = (char *)value;
}

static void add_number(struct perfetto *out, struct making *make, const char *name, uint64_t value)
{
    pf_annotation *annotation = add_annotation(out, make, name);
    annotation->has_uint_value = true;
    annotation->uint_value = value;
}

static void add_value(struct perfetto *out, struct making *make, const char *name,
                      const ttape_value *value)
{
    pf_annotation *annotation = add_annotation(out, make, name);
    struct tool_buffer *text = &out->annotation_texts[make->event.n_debug_annotations - 1];
    size_t start_at = text->size_bytes;
    switch (value->type) {
    case TTAPE_VALUE_UNSIGNED:
        annotation->has_uint_value = true;
        annotation->uint_value = value->number;
        break;
    case TTAPE_VALUE_SIGNED:
        annotation->has_int_value = true;
        annotation->int_value = (int64_t)value->number;
        break;
    case TTAPE_VALUE_POINTER:
        annotation->has_pointer_value = true;
        annotation->pointer_value = value->number;
        break;
    case TTAPE_VALUE_FLOAT:
        annotation->has_double_value = true;
        memcpy(&annotation->double_value, &value->number, sizeof(double));
        break;
    case TTAPE_VALUE_STRING:
        tool_buffer_name(text, TTP_ESCAPE_TERMINAL, value->bytes);
        annotation->name = text->data; /* it may have moved */
        annotation->string_value = text->data + start_at;
        break;
    default:
        tool_buffer_values(text, value, 1);
        annotation->name = text->data;
        annotation->string_value = text->data + start_at;
        break;
    }
}

static void add_values(struct perfetto *out, struct making *make, const struct tool_moment *now,
                       uint32_t event_kind)
{
    char room[16];
    for (uint32_t i = 0; i < now->value_count; i++) {
        add_value(out, make, tool_value_name(room, event_kind, i, now->value_count),
                  &now->values[i]);
    }
}

/* How a system call was reached. */
static void add_path(struct perfetto *out, struct making *make, uint32_t site)
{
    uint32_t path = tool_export_path_of(out->export, site);
    if (path == 0)
        return;
    pf_annotation *annotation = add_annotation(out, make, "stack");
    struct tool_buffer *text = &out->annotation_texts[make->event.n_debug_annotations - 1];
    size_t start_at = text->size_bytes;
    tool_export_path_read(out->export, path, &out->path);
    tool_export_put_path(out->export, &out->path, text);
    annotation->name = text->data; /* it may have moved */
    annotation->string_value = text->data + start_at;
}

/* ---- tracks ---- */

static void put_track(struct perfetto *out, pf_track *track)
{
    pf_packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    packet.track_descriptor = track;
    put_packet(out, &packet, false);
}

/* A name, escaped, that lives until the next call. */
static char *escaped(struct perfetto *out, ttape_string name)
{
    out->text.size_bytes = 0;
    tool_buffer_name(&out->text, TTP_ESCAPE_TERMINAL, name);
    return out->text.data;
}

static void put_process(struct perfetto *out, const struct tool_export_stream *stream)
{
    pf_track track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
    out->process_uuid = ++out->uuid_count;
    track.has_uuid = true;
    track.uuid = out->process_uuid;
    track.process = &process;
    process.has_pid = true;
    process.pid = (int32_t)stream->shown_pid;
    process.process_name = escaped(out, tool_export_process_name(out->export, stream->process));
    put_track(out, &track);
}

/* The track of the stack that the walk is on, described when it is new: stack 0 is the thread,
 * others are tracks below it. */
static uint64_t track_of(struct perfetto *out, struct tool_walk *walk)
{
    struct tool_stack *stack = tool_walk_stack(walk);
    if (stack->track != 0)
        return stack->track;
    pf_track track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
    struct tool_buffer name = {0};
    stack->track = ++out->uuid_count;
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = stack->track;
    track.parent_uuid = out->process_uuid;
    tool_export_thread_name(out->export, walk->stream, walk->stack, &name);
    char *shown = escaped(out, (ttape_string){name.data, name.size_bytes});
    if (walk->stack == 0) {
        track.thread = &thread;
        thread.has_pid = thread.has_tid = true;
        thread.pid = (int32_t)walk->stream->shown_pid;
        thread.tid = (int64_t)walk->stream->shown_tid;
        thread.thread_name = shown;
    } else {
        track.name = shown;
    }
    put_track(out, &track);
    tool_buffer_close(&name);
    return stack->track;
}

/* ---- what happens ---- */

static void put_event(struct perfetto *out, struct making *make)
{
    put_packet(out, &make->packet,
               make->packet.interned_data == NULL && make->event.n_debug_annotations == 0);
}

static void take_stream(void *context, struct tool_walk *walk)
{
    struct perfetto *out = context;
    if (out->last_process != walk->stream->process) {
        out->last_process = walk->stream->process;
        put_process(out, walk->stream);
    }
    (void)track_of(out, walk);
}

static void take_begin(void *context, struct tool_walk *walk, struct tool_frame *frame,
                       const struct tool_moment *now)
{
    struct perfetto *out = context;
    struct making make;
    start_event(&make, now->time_ns, SLICE_BEGIN, track_of(out, walk));
    if (frame->site != TTAPE_NONE)
        set_site(out, &make, frame->site, -1);
    else
        set_other(out, &make, CATEGORY_SIGNAL, frame->signal);
    add_values(out, &make, now, frame->kind);
    if (out->export->has_paths)
        add_path(out, &make, frame->site);
    put_event(out, &make);
}

static void take_end(void *context, struct tool_walk *walk, struct tool_frame *frame,
                     const struct tool_moment *now, enum tool_ending ending)
{
    static const char *const endings[] = {"exit", "unwind", "open", "lost", "unseen", "late"};
    struct perfetto *out = context;
    struct making make;
    (void)frame;
    start_event(&make, now->time_ns, SLICE_END, track_of(out, walk));
    if (ending == TOOL_ENDING_EXIT)
        add_values(out, &make, now, TTAPE_EVENT_EXIT);
    else
        add_text(out, &make, "left", endings[ending]);
    put_event(out, &make);
}

static void take_point(void *context, struct tool_walk *walk, const struct tool_moment *now)
{
    struct perfetto *out = context;
    const ttape_event *event = now->event;
    struct making make;
    start_event(&make, now->time_ns, INSTANT, track_of(out, walk));
    if (event->kind == TTAPE_EVENT_GAP) {
        set_other(out, &make, CATEGORY_GAP, 0);
        add_text(out, &make, "reason", ttape_gap_reason_name(event->argument));
        add_number(out, &make, "lost", event->lost_count);
    } else {
        set_site(out, &make, event->site,
                 event->kind == TTAPE_EVENT_EXIT_UNSEEN ? CATEGORY_UNSEEN : -1);
        add_values(out, &make, now, event->kind);
    }
    put_event(out, &make);
}

static void take_change(void *context, struct tool_walk *walk, uint32_t from,
                        const struct tool_moment *now)
{
    struct perfetto *out = context;
    struct making make;
    start_event(&make, now->time_ns, INSTANT, walk->stacks[from]->track);
    set_other(out, &make, CATEGORY_SWITCH, 0);
    add_number(out, &make, "stack", walk->stack);
    put_event(out, &make);
    (void)track_of(out, walk);
}

/* On a track of its own, at the beginning: nobody knows which thread lost them, or when. */
static void put_lost_nowhere(struct perfetto *out)
{
    struct making make;
    pf_track track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    uint64_t lost = tool_lost_nowhere(out->export->reader);
    if (lost == 0)
        return;
    track.has_uuid = true;
    track.uuid = ++out->uuid_count;
    track.name = (char *)"lost events";
    put_track(out, &track);
    start_event(&make, out->export->info.time_first_ns, INSTANT, track.uuid);
    set_other(out, &make, CATEGORY_GAP, 0);
    add_text(out, &make, "reason", "place not known");
    add_number(out, &make, "lost", lost);
    put_event(out, &make);
}

static int write_perfetto(struct tool_export *export)
{
    static const struct tool_export_calls calls = {.stream = take_stream,
                                                   .begin = take_begin,
                                                   .end = take_end,
                                                   .point = take_point,
                                                   .changed = take_change};
    struct perfetto out = {.export = export, .last_process = TTAPE_NONE};
    out.site_kinds = tool_allocate(export->info.site_count, sizeof(uint8_t));
    out.has_location = tool_allocate(export->info.site_count, sizeof(bool));
    put_lost_nowhere(&out);
    tool_export_walk(export, &calls, &out);
    for (size_t i = 0; i < out.annotation_room; i++) {
        tool_buffer_close(&out.annotation_texts[i]);
        free(out.annotation_list[i]);
    }
    tool_buffer_close(&out.packed);
    tool_buffer_close(&out.name);
    tool_buffer_close(&out.file);
    tool_buffer_close(&out.text);
    tool_export_path_close(&out.path);
    free(out.annotation_texts);
    free(out.annotation_list);
    tool_map_close(&out.signals);
    free(out.has_location);
    free(out.site_kinds);
    return export->status;
}

const struct tool_export_format tool_export_perfetto = {.name = "perfetto",
                                                        .summary = "Perfetto's protobuf",
                                                        .shape = TOOL_EXPORT_BINARY,
                                                        .run = write_perfetto};
