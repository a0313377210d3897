# The sandbox program for amd64, header included: see pauseprogram.ts. `node scripts/pause-program.mjs` assembles it and
# compares the bytes with those there.

        .set    loadAddress, 0x400000

        # Numbers of the kernel on this architecture.
        .set    callRtSigaction, 13
        .set    callPause, 34
        .set    callExit, 60
        .set    signalInterrupt, 2
        .set    signalTerminate, 15
        .set    signalChild, 17
        .set    ignore, 1
        .set    hasRestorer, 0x04000000
        .set    signalSetBytes, 8

        .text
file:
        # The ELF header: 64 bits, little-endian, an executable for x86-64.
        .byte   0x7f, 'E', 'L', 'F', 2, 1, 1
        .zero   9
        .short  2, 62
        .long   1
        .quad   loadAddress + start - file
        .quad   program - file
        .quad   0
        .long   0
        .short  64, 56, 1
        .short  0, 0, 0

program:
        # The one part that is loaded: the whole file, readable and executable.
        .long   1, 5
        .quad   0
        .quad   loadAddress, loadAddress
        .quad   end - file, end - file
        .quad   0x1000

        # rt_sigaction(signal, action, no old action, bytes of a signal set)
        .macro  onSignal signal, action
        mov     $callRtSigaction, %eax
        mov     $\signal, %edi
        mov     $(loadAddress + \action - file), %esi
        xor     %edx, %edx
        mov     $signalSetBytes, %r10d
        syscall
        .endm

start:
        onSignal signalChild, ignoring
        onSignal signalTerminate, ending
        onSignal signalInterrupt, ending
sleep:
        mov     $callPause, %eax
        syscall
        jmp     sleep
leave:
        xor     %edi, %edi
        mov     $callExit, %eax
        syscall
        # Up to a multiple of eight bytes.
        nop
        nop
        nop

        # An action: handler, flags, restorer, signals that wait meanwhile.
ignoring:
        .quad   ignore, 0, 0, 0
ending:
        .quad   loadAddress + leave - file, hasRestorer, loadAddress + leave - file, 0
end:
