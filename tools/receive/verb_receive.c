/* receive: takes traces that are sent while they are recorded. One thread, one loop of poll. */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/command/options.h"
#include "tools/command/output.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/receive/peer.h"
#include "tools/receive/store.h"
#include "tools/send/socket.h"

#define SENDERS_MOST 64u
#define TICK_MS      1000 /* deadlines of connections on which nothing comes */

struct options {
    const char *listen;
    uint64_t max_size;
    bool force, quiet;
};

static const struct tool_option table[] = {
    {"listen", 0, "ADDRESS:PORT", "where; default 127.0.0.1:8271, this machine's own programs only",
     NULL, TOOL_AT(listen)},
    {"max-size", 0, "SIZE", "take no more when DIR has so much in it", tool_parse_size,
     TOOL_AT(max_size)},
    {"force", 'f', NULL, "replace files in DIR by new traces of the same name", NULL,
     TOOL_AT(force)},
    {"quiet", 'q', NULL, "do not say who comes and goes", NULL, TOOL_AT(quiet)},
    {0}};

static const struct tool_command command = {
    .verb = "receive",
    .usage = "[OPTION]... DIR",
    .about = "Takes traces that 'record -o tcp://HOST:PORT' and 'send' bring, each into a file in\n"
             "DIR that grows while it is recorded, until Ctrl-C. Nothing is encrypted, and nobody\n"
             "is asked who he is: use ssh -L.",
    .options = table,
    .examples = "  tracetape receive traces\n"
                "  tracetape receive --listen 127.0.0.1:0 --max-size 10G traces\n",
    .statuses = "  0  ended by Ctrl-C, SIGTERM or SIGHUP\n"
                "  2  the command line is wrong\n"
                "  4  cannot listen there, or not write into DIR\n",
    .operands_min = 1,
    .operands_max = 1,
};

struct receiver {
    struct receive_peers peers;
    int listener, ends;
};

static int open_ends(void)
{
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large is told to its sender */
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The address is numeric: a name that stands for several would be listened to at one of them. */
static int open_listener(const struct tool_send_place *place)
{
    struct addrinfo *found = NULL,
                    hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    int one = 1, code = getaddrinfo(place->host, place->port, &hints, &found);
    if (code != 0) {
        (void)tool_fail("'%s' is no address to listen at, such as 127.0.0.1 or [::1]: %s",
                        place->host, gai_strerror(code));
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 16) == 0) {
        freeaddrinfo(found);
        return fd;
    }
    (void)tool_fail("cannot listen at %s:%s: %s", place->host, place->port, strerror(errno));
    freeaddrinfo(found);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* It goes to standard output: a script that asked for port 0 reads it there. */
static int say_where(const struct receiver *receiver, const char *folder)
{
    char where[TOOL_SOCKET_WORDS];
    struct tool_output out;
    tool_socket_own(receiver->listener, where);
    tool_output_open(&out, STDOUT_FILENO);
    tool_output_printf(&out, "tcp://%s\n", where);
    int status = tool_output_close(&out);
    if (status == TOOL_OK && !receiver->peers.is_quiet)
        tool_message("traces that are sent to tcp://%s go into '%s', until Ctrl-C", where, folder);
    return status;
}

/* False: there is one, and no descriptor for it. */
static bool accept_all(struct receiver *receiver)
{
    char where[TOOL_SOCKET_WORDS];
    for (int i = 0; i < 16; i++) {
        int fd = accept4(receiver->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
        tool_socket_keep_alive(fd);
        tool_socket_other(fd, where);
        receive_peers_add(&receiver->peers, fd, where, tool_now_ms());
    }
    return true;
}

static bool is_checking(const struct receive_peers *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->items[i].stage == RECEIVE_CHECKING)
            return true;
    return false;
}

static void serve(struct receiver *receiver)
{
    struct receive_peers *peers = &receiver->peers;
    struct pollfd polled[2 + SENDERS_MOST + 1];
    bool can_accept = true; /* else poll would come back at once, over and over */
    for (;;) {
        uint32_t count = peers->count;
        polled[0] = (struct pollfd){.fd = receiver->ends, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = can_accept ? receiver->listener : -1, .events = POLLIN};
        for (uint32_t i = 0; i < count; i++)
            polled[2 + i] = (struct pollfd){.fd = peers->items[i].fd,
                                            .events = receive_peer_wants(&peers->items[i])};
        int got = poll(polled, 2 + count, is_checking(peers) ? 0 : TICK_MS);
        if (got < 0 && errno != EINTR)
            return;
        if (got > 0 && polled[0].revents != 0)
            return;
        for (uint32_t i = 0; i < count; i++)
            receive_peer_step(peers, &peers->items[i], got > 0 ? polled[2 + i].revents : 0,
                              tool_now_ms());
        receive_peers_sweep(peers);
        can_accept = got <= 0 || polled[1].revents == 0 || accept_all(receiver);
    }
}

static int receive(struct receiver *receiver, const struct tool_send_place *place,
                   const char *folder)
{
    struct receive_peers *peers = &receiver->peers;
    int status = receive_store_open(&peers->store, folder);
    if (status != TOOL_OK)
        return status;
    receiver->ends = open_ends();
    if (receiver->ends < 0)
        return tool_fail("cannot wait for signals: %s", strerror(errno));
    receiver->listener = open_listener(place);
    if (receiver->listener < 0)
        return TOOL_CANNOT;
    peers->most = SENDERS_MOST;
    peers->items = tool_allocate(SENDERS_MOST + 1, sizeof *peers->items);
    status = say_where(receiver, folder);
    if (status == TOOL_OK)
        serve(receiver);
    receive_peers_close(peers);
    return status;
}

int tool_verb_receive(int argc, char **argv)
{
    int count, status;
    char standard[32];
    const char *why;
    struct options options = {0};
    struct tool_send_place place;
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    (void)snprintf(standard, sizeof standard, "127.0.0.1:%d", TOOL_SEND_PORT);
    const char *listen_at = options.listen != NULL ? options.listen : standard;
    if (tool_send_is_url(listen_at) || !tool_send_parse_place(listen_at, &place, &why) ||
        place.name[0] != '\0')
        return tool_usage("receive",
                          "--listen takes ADDRESS:PORT, such as 0.0.0.0:%d, and not "
                          "'%s'",
                          TOOL_SEND_PORT, listen_at);
    struct receiver receiver = {
        .listener = -1,
        .ends = -1,
        .peers = {.is_quiet = options.quiet,
                  .store = {.fd = -1, .replaces = options.force, .max_bytes = options.max_size}}};
    status = receive(&receiver, &place, argv[0]);
    receive_store_close(&receiver.peers.store);
    if (receiver.listener >= 0)
        (void)close(receiver.listener);
    if (receiver.ends >= 0)
        (void)close(receiver.ends);
    return status;
}
