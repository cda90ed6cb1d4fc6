/* page_in.h - shared by the report and the notebook: the facts at the top of a page, the
 * graph (page_graph.c), and facts as HTML. */
#ifndef EXPORT_PAGE_PAGE_IN_H
#define EXPORT_PAGE_PAGE_IN_H

#include "base/err.h"
#include "base/out.h"
#include "export/picture/picture.h"
#include "facts/fact.h"
#include "rows/show.h"

/* The page's title: `title`, else the run's name, the root's class or the file's
 * name. */
void page_title(struct buf *to, const struct show *show, const char *title);

/* The origin: "net.pth, 97.8MB, torch zip, read without running anything in it". */
void page_origin(struct facts *to, const struct show *show);

/* The key figures: facts of two groups, the number and its unit. Their ids are ids
 * of columns: params, memory, time, backward; then modules or tensors. */
void page_figures(struct facts *to, const struct show *show);

/* Problems: alarms and gaps of the run, then findings of the file, at most `most` of
 * them, with a count of the rest. */
int page_notes(struct facts *to, const struct show *show, uint32_t most,
               struct err *err);

/* The network, folded until few boxes show. */
struct page_graph {
    struct buf svg;     /* empty: the session has no graph, or it is not drawn */
    struct buf note;    /* what is missing in it, or why it is not drawn; may be
                           empty */
    struct buf command; /* the command that draws all of it */
    uint32_t boxes;     /* number of boxes shown */
};
void page_graph_make(struct page_graph *graph, const struct session *session,
                     const struct picture_inside *inside);
void page_graph_release(struct page_graph *graph);

/* How facts become HTML. */
struct page_look {
    const char *prefix;        /* of CSS classes: "ts-" in a notebook */
    const char *between;       /* HTML between groups; NULL: a gap */
    size_t cells;              /* longer parts are cut; 0: no limit */
    const struct model *links; /* not NULL: link places by their full name */
};

/* The CSS class of a role without its prefix: good, warn, alarm, note. */
const char *page_class(enum colour role);
/* All parts of a fact, each with the class of its role, groups with a gap between. */
void page_fact(struct buf *to, const struct facts *facts, const struct fact *fact,
               const struct page_look *look);
/* The parts of the group that begins with part i. */
void page_group(struct buf *to, const struct facts *facts, const struct fact *fact,
                uint32_t i, const struct page_look *look);

/* Text, escaped for HTML and cut to `cells` (0: no limit). */
void page_html(struct buf *to, struct str text, size_t cells);
/* Draw the minus signs of the numbers from byte `from` on as U+2212. */
void page_minus(struct buf *to, size_t from);

#endif
