/* What most programs need that read a trace: open it, go through its calls, sum them up by
 * function, with names. <tracetape/tracetape.h> has the rest: the call graph, the tree, the longest
 * calls, writing, recording.
 *
 *   ttape_reader *reader;
 *   ttape_report *report;
 *   ttape_error err = {0};
 *   char name[256];
 *   uint32_t count;
 *   if (ttape_reader_open_path(&reader, "run.ttape", NULL, &err) == TTAPE_OK &&
 *       ttape_report_make(&report, reader, NULL, &err) == TTAPE_OK) {
 *       const ttape_report_row *rows = ttape_report_get_rows(report, &count);
 *       for (uint32_t i = 0; i < count; i++) {
 *           ttape_site_name(reader, rows[i].site, name, sizeof name);
 *           printf("%12lld ns  %s\n", (long long)rows[i].total_ns, name);
 *       }
 *   }
 *
 * In order: a reader (reader.h) has what is in the file, and cursors go through events; a call
 * cursor (calls.h) goes through calls as they end, each with its frames; a report (report.h) adds
 * up. Names are what the trace has: ttape_site_name makes one for what has none. Whoever knows
 * better (a demangler, symbols of a stripped program) takes the site's module and address from
 * ttape_reader_get_site.
 *
 * These calls are in libtracetape, and need of it only what reads: zstd, xxHash and libcbor, no
 * process, and, where it is built with TTAPE_THREADS=OFF (libtracetape-read.a), no threads. */
#ifndef TRACETAPE_READ_H
#define TRACETAPE_READ_H

#include <tracetape/calls.h>
#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/report.h>
#include <tracetape/types.h>

#endif
