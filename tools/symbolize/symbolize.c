/* Sites are sorted by file and by place in it, so that each file is loaded once whatever
 * processes mapped it, and each unit's lines once; files are handed out to as many helpers as
 * there are jobs.
 *
 *   sites --> wanted, by (file, offset in module) --> jobs: helper --> named, by site
 *
 * What is printed comes last and in the order of the files' first sites: it is the same for any
 * number of jobs. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/symbols/name_advice.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/symbolize/symbolize.h"

#define TEXT_BLOCK_BYTES (1u << 20)
#define JOBS_MAX         64u
#define NAME_BYTES       4096u
#define TEXT_BYTES_MAX   (512ull << 20) /* of all names: many symbols can share a long one */

/* A module of the trace, on its way to the number of its file. */
struct module_key {
    ttape_module module;
    uint32_t number, file;
};

/* A site that has no name yet, and where it lies. */
struct wanted_site {
    uint64_t offset; /* from the module's start, or the address where that is not known */
    uint32_t file;
    uint32_t named; /* index */
    bool has_start, is_function, is_call;
};

/* One file of the trace's modules, and what came of it. */
struct symbol_file {
    size_t first, count; /* its questions */
    size_t silent;       /* those without an answer */
    uint64_t first_silent;
    ttape_string path, build_id;
    struct tool_symbols_module *module;
};

/* Names, in blocks that never move. */
struct text_block {
    struct text_block *before;
    size_t used, size_bytes;
    char text[];
};

/* A thread with a helper of its own. */
struct symbol_job {
    struct tool_symbolizing *work;
    struct tool_symbols *symbols;
    struct text_block *texts;
    ttape_string last_file; /* the same for many sites in a row */
    pthread_t thread;
    bool has_thread;
    /* of the file in hand: */
    struct symbol_file *file;
    struct tool_symbols_query *queries;
    uint32_t *asked; /* per query: index of the question */
    size_t capacity, asked_capacity;
};

struct tool_symbolizing {
    const ttape_reader *reader;
    const struct tool_symbolize_options *options;
    struct tool_named_site *named;
    struct wanted_site *wanted;
    size_t count, capacity, wanted_capacity;
    size_t homeless; /* sites with an address in no module */
    struct symbol_file *files;
    size_t file_count;
    atomic_size_t next_file;
    atomic_ullong text_bytes;
    struct symbol_job jobs[JOBS_MAX];
    uint32_t job_count;
};

static ttape_string keep_text(struct symbol_job *job, ttape_string text)
{
    if (job->texts == NULL || job->texts->size_bytes - job->texts->used < text.size_bytes + 1) {
        size_t size = text.size_bytes < TEXT_BLOCK_BYTES ? TEXT_BLOCK_BYTES : text.size_bytes + 1;
        struct text_block *block = tool_allocate(1, sizeof(struct text_block) + size);
        block->before = job->texts;
        block->size_bytes = size;
        job->texts = block;
    }
    char *copy = job->texts->text + job->texts->used;
    if (text.size_bytes > 0)
        memcpy(copy, text.data, text.size_bytes);
    copy[text.size_bytes] = '\0';
    job->texts->used += text.size_bytes + 1;
    return (ttape_string){copy, text.size_bytes};
}

static int compare_strings(ttape_string one, ttape_string two)
{
    size_t common = one.size_bytes < two.size_bytes ? one.size_bytes : two.size_bytes;
    int order = common > 0 ? memcmp(one.data, two.data, common) : 0;
    return order != 0 ? order
                      : (one.size_bytes > two.size_bytes) - (one.size_bytes < two.size_bytes);
}

static bool is_same_file(const ttape_module *one, const ttape_module *two)
{
    return compare_strings(one->path, two->path) == 0 &&
           compare_strings(one->build_id, two->build_id) == 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct module_key *one = a, *two = b;
    int order = compare_strings(one->module.path, two->module.path);
    if (order == 0)
        order = compare_strings(one->module.build_id, two->module.build_id);
    return order != 0 ? order : (one->number > two->number) - (one->number < two->number);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct module_key *one = a, *two = b;
    return (one->number > two->number) - (one->number < two->number);
}

/* The trace's modules by number, each with the number of its file: files count from the first
 * module that is one. */
static struct module_key *list_modules(struct tool_symbolizing *work, uint32_t count)
{
    struct module_key *keys = tool_allocate(count, sizeof(struct module_key));
    for (uint32_t i = 0; i < count; i++) {
        keys[i].number = i;
        (void)ttape_reader_get_module(work->reader, i, &keys[i].module);
    }
    if (count > 0)
        qsort(keys, count, sizeof(struct module_key), compare_keys);
    for (uint32_t i = 0; i < count; i++) { /* equals stand together, the first number in front */
        bool same = i > 0 && is_same_file(&keys[i - 1].module, &keys[i].module);
        keys[i].file = same ? keys[i - 1].file : keys[i].number;
    }
    if (count > 0)
        qsort(keys, count, sizeof(struct module_key), compare_numbers);
    return keys;
}

