/* Outlines of partitions out of overviews. */
#ifndef TTP_READER_TREE_OVERVIEWS_H
#define TTP_READER_TREE_OVERVIEWS_H

#include "answers/tree/tree_internal.h"
#include "reader/levels/outline_reader.h"

/* `take` makes an outline, of a partition that is not loaded: it has a head and segments. */
struct ttp_tree_taking {
    struct ttape_tree *tree;
    ttape_status (*take)(void *context, const struct ttp_loaded *p,
                         const struct ttp_tree_measures *measures, ttape_error *err);
    void *context;
};

ttape_status ttp_tree_overviews_open(struct ttape_tree *tree, ttape_error *err);
void ttp_tree_overviews_close(struct ttape_tree *tree);
/* Takes those of the listed partitions, which ascend, that overviews tell: the others stay. */
ttape_status ttp_tree_take_overviews(const struct ttp_tree_taking *taking, uint32_t *list,
                                     uint32_t *count, ttape_error *err);

#endif
