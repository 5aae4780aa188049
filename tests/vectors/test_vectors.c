/* Makes the vectors anew and compares them with spec/vectors, byte for byte, so that a change of
 * bytes is seen in review. With `--write DIR` it writes them there instead: that is how
 * spec/vectors is made. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "vectors.h"

#define SKIPPED      77
#define FOLDER_BYTES 4096
#define PATH_BYTES   (FOLDER_BYTES + 64)

struct run {
    const char *folder;
    bool writing;
    uint32_t vectors, differences;
    uint64_t bytes;
};

static void report(struct run *run, const char *name, const char *what)
{
    run->differences++;
    (void)printf("%s: %s\n", name, what);
}

static void write_file(struct run *run, const char *path, const struct ttest_bytes *bytes)
{
    FILE *f = fopen(path, "wb");
    bool good = f != NULL && fwrite(bytes->data, 1, bytes->size, f) == bytes->size;
    if (f != NULL && fclose(f) != 0)
        good = false;
    if (!good)
        report(run, path, "cannot be written");
}

static void compare_file(struct run *run, const char *path, const struct ttest_bytes *bytes)
{
    uint8_t *stored = malloc(bytes->size + 1);
    FILE *f = fopen(path, "rb");
    if (f == NULL || stored == NULL) {
        report(run, path, "is not there");
    } else {
        size_t size = fread(stored, 1, bytes->size + 1, f);
        size_t at = 0;
        while (at < size && at < bytes->size && stored[at] == bytes->data[at])
            at++;
        if (size != bytes->size || at != size) {
            char what[64];
            (void)snprintf(what, sizeof what, "differs from byte %zu on", at);
            report(run, path, what);
        }
    }
    if (f != NULL)
        (void)fclose(f);
    free(stored);
}

static void take_vector(void *context, const struct ttest_expectation *expectation,
                        const struct ttest_bytes *file)
{
    struct run *run = context;
    struct ttest_bytes json = ttest_json(expectation);
    char path[PATH_BYTES];
    run->vectors++;
    run->bytes += file->size;
    (void)snprintf(path, sizeof path, "%s/%s.ttape", run->folder, expectation->name);
    (run->writing ? write_file : compare_file)(run, path, file);
    (void)snprintf(path, sizeof path, "%s/%s.json", run->folder, expectation->name);
    (run->writing ? write_file : compare_file)(run, path, &json);
}

/* A vector that is no longer made must go. */
static void count_stored(struct run *run)
{
    uint32_t stored = 0;
    DIR *folder = opendir(run->folder);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;)
        stored += strstr(e->d_name, ".ttape") != NULL;
    if (folder != NULL)
        (void)closedir(folder);
    if (stored != run->vectors)
        report(run, run->folder, "holds vectors that nobody makes, or has two of one name");
}

/* Compressed sections are what zstd makes of them: another version may make other bytes. */
static bool same_zstd(const struct run *run)
{
    char path[PATH_BYTES], line[64] = "";
    (void)snprintf(path, sizeof path, "%s/zstd-version.txt", run->folder);
    FILE *f = fopen(path, "r");
    bool same = f != NULL && fgets(line, sizeof line, f) != NULL &&
                strncmp(line, ZSTD_versionString(), strlen(ZSTD_versionString())) == 0;
    if (f != NULL)
        (void)fclose(f);
    if (!same)
        (void)printf("SKIPPED: spec/vectors was made with zstd %.20s, this is %s\n", line,
                     ZSTD_versionString());
    return same;
}

static void write_version(struct run *run)
{
    char path[PATH_BYTES];
    struct ttest_bytes line = {0};
    (void)snprintf(path, sizeof path, "%s/zstd-version.txt", run->folder);
    ttest_print(&line, "%s\n", ZSTD_versionString());
    write_file(run, path, &line);
    ttest_release_all();
}

int main(int argument_count, char **arguments)
{
    struct run run = {0};
    char folder[FOLDER_BYTES];
    const char *source = getenv("TTAPE_SRC");
    (void)snprintf(folder, sizeof folder, "%s/spec/vectors", source != NULL ? source : ".");
    run.folder = folder;
    if (argument_count == 3 && strcmp(arguments[1], "--write") == 0) {
        run.folder = arguments[2];
        run.writing = true;
        write_version(&run);
    } else if (!same_zstd(&run)) {
        return SKIPPED;
    }
    ttest_make_vectors(take_vector, &run);
    count_stored(&run);
    (void)printf("%u vectors, %llu bytes, %u differences\n", run.vectors,
                 (unsigned long long)run.bytes, run.differences);
    return run.differences != 0;
}
