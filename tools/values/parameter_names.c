/* As in sections 2 and 3 of the manual. Functions without parameters are not here. */
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
    {"access", "pathname mode"},
    {"atoi", "nptr"},
    {"atol", "nptr"},
    {"bind", "sockfd addr addrlen"},
    {"bindtextdomain", "domainname dirname"},
    {"calloc", "nmemb size"},
    {"chdir", "path"},
    {"chmod", "pathname mode"},
    {"chown", "pathname owner group"},
    {"clock_gettime", "clockid tp"},
    {"close", "fd"},
    {"closedir", "dirp"},
    {"connect", "sockfd addr addrlen"},
    {"creat", "pathname mode"},
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
    {"fchmod", "fd mode"},
    {"fclose", "stream"},
    {"fcntl", "fd cmd"},
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
    {"fseek", "stream offset whence"},
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
    {"ioctl", "fd request argp"},
    {"isatty", "fd"},
    {"kill", "pid sig"},
    {"lgetfilecon", "path con"},
    {"link", "oldpath newpath"},
    {"listen", "sockfd backlog"},
    {"lseek", "fd offset whence"},
    {"lstat", "pathname statbuf"},
    {"malloc", "size"},
    {"memchr", "s c n"},
    {"memcmp", "s1 s2 n"},
    {"memcpy", "dest src n"},
    {"memmove", "dest src n"},
    {"memset", "s c n"},
    {"mkdir", "pathname mode"},
    {"mkstemp", "template"},
    {"mmap", "addr length prot flags fd offset"},
    {"mprotect", "addr len prot"},
    {"munmap", "addr length"},
    {"nanosleep", "req rem"},
    {"open", "pathname flags"},
    {"open64", "pathname flags"},
    {"openat", "dirfd pathname flags"},
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
    {"raise", "sig"},
    {"read", "fd buf count"},
    {"readdir", "dirp"},
    {"readlink", "pathname buf bufsiz"},
    {"realloc", "ptr size"},
    {"realpath", "path resolved_path"},
    {"recv", "sockfd buf len flags"},
    {"remove", "pathname"},
    {"rename", "oldpath newpath"},
    {"rmdir", "pathname"},
    {"select", "nfds readfds writefds exceptfds"},
    {"send", "sockfd buf len flags"},
    {"setenv", "name value overwrite"},
    {"setlocale", "category locale"},
    {"setvbuf", "stream buf mode size"},
    {"shutdown", "sockfd how"},
    {"sigaction", "signum act oldact"},
    {"signal", "signum handler"},
    {"sleep", "seconds"},
    {"snprintf", "str size format"},
    {"socket", "domain type protocol"},
    {"sprintf", "str format"},
    {"srand", "seed"},
    {"stat", "pathname statbuf"},
    {"statx", "dirfd pathname flags mask statxbuf"},
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
    {"umask", "mask"},
    {"ungetc", "c stream"},
    {"unlink", "pathname"},
    {"unsetenv", "name"},
    {"usleep", "usec"},
    {"wait", "wstatus"},
    {"waitpid", "pid wstatus options"},
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

uint32_t tool_parameter_number(const char *names, ttape_string name)
{
    for (uint32_t place = 0; *names != '\0'; place++) {
        size_t size = strcspn(names, " ");
        if (ttp_is_same_text((ttape_string){names, size}, name))
            return place;
        names += size + (names[size] == ' ');
    }
    return TTAPE_NONE;
}
