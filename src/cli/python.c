#include "cli/python.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "cli/cli.h"

/* --- Arguments for Python */

/* model.py::make, package.module::make; false for an existing file of that name. */
static bool is_model(const char *word)
{
    const char *colons = strstr(word, "::");

    return colons && colons > word && word[0] != '-' && access(word, F_OK) != 0;
}

static bool has_model(int argc, char **argv)
{
    bool found = false;

    for (int i = 0; i < argc; i++)
        found = found || is_model(argv[i]);
    return found && !cli_asks_for_help(argc, argv);
}

/* Does a script follow the options of the command? */
static bool has_script(const struct command *command, int argc, char **argv)
{
    int own = command_own_words(command, argc, argv);

    return own < argc && !cli_asks_for_help(own, argv);
}

const struct command *python_command(int argc, char **argv, int *ret_first)
{
    const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
    int first = command ? 2 : 1;

    if (argc > 1 && !command && is_model(argv[1]))
        command = &explore_command;
    if (command && command->script && has_script(command, argc - first, argv + first)) {
        *ret_first = first;
        return command;
    }
    if (!command || !command->live || !has_model(argc - first, argv + first))
        return NULL;
    *ret_first = first;
    return command;
}

/* --- Finding the package */

/* The folder of the program, with links resolved. */
static bool own_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash;

    if (length <= 0)
        return false;
    folder[length] = '\0';
    slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Where the package may be, relative to that folder; the last ones are where pip
 * installs it for the Python beside the program. */
static const struct {
    const char *package;
    bool pip;
} places[] = {
    {"../python/torchoscope", false},
    {"../lib/torchoscope/torchoscope", false},
    {"../lib/python3*/site-packages/torchoscope", true},
    {"../lib/python3*/dist-packages/torchoscope", true},
};

/* Finds the script for Python: __main__.py of the package. */
static bool find_package(const char *folder, struct buf *ret_main, bool *ret_pip)
{
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct buf pattern = BUF_INIT;
        glob_t found;
        bool there;

        buf_printf(&pattern, "%s/%s/__main__.py", folder, places[i].package);
        there = glob(buf_cstr(&pattern), 0, NULL, &found) == 0 && found.gl_pathc > 0;
        if (there) {
            char *real = realpath(found.gl_pathv[0], NULL);

            /* Resolve "..": Python recognises our own frames by this folder. */
            buf_text(ret_main, real ? real : found.gl_pathv[0]);
            *ret_pip = places[i].pip;
            free(real);
        }
        globfree(&found);
        buf_release(&pattern);
        if (there)
            return !ret_main->bad;
    }
    return false;
}

static void find_python(const char *folder, bool pip, struct buf *ret_python)
{
    const char *chosen = getenv("TORCHOSCOPE_PYTHON"), *venv = getenv("VIRTUAL_ENV");

    if (chosen && *chosen) {
        buf_text(ret_python, chosen);
        return;
    }
    if (venv && *venv)
        buf_printf(ret_python, "%s/bin/python", venv);
    else if (pip)
        buf_printf(ret_python, "%s/python3", folder);
    if (ret_python->len && access(buf_cstr(ret_python), X_OK) == 0)
        return;
    buf_clear(ret_python);
    buf_text(ret_python, "python3");
}

/* --- Starting Python */

static void become(const char *python, const char *script, int argc, char **argv)
{
    char **words = calloc((size_t)argc + 2, sizeof *words);

    if (!words) {
        cli_say("out of memory");
        return;
    }
    words[0] = strdup(python);
    words[1] = strdup(script);
    for (int i = 1; i < argc; i++)
        words[i + 1] = argv[i];
    execvp(python, words);
    if (errno == ENOENT)
        cli_say("a live model needs Python, but there is no \"%s\"; set "
                "TORCHOSCOPE_PYTHON to a Python with torch",
                python);
    else
        cli_say("%s: %s", python, strerror(errno));
    free(words[0]);
    free(words[1]);
    free(words);
}

int python_start(int argc, char **argv)
{
    struct buf script = BUF_INIT, python = BUF_INIT;
    char folder[PATH_MAX];
    bool pip = false;

    if (!own_folder(folder) || !find_package(folder, &script, &pip)) {
        cli_say("a live model needs our Python package, and it is not installed with "
                "this program");
    } else {
        find_python(folder, pip, &python);
        become(buf_cstr(&python), buf_cstr(&script), argc, argv);
    }
    buf_release(&script);
    buf_release(&python);
    return STATUS_TROUBLE;
}
