/* What was patched, in words: for the metadata, and in the closing lines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/binary/elf_hooks.h"
#include "program/symbols/name_advice.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/record/engines/record_patch.h"

#define SAID_BYTES    96u
#define CALLED_BYTES  192u
#define KEPT_BYTES    256u
#define LIBRARY_BYTES 768u /* what is said of one library */
#define REASONS_BYTES 1024u
#define NAMED_MOST    3u
#define MORE_BYTES    48u /* two numbers, and words */

struct patched {
    const char *name;
    uint64_t functions;
};

static int by_functions(const void *a, const void *b)
{
    const struct patched *x = a, *y = b;
    return x->functions != y->functions
               ? (x->functions < y->functions) - (x->functions > y->functions)
               : strcmp(x->name, y->name);
}

/* "libc.so.6 3398, ls 290 and 3 more", as far as there is room; *count: of modules. */
static void list_modules(const ttape_recording *recording, char *text, size_t room, size_t *count)
{
    struct patched *list = NULL;
    size_t capacity = 0, used = 0, named = 0;
    const char *path;
    ttape_patch_counts counts;
    *count = 0;
    for (size_t i = 0; (path = ttape_recording_get_patched_module(recording, i, &counts)) != NULL;
         i++) {
        if (counts.functions == 0)
            continue;
        tool_grow((void **)&list, &capacity, *count + 1, sizeof *list);
        list[(*count)++] = (struct patched){ttp_base_name(path), counts.functions};
    }
    if (*count != 0)
        qsort(list, *count, sizeof *list, by_functions);
    text[0] = '\0';
    for (; named < *count && used + strlen(list[named].name) + MORE_BYTES < room; named++)
        used += (size_t)snprintf(text + used, room - used, "%s%s %" PRIu64, named == 0 ? "" : ", ",
                                 list[named].name, list[named].functions);
    if (named < *count)
        (void)snprintf(text + used, room - used, " and %zu more", *count - named);
    free(list);
}

/* What a program runs that is in no file, or is told of elsewhere. */
static const char *language_hint(const char *path, const char *name)
{
    static const char *const compilers[] = {"java", "node",  "nodejs", "dotnet",
                                            "mono", "pypy3", "luajit", "deno"};
    if (tool_elf_language_of(path) == TOOL_LANGUAGE_GO)
        return "; a Go program's functions are told of by its own runtime/trace only";
    for (size_t i = 0; i < sizeof compilers / sizeof compilers[0]; i++)
        if (strcmp(name, compilers[i]) == 0)
            return "; what it compiles while it runs is in no file, and not seen: tracetape "
                   "convert "
                   "reads what its own tracers write in Chrome's format";
    return "";
}

/* Says of the command's functions how many were to be patched, and why those that cannot be are
 * not. */
struct judged {
    const struct tool_patch_given *given;
    bool takes_all;
    uint64_t known; /* of all that the file has */
    uint64_t functions, reasons[TTP_PATCH_REASONS];
    char left[SAID_BYTES]; /* names of some that cannot be, */
    uint64_t left_named, left_count;
};

static void name_left(struct judged *judged, ttape_string name)
{
    size_t used = strlen(judged->left);
    if (judged->left_count++ == judged->left_named && judged->left_named < NAMED_MOST &&
        used + name.size_bytes + 3 < sizeof judged->left) {
        judged->left_named++;
        (void)snprintf(judged->left + used, sizeof judged->left - used, "%s%.*s",
                       used > 0 ? ", " : "", (int)name.size_bytes, name.data);
    }
}

static void judge_function(void *context, uint32_t index, ttape_string name, bool is_chosen)
{
    struct judged *judged = context;
    if (!is_chosen && !judged->takes_all)
        return;
    struct ttp_patch_function function = tool_patch_function_at(judged->given, index);
    judged->functions++;
    uint8_t reason = tool_patch_probe_at(judged->given, &function, 0).reason;
    judged->reasons[reason]++;
    if (reason != TTP_PATCH_CAN)
        name_left(judged, name);
}

/* NULL, or why nothing is known of its functions. Asked where some were not patched only: it names
 * all of them. */
