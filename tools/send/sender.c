#define _GNU_SOURCE /* fallocate */
#include "tools/send/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/send/socket.h"

#define ASK_MS        10000
#define LOOK_MS       50 /* between two looks for more */
#define FIRST_MS      100u
#define LATER_MS      2000u
#define STANDING_MS   5000u       /* nothing went on for so long, at the end */
#define CHECKED_BYTES (32u << 10) /* that a receiver checks in a millisecond, at least */
#define SEND_BYTES    (256u << 10)
#define PAGE_BYTES    4096u
#define BLOCK_BYTES   512u /* of st_blocks */

/* A connection that is up. */
struct link {
    int fd;
    uint64_t sent_bytes; /* of the file: the next offset */
    uint8_t in[TOOL_SEND_SAID_MOST];
    size_t in_bytes;
};

/* Whoever waits may be asked whether it is still worth it. */
struct patience {
    bool (*gives_up)(void *context);
    void *context;
};

static bool say_why(char why[TOOL_SEND_TEXT_MOST + 1], const char *text)
{
    (void)snprintf(why, TOOL_SEND_TEXT_MOST + 1, "%s", text);
    return false;
}

/* ---- words of a connection ---- */

/* Nothing is read meanwhile: all is sent, or it failed. */
static bool put_all(int fd, const uint8_t *data, size_t size_bytes, const struct patience *patience,
                    char why[TOOL_SEND_TEXT_MOST + 1])
{
    while (size_bytes > 0) {
        ssize_t sent = send(fd, data, size_bytes, MSG_NOSIGNAL);
        if (sent > 0) {
            data += sent;
            size_bytes -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return say_why(why, strerror(errno));
        if (patience->gives_up(patience->context))
            return say_why(why, "the receiver takes nothing");
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        (void)poll(&polled, 1, LOOK_MS);
    }
    return true;
}

/* What is there of a message: GOOD once for each, MORE when there is no other one. */
static enum tool_send_parsed next_said(struct link *link, struct tool_send_said *said)
{
    size_t taken = 0;
    enum tool_send_parsed got = tool_send_get_said(link->in, link->in_bytes, said, &taken);
    memmove(link->in, link->in + taken, link->in_bytes - taken);
    link->in_bytes -= taken;
    return got;
}

static bool fill(struct link *link, char why[TOOL_SEND_TEXT_MOST + 1])
{
    ssize_t got = recv(link->fd, link->in + link->in_bytes, sizeof link->in - link->in_bytes, 0);
    if (got > 0)
        link->in_bytes += (size_t)got;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return true;
    return say_why(why, got == 0 ? "the connection was closed" : strerror(errno));
}

/* The answer to a hello. */
static bool wait_for_answer(struct link *link, struct tool_send_said *said,
                            const struct patience *patience, char why[TOOL_SEND_TEXT_MOST + 1])
{
    enum tool_send_parsed got;
    while ((got = next_said(link, said)) == TOOL_SEND_MORE) {
        struct pollfd polled = {.fd = link->fd, .events = POLLIN};
        if (patience->gives_up(patience->context))
            return say_why(why, "the receiver does not answer");
        if (poll(&polled, 1, LOOK_MS) > 0 && !fill(link, why))
            return false;
    }
    return got == TOOL_SEND_GOOD ? true : say_why(why, "what answers there is no receiver");
}

static bool exchange(struct link *link, const struct tool_send_hello *hello,
                     struct tool_send_said *said, const struct patience *patience,
                     char why[TOOL_SEND_TEXT_MOST + 1])
{
    uint8_t bytes[TOOL_SEND_HELLO_MOST];
    size_t size = tool_send_put_hello(hello, bytes);
    *said = (struct tool_send_said){.kind = TOOL_SEND_NOT_NOW};
    return put_all(link->fd, bytes, size, patience, why) &&
           wait_for_answer(link, said, patience, why) &&
           (said->kind == TOOL_SEND_HAS || say_why(why, said->text));
}

static bool is_late(void *deadline_ms) { return tool_now_ms() >= *(const uint64_t *)deadline_ms; }

bool tool_sender_ask(const struct tool_send_place *place)
{
    char why[TOOL_SEND_TEXT_MOST + 1] = "";
    struct tool_send_said said;
    struct tool_send_hello hello = {.header = {0}};
    uint64_t deadline_ms = tool_now_ms() + ASK_MS;
    const struct patience patience = {is_late, &deadline_ms};
    memcpy(hello.name, place->name, sizeof hello.name);
    struct link link = {.fd = tool_socket_connect(place, is_late, &deadline_ms, why)};
    if (link.fd < 0) {
        (void)tool_fail("cannot reach a receiver at %s:%s: %s; there, 'tracetape receive DIR' "
                        "makes one",
                        place->host, place->port, why);
        return false;
    }
    bool may = exchange(&link, &hello, &said, &patience, why);
    (void)close(link.fd);
    if (!may)
        (void)tool_fail("the receiver at %s:%s: %s", place->host, place->port, why);
    return may;
}

/* ---- the file ---- */

static uint64_t size_of(const struct tool_sender *s)
{
    struct stat info;
    return fstat(s->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static bool read_header(const struct tool_sender *s, struct tool_send_hello *hello)
{
    memcpy(hello->name, s->place.name, sizeof hello->name);
    return pread(s->fd, hello->header, sizeof hello->header, 0) == (ssize_t)sizeof hello->header;
}

/* The receiver's file begins as ours does, as far as it goes. */
static bool is_ours(const struct tool_sender *s, const struct tool_send_said *said)
{
    struct tool_arrival own = {0};
    tool_arrival_walk_all(&own, s->fd, said->offset);
    return own.whole_bytes == said->offset && own.prefix == said->prefix;
}

/* The pages of a payload that are its alone. */
static uint64_t give_back_pages(struct tool_sender *s, uint64_t offset)
{
    uint64_t end = s->behind.at_bytes & ~(uint64_t)(PAGE_BYTES - 1);
    offset = (offset + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    if (offset >= end || fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                                   (off_t)(end - offset)) != 0)
        return 0;
    s->given_back_bytes = end;
    return end - offset;
}

/* Only what is too much goes, the oldest first: what stays makes a killed recording whole. */
static void give_back(struct tool_sender *s)
{
    struct stat info;
    uint64_t offset, here;
    if (s->spill_bytes == 0 || fstat(s->fd, &info) != 0)
        return;
    here = (uint64_t)info.st_blocks * BLOCK_BYTES;
    while (here > s->spill_bytes &&
           tool_arrival_walk(&s->behind, s->fd, s->acknowledged_bytes) == TOOL_ARRIVAL_PIECE) {
        if (tool_arrival_has_payload(&s->behind, &offset) &&
            s->behind.chunk.kind == TTP_CHUNK_PARTITION) {
            uint64_t freed = give_back_pages(s, offset);
            here -= freed < here ? freed : here;
        }
        tool_arrival_accept(&s->behind);
    }
}

/* ---- the thread ---- */

/* Nothing is left to be done, or to be hoped for. */
static bool is_over(struct tool_sender *s)
{
    if (atomic_load(&s->is_dropped))
        return true;
    bool has_ended = atomic_load(&s->has_ended);
    s->size_bytes = size_of(s);
    atomic_store(&s->is_full, s->spill_bytes != 0 && s->size_bytes > s->acknowledged_bytes &&
                                  s->size_bytes - s->acknowledged_bytes > s->spill_bytes);
    if (!has_ended) {
        s->is_refused = false; /* somebody may make room for it meanwhile */
        s->progress_ms = tool_now_ms();
        return false;
    }
    s->is_complete = s->acknowledged_bytes == s->size_bytes;
    return s->is_complete || s->is_refused ||
           tool_now_ms() - s->progress_ms >= STANDING_MS + s->answer_ms ||
           (s->gives_up != NULL && s->gives_up());
}

static bool gives_up(void *sender) { return is_over(sender); }

static void acknowledge(struct tool_sender *s, uint64_t offset)
{
    if (offset > s->acknowledged_bytes) {
        s->acknowledged_bytes = offset;
        s->progress_ms = tool_now_ms();
    }
    give_back(s);
}

/* It takes all messages that have come. */
static bool obey(struct tool_sender *s, struct link *link)
{
    struct tool_send_said said;
    enum tool_send_parsed got;
    while ((got = next_said(link, &said)) == TOOL_SEND_GOOD) {
        s->is_refused = said.kind == TOOL_SEND_NO;
        if (said.kind != TOOL_SEND_HAS)
            return say_why(s->why, said.text);
        if (said.offset > link->sent_bytes)
            return say_why(s->why, "the receiver acknowledged what it was not sent");
        acknowledge(s, said.offset);
    }
    return got == TOOL_SEND_MORE ? true : say_why(s->why, "what answers there is no receiver");
}

/* It sends what there is and the socket takes. */
static bool send_more(struct tool_sender *s, struct link *link)
{
    uint8_t bytes[SEND_BYTES];
    ssize_t got = pread(s->fd, bytes, sizeof bytes, (off_t)link->sent_bytes);
    if (got <= 0)
        return true;
    ssize_t sent = send(link->fd, bytes, (size_t)got, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR || say_why(s->why, strerror(errno));
    link->sent_bytes += (uint64_t)sent;
    return true;
}

static void serve(struct tool_sender *s, struct link *link)
{
    while (!is_over(s)) {
        bool has_more = link->sent_bytes < s->size_bytes;
        struct pollfd polled = {.fd = link->fd,
                                .events = (short)(POLLIN | (has_more ? POLLOUT : 0))};
        (void)poll(&polled, 1, LOOK_MS);
        if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
            (!fill(link, s->why) || !obey(s, link)))
            break;
        if (has_more && !send_more(s, link))
            break;
    }
    s->lost_count += !atomic_load(&s->is_dropped) && !s->is_complete;
}

/* A receiver checks what it has before it answers: that is no standing still. */
static bool ask_for_offset(struct tool_sender *s, struct link *link,
                           const struct tool_send_hello *hello, struct tool_send_said *said)
{
    const struct patience patience = {gives_up, s};
    uint64_t begin = tool_now_ms();
    s->answer_ms = size_of(s) / CHECKED_BYTES;
    bool may = exchange(link, hello, said, &patience, s->why);
    s->answer_ms = 0;
    uint64_t now = tool_now_ms(), progress_ms = s->progress_ms + (now - begin);
    if (may)
        s->progress_ms = progress_ms < now ? progress_ms : now;
    return may;
}

static bool open_link(struct tool_sender *s, struct link *link)
{
    struct tool_send_hello hello;
    struct tool_send_said said;
    if (!read_header(s, &hello))
        return false; /* nothing is written yet */
    link->fd = tool_socket_connect(&s->place, gives_up, s, s->why);
    if (link->fd < 0)
        return false;
    bool may = ask_for_offset(s, link, &hello, &said);
    s->is_refused = said.kind == TOOL_SEND_NO;
    if (!may)
        return false;
    if (!is_ours(s, &said))
        return say_why(s->why, "it has another trace, which begins alike");
    if (said.offset < s->given_back_bytes)
        return say_why(s->why, "it has lost what it had acknowledged, which is not here any more");
    link->sent_bytes = said.offset;
    acknowledge(s, said.offset);
    return true;
}

static void pause_for(struct tool_sender *s, uint64_t pause_ms)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    for (uint64_t begin = tool_now_ms(); tool_now_ms() - begin < pause_ms && !is_over(s);)
        (void)nanosleep(&look, NULL);
}

static void *work(void *context)
{
    struct tool_sender *s = context;
    uint64_t pause_ms = FIRST_MS;
    s->progress_ms = tool_now_ms();
    while (!is_over(s)) {
        struct link link = {.fd = -1};
        uint64_t before = s->acknowledged_bytes;
        if (open_link(s, &link))
            serve(s, &link);
        if (s->acknowledged_bytes != before) /* else it may refuse over and over */
            pause_ms = FIRST_MS;
        if (link.fd >= 0)
            (void)close(link.fd);
        if (size_of(s) == 0) { /* before the first partition */
            pause_for(s, LOOK_MS);
            continue;
        }
        pause_for(s, pause_ms);
        pause_ms = pause_ms * 2 < LATER_MS ? pause_ms * 2 : LATER_MS;
    }
    return NULL;
}

void tool_sender_begin(struct tool_sender *sender)
{
    sender->has_thread = ttp_thread_begin(&sender->thread, work, sender);
    if (!sender->has_thread)
        (void)say_why(sender->why, "no thread could be made");
}

bool tool_sender_end(struct tool_sender *sender, bool is_dropped)
{
    atomic_store(&sender->is_dropped, is_dropped);
    atomic_store(&sender->has_ended, true);
    if (sender->has_thread)
        ttp_thread_join(sender->thread);
    else if (!is_dropped)
        (void)work(sender);
    sender->has_thread = false;
    if (sender->fd >= 0)
        (void)close(sender->fd);
    sender->fd = -1;
    return sender->is_complete;
}
