/* Inputs that are not ours to read, told by how they begin: what each is, and what to type next. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/convert/convert.h"
#include "tools/convert/text_words.h"

#define TEXT_LINES  16u /* of which the first that says something tells what a text is */
#define LINE_BYTES  4096u
#define BYTES(text) text, sizeof(text) - 1

/* What to do. {}: the file's name; | at the end: into `tracetape convert - -o OUT`. */
#define SAMPLES  "it has samples, no calls; record the program with 'tracetape record'"
#define SUMS     "it has sums, no calls; record the program with 'tracetape record'"
#define PANELS   "it has samples, no calls; what DevTools' Performance panel saves has these"
#define FOLDER   "convert the folder that it is in"
#define SOURCE   "convert the recording that it was made of"
#define UTF16(e) "iconv -f UTF-16" e " -t UTF-8 {} |"

struct foreign {
    const char *what, *advice;
};

static const struct {
    const char *bytes;
    size_t size_bytes, offset;
    struct foreign is;
} magics[] = {
    {BYTES("\x1f\x8b"), 0, {"compressed by gzip", "gunzip -c {} |"}},
    {BYTES("PK\3\4"), 0, {"a zip archive", "unzip -p {} |"}},
    {BYTES("\xfd\x37zXZ"), 0, {"compressed by xz", "xz -dc {} |"}},
    {BYTES("BZh"), 0, {"compressed by bzip2", "bzip2 -dc {} |"}},
    {BYTES("\x28\xb5\x2f\xfd"), 0, {"compressed by zstd", "zstd -dc {} |"}},
    {BYTES("\x04\x22\x4d\x18"), 0, {"compressed by lz4", "lz4 -dc {} |"}},
    {BYTES("7z\xbc\xaf\x27\x1c"), 0, {"a 7-Zip archive", "7z x -so {} |"}},
    {BYTES("ustar"), 257, {"a tar archive", "unpack it, and convert what is in it"}},
    {BYTES("\xff\xfe\0\0"), 0, {"UTF-32", "iconv -f UTF-32 -t UTF-8 {} |"}},
    {BYTES("\xff\xfe"), 0, {"UTF-16", UTF16("")}},
    {BYTES("\xfe\xff"), 0, {"UTF-16", UTF16("")}},
    {BYTES("[\0"), 0, {"UTF-16", UTF16("LE")}},
    {BYTES("{\0"), 0, {"UTF-16", UTF16("LE")}},
    {BYTES("\0["), 0, {"UTF-16", UTF16("BE")}},
    {BYTES("\0{"), 0, {"UTF-16", UTF16("BE")}},
    {BYTES("PERFILE2"), 0, {"perf's data", SAMPLES}},
    {BYTES("2ELIFREP"), 0, {"perf's data", SAMPLES}},
    {BYTES("\x17\x08\x44tracing"), 0, {"trace-cmd's data", "trace-cmd report {} |"}},
    {BYTES("gmon"), 0, {"gprof's data", SUMS}},
    {BYTES("# callgrind format"), 0, {"callgrind's output", SUMS}},
    {BYTES("version: 1\ncreator: callgrind"), 0, {"callgrind's output", SUMS}},
    {BYTES("FLR\0"), 0, {"a flight recording of Java's", SAMPLES}},
    {BYTES("\x7f\x45LF"), 0, {"a program or a core dump", "tracetape record -- {}"}},
    {BYTES("SQLite format 3"), 0, {"a database", SOURCE}},
    {BYTES("stream,tid,time_ns,"), 0, {"CSV of 'tracetape dump'", SOURCE}},
    {BYTES("stream,pid,tid,time_ns,"), 0, {"CSV of 'tracetape export'", SOURCE}},
    {BYTES("          TIME (s)      TID"), 0, {"text of 'tracetape dump'", SOURCE}},
    {BYTES("# DURATION "), 0, {"text of 'uftrace replay'", "convert the folder it was made of"}},
    {BYTES("uftrace file header"),
     0,
     {"text of 'uftrace dump'", "convert the folder it was made of"}},
    {BYTES("Ftrace!"), 0, {"a file of a uftrace recording", FOLDER}},
    {BYTES("\xc1\x1f\xfc\xc1"), 0, {"a stream of a CTF trace", FOLDER}},
    {BYTES("\xc1\xfc\x1f\xc1"), 0, {"a stream of a CTF trace", FOLDER}},
    {BYTES("\x57\x1d\xd1\x75"), 0, {"the metadata of a CTF trace", FOLDER}},
    {BYTES("\x75\xd1\x1d\x57"), 0, {"the metadata of a CTF trace", FOLDER}},
    {BYTES("/* CTF 1."), 0, {"the metadata of a CTF trace", FOLDER}},
    {BYTES("\x1e{"), 0, {"the metadata of a CTF trace", FOLDER}},
    {BYTES("---\nheader:"), 0, {"XRay's YAML", "convert the log that it was made of"}}};

