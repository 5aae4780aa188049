/* What strangers send to a receiver and to a sender: hello, messages, and a trace's bytes. What is
 * taken as a hello or a message is written again as it was, and names have no path in them; a
 * trace's bytes have the same pieces however they come in, and by headers alone. */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_common.h"
#include "tools/send/arrival.h"
#include "tools/send/wire.h"

static void check_hello(const uint8_t *data, size_t size)
{
    size_t taken = 0;
    uint8_t again[TOOL_SEND_HELLO_MOST];
    struct tool_send_hello hello;
    if (tool_send_get_hello(data, size, &hello, &taken) != TOOL_SEND_GOOD)
        return;
    FUZZ_REQUIRE(taken <= size && taken <= sizeof again);
    FUZZ_REQUIRE(strchr(hello.name, '/') == NULL && hello.name[0] != '.' && hello.name[0] != '\0');
    FUZZ_REQUIRE(tool_send_put_hello(&hello, again) == taken && memcmp(again, data, taken) == 0);
}

/* The same with a right hash, so that what is behind it is seen. */
static void check_sealed_hello(struct fuzz_input in)
{
    uint8_t bytes[TOOL_SEND_HELLO_MOST] = {0};
    struct tool_send_hello hello = {.name = "a.ttape"};
    size_t size = tool_send_put_hello(&hello, bytes);
    check_hello(bytes, size);
    for (size_t i = 0; i < in.size && i + 1 < sizeof hello.name; i++)
        hello.name[i] = (char)(in.data[i] != 0 ? in.data[i] : '/');
    size = tool_send_put_hello(&hello, bytes);
    for (size_t cut = 0; cut < size; cut += 7)
        check_hello(bytes, cut);
    check_hello(bytes, size);
}

static void check_said(const uint8_t *data, size_t size)
{
    size_t taken = 0;
    uint8_t again[TOOL_SEND_SAID_MOST];
    struct tool_send_said said;
    if (tool_send_get_said(data, size, &said, &taken) != TOOL_SEND_GOOD)
        return;
    FUZZ_REQUIRE(taken <= size && taken <= sizeof again);
    FUZZ_REQUIRE(tool_send_put_said(&said, again) == taken && memcmp(again, data, taken) == 0);
}

static void check_place(struct fuzz_input in)
{
    const char *why = NULL;
    char *text = fuzz_take(in.size + 1);
    struct tool_send_place place;
    memcpy(text, in.data, in.size);
    if (tool_send_parse_place(text, &place, &why))
        FUZZ_REQUIRE(place.host[0] != '\0' && place.port[0] != '\0' &&
                     (place.name[0] == '\0' || tool_send_is_name(place.name, strlen(place.name))));
    else
        FUZZ_REQUIRE(why != NULL);
}

/* All that comes in, `step` bytes at a time. */
static struct tool_arrival arrive(const uint8_t *data, size_t size, size_t step)
{
    struct tool_arrival a = {0};
    enum tool_arrival_event event = TOOL_ARRIVAL_MORE;
    for (size_t at = 0; at < size && event != TOOL_ARRIVAL_BAD;) {
        size_t given = size - at < step ? size - at : step;
        size_t taken = tool_arrival_take(&a, data + at, given, &event);
        FUZZ_REQUIRE(taken <= given && (taken != 0 || event != TOOL_ARRIVAL_MORE));
        at += taken;
        FUZZ_REQUIRE(event == TOOL_ARRIVAL_BAD || a.at_bytes == at);
        FUZZ_REQUIRE(a.whole_bytes <= a.at_bytes && a.partition_count <= a.chunk_count);
        if (event == TOOL_ARRIVAL_PIECE)
            tool_arrival_accept(&a);
    }
    return a;
}

static struct tool_arrival walk(const uint8_t *data, size_t size)
{
    struct tool_arrival a = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    tool_arrival_walk_all(&a, fd, size);
    FUZZ_REQUIRE(close(fd) == 0);
    return a;
}

static void check_same(const struct tool_arrival *a, const struct tool_arrival *b)
{
    FUZZ_REQUIRE(a->whole_bytes == b->whole_bytes && a->prefix == b->prefix);
    FUZZ_REQUIRE(a->chunk_count == b->chunk_count && a->is_complete == b->is_complete);
    FUZZ_REQUIRE(a->error.status == b->error.status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_take(size + (size == 0)); /* exact, so that one byte too far is found */
    if (size != 0)
        memcpy(copy, data, size);
    struct fuzz_input in = {copy, size};
    struct tool_arrival whole = arrive(copy, size, size + (size == 0));
    struct tool_arrival parts = arrive(copy, size, 1 + size % 97), headers = walk(copy, size);
    check_same(&whole, &parts);
    check_same(&whole, &headers);
    check_hello(copy, size);
    check_said(copy, size);
    check_sealed_hello(in);
    check_place(in);
    fuzz_release_all();
    return 0;
}
