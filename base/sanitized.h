/* Whether this build has a sanitizer, which needs address space and memory of its own: bounds on
 * either are off then. clang says so by other means than gcc. */
#ifndef TTP_SANITIZED_H
#define TTP_SANITIZED_H

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TTP_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TTP_SANITIZED true
#endif
#endif
#ifndef TTP_SANITIZED
#define TTP_SANITIZED false
#endif

#endif
