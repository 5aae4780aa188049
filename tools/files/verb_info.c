/* tracetape info: what a trace holds and where its bytes went, from index and definitions alone. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/writer.h>

#include "tools/calls/end_words.h"
#include "tools/calls/hook_cost.h"
#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/wrap.h"
#include "tools/files/info_chains.h"
#include "tools/files/info_machine.h"
#include "tools/files/info_rollup.h"
#include "tools/io/input.h"
#include "tools/io/json.h"
#include "tools/io/operands/operands.h"
#include "tools/io/unrecorded_words.h"

#define STREAMS_SHOWN    10u
#define PARTITIONS_SHOWN 5u
#define CHAINS_SHOWN     10u

struct options {
    bool json, all, chains;
    uint32_t limit, threshold; /* 0: not said */
    struct tool_range partitions;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"all", 'a', NULL, "list all streams, partitions and chains, not just the first", NULL,
     TOOL_AT(all)},
    {"chains", 0, NULL, "event chains and sequence-frequency records instead", NULL,
     TOOL_AT(chains)},
    {"partition", 0, "A..B", "with --chains: partitions A up to before B (0..1)", tool_parse_range,
     TOOL_AT(partitions)},
    {"limit", 'n', "N", "with --chains: at most N records and N chains of each (10)",
     tool_parse_u32, TOOL_AT(limit)},
    {"threshold", 0, "N", "with --chains: times that a successor must follow (default 1)",
     tool_parse_u32, TOOL_AT(threshold)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "info",
    .usage = "[OPTION]... FILE|-|FOLDER|@LIST...",
    .about = "Says what is in a trace, or a rollup, and where every byte of the file went. Reads "
             "the index\n"
             "and no events, unless chains are asked for.",
    .options = table,
    .examples = "  tracetape info run.ttape\n"
                "  tracetape info --json run.ttape | jq .bytes\n"
                "  tracetape info --chains run.ttape\n",
    .operands_min = 1,
    .operands_max = INT_MAX,
};

/* The fields of ttape_byte_counts, in print order. */
static const struct {
    const char *name;
    size_t offset;
} parts[] = {{"order", offsetof(ttape_byte_counts, order)},
             {"times", offsetof(ttape_byte_counts, times)},
             {"values", offsetof(ttape_byte_counts, values)},
             {"summaries", offsetof(ttape_byte_counts, summaries)},
             {"sites", offsetof(ttape_byte_counts, sites)},
             {"models", offsetof(ttape_byte_counts, models)},
             {"other", offsetof(ttape_byte_counts, other)}};
#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static uint64_t part_of(const ttape_byte_counts *bytes, size_t part)
{
    uint64_t value;
    memcpy(&value, (const char *)bytes + parts[part].offset, sizeof(value));
    return value;
}

struct printing {
    const struct options *options;
    const struct tool_input *input;
    const ttape_reader *reader;
    ttape_info info;
    struct tool_output out;
    struct tool_json json;
    struct tool_hook_cost cost;
    int status;
};

static double per_event(const struct printing *print, uint64_t bytes)
{
    return print->info.event_count > 0 ? (double)bytes / (double)print->info.event_count : 0;
}

