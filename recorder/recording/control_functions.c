/* Another choice of functions for a process that is attached to: function_change.h. */
#define _GNU_SOURCE /* O_NOFOLLOW */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracetape/recording.h>

#include "recorder/state/function_change.h"
#include "recorder/state/recording_internal.h"
#include "recorder/state/rule_change.h"
#include "writer/os_status.h"

/* A whole file of ours in that folder, of so many bytes at most, with a zero behind it; it is
 * removed. NULL: there is none, or not such a one. */
static char *take_text(int folder, const char *name, size_t most)
{
    struct stat about;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    bool is_ours = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                   (about.st_uid == geteuid() || about.st_uid == 0 || geteuid() == 0) &&
                   about.st_size <= (off_t)most;
    char *text = is_ours ? calloc((size_t)about.st_size + 1, 1) : NULL;
    ssize_t got = text == NULL ? -1 : read(fd, text, (size_t)about.st_size);
    if (text != NULL && got != (ssize_t)about.st_size) {
        free(text);
        text = NULL;
    }
    (void)close(fd);
    (void)unlinkat(folder, name, 0);
    return text;
}

/* ---- control ---- */

static ttape_status read_answer(int folder, char *said, size_t room, bool *has_rules,
                                ttape_error *err)
{
    if (unlinkat(folder, TTP_FUNCTIONS_NAME, 0) == 0) /* it was answered, and not taken */
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recorder cannot read what is asked for");
    char *text = take_text(folder, TTP_FUNCTIONS_ANSWERED, TTP_ANSWER_BYTES);
    ttape_status status = TTAPE_OK;
    if (text == NULL)
        status = ttp_fail_plain(err, TTAPE_E_STATE, "the recorder does not say what became of it");
    else if (text[0] != TTP_FUNCTIONS_DONE && text[0] != TTP_FUNCTIONS_RULES)
        status = ttp_fail_plain(err, TTAPE_E_STATE, "%s", text[0] == '\0' ? "?" : text + 1);
    else
        (void)snprintf(said, room, "%s", text + 1);
    *has_rules = text != NULL && text[0] == TTP_FUNCTIONS_RULES;
    free(text);
    return status;
}

ttape_status ttape_control_functions(ttape_control *control, const char *functions, char *said,
                                     size_t room, uint64_t wait_ns, ttape_error *err)
{
    ttape_control_status now;
    struct stat owner;
    bool has_rules = false;
    if (control == NULL || functions == NULL || wait_ns == 0 || room == 0)
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "a change is waited for");
    if (strlen(functions) > TTP_FUNCTIONS_BYTES)
        return ttp_fail_plain(err, TTAPE_E_LIMIT, "the expressions have more than %u bytes",
                              TTP_FUNCTIONS_BYTES);
    ttape_control_get_status(control, &now);
    if (now.mode == TTAPE_RECORDING_STOPPED)
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recording has stopped for good");
    if (!ttp_control_takes_functions(control))
        return ttp_fail_plain(err, TTAPE_E_UNSUPPORTED,
                              "it was started for recording, and its functions were patched then: "
                              "others can be chosen where a process is attached to (tracetape "
                              "attach); here --filter leaves calls out");
    int folder = ttp_change_folder(control, &owner, err);
    if (folder < 0)
        return err != NULL ? err->status : TTAPE_E_IO;
    ttape_status status = ttp_change_turn(folder, wait_ns, err);
    if (status == TTAPE_OK) {
        (void)unlinkat(folder, TTP_FUNCTIONS_ANSWERED, 0);
        const struct ttp_change_text text = {TTP_FUNCTIONS_NAME, functions, strlen(functions)};
        status = ttp_change_write(folder, &owner, &text, err);
    }
    if (status == TTAPE_OK) {
        status = ttp_control_ask_functions(control, wait_ns, err);
        if (status == TTAPE_OK)
            status = read_answer(folder, said, room, &has_rules, err);
        else
            (void)unlinkat(folder, TTP_FUNCTIONS_NAME, 0);
    }
    if (status == TTAPE_OK && has_rules) { /* a recording that is over by now needs none */
        status = ttape_control_send(control, TTAPE_CONTROL_FLUSH, wait_ns, err);
        status = status == TTAPE_E_STATE ? TTAPE_OK : status;
    }
    (void)close(folder);
    return status;
}

/* ---- the recorder ---- */

void ttp_functions_take(ttape_recording *recording)
{
    struct ttp_arena_head *head = recording->drain.arena.head;
    __atomic_store_n(&head->takes_functions, 1, __ATOMIC_RELEASE);
}

/* The file is gone where whoever asked gave up waiting: then the answer is to nobody. */
char *ttp_functions_asked(ttape_recording *recording)
{
    struct ttp_arena_head *head = recording->drain.arena.head;
    uint32_t asked = __atomic_load_n(&head->function_requests, __ATOMIC_ACQUIRE);
    if (asked == __atomic_load_n(&head->functions_done, __ATOMIC_RELAXED))
        return NULL;
    char *text = take_text(recording->directory.fd, TTP_FUNCTIONS_NAME, TTP_FUNCTIONS_BYTES);
    if (text == NULL)
        __atomic_store_n(&head->functions_done, asked, __ATOMIC_RELEASE);
    return text;
}

/* The encoding thread takes other rules at the next flush, for which who asked waits; where nobody
 * waits any longer, it comes all the same. */
void ttp_functions_answer(ttape_recording *recording, char what, const char *said)
{
    struct ttp_arena_head *head = recording->drain.arena.head;
    if (what == TTP_FUNCTIONS_RULES) {
        atomic_store(&recording->shared.has_other_functions, true);
        (void)__atomic_add_fetch(&head->flush_requests, 1, __ATOMIC_ACQ_REL);
    }
    char text[TTP_ANSWER_BYTES];
    int size = snprintf(text, sizeof text, "%c%s", what, said);
    size_t bytes = size < (int)sizeof text ? (size_t)size : sizeof text - 1;
    (void)unlinkat(recording->directory.fd, TTP_FUNCTIONS_ANSWERED, 0);
    int fd = ttp_directory_create(&recording->directory, TTP_FUNCTIONS_ANSWERED, O_WRONLY);
    if (fd >= 0) {
        ssize_t put = write(fd, text, bytes);
        (void)put;
        (void)close(fd);
    }
    __atomic_store_n(&head->functions_done,
                     __atomic_load_n(&head->function_requests, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}
