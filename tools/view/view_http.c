/* HTTP, by libmicrohttpd, which is loaded by this verb only: it brings a dozen libraries with it.
 * A thread for each connection, so that a slow one keeps nobody waiting; there are at most so many,
 * each ends after some seconds of silence, and heads and bodies have a limit. */
#define _GNU_SOURCE /* POLLRDHUP */
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/command/tool.h"
#include "tools/view/view_server.h"

#define LIBRARY          "libmicrohttpd.so.12"
#define CONNECTIONS_MOST 400u
#define SILENT_SECONDS   20u
#define HEAD_BYTES       16384u
#define THREAD_BYTES     (1u << 20)
#define PORT_ANY         0

/* What is called of it. */
struct library {
    void *handle;
    __typeof__(&MHD_start_daemon) start;
    __typeof__(&MHD_stop_daemon) stop;
    __typeof__(&MHD_get_daemon_info) get_daemon;
    __typeof__(&MHD_get_connection_info) get_connection;
    __typeof__(&MHD_get_connection_values) get_values;
    __typeof__(&MHD_create_response_from_buffer) make_response;
    __typeof__(&MHD_create_response_from_fd64) make_file_response;
    __typeof__(&MHD_add_response_header) add_header;
    __typeof__(&MHD_queue_response) queue;
    __typeof__(&MHD_destroy_response) destroy;
};

struct view_http {
    struct library library;
    struct MHD_Daemon *daemon;
    struct view_workers *workers; /* of pages that say no filter */
    struct view_filters *filters;
    const char *key;
    atomic_bool was_asked;
    atomic_flag is_saving; /* one file at a time: each takes room on the disk */
};

/* One request: its body so far. */
struct request {
    char *body;
    char *filter; /* NULL: none */
    size_t size_bytes;
    bool is_too_long;
};

/* ---- responses ---- */

static enum MHD_Result send_response(struct view_http *http, struct MHD_Connection *connection,
                                     unsigned status, const char *type,
                                     struct MHD_Response *response)
{
    const struct library *library = &http->library;
    if (response == NULL)
        return MHD_NO;
    (void)library->add_header(response, "Content-Type", type);
    for (const struct view_header *h = view_response_headers(); h->name != NULL; h++)
        (void)library->add_header(response, h->name, h->value);
    enum MHD_Result result = library->queue(connection, status, response);
    library->destroy(response);
    return result;
}

static enum MHD_Result send_bytes(struct view_http *http, struct MHD_Connection *connection,
                                  unsigned status, const char *type, const void *bytes,
                                  size_t size_bytes, bool is_ours)
{
    const struct library *library = &http->library;
    struct MHD_Response *response =
        library->make_response(size_bytes, (void *)(uintptr_t)bytes,
                               is_ours ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL && is_ours)
        free((void *)(uintptr_t)bytes);
    return send_response(http, connection, status, type, response);
}

static enum MHD_Result send_refusal(struct view_http *http, struct MHD_Connection *connection,
                                    unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } texts[] = {
        {400, "bad request: one Host line is needed, and none of those that count twice\n"},
        {401, "the key is missing or wrong: open the address that 'tracetape view' printed\n"},
        {403, "another page may not ask this\n"},
        {404, "not found\n"},
        {405, "method not allowed\n"},
        {413, "the question is too long\n"},
        {421, "this server answers to 127.0.0.1, localhost and [::1] only\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].status == status)
            return send_bytes(http, connection, status, "text/plain; charset=utf-8", texts[i].text,
                              strlen(texts[i].text), false);
    return send_bytes(http, connection, status, "text/plain; charset=utf-8", "failed\n", 7, false);
}

/* ---- requests ---- */

/* What is looked at may be there once: others might have read the other one. */
static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct view_head *head = context;
    const struct {
        const char *name, **value;
    } wanted[] = {{"Host", &head->host},
                  {"Origin", &head->origin},
                  {"Sec-Fetch-Site", &head->site},
                  {"Sec-Fetch-Mode", &head->mode},
                  {"X-Tracetape-Key", &head->key},
                  {"X-Tracetape-Filter", &head->filter},
                  {"Content-Length", &head->length},
                  {"Transfer-Encoding", &head->encoding}};
    (void)kind;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcasecmp(name, wanted[i].name) == 0) {
            head->is_odd = head->is_odd || *wanted[i].value != NULL;
            *wanted[i].value = value;
        }
    return MHD_YES;
}

static enum MHD_Result note_query(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    struct view_head *head = context;
    (void)kind;
    (void)name;
    (void)value;
    head->has_query = true;
    return MHD_NO;
}

