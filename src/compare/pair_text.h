/* pair_text.h - a pair in words: of two training runs where they part (parting_text.h),
 * of two recordings where their results begin to differ (divergence_text.h; of training
 * runs only with `all`), then how the models differ (diff_text.h). */
#ifndef COMPARE_PAIR_TEXT_H
#define COMPARE_PAIR_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "session/pair.h"
#include "text/pen.h"

/* `all`: do not cut long lists. */
int pair_text_write(const struct pen *pen, const struct pair *pair, bool all,
                    struct err *err);
/* The same in Markdown. */
int pair_markdown(struct buf *to, const struct pair *pair, bool all, struct err *err);

#endif
