/* The clock of records: which one, how its ticks become nanoseconds of CLOCK_MONOTONIC, and how
 * that stands to UTC.
 *
 * The time stamp counter is taken where the kernel itself keeps time by it: then it is constant and
 * the same on all cores to within what the kernel checks (tens of nanoseconds). The kernel goes on
 * adjusting the rate at which it counts, for that of a time server. So pairs of readings are taken
 * all the time: at the start over 2 ms, then in each round, and before a slot is queued. Each pair
 * is the closest of a few. (clock_lines.c makes lines of them.)
 *
 * CLOCK_REALTIME is looked at in each round: how far it is ahead of CLOCK_MONOTONIC changes only
 * when somebody sets it, with a leap second, and while the machine sleeps. How far that may be from
 * UTC the kernel says itself (adjtimex), and is asked once in a second. */
#define _GNU_SOURCE /* adjtimex */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <time.h>

#include "recorder/arena/record.h"
#include "recorder/state/journal.h"

#define START_TRIES      50
#define SAMPLE_TRIES     3
#define CALIBRATION_NS   2000000    /* the program waits for it; what it is off is corrected soon */
#define SLOT_TICKS       (1u << 18) /* slots within so short a time do with one pair */
#define REALTIME_SAME_NS 1000u      /* two readings one after the other are not one */
#define UTC_LOOK_MS      1000u
#define UNKNOWN_NS       UINT64_MAX
#define FIRST_NAMESPACE  4026531834u /* of times: the kernel's own, which is no container's */
#define BOOT_ID_FILE     "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_BYTES    36u

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ttp_now_ms(void) { return clock_ns(CLOCK_MONOTONIC) / 1000000u; }

#if defined(__x86_64__)

__extension__ typedef unsigned __int128 clock_u128; /* the standard has no name for it */

static uint64_t counter(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static bool is_trusted(void)
{
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == NULL)
        return false;
    bool read = fgets(name, sizeof name, file) != NULL;
    (void)fclose(file);
    return read && strcmp(name, "tsc\n") == 0;
}

/* Both clocks at one moment: the try in which the counter went on least around the other. Returns
 * by how much. */
static uint64_t read_pair(uint64_t *ticks, uint64_t *ns, int tries)
{
    uint64_t narrowest = UINT64_MAX;
    *ticks = *ns = 0;
    for (int i = 0; i < tries; i++) {
        uint64_t before = counter(), now = clock_ns(CLOCK_MONOTONIC), after = counter();
        if (after - before < narrowest) {
            narrowest = after - before;
            *ticks = before + narrowest / 2;
            *ns = now;
        }
    }
    return narrowest;
}

static void calibrate(struct ttp_tick_rate *rate)
{
    uint64_t ticks, ns;
    struct timespec pause = {0, CALIBRATION_NS};
    (void)read_pair(&rate->base, &rate->base_ns, START_TRIES);
    (void)nanosleep(&pause, NULL);
    (void)read_pair(&ticks, &ns, START_TRIES);
    rate->scale = (uint64_t)(((clock_u128)(ns - rate->base_ns) << TTP_CLOCK_SCALE_BITS) /
                             (ticks - rate->base));
}

#else

static bool is_trusted(void) { return false; }
static uint64_t counter(void) { return 0; }
static uint64_t read_pair(uint64_t *ticks, uint64_t *ns, int tries)
{
    (void)ticks, (void)ns, (void)tries;
    return UINT64_MAX;
}
static void calibrate(struct ttp_tick_rate *rate) { (void)rate; }

#endif

void ttp_clock_choose(ttape_clock *clock, struct ttp_tick_rate *rate)
{
    if (*clock == TTAPE_CLOCK_AUTO)
        *clock = is_trusted() ? TTAPE_CLOCK_TSC : TTAPE_CLOCK_MONOTONIC;
    rate->scale = 1ull << TTP_CLOCK_SCALE_BITS;
    if (*clock == TTAPE_CLOCK_TSC)
        calibrate(rate);
}

uint64_t ttp_clock_now(ttape_clock clock)
{
    switch (clock) {
    case TTAPE_CLOCK_TSC: return counter();
    case TTAPE_CLOCK_NONE: return 1u << TTP_RECORD_TIME_BITS;
    case TTAPE_CLOCK_COARSE: return clock_ns(CLOCK_MONOTONIC_COARSE);
    default: return clock_ns(CLOCK_MONOTONIC);
    }
}

