/* Requests by libcurl. The library is opened on first use and its few functions are
 * looked up by name, as librsvg's are (export/picture/png.c): the program starts
 * without it, and neither building nor the wheel needs it. The numbers of options are
 * part of its ABI. */
#include "read/remote/fetch_in.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/work.h"

#define CONNECT_SECONDS 10
#define STALL_SECONDS   20 /* below STALL_BYTES a second the server counts as stalled */
#define STALL_BYTES     1000 /* TORCHOSCOPE_HTTP_SECONDS changes both times */
#define REDIRECTS       5
#define ERROR_SIZE      256 /* CURL_ERROR_SIZE */
#define TRIES           2   /* attempts, if the connection breaks */

enum curl_option {
    CURL_WRITEDATA = 10001,
    CURL_URL = 10002,
    CURL_RANGE = 10007,
    CURL_ERRORBUFFER = 10010,
    CURL_USERAGENT = 10018,
    CURL_HTTPHEADER = 10023,
    CURL_HEADERDATA = 10029,
    CURL_CAINFO = 10065,
    CURL_WRITEFUNCTION = 20011,
    CURL_HEADERFUNCTION = 20079,
    CURL_XFERINFOFUNCTION = 20219,
    CURL_LOW_SPEED_LIMIT = 19,
    CURL_LOW_SPEED_TIME = 20,
    CURL_NOPROGRESS = 43,
    CURL_NETRC = 51,
    CURL_FOLLOWLOCATION = 52,
    CURL_MAXREDIRS = 68,
    CURL_CONNECTTIMEOUT = 78,
    CURL_NOSIGNAL = 99,
    CURL_PROTOCOLS = 181,
    CURL_REDIR_PROTOCOLS = 182,
};
enum { CURL_HTTP = 1, CURL_HTTPS = 2, CURL_NETRC_OPTIONAL = 1, CURL_GLOBAL_ALL = 3 };
enum curl_code {
    CURL_OK = 0,
    CURL_PARTIAL = 18,
    CURL_WRITE_ERROR = 23,
    CURL_TIMEDOUT = 28,
    CURL_STOPPED = 42, /* CURLE_ABORTED_BY_CALLBACK */
    CURL_GOT_NOTHING = 52,
    CURL_SEND_ERROR = 55,
    CURL_RECV_ERROR = 56,
    CURL_NOT_TRUSTED = 60, /* CURLE_PEER_FAILED_VERIFICATION */
    CURL_BAD_CA_FILE = 77,
};

struct curl {
    int (*global_init)(long flags);
    void *(*init)(void);
    void (*cleanup)(void *handle);
    int (*setopt)(void *handle, int option, ...);
    int (*perform)(void *handle);
    const char *(*strerror)(int code);
    void *(*slist_append)(void *list, const char *text);
    void (*slist_free)(void *list);
};

struct fetcher {
    void *handle;
    char error[ERROR_SIZE];
};

/* One response while it arrives. */
struct fetch_answer {
    struct fetch *fetch;
    int status;
    bool has_range, packed, too_much;
    uint64_t from, to;
    char etag[FETCH_VERSION], modified[FETCH_VERSION];
};

/* ---- the library ---- */

static struct curl curl; /* once loaded, it never changes */
static bool curl_is_here;
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4",
                                        "libcurl.4.dylib"};
    const struct {
        void **function;
        const char *name;
    } wanted[] = {
        {(void **)&curl.global_init, "curl_global_init"},
        {(void **)&curl.init, "curl_easy_init"},
        {(void **)&curl.cleanup, "curl_easy_cleanup"},
        {(void **)&curl.setopt, "curl_easy_setopt"},
        {(void **)&curl.perform, "curl_easy_perform"},
        {(void **)&curl.strerror, "curl_easy_strerror"},
        {(void **)&curl.slist_append, "curl_slist_append"},
        {(void **)&curl.slist_free, "curl_slist_free_all"},
    };
    void *library = NULL;

    for (size_t i = 0; i < COUNT_OF(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!(*wanted[i].function = dlsym(library, wanted[i].name)))
            return;
    curl_is_here = curl.global_init(CURL_GLOBAL_ALL) == CURL_OK;
}

