/* peak.c - run a program and say what it took: wall time, CPU time, peak memory.
 *
 *     peak PROGRAM [ARGUMENT]...
 *
 * The program's output is thrown away; one line goes to stdout: nanoseconds of wall
 * time, microseconds of CPU time, kilobytes of peak memory, exit status. A child
 * inherits the peak of the process it was made from, so this must be a small program:
 * measured from Python, every program seems to need what Python needs. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void run(char **argv)
{
    int null = open("/dev/null", O_WRONLY);

    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    execvp(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    long long begin = now_ns(), took;
    struct rusage used;
    int status = 0;
    pid_t child;

    if (argc < 2)
        return 2;
    child = fork();
    if (child == 0)
        run(argv + 1);
    if (child < 0 || wait4(child, &status, 0, &used) < 0)
        return 2;
    took = now_ns() - begin;
    printf("%lld %lld %ld %d\n", took,
           (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL +
               used.ru_utime.tv_usec + used.ru_stime.tv_usec,
           used.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
    return 0;
}