/* CLOCK_REALTIME, between two readings of the other clock. Returns how far these are apart. */
static uint64_t read_realtime(uint64_t *at_ns, uint64_t *offset_ns)
{
    uint64_t narrowest = UINT64_MAX;
    *at_ns = *offset_ns = 0;
    for (int i = 0; i < SAMPLE_TRIES; i++) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
        uint64_t after = clock_ns(CLOCK_MONOTONIC);
        if (after - before < narrowest) {
            narrowest = after - before;
            *at_ns = before + narrowest / 2;
            *offset_ns = real - *at_ns;
        }
    }
    return narrowest;
}

static void look_at_realtime(struct ttp_drain *d)
{
    struct ttp_shared *s = d->shared;
    uint64_t at_ns, offset_ns, width_ns = read_realtime(&at_ns, &offset_ns);
    uint64_t off = offset_ns - d->realtime_offset_ns, back = d->realtime_offset_ns - offset_ns;
    uint32_t count = s->realtime_count;
    if (count != 0 && (off < back ? off : back) <= REALTIME_SAME_NS + width_ns)
        return;
    if (width_ns / 2 + REALTIME_SAME_NS > s->realtime_error_ns)
        s->realtime_error_ns = width_ns / 2 + REALTIME_SAME_NS; /* smaller steps are not seen */
    if (count < TTP_REALTIMES_MAX) {
        s->realtimes[count].from_ns = at_ns;
        s->realtimes[count].offset_ns = offset_ns;
    }
    d->realtime_offset_ns = offset_ns;
    s->realtime_count = count + 1;
}

static uint64_t read_utc_error(void)
{
    struct timex kernel = {.modes = 0};
    if (adjtimex(&kernel) < 0 || (kernel.status & (STA_UNSYNC | STA_CLOCKERR)) != 0 ||
        kernel.maxerror < 0)
        return UNKNOWN_NS;
    return (uint64_t)kernel.maxerror * 1000u;
}

static void look_at_utc(struct ttp_drain *d)
{
    struct ttp_shared *s = d->shared;
    uint64_t now_ms = ttp_now_ms();
    bool is_first = d->utc_looked_ms == 0;
    if (!is_first && now_ms - d->utc_looked_ms < UTC_LOOK_MS)
        return;
    uint64_t error_ns = read_utc_error();
    d->utc_looked_ms = now_ms | 1;
    if (is_first)
        s->utc_error_ns = error_ns;
    if (is_first || error_ns > s->utc_error_most_ns)
        s->utc_error_most_ns = error_ns;
    s->utc_error_end_ns = error_ns;
}

static ttape_status follow_clock(struct ttp_drain *d, ttape_error *err)
{
    struct ttp_clock_tracker *t = &d->tracker;
    uint64_t ticks = 0, ns = 0, width = read_pair(&ticks, &ns, SAMPLE_TRIES);
    d->sampled_ticks = ticks;
    if (ttp_clock_follow(t, ticks, ns, ttp_clock_scaled(&t->line, width)) != 0) {
        TTP_TRY(ttp_spill_add_line(d->spill, &t->bridge, err));
        TTP_TRY(ttp_spill_add_line(d->spill, &t->line, err));
    }
    d->shared->clock_error_ns = t->error_ns;
    d->shared->clock_drift_ppb = ttp_clock_drift_ppb(t);
    d->shared->clock_jumps = t->jump_count;
    return TTAPE_OK;
}

ttape_status ttp_clock_sample(struct ttp_drain *d, bool before_slot, ttape_error *err)
{
    if (d->clock != TTAPE_CLOCK_NONE && !before_slot) {
        look_at_realtime(d);
        look_at_utc(d);
    }
    if (d->clock != TTAPE_CLOCK_TSC)
        return TTAPE_OK;
    uint64_t now = counter();
    if (!before_slot || now - d->sampled_ticks >= SLOT_TICKS)
        return follow_clock(d, err);
    d->tracker.used = now > d->tracker.used ? now : d->tracker.used;
    return TTAPE_OK;
}

ttape_status ttp_clock_take(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_spill *spill = e->spill;
    ttape_status status = TTAPE_OK;
    if (spill == NULL || spill->line_count == 0)
        return TTAPE_OK;
    (void)pthread_mutex_lock(&spill->lock);
    const struct ttp_tick_rate *lines = spill->lines.data;
    for (size_t i = 0; i < spill->lines.count && status == TTAPE_OK; i++) {
        status = ttp_clock_add(&e->allocator, &e->clock, &lines[i], err);
        if (status == TTAPE_OK)
            status = ttp_journal_line(e, &lines[i], err);
    }
    spill->lines.count = 0;
    spill->line_count = 0;
    (void)pthread_mutex_unlock(&spill->lock);
    return status;
}

