/* Outlines of the partitions of a group, kept until its overview is made. */
#ifndef TTP_WRITER_OUTLINE_WRITER_H
#define TTP_WRITER_OUTLINE_WRITER_H

#include "format/container/measures/outlines.h"
#include "writer/writer_internal.h"

/* The pending partition, whose measures are collected, is the group's next one. */
ttape_status ttp_outline_add(ttape_writer *w, const struct ttp_pending *p, ttape_error *err);
/* What was added, which stays where it is. False: there is too much of it, or nothing. */
bool ttp_outline_get(const ttape_writer *w, struct ttp_scope *scope, struct ttp_outlines *out);
void ttp_outline_forget(struct ttp_scope *scope);
void ttp_outline_free(ttape_writer *w, struct ttp_scope *scope);

#endif