/* Keys that stand near the beginning of a file of JSON, or are members of all of it; both must. */
static const struct {
    const char *key, *other;
    struct foreign is;
} keys[] = {{"speedscope.app", "", {"a file of speedscope's", SOURCE}},
            {"\"timeDeltas\"", "\"nodes\"", {"a CPU profile of V8", PANELS}},
            {"\"callFrame\"", "\"nodes\"", {"a CPU profile of V8", PANELS}},
            {"\"preprocessedProfileVersion\"", "", {"a profile of Firefox", SAMPLES}},
            {"\"processType\"", "\"meta\"", {"a profile of Firefox", SAMPLES}},
            {"\"libs\"", "\"meta\"", {"a profile of Firefox", SAMPLES}},
            {"\"threads\"", "\"meta\"", {"a profile of Firefox", SAMPLES}},
            {"\"nodes\"", "\"endTime\"", {"a CPU profile of V8", PANELS}},
            {"\"preamble\"", "\"type\"", {"the metadata of a CTF trace", FOLDER}},
            {"\"linux-perf-json-version\"", "", {"JSON of 'perf data convert'", SAMPLES}},
            {"\"kind\":\"enter\"", "\"time_ns\"", {"JSON of 'tracetape dump'", SOURCE}}};

static const struct foreign perfetto = {"a trace of Perfetto's", "traceconv json {} |"};
static const struct foreign perf_text = {"what 'perf script' wrote", SAMPLES};
static const struct foreign strace_text = {
    "what strace wrote", "record the program's system calls with 'tracetape syscalls'"};
static const struct foreign folded = {"folded stacks", SUMS};

/* ---- bytes ---- */

/* Packets one behind the other: 0a, a varint with their bytes, these. */
static bool is_perfetto(const uint8_t *head, size_t size)
{
    size_t at = 0, packets = 0;
    for (; packets < 3 && at < size; packets++) {
        uint64_t length = 0;
        unsigned shift = 0;
        if (head[at++] != 0x0A)
            return false;
        do {
            if (at >= size || shift > 28)
                return false;
            length |= (uint64_t)(head[at] & 0x7Fu) << shift;
            shift += 7;
        } while (head[at++] & 0x80u);
        if (length == 0 || length > size - at)
            return packets >= 2;
        at += (size_t)length;
    }
    return packets == 3;
}

static bool is_text(const uint8_t *head, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (head[i] < ' ' && head[i] != '\n' && head[i] != '\t' && head[i] != '\r')
            return false;
    return true;
}

static bool is_in(const char *text, size_t size, const char *key)
{
    return memmem(text, size, key, strlen(key)) != NULL;
}

static bool has(const struct tool_conversion *conversion, const char *text)
{
    return is_in((const char *)conversion->head, conversion->head_bytes, text);
}

/* ---- texts ---- */

static size_t digits(const char *at) { return strspn(at, "0123456789"); }

/* "prog 1234 [001] 12345.678901: cycles: ...": a time with a colon behind a number. */
static bool is_perf_line(const char *line)
{
    bool has_pid = false, has_name = false;
    while (*line != '\0') {
        line += strspn(line, " \t");
        size_t size = strcspn(line, " \t"), whole = digits(line);
        size_t rest = whole > 0 && line[whole] == '.' ? digits(line + whole + 1) : 0;
        if (rest >= 6 && line[whole + 1 + rest] == ':' && size == whole + rest + 2)
            return has_pid && has_name;
        has_pid = has_pid || (has_name && whole > 0 &&
                              (whole == size || (line[whole] == '/' && whole < size)));
        has_name = true;
        line += size;
    }
    return false;
}

