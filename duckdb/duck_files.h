/* Files of a query: duck_files.c. The query's mutex is held. */
#ifndef TTAPE_DUCK_FILES_H
#define TTAPE_DUCK_FILES_H

#include "duckdb/duck_query.h"

/* One more user of the file, who may read it until duck_file_leave. */
ttape_status duck_file_use(struct duck_query *query, struct duck_file *file, ttape_error *err);
void duck_file_leave(struct duck_file *file);

#endif
