/** Captured runs: commands in a container whose output the agent reads itself, for probes, hooks and `/run`. */
import { Writable } from 'node:stream';
import type { Session, SessionResult } from '../../streams/session/session.ts';
import type { RunningContainer } from '../runtime/runtime.ts';

export interface CaptureOptions {
  /** Output beyond this is dropped. */
  readonly bytesMax: number;
  /** Aborting it ends the command. */
  readonly gone: AbortSignal;
}

export interface Captured {
  readonly result: SessionResult;
  /** stdout and stderr, interleaved as they arrived. */
  readonly output: string;
}

export async function capture(
  container: RunningContainer,
  command: readonly string[],
  { bytesMax, gone }: CaptureOptions,
): Promise<Captured> {
  const chunks: Buffer[] = [];
  let length = 0;
  const sink = (): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        const kept = chunk.subarray(0, Math.max(0, bytesMax - length));
        length += kept.length;
        if (kept.length) chunks.push(kept);
        done();
      },
    });
  const session: Session = {
    tty: false,
    stdin: undefined,
    stdout: sink(),
    stderr: sink(),
    onResize: () => undefined,
    gone,
  };
  const result = await container.exec(command, session, { killWhenGone: true });
  return { result, output: Buffer.concat(chunks).toString('utf8') };
}
