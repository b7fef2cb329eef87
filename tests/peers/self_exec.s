# self_exec: how long it takes from one exec to the next. What it prints is told in self_exec.c.
#
# Calls: clock_gettime, execve; and the second time clock_gettime, write, exit.

	.set	SECOND, 1000000000

	.globl	_start
_start:
	mov	%rsp, %rbx		# argc, argv, a null pointer, envp
	sub	$128, %rsp		# text grows down from %rbx, the time lies at %rsp
	mov	$228, %eax		# clock_gettime
	mov	$1, %edi		# CLOCK_MONOTONIC
	mov	%rsp, %rsi
	syscall
	imul	$SECOND, (%rsp), %r12	# now: seconds and nanoseconds
	add	8(%rsp), %r12
	mov	%rbx, %rdi
	mov	$SECOND, %r8
	cmpq	$2, (%rbx)
	jae	second

	dec	%rdi
	movb	$0, (%rdi)
	mov	%r12, %rax
	call	before
	mov	%rdi, 8(%rsp)		# argv[1]
	mov	8(%rbx), %rdi		# argv[0]
	mov	%rdi, (%rsp)
	movq	$0, 16(%rsp)
	mov	%rsp, %rsi
	lea	24(%rbx), %rdx		# envp, behind an argv of one
	mov	$59, %eax		# execve
	syscall
	mov	$127, %edi
	jmp	end

second:
	mov	16(%rbx), %rsi		# argv[1]
	xor	%r13d, %r13d		# then
1:	movzbl	(%rsi), %eax
	inc	%rsi
	test	%al, %al
	jz	2f
	sub	$'0', %eax
	imul	$10, %r13, %r13
	add	%rax, %r13
	jmp	1b
2:	dec	%rdi
	movb	$'\n', (%rdi)
	mov	%r12, %rax
	sub	%r13, %rax
	call	before
	dec	%rdi
	movb	$' ', (%rdi)
	mov	%r12, %rax
	call	within
	dec	%rdi
	movb	$' ', (%rdi)
	mov	%r13, %rax
	call	within
	mov	%rdi, %rsi
	mov	%rbx, %rdx
	sub	%rdi, %rdx		# the length
	mov	$1, %edi		# stdout
	mov	$1, %eax		# write
	syscall
	xor	%edi, %edi
	cmp	%rax, %rdx
	setne	%dil
end:
	mov	$231, %eax		# exit_group
	syscall

# The nanoseconds of %rax within its second, written as by `before`.
within:
	xor	%edx, %edx
	div	%r8
	mov	%rdx, %rax

# Writes %rax in decimal in front of %rdi, and leaves in %rdi where it begins.
before:
	mov	$10, %ecx
1:	xor	%edx, %edx
	div	%rcx
	add	$'0', %dl
	dec	%rdi
	mov	%dl, (%rdi)
	test	%rax, %rax
	jnz	1b
	ret
