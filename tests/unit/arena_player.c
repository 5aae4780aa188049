/* The arena is mapped a second time, by its path, as a program would. */
#include "arena_player.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES (4u << 20)

static void map_arena(struct ttest_player *p)
{
    struct stat file;
    int fd = open(ttape_recording_arena(p->recording), O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &file), 0);
    ck_assert_uint_eq(file.st_mode & 0777, 0600);
    p->map_bytes = (size_t)file.st_size;
    void *memory = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    (void)close(fd);
    p->head = memory;
    ck_assert_uint_eq(p->head->magic, TTP_ARENA_MAGIC);
    p->states = (void *)((uint8_t *)memory + TTP_ARENA_HEAD_BYTES);
    p->blocks = (uint8_t *)memory + p->head->blocks_offset;
}

void ttest_player_open(struct ttest_player *p, const ttape_recording_options *options)
{
    ttape_recording_options plain = {.size = sizeof plain, .clock = TTAPE_CLOCK_NONE};
    *p = (struct ttest_player){0};
    strcpy(p->folder, "/tmp/test_recording.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(p->folder));
    (void)snprintf(p->output, sizeof p->output, "%s/a.ttape", p->folder);
    TTEST_DONE(
        ttape_recording_open(&p->recording, p->output, options != NULL ? options : &plain, &err));
    map_arena(p);
}

void ttest_poll(struct ttest_player *p)
{
    uint64_t drained;
    TTEST_DONE(ttape_recording_poll(p->recording, &drained, &err));
}

static void pause_ms(int ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

void ttest_poll_ms(struct ttest_player *p, int ms)
{
    for (int i = 0; i < ms; i += 10) {
        ttest_poll(p);
        pause_ms(10);
    }
}

void ttest_poll_few(struct ttest_player *p)
{
    for (int i = 0; i < 3; i++)
        ttest_poll(p);
    pause_ms(50);
}

void ttest_flush(struct ttest_player *p)
{
    uint32_t wanted = __atomic_add_fetch(&p->head->flush_requests, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 30000; i++) {
        ttest_poll(p);
        if (__atomic_load_n(&p->head->flushes_done, __ATOMIC_ACQUIRE) == wanted)
            return;
        pause_ms(2);
    }
    ck_abort_msg("a flush was not answered");
}

ttape_recording_status ttest_finish(struct ttest_player *p)
{
    ttape_recording_status status;
    TTEST_DONE(ttape_recording_finish(p->recording, &err));
    ttape_recording_get_status(p->recording, &status);
    ck_assert(!status.failed);
    return status;
}

static void remove_files(const char *folder)
{
    char path[512];
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && remove(path) != 0)
            ck_abort_msg("'%s' was left behind", path);
    }
    if (d != NULL)
        (void)closedir(d);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The recording's directory and the arena have to be gone, the trace files stay until here. */
static void close_with(struct ttest_player *p, void (*close_it)(ttape_recording *))
{
    char arena[256];
    (void)snprintf(arena, sizeof arena, "%s", ttape_recording_arena(p->recording));
    (void)munmap(p->head, p->map_bytes);
    close_it(p->recording);
    ck_assert_int_ne(access(arena, F_OK), 0);
    remove_files(p->folder);
}

void ttest_player_close(struct ttest_player *p) { close_with(p, ttape_recording_close); }

void ttest_player_discard(struct ttest_player *p) { close_with(p, ttape_recording_discard); }

struct ttest_block ttest_block_take(struct ttest_player *p, uint32_t pid, uint64_t image,
                                    uint64_t serial, uint64_t sequence)
{
    uint32_t index = 0;
    while (index < p->head->block_ready &&
           __atomic_load_n(&p->states[index], __ATOMIC_ACQUIRE) != TTP_BLOCK_FREE)
        index++;
    ck_assert_uint_lt(index, p->head->block_ready);
    struct ttest_block b = {.player = p, .index = index, .pid = pid};
    b.head = (void *)(p->blocks + (size_t)index * TTP_BLOCK_BYTES);
    uint32_t zeros = 0; /* each assertion is a system call */
    while (zeros < TTP_BLOCK_BYTES && ((uint8_t *)b.head)[zeros] == 0)
        zeros++;
    ck_assert_uint_eq(zeros, TTP_BLOCK_BYTES); /* a free block is all zero */
    __atomic_store_n(&p->states[index], pid << 2 | TTP_BLOCK_FILLING, __ATOMIC_RELEASE);
    b.head->sequence = sequence;
    b.head->process_id = pid;
    b.head->thread_id = pid + (uint32_t)(serial - image);
    b.head->image = image;
    (void)snprintf(b.head->name, sizeof b.head->name, "t%u", (unsigned)serial);
    __atomic_store_n(&b.head->serial, serial, __ATOMIC_RELEASE);
    return b;
}

void ttest_block_state(const struct ttest_block *b, uint32_t state)
{
    __atomic_store_n(&b->player->states[b->index], b->pid << 2 | state, __ATOMIC_RELEASE);
}

void ttest_block_give_back(const struct ttest_block *b)
{
    *b->head = (struct ttp_block_head){0};
    ttest_block_state(&(struct ttest_block){.player = b->player, .index = b->index},
                      TTP_BLOCK_FREE);
}

bool ttest_block_is_free(const struct ttest_block *b)
{
    return __atomic_load_n(&b->player->states[b->index], __ATOMIC_ACQUIRE) == TTP_BLOCK_FREE;
}

void ttest_put_at(const struct ttest_block *b, uint32_t place, uint64_t record)
{
    ck_assert_uint_lt(place, TTP_BLOCK_RECORDS);
    __atomic_store_n((uint64_t *)(b->head + 1) + place, record, __ATOMIC_RELEASE);
}

void ttest_put(struct ttest_block *b, uint64_t record) { ttest_put_at(b, b->used++, record); }

void ttest_enter(struct ttest_block *b, uint64_t address)
{
    ttest_put(b, ttp_record_call(TTP_TAG_ENTER, 0, address));
}

void ttest_exit(struct ttest_block *b, uint64_t address)
{
    ttest_put(b, ttp_record_call(TTP_TAG_EXIT, 0, address));
}

void ttest_extension(struct ttest_block *b, uint32_t type, uint64_t payload)
{
    ttest_put(b, ttp_record_extension(type, 0, payload));
}

void ttest_message(struct ttest_block *b, uint32_t kind, const void *bytes, uint32_t size)
{
    ttest_extension(b, TTP_EXT_MESSAGE, (uint64_t)kind << 24 | size);
    for (uint32_t at = 0; at < size; at += TTP_DATA_BYTES) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < TTP_DATA_BYTES && at + i < size; i++)
            word |= (uint64_t)((const uint8_t *)bytes)[at + i] << (8 * i);
        ttest_put(b, ttp_record_data(word));
    }
}

