/* Sockets as both sides need them. */
#ifndef TOOL_SEND_SOCKET_H
#define TOOL_SEND_SOCKET_H

#include <stdbool.h>

#include "tools/send/wire.h"

#define TOOL_SOCKET_WORDS 80

/* Who is no longer there is noticed within a minute, though nothing is said. */
void tool_socket_keep_alive(int fd);

/* HOST:PORT of this end, and of the other one. */
void tool_socket_own(int fd, char words[TOOL_SOCKET_WORDS]);
void tool_socket_other(int fd, char words[TOOL_SOCKET_WORDS]);

/* A non-blocking connection, or -1 with `why`. `gives_up` is asked now and then. */
int tool_socket_connect(const struct tool_send_place *place, bool (*gives_up)(void *context),
                        void *context, char why[TOOL_SEND_TEXT_MOST + 1]);

#endif