static ttape_status add_steps(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err)
{
    const struct ttp_shared *s = e->shared;
    uint32_t count = s->realtime_count;
    if (count > 1)
        TTP_TRY(ttp_number_add(e, list, "realtime_steps", count - 1, err));
    for (uint32_t i = 1; i < count && i < TTP_REALTIMES_MAX; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "realtime_step_%" PRIu32 "_ns", i);
        TTP_TRY(ttp_number_add(e, list, key, s->realtimes[i].from_ns, err));
        (void)snprintf(key, sizeof key, "realtime_offset_%" PRIu32 "_ns", i);
        TTP_TRY(ttp_number_add(e, list, key, s->realtimes[i].offset_ns, err));
    }
    return TTAPE_OK;
}

uint64_t ttp_clock_error_ns(const struct ttp_encode *e)
{
    struct timespec step = {0};
    if (e->options.clock == TTAPE_CLOCK_COARSE)
        (void)clock_getres(CLOCK_MONOTONIC_COARSE, &step);
    return e->options.clock == TTAPE_CLOCK_TSC ? e->shared->clock_error_ns : (uint64_t)step.tv_nsec;
}

/* The machine since it was started; false: not known. */
static bool read_boot_id(char id[BOOT_ID_BYTES + 1])
{
    FILE *file = fopen(BOOT_ID_FILE, "re");
    if (file == NULL)
        return false;
    bool is_read = fread(id, 1, BOOT_ID_BYTES, file) == BOOT_ID_BYTES;
    (void)fclose(file);
    id[BOOT_ID_BYTES] = '\0';
    return is_read;
}

/* Which one counts times here, where it is not the machine's own; 0: it is, or there are none. */
static uint64_t find_time_namespace(void)
{
    struct stat is;
    bool is_own = stat("/proc/self/ns/time", &is) == 0 && is.st_ino != FIRST_NAMESPACE;
    return is_own ? (uint64_t)is.st_ino : 0;
}

ttape_status ttp_clock_describe(const struct ttp_encode *e, ttape_writer *w, ttape_error *err)
{
    const struct ttp_shared *s = e->shared;
    char boot[BOOT_ID_BYTES + 1];
    uint64_t namespace = find_time_namespace();
    if (e->options.clock == TTAPE_CLOCK_NONE)
        return TTAPE_OK;
    TTP_TRY(ttape_writer_set_number(w, "realtime_offset_ns", s->realtimes[0].offset_ns, err));
    TTP_TRY(ttape_writer_set_number(w, "realtime_error_ns", s->realtime_error_ns, err));
    if (s->utc_error_ns != UNKNOWN_NS)
        TTP_TRY(ttape_writer_set_number(w, "utc_error_ns", s->utc_error_ns, err));
    if (namespace != 0)
        TTP_TRY(ttape_writer_set_number(w, "time_namespace", namespace, err));
    return read_boot_id(boot)
               ? ttape_writer_set_text(w, "boot_id", (ttape_string){boot, BOOT_ID_BYTES}, err)
               : TTAPE_OK;
}

/* The error was known all the time, or it is not told at all. */
static ttape_status add_utc_errors(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err)
{
    const struct ttp_shared *s = e->shared;
    if (s->utc_error_most_ns == UNKNOWN_NS)
        return TTAPE_OK;
    TTP_TRY(ttp_number_add(e, list, "utc_error_end_ns", s->utc_error_end_ns, err));
    return ttp_number_add(e, list, "utc_error_most_ns", s->utc_error_most_ns, err);
}

ttape_status ttp_clock_numbers(struct ttp_encode *e, struct ttp_growing *list, ttape_error *err)
{
    const struct ttp_shared *s = e->shared;
    if (e->options.clock == TTAPE_CLOCK_NONE)
        return TTAPE_OK;
    TTP_TRY(ttp_number_add(e, list, "clock_error_ns", ttp_clock_error_ns(e), err));
    if (s->clock_drift_ppb != 0)
        TTP_TRY(ttp_number_add(e, list, "clock_drift_ppb", s->clock_drift_ppb, err));
    if (s->clock_jumps != 0)
        TTP_TRY(ttp_number_add(e, list, "clock_jumps", s->clock_jumps, err));
    TTP_TRY(add_utc_errors(e, list, err));
    return add_steps(e, list, err);
}
