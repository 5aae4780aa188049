/* Names are as in sections 2 and 3 of the manual. Functions without parameters are not here. Behind
 * a slash stands the letter whose words a parameter has (kernel_calls.h). */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "base/text.h"
#include "tools/values/parameter_names.h"

struct function {
    const char *name, *parameters;
};

/* Sorted by name. */
static const struct function functions[] = {
    {"__xpg_basename", "path"},
    {"_exit", "status"},
    {"abs", "j"},
    {"accept", "sockfd addr addrlen"},
    {"access", "pathname mode/A"},
    {"atoi", "nptr"},
    {"atol", "nptr"},
    {"bind", "sockfd addr addrlen"},
    {"bindtextdomain", "domainname dirname"},
    {"calloc", "nmemb size"},
    {"chdir", "path"},
    {"chmod", "pathname mode/m"},
    {"chown", "pathname owner group"},
    {"clock_gettime", "clockid/c tp"},
    {"close", "fd"},
    {"closedir", "dirp"},
    {"connect", "sockfd addr addrlen"},
    {"creat", "pathname mode/m"},
    {"dcgettext", "domainname msgid category"},
    {"dlclose", "handle"},
    {"dlopen", "filename flags"},
    {"dlsym", "handle symbol"},
    {"dup", "oldfd"},
    {"dup2", "oldfd newfd"},
    {"execv", "pathname argv"},
    {"execve", "pathname argv envp"},
    {"execvp", "file argv"},
    {"exit", "status"},
    {"fchdir", "fd"},
    {"fchmod", "fd mode/m"},
    {"fclose", "stream"},
    {"fcntl", "fd cmd/F"},
    {"fdopen", "fd mode"},
    {"feof", "stream"},
    {"ferror", "stream"},
    {"fflush", "stream"},
    {"fgetc", "stream"},
    {"fgets", "s size stream"},
    {"fileno", "stream"},
    {"fopen", "pathname mode"},
    {"fopen64", "pathname mode"},
    {"fputc", "c stream"},
    {"fputs", "s stream"},
    {"fread", "ptr size nmemb stream"},
    {"free", "ptr"},
    {"fscanf", "stream format"},
    {"fseek", "stream offset whence/W"},
    {"fsync", "fd"},
    {"ftell", "stream"},
    {"ftruncate", "fd length"},
    {"fwrite", "ptr size nmemb stream"},
    {"getc", "stream"},
    {"getcwd", "buf size"},
    {"getenv", "name"},
    {"getgrgid", "gid"},
    {"getgrnam", "name"},
    {"getline", "lineptr n stream"},
    {"getopt", "argc argv optstring"},
    {"getopt_long", "argc argv optstring longopts longindex"},
    {"getpwnam", "name"},
    {"getpwuid", "uid"},
    {"gettimeofday", "tv tz"},
    {"ioctl", "fd request/I argp"},
    {"isatty", "fd"},
    {"kill", "pid sig/g"},
    {"lgetfilecon", "path con"},
    {"link", "oldpath newpath"},
    {"listen", "sockfd backlog"},
    {"lseek", "fd offset whence/W"},
    {"lstat", "pathname statbuf"},
    {"malloc", "size"},
    {"memchr", "s c n"},
    {"memcmp", "s1 s2 n"},
    {"memcpy", "dest src n"},
    {"memmove", "dest src n"},
    {"memset", "s c n"},
    {"mkdir", "pathname mode/m"},
    {"mkstemp", "template"},
    {"mmap", "addr length prot/P flags/M fd offset"},
    {"mprotect", "addr len prot/P"},
    {"munmap", "addr length"},
    {"nanosleep", "req rem"},
    {"open", "pathname flags/o"},
    {"open64", "pathname flags/o"},
    {"openat", "dirfd/a pathname flags/o"},
    {"opendir", "name"},
    {"perror", "s"},
    {"pipe", "pipefd"},
    {"poll", "fds nfds timeout"},
    {"popen", "command type"},
    {"printf", "format"},
    {"pthread_create", "thread attr start_routine"},
    {"pthread_join", "thread retval"},
    {"pthread_mutex_lock", "mutex"},
    {"pthread_mutex_unlock", "mutex"},
    {"putchar", "c"},
    {"putenv", "string"},
    {"puts", "s"},
    {"qsort", "base nmemb size compar"},
    {"raise", "sig/g"},
    {"read", "fd buf count"},
    {"readdir", "dirp"},
    {"readlink", "pathname buf bufsiz"},
    {"realloc", "ptr size"},
    {"realpath", "path resolved_path"},
    {"recv", "sockfd buf len flags/G"},
    {"remove", "pathname"},
    {"rename", "oldpath newpath"},
    {"rmdir", "pathname"},
    {"select", "nfds readfds writefds exceptfds"},
    {"send", "sockfd buf len flags/G"},
    {"setenv", "name value overwrite"},
    {"setlocale", "category locale"},
    {"setvbuf", "stream buf mode size"},
    {"shutdown", "sockfd how/h"},
    {"sigaction", "signum/g act oldact"},
    {"signal", "signum/g handler"},
    {"sleep", "seconds"},
    {"snprintf", "str size format"},
    {"socket", "domain/N type/K protocol"},
    {"sprintf", "str format"},
    {"srand", "seed"},
    {"stat", "pathname statbuf"},
    {"statx", "dirfd/a pathname flags/T mask/X statxbuf"},
    {"strcasecmp", "s1 s2"},
    {"strcat", "dest src"},
    {"strchr", "s c"},
    {"strcmp", "s1 s2"},
    {"strcpy", "dest src"},
    {"strdup", "s"},
    {"strerror", "errnum"},
    {"strlen", "s"},
    {"strncmp", "s1 s2 n"},
    {"strncpy", "dest src n"},
    {"strrchr", "s c"},
    {"strstr", "haystack needle"},
    {"strtol", "nptr endptr base"},
    {"strtoul", "nptr endptr base"},
    {"symlink", "target linkpath"},
    {"sysconf", "name"},
    {"system", "command"},
    {"textdomain", "domainname"},
    {"time", "tloc"},
    {"tolower", "c"},
    {"toupper", "c"},
    {"truncate", "path length"},
    {"umask", "mask/m"},
    {"ungetc", "c stream"},
    {"unlink", "pathname"},
    {"unsetenv", "name"},
    {"usleep", "usec"},
    {"wait", "wstatus"},
    {"waitpid", "pid wstatus options/w"},
    {"write", "fd buf count"},
};

