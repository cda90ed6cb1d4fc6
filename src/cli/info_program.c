/* torchoscope info without a file: facts about this program. */
#include "base/base.h"
#include "cli/info_in.h"
#include "export/export.h"
#include "read/read.h"
#include "rows/search.h"
#include "text/escape.h"

static void print_program(struct cli *cli, const struct export_program *program)
{
    out_printf(&cli->out, "torchoscope %s\nkernels   %s\nformats  ", program->version,
               program->kernels);
    for (size_t i = 0; program->format(i); i++)
        out_printf(&cli->out, "%s %s", i > 0 ? "," : "", program->format(i));
    out_text(&cli->out, "\nlibraries");
    for (size_t i = 0; i < program->n_libraries; i++)
        out_printf(&cli->out, "%s %s %s", i > 0 ? "," : "", program->libraries[i].name,
                   program->libraries[i].version);
    out_char(&cli->out, '\n');
}

void info_program(struct cli *cli)
{
    struct export_library libraries[] = {
        {"zlib", read_library()}, {"pcre2", NULL}, {"utf8proc", escape_library()}};
    const struct export_program program = {
        .version = TORCHOSCOPE_VERSION,
        .kernels = stats_kernel_name(),
        .format = read_format_name,
        .libraries = libraries,
        .n_libraries = COUNT_OF(libraries),
    };
    struct buf pcre2 = BUF_INIT;
    struct json json;

    search_library(&pcre2);
    libraries[1].version = buf_cstr(&pcre2);
    if (cli->json) {
        json_init_text(&json, &cli->out);
        export_program_json(&json, &program);
    } else {
        print_program(cli, &program);
    }
    buf_release(&pcre2);
}
