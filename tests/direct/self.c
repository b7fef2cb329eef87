/* Looks at its own process, and prints what is wrong with it, or what it is. Nothing that it
 * prints differs from one run to the next. */
#include <dirent.h>
#include <elf.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef ALIGN
#define ALIGN 64
#endif

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
extern char _start[];
extern char **environ;

static char aligned[8] __attribute__((aligned(ALIGN))) = "aligned";
static char zeros[8 << 20];
static char few[3];
static int *pointer = (int *)few;
static __thread int local = 42;
static __thread char local_zeros[5000];
static int constructed;

__attribute__((constructor)) static void construct(void)
{
	constructed++;
}

static void check(const char *what, int right)
{
	if (!right)
		printf("wrong: %s\n", what);
}

/* The name of the file that is mapped at an address. */
static const char *mapped(uintptr_t address)
{
	static char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps)) {
		char *path = strchr(line, '/');
		if (strtoul(line, NULL, 16) == address && path) {
			fclose(maps);
			path[strcspn(path, "\n")] = 0;
			return strrchr(path, '/') + 1;
		}
	}
	fclose(maps);
	return "nothing";
}

static void *thread(void *unused)
{
	check("a thread's own variable", local == 42);
	for (size_t i = 0; i < sizeof local_zeros; i++)
		if (local_zeros[i])
			check("a thread's own zeros", 0);
	return unused;
}

static void bye(void)
{
	puts("bye");
}

int main(int argc, char **argv)
{
	const Elf64_Ehdr *file = &__ehdr_start;
	uintptr_t at = (uintptr_t)file;

	if (argc > 1 && !strcmp(argv[1], "address")) {
		printf("%p\n", (void *)file);
		return 0;
	}

	/* The auxiliary vector. */
	check("AT_PHDR", getauxval(AT_PHDR) == at + file->e_phoff);
	check("AT_PHENT", getauxval(AT_PHENT) == sizeof(Elf64_Phdr));
	check("AT_PHNUM", getauxval(AT_PHNUM) == file->e_phnum);
	check("AT_ENTRY", getauxval(AT_ENTRY) == (uintptr_t)_start);
	check("AT_UID", getauxval(AT_UID) == getuid());
	check("AT_SECURE", !getauxval(AT_SECURE));
	check("AT_RANDOM", getauxval(AT_RANDOM) != 0);
	printf("AT_BASE %s\n", getauxval(AT_BASE) ? mapped(getauxval(AT_BASE)) : "0");
	printf("AT_EXECFN %s\n", (char *)getauxval(AT_EXECFN));
	printf("AT_PAGESZ %lu\n", getauxval(AT_PAGESZ));

	/* The stack. */
	check("argc is below argv", ((long *)argv)[-1] == argc);
	check("argc is aligned", ((uintptr_t)argv - 8) % 16 == 0);
	check("argv ends", argv[argc] == NULL);
	check("envp is behind argv", environ == argv + argc + 1);
	char **end = environ;
	while (*end)
		end++;
	int entries = 0;
	for (Elf64_auxv_t *aux = (Elf64_auxv_t *)(end + 1); aux->a_type; aux++)
		entries++;
	printf("%d entries behind envp\n", entries);
	for (int i = 0; i < argc; i++)
		printf("argv %s\n", argv[i]);
	for (char **e = environ; *e; e++)
		printf("envp %s\n", *e);

	/* What was loaded. */
	check("data", !strcmp(aligned, "aligned"));
	check("alignment", (uintptr_t)aligned % ALIGN == 0);
	check("relocation", pointer == (int *)few);
	for (size_t i = 0; i < sizeof zeros; i++)
		if (zeros[i]) {
			check("zeros", 0);
			break;
		}
	check("few zeros", !few[0] && !few[1] && !few[2]);
	memset(zeros, 1, sizeof zeros);
	check("constructed once", constructed == 1);

	/* The heap. */
	char *brk = (char *)syscall(SYS_brk, 0);
	check("brk", (char *)syscall(SYS_brk, brk + (100 << 20)) == brk + (100 << 20));
	brk[0] = brk[(100 << 20) - 1] = 1;
	syscall(SYS_brk, brk);
	for (size_t size = 1; size < 300u << 20; size *= 3) {
		char *block = malloc(size);
		check("malloc", block != NULL);
		if (block)
			block[0] = block[size - 1] = 1;
	}

	/* Threads and processes. */
	pthread_t other;
	check("pthread_create", !pthread_create(&other, NULL, thread, NULL));
	pthread_join(other, NULL);
	thread(NULL);
	pid_t pid;
	int status = -1;
	char *args[] = {"true", NULL};
	check("posix_spawn", !posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ));
	waitpid(pid, &status, 0);
	check("child", status == 0);

	/* The process. */
	char name[64] = "";
	FILE *comm = fopen("/proc/self/comm", "r");
	check("comm", fgets(name, sizeof name, comm) != NULL);
	fclose(comm);
	printf("comm %s", name);
	DIR *fds = opendir("/proc/self/fd");
	for (struct dirent *fd; (fd = readdir(fds));)
		if (fd->d_name[0] != '.' && atoi(fd->d_name) != dirfd(fds))
			printf("fd %s\n", fd->d_name);
	closedir(fds);

	atexit(bye);
	return 7;
}
