/** The log of a container, which the engine keeps and rotates. */
import type { ContainerLog, LogQuery } from '../runtime.ts';
import type { DockerApi } from './docker-api.ts';
import { FrameReader } from './docker-frames.ts';

export class DockerLog implements ContainerLog {
  constructor(
    private readonly api: DockerApi,
    private readonly id: string,
    private readonly tty: boolean,
  ) {}

  async *read(query: LogQuery, gone: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const { follow, timestamps, tailLines, sinceMs, limitBytes = Number.POSITIVE_INFINITY } = query;
    const answer = await this.api.stream('GET', `/containers/${this.id}/logs`, {
      query: {
        stdout: true,
        stderr: true,
        follow,
        timestamps,
        tail: tailLines ?? 'all',
        since: sinceMs === undefined ? undefined : (sinceMs / 1000).toFixed(3),
      },
      timeoutMs: 0,
      signal: gone,
    });
    const reader = new FrameReader();
    let left = limitBytes;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        const pieces = this.tty ? [chunk] : Array.from(reader.read(chunk), ({ data }) => data);
        const piece = Buffer.concat(pieces).subarray(0, left);
        left -= piece.length;
        if (piece.length) yield piece;
        if (left <= 0) return;
      }
    } catch (error) {
      if (!gone.aborted) throw error;
    } finally {
      answer.destroy();
    }
  }
}
