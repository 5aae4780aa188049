/* Families of calls of sockets, on the loopback only. */
#include "families.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static char text[256];
static int pair[2];

static void run_socket(void)
{
    CALL(SYS_close, CALL_FD(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    CALL(SYS_close, CALL_FD(SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_UDP));
    CALL(SYS_close, CALL_FD(SYS_socket, AF_INET6, SOCK_STREAM, IPPROTO_TCP));
    CALL(SYS_close, CALL_FD(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    CALL(SYS_socket, AF_INET, 99, 0);
    CALL(SYS_socket, 77, SOCK_SEQPACKET, 5);
    CALL(SYS_socket, AF_BLUETOOTH, SOCK_RAW, 0);
}

static void run_socketpair(void)
{
    CALL(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
    CALL(SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, NULL);
    int none[2];
    CALL(SYS_socketpair, AF_INET, SOCK_STREAM, 0, none);
}

static void run_unix(void)
{
    struct sockaddr_un name = {AF_UNIX, "listening"}, peer;
    socklen_t size = sizeof peer;
    int fd = CALL_FD(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    CALL(SYS_bind, fd, &name, sizeof name);
    CALL(SYS_listen, fd, 5);
    CALL(SYS_getsockname, fd, &peer, &size);
    int to = CALL_FD(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    CALL(SYS_connect, to, &name, sizeof name);
    size = sizeof peer;
    int from = CALL_FD(SYS_accept, fd, &peer, &size);
    size = sizeof peer;
    CALL(SYS_getpeername, to, &peer, &size);
    size = sizeof peer;
    CALL(SYS_getpeername, from, &peer, &size);
    CALL(SYS_getpeername, fd, &peer, &size);
    CALL(SYS_close, from);
    CALL(SYS_close, to);
    CALL(SYS_close, fd);
    CALL(SYS_unlink, "listening");
    memcpy(name.sun_path, "\0abstract", 9);
    fd = CALL_FD(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    CALL(SYS_connect, fd, &name, offsetof(struct sockaddr_un, sun_path) + 9);
    CALL(SYS_connect, fd, &name, 2);
    CALL(SYS_connect, fd, NULL, 0);
    CALL(SYS_close, fd);
}

static void run_inet(void)
{
    struct sockaddr_in name = {AF_INET, htons(39871), {htonl(INADDR_LOOPBACK)}, {0}}, peer;
    socklen_t size = sizeof peer;
    int one = 1, fd = CALL_FD(SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_IP);
    CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    CALL(SYS_bind, fd, &name, sizeof name);
    CALL(SYS_getsockname, fd, &peer, &size);
    CALL(SYS_getpeername, fd, &peer, &size);
    CALL(SYS_accept, -1, &peer, &size);
    CALL(SYS_connect, -1, &name, sizeof name);
    CALL(SYS_close, fd);
}

static void run_inet6(void)
{
    struct sockaddr_in6 name = {.sin6_family = AF_INET6,
                                .sin6_port = htons(39872),
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                                .sin6_flowinfo = htonl(7)};
    int fd = CALL_FD(SYS_socket, AF_INET6, SOCK_DGRAM, IPPROTO_IP);
    CALL(SYS_connect, fd, &name, sizeof name);
    CALL(SYS_connect, -1, &name, 8);
    CALL(SYS_close, fd);
}

static void run_accept4(void)
{
    struct sockaddr_un name = {AF_UNIX, "listening"}, peer;
    socklen_t size = sizeof peer;
    int fd = CALL_FD(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CALL(SYS_bind, fd, &name, sizeof name);
    CALL(SYS_listen, fd, 1);
    CALL(SYS_accept4, fd, &peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int to = CALL_FD(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    CALL(SYS_connect, to, &name, sizeof name);
    CALL(SYS_close, CALL_FD(SYS_accept4, fd, &peer, &size, SOCK_CLOEXEC));
    CALL(SYS_close, to);
    CALL(SYS_accept4, fd, NULL, NULL, 0);
    CALL(SYS_unlink, "listening");
    CALL(SYS_close, fd);
}

static void run_sendto(void)
{
    struct sockaddr_in name = {AF_INET, htons(39873), {htonl(INADDR_LOOPBACK)}, {0}}, peer;
    socklen_t size = sizeof peer;
    int fd = CALL_FD(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    CALL(SYS_bind, fd, &name, sizeof name);
    CALL(SYS_sendto, fd, "datagram", 8L, MSG_DONTWAIT, &name, sizeof name);
    CALL(SYS_recvfrom, fd, text, sizeof text, 0, &peer, &size);
    CALL(SYS_recvfrom, fd, text, sizeof text, MSG_DONTWAIT, &peer, &size);
    CALL(SYS_sendto, pair[0], "stream of bytes, which is longer than strace shows", 50L,
         MSG_NOSIGNAL, NULL, 0);
    CALL(SYS_recvfrom, pair[1], text, sizeof text, MSG_PEEK | MSG_TRUNC, NULL, NULL);
    CALL(SYS_recvfrom, pair[1], text, 5L, MSG_WAITALL, &peer, &size);
    CALL(SYS_sendto, -1, NOWHERE, 5L, MSG_OOB | MSG_MORE, NULL, 0);
    CALL(SYS_close, fd);
}

static void run_sendmsg(void)
{
    struct iovec parts[2] = {{"one", 3}, {"two", 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    CALL(SYS_read, pair[1], text, sizeof text);
    CALL(SYS_sendmsg, pair[0], &message, MSG_NOSIGNAL);
    parts[0] = (struct iovec){text, 4};
    parts[1] = (struct iovec){text + 10, 40};
    CALL(SYS_recvmsg, pair[1], &message, MSG_CMSG_CLOEXEC);
    CALL(SYS_recvmsg, pair[1], &message, MSG_DONTWAIT);
    CALL(SYS_sendmsg, -1, NULL, 0);
    struct sockaddr_in name = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
    message = (struct msghdr){
        .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = parts, .msg_iovlen = 1};
    CALL(SYS_sendmsg, -1, &message, 0);
}

static void run_rights(void)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int number = 2;
    memcpy(CMSG_DATA(&control.head), &number, sizeof number);
    CALL(SYS_sendmsg, pair[0], &message, 0);
    part.iov_base = text;
    CALL(SYS_recvmsg, pair[1], &message, 0);
}

static void run_sendmmsg(void)
{
    struct iovec parts[2] = {{"first", 5}, {"second", 6}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = parts + 1, .msg_iovlen = 1}}};
    struct timespec wait = {1, 0};
    int ends[2];
    CALL(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, ends);
    CALL(SYS_sendmmsg, ends[0], messages, 2, MSG_DONTWAIT);
    parts[0] = (struct iovec){text, 20};
    parts[1] = (struct iovec){text + 20, 20};
    CALL(SYS_recvmmsg, ends[1], messages, 2, MSG_DONTWAIT, NULL);
    CALL(SYS_recvmmsg, ends[1], messages, 2, MSG_DONTWAIT, &wait);
    CALL(SYS_sendmmsg, -1, messages, 1, 0);
    CALL(SYS_close, ends[0]);
    CALL(SYS_close, ends[1]);
}

static void run_setsockopt(void)
{
    int one = 1, fd = CALL_FD(SYS_socket, AF_INET, SOCK_STREAM, 0);
    struct linger linger = {1, 5};
    struct timeval wait = {1, 500000};
    CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    CALL(SYS_setsockopt, fd, SOL_TCP, TCP_NODELAY, &one, sizeof one);
    CALL(SYS_setsockopt, fd, SOL_IP, 1, &one, sizeof one);
    CALL(SYS_setsockopt, fd, SOL_IPV6, 26, &one, sizeof one);
    CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUF, NULL, 4);
    CALL(SYS_setsockopt, -1, 99, 98, &one, 2);
    CALL(SYS_close, fd);
}

static void run_getsockopt(void)
{
    int number = 0, fd = CALL_FD(SYS_socket, AF_INET, SOCK_STREAM, 0);
    struct linger linger;
    struct ucred who;
    socklen_t size = sizeof number;
    CALL(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &number, &size);
    CALL(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &number, &size);
    CALL(SYS_getsockopt, fd, SOL_TCP, TCP_NODELAY, &number, &size);
    size = sizeof linger;
    CALL(SYS_getsockopt, fd, SOL_SOCKET, SO_LINGER, &linger, &size);
    size = sizeof who;
    CALL(SYS_getsockopt, pair[0], SOL_SOCKET, SO_PEERCRED, &who, &size);
    CALL(SYS_getsockopt, -1, SOL_SOCKET, SO_RCVBUF, &number, &size);
    CALL(SYS_close, fd);
}

static void run_shutdown(void)
{
    CALL(SYS_shutdown, pair[0], SHUT_WR);
    CALL(SYS_shutdown, pair[1], SHUT_RDWR);
    CALL(SYS_shutdown, -1, 9);
    CALL(SYS_listen, -1, 128);
}

static void run_netlink(void)
{
    struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int fd = CALL_FD(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
    CALL(SYS_bind, fd, &name, sizeof name);
    CALL(SYS_close, fd);
}

static const struct family families[] = {
    {"socket", run_socket},     {"socketpair", run_socketpair}, {"unix", run_unix},
    {"inet", run_inet},         {"inet6", run_inet6},           {"accept4", run_accept4},
    {"sendto", run_sendto},     {"sendmsg", run_sendmsg},       {"rights", run_rights},
    {"sendmmsg", run_sendmmsg}, {"setsockopt", run_setsockopt}, {"getsockopt", run_getsockopt},
    {"shutdown", run_shutdown}, {"netlink", run_netlink},
};

int main(int argc, char **argv) { return RUN(families); }