static const char *judge_module(struct tool_record_patch *patch, const char *path,
                                struct judged *judged)
{
    const struct tool_plan_wish wish = {.path = path, .cache = patch->cache};
    struct tool_patch_given given = {0};
    *judged = (struct judged){.given = &given, .takes_all = patch->only != NULL};
    const char *reason = path == NULL ? "there is no such program" : tool_patch_give(&wish, &given);
    if (reason == NULL)
        tool_record_patch_each(patch, &given, path, judge_function, judged);
    judged->known = given.head.function_count;
    judged->given = NULL;
    tool_patch_given_close(&given);
    return reason;
}

static const char *judge_command(struct tool_record_patch *patch, struct judged *judged)
{
    return judge_module(patch, patch->image, judged);
}

static bool was_left(const struct tool_record_patch *patch, const ttape_recording *recording)
{
    const char *path;
    ttape_patch_counts counts;
    if (patch->only != NULL && patch->only_patchable < patch->only_functions)
        return true;
    for (size_t i = 0; (path = ttape_recording_get_patched_module(recording, i, &counts)) != NULL;
         i++)
        if (counts.functions_left != 0)
            return true;
    return false;
}

/* "2 are shorter than five bytes, 1 ...: f, g and h"; of the command's functions. Each reason is
 * whole: where there is no room for more of them, "9 for other reasons" follow. */
static void list_reasons(struct judged *judged, char *text, size_t room)
{
    size_t used = 0;
    uint64_t others = 0;
    for (unsigned i = 0; i < TTP_PATCH_REASONS; i++) {
        const char *words = tool_patch_reason_text((enum ttp_patch_reason)i);
        if (i == TTP_PATCH_CAN || judged->reasons[i] == 0)
            continue;
        if (used + strlen(words) + 2 * (size_t)MORE_BYTES + sizeof judged->left >= room)
            others += judged->reasons[i];
        else
            used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64 " %s",
                                     used > 0 ? ", " : "", judged->reasons[i], words);
    }
    if (others != 0 && used < room)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64 " for other reasons",
                                 used > 0 ? ", " : "", others);
    if (judged->left_named != 0 && used < room)
        used += (size_t)snprintf(text + used, room - used, ": %s", judged->left);
    if (judged->left_named < judged->left_count && judged->left_named != 0 && used < room)
        (void)snprintf(text + used, room - used, " and %" PRIu64 " more",
                       judged->left_count - judged->left_named);
}

/* "libz.so.1: 1 ...: f", or "libc.so.6: 20 of those that it calls (g, h)"; "": nothing is known. */
static void put_library(struct tool_record_patch *patch, const char *path,
                        const ttape_patch_counts *counts, char text[LIBRARY_BYTES])
{
    struct judged judged;
    int used = snprintf(text, LIBRARY_BYTES, "%.64s: ", ttp_base_name(path));
    size_t start = used < 0 ? 0 : (size_t)used;
    const char *names = counts->left_names;
    uint64_t left = counts->functions_left / (counts->times != 0 ? counts->times : 1);
    if (!tool_record_patch_covers(patch, path))
        (void)snprintf(text + start, LIBRARY_BYTES - start,
                       "%" PRIu64 " of those that it calls%s%.*s%s", left,
                       names != NULL ? " (" : "", (int)CALLED_BYTES, names != NULL ? names : "",
                       names != NULL ? ")" : "");
    else if (judge_module(patch, path, &judged) == NULL)
        list_reasons(&judged, text + start, LIBRARY_BYTES - start);
    else
        text[0] = '\0';
}

/* Libraries follow behind the command: "; libz.so.1: 1 ...: f; libc.so.6: 20 of those that it
 * calls and 3 more libraries": each of them whole. */
static void list_libraries(struct tool_record_patch *patch, const ttape_recording *recording,
                           char *text, size_t room)
{
    const char *path;
    ttape_patch_counts counts;
    size_t more = 0;
    for (size_t i = 0; (path = ttape_recording_get_patched_module(recording, i, &counts)) != NULL;
         i++) {
        char library[LIBRARY_BYTES];
        size_t used = strlen(text);
        bool is_command = patch->image != NULL && strcmp(path, patch->image) == 0;
        if (counts.functions_left == 0 || is_command)
            continue;
        put_library(patch, path, &counts, library);
        if (library[0] == '\0' || used + strlen(library) + MORE_BYTES >= room)
            more++;
        else
            (void)snprintf(text + used, room - used, "%s%s", used > 0 ? "; " : "", library);
    }
    size_t used = strlen(text);
    if (more != 0 && used != 0)
        (void)snprintf(text + used, room - used, "; and %zu more %s", more,
                       more == 1 ? "library" : "libraries");
}