const char *tool_parameter_names(ttape_string function)
{
    size_t from = 0, end = sizeof(functions) / sizeof(*functions);
    while (from < end) {
        size_t middle = from + (end - from) / 2, size = strlen(functions[middle].name);
        size_t common = size < function.size_bytes ? size : function.size_bytes;
        int order = memcmp(functions[middle].name, function.data, common);
        if (order == 0)
            order = (size > common) - (function.size_bytes > common);
        if (order == 0)
            return functions[middle].parameters;
        if (order < 0)
            from = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

static bool is_of_library(const ttape_reader *reader, const ttape_site *site)
{
    ttape_module module;
    return site->module == TTAPE_NONE ||
           (ttape_reader_get_module(reader, site->module, &module) == TTAPE_OK &&
            memmem(module.path.data, module.path.size_bytes, ".so", 3) != NULL);
}

const char *tool_library_parameters(const ttape_reader *reader, const ttape_site *site,
                                    uint32_t value_count)
{
    const char *names = site->kind == TTAPE_SITE_FUNCTION && is_of_library(reader, site)
                            ? tool_parameter_names(site->symbol)
                            : NULL;
    uint32_t count = names != NULL && *names != '\0';
    for (const char *at = names; at != NULL && *at != '\0'; at++)
        count += *at == ' ';
    return count == value_count ? names : NULL;
}

ttape_string tool_next_parameter(const char **names)
{
    ttape_string name = {*names, strcspn(*names, "/ ")};
    *names += strcspn(*names, " ");
    *names += **names == ' ';
    return name;
}

uint32_t tool_parameter_number(const char *names, ttape_string name)
{
    for (uint32_t place = 0; *names != '\0'; place++) {
        if (ttp_is_same_text((ttape_string){names, strcspn(names, "/ ")}, name))
            return place;
        names += strcspn(names, " ");
        names += *names == ' ';
    }
    return TTAPE_NONE;
}

char tool_parameter_letter(const char *names)
{
    const char *behind = names + strcspn(names, "/ ");
    return *behind == '/' ? behind[1] : '\0';
}
