/* Frozen: what the public headers said when structs got their reserved words, as far as
 * older_consumer.c needs it, without comments. It never changes: it stands for programs that were
 * compiled then. */
#ifndef OLDER_TRACETAPE_H
#define OLDER_TRACETAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ttape_status {
    TTAPE_OK = 0,
    TTAPE_END = -1,
    TTAPE_E_ARGUMENT = 1,
    TTAPE_E_STATE = 2,
    TTAPE_E_NOT_FOUND = 3,
    TTAPE_E_MEMORY = 10,
    TTAPE_E_IO = 11,
    TTAPE_E_EXISTS = 12,
    TTAPE_E_TRUNCATED = 20,
    TTAPE_E_CORRUPT = 21,
    TTAPE_E_CHECKSUM = 22,
    TTAPE_E_LIMIT = 23,
    TTAPE_E_VERSION = 24,
    TTAPE_E_UNSUPPORTED = 25,
    TTAPE_E_NOT_TRACE = 26
} ttape_status;

typedef struct ttape_error {
    ttape_status status;
    int os_errno;
    uint64_t offset;
    char rule[16];
    char message[232];
} ttape_error;

#define TTAPE_NONE UINT32_MAX
typedef struct ttape_wide {
    uint64_t low, high;
} ttape_wide;

typedef struct ttape_string {
    const char *data;
    size_t size_bytes;
} ttape_string;

typedef enum ttape_site_kind {
    TTAPE_SITE_FUNCTION = 0,
    TTAPE_SITE_BLOCK = 1,
    TTAPE_SITE_BRANCH = 2,
    TTAPE_SITE_SYSCALL = 3,
    TTAPE_SITE_MARKER = 4
} ttape_site_kind;

typedef struct ttape_site {
    uint64_t address;
    uint32_t module;
    uint32_t line;
    ttape_site_kind kind;
    ttape_string symbol;
    ttape_string file;
    uint64_t reserved[2];
} ttape_site;

typedef struct ttape_module {
    uint64_t start, end;
    uint32_t process;
    ttape_string path;
    ttape_string build_id;
    uint64_t reserved[2];
} ttape_module;

typedef struct ttape_process {
    uint64_t pid;
    uint32_t parent;
    uint64_t start_time_ns;
    ttape_string name;
    uint64_t reserved[2];
} ttape_process;

typedef struct ttape_stream {
    uint32_t process;
    uint64_t tid;
    uint64_t start_time_ns;
    ttape_string name;
    uint64_t reserved[2];
} ttape_stream;

typedef enum ttape_event_kind {
    TTAPE_EVENT_ENTER = 0,
    TTAPE_EVENT_EXIT = 1,
    TTAPE_EVENT_LEAF = 2,
    TTAPE_EVENT_OPEN = 3,
    TTAPE_EVENT_SIGNAL_BEGIN = 4,
    TTAPE_EVENT_SIGNAL_END = 5,
    TTAPE_EVENT_EXIT_UNSEEN = 6,
    TTAPE_EVENT_UNWIND = 7,
    TTAPE_EVENT_EXIT_ACROSS = 8,
    TTAPE_EVENT_SWITCH = 9,
    TTAPE_EVENT_GAP = 10
} ttape_event_kind;

typedef enum ttape_gap_reason {
    TTAPE_GAP_REASON_UNKNOWN = 0,
    TTAPE_GAP_REASON_OVERFLOW = 1,
    TTAPE_GAP_REASON_DAMAGE = 2,
    TTAPE_GAP_REASON_FILTER = 3,
    TTAPE_GAP_REASON_CUT = 4
} ttape_gap_reason;

#define TTAPE_DEPTH_AUTO UINT32_MAX
typedef struct ttape_event {
    uint64_t time_ns;
    uint64_t lost_count;
    ttape_event_kind kind;
    uint32_t site;
    uint32_t argument;
    uint32_t depth;
} ttape_event;

