# A program of the C library whose instructions before, in and after main are known. Its child has
# begun main as well, and ends in it.
        .section .init_array, "aw"
        .quad   early
        .section .fini_array, "aw"
        .quad   late
        .text
        .globl  main
        .type   main, @function
main:   call    callee
        mov     $57, %eax               # fork
        syscall
        test    %eax, %eax              # the child begins here
        jz      1f
        mov     %eax, %edi
        xor     %esi, %esi
        xor     %edx, %edx
        xor     %r10d, %r10d
        mov     $61, %eax               # wait4
        syscall
        xor     %eax, %eax
        ret                             # 13 up to here
1:      xor     %edi, %edi
        mov     $231, %eax              # exit_group
        syscall                         # 5 of the child
        .size   main, .-main

        .type   callee, @function
callee: push    %rbx
        xor     %eax, %eax
        cpuid
        rdtsc
        rdtsc
        mov     $100, %ecx
1:      dec     %ecx
        jnz     1b                      # 206 up to here
        pop     %rbx
        ret
        .size   callee, .-callee

        .type   early, @function
early:  nop
        ret
        .size   early, .-early

        .type   late, @function
late:   nop
        nop
        nop
        ret
        .size   late, .-late
        .section .note.GNU-stack, "", @progbits
