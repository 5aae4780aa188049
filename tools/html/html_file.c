/* The file: fixed text, and everything of a trace in base64, so that no byte of it is markup.
 *
 *   | head: the policy, style | engine | notes | trace, in pieces | worker | script |
 *
 * The policy lets in the page's own script and style by their hashes, a worker made from a blob,
 * and WebAssembly; nothing can be loaded from anywhere. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/html/html.h"
#include "tools/html/page_files.h"
#include "tools/io/scratch_file.h"

#define PIECE_BYTES (UINT64_C(6) << 20) /* a multiple of 3, so that only the last one is padded */
#define HASH_BYTES  32u

static const char head_begin[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<!-- Made by tracetape. The reader in it holds code of zstd (Meta Platforms, BSD licence), "
    "xxHash "
    "(Yann Collet, BSD licence) and wasi-libc (MIT licence). -->\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'wasm-unsafe-eval' 'sha256-";
static const char head_style[] = "'; style-src 'sha256-";
static const char head_end[] =
    "'; worker-src blob:; img-src blob:; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types tracetape\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>tracetape</title>\n<style>";
static const char body_begin[] =
    "</style>\n</head>\n<body>\n<noscript>This page is a trace of a program, and what reads it: it "
    "needs JavaScript. It loads nothing, and sends nothing.</noscript>\n";

int html_check_build(void)
{
    for (int i = HTML_PART_SCRIPT; i <= HTML_PART_STYLE_HASH; i++)
        if (html_find_part((enum html_part)i).bytes == NULL)
            return tool_fail("format 'html' is not in this build for want of %s: scripts/setup "
                             "(of Debian packages scripts/package) brings what it takes; then "
                             "build it again",
                             TOOL_ENGINE_MISSING[0] != '\0' ? TOOL_ENGINE_MISSING : "its page");
    return TOOL_OK;
}

/* ---- base64 ---- */

struct encoder {
    struct tool_output *out;
    uint8_t kept[3];
    uint32_t kept_count;
};

static void put_triple(struct encoder *e, uint32_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)e->kept[0] << 16 | (uint32_t)e->kept[1] << 8 | e->kept[2];
    char four[] = {digits[bits >> 18], digits[bits >> 12 & 63],
                   count > 1 ? digits[bits >> 6 & 63] : '=', count > 2 ? digits[bits & 63] : '='};
    char *at = tool_output_reserve(e->out, sizeof four);
    tool_output_commit(e->out, tool_put_bytes(at, four, sizeof four));
    memset(e->kept, 0, sizeof e->kept);
    e->kept_count = 0;
}

static void encode(struct encoder *e, const uint8_t *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        e->kept[e->kept_count++] = bytes[i];
        if (e->kept_count == 3)
            put_triple(e, 3);
    }
}

static void finish_encoder(struct encoder *e)
{
    if (e->kept_count > 0)
        put_triple(e, e->kept_count);
}

static uint64_t encoded_bytes(uint64_t size_bytes) { return (size_bytes + 2) / 3 * 4; }

static void put_hash(struct tool_output *out, enum html_part part)
{
    struct encoder e = {.out = out};
    struct view_file hash = html_find_part(part);
    for (size_t i = 0; i + 1 < hash.size_bytes && i < 2 * (size_t)HASH_BYTES; i += 2) {
        char two[] = {(char)hash.bytes[i], (char)hash.bytes[i + 1], '\0'};
        uint8_t byte = (uint8_t)strtoul(two, NULL, 16);
        encode(&e, &byte, 1);
    }
    finish_encoder(&e);
}

/* ---- blocks ---- */

/* Text of another type than a script's is data to a browser. */
static void begin_block(struct tool_output *out, const char *what)
{
    tool_output_printf(out, "<script type=\"text/plain\" data-is=\"%s\">", what);
}

static void end_block(struct tool_output *out) { tool_output_text(out, "</script>\n"); }

static void put_block(struct tool_output *out, const char *what, const void *bytes,
                      size_t size_bytes)
{
    struct encoder e = {.out = out};
    begin_block(out, what);
    encode(&e, bytes, size_bytes);
    finish_encoder(&e);
    end_block(out);
}

static void put_part(struct tool_output *out, enum html_part part)
{
    struct view_file file = html_find_part(part);
    tool_output_bytes(out, file.bytes, file.size_bytes);
}

static bool put_trace(struct tool_output *out, const struct html_cut *cut)
{
    uint8_t bytes[3 << 14];
    for (uint64_t start = 0; start < cut->size_bytes; start += PIECE_BYTES) {
        struct encoder e = {.out = out};
        uint64_t left = cut->size_bytes - start;
        left = left < PIECE_BYTES ? left : PIECE_BYTES;
        begin_block(out, "trace");
        for (uint64_t done = 0; done < left;) {
            size_t wanted = left - done < sizeof bytes ? (size_t)(left - done) : sizeof bytes;
            if (tool_read_full(cut->fd, bytes, wanted, (off_t)(start + done)) != (ssize_t)wanted)
                return false;
            encode(&e, bytes, wanted);
            done += wanted;
        }
        finish_encoder(&e);
        end_block(out);
    }
    return true;
}

