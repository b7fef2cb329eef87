/* 100,000 system calls that do next to nothing. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    for (int i = 0; i < 100000; i++)
        syscall(SYS_getppid);
    return 0;
}
