/* A traced program played by a test: blocks and records are put into a recording's arena as the
 * runtime would, or as it never would; what came of them is read back as one line of text per
 * stream.
 *
 *   +1000 enter    -1000 exit     o1000 open     ?1000 exit unseen   x1000/2 exit across
 *   !1000 leaf     u2 unwind      s1 switch      g1:5 gap, reason 1, 5 events
 *   (11 signal     )11 its end    [7 "x"] values of the event before
 *
 * Numbers behind the letters are addresses in hexadecimal, or the site's name where it has one.
 * Facts of ends are left out. */
#ifndef TTEST_ARENA_PLAYER_H
#define TTEST_ARENA_PLAYER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tracetape/reader.h>
#include <tracetape/recording.h>

#include "recorder/arena/arena.h"
#include "recorder/arena/record.h"
#include "tests/asserts.h"

#define TTEST_HOLE_MS 300 /* more than a hole is waited for */

#define TTEST_DONE(call)                                                                           \
    do {                                                                                           \
        ttape_error err = {0};                                                                     \
        ck_assert_msg((call) == TTAPE_OK, "%s: %s", #call, err.message);                           \
    } while (0)

struct ttest_player {
    char folder[48], output[64];
    ttape_recording *recording;
    struct ttp_arena_head *head;
    uint32_t *states;
    uint8_t *blocks;
    size_t map_bytes;
    bool times; /* the text shows them */
};

struct ttest_block {
    struct ttest_player *player;
    struct ttp_block_head *head;
    uint32_t index, used, pid;
};

/* Opens a recording without times; `options` (may be NULL) are taken instead. */
void ttest_player_open(struct ttest_player *p, const ttape_recording_options *options);
/* One round, and rounds until nothing comes any more. */
void ttest_poll(struct ttest_player *p);
void ttest_poll_ms(struct ttest_player *p, int ms);
/* Rounds that a busy machine does not draw out to what a hole is waited for; then time to encode
 * what they took. */
void ttest_poll_few(struct ttest_player *p);
/* Polls until all that was recorded is in the trace file. */
void ttest_flush(struct ttest_player *p);
/* Ends the recording; the files stay. Returns what it counted. */
ttape_recording_status ttest_finish(struct ttest_player *p);
void ttest_player_close(struct ttest_player *p);
/* The same without having finished. */
void ttest_player_discard(struct ttest_player *p);

/* A block of a thread; serial 0: its head is not there yet. */
struct ttest_block ttest_block_take(struct ttest_player *p, uint32_t pid, uint64_t image,
                                    uint64_t serial, uint64_t sequence);
void ttest_block_state(const struct ttest_block *b, uint32_t state);
/* By its thread, which took another one meanwhile. */
void ttest_block_give_back(const struct ttest_block *b);
bool ttest_block_is_free(const struct ttest_block *b);
void ttest_put(struct ttest_block *b, uint64_t record);
void ttest_put_at(const struct ttest_block *b, uint32_t place, uint64_t record);
void ttest_enter(struct ttest_block *b, uint64_t address);
void ttest_exit(struct ttest_block *b, uint64_t address);
void ttest_extension(struct ttest_block *b, uint32_t type, uint64_t payload);
void ttest_message(struct ttest_block *b, uint32_t kind, const void *bytes, uint32_t size);
/* Messages as the runtime puts them. */
void ttest_process_message(struct ttest_block *b, uint64_t parent, uint32_t parent_pid,
                           const char *path);
void ttest_module_message(struct ttest_block *b, uint64_t start, uint64_t end, const char *path);
void ttest_modules_end(struct ttest_block *b, uint32_t count);
void ttest_site_message(struct ttest_block *b, uint64_t address, uint32_t kind, const char *name);

/* A process that lives until it is told to end. */
pid_t ttest_process_start(void);
void ttest_process_end(pid_t pid);

/* Verifies the file and opens it. */
ttape_reader *ttest_read(struct ttest_player *p, const char *path, ttape_source *source);
/* The trace holds exactly these streams, in any order; the last argument is NULL. */
void ttest_expect(struct ttest_player *p, const char *first, ...) __attribute__((sentinel));
void ttest_expect_file(struct ttest_player *p, const char *path, const char *wanted);
/* The text of one stream of an open reader; to be freed. */
char *ttest_stream_text(ttape_reader *reader, uint32_t stream, bool times);

#endif
