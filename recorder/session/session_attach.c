/* Functions of a process that runs: patched at the start, put back at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/session/session_internal.h"
#include "recorder/state/function_change.h"

#define PATH_BYTES  4096u
#define LINE_BYTES  (PATH_BYTES + 256u)
#define LOOK_ROUNDS 8u /* between two looks at the process */
#define MODULES     4096u
#define TRIES       40u               /* later, for functions that somebody is inside */
#define PAUSE_NS    UINT64_C(5000000) /* before each of these, and so much for what it took: */
#define PAUSE_SHARE 20u

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void free_wishes(struct ttp_session_wishes *wishes)
{
    for (size_t i = 0; i < wishes->count; i++)
        free((void *)(uintptr_t)wishes->list[i].module);
    free(wishes->list);
    *wishes = (struct ttp_session_wishes){0};
}

static bool is_asked(const struct ttp_session_wishes *wishes, const char *path)
{
    for (size_t i = 0; i < wishes->count; i++)
        if (strcmp(wishes->list[i].module, path) == 0)
            return true;
    return false;
}

/* False: no memory. */
static bool ask(struct ttp_session_wishes *wishes, const ttape_session_options *o, const char *path)
{
    const void *chosen = NULL;
    if (wishes->count == MODULES || is_asked(wishes, path))
        return true;
    const void *plan = o->patch(o->context, path, &chosen);
    if (plan == NULL)
        return true;
    if (wishes->count == wishes->capacity) {
        size_t wanted = wishes->capacity == 0 ? 16 : 2 * wishes->capacity;
        void *grown = realloc(wishes->list, wanted * sizeof *wishes->list);
        if (grown == NULL)
            return false;
        wishes->list = grown;
        wishes->capacity = wanted;
    }
    const char *copy = strdup(path);
    if (copy == NULL)
        return false;
    wishes->list[wishes->count++] =
        (struct ttp_attach_wish){.module = copy, .plan = plan, .chosen = chosen};
    return true;
}

/* The executable first, then what else is mapped with code, as the kernel's list has it. */
static bool ask_all(struct ttp_session_wishes *wishes, const ttape_session_options *o,
                    const char *executable)
{
    char path[64], line[LINE_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%u/maps", o->pid);
    FILE *file = fopen(path, "re");
    bool is_whole = ask(wishes, o, executable);
    while (is_whole && file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *module = strchr(line, '/'), *rights = strchr(line, ' ');
        line[strcspn(line, "\n")] = '\0';
        if (module != NULL && rights != NULL && strncmp(rights, " r-xp", 5) == 0)
            is_whole = ask(wishes, o, module);
    }
    if (file != NULL)
        (void)fclose(file);
    return is_whole;
}

static ttape_status attach(ttape_session *session, const struct ttp_session_wishes *wishes,
                           const char *path, ttape_error *err)
{
    const ttape_session_options *o = &session->options;
    if (wishes->count == 0)
        return ttp_fail_plain(err, TTAPE_E_UNSUPPORTED,
                              "cannot attach to process %u: nothing of '%.120s' can be patched",
                              o->pid, path);
    const struct ttp_attach_options options = {.pid = o->pid,
                                               .arena = ttape_recording_arena(session->recording),
                                               .wishes = wishes->list,
                                               .wish_count = wishes->count,
                                               .threads = o->threads,
                                               .thread_count = o->thread_count,
                                               .rows = o->plan,
                                               .patch = o->patch,
                                               .context = o->context};
    TTP_TRY(ttp_attach_begin(&session->attached, &options, &session->attach_counts, err));
    if (session->attach_ns != 0)
        session->attach_until_ns = now_ns() + session->attach_ns;
    return TTAPE_OK;
}

static void find_executable(uint32_t pid, char path[PATH_BYTES])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/%u/exe", pid);
    ssize_t size = readlink(link, path, PATH_BYTES - 1);
    path[size < 0 ? 0 : size] = '\0';
}

ttape_status ttp_session_attach(ttape_session *session, ttape_error *err)
{
    const ttape_session_options *o = &session->options;
    struct ttp_session_wishes wishes = {0};
    char path[PATH_BYTES];
    session->state.pid = o->pid;
    find_executable(o->pid, path);
    ttape_status status =
        ask_all(&wishes, o, path) ? attach(session, &wishes, path, err) : ttp_fail_memory(err);
    free_wishes(&wishes);
    return status;
}

/* ---- other functions, while it is attached to ---- */

static void fill_changed(ttape_functions_changed *into, const struct ttp_attach_changed *changed)
{
    *into = (ttape_functions_changed){.added = changed->added,
                                      .removed = changed->removed,
                                      .recorded = changed->recorded,
                                      .left = changed->left,
                                      .busy = changed->busy,
                                      .stop_count = changed->stops,
                                      .longest_stop_ns = changed->longest_ns};
    for (uint32_t i = 0; i < TTP_ATTACH_NAMED && i < changed->busy; i++) {
        into->inside[i].module = changed->inside[i].module;
        into->inside[i].address = changed->inside[i].address;
    }
}

