/* Never ends, in every way: asleep, with SIGTERM ignored, stopped, busy; in children,
 * a grandchild whose parent is gone, and a thread. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *sleeps(void *unused) {
    for (;;)
        pause();
    return unused;
}

int main(void) {
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0)
        raise(SIGSTOP);
    if (fork() == 0) {
        if (fork() == 0) {
            setsid();
            sleeps(0);
        }
        _exit(0);
    }
    if (fork() == 0)
        for (volatile int i = 0;; i++)
            ;
    pthread_t thread;
    pthread_create(&thread, 0, sleeps, 0);
    sleeps(0);
}
