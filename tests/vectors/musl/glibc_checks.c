/* What libraries built for glibc call in place of memcpy and fprintf, and musl does not have: with
 * these, programs built for musl run with the distribution's zstd, xxHash and libcbor. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *__memcpy_chk(void *to, const void *from, size_t size_bytes, size_t room_bytes);
int __fprintf_chk(FILE *file, int flag, const char *format, ...);

void *__memcpy_chk(void *to, const void *from, size_t size_bytes, size_t room_bytes)
{
    (void)room_bytes;
    return memcpy(to, from, size_bytes);
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list list;
    (void)flag;
    va_start(list, format);
    int done = vfprintf(file, format, list);
    va_end(list);
    return done;
}