/* One connection that asks: is_gone tells whether the other side is gone. */
struct asking {
    const struct library *library;
    struct MHD_Connection *connection;
};

static bool is_gone(void *context)
{
    const struct asking *asking = context;
    const union MHD_ConnectionInfo *info =
        asking->library->get_connection(asking->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL)
        return false;
    struct pollfd waiting = {.fd = info->connect_fd, .events = POLLRDHUP};
    return poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static enum MHD_Result send_error(struct view_http *http, struct MHD_Connection *connection,
                                  const ttape_error *err)
{
    size_t length = strnlen(err->message, sizeof err->message);
    char *text = malloc(length + 1);
    if (text == NULL)
        return MHD_NO;
    memcpy(text, err->message, length);
    return send_bytes(http, connection, err->status == TTAPE_E_ARGUMENT ? 400 : 500,
                      "text/plain; charset=utf-8", text, length, true);
}

static enum MHD_Result answer(struct view_http *http, struct MHD_Connection *connection,
                              const struct request *request, struct view_workers *workers)
{
    struct asking asking = {&http->library, connection};
    ttape_error err = {0};
    size_t size_bytes = 0;
    atomic_store(&http->was_asked, true);
    char *response = view_workers_answer(workers, request->body, request->size_bytes, is_gone,
                                         &asking, &size_bytes, &err);
    return response != NULL
               ? send_bytes(http, connection, 200, "application/json", response, size_bytes, true)
               : send_error(http, connection, &err);
}

/* A file, which is the response's own from then on. */
static enum MHD_Result save(struct view_http *http, struct MHD_Connection *connection,
                            const struct request *request, struct view_workers *workers)
{
    static const char busy[] = "another file is being made: try again when it is there\n";
    static const char failed[] = "the file cannot be made: tracetape view says why where it runs\n";
    uint64_t size_bytes = 0;
    if (atomic_flag_test_and_set(&http->is_saving))
        return send_bytes(http, connection, 503, "text/plain; charset=utf-8", busy, sizeof busy - 1,
                          false);
    int fd = view_save(view_workers_input(workers), view_workers_how(workers), request->body,
                       request->size_bytes, &size_bytes);
    atomic_flag_clear(&http->is_saving);
    if (fd < 0)
        return send_bytes(http, connection, 500, "text/plain; charset=utf-8", failed,
                          sizeof failed - 1, false);
    struct MHD_Response *response = http->library.make_file_response(size_bytes, fd);
    if (response == NULL)
        close(fd);
    return send_response(http, connection, 200, "application/octet-stream", response);
}

/* With the filter that it says, of the trace as that leaves it. */
static enum MHD_Result answer_filtered(struct view_http *http, struct MHD_Connection *connection,
                                       const char *path, const struct request *request)
{
    ttape_error err = {0};
    struct view_workers *workers = request->filter == NULL
                                       ? http->workers
                                       : view_filters_take(http->filters, request->filter, &err);
    if (workers == NULL)
        return send_error(http, connection, &err);
    enum MHD_Result result = strcmp(path, "/save") == 0
                                 ? save(http, connection, request, workers)
                                 : answer(http, connection, request, workers);
    if (request->filter != NULL)
        view_filters_give(http->filters, request->filter);
    return result;
}

static int digit_of(char c)
{
    const char *digits = "0123456789abcdef", *found = strchr(digits, c | 0x20);
    return c != '\0' && found != NULL ? (int)(found - digits) : -1;
}

/* As the page writes it: bytes that are no letters and digits as %2F. To be freed. */
static char *decode_filter(const char *text)
{
    char *decoded = malloc(strlen(text) + 1), *at = decoded;
    for (; decoded != NULL && *text != '\0'; text++) {
        bool is_coded = *text == '%' && digit_of(text[1]) >= 0 && digit_of(text[2]) >= 0;
        *at++ = is_coded ? (char)(16 * digit_of(text[1]) + digit_of(text[2])) : *text;
        text += is_coded ? 2 : 0;
    }
    if (decoded != NULL)
        *at = '\0';
    return decoded;
}

static enum MHD_Result begin_request(struct view_http *http, struct MHD_Connection *connection,
                                     struct view_head *head, void **state)
{
    (void)http->library.get_values(connection, MHD_HEADER_KIND, note_header, head);
    (void)http->library.get_values(connection, MHD_GET_ARGUMENT_KIND, note_query, head);
    unsigned status = view_check_head(head, http->key);
    if (status != 0)
        return send_refusal(http, connection, status);
    struct request *request = calloc(1, sizeof *request);
    *state = request;
    if (request != NULL && head->filter != NULL)
        request->filter = decode_filter(head->filter);
    return request != NULL ? MHD_YES : MHD_NO;
}

/* More than a question may have is read, and forgotten. */
static void add_body(struct request *request, const char *data, size_t size_bytes)
{
    if (request->body == NULL)
        request->body = malloc(TTAPE_VIEW_REQUEST_BYTES);
    request->is_too_long = request->is_too_long || request->body == NULL ||
                           size_bytes > TTAPE_VIEW_REQUEST_BYTES - request->size_bytes;
    if (request->is_too_long)
        return;
    memcpy(request->body + request->size_bytes, data, size_bytes);
    request->size_bytes += size_bytes;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data,
                              size_t *data_bytes, void **state)
{
    struct view_http *http = context;
    struct view_head head = {.method = method, .path = path};
    struct request *request = *state;
    (void)version;
    if (request == NULL)
        return begin_request(http, connection, &head, state);
    if (*data_bytes > 0) {
        add_body(request, data, *data_bytes);
        *data_bytes = 0;
        return MHD_YES;
    }
    if (request->is_too_long)
        return send_refusal(http, connection, 413);
    const struct view_file file = view_find_file(path);
    return file.bytes != NULL
               ? send_bytes(http, connection, 200, file.type, file.bytes, file.size_bytes, false)
               : answer_filtered(http, connection, path, request);
}

static void end_request(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code)
{
    struct request *request = *state;
    (void)context;
    (void)connection;
    (void)code;
    if (request != NULL) {
        free(request->body);
        free(request->filter);
    }
    free(request);
    *state = NULL;
}

/* ---- open and close ---- */

/* A function of the library; a pointer to data becomes one to code by its bytes. */
#define TAKE(library, field, name) take_symbol((library)->handle, name, &(library)->field)

static bool take_symbol(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool load(struct library *library)
{
    library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library->handle != NULL && TAKE(library, start, "MHD_start_daemon") &&
           TAKE(library, stop, "MHD_stop_daemon") &&
           TAKE(library, get_daemon, "MHD_get_daemon_info") &&
           TAKE(library, get_connection, "MHD_get_connection_info") &&
           TAKE(library, get_values, "MHD_get_connection_values") &&
           TAKE(library, make_response, "MHD_create_response_from_buffer") &&
           TAKE(library, make_file_response, "MHD_create_response_from_fd64") &&
           TAKE(library, add_header, "MHD_add_response_header") &&
           TAKE(library, queue, "MHD_queue_response") &&
           TAKE(library, destroy, "MHD_destroy_response");
}

static void be_silent(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

static struct MHD_Daemon *start(struct view_http *http)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(PORT_ANY),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return http->library.start(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                                   MHD_USE_POLL | MHD_USE_ERROR_LOG,
                               PORT_ANY, NULL, NULL, handle, http,                     //
                               MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,            //
                               MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,      //
                               MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST,          //
                               MHD_OPTION_CONNECTION_TIMEOUT, SILENT_SECONDS,          //
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES, //
                               MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_BYTES,     //
                               MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL,         //
                               MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

int view_http_open(struct view_http **out, struct view_workers *workers,
                   struct view_filters *filters, const char *key)
{
    struct view_http *http = tool_allocate(1, sizeof *http);
    *http = (struct view_http){.workers = workers, .filters = filters, .key = key};
    *out = NULL;
    if (!load(&http->library)) {
        view_http_close(http);
        return tool_fail("%s is missing: install libmicrohttpd12 (Debian, Ubuntu: apt-get install "
                         "libmicrohttpd12)",
                         LIBRARY);
    }
    http->daemon = start(http);
    if (http->daemon == NULL) {
        view_http_close(http);
        return tool_fail("cannot listen on 127.0.0.1: %s", strerror(errno));
    }
    *out = http;
    return TOOL_OK;
}

/* The library stays: what it brought with it does not like to be unloaded. */
void view_http_close(struct view_http *http)
{
    if (http == NULL)
        return;
    if (http->daemon != NULL)
        http->library.stop(http->daemon);
    free(http);
}

unsigned view_http_port(const struct view_http *http)
{
    const union MHD_DaemonInfo *info =
        http->library.get_daemon(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info != NULL ? info->port : 0;
}

bool view_http_was_asked(const struct view_http *http) { return atomic_load(&http->was_asked); }