typedef enum ttape_value_type {
    TTAPE_VALUE_UNSIGNED = 0,
    TTAPE_VALUE_SIGNED = 1,
    TTAPE_VALUE_POINTER = 2,
    TTAPE_VALUE_FLOAT = 3,
    TTAPE_VALUE_BYTES = 4,
    TTAPE_VALUE_STRING = 5,
    TTAPE_VALUE_NULL = 6
} ttape_value_type;

typedef struct ttape_value {
    ttape_value_type type;
    uint64_t number;
    ttape_string bytes;
} ttape_value;

typedef struct ttape_open_frame {
    ttape_event_kind kind;
    uint32_t site;
    uint32_t argument;
    uint32_t stack;
    uint64_t enter_time_ns;
    int64_t self_ns;
} ttape_open_frame;

typedef struct ttape_edge {
    uint64_t event_number;
    uint64_t time_ns;
    uint32_t stack;
    uint32_t unknown_depth;
    int32_t depth_offset;
    uint32_t frame_count;
    const ttape_open_frame *frames;
    uint64_t reserved[2];
} ttape_edge;

typedef struct ttape_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size_bytes);
    void (*release)(void *context, void *memory, size_t size_bytes);
} ttape_allocator;

typedef struct ttape_reader ttape_reader;
typedef struct ttape_cursor ttape_cursor;
typedef struct ttape_forward ttape_forward;
typedef struct ttape_source {
    void *context;
    ttape_status (*read_at)(void *context, uint64_t offset, void *buffer, size_t size_bytes,
                            size_t *got_bytes, ttape_error *err);
    uint64_t size_bytes;
} ttape_source;

ttape_source ttape_source_memory(const void *data, size_t size_bytes);
typedef struct ttape_limits {
    uint64_t memory_bytes;
    uint32_t partition_events;
    uint32_t site_count;
    uint32_t stream_count;
    uint32_t partition_count;
    uint32_t string_bytes;
    uint64_t reserved[2];
} ttape_limits;

typedef struct ttape_reader_options {
    size_t size;
    ttape_limits limits;
    uint64_t cache_bytes;
    bool ignore_index;
    uint32_t jobs;
    const ttape_allocator *allocator;
} ttape_reader_options;

ttape_status ttape_reader_open(ttape_reader **out, const ttape_source *source,
                               const ttape_reader_options *options, ttape_error *err);
void ttape_reader_close(ttape_reader *reader);
typedef struct ttape_byte_counts {
    uint64_t order;
    uint64_t times;
    uint64_t values;
    uint64_t summaries;
    uint64_t sites;
    uint64_t models;
    uint64_t other;
    uint64_t reserved[2];
} ttape_byte_counts;

typedef struct ttape_info {
    uint16_t major_version, minor_version, required_minor;
    uint8_t trace_id[16];
    uint64_t file_bytes;
    uint64_t event_count, partition_count, chunk_count;
    uint64_t gap_count, lost_count;
    uint64_t unknown_chunk_count;
    uint64_t time_first_ns, time_last_ns;
    uint64_t resolution_ns;
    uint32_t scope_count, site_count, module_count, process_count, stream_count;
    bool by_index;
    bool complete;
    bool truncated;
    uint64_t truncated_at;
    ttape_byte_counts bytes;
    uint64_t reserved[8];
} ttape_info;

void ttape_reader_get_info(const ttape_reader *reader, ttape_info *info);
ttape_status ttape_reader_get_site(const ttape_reader *reader, uint32_t site, ttape_site *out);
ttape_status ttape_reader_get_module(const ttape_reader *reader, uint32_t module,
                                     ttape_module *out);
ttape_status ttape_reader_get_process(const ttape_reader *reader, uint32_t process,
                                      ttape_process *out);
typedef struct ttape_stream_info {
    ttape_stream stream;
    uint64_t pid;
    uint32_t scope;
    uint64_t first_event;
    uint64_t event_count;
    uint64_t missing_count;
    uint64_t reserved[4];
} ttape_stream_info;

ttape_status ttape_reader_get_stream(const ttape_reader *reader, uint32_t stream,
                                     ttape_stream_info *out);