/* Its refusals are those of attaching. */
static void say_unchanged(ttape_error *err)
{
    char why[sizeof err->message];
    const char *at =
        strncmp(err->message, "cannot attach", 13) == 0 ? strchr(err->message, ':') : NULL;
    (void)snprintf(why, sizeof why, "%s", at == NULL ? err->message : at + 2);
    (void)snprintf(err->message, sizeof err->message, "its functions stay as they were: %.190s",
                   why);
}

static ttape_status choose(ttape_session *session, const char *functions, ttape_error *err)
{
    const ttape_session_options *o = &session->options;
    struct ttp_session_choice *choice = &session->choice;
    char path[PATH_BYTES];
    if (ttp_attach_is_over(session->attached))
        return ttp_fail_plain(err, TTAPE_E_STATE,
                              "it is being let go of: it has ended or executed a program, or a "
                              "debugger or a handler of faults has come");
    TTP_TRY(o->choose(o->context, functions, err));
    find_executable(o->pid, path);
    ttape_status status =
        ask_all(&choice->wishes, o, path)
            ? ttp_attach_choose(session->attached, choice->wishes.list, choice->wishes.count, false,
                                &choice->changed, err)
            : ttp_fail_memory(err);
    if (status != TTAPE_OK)
        (void)o->choose(o->context, NULL, NULL);
    return status;
}

static void end_choice(struct ttp_session_choice *choice)
{
    free_wishes(&choice->wishes);
    *choice = (struct ttp_session_choice){0};
}

static void answer_choice(ttape_session *session)
{
    const ttape_session_options *o = &session->options;
    char said[TTP_ANSWER_BYTES] = "";
    ttape_functions_changed told;
    fill_changed(&told, &session->choice.changed);
    bool has_rules = o->changed(o->context, &told, said, sizeof said);
    ttp_functions_answer(session->recording, has_rules ? TTP_FUNCTIONS_RULES : TTP_FUNCTIONS_DONE,
                         said);
    end_choice(&session->choice);
}

/* What is recorded goes on between two tries, and the program runs for much longer than it stands
 * still. */
static void plan_try(struct ttp_session_choice *choice, uint64_t stood_ns)
{
    uint64_t pause = stood_ns * PAUSE_SHARE;
    choice->next_ns = now_ns() + (pause > PAUSE_NS ? pause : PAUSE_NS);
}

/* What is left of the choice is tried once more. Where that fails it stays as it was. */
static void try_again(ttape_session *session)
{
    struct ttp_session_choice *choice = &session->choice;
    struct ttp_attach_changed now, *all = &choice->changed;
    if (now_ns() < choice->next_ns)
        return;
    choice->tries--;
    if (ttp_attach_is_over(session->attached) ||
        ttp_attach_choose(session->attached, choice->wishes.list, choice->wishes.count, true, &now,
                          NULL) != TTAPE_OK) {
        answer_choice(session);
        return;
    }
    now.added += all->added;
    now.removed += all->removed;
    now.stops += all->stops;
    plan_try(choice, now.longest_ns);
    now.longest_ns = all->longest_ns > now.longest_ns ? all->longest_ns : now.longest_ns;
    *all = now;
    if (now.busy == 0 || choice->tries == 0)
        answer_choice(session);
}

static void change_functions(ttape_session *session)
{
    struct ttp_session_choice *choice = &session->choice;
    char *functions = ttp_functions_asked(session->recording);
    ttape_error err = {0};
    if (functions == NULL)
        return;
    ttape_status status = choose(session, functions, &err);
    free(functions);
    if (status != TTAPE_OK) {
        say_unchanged(&err);
        ttp_functions_answer(session->recording, TTP_FUNCTIONS_REFUSED, err.message);
        end_choice(choice);
    } else if (choice->changed.busy == 0) {
        answer_choice(session);
    } else {
        choice->tries = TRIES;
        plan_try(choice, choice->changed.longest_ns);
    }
}

bool ttp_session_is_attach_over(ttape_session *session, const ttape_recording_status *now)
{
    bool is_late = session->attach_until_ns != 0 && now_ns() >= session->attach_until_ns;
    bool is_asked_to_end = now->stopped || session->is_left || is_late;
    if (is_asked_to_end && session->choice.tries != 0)
        answer_choice(session);
    if (is_asked_to_end)
        return true;
    if (session->choice.tries != 0)
        try_again(session);
    else if (session->options.choose != NULL && session->options.changed != NULL)
        change_functions(session);
    if (session->attach_round++ % LOOK_ROUNDS != 0)
        return false;
    bool is_over = ttp_attach_is_over(session->attached);
    if (!is_over)
        ttp_attach_follow(session->attached);
    return is_over;
}

void ttp_session_detach(ttape_session *session)
{
    ttape_error err = {0};
    end_choice(&session->choice);
    if (session->attached == NULL)
        return;
    struct ttp_attach *attached = session->attached;
    session->attached = NULL;
    ttape_status status = ttp_attach_end(attached, &session->attach_counts, &err);
    session->attach_counts.is_left |= status != TTAPE_OK;
}
