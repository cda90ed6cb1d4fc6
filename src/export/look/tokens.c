#include "export/look/tokens.h"

#include "base/base.h"

/* clang-format off */
const struct token tokens[] = {
    {"bg", "#F4F5F7", "#101216"},
    {"surface", "#FFFFFF", "#181B20"},
    {"sunken", "#ECEEF2", "#22262D"},
    {"line", "#D9DDE3", "#343A44"},
    {"line2", "#7B8493", "#727C8B"},
    {"text", "#1B1F27", "#E8EBF0"},
    {"text2", "#4A5260", "#B4BCC8"},
    {"text3", "#5A6371", "#A0A9B7"},
    {"edge", "#6B7482", "#8A94A3"},
    {"nodeline", "#98A1AF", "#5B6572"},
    {"accent", "#0B5FCC", "#7DB2FF"},
    {"accent-soft", "#E3EEFC", "#1B304F"},
    {"on-accent", "#FFFFFF", "#0E1116"},
    {"alarm", "#C4122F", "#FF7A85"},
    {"alarm-soft", "#FCE8EB", "#451A22"},
    {"on-alarm", "#FFFFFF", "#17090B"},
    {"warn", "#8A4B00", "#F0B35A"},
    {"warn-soft", "#FBEEDC", "#3B2A10"},
    {"good", "#17683A", "#6FCF97"},
    {"good-soft", "#E3F3E9", "#16331F"},
    {"g1", "#F7F8FA", "#1C2026"},
    {"g2", "#EFF1F5", "#22272E"},
    {"g3", "#E7EAEF", "#292F37"},
    {"g4", "#DFE3E9", "#313841"},
    {"f-conv", "#146CD4", "#4A97F2"},
    {"t-conv", "#EAF2FB", "#202E3F"},
    {"f-linear", "#02665C", "#51C2B6"},
    {"t-linear", "#E8F1F0", "#213436"},
    {"f-norm", "#6D5C00", "#F0D860"},
    {"t-norm", "#F2F0E8", "#38372A"},
    {"f-activation", "#D77702", "#F08A3A"},
    {"t-activation", "#FBF3E8", "#382C24"},
    {"f-pool", "#4FA069", "#86B87C"},
    {"t-pool", "#EFF6F2", "#28332E"},
    {"f-attention", "#661A94", "#D6B6FA"},
    {"t-attention", "#F1EAF5", "#343241"},
    {"f-embedding", "#C13572", "#DB4D86"},
    {"t-embedding", "#F9EDF2", "#35222F"},
    {"f-view", "#A9B1BD", "#5C6674"},
    {"t-view", "#FFFFFF", "#181B20"},
    {"f-elementwise", "#8690A0", "#7F8998"},
    {"t-elementwise", "#F4F5F6", "#272C32"},
    {"f-loss", "#5A0F0A", "#A0705E"},
    {"t-loss", "#F0E9E9", "#2C2829"},
    {"f-other", "#1B1F27", "#DDE1E8"},
    {"t-other", "#EAEBEC", "#36393E"},
    {"p-a", "#00756A", "#4FD1C0"},
    {"ps-a", "#E0EEED", "#233F40"},
    {"p-b", "#C25400", "#FF9A5A"},
    {"ps-b", "#F8EAE0", "#46342C"},
    {"p-c", "#6A1B9A", "#D9A8F8"},
    {"ps-c", "#EDE4F3", "#3F374B"},
    {"p-d", "#B0306A", "#F0729E"},
    {"ps-d", "#F6E6ED", "#432C39"},
    {"p-e", "#3D4452", "#C3CAD6"},
    {"ps-e", "#E8E9EA", "#3A3E44"},
    {"heat-0", "#FDFAEF", "#28251F"},
    {"heat-1", "#FDF2D0", "#352B1C"},
    {"heat-2", "#FDE9B1", "#423117"},
    {"heat-3", "#FDDC94", "#503712"},
    {"heat-4", "#FCCE78", "#603C0C"},
    {"heat-5", "#FCBC5A", "#714105"},
    {"heat-6", "#F9AB43", "#834705"},
    {"heat-7", "#F4982F", "#954D0D"},
    {"heat-8", "#EF861B", "#A75217"},
    {"density-0", "#E7F2FC", "#222A39"},
    {"density-1", "#BCDCF9", "#2A3D5E"},
    {"density-2", "#92C5F6", "#325185"},
    {"density-3", "#6DAAEB", "#3B6BA8"},
    {"density-4", "#498FDF", "#4488C9"},
    {"density-5", "#2D72CD", "#51A6E5"},
    {"density-6", "#2557AA", "#7AC3ED"},
    {"density-7", "#1B3E89", "#A6DDF7"},
    {"density-8", "#112669", "#D8F4FE"},
    {"div-0", "#003E8C", "#9FDAFD"},
    {"div-1", "#1D64B5", "#64B4F1"},
    {"div-2", "#448CD9", "#4089D5"},
    {"div-3", "#7BB3E7", "#2D60A5"},
    {"div-4", "#B6D5F2", "#2A4268"},
    {"div-5", "#F7F4F2", "#2B2724"},
    {"div-6", "#F2CCA9", "#5F3B21"},
    {"div-7", "#E49F64", "#965021"},
    {"div-8", "#D17122", "#CA7029"},
    {"div-9", "#A44D15", "#E99E4F"},
    {"div-10", "#782C07", "#FAD18A"},
};
/* clang-format on */
const size_t n_tokens = COUNT_OF(tokens);

static void write_theme(struct out *out, bool dark)
{
    out_printf(out, "{color-scheme:%s", dark ? "dark" : "light");
    for (size_t i = 0; i < n_tokens; i++)
        out_printf(out, ";--%s:%s", tokens[i].name,
                   dark ? tokens[i].dark : tokens[i].light);
    out_text(out, "}\n");
}

void tokens_css(struct out *out)
{
    out_text(out, ":root");
    write_theme(out, false);
    out_text(out, "@media screen{:root[data-theme=dark]");
    write_theme(out, true);
    out_text(out, "}\n@media screen and (prefers-color-scheme:dark)"
                  "{:root:not([data-theme=light])");
    write_theme(out, true);
    out_text(out, "}\n");
}
