# 225 instructions: 3 CPUID, 2 RDTSC, 1 XGETBV. A processor without OSXSAVE exits with 9.
        .globl _start
_start: mov     $1, %eax
        cpuid
        bt      $27, %ecx               # OSXSAVE: XGETBV may be executed
        jnc     none
        xor     %eax, %eax
        cpuid
        xor     %eax, %eax
        cpuid
        rdtsc
        rdtsc
        xor     %ecx, %ecx
        xgetbv                          # 12 up to here
        lea     buffer(%rip), %rdi
        mov     $1000, %ecx
        xor     %eax, %eax
        rep stosb                       # one, of a thousand iterations
        xor     %ecx, %ecx
        rep stosb                       # one, of none
        mov     $100, %ecx
1:      dec     %ecx
        jnz     1b                      # 219
        mov     %ss, %eax
        mov     %eax, %ss               # nothing stops between this and the next
        nop                             # 222
        xor     %edi, %edi
        mov     $231, %eax              # exit_group
        syscall
none:   mov     $9, %edi
        mov     $231, %eax
        syscall
        .bss
buffer: .skip   1000
        .section .note.GNU-stack, "", @progbits
