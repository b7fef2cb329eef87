/* A thread that is not the leader executes a program, while two others sleep. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *sleeps(void *unused) {
    pause();
    return unused;
}

static void *executes(void *unused) {
    char *again[] = {"thread_exec", "again", 0}, *none[] = {0};
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
    pthread_t thread;
    pthread_create(&thread, 0, sleeps, 0);
    pthread_create(&thread, 0, executes, 0);
    pause();
    return 1;
}
