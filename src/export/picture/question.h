/* question.h - THE TABLE of options of pictures. `torchoscope graph` takes them as
 * --options, Python's graph() as keywords. To add one: a member of struct
 * picture_question, a row in question.c, and the line that applies it. */
#ifndef EXPORT_PICTURE_QUESTION_H
#define EXPORT_PICTURE_QUESTION_H

#include "export/picture/picture.h"
#include "text/options.h"

/* NULL, false, OPTION_UNSET: not given. All texts are borrowed. */
struct picture_question {
    const char *level, *root, *focus, *to, *color, *direction, *theme, *background;
    const char *title;
    uint32_t depth, neighbours, pass;
    double scale; /* 0: not given */
    bool all, no_mark;

    /* Of the command only. */
    const char *diff; /* the newer network */
    const char *output, *form;
    struct option_list inputs; /* of a live model */
    bool train;
};
#define PICTURE_QUESTION_INIT                                                          \
    {                                                                                  \
        .depth = OPTION_UNSET, .neighbours = OPTION_UNSET, .pass = OPTION_UNSET        \
    }

extern const struct option picture_options[];
#define PICTURE_OPTIONS         14 /* for Python too */
#define PICTURE_COMMAND_OPTIONS 5  /* after them: of the command only */

/* What to draw and how. Names of modules are looked up in the session. */
int picture_question_read(const struct picture_question *question,
                          const struct session *session, struct graph_wanted *ret_graph,
                          struct picture_wanted *ret_picture, struct err *err);
/* The diagram of a session, or of the diff from it to `newer` (may be NULL); and how to
 * draw it. */
int picture_question_make(const struct picture_question *question,
                          const struct session *session, const struct session *newer,
                          struct diagram *ret_diagram,
                          struct picture_wanted *ret_picture, struct arena *arena,
                          struct err *err);

#endif
