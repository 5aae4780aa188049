/* How fast the codecs are by themselves: no files, no writer, one core.
 *
 *   encode_order FILE EVENTS REPEATS
 *
 *   FILE --reader--> first EVENTS events of its longest stream --> codes, differences
 *        --> order (chain), times (static), times (mix): encode, decode
 *
 * Prints one line of JSON: per step the seconds of every repeat, the bytes, and the number of
 * events. What was decoded is compared. Steps take turns, so that a slow moment of the machine hits
 * all alike. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tracetape/reader.h>

#include "format/chain/chain_decode.h"
#include "format/chain/chain_encode.h"
#include "format/order/raw_order.h"
#include "format/times/time_mix.h"
#include "format/times/time_static.h"

enum { STEPS = 6, MAX_REPEATS = 99 };

static const char *const step_names[STEPS] = {"order_encode",       "order_decode",
                                              "times_encode",       "times_decode",
                                              "times_mixed_encode", "times_mixed_decode"};

struct prepared {
    uint32_t *codes, *delta, *stack, *map;
    struct ttp_symbol *symbols;
    int64_t *wide;
    uint32_t events, symbol_count, wide_count, depth, map_size;
    uint64_t last_ns;
};

struct bench {
    struct ttp_order order;
    struct ttp_times times;
    struct ttp_order_out decoded;
    struct ttp_times decoded_times;
    struct ttp_workspace workspace;
    struct ttp_buffer header, data, section[2];
    double seconds[STEPS][MAX_REPEATS];
};

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("encode_order: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void check(ttape_status status, const ttape_error *err, const char *what)
{
    if (status != TTAPE_OK)
        die("%s: status %d: %s", what, (int)status, err->message);
}

static void *need(size_t bytes)
{
    void *memory = calloc(bytes != 0 ? bytes : 1, 1);
    if (memory == NULL)
        die("out of memory");
    return memory;
}

static struct ttp_buffer buffer(size_t bytes) { return (struct ttp_buffer){need(bytes), bytes, 0}; }

static struct ttp_bytes written(const struct ttp_buffer *b)
{
    return (struct ttp_bytes){b->data, b->size};
}

/* ---- events to codes ---- */

static uint32_t symbol_of(struct prepared *p, uint8_t event_class, uint32_t argument)
{
    uint32_t at = (argument * 2654435761u ^ event_class * 40503u) & (p->map_size - 1);
    while (p->map[at] != 0) {
        const struct ttp_symbol *s = &p->symbols[p->map[at] - 1];
        if (s->argument == argument && s->event_class == event_class)
            return p->map[at] - 1;
        at = (at + 1) & (p->map_size - 1);
    }
    p->symbols[p->symbol_count] = (struct ttp_symbol){argument, event_class};
    p->map[at] = ++p->symbol_count;
    return p->symbol_count - 1;
}

static void drop(struct prepared *p, uint32_t frames)
{
    p->depth -= frames < p->depth ? frames : p->depth;
}

static uint32_t code_of(struct prepared *p, const ttape_event *e)
{
    uint32_t symbol;
    switch (e->kind) {
    case TTAPE_EVENT_EXIT:
    case TTAPE_EVENT_SIGNAL_END:
        if (p->depth == 0)
            die("event %" PRIu32 " closes nothing", p->events);
        return p->stack[--p->depth] << 1 | 1;
    case TTAPE_EVENT_EXIT_UNSEEN: return symbol_of(p, TTP_CLASS_EXIT_UNSEEN, e->site) << 1;
    case TTAPE_EVENT_UNWIND:
        drop(p, e->argument);
        return symbol_of(p, TTP_CLASS_UNWIND, e->argument) << 1;
    case TTAPE_EVENT_EXIT_ACROSS:
        drop(p, e->argument + 1);
        return symbol_of(p, TTP_CLASS_EXIT_ACROSS, e->argument) << 1;
    case TTAPE_EVENT_LEAF: return symbol_of(p, TTP_CLASS_LEAF, e->site) << 1;
    case TTAPE_EVENT_GAP: return symbol_of(p, TTP_CLASS_GAP, e->argument) << 1;
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN:
        symbol =
            symbol_of(p, e->kind == TTAPE_EVENT_OPEN ? TTP_CLASS_OPEN : TTP_CLASS_ENTER, e->site);
        break;
    case TTAPE_EVENT_SIGNAL_BEGIN: symbol = symbol_of(p, TTP_CLASS_SIGNAL, e->argument); break;
    default:
        die("event %" PRIu32 " of kind %" PRIu32 ": one stack only, please", p->events, e->kind);
    }
    p->stack[p->depth++] = symbol;
    return symbol << 1;
}

