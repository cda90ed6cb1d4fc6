/* Marks on groups, counts and the title of a diff. */
#include "base/buf.h"
#include "graph/parts_in.h"
#include "text/number.h"

static struct diagram_box *box_at(const struct parts *parts, uint32_t box)
{
    return &parts->at[parts->part_of[box]].box;
}

static bool in_both(const struct diagram_box *box)
{
    return box->change == DIAGRAM_SAME || box->change == DIAGRAM_CHANGED;
}

/* A line between boxes of both networks that only one of them has counts as a change of
 * the innermost group around it. */
static int count_lines(struct parts *parts, struct diagram *diagram)
{
    uint32_t n;
    struct box_link *links = parts_box_links(parts, &n);

    if (!links)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = parts->up[links[i].target];

        if (links[i].change == DIAGRAM_SAME ||
            !in_both(box_at(parts, links[i].source)) ||
            !in_both(box_at(parts, links[i].target)))
            continue;
        while (links[i].source < group || links[i].source >= parts->end[group])
            group = parts->up[group];
        box_at(parts, group)->n_changes++;
        if (links[i].change == DIAGRAM_ADDED)
            diagram->lines_added++;
        else
            diagram->lines_removed++;
    }
    return 0;
}

/* Insert it right after the class, where it is dropped last: "Sequential, 3
 * changes". */
static int say_changes(struct parts *parts, uint32_t part)
{
    struct diagram_box *box = &parts->at[part].box;
    struct buf text = BUF_INIT;
    int status;

    text_plural(&text, box->n_changes, "change", "changes");
    status = parts_word(parts, part, parts_text(parts, buf_span(&text)));
    buf_release(&text);
    if (status < 0)
        return -1;
    for (uint32_t i = box->n_words - 1; i > 1; i--) {
        struct str *word = &parts->words[box->words + i], kept = *word;

        *word = word[-1];
        word[-1] = kept;
    }
    return 0;
}

int changes_apply(struct parts *parts, struct diagram *diagram)
{
    if (count_lines(parts, diagram) < 0)
        return -1;
    for (uint32_t i = parts->n_boxes; i-- > 1;) {
        struct diagram_box *box = box_at(parts, i);
        bool leaf = parts->end[i] == i + 1, own = box->change != DIAGRAM_SAME;

        if (leaf || box->change == DIAGRAM_CHANGED)
            diagram->n_changes[box->change]++;
        box_at(parts, parts->up[i])->n_changes +=
            box->n_changes + ((leaf && own) || box->change == DIAGRAM_CHANGED);
        if (leaf || !in_both(box) || box->n_changes == 0)
            continue;
        box->change = DIAGRAM_CHANGED;
        if (say_changes(parts, parts->part_of[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- the title ---- */

/* The last component of a path without ".scope", preceded by its folder if `parent`. */
static struct str path_end(struct str path, bool parent)
{
    ptrdiff_t slash = str_find_last_char(path, '/');

    if (parent && slash > 0)
        slash = str_find_last_char(str_head(path, (size_t)slash), '/');
    path = slash >= 0 ? str_from(path, (size_t)slash + 1) : path;
    return str_ends(path, STR(".scope")) ? str_head(path, path.len - 6) : path;
}

static struct str side_name(struct parts *parts, const struct session *session,
                            const struct parts_about *about, bool parent)
{
    const char *path = session->model->path;

    if (!path || !*path)
        return about->n_path > 0 ? about->path[0] : STR("model");
    return parts_text(parts, path_end(str_of(path), parent));
}

static void set_names(struct parts *parts, struct diagram *diagram,
                      const struct parts_about *old, const struct parts_about *new)
{
    for (int longer = 0; longer < 2; longer++) {
        diagram->old_name = side_name(parts, diagram->old, old, longer);
        diagram->new_name = side_name(parts, diagram->session, new, longer);
        if (!str_eq(diagram->old_name, diagram->new_name))
            break;
    }
}

/* "3 added, 1 removed, 2 changed, 54 equal" */
static void write_counts(struct buf *to, const struct diagram *diagram)
{
    const uint32_t *n = diagram->n_changes;
    bool some = n[DIAGRAM_ADDED] + n[DIAGRAM_REMOVED] + n[DIAGRAM_CHANGED] > 0;

    for (uint32_t c = DIAGRAM_ADDED; c < DIAGRAM_CHANGES; c++)
        if (n[c] > 0)
            buf_printf(to, "%u %s, ", n[c],
                       diagram_change_name((enum diagram_change)c));
    if (diagram->lines_added > 0) {
        text_plural(to, diagram->lines_added, "line", "lines");
        buf_text(to, " added, ");
    }
    if (diagram->lines_removed > 0) {
        text_plural(to, diagram->lines_removed, "line", "lines");
        buf_text(to, " removed, ");
    }
    if (!some && diagram->lines_added + diagram->lines_removed == 0)
        buf_text(to, "nothing differs, ");
    buf_printf(to, "%u equal", n[DIAGRAM_SAME]);
}

static void write_params(struct buf *to, uint64_t old, uint64_t new)
{
    buf_text(to, " · ");
    text_count(to, new);
    buf_text(to, " parameters");
    if (old == new)
        return;
    buf_text(to, " (was ");
    text_count(to, old);
    buf_char(to, ')');
}

void changes_about(struct parts *parts, struct diagram *diagram,
                   const struct parts_about *old, const struct parts_about *new)
{
    struct buf text = BUF_INIT;

    set_names(parts, diagram, old, new);
    buf_printf(&text, "%.*s → %.*s · ", STR_ARG(diagram->old_name),
               STR_ARG(diagram->new_name));
    write_counts(&text, diagram);
    write_params(&text, old->total[DIAGRAM_PARAMS], new->total[DIAGRAM_PARAMS]);
    diagram->facts = parts_text(parts, buf_span(&text));
    buf_clear(&text);
    buf_str(&text, new->note);
    if (old->note.len > 0 && !str_eq(old->note, new->note))
        buf_printf(&text, "%s%.*s: %.*s", text.len > 0 ? " " : "",
                   STR_ARG(diagram->old_name), STR_ARG(old->note));
    diagram->note = parts_text(parts, buf_span(&text));
    buf_release(&text);
}