struct fetcher *fetcher_new(struct err *err)
{
    struct fetcher *fetcher = calloc(1, sizeof *fetcher);

    pthread_once(&curl_once, load);
    if (fetcher && curl_is_here)
        fetcher->handle = curl.init();
    if (fetcher && fetcher->handle)
        return fetcher;
    if (fetcher && !curl_is_here)
        err_set(err, ERR_UNSUPPORTED,
                "files of web servers need libcurl, which is not installed: apt-get "
                "install libcurl4, or download the file");
    else
        err_set(err, ERR_LIMIT, "no memory left");
    free(fetcher);
    return NULL;
}

void fetcher_free(struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    curl.cleanup(fetcher->handle);
    free(fetcher);
}

/* ---- the response ---- */

bool fetch_parse_range(struct str text, uint64_t *ret_from, uint64_t *ret_to,
                       uint64_t *ret_total)
{
    struct str rest = str_trim(text), from, to;

    if (!str_starts(rest, STR("bytes ")))
        return false;
    rest = str_trim(str_from(rest, 6));
    return str_split(&rest, '-', &from) && str_split(&rest, '/', &to) &&
           str_to_u64(from, ret_from) && str_to_u64(to, ret_to) &&
           str_to_u64(rest, ret_total) && *ret_from <= *ret_to && *ret_to < *ret_total;
}

static void keep_text(char to[FETCH_VERSION], struct str value)
{
    if (value.len < FETCH_VERSION)
        snprintf(to, FETCH_VERSION, "%.*s", STR_ARG(value));
}

/* "HTTP/1.1 206 Partial Content" begins a response; there are several with
 * redirects. */
static void begin_answer(struct fetch_answer *answer, struct str line)
{
    struct str status;
    uint64_t number = 0;

    *answer = (struct fetch_answer){.fetch = answer->fetch};
    if (str_split(&line, ' ', &status) && str_split(&line, ' ', &status) &&
        str_to_u64(str_trim(status), &number) && number < 1000)
        answer->status = (int)number;
}

static bool is_field(struct str name, const char *wanted)
{
    return name.len == strlen(wanted) && strncasecmp(name.at, wanted, name.len) == 0;
}

static size_t take_header(const char *at, size_t size, size_t n, void *user)
{
    struct fetch_answer *answer = user;
    struct str line = {at, size * n}, name, value;

    if (str_starts(line, STR("HTTP/"))) {
        begin_answer(answer, line);
        return line.len;
    }
    value = line;
    if (!str_split(&value, ':', &name))
        return line.len;
    value = str_trim(value);
    if (is_field(name, "etag"))
        keep_text(answer->etag, value);
    else if (is_field(name, "last-modified"))
        keep_text(answer->modified, value);
    else if (is_field(name, "content-encoding"))
        answer->packed = !str_is(value, "identity");
    else if (is_field(name, "content-range"))
        answer->has_range =
            fetch_parse_range(value, &answer->from, &answer->to, &answer->fetch->total);
    return line.len;
}

/* Takes the requested bytes; any other body ends the request. */
static size_t take_body(const char *at, size_t size, size_t n, void *user)
{
    struct fetch_answer *answer = user;
    struct fetch *fetch = answer->fetch;
    size_t len = size * n;

    if (answer->status != 206 || answer->packed)
        return 0;
    if (len > fetch->n - fetch->got) {
        answer->too_much = true;
        return 0;
    }
    memcpy((char *)fetch->to + fetch->got, at, len);
    fetch->got += len;
    return len;
}

/* libcurl calls it about once a second, even while no data arrives. */
static int look_for_stop(void *user, long long total, long long now, long long up_total,
                         long long up_now)
{
    (void)user;
    (void)total;
    (void)now;
    (void)up_total;
    (void)up_now;
    return work_wait() ? 0 : 1;
}

/* ---- one request ---- */

static long seconds_or(long usual)
{
    const char *text = getenv("TORCHOSCOPE_HTTP_SECONDS");
    uint64_t seconds;

    return text && str_to_u64(str_of(text), &seconds) && seconds > 0 && seconds < 3600
               ? (long)seconds
               : usual;
}

