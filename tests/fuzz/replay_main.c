/* replay_main.c - runs a fuzz target on saved inputs, without libFuzzer. Arguments are
 * files and folders; prints how many inputs were run. A failing input ends the program,
 * by the sanitizer or a signal. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data =
        malloc(size ? size : 1); /* exact size, so that ASan detects an overrun */

    if (!file || !data || fread(data, 1, size, file) != size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last name printed is the one that failed */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

/* Run the file, or all files below the folder, at `path`; returns their number. */
static int run_path(const char *path)
{
    struct dirent **names;
    struct stat status;
    int count, ran = 0;

    if (stat(path, &status) < 0) {
        perror(path);
        exit(2);
    }
    if (!S_ISDIR(status.st_mode))
        return run_file(path, (size_t)status.st_size);
    count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char *below;

        if (names[i]->d_name[0] != '.') {
            size_t room = strlen(path) + strlen(names[i]->d_name) + 2;

            below = malloc(room);
            if (!below)
                exit(2);
            snprintf(below, room, "%s/%s", path, names[i]->d_name);
            ran += run_path(below);
            free(below);
        }
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return ran;
}

int main(int argc, char **argv)
{
    int ran = 0;

    for (int i = 1; i < argc; i++)
        ran += run_path(argv[i]);
    printf("%d inputs replayed\n", ran);
    return 0;
}
