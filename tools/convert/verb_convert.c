/* tracetape convert: finds the input's format, opens the output late, commits it when all is well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command/options.h"
#include "tools/command/progress.h"
#include "tools/convert/convert.h"

#define WARNINGS_SHOWN 20u
#define PIECES         64u
#define PIECE_BYTES    4096u

static const struct tool_converter *const converters[] = {
    &tool_converter_trace,  &tool_converter_uftrace, &tool_converter_xray,
    &tool_converter_perf,   &tool_converter_ftrace,
#ifdef TOOL_WITH_JSON
    &tool_converter_chrome,
#endif
#ifdef TOOL_WITH_CTF
    &tool_converter_ctf,
#endif
    &tool_converter_text};
#if !defined(TOOL_WITH_JSON) && !defined(TOOL_WITH_CTF)
#define NOT_HERE " (Chrome trace JSON and CTF are not in this build)"
#elif !defined(TOOL_WITH_JSON)
#define NOT_HERE " (Chrome trace JSON is not in this build)"
#elif !defined(TOOL_WITH_CTF)
#define NOT_HERE " (CTF is not in this build)"
#else
#define NOT_HERE ""
#endif
#define CONVERTER_COUNT (sizeof(converters) / sizeof(converters[0]))

static bool parse_partition(const char *text, void *into)
{
    return tool_parse_u32(text, into) && *(uint32_t *)into <= 16777216u;
}

static bool parse_jobs(const char *text, void *into)
{
    return tool_parse_u32(text, into) && *(uint32_t *)into <= 1024;
}

struct trace_id {
    bool given;
    uint8_t bytes[16];
};

static bool parse_trace_id(const char *text, void *into)
{
    struct trace_id *id = into;
    if (strlen(text) != 32)
        return false;
    for (int i = 0; i < 16; i++) {
        int high = tool_hex_digit(text[2 * i]), low = tool_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        id->bytes[i] = (uint8_t)(high << 4 | low);
    }
    id->given = true;
    return true;
}

struct options {
    const char *output, *format, *program;
    uint64_t resolution_ns;
    uint32_t partition_events, jobs, threshold;
    int32_t level;
    bool force, strict, verbose, call_numbers;
    struct trace_id id;
};

static const struct tool_option table[] = {
    {"output", 'o', "FILE", "write the trace to FILE; - is standard output", NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, TOOL_AT(force)},
    {"from-format", 0, "NAME", "uftrace, chrome, ctf, xray, perf, ftrace, text or trace; found out",
     NULL, TOOL_AT(format)},
    {"program", 0, "FILE", "xray: the program that wrote the log, for names", NULL,
     TOOL_AT(program)},
    {"resolution", 0, "HOW", "of times: exact (default), none, or a resolution such as 64ns, 1us",
     tool_parse_resolution, TOOL_AT(resolution_ns)},
    {"level", 'l', "N", "0 (literal form), 1 (fast) .. 9 (small); default 3", tool_parse_level,
     TOOL_AT(level)},
    {"threshold", 0, "N", "literal form: times that a successor must follow (default 2)",
     tool_parse_u32, TOOL_AT(threshold)},
    {"partition-events", 'p', "N", "events in a partition (default 1000000)", parse_partition,
     TOOL_AT(partition_events)},
    {"call-numbers", 0, NULL, "with numbers of open calls, which SQL reads in parallel", NULL,
     TOOL_AT(call_numbers)},
    {"jobs", 'j', "N", "threads that encode; never changes the bytes", parse_jobs, TOOL_AT(jobs)},
    {"trace-id", 0, "HEX", "32 hexadecimal digits; default: drawn from the content", parse_trace_id,
     TOOL_AT(id)},
    {"strict", 0, NULL, "text: fail at the first bad line instead of skipping it", NULL,
     TOOL_AT(strict)},
    {"verbose", 'v', NULL, "say what is read and what is left out", NULL, TOOL_AT(verbose)},
    {0}};

static const struct tool_command command = {
    .verb = "convert",
    .usage = "[OPTION]... INPUT -o FILE",
    .about =
        "Turns a recording into a trace. INPUT is a directory that uftrace recorded, one in the\n"
        "Common Trace Format with LTTng's function events, a Chrome trace in JSON, a log of XRay,\n"
        "what 'perf script --itrace=cr' says of Intel PT, text of the kernel's tracer, a file in\n"
        "tracetape's plain text form (see spec/raw-text.md), a trace that is to be coded anew at\n"
        "another --level, or - for all but directories on standard input.",
    .options = table,
    .examples = "  tracetape convert run.uftrace -o run.ttape\n"
                "  tracetape convert run.uftrace -o small.ttape --resolution 64ns --level 9\n"
                "  tracetape convert run.ttape -o small.ttape --level 9\n"
                "  tracetape convert trace.json -o run.ttape\n"
                "  tracetape convert xray-log.prog.a1b2c3 --program ./prog -o run.ttape\n"
                "  printf '0 1 enter main\\n9 1 exit\\n' | tracetape convert - -o tiny.ttape\n"
                "  tracetape convert run.uftrace -o - | tracetape verify -\n",
    .operands_min = 1,
    .operands_max = 1,
};

/* Runs of one program begin alike: of a file that is longer than its head, pieces all over it count
 * for the id. */
