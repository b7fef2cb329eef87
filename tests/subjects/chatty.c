/* Writes 1 MiB to stdout and to stderr, in lines. */
#include <string.h>
#include <unistd.h>

int main(void) {
    char line[1024];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 1024; i++)
        for (int fd = 1; fd <= 2; fd++)
            for (size_t done = 0; done < sizeof line;) {
                ssize_t written = write(fd, line + done, sizeof line - done);
                if (written <= 0)
                    return 1;
                done += written;
            }
    return 0;
}