static bool is_secure(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

static void *add_header(void *list, const char *format, const char *value)
{
    struct buf line = BUF_INIT;
    void *longer;

    buf_text(&line, format);
    buf_text(&line, value);
    longer = line.bad ? NULL : curl.slist_append(list, buf_cstr(&line));
    buf_release(&line);
    return longer ? longer : list;
}

/* The file of certificates to trust instead of the system's, from the variables of curl
 * and OpenSSL; or NULL. */
static const char *own_certificates(void)
{
    static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *path = getenv(names[i]);

        if (path && *path)
            return path;
    }
    return NULL;
}

/* The cached version, and the token for models that need one. libcurl does not send it
 * to another host after a redirect. */
static void *headers_of(const struct fetch *fetch)
{
    static const char hub[] = "https://huggingface.co/";
    const char *token = getenv("HF_TOKEN");
    void *list = NULL;

    if (fetch->unless && fetch->version[0])
        list = add_header(list,
                          strchr(fetch->version, '"') ? "If-None-Match: "
                                                      : "If-Modified-Since: ",
                          fetch->version);
    if (token && *token && strncmp(fetch->url, hub, sizeof hub - 1) == 0)
        list = add_header(list, "Authorization: Bearer ", token);
    return list;
}

static int perform(struct fetcher *fetcher, struct fetch_answer *answer)
{
    const struct fetch *fetch = answer->fetch;
    void *handle = fetcher->handle, *headers = headers_of(fetch);
    char range[64];
    int code;

    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)fetch->at,
             (unsigned long long)(fetch->at + fetch->n - 1));
    fetcher->error[0] = '\0';
    curl.setopt(handle, CURL_URL, fetch->url);
    curl.setopt(handle, CURL_RANGE, range);
    curl.setopt(handle, CURL_HTTPHEADER, headers);
    curl.setopt(handle, CURL_ERRORBUFFER, fetcher->error);
    curl.setopt(handle, CURL_USERAGENT, "torchoscope/" TORCHOSCOPE_VERSION);
    curl.setopt(handle, CURL_HEADERFUNCTION, take_header);
    curl.setopt(handle, CURL_HEADERDATA, answer);
    curl.setopt(handle, CURL_WRITEFUNCTION, take_body);
    curl.setopt(handle, CURL_WRITEDATA, answer);
    curl.setopt(handle, CURL_FOLLOWLOCATION, 1L);
    curl.setopt(handle, CURL_MAXREDIRS, (long)REDIRECTS);
    curl.setopt(handle, CURL_PROTOCOLS, (long)(CURL_HTTP | CURL_HTTPS));
    curl.setopt(handle, CURL_REDIR_PROTOCOLS,
                (long)(is_secure(fetch->url) ? CURL_HTTPS : CURL_HTTP | CURL_HTTPS));
    curl.setopt(handle, CURL_CONNECTTIMEOUT, seconds_or(CONNECT_SECONDS));
    curl.setopt(handle, CURL_LOW_SPEED_LIMIT, (long)STALL_BYTES);
    curl.setopt(handle, CURL_LOW_SPEED_TIME, seconds_or(STALL_SECONDS));
    curl.setopt(handle, CURL_NETRC, (long)CURL_NETRC_OPTIONAL);
    curl.setopt(handle, CURL_NOSIGNAL, 1L);
    curl.setopt(handle, CURL_XFERINFOFUNCTION, look_for_stop);
    curl.setopt(handle, CURL_NOPROGRESS, 0L);
    if (own_certificates())
        curl.setopt(handle, CURL_CAINFO, own_certificates());
    code = curl.perform(handle);
    curl.slist_free(headers);
    return code;
}

/* ---- the result ---- */

/* Did the connection end too early? */
static bool is_broken(int code)
{
    return code == CURL_PARTIAL || code == CURL_GOT_NOTHING ||
           code == CURL_SEND_ERROR || code == CURL_RECV_ERROR;
}

