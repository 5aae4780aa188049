#include "tools/send/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_SECONDS    30
#define BETWEEN_SECONDS 10
#define PROBES          3
#define UNHEARD_MS      60000
#define LOOK_MS         50 /* between two looks whether to give up */

void tool_socket_keep_alive(int fd)
{
    const int on = 1, idle = IDLE_SECONDS, between = BETWEEN_SECONDS, probes = PROBES;
    const unsigned unheard = UNHEARD_MS;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard, sizeof unheard);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void put_words(const struct sockaddr_storage *address, socklen_t size_bytes,
                      char words[TOOL_SOCKET_WORDS])
{
    char host[64], port[8];
    bool is_long = address->ss_family == AF_INET6;
    if (getnameinfo((const struct sockaddr *)address, size_bytes, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        (void)snprintf(words, TOOL_SOCKET_WORDS, is_long ? "[%s]:%s" : "%s:%s", host, port);
    else
        (void)snprintf(words, TOOL_SOCKET_WORDS, "an unknown address");
}

void tool_socket_own(int fd, char words[TOOL_SOCKET_WORDS])
{
    struct sockaddr_storage address = {0};
    socklen_t size_bytes = sizeof address;
    (void)getsockname(fd, (struct sockaddr *)&address, &size_bytes);
    put_words(&address, size_bytes, words);
}

void tool_socket_other(int fd, char words[TOOL_SOCKET_WORDS])
{
    struct sockaddr_storage address = {0};
    socklen_t size_bytes = sizeof address;
    (void)getpeername(fd, (struct sockaddr *)&address, &size_bytes);
    put_words(&address, size_bytes, words);
}

/* Waits until it is connected; 0 or an error number. */
static int wait_for(int fd, bool (*gives_up)(void *context), void *context)
{
    int code = 0;
    socklen_t size_bytes = sizeof code;
    while (!gives_up(context)) {
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        if (poll(&polled, 1, LOOK_MS) > 0)
            return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size_bytes) == 0 ? code : errno;
    }
    return ETIMEDOUT;
}

int tool_socket_connect(const struct tool_send_place *place, bool (*gives_up)(void *context),
                        void *context, char why[TOOL_SEND_TEXT_MOST + 1])
{
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int fd = -1, code = getaddrinfo(place->host, place->port, &hints, &found);
    if (code != 0) {
        (void)snprintf(why, TOOL_SEND_TEXT_MOST + 1, "%s", gai_strerror(code));
        return -1;
    }
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        code = fd < 0 ? errno : 0;
        if (code == 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0)
            code = errno == EINPROGRESS ? wait_for(fd, gives_up, context) : errno;
        if (code == 0)
            continue;
        if (fd >= 0)
            (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd >= 0)
        tool_socket_keep_alive(fd);
    else
        (void)snprintf(why, TOOL_SEND_TEXT_MOST + 1, "%s", strerror(code));
    return fd;
}
