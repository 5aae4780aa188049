/* A program that records itself: the recorder runs in a thread of this process, from libtracetape,
 * which is opened only then. All signals are blocked in it, and nothing of it is recorded.
 *
 *   start: open the recording, attach to its arena
 *   helper: poll ... until told to end, then finish
 *
 * Forked and executed children write into the same arena as long as this process lives. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tracetape/recording.h>
#include <tracetape/runtime.h>

#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define LIBRARY     "libtracetape.so.0"
#define PAUSE_NS    1000000L
#define EXIT_WAITS  5000u /* of PAUSE_NS, where the program wants to end at once */
#define MESSAGE_MAX 512u

static struct {
    __typeof__(&ttape_recording_open) open;
    __typeof__(&ttape_recording_arena) arena;
    __typeof__(&ttape_recording_poll) poll;
    __typeof__(&ttape_recording_finish) finish;
    __typeof__(&ttape_recording_close) close;
    __typeof__(&ttape_recording_discard) discard;
    __typeof__(&ttape_recording_get_status) status;
} core;

static struct {
    ttape_recording *recording;
    uint32_t process_id; /* whose helper runs; a forked child has none */
    uint32_t is_ending, is_done;
    bool has_failed;
    char message[MESSAGE_MAX];
} helper;

static void say_failure(const char *what, const char *path, const char *why)
{
    char page[MESSAGE_MAX];
    int size = snprintf(page, sizeof(page), "tracetape: %s '%s': %s\n", what, path, why);
    if (size > 0 && write(STDERR_FILENO, page,
                          (size_t)size < sizeof(page) ? (size_t)size : sizeof(page) - 1) < 0) {
        /* there is no other way to say it */
    }
}

static bool load_core(void)
{
    void *library = dlopen == NULL || dlsym == NULL || pthread_create == NULL || !ttp_libc_is_ours()
                        ? NULL
                        : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    *(void **)&core.open = dlsym(library, "ttape_recording_open");
    *(void **)&core.arena = dlsym(library, "ttape_recording_arena");
    *(void **)&core.poll = dlsym(library, "ttape_recording_poll");
    *(void **)&core.finish = dlsym(library, "ttape_recording_finish");
    *(void **)&core.close = dlsym(library, "ttape_recording_close");
    *(void **)&core.discard = dlsym(library, "ttape_recording_discard");
    *(void **)&core.status = dlsym(library, "ttape_recording_get_status");
    return core.open != NULL && core.arena != NULL && core.poll != NULL && core.finish != NULL &&
           core.close != NULL && core.discard != NULL && core.status != NULL;
}

static void *help(void *unused)
{
    struct timespec pause = {0, PAUSE_NS};
    ttape_recording_status status;
    ttape_error error;
    uint64_t drained;
    bool failed = false;
    (void)unused;
    ttp_thread.page = &ttp_page_recorder_thread;
    while (!failed && !__atomic_load_n(&helper.is_ending, __ATOMIC_ACQUIRE)) {
        failed = core.poll(helper.recording, &drained, &error) != TTAPE_OK;
        if (drained == 0)
            nanosleep(&pause, NULL);
    }
    failed = core.finish(helper.recording, &error) != TTAPE_OK || failed;
    core.status(helper.recording, &status);
    if (failed)
        snprintf(helper.message, sizeof(helper.message), "%s", error.message);
    helper.has_failed = failed || status.lost_count != 0;
    core.close(helper.recording);
    __atomic_store_n(&helper.is_done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static bool start_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigprocmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&thread, &attributes, help, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result == 0;
}

static const char *begin_recording(const char *path, const ttape_rt_options *options,
                                   ttape_error *error)
{
    ttape_recording_options wanted;
    memset(&wanted, 0, sizeof(wanted));
    wanted.size = sizeof(wanted);
    wanted.replace = options->replace != 0;
    wanted.when_full = options->blocking != 0 ? TTAPE_FULL_BLOCK : TTAPE_FULL_WAIT;
    wanted.start_off = options->start_off != 0;
    wanted.clock = options->clock;
    wanted.buffer_bytes = options->buffer_bytes;
    if (!load_core())
        return "'" LIBRARY "' cannot be loaded";
    sigset_t all, before; /* signals are the program's: no thread of the recorder takes any */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    ttape_status status = core.open(&helper.recording, path, &wanted, error);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (status != TTAPE_OK)
        return error->message;
    if (!ttp_process_attach(core.arena(helper.recording), true)) {
        core.discard(helper.recording);
        return "the buffers cannot be mapped";
    }
    helper.process_id = (uint32_t)getpid();
    if (!start_thread()) {
        ttp_arena.head.mode = TTP_MODE_STOPPED;
        helper.process_id = 0;
        core.discard(helper.recording);
        return "no thread can be created";
    }
    return NULL;
}

const char *ttp_helper_begin(const char *path)
{
    ttape_rt_options options;
    memset(&options, 0, sizeof(options));
    return ttape_rt_start(path, &options) == 0 ? core.arena(helper.recording) : NULL;
}

int ttape_rt_start(const char *path, const ttape_rt_options *options)
{
    static const ttape_rt_options none;
    uint32_t expected = TTP_PROCESS_NEVER;
    ttape_error error;
    if (!ttp_hooks_are_ours() || path == NULL ||
        (options != NULL && options->size > sizeof(*options)) ||
        !__atomic_compare_exchange_n(&ttp_process.state, &expected, TTP_PROCESS_STARTING, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return -1;
    struct ttp_thread_page *page = ttp_thread.page;
    ttp_thread.page =
        &ttp_page_recorder_thread; /* what the recorder calls here is not the program */
    const char *why = begin_recording(path, options != NULL ? options : &none, &error);
    ttp_thread.page = page;
    if (why == NULL) {
        ttp_process_follow();
        return 0;
    }
    say_failure("cannot record into", path, why);
    __atomic_store_n(&ttp_process.state, TTP_PROCESS_NEVER, __ATOMIC_RELEASE);
    return -1;
}

/* Waits for the helper to finish the file; not for ever where `waits` is not 0. Takes no lock. */
static int end_recording(uint32_t waits)
{
    struct timespec pause = {0, PAUSE_NS};
    if (helper.process_id == 0 || ttp_thread.page->gate == TTP_GATE_VFORK_CHILD ||
        helper.process_id != ttp_process_number())
        return -1;
    __atomic_store_n(&helper.is_ending, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; !__atomic_load_n(&helper.is_done, __ATOMIC_ACQUIRE); i++) {
        if (waits != 0 && i == waits)
            return -1;
        if (ttp_process.avoids_system_calls)
            ttp_wait_spin();
        else
            ttp_syscall(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
    }
    helper.process_id = 0;
    return helper.has_failed ? -1 : 0;
}

int ttape_rt_stop(void)
{
    int result = end_recording(0);
    if (helper.message[0] != '\0')
        say_failure("recording failed", "of this process", helper.message);
    helper.message[0] = '\0';
    return result;
}

void ttp_helper_end(bool at_once) { end_recording(at_once ? EXIT_WAITS : 0); }
