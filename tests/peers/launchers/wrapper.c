/* What nixpkgs' makeBinaryWrapper writes and compiles for a wrapper of TARGET: it fixes argv[0],
 * and a failed action aborts. With JOB it also sets a variable and changes the directory, as
 * --set and --chdir have it, and does in the same way what makeBinaryWrapper has no word for: a
 * file as stdout, a descriptor closed, a session. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define must(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            perror(#call);                                                                         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv) {
    (void)argc;
#ifdef JOB
    must(chdir(DIRECTORY));
    int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    must(out);
    must(dup2(out, 1));
    must(close(out));
    must(close(3));
    must(setsid());
    must(putenv("A=1"));
#endif
    argv[0] = TARGET;
    return execv(TARGET, argv);
}