static void add(struct prepared *p, const ttape_event *e)
{
    int64_t difference = p->events != 0 ? (int64_t)(e->time_ns - p->last_ns) : 0;
    p->codes[p->events] = code_of(p, e);
    p->delta[p->events] = (uint32_t)difference;
    if (difference < 0 || difference >= (int64_t)TTP_DELTA_WIDE) {
        p->delta[p->events] = TTP_DELTA_WIDE;
        p->wide[p->wide_count++] = difference;
    }
    p->events++;
    p->last_ns = e->time_ns;
}

static void prepare_room(struct prepared *p, uint32_t events)
{
    for (p->map_size = 1024; p->map_size < 2 * events; p->map_size *= 2)
        ;
    p->codes = need(events * sizeof(uint32_t));
    p->delta = need(events * sizeof(uint32_t));
    p->stack = need(events * sizeof(uint32_t));
    p->map = need(p->map_size * sizeof(uint32_t));
    p->symbols = need(events * sizeof(struct ttp_symbol));
    p->wide = need(events * sizeof(int64_t));
}

static uint32_t longest_stream(const ttape_reader *reader)
{
    ttape_stream_info stream;
    uint64_t most = 0;
    uint32_t longest = 0;
    for (uint32_t i = 0; ttape_reader_get_stream(reader, i, &stream) == TTAPE_OK; i++) {
        if (stream.event_count > most) {
            most = stream.event_count;
            longest = i;
        }
    }
    return longest;
}

static void prepare(struct prepared *p, const char *path, uint32_t events)
{
    static ttape_event batch[4096];
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *reader;
    ttape_cursor *cursor;
    size_t count;
    prepare_room(p, events);
    check(ttape_source_file_open(&source, path, &err), &err, path);
    check(ttape_reader_open(&reader, &source, NULL, &err), &err, path);
    check(ttape_cursor_open(&cursor, reader, longest_stream(reader), &err), &err, path);
    while (p->events < events &&
           ttape_cursor_next_events(cursor, batch, 4096, &count, &err) == TTAPE_OK)
        for (size_t i = 0; i < count && p->events < events; i++)
            add(p, &batch[i]);
    ttape_cursor_close(cursor);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    if (p->events == 0)
        die("no events in '%s'", path);
}

