/* state FILE: writes into FILE what a program can see of the state that it was started in, a
 * line each: KEY=VALUE. Bytes that are no printable ASCII are \xNN, a backslash too. Nothing that
 * differs from one run to the next is in it: no process id, no address, no time.
 *
 * It needs no /proc, so that it works below a chroot, except for locks. All is looked at before
 * FILE is opened. Where the kernel's answer and libc's differ, the kernel is asked. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *out;

static void text(const char *key, const char *value) {
    fprintf(out, "%s=", key);
    for (const unsigned char *at = (const unsigned char *)value; *at; at++)
        if (*at < ' ' || *at > '~' || *at == '\\')
            fprintf(out, "\\x%02x", *at);
        else
            fputc(*at, out);
    fputc('\n', out);
}

static void number(const char *key, long value) { fprintf(out, "%s=%ld\n", key, value); }

static void yes_or_no(const char *key, int value) { fprintf(out, "%s=%s\n", key, value ? "yes" : "no"); }

/* Whether the file is locked by flock(2) through this descriptor: proc_pid_fdinfo(5). */
static int locked(int fd) {
    char name[64], line[256];
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", fd);
    FILE *info = fopen(name, "r");
    int found = 0;
    while (info && fgets(line, sizeof line, info))
        found |= strncmp(line, "lock:", 5) == 0 && strstr(line, "FLOCK") && strstr(line, "WRITE");
    if (info)
        fclose(info);
    return found;
}

/* Each open descriptor: how it may be used, and the device and inode of its file. */
static void descriptors(void) {
    for (int fd = 0; fd < 1024; fd++) {
        struct stat file;
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fstat(fd, &file) != 0)
            continue;
        static const char *const access[] = {"read", "write", "read-write", "?"};
        fprintf(out, "fd %d=%s %lu:%lu%s%s\n", fd, access[flags & O_ACCMODE], (unsigned long)file.st_dev,
                (unsigned long)file.st_ino, flags & O_APPEND ? " append" : "", locked(fd) ? " locked" : "");
    }
}

static void ids(void) {
    uid_t uid[3];
    gid_t gid[3];
    getresuid(&uid[0], &uid[1], &uid[2]);
    getresgid(&gid[0], &gid[1], &gid[2]);
    fprintf(out, "uid=%u %u %u\ngid=%u %u %u\n", uid[0], uid[1], uid[2], gid[0], gid[1], gid[2]);

    static gid_t groups[65536];
    int count = getgroups(65536, groups);
    fprintf(out, "groups=");
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%u", i ? " " : "", groups[i]);
    fprintf(out, "\n");

    /* linux/capability.h: version 3, two elements of 32 bits each. */
    struct { unsigned version; int pid; } header = {0x20080522, 0};
    struct { unsigned effective, permitted, inheritable; } data[2];
    if (syscall(SYS_capget, &header, data) == 0)
        yes_or_no("capabilities", data[0].effective | data[1].effective | data[0].permitted | data[1].permitted);
}

/* By their numbers: the kernel's include/uapi/asm-generic/resource.h. */
static void limits(void) {
    static const char *const names[] = {"cpu",     "fsize", "data",  "stack",      "core",     "rss",  "nproc",  "nofile",
                                        "memlock", "as",    "locks", "sigpending", "msgqueue", "nice", "rtprio", "rttime"};
    for (int resource = 0; resource < 16; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) != 0)
            continue;
        fprintf(out, "limit %s=", names[resource]);
        rlim_t values[] = {limit.rlim_cur, limit.rlim_max};
        for (int i = 0; i < 2; i++)
            if (values[i] == RLIM_INFINITY)
                fprintf(out, "%sunlimited", i ? ":" : "");
            else
                fprintf(out, "%s%lu", i ? ":" : "", (unsigned long)values[i]);
        fprintf(out, "\n");
    }
}

