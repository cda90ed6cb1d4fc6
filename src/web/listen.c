/* Opens a listening socket on a port that is really free. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "web/web_in.h"

#define BACKLOG 64

static void set_port(struct sockaddr_storage *address, unsigned port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&address)->sin6_port
                     : ((struct sockaddr_in *)&address)->sin_port);
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;

    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(six);
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

/* A bound socket, or -1 with errno. */
static int bind_to(const struct sockaddr_storage *address, socklen_t len)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1, why;

    if (fd < 0)
        return -1;
    /* Connections of a server that just ended keep the port busy. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)address, len) == 0)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Does another program listen on this port of ::1? A browser may try that for
 * "localhost" and would send it the token. */
static bool is_taken_as_localhost(const struct sockaddr_storage *address, unsigned port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_storage other = {0};
    bool taken;
    int fd;

    if (address->ss_family != AF_INET || !is_loopback(address))
        return false;
    memcpy(&other, &six, sizeof six);
    set_port(&other, port);
    fd = bind_to(&other, sizeof six);
    taken = fd < 0 && errno == EADDRINUSE;
    if (fd >= 0)
        close(fd);
    return taken;
}

static int find_address(const char *host, struct sockaddr_storage *ret_address,
                        socklen_t *ret_len, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int status = getaddrinfo(host, NULL, &hints, &found);

    if (status != 0)
        return err_set(err, ERR_USAGE, "%s: %s", host, gai_strerror(status));
    memcpy(ret_address, found->ai_addr, found->ai_addrlen);
    *ret_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

int listen_on(const struct web_wanted *wanted, unsigned *ret_port, bool *ret_local,
              struct err *err)
{
    const char *host = wanted->host ? wanted->host : "127.0.0.1";
    struct sockaddr_storage address = {0};
    socklen_t len = 0;
    int fd = -1;

    if (find_address(host, &address, &len, err) < 0)
        return -1;
    errno = EADDRINUSE;
    for (unsigned i = 0; fd < 0 && errno == EADDRINUSE && i <= wanted->tries &&
                         wanted->port + i <= 65535;
         i++) {
        set_port(&address, wanted->port + i);
        if (wanted->port && is_taken_as_localhost(&address, wanted->port + i)) {
            errno = EADDRINUSE;
            continue;
        }
        fd = bind_to(&address, len);
        if (fd >= 0 && listen(fd, BACKLOG) < 0) {
            int why = errno;

            close(fd);
            errno = why;
            fd = -1;
        }
    }
    if (fd < 0)
        return err_set(err, ERR_IO, "%s, port %u: %s; choose another with --port", host,
                       wanted->port, strerror(errno));
    *ret_port = port_of(fd);
    *ret_local = is_loopback(&address);
    return fd;
}
