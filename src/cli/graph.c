/* torchoscope graph: a network as a picture. A live model is run and recorded by Python
 * (cli/python.h, python/torchoscope/shell.py), which then calls this command for the
 * recording. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/browser.h"
#include "cli/cli.h"
#include "cli/live.h"
#include "export/picture/question.h"
#include "session/session.h"

/* State of one `graph`. */
struct graph_job {
    struct cli *cli;
    const struct picture_question *question;
    const struct picture_form *form;
    struct session *session, *newer; /* newer: of --diff, or NULL */
    struct arena arena;
};

static bool to_standard_output(const struct picture_question *question)
{
    return question->output && strcmp(question->output, "-") == 0;
}

static const struct picture_form *find_form(const struct picture_question *question,
                                            struct err *err)
{
    const struct picture_form *found;

    if (!question->form && !question->output)
        return picture_form_find(STR("html"));
    if (!question->form)
        return picture_form_of(question->output, err);
    found = picture_form_find(str_of(question->form));
    if (!found)
        picture_form_of(question->form, err);
    return found;
}

/* Without -o: a page in a temporary folder, shown by the browser. */
static int write_and_open(struct graph_job *job, struct diagram *diagram,
                          const struct picture_wanted *wanted, struct err *err)
{
    struct buf path = BUF_INIT;
    int status = browser_file(&path, diagram->path[0], job->form->suffix, err);

    if (status == 0)
        status = picture_write(job->form, buf_cstr(&path), diagram, wanted, err);
    if (status == 0)
        browser_show(buf_cstr(&path));
    buf_release(&path);
    return status;
}

static int draw(struct graph_job *job, struct err *err)
{
    const struct picture_question *question = job->question;
    struct picture_wanted picture;
    struct diagram diagram;

    if (picture_question_make(question, job->session, job->newer, &diagram, &picture,
                              &job->arena, err) < 0)
        return -1;
    if (!question->output)
        return write_and_open(job, &diagram, &picture, err);
    if (to_standard_output(question))
        return job->form->write(&job->cli->out, &diagram, &picture, err);
    return picture_write(job->form, question->output, &diagram, &picture, err);
}

static int open_and_draw(struct graph_job *job, const char *path, struct err *err)
{
    job->form = find_form(job->question, err);
    if (!job->form)
        return -1;
    job->session = session_open(path, &job->cli->work, err);
    if (job->session && job->question->diff)
        job->newer = session_open(job->question->diff, &job->cli->work, err);
    if (!job->session || (job->question->diff && !job->newer))
        return -1;
    return draw(job, err);
}

/* Are there conflicting arguments? Prints an error. */
static bool is_misused(const struct picture_question *question, const struct cli *cli,
                       const char *path)
{
    if (live_is_code(path) || (question->diff && live_is_code(question->diff)))
        return true;
    if (cli->json || cli->csv)
        cli_say("graph: use -o NAME.json");
    else if (question->inputs.n || question->train)
        cli_say("graph: %s is a file, which is not run; --inputs and --train are for "
                "FILE.py::FUNCTION",
                path);
    else
        return false;
    return true;
}

static int graph_run(int argc, char **argv)
{
    struct picture_question question = PICTURE_QUESTION_INIT;
    struct graph_job job = {.question = &question};
    struct err err = {0};
    struct cli cli;
    int status = STATUS_FINE;

    if (cli_begin(&cli, &graph_command, &question, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1) {
        cli_say("usage: torchoscope graph %s", graph_command.usage);
        return cli_end(&cli, STATUS_TROUBLE);
    }
    if (is_misused(&question, &cli, argv[0]))
        return cli_end(&cli, STATUS_TROUBLE);
    job.cli = &cli;
    arena_init(&job.arena, 4 * GIB);
    if (open_and_draw(&job, argv[0], &err) < 0)
        status = cli_fail(&err);
    session_close(job.session);
    session_close(job.newer);
    arena_release(&job.arena);
    return cli_end(&cli, status);
}

const struct command graph_command = {
    .name = "graph",
    .summary = "draw the network: boxes, tensor shapes and the lines between them",
    .usage = "RECORDING|FILE|TARGET [-o OUTPUT] [OPTION]...",
    .details =
        "Without -o it opens an interactive page in the browser. With --diff NEW the\n"
        "picture shows what was added (+), removed (-) and changed (~) since the "
        "first\n"
        "one; the exit status is 0 whether they differ or not. A recording has all\n"
        "lines if it was made with trace() or record(model, "
        "ops=True).\n"
        "FILE has a program (TorchScript, .pt2, ONNX, TFLite, Keras): nothing is "
        "run.\n" ABOUT_LIVE_TARGET,
    .options = picture_options,
    .n_options = PICTURE_OPTIONS + PICTURE_COMMAND_OPTIONS,
    .run = graph_run,
    .live = true,
};
