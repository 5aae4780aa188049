/* Filters and triggers that change while programs are recorded (spec/filters.md):
 *
 *   control -> a text in the recording's folder, a request for a flush -> its mark -> here
 *
 * What was drained before the mark goes by the old rules. */
#define _GNU_SOURCE /* asprintf */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "recorder/decode/layouts.h"
#include "recorder/state/rule_change.h"

#define CHANGES_BYTES (2u * TTP_CHANGE_BYTES) /* of what the trace says of them */

/* A whole file of ours, with a zero behind it; NULL: there is none, or not such a one. */
static char *read_text(const struct ttp_directory *directory, size_t *size)
{
    struct stat file;
    char *text = NULL;
    int fd = openat(directory->fd, TTP_CHANGE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    bool is_ours = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                   (file.st_uid == geteuid() || file.st_uid == 0) &&
                   file.st_size <= (off_t)TTP_CHANGE_BYTES;
    if (is_ours)
        text = calloc((size_t)file.st_size + 1, 1);
    *size = text != NULL ? (size_t)file.st_size : 0;
    for (size_t done = 0; text != NULL && done < *size;) {
        ssize_t got = read(fd, text + done, *size - done);
        if (got <= 0) {
            free(text);
            text = NULL;
        } else {
            done += (size_t)got;
        }
    }
    (void)close(fd);
    (void)unlinkat(directory->fd, TTP_CHANGE_NAME, 0);
    return text;
}

/* The text behind a letter; NULL: it is not there. */
static const char *find_text(const char *all, size_t size, char letter)
{
    for (size_t at = 0; at < size; at += strlen(all + at) + 1)
        if (all[at] == letter)
            return all + at + 1;
    return NULL;
}

static void refuse(const struct ttp_directory *directory, const char *why)
{
    int fd = ttp_directory_create(directory, TTP_REFUSED_NAME, O_WRONLY);
    if (fd < 0)
        return;
    ssize_t put = write(fd, why, strlen(why));
    (void)put;
    (void)close(fd);
}

/* What is known of sites and calls goes by the new rules. */
static ttape_status begin_again(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_thread **threads = e->threads.data;
    struct ttp_growing conditions = e->judging.conditions;
    uint64_t held_bytes = e->judging.held_bytes;
    conditions.count = 0;
    e->judging = (struct ttp_judging){.conditions = conditions, .held_bytes = held_bytes};
    e->verdicts = NULL; /* what hooks leave out cannot come back */
    if (ttp_judging_is_on(&e->options.conditions))
        ttp_judging_begin_all(e);
    TTP_TRY(ttp_sites_judge_again(e, err));
    for (size_t i = 0; i < e->threads.count; i++) {
        ttp_filter_begin_again(threads[i]);
        TTP_TRY(ttp_held_begin_again(e, threads[i], err));
    }
    return TTAPE_OK;
}

/* The trace says what changed, and behind which event: all of it again, in each file. So that a
 * trace does not grow with the square of them, and a text has an end, the oldest make room. */
static ttape_status note(struct ttp_encode *e, const char *what, const char *text, ttape_error *err)
{
    struct ttp_output **outputs = e->outputs.data;
    char *line = NULL;
    if (text == NULL)
        return TTAPE_OK;
    bool is_full = e->changes.count > 0 && e->changes.count + strlen(text) > CHANGES_BYTES;
    const char *lead = is_full ? "earlier ones are not kept; " : e->changes.count > 0 ? "; " : "";
    int size =
        asprintf(&line, "%sbehind %" PRIu64 " events: %s '%s'", lead, e->appended, what, text);
    if (size < 0)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    e->changes.count =
        is_full ? 0 : e->changes.count - (e->changes.count > 0); /* without its zero */
    ttape_status status = ttp_push_bytes(&e->allocator, &e->changes, line, (size_t)size + 1, err);
    free(line);
    for (size_t i = 0; i < e->outputs.count && status == TTAPE_OK; i++)
        if (outputs[i]->writer != NULL)
            status =
                ttape_writer_set_text(outputs[i]->writer, "filter_changes",
                                      (ttape_string){e->changes.data, e->changes.count - 1}, err);
    return status;
}

static ttape_status take(struct ttp_encode *e, const char *text, size_t size, ttape_error *err)
{
    struct ttp_thread **threads = e->threads.data;
    ttape_error why = {0};
    const char *filter = find_text(text, size, 'F'), *triggers = find_text(text, size, 'T');
    ttape_site_rules rules = e->options.rules;
    ttape_call_conditions conditions = e->options.conditions;
    if (!ttp_filter_is_on(e)) {
        refuse(e->directory, "it was begun without --filter, and without --on but of an exit "
                             "status: with --filter '' they can be changed");
        return TTAPE_OK;
    }
    for (size_t i = 0; i < e->threads.count; i++)
        TTP_TRY(ttp_filter_settle_all(e, threads[i], err));
    if (e->options.change(e->options.change_context, filter, triggers, &rules, &conditions, &why) !=
        TTAPE_OK) {
        refuse(e->directory, why.message);
        return TTAPE_OK;
    }
    e->options.rules = rules;
    e->options.conditions = conditions;
    TTP_TRY(begin_again(e, err));
    TTP_TRY(note(e, "filter", filter, err));
    return note(e, "triggers", triggers, err);
}

/* Calls that are open are what they were: filter and triggers are the same. */
static ttape_status choose_again(struct ttp_encode *e, ttape_error *err)
{
    struct ttp_thread **threads = e->threads.data;
    ttape_site_rules rules = e->options.rules;
    ttape_call_conditions conditions = e->options.conditions;
    if (!ttp_filter_is_on(e))
        return TTAPE_OK;
    for (size_t i = 0; i < e->threads.count; i++)
        TTP_TRY(ttp_filter_settle_all(e, threads[i], err));
    TTP_TRY(e->options.change(e->options.change_context, NULL, NULL, &rules, &conditions, err));
    e->options.rules = rules;
    return ttp_sites_judge_again(e, err);
}

ttape_status ttp_rules_change(struct ttp_encode *e, ttape_error *err)
{
    size_t size;
    if (e->options.change == NULL || e->directory == NULL)
        return TTAPE_OK;
    char *text = read_text(e->directory, &size);
    ttape_status status = text != NULL ? take(e, text, size, err) : TTAPE_OK;
    free(text);
    if (status == TTAPE_OK && atomic_exchange(&e->shared->has_other_functions, false))
        status = choose_again(e, err);
    return status;
}
