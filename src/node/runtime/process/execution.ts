/** An exec command beside a container's main process, and the session of its client. */
import { copy, pipePace, socketPace } from '../../../streams/bytes/byte-copy.ts';
import type { Session, SessionResult, TerminalSize } from '../../../streams/session/session.ts';
import { aborted, ended, ignoreErrors } from '../../process/stream-ends.ts';
import { exitCode, type Program } from './container-program.ts';
import type { ProgramProblem } from './program-lookup.ts';

/**
 * Connects a program to a session until the program has ended and all its output was delivered, or the client
 * leaves.
 */
export async function serveSession(program: Program, session: Session): Promise<SessionResult | 'gone'> {
  ignoreErrors(session.stdin, session.stdout, session.stderr);
  const stops = [copy(program.stdout, session.stdout, socketPace)];
  if (program.stderr) stops.push(copy(program.stderr, session.stderr, socketPace));
  if (session.stdin) {
    stops.push(copy(session.stdin, program.stdin, pipePace));
    // Not with a terminal, which has no end of input.
    if (!session.tty) session.stdin.once('end', () => program.stdin?.end());
  }
  const gone = aborted(session.gone);
  const done = Promise.all([program.exited, ended(program.stdout), ended(program.stderr)]);
  try {
    const first = await Promise.race([done, gone.promise]);
    if (!first) return 'gone';
    const code = exitCode(first[0]);
    return code ? { kind: 'exit', code } : { kind: 'success' };
  } finally {
    gone.forget();
    for (const stop of stops) stop();
  }
}

/** The size of the client's terminal: the first known one is used to start the program, later ones resize it. */
export class SessionSize {
  #size: TerminalSize | undefined;
  #program: Program | undefined;

  constructor(session: Session) {
    if (session.tty)
      session.onResize((size) => {
        if (!size.width || !size.height) return;
        this.#size = size;
        this.#program?.resize(size);
      });
  }

  get current(): TerminalSize | undefined {
    return this.#size;
  }

  /** From now on, size changes are passed to the program. */
  tell(program: Program | undefined): void {
    this.#program = program;
    if (this.#size) program?.resize(this.#size);
  }
}

/** Reports a program that cannot be run, as a shell would. */
export function tellProblem({ message, exitCode: code }: ProgramProblem, session: Session): SessionResult {
  ignoreErrors(session.stdin, session.stdout, session.stderr);
  const target = session.tty ? session.stdout : session.stderr;
  if (target && !target.destroyed) target.write(Buffer.from(`${message}${session.tty ? '\r\n' : '\n'}`));
  session.stdin?.resume();
  return { kind: 'exit', code };
}
