#include "base/clock.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

TEST(the_clock_never_goes_back)
{
    uint64_t before = clock_ns();
    int i;

    for (i = 0; i < 1000; i++) {
        uint64_t now = clock_ns();

        CHECK(now >= before);
        before = now;
    }
}

/* The variable is read once, so this test runs itself again with it set. */
TEST(each_reading_of_a_ticking_clock_adds_a_millisecond)
{
    uint64_t before;
    pid_t child;
    int status;

    if (getenv("TORCHOSCOPE_CLOCK")) {
        before = clock_ns();
        CHECK(clock_ns() == before + 1000000 && clock_ns() == before + 2000000);
        return;
    }
    if (access("/proc/self/exe", X_OK) != 0)
        SKIP("no /proc here");
    child = fork();
    if (child == 0) {
        setenv("TORCHOSCOPE_CLOCK", "ticks", 1);
        close(1);
        execl("/proc/self/exe", "test_base", "each_reading_of_a_ticking_clock", NULL);
        _exit(99);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
