/* One connection of a receiver: what came, what is to be said, and the file that it brings.
 *
 *   hello --> checking (the file was there) --> taking --> leaving --> gone
 *     +-- a question, or a refusal: leaving -------------------^ */
#ifndef TOOL_RECEIVE_PEER_H
#define TOOL_RECEIVE_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/receive/store.h"
#include "tools/send/socket.h"
#include "tools/send/wire.h"

enum receive_stage {
    RECEIVE_HELLO,
    RECEIVE_CHECKING,
    RECEIVE_TAKING,
    RECEIVE_LEAVING, /* has something to hear, or to hang up */
    RECEIVE_GONE
};

struct receive_peer {
    int fd;
    enum receive_stage stage;
    char where[TOOL_SOCKET_WORDS];
    uint64_t deadline_ms; /* of HELLO and LEAVING */
    uint8_t in[TOOL_SEND_HELLO_MOST];
    size_t in_bytes;
    uint8_t out[TOOL_SEND_SAID_MOST];
    size_t out_bytes, out_sent;
    uint64_t told_bytes;  /* of the file, acknowledged */
    uint64_t begin_bytes; /* of the file, when this connection began */
    uint8_t header[TTP_FILE_HEADER_BYTES];
    struct receive_file file;
};

/* All of them, and what they share. */
struct receive_peers {
    struct receive_store store;
    struct receive_peer *items;
    uint32_t count, most;
    bool is_quiet;
    struct receive_answer last; /* that was said of a refusal: senders come again and again */
};

/* A connection that was just made; it has to be non-blocking. */
void receive_peers_add(struct receive_peers *peers, int fd, const char *where, uint64_t now_ms);
/* Which of poll's events it waits for. */
short receive_peer_wants(const struct receive_peer *peer);
/* Something came, or may be said, or time went by. May end another connection of the same trace. */
void receive_peer_step(struct receive_peers *peers, struct receive_peer *peer, short events,
                       uint64_t now_ms);
/* Forgets those that are gone. */
void receive_peers_sweep(struct receive_peers *peers);
/* Ends all. */
void receive_peers_close(struct receive_peers *peers);

#endif
