/* Regular files of others: by names that anybody may have chosen. */
#ifndef TTP_RECORDING_REGULAR_FILE_H
#define TTP_RECORDING_REGULAR_FILE_H

#include <sys/stat.h>

/* Opens it for reading; -1: it is not there, or not regular. Nothing else is opened: that may wait,
 * or do something. */
int ttp_regular_open(const char *path, struct stat *status);

#endif