void ttest_process_message(struct ttest_block *b, uint64_t parent, uint32_t parent_pid,
                           const char *path)
{
    uint8_t bytes[256];
    uint64_t numbers[3] = {b->head->image, parent, b->head->started};
    uint32_t pids[2] = {b->pid, parent_pid};
    memcpy(bytes, numbers, sizeof numbers);
    memcpy(bytes + 24, pids, sizeof pids);
    memcpy(bytes + 32, path, strlen(path));
    ttest_message(b, TTP_MESSAGE_PROCESS, bytes, 32 + (uint32_t)strlen(path));
}

void ttest_module_message(struct ttest_block *b, uint64_t start, uint64_t end, const char *path)
{
    uint8_t bytes[256];
    uint64_t range[2] = {start, end};
    uint32_t id_size = 4;
    memcpy(bytes, range, sizeof range);
    memcpy(bytes + 16, &id_size, 4);
    memcpy(bytes + 20, "\1\2\3\4", 4);
    memcpy(bytes + 24, path, strlen(path));
    ttest_message(b, TTP_MESSAGE_MODULE, bytes, 24 + (uint32_t)strlen(path));
}

void ttest_modules_end(struct ttest_block *b, uint32_t count)
{
    ttest_message(b, TTP_MESSAGE_MODULES_END, &count, sizeof count);
}

void ttest_site_message(struct ttest_block *b, uint64_t address, uint32_t kind, const char *name)
{
    uint8_t bytes[256];
    uint32_t facts[2] = {kind, 77};
    uint16_t size = (uint16_t)strlen(name);
    memcpy(bytes, &address, 8);
    memcpy(bytes + 8, facts, 8);
    memcpy(bytes + 16, &size, 2);
    memcpy(bytes + 18, name, size);
    memcpy(bytes + 18 + size, "s.c", 3);
    ttest_message(b, TTP_MESSAGE_SITE, bytes, 18u + size + 3);
}

