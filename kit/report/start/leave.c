/* leave KIND AMOUNT: does one thing, so many times, and ends. What it leaves behind on its
 * processor is that one thing's: nothing of a C library, and no file but its own.
 *
 *   nothing 0    ends
 *   loop N       goes round a loop of three instructions N times
 *   branch N     runs 8192 jumps one after the other, N times
 *   cpuid N      executes CPUID N times
 *   fault N      touches one page N times, and gives it back each time: N page faults, one page
 *   write N      writes into N pages, each once: N page faults, N pages
 */

static long call3(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

enum { EXIT_GROUP = 231, MADVISE = 28, DONTNEED = 4, PAGE = 4096, MOST = 8192 };

static char memory[(MOST + 1) * PAGE] __attribute__((aligned(PAGE)));

static void jumps(void) {
    __asm__ volatile(".rept 8192\n jmp 1f\n 1:\n .endr");
}

static void cpuid(void) {
    unsigned a = 0, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
}

static void leave(char kind, unsigned long amount) {
    unsigned long page = 0;
    for (unsigned long i = 0; i < amount; i++) {
        switch (kind) {
        case 'l':
            __asm__ volatile("");
            break;
        case 'b':
            jumps();
            break;
        case 'c':
            cpuid();
            break;
        case 'f':
            *(volatile char *)memory = 1;
            call3(MADVISE, (long)memory, PAGE, DONTNEED);
            break;
        case 'w':
            for (unsigned at = 0; at < PAGE; at += 64)
                *(volatile char *)(memory + page * PAGE + at) = 1;
            page = (page + 1) % MOST;
            break;
        }
    }
}

__attribute__((used)) void begin(long *stack) {
    char **argv = (char **)(stack + 1);
    unsigned long amount = 0;
    for (char *digit = argv[2]; *digit; digit++)
        amount = amount * 10 + (unsigned long)(*digit - '0');
    leave(argv[1][0], amount);
    call3(EXIT_GROUP, 0, 0, 0);
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin");
