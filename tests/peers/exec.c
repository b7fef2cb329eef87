/*
 * exec PATH [ARG...]: runs PATH with ARGs and the environment untouched.
 * Without a search in PATH. Exits 127 when PATH is not there, 126 when it
 * cannot be run, 125 when it was not named, as env(1) does.
 *
 * It prints no message: what is compared is the way that succeeds.
 */
#include <errno.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	if (argc < 2)
		return 125;
	execve(argv[1], argv + 1, environ);
	return errno == ENOENT ? 127 : 126;
}
