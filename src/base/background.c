#include "base/background.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int background_pipe(int fds[2], struct err *err)
{
    if (pipe(fds) < 0)
        return err_set_errno(err, "a pipe");
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

bool background_start(pthread_t *thread, void *(*run)(void *user), void *user)
{
    sigset_t all, before;
    int status;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(thread, NULL, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0;
}
