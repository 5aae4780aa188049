/* What a sanitizer's library asks a program for. gcc's AddressSanitizer refuses to start where
 * another library comes first, as a preloaded one does. That its functions are not the first
 * changes nothing: ours call the next ones. A program that has this function itself comes first. */
#include "recorder/runtime/slow.h"

#ifdef TTP_RUNTIME_SHARED
const char *__asan_default_options(void);

TTP_EXPORT const char *__asan_default_options(void) { return "verify_asan_link_order=0"; }
#endif