/* "openat(AT_FDCWD, "x", O_RDONLY) = 3", behind a process and a time, perhaps. */
static bool is_strace_line(const char *line)
{
    const char *at = line;
    if (strncmp(at, "[pid ", 5) == 0)
        at += strcspn(at, "]") + (strchr(at, ']') != NULL);
    at += strspn(at, " 0123456789.:");
    size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *end = strstr(at, ") = ");
    const char *wide = strstr(at, ")  ");
    return name > 1 && at[name] == '(' &&
           (end != NULL || (wide != NULL && strstr(wide, " = ") != NULL));
}

/* "main;work;f(int, int) 12"; no line of raw text. */
static bool is_folded_line(const char *line)
{
    const char *last = strrchr(line, ' ');
    return last != NULL && !tool_text_is_line(line) && digits(last + 1) > 0 &&
           last[1 + digits(last + 1)] == '\0' &&
           (memchr(line, ';', (size_t)(last - line)) != NULL ||
            memchr(line, ' ', (size_t)(last - line)) == NULL);
}

static const struct foreign *find_text(const struct tool_conversion *conversion)
{
    size_t at = 0;
    char line[LINE_BYTES];
    for (unsigned i = 0;
         i < TEXT_LINES && tool_conversion_next_line(conversion, &at, line, sizeof(line)); i++) {
        if (*line == '#' || line[strspn(line, " \t\r")] == '\0')
            continue;
        if (is_perf_line(line))
            return tool_converter_perf.probe(conversion) ? NULL : &perf_text;
        if (is_strace_line(line))
            return &strace_text;
        return is_folded_line(line) ? &folded : NULL;
    }
    return NULL;
}

/* ---- the whole ---- */

static const struct foreign *find_keys(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (is_in(text, size, keys[i].key) && is_in(text, size, keys[i].other))
            return &keys[i].is;
    return NULL;
}

static const struct foreign *find_json(const struct tool_conversion *conversion)
{
    const uint8_t *head = conversion->head;
    size_t size = conversion->head_bytes, at = 0;
    while (at < size && isspace(head[at]))
        at++;
    if (at == size || head[at] != '{' || has(conversion, "\"traceEvents\"") ||
        has(conversion, "\"ph\""))
        return NULL;
    return find_keys((const char *)head, size);
}

static const struct foreign *find_kind(const struct tool_conversion *conversion)
{
    const uint8_t *head = conversion->head;
    size_t size = conversion->head_bytes;
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (size >= magics[i].offset + magics[i].size_bytes &&
            memcmp(head + magics[i].offset, magics[i].bytes, magics[i].size_bytes) == 0)
            return &magics[i].is;
    if (!is_text(head, size))
        return is_perfetto(head, size) ? &perfetto : NULL;
    const struct foreign *found = find_json(conversion);
    return found != NULL ? found : find_text(conversion);
}

static int refuse(const struct tool_conversion *conversion, const struct foreign *found)
{
    bool is_pipe = strcmp(conversion->input, "standard input") == 0;
    const char *place = strstr(found->advice, "{}");
    size_t size = strlen(found->advice);
    bool goes_on = found->advice[size - 1] == '|';
    int before = (int)(place != NULL ? (size_t)(place - found->advice) : size);
    const char *behind = place != NULL ? place + strlen("{}") + is_pipe : "";
    return tool_fail("'%s' is %s: %s%.*s%s%s%s%s", conversion->input, found->what,
                     is_pipe && goes_on ? "... | " : "", before, found->advice,
                     place != NULL && !is_pipe ? conversion->input : "", behind,
                     goes_on ? " tracetape convert - -o " : "", goes_on ? conversion->output : "");
}

int tool_conversion_refuse(const struct tool_conversion *conversion)
{
    const struct foreign *found = conversion->is_directory ? NULL : find_kind(conversion);
    return found == NULL ? TOOL_OK : refuse(conversion, found);
}

int tool_conversion_refuse_members(const struct tool_conversion *conversion, const char *members)
{
    const struct foreign *found = find_keys(members, strlen(members));
    if (found != NULL)
        return refuse(conversion, found);
    return tool_fail("'%s' is JSON, but no trace of Chrome's: %s%s, no array \"traceEvents\" (an "
                     "array of events, or an event a line, is read, too)",
                     conversion->input, members[0] != '\0' ? "it has " : "an object with no member",
                     members);
}
