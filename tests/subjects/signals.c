/* Handles signals of all kinds and writes what it saw into the file OUT. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t seen[65];

static void note(int signal, siginfo_t *info, void *context) {
    (void)context;
    seen[signal] += info->si_code == SI_QUEUE ? info->si_value.sival_int : 1;
}

int main(void) {
    FILE *out = fopen(getenv("OUT"), "w");
    int signals[] = {SIGUSR1, SIGUSR2, SIGTRAP, SIGCHLD, SIGCONT, SIGTERM, SIGRTMIN, SIGRTMAX};
    int count = sizeof signals / sizeof *signals;
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP};
    for (int i = 0; i < count; i++)
        sigaction(signals[i], &action, 0);

    raise(SIGUSR1);
    raise(SIGTRAP);
    kill(getpid(), SIGTERM);
    union sigval value = {.sival_int = 5};
    sigqueue(getpid(), SIGRTMIN, value);
    sigqueue(getpid(), SIGRTMAX, value);

    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &before);
    raise(SIGUSR2);
    fprintf(out, "blocked %d\n", (int)seen[SIGUSR2]);
    sigprocmask(SIG_SETMASK, &before, 0);

    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP); /* goes on by its parent's SIGCONT, and has no handler of its own left */
        raise(SIGKILL);
    }
    int status;
    waitpid(child, &status, WUNTRACED);
    fprintf(out, "stopped by %d\n", WIFSTOPPED(status) ? WSTOPSIG(status) : -1);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    fprintf(out, "killed by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);

    for (int i = 0; i < count; i++)
        fprintf(out, "%d: %d\n", signals[i], (int)seen[signals[i]]);
    fclose(out);
    return 42;
}