static void keep_reasons(struct tool_record_patch *patch, ttape_recording *recording)
{
    char text[REASONS_BYTES] = "";
    struct judged judged;
    ttape_error err = {0};
    if (!was_left(patch, recording))
        return;
    if (!patch->only_called && judge_command(patch, &judged) == NULL)
        list_reasons(&judged, text, sizeof text);
    list_libraries(patch, recording, text, sizeof text);
    if (text[0] != '\0' &&
        ttape_recording_set_text(recording, "unpatched_reasons", text, &err) != TTAPE_OK)
        (void)tool_fail_error("unpatched_reasons", &err);
}

void tool_record_patch_keep(struct tool_record_patch *patch, ttape_recording *recording)
{
    char text[KEPT_BYTES];
    size_t count;
    ttape_error err = {0};
    keep_reasons(patch, recording);
    if (!tool_record_patch_is_given(patch) || (patch->module->count == 0 && patch->own == NULL))
        return;
    list_modules(recording, text, sizeof text, &count);
    if (ttape_recording_set_text(recording, "patched_modules", text, &err) != TTAPE_OK)
        (void)tool_fail_error("patched_modules", &err);
}

/* The reason that most of them have: what the others have, --plan lists. */
static const char *main_reason(const struct judged *judged)
{
    unsigned most = 1;
    for (unsigned i = 2; i < TTP_PATCH_REASONS; i++)
        most = judged->reasons[i] > judged->reasons[most] ? i : most;
    return judged->reasons[most] == 0 ? NULL : tool_patch_reason_text((enum ttp_patch_reason)most);
}

static const char replaced[] = "a file was replaced while it ran, or cannot be read";
static const char nothing_says[] = "nothing says where its functions begin and end (.eh_frame)";

static void say_none_by_itself(struct tool_record_patch *patch, const ttape_patch_counts *counts,
                               const char *name, const char *hint)
{
    struct judged judged;
    const char *reason = judge_command(patch, &judged);
    if (reason == NULL)
        reason = judged.known == 0 ? nothing_says : main_reason(&judged);
    if (reason == NULL && counts->modules_left != 0)
        reason = replaced;
    tool_message("'%s' has no hooks, and none of its functions could be patched%s%s%s%s", name,
                 reason != NULL ? ": " : "", reason != NULL ? reason : "",
                 counts->functions != 0 ? "; those of libraries that it calls were" : "", hint);
}

/* Functions of libraries that it calls, and ` (names of some)`. */
static uint64_t count_called_left(const struct tool_record_patch *patch,
                                  const ttape_recording *recording, char names[CALLED_BYTES])
{
    const char *path;
    ttape_patch_counts counts;
    uint64_t count = 0;
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; (path = ttape_recording_get_patched_module(recording, i, &counts)) != NULL;
         i++) {
        if (tool_record_patch_is_command(patch, path) || tool_record_patch_owns(patch, path) ||
            counts.times == 0)
            continue;
        count += counts.functions_left / counts.times;
        const char *more = counts.functions_left != 0 ? counts.left_names : NULL;
        if (more != NULL && used + strlen(more) + MORE_BYTES < CALLED_BYTES)
            used += (size_t)snprintf(names + used, CALLED_BYTES - used, "%s%s",
                                     used != 0 ? ", " : " (", more);
    }
    if (used != 0)
        (void)snprintf(names + used, CALLED_BYTES - used, ")");
    return count;
}

/* ", 412 of libjq.so.1", for each library that is the command's own. */
static void list_own(const struct tool_record_patch *patch, const ttape_recording *recording,
                     char text[SAID_BYTES])
{
    const char *path;
    size_t used = 0;
    ttape_patch_counts counts;
    text[0] = '\0';
    for (size_t i = 0; (path = ttape_recording_get_patched_module(recording, i, &counts)) != NULL;
         i++) {
        if (counts.functions == 0 || !tool_record_patch_owns(patch, path))
            continue;
        const char *name = ttp_base_name(path);
        if (used + strlen(name) + MORE_BYTES < SAID_BYTES)
            used += (size_t)snprintf(text + used, SAID_BYTES - used, ", %" PRIu64 " of %s",
                                     counts.functions, name);
    }
}