/* Ends with the test, however that ends. */
pid_t ttest_process_start(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

void ttest_process_end(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* Reading back */

static bool no_finding(void *context, const ttape_finding *finding)
{
    ck_abort_msg("'%s': %s %s", (const char *)context, finding->error.rule, finding->error.message);
    return false;
}

ttape_reader *ttest_read(struct ttest_player *p, const char *path, ttape_source *source)
{
    uint64_t findings;
    ttape_reader *reader;
    (void)p;
    TTEST_DONE(ttape_source_file_open(source, path, &err));
    TTEST_DONE(ttape_verify(source, NULL, no_finding, NULL, (void *)path, &findings, &err));
    TTEST_DONE(ttape_reader_open(&reader, source, NULL, &err));
    return reader;
}

static const char *letter_of(uint32_t kind)
{
    static const char *const letters[] = {"+", "-", "!", "o", "(", ")", "?", "u", "x", "s", "g"};
    ck_assert_uint_lt(kind, sizeof letters / sizeof letters[0]);
    return letters[kind];
}

static void put_values(FILE *out, const ttape_event_item *item)
{
    for (uint32_t i = 0; i < item->value_count; i++) {
        const ttape_value *v = &item->values[i];
        (void)fputs(i == 0 ? "[" : " ", out);
        if (v->type == TTAPE_VALUE_STRING || v->type == TTAPE_VALUE_BYTES)
            (void)fprintf(out, "\"%.*s\"", (int)v->bytes.size_bytes, v->bytes.data);
        else
            (void)fprintf(out, "%" PRIu64, v->number);
    }
    (void)fputs(item->value_count != 0 ? "]" : "", out);
}

static void put_event(FILE *out, const ttape_reader *reader, const ttape_event_item *item,
                      bool times)
{
    const ttape_event *event = &item->event;
    (void)fputs(letter_of(event->kind), out);
    if (event->site != TTAPE_NONE) {
        ttape_site site;
        ck_assert_int_eq(ttape_reader_get_site(reader, event->site, &site), TTAPE_OK);
        if (site.symbol.size_bytes != 0)
            (void)fwrite(site.symbol.data, 1, site.symbol.size_bytes, out);
        else
            (void)fprintf(out, "%" PRIx64, site.address);
    }
    if (event->kind == TTAPE_EVENT_EXIT_ACROSS)
        (void)fprintf(out, "/%u", event->argument);
    else if (event->site == TTAPE_NONE)
        (void)fprintf(out, "%u", event->argument);
    if (event->kind == TTAPE_EVENT_GAP)
        (void)fprintf(out, ":%" PRIu64, event->lost_count);
    if (times)
        (void)fprintf(out, "@%" PRIu64, event->time_ns);
    put_values(out, item);
}

/* Of how threads and processes ended, or went on when recording did: test_recording_ends.c looks at
 * these. */
static bool is_end(const ttape_reader *reader, const ttape_event_item *item, bool *is_stop)
{
    ttape_site site;
    const ttape_event *event = &item->event;
    bool is_gap = event->kind == TTAPE_EVENT_GAP && *is_stop;
    bool is_fact = event->kind == TTAPE_EVENT_LEAF &&
                   ttape_reader_get_site(reader, event->site, &site) == TTAPE_OK &&
                   site.module == TTAPE_NONE && site.address <= 3;
    *is_stop = is_fact && site.address == 3 && item->values[0].number != TTAPE_STOP_OFF;
    return is_gap || *is_stop || (is_fact && site.address <= 2);
}

char *ttest_stream_text(ttape_reader *reader, uint32_t stream, bool times)
{
    char *text = malloc(TEXT_BYTES);
    ck_assert_ptr_nonnull(text);
    FILE *out = fmemopen(text, TEXT_BYTES, "w");
    ck_assert_ptr_nonnull(out);
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_error err = {0};
    ttape_status status;
    bool is_stop = false;
    ck_assert_int_eq(ttape_cursor_open(&cursor, reader, stream, &err), TTAPE_OK);
    for (const char *space = ""; (status = ttape_cursor_next(cursor, &item, &err)) == TTAPE_OK;) {
        if (is_end(reader, &item, &is_stop))
            continue;
        (void)fputs(space, out);
        put_event(out, reader, &item, times);
        space = " ";
    }
    ck_assert_msg(status == TTAPE_END, "%s", err.message);
    ttape_cursor_close(cursor);
    (void)fputc('\0', out);
    (void)fclose(out);
    return text;
}

static void expect_streams(struct ttest_player *p, const char *path, const char **wanted,
                           uint32_t count)
{
    ttape_source source;
    ttape_info info;
    ttape_reader *reader = ttest_read(p, path, &source);
    ttape_reader_get_info(reader, &info);
    for (uint32_t s = 0; s < info.stream_count; s++) {
        char *text = ttest_stream_text(reader, s, p->times);
        uint32_t found = 0;
        while (found < count && (wanted[found] == NULL || strcmp(wanted[found], text) != 0))
            found++;
        ck_assert_msg(found < count, "stream %u is '%.200s' (%zu bytes)", s, text, strlen(text));
        wanted[found] = NULL;
        free(text);
    }
    ck_assert_uint_eq(info.stream_count, count);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}

void ttest_expect(struct ttest_player *p, const char *first, ...)
{
    const char *wanted[64];
    uint32_t count = 0;
    va_list rest;
    va_start(rest, first);
    for (const char *text = first; text != NULL; text = va_arg(rest, const char *))
        wanted[count++] = text;
    va_end(rest);
    expect_streams(p, p->output, wanted, count);
}

void ttest_expect_file(struct ttest_player *p, const char *path, const char *wanted)
{
    expect_streams(p, path, &wanted, wanted == NULL ? 0 : 1);
}
