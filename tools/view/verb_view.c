/* tracetape view: shows a trace in a browser of this machine. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/calls/losses.h"
#include "tools/calls/merge/joined.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/view/view_server.h"

#define ADDRESS_BYTES  4096u
#define PLACE_BYTES    2048u
#define OPENER_SECONDS 60 /* after which a browser that was to come will not */

struct options {
    const char *at;
    enum tool_name_style names;
    const char *sources;
    bool no_browser;
    uint64_t memory_bytes;
    struct tool_filter kept;
};

static const struct tool_option table[] = {
    {"at", 0, "PLACE", "open there: what stands behind '#' in a link of the page", NULL,
     TOOL_AT(at)},
    {"no-browser", 0, NULL, "open no browser, print the address only", NULL, TOOL_AT(no_browser)},
    {"sources", 0, "DIR", "look for source files below this folder, too", NULL, TOOL_AT(sources)},
    TOOL_FILTER_OPTIONS,
    TOOL_NAMES_OPTION,
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "view",
    .usage = "[OPTION]... FILE|FOLDER|@LIST...",
    .about = "Shows a trace in the browser: all threads over the whole run, down to single calls.\n"
             "Prints an address of this machine, and answers there until Ctrl-C. Nobody else can\n"
             "ask: the address has a key in it. Several traces are shown on one axis of times.",
    .options = table,
    .examples = "  tracetape view run.ttape\n"
                "  tracetape view client.ttape server.ttape\n"
                "  tracetape view run.ttape --no-browser\n"
                "  tracetape view run.ttape --at 'n=s0e2500'\n",
    .statuses = NULL,
    .operands_min = 1,
    .operands_max = INT_MAX,
};

/* A place ends up in an address, and that in a file of HTML. */
static bool is_place(const char *text)
{
    static const char others[] = "-._~=&%+:,/!@*";
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && strchr(others, c) == NULL)
            return false;
    }
    return length <= PLACE_BYTES;
}

static int make_key(char key[VIEW_KEY_BYTES + 1])
{
    unsigned char bytes[VIEW_KEY_BYTES / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return tool_fail("no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(key + 2 * i, 3, "%02x", (unsigned)bytes[i]);
    return TOOL_OK;
}

static int print_address(const char *address)
{
    struct tool_output out;
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_printf(&out, "%s\n", address);
    return tool_output_close(&out);
}

/* Until a signal that ends it. The browser's file goes as soon as the page has asked something. */
static void wait_for_end(const sigset_t *ends, const struct view_http *http, char *file)
{
    const struct timespec second = {.tv_sec = 1};
    for (int seconds = 0;; seconds++) {
        if (file != NULL && (view_http_was_asked(http) || seconds > OPENER_SECONDS)) {
            view_browser_forget(file);
            file = NULL;
        }
        if (file == NULL ? sigwaitinfo(ends, NULL) > 0 : sigtimedwait(ends, NULL, &second) > 0)
            break;
    }
    view_browser_forget(file);
}

static int serve(const struct options *options, struct view_workers *workers,
                 struct view_filters *filters, const char *key, const sigset_t *ends)
{
    struct view_http *http;
    char address[ADDRESS_BYTES], *file = NULL;
    int status = view_http_open(&http, workers, filters, key);
    if (status != TOOL_OK)
        return status;
    unsigned port = view_http_port(http);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/#k=%s%s%s", port, key,
             options->at != NULL ? "&" : "", options->at != NULL ? options->at : "");
    status = print_address(address);
    if (status == TOOL_OK && !options->no_browser)
        file = view_browser_open(address);
    if (status == TOOL_OK && file == NULL)
        tool_message("open that address in a browser; from another machine first: "
                     "ssh -L %u:127.0.0.1:%u THIS-HOST",
                     port, port);
    if (status == TOOL_OK)
        wait_for_end(ends, http, file);
    view_http_close(http);
    return status;
}

static void block_ends(sigset_t *ends)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    sigemptyset(ends);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(ends, numbers[i]);
    pthread_sigmask(SIG_BLOCK, ends, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* filter: what has left `input` of the trace `whole`, or NULL. */
static int show_trace(const struct options *options, const struct tool_input *input,
                      const struct tool_input *whole, const char *filter)
{
    struct view_workers *workers;
    struct view_how how = {.names = options->names,
                           .memory_bytes = options->memory_bytes,
                           .sources = options->sources,
                           .filter = filter};
    char key[VIEW_KEY_BYTES + 1];
    sigset_t ends;
    block_ends(&ends);
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 2); /* not one for each connection, which keeps what was freed */
#endif
    tool_memory_give_back();
    int status = make_key(key);
    if (status == TOOL_OK)
        status = view_workers_open(&workers, input, &how);
    if (status != TOOL_OK)
        return status;
    struct view_filters *filters = view_filters_open(whole, &how);
    status = serve(options, workers, filters, key, &ends);
    view_filters_close(filters);
    view_workers_close(workers);
    return status;
}

/* What a filter leaves of the trace: `left`, which is the caller's to close in any case. */
static int filter_trace(const struct options *options, const struct tool_input *input,
                        struct tool_input *left)
{
    ttape_error err = {0};
    struct tool_filter_made made;
    struct tool_input own = *input; /* with a reader of its own */
    const ttape_reader_options how = {.size = sizeof how,
                                      .limits.memory_bytes = options->memory_bytes};
    int status = tool_filter_make(&made, "view", &options->kept);
    if (status != TOOL_OK)
        return status;
    if (ttape_reader_open(&own.reader, &input->source, &how, &err) == TTAPE_OK)
        status = tool_filtered_open(left, &made, &own, tool_jobs(0), options->memory_bytes);
    else
        status = tool_fail_error(input->name, &err);
    int matched = status == TOOL_CANNOT ? TOOL_OK : tool_filter_check(&made);
    ttape_reader_close(own.reader);
    tool_filter_unmake(&made);
    return matched != TOOL_OK ? matched : status;
}

static int show(const struct options *options, const struct tool_input *input)
{
    struct tool_input left = {.fd = -1};
    if (!tool_filter_is_given(&options->kept))
        return show_trace(options, input, input, NULL);
    int status = filter_trace(options, input, &left);
    if (status == TOOL_OK || status == TOOL_LOSS) {
        bool has_filter = options->kept.count > 0; /* else the page's are of what triggers left */
        char *filter = has_filter ? tool_filter_text(&options->kept) : NULL;
        int shown = show_trace(options, &left, has_filter ? input : &left, filter);
        free(filter);
        status = shown != TOOL_OK ? shown : status;
    }
    tool_input_close(&left);
    return status;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    struct tool_operands paths;
    struct tool_joined joined = {.input = {.fd = -1}};
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->at != NULL && !is_place(options->at))
        return tool_usage("view", "--at takes what stands behind '#' in a link of the page");
    if (!view_has_page())
        return tool_fail("this tracetape was built without its page: install esbuild (Debian, "
                         "Ubuntu: apt-get install esbuild), and build it again");
    options->names = tool_name_style(options->names, false);
    status = tool_operands_take(&paths, count, argv);
    if (status == TOOL_OK)
        status = tool_joined_open(&joined, &paths, "view", options->memory_bytes);
    if (status == TOOL_OK)
        status = show(options, &joined.input);
    status = status == TOOL_OK ? joined.status : status;
    tool_joined_close(&joined);
    tool_operands_close(&paths);
    return status;
}

int tool_verb_view(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    return status;
}
