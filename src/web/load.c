/* Finds the module that owns libmicrohttpd: a file beside the program, or beside the
 * extension of Python that contains this code. Linked in, the library and its
 * dependencies would add 15 ms to every start. */
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "web/web_in.h"

#define NAME "torchoscope-http.so"

/* From the folder of the program or extension: */
static const char *const places[] = {
    "",                    /* a wheel's extension; the program in its build folder */
    "../",                 /* an installed extension: lib/torchoscope/torchoscope */
    "../lib/torchoscope/", /* the installed program: bin */
    "../torchoscope/",     /* the program of a wheel: bin; pip install --target */
    "../lib/python3*/site-packages/torchoscope/", /* ... in a venv or a prefix */
    "../../src/", /* the extension in the build folder: python/torchoscope */
};

/* Also for the program itself, because dladdr() returns argv[0]. */
static bool own_folder(char *to, size_t room)
{
    Dl_info info;
    ssize_t len = 0;
    char *end;

    if (dladdr((const void *)places, &info) && info.dli_fname &&
        strstr(info.dli_fname, ".so"))
        len = (ssize_t)strlen(info.dli_fname);
    if (len > 0 && (size_t)len < room)
        memcpy(to, info.dli_fname, (size_t)len);
    else
        len = readlink("/proc/self/exe", to, room - 1);
    if (len <= 0)
        return false;
    to[len] = '\0';
    end = strrchr(to, '/');
    if (end)
        end[1] = '\0';
    return end != NULL;
}

/* Several Pythons may share a prefix: the first one that has it. */
static bool find_file(char *to, size_t room, const char *folder, const char *place)
{
    glob_t found = {0};
    bool is;

    snprintf(to, room, "%s%s" NAME, folder, place);
    if (!strchr(place, '*'))
        return access(to, R_OK) == 0;
    is = glob(to, 0, NULL, &found) == 0 && strlen(found.gl_pathv[0]) < room;
    if (is)
        memcpy(to, found.gl_pathv[0], strlen(found.gl_pathv[0]) + 1);
    globfree(&found);
    return is;
}

static void *open_module(struct err *err)
{
    char folder[4096], path[4200];
    const char *why = NULL;
    void *library = NULL;

    if (!own_folder(folder, sizeof folder)) {
        err_set(err, ERR_UNSUPPORTED, "the folder of this program is not known");
        return NULL;
    }
    for (size_t i = 0; !library && i < COUNT_OF(places); i++) {
        if (!find_file(path, sizeof path, folder, places[i]))
            continue;
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        why = library ? NULL : dlerror();
    }
    if (!library && why)
        err_set(err, ERR_UNSUPPORTED, "the server cannot be loaded: %s", why);
    else if (!library)
        err_set(err, ERR_UNSUPPORTED,
                "this torchoscope was built without its server: " NAME
                " is not beside it; install libmicrohttpd-dev and build again");
    return library;
}

static const struct web_http_module *module;
static struct err module_err;

static void load_once(void)
{
    const struct web_http_module *(*get)(void) = NULL;
    void *library = open_module(&module_err);

    if (!library)
        return;
    /* POSIX: a void * of dlsym() holds a function. */
    *(void **)&get = dlsym(library, WEB_HTTP_FUNCTION);
    module = get ? get() : NULL;
    if (!module || module->version != WEB_HTTP_VERSION) {
        module = NULL;
        err_set(&module_err, ERR_UNSUPPORTED,
                NAME " is of another version of torchoscope");
    }
}

const struct web_http_module *load_http(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_once);
    if (!module)
        err_copy(err, &module_err);
    return module;
}
