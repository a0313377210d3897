/** A tenant who opens watches until no more are let in, reads none of them, opens and ends others, and writes. */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { type Attack, codesText } from '../attack.ts';

const path = '/api/v1/namespaces/attack/configmaps';
const perSession = 100;
/** Megabytes that the server may need for each thousand watches. */
const megabytesPerThousand = 150;

const codeOf = (stream: ClientHttp2Stream): Promise<number> =>
  new Promise((resolve) =>
    stream.once('response', (headers) => resolve(headers[':status'] ?? 0)).once('close', () => resolve(0)),
  );

export const attack: Attack = {
  name: 'a flood of watches',
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const count = isShort ? 225 : 6_300;
    const before = server.megabytes;
    const sessions: ClientHttp2Session[] = [];
    const codes: Promise<number>[] = [];
    const watch = (session: ClientHttp2Session, query = ''): ClientHttp2Stream => {
      const stream = session.request({
        ':path': `${path}?watch=true${query}`,
        ...server.headersOf('tenant'),
      });
      stream.on('error', () => undefined);
      return stream;
    };
    for (let i = 0; i < count; i++) {
      // The first session reads, the others do not.
      if (i % perSession === 0) sessions.push(server.session(i === 0 ? undefined : 1_000));
      const stream = watch(sessions.at(-1)!, i % 2 ? '' : '&allowWatchBookmarks=true&labelSelector=a');
      if (i < perSession) stream.resume();
      codes.push(codeOf(stream));
    }
    const opened = await Promise.all(codes);
    const data = { a: 'x'.repeat(10_000) };
    for (let i = 0; i < (isShort ? 10 : 100); i++) {
      const body = { metadata: { name: `attack-${i}`, labels: { a: 'b' } }, data };
      const { status } = await server.ask('tenant', path, { method: 'POST', body });
      if (status !== 200 && status !== 201) gotIn.push(`a write of the tenant itself gets ${status}`);
    }
    // Watches that are ended as soon as they are opened.
    const fast = server.session();
    for (let i = 0; i < (isShort ? 100 : 3_000) && !fast.destroyed; i++) {
      const stream = watch(fast);
      if (i % 2) stream.close(8);
      else void codeOf(stream).then(() => stream.close(8));
      if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
    }
    const grown = server.megabytes - before;
    const allowed = 200 + (count / 1000) * megabytesPerThousand;
    if (grown > allowed) gotIn.push(`${count} watches take ${Math.round(grown)} MB`);
    for (const session of [...sessions, fast]) session.destroy();
    await server.remove(path);
    return { gotIn: [...new Set(gotIn)], says: `${codesText(opened)}, ${Math.round(grown)} MB more` };
  },
};
