/* Looking for a period: times are counted modulo each candidate, window by window, because phases
 * drift; how far the counts are from even ones, beyond what chance does, is what a period tells. */
#include "format/times/time_mix.h"

#include <string.h>

#define WINDOW_EVENTS 1024u
#define WINDOWS_MOST  64u
#define PERIOD_LEAST  2u
/* What is enough, in chi-squares of a window: a hundredth of a bit an event. And as much as chance
 * makes in a few windows of the best of all candidates. */
#define GAIN_LEAST     16u
#define GAIN_OF_CHANCE 64u

/* The sum of squares that is above what chance makes, times the period; of `times` modulo the
 * period. */
static int64_t excess(const uint32_t *times, uint32_t period)
{
    uint32_t count[TTP_TIME_PHASE_PERIOD_MAX] = {0};
    uint64_t squares = 0;

    for (uint32_t i = 0; i < WINDOW_EVENTS; i++)
        count[times[i] % period]++;
    for (uint32_t i = 0; i < period; i++)
        squares += (uint64_t)count[i] * count[i];
    /* chi-square times the events, less its mean: a degree of freedom for each phase but one */
    return (int64_t)(squares * period) - (int64_t)WINDOW_EVENTS * WINDOW_EVENTS -
           (int64_t)(period - 1) * WINDOW_EVENTS;
}

/* Windows are spread over all events. */
static uint32_t window_start(uint32_t event_count, uint32_t windows, uint32_t window)
{
    return (uint32_t)((uint64_t)(event_count - WINDOW_EVENTS) * window / windows);
}

static void window_times(const struct ttp_times *in, uint32_t start, uint32_t *times)
{
    uint32_t time = 0;

    for (uint32_t i = 0; i < WINDOW_EVENTS; i++) {
        uint32_t delta = in->delta[start + i];
        time += delta != TTP_DELTA_WIDE ? delta & 0x3fffff : 0; /* a window's stay below 2^32 */
        times[i] = time;
    }
}

uint32_t ttp_time_phase_find(const struct ttp_times *in)
{
    int64_t gains[TTP_TIME_PHASE_PERIOD_MAX + 1] = {0};
    uint32_t times[WINDOW_EVENTS];

    if (in->event_count < WINDOW_EVENTS)
        return 0;
    uint32_t windows = in->event_count / WINDOW_EVENTS;
    windows = windows < WINDOWS_MOST ? windows : WINDOWS_MOST;
    for (uint32_t w = 0; w < windows; w++) {
        window_times(in, window_start(in->event_count, windows, w), times);
        for (uint32_t period = PERIOD_LEAST; period <= TTP_TIME_PHASE_PERIOD_MAX; period++)
            gains[period] += excess(times, period);
    }
    int64_t most = 0, least = (int64_t)WINDOW_EVENTS * (GAIN_LEAST * windows + GAIN_OF_CHANCE);
    for (uint32_t period = PERIOD_LEAST; period <= TTP_TIME_PHASE_PERIOD_MAX; period++)
        most = gains[period] > most ? gains[period] : most;
    if (most <= least)
        return 0;
    /* Multiples of a period tell as much, and chance favours one of them. */
    uint32_t best = PERIOD_LEAST;
    while (gains[best] < most - most / 8)
        best++;
    return best;
}
