#include "tools/receive/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/command/tool.h"

#define HELLO_MS   10000u
#define LEAVING_MS 10000u
#define TAKE_BYTES (256u << 10) /* at once, so that all have their turn */

/* What has come. 0: nothing; or the other side has hung up, and the peer is gone. */
static size_t hear_bytes(struct receive_peer *peer, uint8_t *bytes, size_t room)
{
    ssize_t got = recv(peer->fd, bytes, room, 0);
    if (got > 0)
        return (size_t)got;
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        peer->stage = RECEIVE_GONE;
    return 0;
}

/* ---- what is said ---- */

static void say(struct receive_peer *peer, const struct tool_send_said *said)
{
    peer->out_bytes = tool_send_put_said(said, peer->out);
    peer->out_sent = 0;
}

static void flush(struct receive_peer *peer)
{
    while (peer->out_sent < peer->out_bytes) {
        ssize_t sent = send(peer->fd, peer->out + peer->out_sent, peer->out_bytes - peer->out_sent,
                            MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            peer->stage = RECEIVE_GONE;
            return;
        }
        peer->out_sent += (size_t)sent;
    }
    peer->out_bytes = peer->out_sent = 0;
    if (peer->stage == RECEIVE_LEAVING)
        (void)shutdown(peer->fd, SHUT_WR);
}

static void hang_up(struct receive_peer *peer, uint64_t now_ms)
{
    peer->stage = RECEIVE_LEAVING;
    peer->deadline_ms = now_ms + LEAVING_MS;
    flush(peer);
}

static void refuse(struct receive_peers *peers, struct receive_peer *peer,
                   const struct receive_answer *answer, uint64_t now_ms)
{
    struct tool_send_said said = {.kind = answer->kind};
    memcpy(said.text, answer->text, sizeof said.text);
    if (!peers->is_quiet && strcmp(peers->last.text, answer->text) != 0)
        tool_message("%s: refused: %s", peer->where, answer->text);
    peers->last = *answer;
    say(peer, &said);
    hang_up(peer, now_ms);
}

static void acknowledge(struct receive_peers *peers, struct receive_peer *peer, bool is_first,
                        uint64_t now_ms)
{
    struct receive_answer answer;
    const struct tool_arrival *a = &peer->file.arrival;
    if (peer->out_bytes != 0 || (!is_first && a->whole_bytes == peer->told_bytes))
        return;
    if (!receive_file_sync(&peer->file, &answer)) {
        refuse(peers, peer, &answer, now_ms);
        return;
    }
    if (!is_first && peer->told_bytes == peer->begin_bytes && !peers->is_quiet)
        tool_message("'%s': %s %s", peer->file.name,
                     peer->told_bytes != 0 ? "goes on, from" : "comes from", peer->where);
    peer->told_bytes = a->whole_bytes;
    say(peer, &(struct tool_send_said){
                  .kind = TOOL_SEND_HAS, .offset = a->whole_bytes, .prefix = a->prefix});
    flush(peer);
}

/* ---- the end of a file ---- */

static void say_file(const struct receive_peers *peers, const struct receive_file *file,
                     const char *what)
{
    if (!peers->is_quiet)
        tool_message("'%s': %s, %llu bytes", file->name, what,
                     (unsigned long long)file->arrival.whole_bytes);
}

static void end_file(struct receive_peers *peers, struct receive_peer *peer)
{
    const struct tool_arrival *a = &peer->file.arrival;
    if (peer->file.fd < 0)
        return;
    bool stays = receive_file_close(&peer->file, &peers->store);
    bool is_checked = a->whole_bytes >= peer->file.old_bytes;
    if (stays && is_checked && !a->is_complete && a->whole_bytes != peer->begin_bytes)
        say_file(peers, &peer->file, "its sender went before the end");
}

/* ---- the hello ---- */

static struct receive_peer *find_other(const struct receive_peers *peers,
                                       const struct receive_peer *peer, const char *name)
{
    for (uint32_t i = 0; i < peers->count; i++) {
        struct receive_peer *other = &peers->items[i];
        if (other != peer && other->file.fd >= 0 && strcmp(other->file.name, name) == 0)
            return other;
    }
    return NULL;
}

/* Its sender has come again: the old connection is half open, and nobody is there. */
static bool give_way(struct receive_peers *peers, struct receive_peer *peer,
                     const struct tool_send_hello *hello, struct receive_answer *answer)
{
    struct receive_peer *other = find_other(peers, peer, hello->name);
    if (other == NULL)
        return true;
    if (memcmp(other->header, hello->header, sizeof other->header) != 0) {
        answer->kind = TOOL_SEND_NO;
        (void)snprintf(answer->text, sizeof answer->text, "'%s' is coming from %s now", hello->name,
                       other->where);
        return false;
    }
    (void)receive_file_close(&other->file, &peers->store);
    other->stage = RECEIVE_GONE;
    return true;
}

static void obey(struct receive_peers *peers, struct receive_peer *peer,
                 const struct tool_send_hello *hello, uint64_t now_ms)
{
    struct receive_answer answer;
    bool is_question = tool_send_is_question(hello);
    if (!give_way(peers, peer, hello, &answer) ||
        !(is_question ? receive_store_asks(&peers->store, hello->name, &answer)
                      : receive_file_open(&peer->file, &peers->store, hello, &answer))) {
        refuse(peers, peer, &answer, now_ms);
        return;
    }
    if (is_question) {
        say(peer, &(struct tool_send_said){.kind = TOOL_SEND_HAS});
        hang_up(peer, now_ms);
        return;
    }
    memcpy(peer->header, hello->header, sizeof peer->header);
    peer->stage = RECEIVE_CHECKING;
}

