/* before [WORD...] -- PROGRAM [ARG...]: runs PROGRAM in a state that its words ask for.
 *
 *   fd=N        N is /dev/null          close=N     N is not open
 *   ignore=N    signal N is ignored     block=N     signal N is blocked
 *   umask=NNN   octal                   nofile=N    both limits of open files
 *   group       leads a process group   cd=DIR      the working directory
 *   powerless   without capabilities, whatever the user
 *   empty       PROGRAM has no arguments, not even its name
 *   without=N   what it runs never has capability N
 *   orphan      its parent has ended, and process 1 of a namespace of its own is its parent
 *
 * A word that fails is one line on stderr and exit status 99. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/securebits.h: SECBIT_NOROOT with its lock, so that an execve as root gives nothing back. */
#define NOROOT 3

static int status_of(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns in a child whose parent has ended, as process 1 of its namespace says. */
static int orphan(void) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return -1;
    pid_t first = fork();
    if (first > 0)
        exit(status_of(first));
    /* Process 1: it ends as its grandchild does. */
    if (first < 0)
        return -1;
    pid_t parent = fork();
    if (parent < 0)
        return -1;
    if (parent > 0) {
        if (status_of(parent) != 0)
            exit(99);
        int status;
        while (wait(&status) < 0)
            if (errno != EINTR)
                exit(99);
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    pid_t child = fork();
    if (child != 0)
        _exit(child < 0);
    while (getppid() != 1)
        sched_yield();
    return 0;
}

static int powerless(void) {
    struct { unsigned version; int pid; } header = {0x20080522, 0}; /* version 3 */
    struct { unsigned effective, permitted, inheritable; } data[2] = {0};
    if (syscall(SYS_capget, &header, data) != 0)
        return -1;
    if ((data[0].permitted | data[1].permitted) == 0)
        return 0;
    if (prctl(PR_SET_SECUREBITS, NOROOT) != 0 && geteuid() == 0)
        return -1;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    memset(data, 0, sizeof data);
    return syscall(SYS_capset, &header, data);
}

static int put_at(int fd) {
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || null == fd)
        return null;
    return dup2(null, fd) < 0 ? -1 : close(null);
}

static int block(int number) {
    unsigned long set = 1ul << (number - 1);
    return syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
}

static int nofile(rlim_t both) {
    struct rlimit limit = {both, both};
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static int empty;

static int do_word(const char *word) {
    const char *value = strchr(word, '=');
    value = value ? value + 1 : "";
    int number = atoi(value);
    if (strncmp(word, "fd=", 3) == 0)
        return put_at(number);
    if (strncmp(word, "close=", 6) == 0)
        return close(number) != 0 && errno != EBADF ? -1 : 0;
    if (strncmp(word, "ignore=", 7) == 0)
        return signal(number, SIG_IGN) == SIG_ERR ? -1 : 0;
    if (strncmp(word, "block=", 6) == 0)
        return block(number);
    if (strncmp(word, "umask=", 6) == 0)
        return umask(strtol(value, 0, 8)), 0;
    if (strncmp(word, "nofile=", 7) == 0)
        return nofile(number);
    if (strncmp(word, "cd=", 3) == 0)
        return chdir(value);
    if (strcmp(word, "empty") == 0)
        return empty = 1;
    if (strcmp(word, "group") == 0)
        return setpgid(0, 0);
    if (strncmp(word, "without=", 8) == 0)
        return prctl(PR_CAPBSET_DROP, number);
    if (strcmp(word, "powerless") == 0)
        return powerless();
    if (strcmp(word, "orphan") == 0)
        return orphan();
    errno = EINVAL;
    return -1;
}

int main(int argc, char **argv, char **environment) {
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (do_word(argv[at]) < 0) {
            dprintf(2, "before: %s: %s\n", argv[at], strerror(errno));
            return 99;
        }
    if (at + 1 >= argc)
        return 99;
    char *none[] = {0};
    execve(argv[at + 1], empty ? none : argv + at + 1, environment);
    dprintf(2, "before: %s: %s\n", argv[at + 1], strerror(errno));
    return 99;
}
