#include "base/base.h"
#include "base/whole_file.h"
#include "export/picture/picture_in.h"

/* THE TABLE of forms. */
const struct picture_form picture_forms[] = {
    {"svg", "vector picture; text stays text, styled and scripted as docs/svg.md says",
     picture_svg},
    {"png", "pixels, painted by librsvg", picture_png},
    {"pdf", "vector picture of one page", picture_pdf},
    {"html", "one interactive page: fold, search, zoom; needs no network",
     picture_html},
    {"dot", "Graphviz: boxes, groups and lines without places", picture_dot},
    {"mmd", "Mermaid, which GitHub draws; at most 500 lines", picture_mermaid},
    {"json", "nodes and edges, the document `graph` of docs/json.md", picture_json},
};
const size_t n_picture_forms = COUNT_OF(picture_forms);

const struct picture_form *picture_form_find(struct str suffix)
{
    for (size_t i = 0; i < n_picture_forms; i++)
        if (str_is_word(suffix, picture_forms[i].suffix))
            return &picture_forms[i];
    return NULL;
}

const struct picture_form *picture_form_of(const char *path, struct err *err)
{
    struct str s = str_of(path);
    ptrdiff_t dot = str_find_last_char(s, '.');
    const struct picture_form *form = NULL;
    struct buf known = BUF_INIT;

    if (dot >= 0 && str_find_char(str_from(s, (size_t)dot), '/') < 0)
        form = picture_form_find(str_from(s, (size_t)dot + 1));
    if (form)
        return form;
    for (size_t i = 0; i < n_picture_forms; i++)
        buf_printf(&known, "%s.%s",
                   i == 0                     ? ""
                   : i + 1 == n_picture_forms ? " or "
                                              : ", ",
                   picture_forms[i].suffix);
    err_set_about(err, ERR_USAGE, path, ": a picture's name ends in %s",
                  buf_cstr(&known));
    buf_release(&known);
    return NULL;
}

int picture_write(const struct picture_form *form, const char *path,
                  struct diagram *diagram, const struct picture_wanted *wanted,
                  struct err *err)
{
    struct whole_file file;
    struct out out;

    if (whole_file_begin(&file, path, err) < 0)
        return -1;
    out_init_fd(&out, file.fd);
    return whole_file_end(&file, &out, path, form->write(&out, diagram, wanted, err),
                          err);
}
