/* Calls getppid as often as its argument says. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
        syscall(SYS_getppid);
    return 0;
}