typedef enum ttape_metadata_type {
    TTAPE_METADATA_TEXT = 0,
    TTAPE_METADATA_NUMBER = 1,
    TTAPE_METADATA_OTHER = 2
} ttape_metadata_type;

typedef struct ttape_metadata_entry {
    uint32_t scope;
    ttape_string key;
    ttape_metadata_type type;
    ttape_string text;
    uint64_t number;
    uint64_t reserved[2];
} ttape_metadata_entry;

ttape_status ttape_reader_get_metadata(const ttape_reader *reader, uint32_t entry,
                                       ttape_metadata_entry *out);
typedef struct ttape_partition_info {
    uint64_t offset;
    uint64_t stored_bytes;
    uint64_t sequence;
    uint32_t scope;
    uint32_t event_count, segment_count;
    uint32_t model;
    uint64_t resolution_ns;
    uint64_t time_first_ns, time_end_ns;
    ttape_byte_counts bytes;
    uint64_t reserved[4];
} ttape_partition_info;

ttape_status ttape_reader_get_partition(const ttape_reader *reader, uint32_t partition,
                                        ttape_partition_info *out);
typedef struct ttape_segment_info {
    uint32_t stream;
    uint32_t event_count;
    uint32_t min_depth;
    ttape_edge start, end;
    uint64_t reserved[2];
} ttape_segment_info;

ttape_status ttape_reader_get_segment(ttape_reader *reader, uint32_t partition, uint32_t segment,
                                      ttape_segment_info *out, ttape_error *err);
typedef struct ttape_summary_row {
    uint32_t site;
    uint64_t call_count;
    uint64_t exit_count;
    int64_t self_ns, total_ns;
    int64_t min_ns, max_ns;
    double sum_of_squares;
    ttape_wide squares;
    uint64_t reserved[2];
} ttape_summary_row;

ttape_status ttape_reader_get_summary(ttape_reader *reader, uint32_t partition,
                                      const ttape_summary_row **rows, uint32_t *row_count,
                                      ttape_error *err);
#define TTAPE_ALL_STREAMS UINT32_MAX
ttape_status ttape_cursor_open(ttape_cursor **out, ttape_reader *reader, uint32_t stream,
                               ttape_error *err);
void ttape_cursor_close(ttape_cursor *cursor);
typedef struct ttape_event_item {
    ttape_event event;
    uint32_t stream;
    uint64_t number;
    const ttape_value *values;
    uint32_t value_count;
    uint64_t reserved[2];
} ttape_event_item;

ttape_status ttape_cursor_next(ttape_cursor *cursor, ttape_event_item *out, ttape_error *err);
ttape_status ttape_cursor_next_events(ttape_cursor *cursor, ttape_event *out, size_t capacity,
                                      size_t *count, ttape_error *err);
ttape_status ttape_cursor_get_edge(ttape_cursor *cursor, ttape_edge *out, ttape_error *err);
typedef struct ttape_finding {
    ttape_error error;
    uint32_t chunk_kind;
    uint32_t partition;
    uint64_t reserved[2];
} ttape_finding;

typedef bool (*ttape_finding_callback)(void *context, const ttape_finding *finding);
typedef void (*ttape_progress_callback)(void *context, uint64_t done_bytes, uint64_t total_bytes);
ttape_status ttape_verify(const ttape_source *source, const ttape_reader_options *options,
                          ttape_finding_callback callback, ttape_progress_callback progress,
                          void *context, uint64_t *finding_count, ttape_error *err);
typedef struct ttape_input {
    void *context;
    ttape_status (*read)(void *context, void *buffer, size_t size_bytes, size_t *got_bytes,
                         ttape_error *err);
} ttape_input;

typedef struct ttape_writer ttape_writer;
typedef struct ttape_sink {
    void *context;
    ttape_status (*append)(void *context, const void *data, size_t size_bytes, ttape_error *err);
    ttape_status (*sync)(void *context, ttape_error *err);
} ttape_sink;

typedef struct ttape_memory_sink {
    uint8_t *data;
    size_t size_bytes, capacity_bytes;
} ttape_memory_sink;

ttape_sink ttape_sink_memory(ttape_memory_sink *memory);
void ttape_memory_sink_close(ttape_memory_sink *memory);
typedef struct ttape_file_sink ttape_file_sink;
#define TTAPE_TIME_NONE UINT64_MAX
typedef struct ttape_writer_options {
    size_t size;
    uint64_t resolution_ns;
    uint32_t partition_events;
    uint32_t partition_bytes;
    int32_t level;
    bool literal;
    uint32_t jobs;
    uint32_t chain_threshold;
    uint32_t model_period;
    uint32_t index_period;
    bool has_trace_id;
    uint8_t trace_id[16];
    uint64_t origin_ns;
    const ttape_allocator *allocator;
    uint64_t reserved[4];
} ttape_writer_options;

ttape_status ttape_writer_open(ttape_writer **out, const ttape_sink *sink,
                               const ttape_writer_options *options, ttape_error *err);
ttape_status ttape_writer_set_text(ttape_writer *writer, const char *key, ttape_string value,
                                   ttape_error *err);
ttape_status ttape_writer_add_module(ttape_writer *writer, const ttape_module *module, uint32_t *id,
                                     ttape_error *err);
ttape_status ttape_writer_add_process(ttape_writer *writer, const ttape_process *process,
                                      uint32_t *id, ttape_error *err);
ttape_status ttape_writer_add_stream(ttape_writer *writer, const ttape_stream *stream, uint32_t *id,
                                     ttape_error *err);
ttape_status ttape_writer_add_site(ttape_writer *writer, const ttape_site *site, uint32_t *id,
                                   ttape_error *err);
ttape_status ttape_writer_append(ttape_writer *writer, uint32_t stream, const ttape_event *events,
                                 size_t count, ttape_error *err);
ttape_status ttape_writer_finish(ttape_writer *writer, ttape_error *err);
void ttape_writer_close(ttape_writer *writer);
typedef struct ttape_writer_progress {
    uint64_t event_count, partition_count, written_bytes;
    uint64_t sealed_count;
    uint64_t reserved[4];
} ttape_writer_progress;

void ttape_writer_get_progress(const ttape_writer *writer, ttape_writer_progress *progress);
typedef struct ttape_tree ttape_tree;
typedef struct ttape_tree_walk ttape_tree_walk;
typedef enum ttape_node_kind {
    TTAPE_NODE_TRACE = 0,
    TTAPE_NODE_STREAM = 1,
    TTAPE_NODE_PART = 2,
    TTAPE_NODE_FRAME = 3,
    TTAPE_NODE_KIND_COUNT = 4
} ttape_node_kind;

typedef enum ttape_node_by {
    TTAPE_NODE_BY_NOTHING = 0,
    TTAPE_NODE_BY_EVENT = 1,
    TTAPE_NODE_BY_END = 2,
    TTAPE_NODE_BY_START = 3
} ttape_node_by;

typedef struct ttape_node_id {
    ttape_node_kind kind;
    ttape_node_by by;
    uint32_t stream, partition;
    uint64_t place;
} ttape_node_id;

typedef enum ttape_tree_mode {
    TTAPE_TREE_PRUNED = 0,
    TTAPE_TREE_OPENED = 1,
    TTAPE_TREE_FULL = 2,
    TTAPE_TREE_MODE_COUNT = 3
} ttape_tree_mode;

typedef enum ttape_node_end {
    TTAPE_NODE_ENDED = 0,
    TTAPE_NODE_OPEN = 1,
    TTAPE_NODE_HIDDEN = 2,
    TTAPE_NODE_LOST = 3
} ttape_node_end;

typedef struct ttape_pruned {
    uint64_t part_count;
    uint64_t event_count;
    uint64_t call_count;
    bool calls_exact;
    int64_t time_ns;
    uint64_t reserved[1];
} ttape_pruned;

