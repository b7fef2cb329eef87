# exec PATH [ARG...]: runs PATH with ARGs and the environment untouched.
# Exits 127 when PATH is not there, 126 when it cannot be run, 125 when it was
# not named.
#
# It is wrapper-asm of popen-noshell with the 64-bit `syscall` instruction in
# place of `int $0x80`, which needs a kernel with 32-bit emulation and costs
# more. The kernel leaves on the stack: argc, argv[0..argc], 0, envp[..], 0
# (System V ABI for x86-64, figure 3.9).

	.globl	_start
	.text
_start:
	mov	(%rsp), %rcx		# argc
	mov	$125, %edi
	cmp	$2, %rcx
	jb	exit

	lea	16(%rsp), %rsi		# argv + 1: argv[1] is the new argv[0]
	lea	16(%rsp,%rcx,8), %rdx	# envp, past argv and its 0
	mov	(%rsi), %rdi		# PATH
	mov	$59, %eax		# execve: comes back only when it failed
	syscall

	mov	$126, %edi
	cmp	$-2, %rax		# -ENOENT
	jne	exit
	inc	%edi			# 127

exit:	mov	$231, %eax		# exit_group
	syscall
