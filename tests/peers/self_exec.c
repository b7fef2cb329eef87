/*
 * self_exec: how long it takes from one exec to the next.
 *
 * It reads the clock first of all, and executes itself with that time as its
 * argument. The second time it is run it prints three numbers: at what
 * nanosecond of a second the first one read the clock, at what nanosecond of
 * a second this one did, and how many nanoseconds lie between. The difference
 * of the first two is the same, unless a second began in between.
 */
#include <time.h>
#include <unistd.h>

extern char **environ;

#define SECOND 1000000000ull

/* Writes a number in front of `end`, and says where it begins. */
static char *before(char *end, unsigned long long n)
{
	do
		*--end = '0' + n % 10;
	while (n /= 10);
	return end;
}

int main(int argc, char **argv)
{
	struct timespec ts;
	unsigned long long now, then = 0;
	char text[3 * 21], *end = text + sizeof text, *digit;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * SECOND + ts.tv_nsec;
	if (argc < 2) {
		char *args[] = { argv[0], 0, 0 };

		*--end = 0;
		args[1] = before(end, now);
		execve(argv[0], args, environ);
		return 127;
	}
	for (digit = argv[1]; *digit; digit++)
		then = then * 10 + (*digit - '0');
	digit = end;
	*--digit = '\n';
	digit = before(digit, now - then);
	*--digit = ' ';
	digit = before(digit, now % SECOND);
	*--digit = ' ';
	digit = before(digit, then % SECOND);
	return write(1, digit, end - digit) != end - digit;
}