static void say_by_itself(struct tool_record_patch *patch, const ttape_recording *recording,
                          const ttape_patch_counts *counts)
{
    char own[SAID_BYTES];
    const char *name = tool_record_patch_called(patch, patch->only);
    const char *hint = language_hint(patch->only, name);
    list_own(patch, recording, own);
    char exits[64] = "", called[48] = "", names[CALLED_BYTES];
    uint64_t left_count = count_called_left(patch, recording, names);
    if (patch->only_exits_left != 0)
        (void)snprintf(exits, sizeof exits, "; %" PRIu32 " exit%s of its own %s not seen",
                       patch->only_exits_left, patch->only_exits_left == 1 ? "" : "s",
                       patch->only_exits_left == 1 ? "is" : "are");
    if (left_count != 0)
        (void)snprintf(called, sizeof called, ", but for %" PRIu64, left_count);
    bool is_all = patch->only_patchable == patch->only_functions && left_count == 0;
    if (patch->only_patchable == 0 || counts->functions == 0)
        say_none_by_itself(patch, counts, name, hint);
    else if (patch->by_name)
        tool_message("'%s' has no hooks: its functions that were chosen were patched%s, and those "
                     "of libraries that %s%s%s",
                     name, own, own[0] != '\0' ? "they call" : "it calls", called, hint);
    else
        tool_message("'%s' has no hooks: %" PRIu32 " of its %" PRIu32
                     " functions were patched%s, and those of libraries that %s%s%s%s%s",
                     name, patch->only_patchable, patch->only_functions, own,
                     own[0] != '\0' ? "they call" : "it calls", called,
                     is_all ? "" : " (which not: tracetape info)", exits, hint);
}

/* What a command with hooks has patched beside its own functions. */
static void say_called(const struct tool_record_patch *patch, const ttape_recording *recording)
{
    char names[CALLED_BYTES];
    uint64_t left_count = count_called_left(patch, recording, names);
    if (left_count != 0)
        tool_message("'%s' has hooks: %" PRIu64 " functions of libraries that it calls cannot be "
                     "seen%s (--no-patch: hooks only)",
                     tool_record_patch_called(patch, patch->only), left_count, names);
}

struct counting {
    struct tool_record_patch *patch;
    size_t count;
};

static void count_copy(void *context, const struct tool_symbols_inlined *found)
{
    struct counting *c = context;
    c->count += tool_record_passes_name(&c->patch->rules, found->name);
}

/* Does a pattern match what the compiler has inlined, and has the file no symbols? Asked where
 * nothing else was found only, as it takes all debug information. */
static bool is_inlined(struct tool_record_patch *patch, bool *is_stripped)
{
    struct tool_symbols_options options = {0};
    struct counting c = {.patch = patch};
    *is_stripped = false;
    if (patch->image == NULL)
        return false;
    tool_debug_files_apply(patch->debug, &options);
    options.debuginfod = false;
    struct tool_symbols *symbols = tool_symbols_make(&options);
    struct tool_symbols_module *module = tool_symbols_module_open(
        symbols, (ttape_string){patch->image, strlen(patch->image)}, (ttape_string){"", 0});
    bool is_listed = !patch->inlined && tool_symbols_inlined_list(symbols, module, count_copy, &c);
    bool is_any = is_listed && c.count > 0;
    *is_stripped = !is_any && tool_symbols_module_is_stripped(module);
    tool_symbols_close(symbols);
    return is_any;
}

static void say_none(struct tool_record_patch *patch, const ttape_patch_counts *counts)
{
    struct judged judged;
    bool is_covered = patch->image != NULL && tool_record_patch_covers(patch, patch->image);
    const char *reason = is_covered ? judge_command(patch, &judged) : NULL;
    bool is_stripped = false;
    if (reason == NULL && is_covered && judged.known == 0)
        reason = nothing_says;
    else if (reason == NULL && counts->modules_left != 0)
        reason = replaced;
    else if (reason == NULL && is_inlined(patch, &is_stripped))
        reason = "what matches is inlined wherever it is called: --inlined patches these copies";
    else if (reason == NULL)
        reason = "no name matches in a program that the runtime is loaded into";
    char *advice = is_stripped
                       ? tool_name_advice((ttape_string){patch->image, strlen(patch->image)},
                                          patch->debug->debuginfod)
                       : NULL;
    tool_message("no function was patched: %s%s%s", reason,
                 advice != NULL ? "; it is stripped: " : "", advice != NULL ? advice : "");
    free(advice);
}

/* Modules that the runtime learned of too late. */
static void say_late(const struct tool_record_patch *patch, const ttape_recording *recording)
{
    const char *path, *first = NULL;
    ttape_patch_counts counts;
    size_t count = 0;
    char more[32] = "";
    for (size_t i = 0; (path = ttape_recording_get_patched_module(recording, i, &counts)) != NULL;
         i++) {
        if (counts.functions + counts.functions_left != 0 || !tool_record_patch_covers(patch, path))
            continue;
        first = count++ == 0 ? path : first;
    }
    if (count > 1)
        (void)snprintf(more, sizeof more, " and %zu more", count - 1);
    if (count != 0)
        tool_message("not patched: '%s'%s: the loader says nothing of what is loaded later and "
                     "linked without RELRO, and dlmopen's namespaces have no names",
                     first, more);
}

static void say_marks(const ttape_patch_counts *counts)
{
    char left[96] = "";
    if (counts->marks_left != 0)
        (void)snprintf(left, sizeof left,
                       ", %" PRIu64 " cannot be (--plan --marks names those of the command)",
                       counts->marks_left);
    if (counts->marks + counts->marks_left == 0)
        tool_message("no mark was patched: no static probe of that name in the program and its "
                     "libraries");
    else
        tool_message("%" PRIu64 " mark%s patched%s", counts->marks,
                     counts->marks == 1 ? " was" : "s were", left);
}

void tool_record_patch_say(struct tool_record_patch *patch, const ttape_recording *recording)
{
    ttape_patch_counts counts;
    struct judged judged;
    char left[192] = "", exits[64] = "", hooked[64] = "", inlined[128] = "", copies_left[48] = "",
         modules[SAID_BYTES];
    size_t count = 0;
    ttape_recording_status status;
    const char *example;
    if (!tool_record_patch_is_given(patch))
        return;
    ttape_recording_get_status(recording, &status);
    if (status.event_count == 0 &&
        (status.stopped ||
         ttape_recording_get_unrecorded(recording, TTAPE_UNRECORDED_NOT_STARTED, &example) != 0))
        return; /* that is said alone */
    say_late(patch, recording);
    if (status.late_plan_count != 0)
        return; /* as is that */
    ttape_recording_get_patched(recording, &counts);
    if (patch->marks.given)
        say_marks(&counts);
    if (patch->rules.function.count == 0 && !patch->library_calls)
        return;
    if (patch->only_called) {
        say_called(patch, recording);
        return;
    }
    if (patch->only != NULL) {
        say_by_itself(patch, recording, &counts);
        return;
    }
    if (counts.functions + counts.functions_left + counts.hooked + counts.inlined +
            counts.inlined_left ==
        0) {
        say_none(patch, &counts);
        return;
    }
    if (counts.functions_left != 0)
        (void)snprintf(left, sizeof left, ", %" PRIu64 " cannot be", counts.functions_left);
    if (counts.functions + counts.hooked == 0 && judge_command(patch, &judged) == NULL &&
        main_reason(&judged) != NULL)
        (void)snprintf(left, sizeof left, ", %" PRIu64 " cannot be: %s", counts.functions_left,
                       main_reason(&judged));
    if (counts.exits_left != 0)
        (void)snprintf(exits, sizeof exits, ", %" PRIu64 " of their exits are not seen",
                       counts.exits_left);
    if (counts.hooked != 0)
        (void)snprintf(hooked, sizeof hooked, ", %" PRIu64 " record themselves", counts.hooked);
    if (counts.inlined_left != 0)
        (void)snprintf(copies_left, sizeof copies_left, " (%" PRIu64 " more cannot be)",
                       counts.inlined_left);
    if (counts.inlined + counts.inlined_left != 0)
        (void)snprintf(inlined, sizeof inlined,
                       "; and %" PRIu64 " copies of inlined ones%s, whose ends are not seen",
                       counts.inlined, copies_left);
    if (patch->module->count != 0)
        list_modules(recording, modules, sizeof modules, &count);
    if (count > 1)
        tool_message("%" PRIu64 " functions of %zu modules were patched%s%s%s: %s%s",
                     counts.functions, count, left, exits, hooked, modules, inlined);
    else
        tool_message("%" PRIu64 " function%s patched%s%s%s%s", counts.functions,
                     counts.functions == 1 ? " was" : "s were", left, exits, hooked, inlined);
}