static void hash_pieces(const struct tool_conversion *conversion, struct ttp_hash *content)
{
    uint8_t piece[PIECE_BYTES];
    struct stat file;
    if (fstat(conversion->fd, &file) != 0 || !S_ISREG(file.st_mode) ||
        file.st_size <= (off_t)conversion->head_bytes)
        return;
    uint64_t size_bytes = (uint64_t)file.st_size;
    ttp_hash_word(content, size_bytes);
    for (uint32_t i = 1; i <= PIECES; i++) {
        uint64_t end = i == PIECES ? size_bytes : size_bytes / PIECES * i;
        uint64_t at = end < sizeof piece ? 0 : end - sizeof piece;
        ssize_t got = pread(conversion->fd, piece, sizeof piece, (off_t)at);
        if (got > 0)
            ttp_hash_bytes(content, piece, (size_t)got);
    }
}

bool tool_conversion_is_text(const struct tool_conversion *conversion)
{
    return !conversion->is_directory &&
           memchr(conversion->head, '\0', conversion->head_bytes) == NULL;
}

bool tool_conversion_next_line(const struct tool_conversion *conversion, size_t *at, char *line,
                               size_t room)
{
    if (*at >= conversion->head_bytes)
        return false;
    const uint8_t *from = conversion->head + *at;
    size_t left = conversion->head_bytes - *at;
    const uint8_t *stop = memchr(from, '\n', left);
    size_t size = stop != NULL ? (size_t)(stop - from) : left;
    size_t kept = size < room - 1 ? size : room - 1;
    memcpy(line, from, kept);
    line[kept] = '\0';
    *at += size + 1;
    return true;
}

int tool_conversion_begin(struct tool_conversion *conversion, const struct ttp_hash *content)
{
    struct ttp_hash all = *content;
    ttape_error err = {0};
    if (tool_target_is_input(conversion->output, conversion->input))
        return tool_fail("cannot convert '%s' in place: it is the output too", conversion->input);
    int status = tool_target_open(&conversion->target, conversion->output, conversion->force);
    if (status != TOOL_OK)
        return status;
    if (!conversion->has_id) {
        hash_pieces(conversion, &all);
        ttp_hash_id(&all, conversion->options.trace_id);
    }
    conversion->options.has_trace_id = true;
    if (ttape_writer_open(&conversion->writer, &conversion->target.sink, &conversion->options,
                          &err) != TTAPE_OK)
        return tool_conversion_fail(conversion, &err);
    return TOOL_OK;
}

int tool_conversion_fail(struct tool_conversion *conversion, const ttape_error *err)
{
    bool to_stdout = strcmp(conversion->output, "-") == 0;
    return tool_fail_error(to_stdout ? "standard output" : conversion->output, err);
}

uint64_t tool_conversion_time(struct tool_conversion *conversion, uint64_t time_ns)
{
    if (time_ns != TOOL_TIME_WITHOUT_TICK || conversion->options.resolution_ns > 1)
        return time_ns;
    tool_conversion_warn(conversion, "time %llu cannot be stored: taken 1 ns earlier",
                         (unsigned long long)time_ns);
    return time_ns - 1;
}

void tool_conversion_warn(struct tool_conversion *conversion, const char *format, ...)
{
    if (conversion->warning_count++ >= WARNINGS_SHOWN)
        return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tool_message("'%s': %s", conversion->input, text);
}

