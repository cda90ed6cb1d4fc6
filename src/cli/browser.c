#include "cli/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"

#define NAME_MOST 64 /* bytes of the name that are kept */

static bool fits_a_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_';
}

int browser_file(struct buf *ret_path, struct str name, const char *suffix,
                 struct err *err)
{
    const char *folder = getenv("TMPDIR");

    buf_printf(ret_path, "%s/torchoscope-XXXXXX", folder && *folder ? folder : "/tmp");
    if (ret_path->bad || !mkdtemp(ret_path->at))
        return err_set(err, ERR_IO,
                       "%s: %s; write the page elsewhere with -o NAME.html",
                       buf_cstr(ret_path), strerror(errno));
    buf_char(ret_path, '/');
    if (name.len == 0)
        buf_text(ret_path, "graph");
    for (size_t i = 0; i < name.len && i < NAME_MOST; i++)
        buf_char(ret_path, fits_a_name(name.at[i]) ? name.at[i] : '_');
    buf_printf(ret_path, ".%s", suffix);
    return ret_path->bad ? err_set(err, ERR_LIMIT, "out of memory") : 0;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value;
}

/* $BROWSER may list several, separated by colons: use the first. */
static const char *find_browser(struct buf *word)
{
    const char *list = getenv("BROWSER");
    struct str rest = str_of(list ? list : ""), first;

    if (str_split(&rest, ':', &first) && first.len > 0) {
        buf_str(word, first);
        return buf_cstr(word);
    }
    if (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
        return "xdg-open";
    return NULL;
}

/* In a grandchild, so that no process has to wait for it. False: it could not be
 * started. */
static bool start(const char *program, const char *path)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);

        setsid();
        for (int fd = 0; nowhere >= 0 && fd < 3; fd++)
            dup2(nowhere, fd);
        switch (fork()) {
        case 0:
            execlp(program, program, path, (char *)NULL);
            _exit(127);
        case -1:
            _exit(1);
        default:
            _exit(0);
        }
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool is_program(const char *name)
{
    struct str rest = str_of(getenv("PATH") ? getenv("PATH") : ""), folder;
    struct buf path = BUF_INIT;
    bool found = false;

    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    while (!found && str_split(&rest, ':', &folder)) {
        buf_clear(&path);
        buf_str(&path, folder);
        buf_printf(&path, "/%s", name);
        found = !path.bad && access(buf_cstr(&path), X_OK) == 0;
    }
    buf_release(&path);
    return found;
}

void browser_show(const char *path)
{
    struct buf word = BUF_INIT;
    const char *program = find_browser(&word);

    if (program && is_program(program) && start(program, path))
        cli_say("opened %s with %s", path, program);
    else if (program)
        cli_say("wrote %s; %s cannot be run: set BROWSER, or open the file yourself",
                path, program);
    else
        cli_say("wrote %s; there is no desktop here: copy the file, or write a picture "
                "with -o NAME.svg",
                path);
    buf_release(&word);
}

void browser_open(const char *address)
{
    struct buf word = BUF_INIT;
    const char *program = find_browser(&word);

    if (!program || !is_program(program) || !start(program, address))
        cli_say("%s; open the address yourself",
                program ? "the browser cannot be started: set BROWSER"
                        : "there is no desktop here");
    buf_release(&word);
}