static void take_hello(struct receive_peers *peers, struct receive_peer *peer, uint64_t now_ms)
{
    size_t taken;
    struct tool_send_hello hello;
    struct receive_answer answer = {.kind = TOOL_SEND_NO};
    size_t got = hear_bytes(peer, peer->in + peer->in_bytes, sizeof peer->in - peer->in_bytes);
    if (got == 0)
        return;
    peer->in_bytes += got;
    switch (tool_send_get_hello(peer->in, peer->in_bytes, &hello, &taken)) {
    case TOOL_SEND_MORE: return;
    case TOOL_SEND_GOOD:
        if (taken == peer->in_bytes) { /* before an answer, nothing comes behind it */
            obey(peers, peer, &hello, now_ms);
            return;
        }
        (void)snprintf(answer.text, sizeof answer.text, "a sender waits for an answer first");
        break;
    case TOOL_SEND_BAD:
        (void)snprintf(answer.text, sizeof answer.text, "this is no hello of a sender");
        break;
    case TOOL_SEND_OTHER_VERSION:
        (void)snprintf(answer.text, sizeof answer.text,
                       "this receiver knows version %d of sending only", TOOL_SEND_VERSION);
        break;
    }
    refuse(peers, peer, &answer, now_ms);
}

/* ---- the trace ---- */

static void check(struct receive_peers *peers, struct receive_peer *peer, uint64_t now_ms)
{
    const struct tool_arrival *a = &peer->file.arrival;
    bool is_done;
    struct receive_answer answer;
    if (!receive_file_check(&peer->file, &peers->store, &is_done, &answer)) {
        refuse(peers, peer, &answer, now_ms);
        return;
    }
    if (!is_done)
        return;
    peer->stage = RECEIVE_TAKING;
    peer->begin_bytes = a->whole_bytes;
    acknowledge(peers, peer, true, now_ms);
    if (a->is_complete && peer->stage == RECEIVE_TAKING) /* the last word did not reach it */
        hang_up(peer, now_ms);
}

static void take(struct receive_peers *peers, struct receive_peer *peer, uint64_t now_ms)
{
    uint8_t bytes[TAKE_BYTES];
    struct receive_answer answer;
    size_t got = hear_bytes(peer, bytes, sizeof bytes);
    if (got != 0 && !receive_file_take(&peer->file, &peers->store, bytes, got, &answer))
        refuse(peers, peer, &answer, now_ms);
}

/* A peer stays until the other side hangs up, as what was said might be lost otherwise. */
static void listen_to_end(struct receive_peer *peer)
{
    uint8_t bytes[4096];
    (void)hear_bytes(peer, bytes, sizeof bytes);
}

/* ---- all of them ---- */

void receive_peers_add(struct receive_peers *peers, int fd, const char *where, uint64_t now_ms)
{
    struct receive_answer answer = {TOOL_SEND_NOT_NOW, "the receiver has as many senders as it "
                                                       "can have"};
    if (peers->count > peers->most) { /* one place is for refusals */
        (void)close(fd);
        return;
    }
    struct receive_peer *peer = &peers->items[peers->count++];
    *peer = (struct receive_peer){.fd = fd, .deadline_ms = now_ms + HELLO_MS, .file = {.fd = -1}};
    (void)snprintf(peer->where, sizeof peer->where, "%s", where);
    if (peers->count > peers->most)
        refuse(peers, peer, &answer, now_ms);
}

short receive_peer_wants(const struct receive_peer *peer)
{
    bool hears = peer->stage != RECEIVE_CHECKING;
    return (short)((hears ? POLLIN : 0) | (peer->out_bytes != 0 ? POLLOUT : 0));
}

static void hear(struct receive_peers *peers, struct receive_peer *peer, uint64_t now_ms)
{
    switch (peer->stage) {
    case RECEIVE_HELLO: take_hello(peers, peer, now_ms); break;
    case RECEIVE_TAKING: take(peers, peer, now_ms); break;
    case RECEIVE_LEAVING: listen_to_end(peer); break;
    default: break;
    }
}

void receive_peer_step(struct receive_peers *peers, struct receive_peer *peer, short events,
                       uint64_t now_ms)
{
    bool was_complete = peer->file.arrival.is_complete;
    if ((events & POLLOUT) != 0)
        flush(peer);
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0)
        hear(peers, peer, now_ms);
    if (peer->stage == RECEIVE_CHECKING)
        check(peers, peer, now_ms);
    if (peer->stage == RECEIVE_TAKING)
        acknowledge(peers, peer, false, now_ms);
    if (!was_complete && peer->stage == RECEIVE_TAKING && peer->file.arrival.is_complete)
        say_file(peers, &peer->file, "complete");
    bool waits = peer->stage == RECEIVE_HELLO || peer->stage == RECEIVE_LEAVING;
    if (waits && now_ms >= peer->deadline_ms)
        peer->stage = RECEIVE_GONE;
    if (peer->stage == RECEIVE_GONE || peer->stage == RECEIVE_LEAVING)
        end_file(peers, peer);
}

void receive_peers_sweep(struct receive_peers *peers)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < peers->count; i++) {
        if (peers->items[i].stage != RECEIVE_GONE) {
            peers->items[kept++] = peers->items[i];
            continue;
        }
        end_file(peers, &peers->items[i]);
        (void)close(peers->items[i].fd);
    }
    peers->count = kept;
}

void receive_peers_close(struct receive_peers *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        peers->items[i].stage = RECEIVE_GONE;
    receive_peers_sweep(peers);
    free(peers->items);
    peers->items = NULL;
}