static int open_input(struct tool_conversion *conversion)
{
    if (strcmp(conversion->input, "-") == 0) {
        conversion->input = "standard input";
        conversion->fd = STDIN_FILENO;
        return TOOL_OK;
    }
    /* O_NONBLOCK: a FIFO without a writer must not hang us before we see that it is one. */
    conversion->fd = open(conversion->input, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (conversion->fd < 0 || fstat(conversion->fd, &status) != 0)
        return tool_fail("cannot open '%s': %s", conversion->input, strerror(errno));
    conversion->is_directory = S_ISDIR(status.st_mode);
    if (!conversion->is_directory && !S_ISREG(status.st_mode)) {
        return tool_fail("cannot read '%s': not a regular file or directory (- reads a pipe)",
                         conversion->input);
    }
    return TOOL_OK;
}

static int read_head(struct tool_conversion *conversion, uint8_t *head)
{
    conversion->head = head;
    while (!conversion->is_directory && conversion->head_bytes < TOOL_HEAD_BYTES) {
        ssize_t got = read(conversion->fd, head + conversion->head_bytes,
                           TOOL_HEAD_BYTES - conversion->head_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tool_fail("cannot read '%s': %s", conversion->input, strerror(errno));
        if (got == 0)
            break;
        conversion->head_bytes += (size_t)got;
    }
    return TOOL_OK;
}

static const struct tool_converter *find_converter(const char *format,
                                                   const struct tool_conversion *conversion)
{
    for (size_t i = 0; i < CONVERTER_COUNT; i++)
        if (format != NULL ? strcmp(converters[i]->name, format) == 0
                           : converters[i]->probe(conversion))
            return converters[i];
    return NULL;
}

/* Level 0 is the literal form wherever that is not the larger one. */
static void tell_raw(const struct tool_conversion *conversion)
{
    ttape_writer_progress progress;
    ttape_writer_get_progress(conversion->writer, &progress);
    if (progress.raw_count > 0) {
        tool_message("'%s': the order of %llu of %llu partitions has the raw form: the literal one "
                     "does not pay",
                     conversion->output, (unsigned long long)progress.raw_count,
                     (unsigned long long)progress.partition_count);
    }
}

/* Ends the trace and gives it its name; `status` is what the converter said. */
static int finish_conversion(struct tool_conversion *conversion, int status)
{
    ttape_error err = {0};
    if (status == TOOL_CANNOT || conversion->writer == NULL)
        return TOOL_CANNOT;
    if (ttape_writer_finish(conversion->writer, &err) != TTAPE_OK)
        return tool_conversion_fail(conversion, &err);
    tell_raw(conversion);
    int committed = tool_target_commit(&conversion->target);
    return committed != TOOL_OK ? committed : status;
}

static void summarise(const struct tool_conversion *conversion)
{
    if (conversion->warning_count > WARNINGS_SHOWN) {
        tool_message("%llu warnings in all, %u shown",
                     (unsigned long long)conversion->warning_count, WARNINGS_SHOWN);
    }
}

static int convert(struct tool_conversion *conversion, const char *format, uint8_t *head)
{
    int status = open_input(conversion);
    if (status == TOOL_OK)
        status = read_head(conversion, head);
    if (status == TOOL_OK && format == NULL)
        status = tool_conversion_refuse(conversion);
    if (status != TOOL_OK)
        return status;
    const struct tool_converter *converter = find_converter(format, conversion);
    if (converter == NULL) {
        return tool_fail("cannot tell the format of '%s': neither a directory of uftrace or CTF "
                         "nor Chrome trace JSON nor a log of XRay nor text nor a trace" NOT_HERE,
                         conversion->input);
    }
    if (conversion->program != NULL && converter != &tool_converter_xray)
        return tool_fail("'%s' is read as %s: --program is for logs of XRay", conversion->input,
                         converter->name);
    if (conversion->verbose)
        tool_message("reading '%s' as %s", conversion->input, converter->name);
    tool_progress_start("convert");
    status = converter->run(conversion);
    tool_progress_stop();
    status = finish_conversion(conversion, status);
    summarise(conversion);
    return status;
}

static bool is_format(const char *name)
{
    for (size_t i = 0; i < CONVERTER_COUNT; i++)
        if (strcmp(converters[i]->name, name) == 0)
            return true;
    return false;
}

static bool is_optional(const char *name)
{
    return strcmp(name, "chrome") == 0 || strcmp(name, "ctf") == 0;
}

int tool_verb_convert(int argc, char **argv)
{
    int count, status;
    struct options options = {.level = TTAPE_LEVEL_DEFAULT};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options.output == NULL)
        return tool_usage("convert", "-o FILE is missing");
    if (options.format != NULL && !is_format(options.format)) {
        return is_optional(options.format)
                   ? tool_fail("'%s' is not in this build: its library was missing", options.format)
                   : tool_usage("convert", "unknown format '%s'", options.format);
    }
    struct tool_conversion conversion = {
        .input = argv[0],
        .program = options.program,
        .fd = -1,
        .verbose = options.verbose,
        .strict = options.strict,
        .output = options.output,
        .force = options.force,
        .has_id = options.id.given,
        .target = {.fd = -1},
        .options = {.size = sizeof(ttape_writer_options),
                    .resolution_ns = options.resolution_ns,
                    .partition_events = options.partition_events,
                    .level = options.level,
                    .call_numbers = options.call_numbers,
                    .literal = options.level == TTAPE_LEVEL_LITERAL,
                    .jobs = options.jobs,
                    .chain_threshold = options.threshold}};
    memcpy(conversion.options.trace_id, options.id.bytes, sizeof(options.id.bytes));
    uint8_t *head = tool_allocate(TOOL_HEAD_BYTES, 1);
    status = convert(&conversion, options.format, head);
    ttape_writer_close(conversion.writer);
    tool_target_close(&conversion.target);
    if (conversion.fd > STDERR_FILENO)
        close(conversion.fd);
    free(head);
    return status;
}
