/* What scans of a segment would tell of all frames that are open at its edges, by one look at each
 * event: where the segment has one stack, and everything is asked for anyway. */
#ifndef TTP_READER_TREE_EDGES_H
#define TTP_READER_TREE_EDGES_H

#include "answers/tree/tree_scan.h"

enum ttp_edge_of { TTP_EDGE_ROOT, TTP_EDGE_START, TTP_EDGE_END };

/* The frame at a level of the start edge, from there on; of the end edge, from behind its enter on,
 * where it is entered in the segment; or the bottom of the stack. False: a scan has to tell. */
bool ttp_tree_edges_find(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                         enum ttp_edge_of edge, uint32_t level, struct ttp_scan_frame *out);
/* Where the scan of the frame at a level of the start edge has nothing above it any more. False:
 * that is not known, or not so. */
bool ttp_tree_edges_bare(struct ttape_tree *tree, struct ttp_scan *scan);
void ttp_tree_edges_forget(struct ttape_tree *tree);

#endif
