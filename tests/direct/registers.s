# Writes all registers as they are at the first instruction, the flags, and the stack pointer's
# distance from a multiple of 16: 17 words.
	.globl	_start
_start:
	pushf
	push	%r15
	push	%r14
	push	%r13
	push	%r12
	push	%r11
	push	%r10
	push	%r9
	push	%r8
	push	%rbp
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%rbx
	push	%rax
	lea	128(%rsp), %rax
	and	$15, %rax
	push	%rax
	mov	$1, %eax		# write
	mov	$1, %edi
	mov	%rsp, %rsi
	mov	$136, %edx
	syscall
	mov	$231, %eax		# exit_group
	xor	%edi, %edi
	syscall
	.section .note.GNU-stack, "", @progbits