static void put_head(struct tool_output *out)
{
    struct view_file engine = html_find_part(HTML_PART_ENGINE);
    tool_output_text(out, head_begin);
    put_hash(out, HTML_PART_SCRIPT_HASH);
    tool_output_text(out, head_style);
    put_hash(out, HTML_PART_STYLE_HASH);
    tool_output_text(out, head_end);
    put_part(out, HTML_PART_STYLE);
    tool_output_text(out, body_begin);
    put_block(out, "engine", engine.bytes, engine.size_bytes);
}

static void put_end(struct tool_output *out)
{
    struct view_file worker = html_find_part(HTML_PART_WORKER);
    put_block(out, "worker", worker.bytes, worker.size_bytes);
    tool_output_text(out, "<script>");
    put_part(out, HTML_PART_SCRIPT);
    tool_output_text(out, "</script>\n</body>\n</html>\n");
}

/* ---- what is inside ---- */

static uint64_t estimate(const struct html_cut *cut, const struct html_notes *notes)
{
    uint64_t size = encoded_bytes(cut->size_bytes) + encoded_bytes(notes->text.size_bytes);
    size += encoded_bytes(html_find_part(HTML_PART_ENGINE).size_bytes);
    size += encoded_bytes(html_find_part(HTML_PART_WORKER).size_bytes);
    size += html_find_part(HTML_PART_SCRIPT).size_bytes;
    return size + html_find_part(HTML_PART_STYLE).size_bytes + 2048;
}

static void say_inside(const struct html_options *options, const struct html_cut *cut,
                       const struct html_notes *notes, const char *output_name)
{
    ttape_info info;
    uint64_t size = estimate(cut, notes) + 50000; /* rounded */
    ttape_reader_get_info(cut->input.reader, &info);
    tool_message("'%s' will have %" PRIu64 ".%" PRIu64 " MB: %" PRIu64 " events of %" PRIu32
                 " thread%s, with names of %" PRIu32
                 " functions, of modules, threads and processes",
                 output_name, size / 1000000, size / 100000 % 10, info.event_count,
                 info.stream_count, info.stream_count == 1 ? "" : "s", info.site_count);
    if (options->with_values)
        tool_message("with values of arguments and results, the command line and the host");
    if (options->with_source)
        tool_message(
            "with paths, %" PRIu32 " source files and the lines of %" PRIu32 " functions%s",
            notes->source_count, notes->line_count,
            notes->source_count == 0 ? "; to look for sources elsewhere: --sources DIR" : "");
    if (!options->with_values || !options->with_source)
        tool_message("left out: %s%s%s",
                     options->with_values ? ""
                                          : "values, command line and host (see --with-values)",
                     !options->with_values && !options->with_source ? "; " : "",
                     options->with_source ? "" : "paths and source (see --with-source)");
}

static int write_all(const struct html_options *options, const struct html_cut *cut,
                     const struct tool_input *input, const char *output_name,
                     struct tool_output *out)
{
    struct html_notes notes;
    if (cut->size_bytes > HTML_TRACE_BYTES_MOST)
        return tool_fail("'%s' would be too large for a page, of %" PRIu64
                         " MB: choose with --time or --thread, or make a page that takes the trace "
                         "as a file, with --empty",
                         output_name, cut->size_bytes / 1000000);
    html_notes_make(&notes, options, &cut->input, ttp_base_name(input->name));
    if (!options->is_quiet)
        say_inside(options, cut, &notes, output_name);
    put_head(out);
    put_block(out, "notes", notes.text.data, notes.text.size_bytes);
    bool is_read = put_trace(out, cut);
    put_end(out);
    html_notes_close(&notes);
    return is_read ? cut->status : tool_fail("cannot read back the cut: %s", strerror(errno));
}

int html_write(const struct html_options *options, const struct tool_input *input,
               const char *output_name, struct tool_output *out)
{
    struct html_cut cut;
    int status = html_check_build();
    if (status != TOOL_OK)
        return status;
    status = html_cut_open(&cut, options, input);
    if (status == TOOL_OK)
        status = write_all(options, &cut, input, output_name, out);
    html_cut_close(&cut);
    return status;
}

int html_write_empty(struct tool_output *out)
{
    int status = html_check_build();
    if (status != TOOL_OK)
        return status;
    put_head(out);
    put_end(out);
    return TOOL_OK;
}
