/* Calls that signals cut short, each at the moment when the call is known to sleep. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static jmp_buf before;

/* Returns once a process sleeps in a call: it shows as S in /proc, proc(5). */
static void until_asleep(pid_t process) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    for (;;) {
        int file = open(path, O_RDONLY);
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        text[length > 0 ? length : 0] = 0;
        char *state = strrchr(text, ')');
        if (state && state[2] == 'S')
            return;
        usleep(1000);
    }
}

static void writes(int signal) {
    (void)signal;
    if (write(ends[1], "x", 1) != 1)
        _exit(9);
}

static void does_nothing(int signal) { (void)signal; }

static void jumps(int signal) {
    (void)signal;
    _longjmp(before, 1);
}

static void on_signal(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, 0);
}

/* A child that signals this process while it sleeps, `times` times. */
static pid_t signalled(int signal, int times) {
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    for (int i = 0; i < times; i++) {
        until_asleep(parent);
        kill(parent, signal);
        usleep(20000);
    }
    _exit(0);
}

/* The one place that reads, so that a restart and a call of the program's own come from one
 * instruction. */
static __attribute__((noinline)) long reads(void) {
    char byte;
    return syscall(SYS_read, ends[0], &byte, 1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    struct timespec time = {0, 500 * 1000 * 1000};
    if (pipe(ends) != 0)
        return 8;

    if (!strcmp(what, "handler")) { /* SA_RESTART: one read, restarted after the handler wrote */
        on_signal(writes, SA_RESTART);
        signalled(SIGUSR1, 1);
        if (reads() != 1)
            return 1;
    } else if (!strcmp(what, "eintr")) { /* no SA_RESTART: three reads of the program's own */
        on_signal(does_nothing, 0);
        signalled(SIGUSR1, 2);
        int tries = 0;
        while (tries < 2 && reads() == -1 && errno == EINTR)
            tries++;
        if (tries != 2)
            return 2;
        if (write(ends[1], "x", 1) != 1 || reads() != 1)
            return 3;
    } else if (!strcmp(what, "sleep")) { /* nanosleep never restarts after a handler */
        on_signal(does_nothing, SA_RESTART);
        signalled(SIGUSR1, 1);
        while (syscall(SYS_nanosleep, &time, &time) == -1 && errno == EINTR)
            ;
    } else if (!strcmp(what, "jump")) { /* the handler leaves; the read after it is a new one */
        on_signal(jumps, SA_RESTART | SA_NODEFER);
        if (_setjmp(before) == 0)
            signalled(SIGUSR1, 1);
        else if (write(ends[1], "x", 1) != 1)
            return 4;
        if (reads() != 1)
            return 5;
    } else if (!strcmp(what, "ignored")) { /* only a traced call is cut short by these */
        signal(SIGUSR1, SIG_IGN);
        pid_t child = signalled(SIGUSR1, 1);
        if (waitpid(child, 0, 0) != child)
            return 6;
    } else if (!strcmp(what, "stop")) { /* a child sleeps, is stopped, and goes on */
        pid_t child = fork();
        if (child == 0) {
            syscall(SYS_nanosleep, &time, 0);
            _exit(0);
        }
        int status;
        until_asleep(child);
        kill(child, SIGSTOP);
        if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
            return 7;
        kill(child, SIGCONT);
        if (waitpid(child, &status, 0) != child || status != 0)
            return 8;
    } else {
        return 9;
    }
    syscall(SYS_exit_group, 0);
}
