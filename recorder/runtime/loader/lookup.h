/* Functions of the libraries behind ours, in whatever C library the program has: the loader must
 * find nothing missing in ours, as some end the program then, so what not every C library has is
 * looked for here.
 *
 *   glibc from 2.34 on: dlsym and the like are the C library's, and older names of them as well
 *   glibc before:       they are another library's, which the program need not have
 *   others:             no versions, no dlvsym; nothing is recorded there (ttp_libc_is_ours)
 */
#ifndef TTP_RUNTIME_LOOKUP_H
#define TTP_RUNTIME_LOOKUP_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>

/* Fully static programs have no loader: there they are NULL. */
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlvsym
#pragma weak dlerror
#pragma weak dladdr
#pragma weak pthread_create

/* Nor has each C library all of these. The oldest version of each is in all of glibc's releases:
 * what asks for that of today is not loaded by those of before. Built with one of before, which has
 * them elsewhere, ours asks for no version, and gets the oldest. */
#if defined(TTP_RUNTIME_SHARED) && defined(__GLIBC__)
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific
#if __GLIBC_PREREQ(2, 34)
#define TTP_OLDEST(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5");
TTP_OLDEST(dlsym)
TTP_OLDEST(dlvsym)
TTP_OLDEST(dlerror)
TTP_OLDEST(dladdr)
TTP_OLDEST(pthread_key_create)
TTP_OLDEST(pthread_key_delete)
TTP_OLDEST(pthread_setspecific)
#undef TTP_OLDEST
#endif
#define TTP_IS_THERE(function) ((function) != NULL)
#else
#define TTP_IS_THERE(function) true
#endif

/* The next one of that name behind ours, in the loader's order; NULL: there is none. */
void *ttp_next_function(const char *name);
/* The first one of that name. */
void *ttp_first_symbol(const char *name);
/* The first one that a module has code for, by the modules' tables. */
void *ttp_defined_function(const char *name);
/* Of the next one behind ours the version; NULL also where there are no versions. */
void *ttp_next_version(const char *name, const char *version);
/* The program's next call must not hear of ours. */
void ttp_lookup_quiet(void);
/* False: this is another C library than what the runtime was built for. */
bool ttp_libc_is_ours(void);
/* False: unwinders cannot be told of code that is made while the program runs. */
bool ttp_unwinders_ask(void);

#endif
