/* The `info` file: a 40-byte header, then lines "key:value".
 *
 *   0 "Ftrace!\0"   8 u32 version   12 u16 header size   14 u8 byte order   15 u8 word class
 *   16 u64 features   24 u64 info mask   32 u16 max stack   34 zero */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"
#include "tools/io/scratch_file.h"

#define HEADER_BYTES       40u
#define VERSION_OFFSET     8u
#define ENDIAN_OFFSET      14u
#define CLASS_OFFSET       15u
#define FEATURES_OFFSET    16u
#define VERSION            4u
#define LITTLE_ENDIAN_MARK 1u
#define CLASS_64           2u

static void keep_text(char **place, const char *text)
{
    free(*place);
    *place = tool_copy_text(text, strlen(text));
}

/* Lines that carry something we need or keep: key in the file -> where it goes. */
static void take_line(struct tool_uft_info *info, const char *text)
{
    struct {
        const char *key;
        char **place;
    } wanted[] = {{"argspec:", &info->argument_specs},      {"retspec:", &info->return_specs},
                  {"argauto:", &info->automatic_arguments}, {"retauto:", &info->automatic_returns},
                  {"pattern_type:", &info->pattern_type},   {"exename:", &info->executable},
                  {"enumauto:", &info->enumerations}};
    if (tool_after(text, "auto-args:1") != NULL)
        info->automatic = true;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const char *value = tool_after(text, wanted[i].key);
        if (value != NULL && tool_after(value, "lines=") == NULL)
            keep_text(wanted[i].place, value);
    }
}

static int check_header(struct tool_uft_recording *recording, const uint8_t *header, size_t got)
{
    const char *input = recording->conversion->input;
    if (got < HEADER_BYTES || memcmp(header, "Ftrace!", 8) != 0)
        return tool_fail("'%s': 'info' is no header of a uftrace recording", input);
    if (header[VERSION_OFFSET] != VERSION || header[VERSION_OFFSET + 1] != 0) {
        return tool_fail("'%s': uftrace data version %u is not supported, only %u", input,
                         header[VERSION_OFFSET], VERSION);
    }
    if (header[ENDIAN_OFFSET] != LITTLE_ENDIAN_MARK)
        return tool_fail("'%s': big-endian recordings are not supported", input);
    recording->info.is_64_bit = header[CLASS_OFFSET] == CLASS_64;
    recording->info.features = tool_load_u64(header + FEATURES_OFFSET);
    return TOOL_OK;
}

int tool_uft_read_info(struct tool_uft_recording *recording)
{
    uint8_t header[HEADER_BYTES];
    const char *input = recording->conversion->input;
    int fd = tool_uft_open(recording, "info");
    if (fd < 0)
        return tool_fail("cannot open 'info' in '%s': %s", input, strerror(errno));
    ssize_t got = tool_read_full(fd, header, sizeof(header), -1);
    int status = got < 0 ? tool_fail("cannot read 'info' in '%s': %s", input, strerror(errno))
                         : check_header(recording, header, (size_t)got);
    if (status == TOOL_OK) {
        struct tool_lines lines;
        struct tool_line line = {0};
        ttp_hash_bytes(&recording->content, header, sizeof(header));
        tool_lines_open(&lines, fd, NULL, 0);
        while (tool_lines_next(&lines, &line)) {
            ttp_hash_bytes(&recording->content, line.text, line.size_bytes);
            take_line(&recording->info, line.text);
        }
        tool_uft_close_lines(recording, &lines, "info");
    } else {
        close(fd);
    }
    return status;
}

void tool_uft_info_close(struct tool_uft_info *info)
{
    free(info->argument_specs);
    free(info->return_specs);
    free(info->automatic_arguments);
    free(info->automatic_returns);
    free(info->enumerations);
    free(info->pattern_type);
    free(info->executable);
}

/* A line of `info` as metadata: text under our key, or a number. */
static ttape_status set_line(ttape_writer *writer, const char *text, ttape_error *err)
{
    static const struct {
        const char *key, *ours;
    } known[] = {{"exename:", "executable"},      {"build_id:", "build_id"},
                 {"cmdline:", "command"},         {"cpuinfo:desc=", "cpu"},
                 {"osinfo:kernel=", "kernel"},    {"osinfo:hostname=", "host"},
                 {"record_date:", "recorded_at"}, {"uftrace_version:", "recorder"}};
    const char *value = tool_after(text, "exit_status:");
    if (value != NULL && *value >= '0' && *value <= '9')
        return ttape_writer_set_number(writer, "exit_status", strtoull(value, NULL, 10), err);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        value = tool_after(text, known[i].key);
        if (value != NULL) {
            ttape_string string = {value, strlen(value)};
            return ttape_writer_set_text(writer, known[i].ours, string, err);
        }
    }
    return TTAPE_OK;
}

int tool_uft_set_metadata(struct tool_uft_recording *recording)
{
    ttape_error err = {0};
    ttape_writer *writer = recording->conversion->writer;
    int fd = tool_uft_open(recording, "info");
    if (fd < 0 || lseek(fd, HEADER_BYTES, SEEK_SET) < 0) {
        if (fd >= 0)
            close(fd);
        return tool_fail("cannot read 'info' in '%s': %s", recording->conversion->input,
                         strerror(errno));
    }
    struct tool_lines lines;
    struct tool_line line = {0};
    ttape_status status =
        ttape_writer_set_text(writer, "source", (ttape_string){"uftrace", 7}, &err);
    if (status == TTAPE_OK)
        status = ttape_writer_set_text(writer, "clock", (ttape_string){"monotonic", 9}, &err);
    tool_lines_open(&lines, fd, NULL, 0);
    while (status == TTAPE_OK && tool_lines_next(&lines, &line))
        status = set_line(writer, line.text, &err);
    tool_uft_close_lines(recording, &lines, "info");
    return status == TTAPE_OK ? TOOL_OK : tool_conversion_fail(recording->conversion, &err);
}
