// The sandbox program for arm64, header included: see pauseprogram.ts. `node scripts/pause-program.mjs` assembles it and
// compares the bytes with those there.

        .set    loadAddress, 0x400000

        // Numbers of the kernel on this architecture, which has ppoll instead of pause.
        .set    callPpoll, 73
        .set    callExit, 93
        .set    callRtSigaction, 134
        .set    signalInterrupt, 2
        .set    signalTerminate, 15
        .set    signalChild, 17
        .set    ignore, 1
        .set    signalSetBytes, 8

        .text
file:
        // The ELF header: 64 bits, little-endian, an executable for AArch64.
        .byte   0x7f, 'E', 'L', 'F', 2, 1, 1
        .zero   9
        .short  2, 183
        .long   1
        .quad   loadAddress + start - file
        .quad   program - file
        .quad   0
        .long   0
        .short  64, 56, 1
        .short  0, 0, 0

program:
        // The one part that is loaded: the whole file, readable and executable.
        .long   1, 5
        .quad   0
        .quad   loadAddress, loadAddress
        .quad   end - file, end - file
        .quad   0x10000

        // rt_sigaction(signal, action, no old action, bytes of a signal set)
        .macro  onSignal signal, action
        mov     x8, #callRtSigaction
        mov     x0, #\signal
        adr     x1, \action
        mov     x2, #0
        mov     x3, #signalSetBytes
        svc     #0
        .endm

start:
        onSignal signalChild, ignoring
        onSignal signalTerminate, ending
        onSignal signalInterrupt, ending
sleep:
        // ppoll(no files, none, no timeout, no signals, bytes of a signal set)
        mov     x8, #callPpoll
        mov     x0, #0
        mov     x1, #0
        mov     x2, #0
        mov     x3, #0
        mov     x4, #signalSetBytes
        svc     #0
        b       sleep
leave:
        mov     x0, #0
        mov     x8, #callExit
        svc     #0
        nop

        // An action: handler, flags, restorer, signals that wait meanwhile.
ignoring:
        .quad   ignore, 0, 0, 0
ending:
        .quad   loadAddress + leave - file, 0, 0, 0
end:
