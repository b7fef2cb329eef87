/* A 64-bit program that makes calls of i386 and of x32, and calls that do not exist. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    int result;
    syscall(SYS_getppid);
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid of i386 */
    syscall(0x40000000 | SYS_getpid);                                  /* getpid of x32 */
    syscall(999);
    syscall(-1);
    syscall(SYS_getppid);
    _exit(result > 0 ? 0 : 1);
}
