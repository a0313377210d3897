/**
 * The clients attached to a container's main process. Each gets all output from the moment it attaches. A
 * slow client slows the container down (back-pressure, as with a pipe); one that takes nothing for a while is
 * disconnected, so that it can block neither the container nor the other clients.
 */
import type { Readable, Writable } from 'node:stream';
import { copy, pipePace } from '../../../streams/bytes/byte-copy.ts';
import type { Session, SessionResult } from '../../../streams/session/session.ts';
import type { LogStream } from '../../logs/cri-log.ts';
import { aborted, ignoreErrors } from '../../process/stream-ends.ts';

/** Output buffered for one client; above it, the container is paused until the client catches up. */
const untakenBytesMax = 256 * 1024;
/** A client that has not taken its buffered output within this time is disconnected. */
const patienceMs = 5_000;
const attachmentsMax = 256;
/** After its input has ended, a client stays attached this long for the rest of the output. */
const lastWordsMs = 1_000;

export interface AttachedProgram {
  /** Undefined for a container without input. */
  readonly stdin: Writable | undefined;
  resize(size: { readonly width: number; readonly height: number }): void;
}

interface Member {
  readonly session: Session;
  end(result: SessionResult): void;
}

export class Attachments {
  readonly #members = new Set<Member>();
  #stdinOver = false;
  #closed = false;

  constructor(
    private readonly program: AttachedProgram,
    private readonly stdinOnce: boolean,
    private readonly tty: boolean,
    private readonly waitMs = patienceMs,
  ) {
    // One listener per session: not a leak.
    program.stdin?.setMaxListeners(0);
  }

  /** Resolves when the container's output or the client's input has ended, or the client has gone. */
  async join(session: Session): Promise<SessionResult> {
    if (this.#closed) return { kind: 'success' };
    if (this.#members.size >= attachmentsMax)
      return { kind: 'failure', message: `more than ${attachmentsMax} clients are attached` };
    const gone = aborted(session.gone);
    ignoreErrors(session.stdin, session.stdout, session.stderr);
    let member: Member | undefined;
    const over = new Promise<SessionResult>((resolve) => {
      member = { session, end: resolve };
      this.#members.add(member);
    });
    if (this.tty) session.onResize((size) => this.#members.has(member!) && this.program.resize(size));
    const leave = (): void => member!.end({ kind: 'success' });
    const stopInput = session.stdin && this.#takeInput(session.stdin, leave);
    const result = await Promise.race([over, gone.promise.then((): SessionResult => ({ kind: 'success' }))]);
    this.#members.delete(member!);
    gone.forget();
    stopInput?.();
    return result;
  }

  /** Passes output to every attached client. Returns a promise when a client applies back-pressure. */
  deliver(stream: LogStream, chunk: Buffer): Promise<void> | undefined {
    let waits: Promise<void>[] | undefined;
    for (const member of this.#members) {
      const target = stream === 'stderr' && !this.tty ? member.session.stderr : member.session.stdout;
      if (!target || target.destroyed || target.writableEnded) continue;
      target.write(chunk);
      if (target.writableNeedDrain && target.writableLength > untakenBytesMax)
        (waits ??= []).push(this.#patience(member, target));
    }
    return waits && Promise.all(waits).then(() => undefined);
  }

  /** Called when the container has ended and all its output was delivered. */
  close(): void {
    this.#closed = true;
    for (const member of this.#members) member.end({ kind: 'success' });
    this.#members.clear();
  }

  #patience(member: Member, target: Writable): Promise<void> {
    return new Promise((resolve) => {
      const gone = aborted(member.session.gone);
      const done = (): void => {
        clearTimeout(timer);
        gone.forget();
        target.off('drain', done).off('close', done);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#members.delete(member);
        member.end({ kind: 'failure', message: 'the client has not read its output for too long' });
        done();
      }, this.waitMs);
      target.once('drain', done).once('close', done);
      void gone.promise.then(done);
    });
  }

  /**
   * With `stdinOnce`, the end of the first client's input closes the container's stdin. Otherwise stdin stays
   * open for the next client, and a client whose input has ended is detached, as with every container
   * runtime. Returns the cleanup for when the client leaves.
   */
  #takeInput(source: Readable, leave: () => void): () => void {
    const { stdin } = this.program;
    const stop = copy(source, this.#stdinOver ? undefined : stdin, pipePace);
    if (!stdin) return stop;
    if (!this.stdinOnce) {
      let timer: NodeJS.Timeout | undefined;
      const wait = (): void => {
        timer = setTimeout(leave, lastWordsMs);
      };
      source.once('end', wait);
      return () => {
        source.off('end', wait);
        clearTimeout(timer);
        stop();
      };
    }
    const over = (): void => {
      if (this.#stdinOver) return;
      this.#stdinOver = true;
      // Not with a terminal: closing it would hang up.
      if (!this.tty) stdin.end();
    };
    source.once('end', over);
    return () => {
      source.off('end', over);
      stop();
      over();
    };
  }
}