/* ---- steps ---- */

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static void set_up(struct bench *b, const struct prepared *p)
{
    static uint32_t segment_start[2], nothing[2];
    uint32_t n = p->events;
    segment_start[1] = n;
    b->order = (struct ttp_order){p->codes, p->symbols, segment_start,   nothing, nothing, nothing,
                                  nothing,  n,          p->symbol_count, 0,       1,       0};
    b->times = (struct ttp_times){p->codes, segment_start,   p->delta,      p->wide,      n,
                                  1,        p->symbol_count, p->wide_count, p->wide_count};
    b->decoded = (struct ttp_order_out){need(n * sizeof(uint32_t)),
                                        need((p->symbol_count + 1) * sizeof(struct ttp_symbol)),
                                        segment_start,
                                        nothing,
                                        nothing,
                                        nothing,
                                        nothing,
                                        n,
                                        p->symbol_count,
                                        0,
                                        1,
                                        0,
                                        0};
    b->decoded_times = b->times;
    b->decoded_times.delta = need(n * sizeof(uint32_t));
    b->decoded_times.wide = need((p->wide_count + 1) * sizeof(int64_t));
    b->header = buffer(ttp_raw_order_bound(n, p->symbol_count) + 4096);
    b->data = buffer(b->header.capacity);
    b->section[0] = buffer(ttp_time_static_encode_bound(n));
    b->section[1] = buffer(ttp_time_mix_encode_bound(n));
    b->workspace.size = most(most(ttp_chain_encode_workspace(n, p->symbol_count, 1, 0, NULL),
                                  ttp_chain_decode_workspace(n, p->symbol_count, 0, NULL)),
                             most(most(ttp_time_static_encode_workspace(n),
                                       ttp_time_static_decode_workspace(n, p->symbol_count)),
                                  most(ttp_time_mix_encode_workspace(n),
                                       ttp_time_mix_decode_workspace(n, p->symbol_count))));
    b->workspace.memory = need(b->workspace.size);
}

static ttape_status run_step(struct bench *b, int step, ttape_error *err)
{
    struct ttp_times *out = &b->decoded_times;
    out->wide_count = b->times.wide_count;
    switch (step) {
    case 0: return ttp_chain_encode(&b->order, NULL, b->workspace, &b->header, &b->data, NULL, err);
    case 1:
        return ttp_chain_decode(&b->decoded, NULL, written(&b->header), written(&b->data),
                                b->workspace, err);
    case 2: return ttp_time_static_encode(&b->times, b->workspace, &b->section[0], err);
    case 3:
        return ttp_time_static_decode(out, 0, UINT32_MAX, written(&b->section[0]), b->workspace,
                                      err);
    case 4: return ttp_time_mix_encode(&b->times, b->workspace, &b->section[1], err);
    default:
        return ttp_time_mix_decode(out, 0, UINT32_MAX, written(&b->section[1]), b->workspace, err);
    }
}

static void compare(const struct bench *b, int step)
{
    size_t bytes = b->order.event_count * sizeof(uint32_t);
    if (step == 1 && memcmp(b->decoded.codes, b->order.codes, bytes) != 0)
        die("decoded codes differ");
    if ((step == 3 || step == 5) && memcmp(b->decoded_times.delta, b->times.delta, bytes) != 0)
        die("decoded times differ (step %d)", step);
}

static void print(const struct bench *b, int repeats)
{
    const size_t bytes[STEPS / 2] = {b->header.size + b->data.size, b->section[0].size,
                                     b->section[1].size};
    printf("{\"events\": %" PRIu32, b->order.event_count);
    for (int step = 0; step < STEPS; step++) {
        printf(", \"%s\": {\"bytes\": %zu, \"seconds\": [", step_names[step], bytes[step / 2]);
        for (int i = 0; i < repeats; i++)
            printf("%s%.6f", i != 0 ? ", " : "", b->seconds[step][i]);
        printf("]}");
    }
    printf("}\n");
}

int main(int argc, char **argv)
{
    static struct prepared prepared;
    static struct bench bench;
    ttape_error err = {0};
    int repeats = argc == 4 ? atoi(argv[3]) : 0;
    if (repeats < 1 || repeats > MAX_REPEATS || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: encode_order FILE EVENTS REPEATS\n");
        return 2;
    }
    prepare(&prepared, argv[1], (uint32_t)atoi(argv[2]));
    set_up(&bench, &prepared);
    for (int i = 0; i < repeats; i++) {
        for (int step = 0; step < STEPS; step++) {
            struct timespec from, to;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
            ttape_status status = run_step(&bench, step, &err);
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
            check(status, &err, step_names[step]);
            compare(&bench, step);
            bench.seconds[step][i] =
                (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
        }
    }
    print(&bench, repeats);
    return 0;
}