static void hex_id(const uint8_t id[16], char text[33])
{
    for (int i = 0; i < 16; i++) {
        text[2 * i] = "0123456789abcdef"[id[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
    text[32] = '\0';
}

/* Text, padded to `width` on the right as far as bytes go. */
static void put_text(struct printing *print, ttape_string text, size_t width)
{
    tool_output_escaped(&print->out, TTP_ESCAPE_TEXT, text);
    for (size_t i = text.size_bytes; i < width; i++)
        tool_output_text(&print->out, " ");
}

static void put_seconds(struct printing *print, uint64_t time_ns)
{
    tool_output_printf(&print->out, "%" PRIu64 ".%09" PRIu64 " s", time_ns / 1000000000u,
                       time_ns % 1000000000u);
}

static ttape_string process_name(const struct printing *print, uint32_t process)
{
    ttape_process found;
    return ttape_reader_get_process(print->reader, process, &found) == TTAPE_OK
               ? found.name
               : (ttape_string){"", 0};
}

static void print_times(struct printing *print)
{
    const ttape_info *info = &print->info;
    tool_output_text(&print->out, "time        ");
    if (info->resolution_ns == TTAPE_TIME_NONE) {
        tool_output_text(&print->out, "none (order only)\n");
        return;
    }
    put_seconds(print, info->time_first_ns);
    tool_output_text(&print->out, " to ");
    put_seconds(print, info->time_last_ns);
    if (info->time_last_ns >= info->time_first_ns) {
        tool_output_text(&print->out, ", ");
        put_seconds(print, info->time_last_ns - info->time_first_ns);
        tool_output_text(&print->out, " long");
    }
    if (info->resolution_ns <= 1)
        tool_output_text(&print->out, ", exact\n");
    else
        tool_output_printf(&print->out, ", in steps of %" PRIu64 " ns\n", info->resolution_ns);
}

/* Processes that recorded nothing for that reason, as the metadata of all scopes say. */
static uint64_t unrecorded(const struct printing *print, uint32_t reason)
{
    ttape_metadata_entry entry;
    const char *prefix = "unrecorded_", *name = tool_unrecorded_name(reason);
    size_t prefix_bytes = strlen(prefix), name_bytes = strlen(name);
    uint64_t sum = 0;
    for (uint32_t i = 0; ttape_reader_get_metadata(print->reader, i, &entry) == TTAPE_OK; i++)
        if (entry.type == TTAPE_METADATA_NUMBER &&
            entry.key.size_bytes == prefix_bytes + name_bytes &&
            memcmp(entry.key.data, prefix, prefix_bytes) == 0 &&
            memcmp(entry.key.data + prefix_bytes, name, name_bytes) == 0)
            sum += entry.number;
    return sum;
}

static void print_unrecorded(struct printing *print)
{
    const char *before = "unrecorded  ";
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++) {
        uint64_t count = unrecorded(print, i);
        if (count == 0)
            continue;
        tool_output_printf(&print->out, "%s%" PRIu64 " %s %s", before, count,
                           count == 1 ? "process" : "processes", tool_unrecorded_words(i));
        before = ", ";
    }
    if (*before == ',')
        tool_output_text(&print->out, "\n");
}

static void json_unrecorded(struct printing *print)
{
    tool_json_begin(&print->json, "unrecorded", '{');
    for (uint32_t i = 0; i < TTAPE_UNRECORDED_COUNT; i++)
        if (unrecorded(print, i) != 0)
            tool_json_number(&print->json, tool_unrecorded_name(i), unrecorded(print, i));
    tool_json_end(&print->json, '}');
}

static bool is_key(const ttape_metadata_entry *entry, const char *key)
{
    return entry->type == TTAPE_METADATA_NUMBER && tool_text_is(entry->key, key);
}

/* How the command ended, of each recording that is in the file. */
static void print_end(struct printing *print)
{
    ttape_metadata_entry entry;
    char words[TOOL_END_BYTES];
    for (uint32_t i = 0; ttape_reader_get_metadata(print->reader, i, &entry) == TTAPE_OK; i++) {
        bool is_signal = is_key(&entry, "signal");
        if (!is_signal && !is_key(&entry, "exit_code"))
            continue;
        tool_process_end_words(is_signal ? TTAPE_PROCESS_END_SIGNAL : TTAPE_PROCESS_END_EXIT,
                               entry.number, words);
        tool_output_printf(&print->out, "command     %s\n", words);
    }
}

/* What no gap counts; and why, where it was the program's own doing. */
static void print_losses(struct printing *print)
{
    uint64_t dropped = tool_lost_nowhere(print->reader);
    uint64_t sandboxed = tool_lost_sandboxed(print->reader);
    if (dropped != 0)
        tool_output_printf(&print->out,
                           "            %" PRIu64 " events more, and no gap says where\n", dropped);
    if (sandboxed != 0)
        tool_output_printf(&print->out,
                           "            %" PRIu64 " events in a sandbox: behind gaps of that "
                           "reason\n",
                           sandboxed);
}

static void print_defined(struct printing *print)
{
    const ttape_info *info = &print->info;
    const struct {
        uint32_t count;
        const char *one, *more;
    } kinds[] = {{info->site_count, "site", "sites"},
                 {info->module_count, "module", "modules"},
                 {info->process_count, "process", "processes"},
                 {info->stream_count, "stream", "streams"},
                 {info->scope_count, "scope", "scopes"},
                 {ttape_reader_path_count(print->reader), "path", "paths"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (i < 5 || kinds[i].count != 0)
            tool_output_printf(&print->out, "%s%" PRIu32 " %s", i == 0 ? "defined     " : ", ",
                               kinds[i].count, kinds[i].count == 1 ? kinds[i].one : kinds[i].more);
    tool_output_text(&print->out, "\n");
}

static void print_head(struct printing *print)
{
    const ttape_info *info = &print->info;
    char id[33];
    hex_id(info->trace_id, id);
    tool_output_text(&print->out, "file        ");
    put_text(print, (ttape_string){print->input->name, strlen(print->input->name)}, 0);
    tool_output_printf(&print->out, ", %" PRIu64 " bytes, ", info->file_bytes);
    if (print->input->is_growing) {
        tool_output_text(&print->out, "still written\n");
    } else if (info->truncated) {
        tool_output_printf(&print->out, "truncated: complete up to byte %" PRIu64 "\n",
                           info->truncated_at);
    } else {
        tool_output_text(&print->out, info->complete ? "complete\n" : "without an index\n");
    }
    tool_output_printf(&print->out, "format      %u.%u, readable from %u.%u on; trace %s\n",
                       info->major_version, info->minor_version, info->major_version,
                       info->required_minor, id);
    tool_output_printf(&print->out,
                       "events      %" PRIu64 " in %" PRIu64 " partition%s; %.3f bytes per event\n",
                       info->event_count, info->partition_count,
                       info->partition_count == 1 ? "" : "s", per_event(print, info->file_bytes));
    print_times(print);
    print_defined(print);
    tool_output_printf(&print->out, "lost        %" PRIu64 " gaps, %" PRIu64 " events\n",
                       info->gap_count, info->lost_count);
    print_losses(print);
    if (print->cost.is_known) {
        char words[TOOL_HOOK_WORDS_BYTES];
        tool_output_printf(&print->out, "recording   %s\n",
                           tool_hook_cost_words(&print->cost, words));
    }
    print_unrecorded(print);
    print_end(print);
    if (info->scope_count == 1)
        tool_info_print_machine(print->reader, &print->out);
    if (info->unknown_chunk_count > 0) {
        tool_output_printf(&print->out, "unknown     %" PRIu64 " chunks of kinds that are newer\n",
                           info->unknown_chunk_count);
    }
}

static void print_bytes(struct printing *print)
{
    const ttape_info *info = &print->info;
    tool_output_text(&print->out, "\nbytes               in all     share    per event\n");
    for (size_t i = 0; i < PART_COUNT; i++) {
        uint64_t bytes = part_of(&info->bytes, i);
        double share = info->file_bytes > 0 ? 100.0 * (double)bytes / (double)info->file_bytes : 0;
        tool_output_printf(&print->out, "  %-10s %13" PRIu64 "  %6.2f %%  %11.4f\n", parts[i].name,
                           bytes, share, per_event(print, bytes));
    }
}

static void print_streams(struct printing *print)
{
    uint32_t count = print->info.stream_count;
    uint32_t shown = print->options->all || count <= STREAMS_SHOWN ? count : STREAMS_SHOWN;
    tool_output_text(&print->out, "\nstream        pid        tid         events  name\n");
    for (uint32_t i = 0; i < shown; i++) {
        ttape_stream_info stream;
        if (ttape_reader_get_stream(print->reader, i, &stream) != TTAPE_OK)
            break;
        ttape_string name = stream.stream.name;
        tool_output_printf(&print->out, "%6" PRIu32 " %10" PRIu64 " %10" PRIu64 " %14" PRIu64 "  ",
                           i, stream.pid, stream.stream.tid, stream.event_count);
        put_text(print, name.size_bytes > 0 ? name : process_name(print, stream.stream.process), 0);
        if (stream.first_event > 0 || stream.missing_count > 0) {
            tool_output_printf(&print->out, " (from event %" PRIu64 ", %" PRIu64 " missing)",
                               stream.first_event, stream.missing_count);
        }
        tool_output_text(&print->out, "\n");
    }
    if (shown < count)
        tool_output_printf(&print->out, "  ... %" PRIu32 " more (--all)\n", count - shown);
}

static void print_partitions(struct printing *print)
{
    uint64_t count = print->info.partition_count;
    uint64_t shown = print->options->all || count <= PARTITIONS_SHOWN ? count : PARTITIONS_SHOWN;
    tool_output_text(&print->out,
                     "\npartition         offset        bytes     events  segments  from\n");
    for (uint32_t i = 0; i < shown; i++) {
        ttape_partition_info partition;
        if (ttape_reader_get_partition(print->reader, i, &partition) != TTAPE_OK)
            break;
        tool_output_printf(&print->out,
                           "%9" PRIu32 " %14" PRIu64 " %12" PRIu64 " %10" PRIu32 " %9" PRIu32 "  ",
                           i, partition.offset, partition.stored_bytes, partition.event_count,
                           partition.segment_count);
        if (partition.resolution_ns != TTAPE_TIME_NONE)
            put_seconds(print, partition.time_first_ns);
        else
            tool_output_text(&print->out, "-");
        tool_output_text(&print->out, "\n");
    }
    if (shown < count)
        tool_output_printf(&print->out, "      ... %" PRIu64 " more (--all)\n", count - shown);
}

/* The trace id is in the head already. */
static bool is_hidden(const ttape_metadata_entry *entry)
{
    return entry->type == TTAPE_METADATA_OTHER && entry->key.size_bytes == 8 &&
           memcmp(entry->key.data, "trace_id", 8) == 0;
}

static void print_metadata(struct printing *print)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(print->reader, i, &entry) == TTAPE_OK; i++) {
        tool_output_text(&print->out, i == 0 ? "\nmetadata\n" : "");
        if (is_hidden(&entry))
            continue;
        if (print->info.scope_count > 1)
            tool_output_printf(&print->out, "  scope %" PRIu32, entry.scope);
        tool_output_text(&print->out, "  ");
        put_text(print, entry.key, 14);
        tool_output_text(&print->out, " ");
        if (entry.type == TTAPE_METADATA_TEXT)
            put_text(print, entry.text, 0);
        else if (entry.type == TTAPE_METADATA_NUMBER)
            tool_output_printf(&print->out, "%" PRIu64, entry.number);
        else
            tool_output_text(&print->out, "(not shown)");
        tool_output_text(&print->out, "\n");
    }
}

static void json_head(struct printing *print)
{
    const ttape_info *info = &print->info;
    struct tool_json *json = &print->json;
    char id[33];
    hex_id(info->trace_id, id);
    tool_json_text(json, "file", print->input->name);
    tool_json_number(json, "file_bytes", info->file_bytes);
    tool_json_number(json, "major_version", info->major_version);
    tool_json_number(json, "minor_version", info->minor_version);
    tool_json_number(json, "required_minor", info->required_minor);
    tool_json_text(json, "trace_id", id);
    tool_json_bool(json, "complete", info->complete);
    tool_json_bool(json, "growing", print->input->is_growing);
    tool_json_bool(json, "by_index", info->by_index);
    tool_json_bool(json, "truncated", info->truncated);
    tool_json_number_if(json, "truncated_at", info->truncated, info->truncated_at);
    tool_json_number(json, "events", info->event_count);
    tool_json_number(json, "partitions", info->partition_count);
    tool_json_number(json, "chunks", info->chunk_count);
    tool_json_number(json, "unknown_chunks", info->unknown_chunk_count);
    tool_json_number(json, "scopes", info->scope_count);
    tool_json_number(json, "sites", info->site_count);
    tool_json_number(json, "modules", info->module_count);
    tool_json_number(json, "processes", info->process_count);
    tool_json_number(json, "streams", info->stream_count);
    tool_json_number(json, "paths", ttape_reader_path_count(print->reader));
    tool_json_number(json, "gaps", info->gap_count);
    tool_json_number(json, "lost", info->lost_count);
    tool_json_number(json, "dropped", tool_lost_nowhere(print->reader));
    tool_json_number(json, "sandboxed", tool_lost_sandboxed(print->reader));
    tool_json_number_if(json, "hook_ns", print->cost.is_known, print->cost.hook_ns);
    tool_json_number_if(json, "hook_cost_ns", print->cost.is_known, print->cost.cost_ns);
    if (print->cost.is_known)
        tool_json_real(json, "hook_share", print->cost.share);
    else
        tool_json_null(json, "hook_share");
}

static void json_times(struct printing *print)
{
    const ttape_info *info = &print->info;
    struct tool_json *json = &print->json;
    bool has_times = info->resolution_ns != TTAPE_TIME_NONE;
    tool_json_number_if(json, "resolution_ns", has_times,
                        info->resolution_ns > 0 ? info->resolution_ns : 1);
    tool_json_number_if(json, "time_first_ns", has_times, info->time_first_ns);
    tool_json_number_if(json, "time_last_ns", has_times, info->time_last_ns);
}

static void json_streams(struct printing *print)
{
    struct tool_json *json = &print->json;
    uint32_t count = print->info.stream_count;
    uint32_t shown = print->options->all || count <= STREAMS_SHOWN ? count : STREAMS_SHOWN;
    tool_json_begin(json, "stream_list", '[');
    for (uint32_t i = 0; i < shown; i++) {
        ttape_stream_info stream;
        if (ttape_reader_get_stream(print->reader, i, &stream) != TTAPE_OK)
            break;
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "stream", i);
        tool_json_number(json, "scope", stream.scope);
        tool_json_number(json, "pid", stream.pid);
        tool_json_number(json, "tid", stream.stream.tid);
        tool_json_string(json, "process", process_name(print, stream.stream.process));
        tool_json_string(json, "name", stream.stream.name);
        tool_json_number(json, "start_time_ns", stream.stream.start_time_ns);
        tool_json_number(json, "first_event", stream.first_event);
        tool_json_number(json, "events", stream.event_count);
        tool_json_number(json, "missing", stream.missing_count);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void json_partitions(struct printing *print)
{
    struct tool_json *json = &print->json;
    tool_json_begin(json, "partition_list", '[');
    for (uint32_t i = 0;
         i < print->info.partition_count && (print->options->all || i < PARTITIONS_SHOWN); i++) {
        ttape_partition_info partition;
        if (ttape_reader_get_partition(print->reader, i, &partition) != TTAPE_OK)
            break;
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "partition", i);
        tool_json_number(json, "offset", partition.offset);
        tool_json_number(json, "bytes", partition.stored_bytes);
        tool_json_number(json, "scope", partition.scope);
        tool_json_number(json, "events", partition.event_count);
        tool_json_number(json, "segments", partition.segment_count);
        tool_json_number(json, "time_first_ns", partition.time_first_ns);
        tool_json_number(json, "time_end_ns", partition.time_end_ns);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void json_metadata(struct printing *print)
{
    ttape_metadata_entry entry;
    struct tool_json *json = &print->json;
    tool_json_begin(json, "metadata", '[');
    for (uint32_t i = 0; ttape_reader_get_metadata(print->reader, i, &entry) == TTAPE_OK; i++) {
        if (is_hidden(&entry))
            continue;
        tool_json_begin(json, NULL, '{');
        tool_json_number(json, "scope", entry.scope);
        tool_json_string(json, "key", entry.key);
        if (entry.type == TTAPE_METADATA_TEXT)
            tool_json_string(json, "value", entry.text);
        else if (entry.type == TTAPE_METADATA_NUMBER)
            tool_json_number(json, "value", entry.number);
        else
            tool_json_null(json, "value");
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}

static void print_chains(struct printing *print, struct tool_json *json)
{
    const struct options *o = print->options;
    struct tool_info_chains view = {.input = print->input,
                                    .out = &print->out,
                                    .json = json,
                                    .from = o->partitions.from,
                                    .to = o->partitions.given ? o->partitions.to : 1,
                                    .threshold = o->threshold,
                                    .limit = o->limit != 0 ? o->limit : CHAINS_SHOWN};
    if (o->all && !o->partitions.given)
        view.to = UINT64_MAX;
    if (o->all && o->limit == 0)
        view.limit = UINT64_MAX;
    tool_site_names_open_as(&view.names, print->reader,
                            tool_name_style(TOOL_NAMES_USUAL, json != NULL));
    print->status = tool_info_print_chains(&view);
    tool_site_names_close(&view.names);
}

static void print_json(struct printing *print)
{
    tool_json_open(&print->json, &print->out);
    tool_json_begin(&print->json, NULL, '{');
    json_head(print);
    json_times(print);
    tool_json_real(&print->json, "bytes_per_event", per_event(print, print->info.file_bytes));
    tool_json_begin(&print->json, "bytes", '{');
    for (size_t i = 0; i < PART_COUNT; i++)
        tool_json_number(&print->json, parts[i].name, part_of(&print->info.bytes, i));
    tool_json_end(&print->json, '}');
    json_unrecorded(print);
    json_streams(print);
    json_partitions(print);
    json_metadata(print);
    if (print->options->chains)
        print_chains(print, &print->json);
    tool_json_end(&print->json, '}');
}

static int print_all(void *context, const struct tool_input *input)
{
    struct printing print = {.options = context, .input = input, .reader = input->reader};
    ttape_reader_get_info(input->reader, &print.info);
    tool_hook_cost_find(&print.cost, input->reader);
    tool_output_open(&print.out, STDOUT_FILENO);
    if (print.options->json) {
        print_json(&print);
    } else if (print.options->chains) {
        print_chains(&print, NULL);
    } else {
        struct tool_folding folding = tool_folding_open(&print.out, 17); /* of values */
        print_head(&print);
        print_bytes(&print);
        print_streams(&print);
        print_partitions(&print);
        print_metadata(&print);
        tool_folding_close(&folding);
    }
    int status = tool_output_close(&print.out);
    return status != TOOL_OK ? status : print.status;
}

/* One after the other; of several those that cannot be read are left out. */
static int print_files(struct options *options, const struct tool_operands *operands)
{
    int status = TOOL_OK;
    size_t unread = 0;
    for (size_t i = 0; i < operands->count; i++) {
        const char *path = operands->paths[i];
        if (i > 0 && !options->json)
            (void)puts("");
        (void)fflush(stdout);
        int one = tool_is_rollup(path)
                      ? tool_info_print_rollup(path, options->json, options->memory_bytes)
                      : tool_input_run(path, 1, options->memory_bytes, print_all, options);
        if (!operands->are_many)
            return one;
        unread += one == TOOL_CANNOT;
        status = one != TOOL_OK ? TOOL_LOSS : status;
    }
    return unread < operands->count ? status : tool_fail("none of the files could be read");
}

int tool_verb_info(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (!options.chains &&
        (options.limit != 0 || options.partitions.given || options.threshold != 0))
        return tool_usage(command.verb, "--limit, --partition and --threshold need --chains");
    tool_memory_bound(options.memory_bytes);
    struct tool_operands operands;
    status = tool_operands_take(&operands, count, argv);
    if (status == TOOL_OK)
        status = print_files(&options, &operands);
    tool_operands_close(&operands);
    return status;
}