static int fail_status(const struct fetch_answer *answer, struct err *err)
{
    const char *path = answer->fetch->shown;
    int status = answer->status;

    if (status == 404 || status == 410)
        return err_set_about(err, ERR_IO, path, ": the server has no such file (%d)",
                             status);
    if (status == 401 || status == 403)
        return err_set_about(err, ERR_IO, path,
                             ": the server does not allow it (%d); put your login into "
                             "~/.netrc or your token into HF_TOKEN",
                             status);
    if (status == 416)
        return err_set_about(err, ERR_FORMAT, path,
                             ": the file is empty, or has become shorter (%d)", status);
    if (status == 429 || status >= 500)
        return err_set_about(err, ERR_IO, path,
                             ": the server failed (%d). Try again later", status);
    if (status == 200)
        return err_set_about(err, ERR_UNSUPPORTED, path,
                             ": the server sends whole files only, no ranges; download "
                             "it");
    return err_set_about(err, ERR_IO, path, ": the server answered %d", status);
}

static int fail_transfer(const struct fetcher *fetcher,
                         const struct fetch_answer *answer, int code, struct err *err)
{
    const char *path = answer->fetch->shown;
    const char *why = fetcher->error[0] ? fetcher->error : curl.strerror(code);

    if (code == CURL_STOPPED)
        return err_set_about(err, ERR_CANCELLED, path, ": stopped");
    if (answer->packed)
        return err_set_about(err, ERR_UNSUPPORTED, path,
                             ": the server sends it compressed, so that it has no "
                             "ranges; download it");
    if (answer->too_much)
        return err_set_about(err, ERR_FORMAT, path,
                             ": the server sent more than the %zu bytes asked for",
                             answer->fetch->n);
    if (code == CURL_WRITE_ERROR && answer->status != 206)
        return fail_status(answer, err);
    if (code == CURL_TIMEDOUT)
        return err_set_about(err, ERR_IO, path,
                             ": the server stalls: %s. Try again later", why);
    if (code == CURL_NOT_TRUSTED || code == CURL_BAD_CA_FILE)
        return err_set_about(err, ERR_IO, path,
                             ": %s. Set SSL_CERT_FILE to a file of certificates to "
                             "trust",
                             why);
    return err_set_about(err, ERR_IO, path, ": %s%s", why,
                         is_broken(code) ? ". Try again" : "");
}

static int check_range(const struct fetch_answer *answer, struct err *err)
{
    const struct fetch *fetch = answer->fetch;
    uint64_t last = fetch->at + fetch->n - 1;

    if (answer->has_range && last >= fetch->total)
        last = fetch->total - 1;
    if (!answer->has_range)
        return err_set_about(err, ERR_FORMAT, fetch->shown,
                             ": the server's answer has no valid Content-Range");
    if (answer->from != fetch->at || answer->to != last ||
        fetch->got != last - fetch->at + 1)
        return err_set_about(err, ERR_FORMAT, fetch->shown,
                             ": asked for bytes %llu to %llu, got %zu bytes as %llu to "
                             "%llu",
                             (unsigned long long)fetch->at, (unsigned long long)last,
                             fetch->got, (unsigned long long)answer->from,
                             (unsigned long long)answer->to);
    return 0;
}

static int check_version(const struct fetch_answer *answer, struct err *err)
{
    const struct fetch *fetch = answer->fetch;
    bool same_size =
        !answer->has_range || fetch->size == 0 || fetch->size == fetch->total;

    if (same_size && (fetch->unless || !fetch->version[0] ||
                      strcmp(fetch->version, fetch->new_version) == 0))
        return 0;
    return err_set_about(err, ERR_CHANGED, fetch->shown,
                         " changed on the server while it was read. Open it again");
}

int fetch_range(struct fetcher *fetcher, struct fetch *fetch, struct err *err)
{
    struct fetch_answer answer = {.fetch = fetch};
    bool broken = true;
    int code = CURL_OK;

    for (int i = 0; i < TRIES && broken; i++) {
        answer = (struct fetch_answer){.fetch = fetch};
        fetch->got = 0;
        code = perform(fetcher, &answer);
        broken = is_broken(code);
    }
    fetch->same = fetch->unless && answer.status == 304;
    if (code != CURL_OK)
        return fail_transfer(fetcher, &answer, code, err);
    if (fetch->same)
        return 0;
    if (answer.status != 206)
        return fail_status(&answer, err);
    snprintf(fetch->new_version, sizeof fetch->new_version, "%s",
             answer.etag[0] ? answer.etag : answer.modified);
    return check_version(&answer, err) < 0 ? -1 : check_range(&answer, err);
}
