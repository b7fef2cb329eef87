/* 4 threads, fork, vfork + exec and posix_spawn. Its own calls are the same in every run but
 * for futex: the threads have stacks of the program's own, so that no run reuses one that
 * another thread has left, and nothing is allocated while they run. 400 getpid, 3 execve. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 1 << 18 };

static char stacks[THREADS][STACK] __attribute__((aligned(4096)));
static char *none[] = {0};

static void *ask(void *unused) {
    for (int i = 0; i < 100; i++)
        syscall(SYS_getpid);
    return unused;
}

int main(int argc, char **argv) {
    if (argc > 1) /* the program as its own child */
        _exit(0);
    (void)argv;

    /* The end of one child is not to cut short the wait for another. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, 0);

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks[i], STACK);
        if (pthread_create(&threads[i], &attributes, ask, 0) != 0)
            return 1;
    }
    pid_t forked = fork();
    if (forked == 0) {
        syscall(SYS_getuid);
        _exit(0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);

    char *again[] = {"mixed", "child", 0};
    pid_t vforked = vfork();
    if (vforked == 0) {
        execve("/proc/self/exe", again, none);
        _exit(1);
    }
    pid_t spawned;
    if (posix_spawn(&spawned, "/proc/self/exe", 0, 0, again, none) != 0)
        return 1;
    for (int i = 0; i < 3; i++) {
        pid_t children[] = {forked, vforked, spawned};
        int status;
        if (waitpid(children[i], &status, 0) < 0 || status != 0)
            return 1;
    }
    return 0;
}
