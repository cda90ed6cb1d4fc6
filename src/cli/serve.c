/* torchoscope serve: files, recordings and training runs on a page in the browser. Live
 * models are made, run and served by Python (cli/python.h, python/torchoscope/shell.py). */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/background.h"
#include "base/base.h"
#include "cli/browser.h"
#include "cli/cli.h"
#include "cli/live.h"
#include "web/web.h"

#define PORT  8080u
#define TRIES 20u

struct serve_options {
    uint32_t port;
    const char *host;
    struct option_list allow_hosts, inputs;
    bool open, train;
};

static const struct option options_table[] = {
    {"port", 'p', OPTION_COUNT, "N", offsetof(struct serve_options, port),
     "serve on this port (8080), or on the next free one"},
    {"host", 0, OPTION_TEXT, "ADDRESS", offsetof(struct serve_options, host),
     "listen on this address (127.0.0.1: only this machine)"},
    {"allow-host", 0, OPTION_LIST, "NAME", offsetof(struct serve_options, allow_hosts),
     "also accept this host name of a proxy; repeatable"},
    {"open", 'o', OPTION_FLAG, NULL, offsetof(struct serve_options, open),
     "open the page in the browser"},
    {"inputs", 'i', OPTION_LIST, "WHAT", offsetof(struct serve_options, inputs),
     "live model: 1x3x224x224, 8x128:int64 or FILE.py::FUNCTION"},
    {"train", 0, OPTION_FLAG, NULL, offsetof(struct serve_options, train),
     "live model: run in train mode, with backward"},
};

static int wake_fd = -1;

static void on_signal(int number)
{
    (void)number;
    (void)!write(wake_fd, "!", 1);
}

/* From now on Ctrl-C and SIGTERM end the wait and make *ret_fd readable; a second one
 * ends the program at once. */
static int catch_end(int *ret_fd, struct err *err)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    int fds[2];

    if (background_pipe(fds, err) < 0)
        return -1;
    *ret_fd = fds[0];
    wake_fd = fds[1];
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return 0;
}

static void wait_for_end(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    while (poll(&ready, 1, -1) <= 0)
        ;
}

static int fill(struct shelf *shelf, int argc, char **argv, struct work *work,
                struct err *err)
{
    for (int i = 0; i < argc; i++)
        if (shelf_add(shelf, argv[i], work, err) < 0)
            return -1;
    return 0;
}

static void say_tunnel(const struct web_server *server)
{
    struct buf text = BUF_INIT;

    if (web_server_tunnel(server, &text))
        cli_say("from your own machine: %s", buf_cstr(&text));
    buf_release(&text);
}

static void say_address(struct cli *cli, const struct web_server *server,
                        const struct serve_options *options)
{
    struct buf address = BUF_INIT;

    if (options->port != 0 && web_server_port(server) != options->port)
        cli_say("port %u is taken; this is port %u", options->port,
                web_server_port(server));
    if (!web_server_is_local(server))
        cli_say("warning: other machines can reach this page; whoever has its address "
                "sees all that is served, over an unencrypted connection");
    web_server_address(server, &address);
    out_str(&cli->out, buf_span(&address));
    out_char(&cli->out, '\n');
    out_flush(&cli->out);
    say_tunnel(server);
    if (options->open)
        browser_open(buf_cstr(&address));
    buf_release(&address);
}

static int serve(struct cli *cli, const struct serve_options *options, int argc,
                 char **argv, struct err *err)
{
    const struct web_wanted wanted = {.host = options->host,
                                      .port = options->port,
                                      .tries = TRIES - 1,
                                      .allow_hosts = options->allow_hosts.words,
                                      .n_allow_hosts = options->allow_hosts.n};
    struct shelf *shelf = shelf_new(err);
    struct web_server *server = NULL;
    int status = -1, end = -1;

    if (!shelf)
        return -1;
    if (fill(shelf, argc, argv, &cli->work, err) < 0) {
        shelf_free(shelf);
        return -1;
    }
    server = web_server_new(shelf, &wanted, err);
    if (server && catch_end(&end, err) == 0 &&
        web_server_start(server, &wanted, err) == 0) {
        say_address(cli, server, options);
        wait_for_end(end);
        status = 0;
    }
    web_server_free(server);
    return status;
}

/* Are there conflicting arguments? Prints an error. */
static bool is_misused(const struct cli *cli, const struct serve_options *options,
                       int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (live_is_code(argv[i]))
            return true;
    if (argc < 1)
        cli_say("usage: torchoscope serve %s", serve_command.usage);
    else if (options->port > 65535)
        cli_say("serve: --port is a number from 0 to 65535; 0: any free one");
    else if (cli->json || cli->csv)
        cli_say("serve: --json and --csv are not supported");
    else if (options->inputs.n || options->train)
        cli_say("serve: %s is a file, which is not run; --inputs and --train are for "
                "FILE.py::FUNCTION",
                argv[0]);
    else
        return false;
    return true;
}

static int serve_run(int argc, char **argv)
{
    struct serve_options options = {.port = PORT};
    struct err err = {0};
    struct cli cli;

    if (cli_begin(&cli, &serve_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (is_misused(&cli, &options, argc, argv))
        return cli_end(&cli, STATUS_TROUBLE);
    if (serve(&cli, &options, argc, argv, &err) < 0)
        return cli_end(&cli, cli_fail(&err));
    return cli_end(&cli, STATUS_FINE);
}

const struct command serve_command = {
    .name = "serve",
    .summary = "show files, recordings and training runs in the browser",
    .usage = "FILE|FOLDER|TARGET... [OPTION]...",
    .details = "Prints the address of a page, until Ctrl-C. The address has a secret "
               "token:\n"
               "only someone who has it can ask for data. A folder lists the models, "
               "recordings\n"
               "and training runs below it. A training run that is being written is "
               "followed.\n"
               "Behind a proxy (JupyterHub, Colab, VS Code), name its host with "
               "--allow-host.\n"
               "A live model is run once, with its operations, if there are inputs for "
               "it.\n" ABOUT_LIVE_TARGET,
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = serve_run,
    .live = true,
};
