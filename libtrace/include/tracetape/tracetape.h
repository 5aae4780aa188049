/* Everything but <tracetape/runtime.h>, which is for traced programs: the types, the writer,
 * the reader, calls, the longest and the last ones, chains, functions and their names, what is
 * selected, passes of blocks, the call graph, comparisons, paths to functions, clocks, reports,
 * rollups, tiles, the tree, copying, recording, sessions, recovering. */
#ifndef TRACETAPE_TRACETAPE_H
#define TRACETAPE_TRACETAPE_H

#include <tracetape/calls.h>
#include <tracetape/chains.h>
#include <tracetape/clocks.h>
#include <tracetape/copy.h>
#include <tracetape/diff.h>
#include <tracetape/error.h>
#include <tracetape/filter.h>
#include <tracetape/functions.h>
#include <tracetape/graph.h>
#include <tracetape/last.h>
#include <tracetape/longest.h>
#include <tracetape/names.h>
#include <tracetape/passes.h>
#include <tracetape/reach.h>
#include <tracetape/read.h>
#include <tracetape/reader.h>
#include <tracetape/recording.h>
#include <tracetape/recover.h>
#include <tracetape/report.h>
#include <tracetape/rollup.h>
#include <tracetape/selection.h>
#include <tracetape/session.h>
#include <tracetape/syscalls.h>
#include <tracetape/tiles.h>
#include <tracetape/tree.h>
#include <tracetape/types.h>
#include <tracetape/view.h>
#include <tracetape/writer.h>

#endif
