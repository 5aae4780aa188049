/* The converter for CTF traces of functions: what `lttng-ust-cyg-profile` records, and our own
 * exports. A process of its own reads them (convert_ctf_graph.c); its death or silence costs the
 * rest of the trace and nothing else. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "program/process/child.h"
#include "tools/command/progress.h"
#include "tools/convert/ctf/convert_ctf_events.h"

#define SILENCE_MS      60000               /* after which the child is given up */
#define CHILD_BYTES     (UINT64_C(4) << 30) /* of memory */
#define PIPE_BYTES      (512u * 1024u)
#define HASHED_RECORDS  4096u
#define CTF_STREAMS_MAX 1000000u

/* ---- the pipe ---- */

struct ctf_pipe {
    int fd;
    char *buffer;
    size_t at, end;
    bool is_silent, ended;
};

/* Reads until size_bytes are there. False: they do not come. */
static bool need(struct ctf_pipe *in, size_t size_bytes)
{
    while (in->end - in->at < size_bytes && !in->ended) {
        struct pollfd ready = {.fd = in->fd, .events = POLLIN};
        int polled = poll(&ready, 1, SILENCE_MS);
        if (polled < 0 && errno == EINTR)
            continue;
        memmove(in->buffer, in->buffer + in->at, in->end - in->at);
        in->end -= in->at;
        in->at = 0;
        ssize_t got = polled > 0 ? read(in->fd, in->buffer + in->end, PIPE_BYTES - in->end) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        in->is_silent = polled == 0;
        in->ended = got <= 0;
        in->end += got > 0 ? (size_t)got : 0;
    }
    return in->end - in->at >= size_bytes;
}

/* A loss on a CTF stream, or an event of it: the table reaches that far. */
static bool reach_source(struct tool_ctf *ctf, uint32_t source)
{
    if (source >= CTF_STREAMS_MAX)
        return false;
    size_t old = ctf->lost_capacity;
    tool_grow((void **)&ctf->lost, &ctf->lost_capacity, (size_t)source + 1,
              sizeof(struct tool_ctf_lost));
    if (ctf->lost_capacity > old)
        memset(&ctf->lost[old], 0, (ctf->lost_capacity - old) * sizeof(struct tool_ctf_lost));
    ctf->lost_count = source >= ctf->lost_count ? (size_t)source + 1 : ctf->lost_count;
    return true;
}

static bool take_event(struct tool_ctf *ctf, const struct tool_ctf_wire *wire, const char *text)
{
    if (!reach_source(ctf, wire->source))
        return true;
    if (wire->kind != TOOL_CTF_WIRE_LOST) {
        uint32_t index = tool_ctf_thread_of(ctf, wire);
        ctf->threads[index].has_events = true;
        ctf->call_count++;
        ctf->lacks_threads = ctf->lacks_threads || !(wire->flags & TOOL_CTF_HAS_THREAD);
    }
    if (ctf->event_count++ < HASHED_RECORDS)
        ttp_hash_bytes(&ctf->content, wire, sizeof(*wire));
    return tool_scratch_write(&ctf->events, wire, sizeof(*wire)) &&
           tool_scratch_write(&ctf->events, text, wire->text_bytes);
}

static void say_damage(const struct tool_ctf *ctf, const struct tool_ctf_wire *wire,
                       const char *text)
{
    const char *folder = wire->b < ctf->folders.count ? ctf->folders.paths[wire->b] : "";
    folder += strlen(folder) > 0 ? strlen(ctf->conversion->input) : 0; /* it begins with that */
    folder += strspn(folder, "/");
    tool_conversion_warn(
        ctf->conversion,
        "'%s%s%.*s' is damaged behind %" PRIu64 " events: the rest of it is missing", folder,
        *folder != '\0' ? "/" : "", (int)strnlen(text, wire->text_bytes), text, wire->a);
}

/* Everything that the child says. Returns a tool_exit. */
static int take_records(struct tool_ctf *ctf, struct ctf_pipe *in)
{
    struct tool_ctf_wire wire;
    for (uint64_t count = 0; need(in, sizeof(wire)); count++) {
        memcpy(&wire, in->buffer + in->at, sizeof(wire));
        if (wire.text_bytes > TOOL_CTF_TEXT_MAX || !need(in, sizeof(wire) + wire.text_bytes))
            break;
        const char *text = in->buffer + in->at + sizeof(wire);
        in->at += sizeof(wire) + wire.text_bytes;
        if (wire.kind == TOOL_CTF_WIRE_DONE) {
            ctf->is_done = true;
            break;
        }
        if (wire.kind == TOOL_CTF_WIRE_FAILED) {
            ctf->is_refused = wire.a != 0;
            ctf->failure = tool_copy_text(text, strnlen(text, wire.text_bytes));
            return TOOL_OK;
        }
        if (wire.kind == TOOL_CTF_WIRE_DAMAGE)
            say_damage(ctf, &wire, text);
        else if (wire.kind > TOOL_CTF_WIRE_EVENTS)
            tool_ctf_take_definition(ctf, &wire, text);
        else if (wire.kind < TOOL_CTF_WIRE_EVENTS && !take_event(ctf, &wire, text))
            return TOOL_CANNOT;
        if (count % 4096 == 0)
            tool_progress_update(0, 0, ctf->event_count);
    }
    if (!ctf->is_done) {
        tool_conversion_warn(ctf->conversion,
                             in->is_silent ? "babeltrace2 said nothing for a minute: given up"
                                           : "babeltrace2 died over it");
    }
    return TOOL_OK;
}

static void run_child(int fd, const void *context)
{
    const struct tool_ctf_folders *folders = context;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    _exit(tool_ctf_read(folders->paths, folders->count, fd));
}

