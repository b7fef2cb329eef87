# Exits 0: the least that a process can do, written by hand.
# System call numbers: arch/x86/entry/syscalls/syscall_64.tbl in Linux.

	.globl	_start
	.text
_start:
	xor	%edi, %edi		# status 0
	mov	$231, %eax		# exit_group
	syscall
