# h_call: all registers and flags get known values, and are looked at when the function has returned
    .text
    .globl h_call
    .type h_call,@function
h_call:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx,0
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp,0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12,0
    push %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13,0
    push %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14,0
    push %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15,0
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    mov %rdi,h_target(%rip)
    mov %rsi,%rdi
    mov %rdx,%rsi
    mov $0x1111,%eax
    movq %rax,%xmm0
    pshufd $0x44,%xmm0,%xmm0
    .irp n,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movdqa %xmm0,%xmm\n
    paddq %xmm0,%xmm0
    .endr
    mov $0x2222,%ebx
    mov $0x3333,%ebp
    mov $0x4444,%ecx
    mov $0x5555,%edx
    mov $0x8888,%r8d
    mov $0x9999,%r9d
    mov $0xaaaa,%r10d
    mov $0xbbbb,%r11d
    mov $0xcccc,%r12d
    mov $0xdddd,%r13d
    mov $0xeeee,%r14d
    mov $0xffff,%r15d
    mov %rsp,h_stack(%rip)
    push h_flags(%rip)
    .cfi_adjust_cfa_offset 8
    popfq
    .cfi_adjust_cfa_offset -8
    call *h_target(%rip)
    .globl h_return
h_return:
    pushfq
    .cfi_adjust_cfa_offset 8
    pop h_out+8(%rip)
    .cfi_adjust_cfa_offset -8
    push $2
    .cfi_adjust_cfa_offset 8
    popfq
    .cfi_adjust_cfa_offset -8
    mov %rcx,h_out+8*40(%rip)
    mov %rdx,h_out+8*41(%rip)
    mov %rdi,h_out+8*42(%rip)
    lea h_out(%rip),%rcx
    mov %rsi,16(%rcx)
    mov %r8,24(%rcx)
    mov %r9,32(%rcx)
    mov %r10,40(%rcx)
    mov %r11,48(%rcx)
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movdqu %xmm\n,64+16*\n(%rcx)
    .endr
    xor %edx,%edx
    cmp %rsp,h_stack(%rip)
    setne %dl
    xor $0x2222,%rbx
    xor $0x3333,%rbp
    xor $0xcccc,%r12
    xor $0xdddd,%r13
    xor $0xeeee,%r14
    xor $0xffff,%r15
    or %rbx,%rdx
    or %rbp,%rdx
    or %r12,%rdx
    or %r13,%rdx
    or %r14,%rdx
    or %r15,%rdx
    mov %rdx,(%rcx)
    andq $0xcd5,8(%rcx)
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    pop %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    pop %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    pop %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size h_call,.-h_call
# hop: goes on where %rdx says
    .globl h_hop
    .type h_hop,@function
    .p2align 4
h_hop:
    .cfi_startproc
    nop
    nop
    nop
    nop
    nop
    jmp *%rdx
    .cfi_endproc
    .size h_hop,.-h_hop
    .local h_target,h_stack
    .comm h_target,8,8
    .comm h_stack,8,8
    .globl h_flags,h_out,h_data,h_slots,h_nowhere,h_trap,h_counter,h_tally
    .data
    .p2align 4
h_flags: .quad 2
h_trap: .quad 2
h_counter: .quad 0
h_tally: .quad 0
h_nowhere: .quad 8
h_out: .zero 8*48
h_data: .quad 3,5,7,11,13,17,19,23,29,31,37,41,43,47,53,59
h_slots: .zero 8*256
    .section .note.GNU-stack,"",@progbits
    .text