static void want_site(struct tool_symbolizing *work, const struct module_key *key, uint32_t number,
                      const ttape_site *site)
{
    bool has_start = key->module.end > key->module.start;
    /* A frame goes on behind its call, which is what has a name and a line. */
    uint64_t address = site->address - (site->kind == TTAPE_SITE_FRAME);
    tool_grow((void **)&work->named, &work->capacity, work->count + 1,
              sizeof(struct tool_named_site));
    tool_grow((void **)&work->wanted, &work->wanted_capacity, work->count + 1,
              sizeof(struct wanted_site));
    work->named[work->count] = (struct tool_named_site){.site = number};
    work->wanted[work->count] =
        (struct wanted_site){.offset = has_start ? address - key->module.start : address,
                             .file = key->file,
                             .named = (uint32_t)work->count,
                             .has_start = has_start,
                             .is_call = site->kind == TTAPE_SITE_CALL,
                             .is_function = site->kind == TTAPE_SITE_FUNCTION};
    work->count++;
}

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted_site *one = a, *two = b;
    if (one->file != two->file)
        return one->file < two->file ? -1 : 1;
    if (one->offset != two->offset)
        return one->offset < two->offset ? -1 : 1;
    return (one->named > two->named) - (one->named < two->named);
}

static void collect(struct tool_symbolizing *work)
{
    ttape_info info;
    ttape_site site;
    ttape_reader_get_info(work->reader, &info);
    struct module_key *modules = list_modules(work, info.module_count);
    for (uint32_t i = 0; ttape_reader_get_site(work->reader, i, &site) == TTAPE_OK; i++) {
        if (site.address == 0 || site.kind == TTAPE_SITE_TARGET ||
            (site.symbol.size_bytes > 0 && !work->options->again))
            continue;
        if (site.module != TTAPE_NONE && site.module < info.module_count)
            want_site(work, &modules[site.module], i, &site);
        else
            work->homeless += site.symbol.size_bytes == 0;
    }
    if (work->count > 0)
        qsort(work->wanted, work->count, sizeof(struct wanted_site), compare_wanted);
    work->files = tool_allocate(info.module_count, sizeof(struct symbol_file));
    for (size_t i = 0; i < work->count; i++) {
        if (i == 0 || work->wanted[i].file != work->wanted[i - 1].file) {
            const ttape_module *module = &modules[work->wanted[i].file].module;
            work->files[work->file_count++] = (struct symbol_file){
                .first = i, .path = module->path, .build_id = module->build_id};
        }
        work->files[work->file_count - 1].count++;
    }
    free(modules);
}

/* The question as the file's own addresses have it; false: it cannot be put. */
static bool make_query(const struct symbol_job *job, const struct wanted_site *wanted,
                       struct tool_symbols_query *query)
{
    const struct tool_elf_head *head = tool_symbols_module_head(job->file->module);
    *query = (struct tool_symbols_query){.entry = wanted->is_function};
    if (!wanted->has_start) { /* then only a file at fixed addresses can tell */
        query->elf_address = wanted->offset;
        return head != NULL && head->type == TOOL_ELF_FIXED;
    }
    return head != NULL && tool_elf_address_in_module(head, 0, wanted->offset, &query->elf_address);
}

/* Where a call was made is so far into its function (F-SIT-14). */
static ttape_string keep_name(struct symbol_job *job, size_t number,
                              const struct tool_symbol *found)
{
    char name[NAME_BYTES + 24];
    uint64_t behind = job->queries[number].elf_address - found->start;
    bool is_call = job->work->wanted[job->asked[number]].is_call;
    if (!is_call || behind == 0 || found->name.size_bytes > NAME_BYTES)
        return keep_text(job, found->name);
    int size = snprintf(name, sizeof(name), "%.*s+%" PRIu64, (int)found->name.size_bytes,
                        found->name.data, behind);
    return keep_text(job, (ttape_string){name, (size_t)size});
}

static void take_answer(void *context, size_t number, const struct tool_symbol *found)
{
    struct symbol_job *job = context;
    struct tool_named_site *named = &job->work->named[job->work->wanted[job->asked[number]].named];
    if (found->name.size_bytes == 0 ||
        atomic_fetch_add(&job->work->text_bytes, found->name.size_bytes) > TEXT_BYTES_MAX)
        return;
    named->symbol = keep_name(job, number, found);
    named->line = found->line;
    if (found->file.size_bytes > 0) {
        if (job->last_file.data == NULL || compare_strings(job->last_file, found->file) != 0)
            job->last_file = keep_text(job, found->file);
        named->file = job->last_file;
    }
}

static void ask_file(struct symbol_job *job, struct symbol_file *file)
{
    const struct tool_symbolizing *work = job->work;
    size_t count = 0;
    job->file = file;
    file->module = tool_symbols_module_open(job->symbols, file->path, file->build_id);
    tool_grow((void **)&job->queries, &job->capacity, file->count,
              sizeof(struct tool_symbols_query));
    tool_grow((void **)&job->asked, &job->asked_capacity, file->count, sizeof(uint32_t));
    for (size_t i = file->first; i < file->first + file->count; i++)
        if (make_query(job, &work->wanted[i], &job->queries[count]))
            job->asked[count++] = (uint32_t)i;
    (void)tool_symbols_find_all(job->symbols, file->module, job->queries, count, take_answer, job);
    tool_symbols_module_release(job->symbols, file->module);
    for (size_t i = file->first; i < file->first + file->count; i++) {
        if (work->named[work->wanted[i].named].symbol.data == NULL) {
            ttape_site site = {0};
            (void)ttape_reader_get_site(work->reader, work->named[work->wanted[i].named].site,
                                        &site);
            file->first_silent = file->silent++ == 0 ? site.address : file->first_silent;
        }
    }
}

static void *run_job(void *context)
{
    struct symbol_job *job = context;
    struct tool_symbolizing *work = job->work;
    size_t number;
    while ((number = atomic_fetch_add(&work->next_file, 1)) < work->file_count) {
        ask_file(job, &work->files[number]);
        if (job == &work->jobs[0]) /* the command's own thread */
            tool_progress_update(number + 1, work->file_count, 0);
    }
    return NULL;
}

/* This thread does the first job. Where the system refuses a thread for a job, the other jobs take
 * its share. */
static void run_jobs(struct tool_symbolizing *work)
{
    uint32_t wanted = work->options->jobs < JOBS_MAX ? work->options->jobs : JOBS_MAX;
    wanted = wanted < work->file_count ? wanted : (uint32_t)work->file_count;
    work->job_count = wanted > 0 ? wanted : 1;
    for (uint32_t i = 0; i < work->job_count; i++) {
        work->jobs[i].work = work;
        work->jobs[i].symbols = tool_symbols_make(&work->options->symbols);
    }
    for (uint32_t i = 1; i < work->job_count; i++) {
        struct symbol_job *job = &work->jobs[i];
        job->has_thread = pthread_create(&job->thread, NULL, run_job, job) == 0;
    }
    run_job(&work->jobs[0]);
    for (uint32_t i = 1; i < work->job_count; i++)
        if (work->jobs[i].has_thread)
            pthread_join(work->jobs[i].thread, NULL);
}

static void say_silent(const struct symbol_file *file, bool is_advised)
{
    int path_bytes = (int)(file->path.size_bytes < 1024 ? file->path.size_bytes : 1024);
    bool is_stripped = tool_symbols_module_is_stripped(file->module);
    const char *reason = tool_symbols_module_not_fetched(file->module);
    char *advice = is_advised && reason == NULL ? tool_name_advice(file->path, false) : NULL;
    reason = advice != NULL ? advice : reason;
    tool_message("no symbols of '%.*s' at %zu of %zu addresses, 0x%" PRIx64 " the first%s%s%s",
                 path_bytes, file->path.data, file->silent, file->count, file->first_silent,
                 is_stripped ? ": it is stripped" : "", is_stripped && reason != NULL ? "; " : "",
                 is_stripped && reason != NULL ? reason : "");
    free(advice);
}

/* Says what is missing; true: nothing. How to get names is said once. */
static bool report(const struct tool_symbolizing *work)
{
    bool complete = work->homeless == 0, is_advised = false;
    for (size_t i = 0; i < work->file_count; i++) {
        const struct symbol_file *file = &work->files[i];
        if (tool_symbols_warn(file->module)) {
            complete = false;
        } else if (file->silent > 0) {
            bool is_stripped = tool_symbols_module_is_stripped(file->module);
            say_silent(file, is_stripped && !is_advised);
            is_advised |= is_stripped;
            complete = false;
        }
    }
    if (work->homeless > 0)
        tool_message("no symbols of %zu addresses that lie in no module", work->homeless);
    return complete;
}

struct tool_symbolizing *tool_symbolize(const ttape_reader *reader,
                                        const struct tool_symbolize_options *options,
                                        bool *complete)
{
    struct tool_symbolizing *work = tool_allocate(1, sizeof(struct tool_symbolizing));
    work->reader = reader;
    work->options = options;
    collect(work);
    run_jobs(work);
    *complete = report(work);
    return work;
}

const struct tool_named_site *tool_symbolize_sites(const struct tool_symbolizing *work,
                                                   size_t *count)
{
    *count = work->count;
    return work->named;
}

void tool_symbolize_close(struct tool_symbolizing *work)
{
    for (uint32_t i = 0; work != NULL && i < work->job_count; i++) {
        struct symbol_job *job = &work->jobs[i];
        while (job->texts != NULL) {
            struct text_block *before = job->texts->before;
            free(job->texts);
            job->texts = before;
        }
        tool_symbols_close(job->symbols);
        free(job->queries);
        free(job->asked);
    }
    if (work != NULL) {
        free(work->named);
        free(work->wanted);
        free(work->files);
        free(work);
    }
}