typedef struct ttape_node {
    ttape_node_id id;
    ttape_event_kind frame_kind;
    uint32_t site;
    uint32_t argument;
    uint32_t stack;
    uint32_t level;
    ttape_node_end end;
    uint32_t first_partition, last_partition;
    uint64_t enter_ns;
    uint64_t start_ns, end_ns, end_most_ns;
    int64_t time_ns;
    int64_t self_ns;
    bool self_exact;
    int64_t rest_ns;
    bool is_spanning;
    bool counts_exact;
    uint64_t event_count;
    uint64_t call_count;
    ttape_pruned pruned;
    uint64_t reserved[1];
} ttape_node;

typedef struct ttape_tree_options {
    size_t size;
    uint64_t cache_bytes;
    uint32_t jobs;
} ttape_tree_options;

ttape_status ttape_tree_open(ttape_tree **out, ttape_reader *reader,
                             const ttape_tree_options *options, ttape_error *err);
void ttape_tree_close(ttape_tree *tree);
ttape_status ttape_tree_get_node(ttape_tree *tree, const ttape_node_id *id, ttape_tree_mode mode,
                                 ttape_node *out, ttape_error *err);
typedef struct ttape_report ttape_report;
typedef enum ttape_report_by {
    TTAPE_REPORT_BY_FUNCTION = 0,
    TTAPE_REPORT_BY_NAME = 1,
    TTAPE_REPORT_BY_MODULE = 2,
    TTAPE_REPORT_BY_FILE = 3,
    TTAPE_REPORT_BY_THREAD = 4,
    TTAPE_REPORT_BY_PROCESS = 5,
    TTAPE_REPORT_BY_CALL = 6,
    TTAPE_REPORT_BY_GROUP = 7,
    TTAPE_REPORT_BY_COUNT = 8
} ttape_report_by;

typedef struct ttape_report_options {
    size_t size;
    ttape_report_by by;
    bool exact;
    bool percentiles;
    bool has_range;
    uint64_t from_ns, to_ns;
    const uint32_t *streams;
    uint32_t stream_count;
    uint32_t jobs;
    uint64_t memory_bytes;
    uint32_t (*group)(void *context, uint32_t site);
    bool (*focus)(void *context, uint32_t site);
    bool (*is_idle)(void *context, uint32_t site);
    void (*damage)(void *context, uint32_t partition, const ttape_error *error);
    void *context;
} ttape_report_options;

typedef struct ttape_report_row {
    uint32_t site;
    uint32_t caller;
    uint32_t module;
    uint32_t stream;
    uint32_t process;
    uint32_t group;
    uint64_t call_count;
    uint64_t exit_count;
    int64_t self_ns, total_ns;
    int64_t min_ns, max_ns;
    double mean_ns;
    double deviation_ns;
    double sum_of_squares;
    ttape_wide squares;
    int64_t idle_ns;
    bool idle_known;
    bool decoded;
    int64_t duration_ns;
    double duration_mean_ns, duration_deviation_ns;
    uint64_t recursion_count;
    uint64_t unseen_count;
    uint64_t event_count;
    int64_t span_ns;
    uint64_t reserved[4];
} ttape_report_row;

typedef struct ttape_report_info {
    uint32_t row_count;
    uint32_t stream_count;
    uint64_t partition_count;
    uint64_t decoded_count;
    uint64_t damaged_count;
    uint64_t event_count;
    uint64_t call_count;
    uint64_t unseen_count;
    uint64_t open_count;
    int64_t span_ns;
    int64_t idle_ns;
    bool idle_known;
    bool has_idle;
    bool has_times;
    double percentile_error;
    uint64_t reserved[4];
} ttape_report_info;

ttape_status ttape_report_make(ttape_report **out, ttape_reader *reader,
                               const ttape_report_options *options, ttape_error *err);
void ttape_report_close(ttape_report *report);
void ttape_report_get_info(const ttape_report *report, ttape_report_info *info);
const ttape_report_row *ttape_report_get_rows(const ttape_report *report, uint32_t *row_count);
#endif
