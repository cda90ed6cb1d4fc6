/* link.h - every view is a command, and every command a view:
 *     torchoscope resnet50.scope --at layer1.0.conv2 --labels name,type,time --panel 5
 * The options are read by cli/ into a struct link; link_apply() makes the view of it,
 * link_write() the shortest line that gives the view again. */
#ifndef SHOW_LINK_H
#define SHOW_LINK_H

#include "base/buf.h"
#include "base/err.h"
#include "show/explorer.h"

/* What was asked for; NULL, 0: nothing. All texts are borrowed. */
struct link {
    const char *at;     /* --at NAME */
    const char *open;   /* --open NAMES, separated by commas */
    uint32_t depth;     /* --depth N; ALL_ROWS */
    const char *flat;   /* --flat[=tensors] */
    const char *labels; /* --labels LIST */
    const char *sort;   /* --sort KEY */
    bool reverse;
    const char *filter; /* --filter PATTERN */
    const char *panel;  /* --panel N[,N]: those that are open, the focused one last */
    const char *view;   /* --view V of the focused one */
    const char *slice;  /* --slice S */
    const char *call;   /* --call N */
    bool zoom;          /* --zoom: the focused one has the body to itself */
};
#define LINK_INIT                                                                      \
    {                                                                                  \
        .depth = ALL_ROWS                                                              \
    }

/* ERR_USAGE or ERR_NOT_FOUND: one sentence. *ret_focus is the panel to focus. */
int link_apply(const struct link *link, struct explorer *explorer,
               enum panel_number *ret_focus, struct err *err);
/* The command, fit for a shell; of a live model the torchoscope.explore(...) line. */
void link_write(struct buf *to, struct explorer *explorer, enum panel_number focus,
                bool zoom);

#endif
