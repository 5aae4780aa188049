/* Two threads take turns on different cores, each turn a call: what one did before it gave the turn
 * away has an earlier time than what the other does after it took it. `p_order [TURNS]` */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "own.h"

static volatile long turn, turns;

ALONE static void take_turn(void) { __asm__ volatile("" ::: "memory"); }

PLAIN static void go_to(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

PLAIN static void *play(void *argument)
{
    long self = (long)argument;
    go_to((int)self);
    while (turn < turns) {
        for (long spins = 0; turn % 2 != self && turn < turns; spins++)
            if (spins % 1000 == 999)
                sched_yield();
        if (turn >= turns)
            break;
        take_turn();
        __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
        if (turn % 5000 == self) /* now and then they change places */
            go_to((int)(turn / 5000 + self) % 2);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    turns = own_argument(argc, argv, 1, 20000);
    pthread_create(&other, NULL, play, (void *)1);
    play((void *)0);
    pthread_join(other, NULL);
    printf("turns %ld\n", turn);
    return 0;
}