static void scheduling(void) {
    number("nice", 20 - syscall(SYS_getpriority, PRIO_PROCESS, 0)); /* getpriority(2), "C library/kernel differences" */
    unsigned char mask[1024] = {0};
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    fprintf(out, "cpus=");
    const char *separator = "";
    for (long cpu = 0; cpu < bytes * 8; cpu++)
        if (mask[cpu / 8] >> cpu % 8 & 1) {
            fprintf(out, "%s%ld", separator, cpu);
            separator = " ";
        }
    struct sched_param parameters = {0};
    sched_getparam(0, &parameters);
    long policy = sched_getscheduler(0);
    static const char *const policies[] = {"other", "fifo", "rr", "batch", "?", "idle"}; /* linux/sched.h */
    fprintf(out, "\nsched=%s %d\n", policy >= 0 && policy < 6 ? policies[policy] : "?", parameters.sched_priority);
    long priority = syscall(SYS_ioprio_get, 1, 0); /* IOPRIO_WHO_PROCESS; the class is above bit 13 */
    fprintf(out, "ionice=%ld:%ld\n", priority >> 13, priority & 0x1fff);
}

static void signals(void) {
    fprintf(out, "ignored=");
    const char *separator = "";
    for (int signal = 1; signal <= 64; signal++) {
        unsigned long action[4] = {0};
        if (syscall(SYS_rt_sigaction, signal, 0, action, 8) == 0 && action[0] == 1 /* SIG_IGN */) {
            fprintf(out, "%s%d", separator, signal);
            separator = " ";
        }
    }
    unsigned long mask = 0;
    syscall(SYS_rt_sigprocmask, 0, 0, &mask, 8);
    fprintf(out, "\nblocked=");
    separator = "";
    for (int signal = 1; signal <= 64; signal++)
        if (mask >> (signal - 1) & 1) {
            fprintf(out, "%s%d", separator, signal);
            separator = " ";
        }
    fprintf(out, "\n");
}

int main(int argc, char **argv, char **environment) {
    /* First of all: what is left of it gets less. To the nearest ten seconds. */
    unsigned seconds = alarm(0);
    char *bytes = 0;
    size_t length = 0;
    out = open_memstream(&bytes, &length);

    number("argc", argc);
    for (char **arg = argv; *arg; arg++)
        text("argv", *arg);
    for (char **variable = environment; *variable; variable++)
        text("env", *variable);
    text("execfn", (const char *)getauxval(AT_EXECFN));
    number("secure", getauxval(AT_SECURE));
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    text("name", name);

    static char path[65536];
    text("cwd", syscall(SYS_getcwd, path, sizeof path) > 0 ? path : "?");
    struct stat root;
    if (stat("/", &root) == 0)
        fprintf(out, "root=%lu:%lu\n", (unsigned long)root.st_dev, (unsigned long)root.st_ino);
    mode_t mask = umask(0);
    umask(mask);
    fprintf(out, "umask=%03o\n", mask);

    descriptors();
    ids();
    limits();
    scheduling();
    signals();

    number("alarm", (seconds + 5) / 10 * 10);
    number("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    int value = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &value);
    number("subreaper", value);
    value = -1;
    prctl(PR_GET_PDEATHSIG, &value);
    number("pdeathsig", value);
    fprintf(out, "personality=%#lx\n", syscall(SYS_personality, 0xffffffff));
    yes_or_no("leads its session", getsid(0) == getpid());
    yes_or_no("leads its group", getpgid(0) == getpid());
    pid_t session;
    yes_or_no("stdin is its terminal", ioctl(0, TIOCGSID, &session) == 0 && session == getsid(0));

    if (fclose(out) != 0 || argc < 2)
        return 99;
    int fd = open(argv[argc - 1], O_WRONLY | O_TRUNC);
    size_t done = 0;
    while (fd >= 0 && done < length) {
        ssize_t written = write(fd, bytes + done, length - done);
        if (written <= 0)
            return 99;
        done += written;
    }
    return fd < 0 ? 99 : 7;
}
