#include "base/background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/test.h"

TEST(a_pipe_wakes_and_never_blocks)
{
    struct err err = {0};
    int fds[2];
    char byte;

    CHECK(background_pipe(fds, &err) == 0);
    CHECK(read(fds[0], &byte, 1) == -1 && errno == EAGAIN);
    CHECK(write(fds[1], "!", 1) == 1);
    CHECK(read(fds[0], &byte, 1) == 1);
    CHECK(byte == '!');
    CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
    close(fds[0]);
    close(fds[1]);
}

static void *look_at_signals(void *user)
{
    pthread_sigmask(SIG_SETMASK, NULL, user);
    return NULL;
}

TEST(a_thread_blocks_signals_and_those_of_the_caller_are_unchanged)
{
    sigset_t of_thread, before, after;
    pthread_t thread;

    sigemptyset(&of_thread);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    CHECK(background_start(&thread, look_at_signals, &of_thread));
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(sigismember(&of_thread, SIGINT) == 1);
    CHECK(sigismember(&of_thread, SIGWINCH) == 1);
    CHECK(sigismember(&after, SIGINT) == sigismember(&before, SIGINT));
}
