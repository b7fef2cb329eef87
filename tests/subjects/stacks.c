/* Calls from where a stack is hard to follow, one of these a run: getppid each, but for the vDSO. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void handler(int signal) {
    (void)signal;
    getppid();
}

__attribute__((noinline)) static void handled(int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
}

/* A frame whose place is not a fixed distance from the stack pointer, nor in rbp: the stack is
 * aligned anew, and by how much is not known before. */
__attribute__((noinline)) static int realigned(int length) {
    _Alignas(256) volatile char aligned[256];
    volatile char *more = __builtin_alloca(length);
    aligned[0] = more[0] = (char)length;
    getppid();
    return aligned[0] + more[0];
}

__attribute__((noinline)) static int deep(int depth) {
    if (depth == 0)
        return getppid();
    return deep(depth - 1) + 1;
}

static char alternate[1 << 16];

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    if (!strcmp(which, "vdso")) {
        /* Of this clock the vDSO knows nothing, so it asks the kernel. */
        struct timespec time;
        return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    }
    if (!strcmp(which, "handler"))
        handled(0);
    if (!strcmp(which, "alternate")) {
        stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
        sigaltstack(&stack, 0);
        handled(SA_ONSTACK);
    }
    if (!strcmp(which, "realigned"))
        return realigned(argc) < 0;
    if (!strcmp(which, "deep"))
        return deep(argc > 2 ? atoi(argv[2]) : 0) < 0;
    return 0;
}
