/**
 * Those who are attached to a container's main process. All see all output from the moment they come. A client that
 * takes it slowly slows the container, as a pipe would; one that does not take it for a while is sent away, so that
 * it can stop neither the container nor the others.
 */
import type { Readable, Writable } from 'node:stream';
import { copy, pipePace } from '../../streams/bytecopy.ts';
import type { Session, SessionResult } from '../../streams/session.ts';
import type { LogStream } from '../pods/crilog.ts';
import { aborted, ignoreErrors } from './streamends.ts';

/** Output that one client has not taken yet; above it, the container waits for the client. */
const untakenBytesMax = 256 * 1024;
/** A client that has not taken all of that within this time is sent away. */
const patienceMs = 5_000;
const attachmentsMax = 256;
/** A client whose input has ended still gets what the container says to the last of it, for this long. */
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
    // One listener per session is no leak.
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

  /** Hands output to every attached client. Returns a promise when a client needs time. */
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

  /** The container has ended, and all its output was handed out. */
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
   * With `stdinOnce` the end of the first input is the end of the container's. Otherwise that stays open for the next
   * client, and the one whose input has ended leaves, as with every container runtime. Returns what to do when it goes.
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
      // A terminal has no end of input that leaves it open.
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
