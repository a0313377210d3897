/** One anonymous connection of HTTP/2 that reads no answer, on paths that need no rights: probes and the page. */
import type { ClientHttp2Stream } from 'node:http2';
import type { Attack } from '../attack.ts';

const perSession = 100;
const paths = ['/livez', '/readyz', '/ui/', '/healthz'];

export const attack: Attack = {
  name: 'answers that nobody reads',
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const count = isShort ? 225 : 4_000;
    const streams: ClientHttp2Stream[] = [];
    const sessions = Array.from({ length: Math.ceil(count / perSession) }, () => server.session(0));
    for (let i = 0; i < count; i++) {
      const session = sessions[i % sessions.length]!;
      if (session.destroyed || session.closed) continue;
      const stream = session.request({ ':path': paths[i % paths.length]! });
      stream.on('error', () => undefined);
      streams.push(stream);
    }
    const headers = streams.map(
      (stream) => new Promise((resolve) => stream.once('response', resolve).once('close', resolve)),
    );
    await Promise.all(headers);
    const checks = [
      ['the administrator', await server.ask('admin', '/api/v1/namespaces')],
      ['the local door', await server.askLocally('/api/v1/namespaces')],
      ['a probe', await server.ask('anonymous', '/livez')],
      ['a neighbour', await server.ask('neighbour', '/api/v1/namespaces/default/configmaps')],
    ] as const;
    for (const [who, { status }] of checks) if (status !== 200) gotIn.push(`${who} gets ${status}`);
    for (const session of sessions) session.destroy();
    return { gotIn, says: `${streams.length} answers unread` };
  },
};
