/* Keys of hash tables that inputs fill (format/base/secret_hash.h). */
#ifndef TTP_BASE_SECRET_H
#define TTP_BASE_SECRET_H

#include "format/base/secret_hash.h"

/* An odd number that is not known outside of this process. What is stored never depends on it. */
uint64_t ttp_secret_key(void);

#endif