/* Reads the trace in a process of its own, into definitions and the scratch file. */
static int read_trace(struct tool_ctf *ctf, char *const *folders, size_t count)
{
    struct tool_child child = {0};
    const struct tool_ctf_folders all = {folders, count};
    int status = TOOL_CANNOT;
    if (!tool_scratch_open(&ctf->events))
        return TOOL_CANNOT;
    if (!tool_child_start(&child, CHILD_BYTES, run_child, &all)) {
        tool_fail("cannot start a process: %s", strerror(errno));
    } else {
        struct ctf_pipe in = {.fd = child.fd, .buffer = tool_allocate(PIPE_BYTES, 1)};
        status = take_records(ctf, &in);
        free(in.buffer);
        tool_child_end(&child, true);
    }
    return status;
}

/* ---- the whole ---- */

static int set_metadata(struct tool_ctf *ctf)
{
    ttape_writer *writer = ctf->conversion->writer;
    const ttape_string clock = {ctf->clock, ctf->clock != NULL ? strlen(ctf->clock) : 0};
    if (ttape_writer_set_text(writer, "source", (ttape_string){"ctf", 3}, &ctf->err) != TTAPE_OK ||
        (clock.size_bytes > 0 &&
         ttape_writer_set_text(writer, "clock", clock, &ctf->err) != TTAPE_OK) ||
        tool_ctf_define(ctf) != TTAPE_OK)
        return tool_conversion_fail(ctf->conversion, &ctf->err);
    return TOOL_OK;
}

static void say_losses(const struct tool_ctf *ctf)
{
    struct tool_conversion *conversion = ctf->conversion;
    if (ctf->lacks_threads) {
        tool_conversion_warn(conversion, "events without a context 'vtid': each of its streams "
                                         "was taken for a thread");
    }
    if (ctf->refused_count > 0) {
        tool_conversion_warn(conversion,
                             "%" PRIu64 " events left out: exits of what is not open, or numbers "
                             "out of range",
                             ctf->refused_count);
    }
    if (ctf->untimed_count > 0) {
        tool_conversion_warn(conversion,
                             "%" PRIu64 " events left out: their times cannot be told in "
                             "nanoseconds",
                             ctf->untimed_count);
    }
    if (ctf->other_count > 0 && conversion->verbose) {
        tool_message("'%s': %" PRIu64 " events of other kinds left out", conversion->input,
                     ctf->other_count);
    }
}

/* Where babeltrace2 opens nothing because of damaged stream files, it is given what is sound. */
static int read_or_mend(struct tool_ctf *ctf, char *const *folders, size_t count)
{
    int status = read_trace(ctf, folders, count);
    if (status == TOOL_OK && ctf->is_refused) {
        status = tool_ctf_mend(ctf, folders, count);
        if (status == TOOL_OK && ctf->mended.damaged_count > 0) {
            tool_scratch_close(&ctf->events);
            free(ctf->failure);
            ctf->failure = NULL;
            status = read_trace(ctf, ctf->mended.folders, count);
        }
    }
    if (ctf->failure != NULL)
        tool_conversion_warn(ctf->conversion, "babeltrace2 stopped: %s", ctf->failure);
    return status;
}

static int convert(struct tool_ctf *ctf, char *const *folders, size_t count)
{
    struct tool_conversion *conversion = ctf->conversion;
    ctf->folders = (struct tool_ctf_folders){folders, count};
    tool_ctf_warn_empty(conversion, &ctf->folders);
    int status = read_or_mend(ctf, folders, count);
    if (status == TOOL_OK && ctf->call_count == 0) {
        status = tool_fail("'%s' holds no event of lttng-ust-cyg-profile%s", conversion->input,
                           !ctf->is_done           ? " that could be read"
                           : ctf->event_count == 0 ? ": what runs with "
                                                     "LD_PRELOAD=liblttng-ust-cyg-profile.so, "
                                                     "compiled with -finstrument-functions, has "
                                                     "them"
                                                   : ": all were discarded, larger buffers "
                                                     "(lttng enable-channel --subbuf-size) keep "
                                                     "them");
    }
    status = status == TOOL_OK ? tool_conversion_begin(conversion, &ctf->content) : status;
    status = status == TOOL_OK ? set_metadata(ctf) : status;
    status = status == TOOL_OK ? tool_ctf_feed(ctf) : status;
    if (status == TOOL_OK)
        say_losses(ctf);
    return status == TOOL_OK && conversion->warning_count > 0 ? TOOL_LOSS : status;
}

static int convert_ctf(struct tool_conversion *conversion)
{
    struct tool_ctf ctf = {.conversion = conversion, .events = {.fd = -1}};
    char **folders = NULL;
    size_t count = 0;
    if (!conversion->is_directory)
        return tool_fail("'%s' is no directory: CTF traces are", conversion->input);
    int status = tool_ctf_find(conversion->fd, conversion->input, &folders, &count);
    if (status == TOOL_OK && count == 0)
        status = tool_fail("'%s' holds no CTF trace", conversion->input);
    status = status == TOOL_OK ? convert(&ctf, folders, count) : status;
    for (size_t i = 0; i < count; i++)
        free(folders[i]);
    free(folders);
    tool_ctf_close_mended(&ctf.mended);
    free(ctf.failure);
    tool_ctf_close(&ctf);
    return status;
}

static bool probe_input(const struct tool_conversion *conversion)
{
    return conversion->is_directory && tool_ctf_is_any(conversion->fd);
}

const struct tool_converter tool_converter_ctf = {.name = "ctf",
                                                  .summary = "a CTF trace of lttng-ust-cyg-profile",
                                                  .probe = probe_input,
                                                  .run = convert_ctf};
