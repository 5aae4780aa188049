/* The clock of records: which one, and how its ticks become nanoseconds of CLOCK_MONOTONIC.
 *
 * The time stamp counter is taken where the kernel itself keeps time by it: then it is constant and
 * the same on all cores to within what the kernel checks (tens of nanoseconds). Its rate is
 * measured once, between two pairs of readings; each pair is the closest of many, so that the rate
 * is good to about one part in a million. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "writer/recording/recording_internal.h"

#define PAIR_TRIES     50
#define CALIBRATION_NS 20000000

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ttp_now_ms(void) { return monotonic_ns() / 1000000u; }

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

/* Both clocks at one moment: the try in which the counter went on least around the other. */
static void read_pair(uint64_t *ticks, uint64_t *ns)
{
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = counter(), now = monotonic_ns(), after = counter();
        if (after - before < narrowest) {
            narrowest = after - before;
            *ticks = before + narrowest / 2;
            *ns = now;
        }
    }
}

static void calibrate(struct ttp_tick_rate *rate)
{
    uint64_t ticks, ns;
    struct timespec pause = {0, CALIBRATION_NS};
    read_pair(&rate->base, &rate->base_ns);
    (void)nanosleep(&pause, NULL);
    read_pair(&ticks, &ns);
    rate->scale = (uint64_t)(((clock_u128)(ns - rate->base_ns) << TTP_CLOCK_SCALE_BITS) /
                             (ticks - rate->base));
}

#else

static bool is_trusted(void) { return false; }
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
