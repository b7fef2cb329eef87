/* A thread that is not the leader executes a program, while two others sleep. It waits until both
 * have made all their calls but for the sleep, so that those are the same in every run; the wait
 * itself is by futex. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t ready;

static void *sleeps(void *unused) {
    pthread_barrier_wait(&ready);
    pause();
    return unused;
}

static void *executes(void *unused) {
    char *again[] = {"thread_exec", "again", 0}, *none[] = {0};
    pthread_barrier_wait(&ready);
    syscall(SYS_getuid);
    execve("/proc/self/exe", again, none);
    return unused;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        syscall(SYS_getgid);
        _exit(7);
    }
    pthread_barrier_init(&ready, 0, 3);
    pthread_t thread;
    pthread_create(&thread, 0, sleeps, 0);
    pthread_create(&thread, 0, executes, 0);
    pthread_barrier_wait(&ready);
    pause();
    return 1;
}
