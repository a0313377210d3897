/** Programs that stand in for those of Windows, for code that runs as on Windows (`WHERRY_AS_PLATFORM`). */

/** Ends a program with what it has started, which leads a process group here. It must be forced, as programs without windows must. */
const taskkill = `#!/bin/sh
[ "$1" = /PID ] && [ "$3" = /T ] || exit 2
[ "$4" = /F ] || exit 1
kill -KILL "-$2"
`;

/** Prints a start time for a process that exists. */
const powershell = `#!/bin/sh
pid=$(expr "$4" : '(Get-Process -Id \\([0-9]*\\) ')
kill -0 "$pid" 2>/dev/null && echo 638000000000000000
`;

export const windowsPrograms = { taskkill, powershell };
