/* Whole messages over a socket that may end or stall at any byte. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/symbols/symbols_wire.h"

uint64_t tool_wire_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Waits until the socket is ready; false with errno ETIMEDOUT when the deadline is over. */
static bool wait_for(int fd, short events, uint64_t deadline_ms)
{
    for (;;) {
        int left = -1;
        if (deadline_ms != 0) {
            uint64_t now = tool_wire_now_ms();
            uint64_t rest = deadline_ms > now ? deadline_ms - now : 0;
            left = rest < INT_MAX ? (int)rest : INT_MAX;
        }
        struct pollfd waiting = {.fd = fd, .events = events};
        int ready = poll(&waiting, 1, left);
        if (ready > 0)
            return true;
        if (ready == 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (errno != EINTR)
            return false;
    }
}

bool tool_wire_send(int fd, const void *data, size_t size_bytes, uint64_t deadline_ms)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t sent = send(fd, at, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd, POLLOUT, deadline_ms))
                return false;
            continue;
        }
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        at += sent;
        size_bytes -= (size_t)sent;
    }
    return true;
}

bool tool_wire_receive(int fd, void *data, size_t size_bytes, uint64_t deadline_ms)
{
    char *at = data;
    while (size_bytes > 0) {
        ssize_t got = recv(fd, at, size_bytes, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd, POLLIN, deadline_ms))
                return false;
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? EPIPE : errno;
            return false;
        }
        at += got;
        size_bytes -= (size_t)got;
    }
    return true;
}
