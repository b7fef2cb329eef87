/* Writes what it started with into the file OUT: a letter for each of its three streams,
 * how many other descriptors, signals not at their default, blocked signals, argc, bytes of argv. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char kind(int fd) {
    struct stat file;
    if (fstat(fd, &file) != 0)
        return '-';
    if (isatty(fd))
        return 't';
    return S_ISFIFO(file.st_mode) ? 'p' : S_ISREG(file.st_mode) ? 'f' : S_ISCHR(file.st_mode) ? 'c' : '?';
}

int main(int argc, char **argv) {
    char streams[] = {kind(0), kind(1), kind(2), 0};
    int others = 0, signals = 0, blocked = 0;
    for (int fd = 3; fd < 1024; fd++)
        others += fcntl(fd, F_GETFD) >= 0;
    for (int signal = 1; signal <= 64; signal++) {
        unsigned long action[4] = {0};
        if (syscall(SYS_rt_sigaction, signal, 0, action, 8) == 0)
            signals += action[0] != (unsigned long)SIG_DFL;
    }
    unsigned long mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
    blocked = __builtin_popcountl(mask);
    size_t bytes = 0;
    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]);

    char byte;
    int end = streams[0] == '-' || read(0, &byte, 1) == 0;
    FILE *out = fopen(getenv("OUT"), "w");
    fprintf(out, "%s end=%d others=%d signals=%d blocked=%d argc=%d bytes=%zu\n", streams, end, others,
            signals, blocked, argc, bytes);
    return fclose(out) != 0;
}
