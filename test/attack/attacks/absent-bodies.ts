/** Requests whose bodies never come, from a user who may only ask what it may do. */
import type { ClientHttp2Stream } from 'node:http2';
import type { Attack } from '../attack.ts';

const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const perSession = 100;
/** In the short form, which has a quarter of the seats. */
const perShortSession = 25;

export const attack: Attack = {
  name: 'bodies that never come',
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const sessions = Array.from({ length: isShort ? 3 : 8 }, () => server.session());
    const streams: ClientHttp2Stream[] = [];
    for (const session of sessions)
      for (let i = 0; i < (isShort ? perShortSession : perSession); i++) {
        const stream = session.request({
          ':method': 'POST',
          ':path': path,
          'content-type': 'application/json',
          ...server.headersOf('nobody'),
        });
        stream.on('error', () => undefined);
        stream.write('{"spec":');
        streams.push(stream);
      }
    // What was sent before these on the same connections has been read when they are answered.
    await Promise.all(
      sessions.map((session) => new Promise<void>((resolve) => session.ping(() => resolve()))),
    );
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const write = {
      method: 'POST',
      body: { metadata: { generateName: 'attack-', labels: { attack: 'bodies' } } },
    };
    for (let i = 0; i < (isShort ? 5 : 20); i++) {
      const { status } = await server.ask('neighbour', configMaps, write);
      if (status !== 200) gotIn.push(`a write of the neighbour gets ${status}`);
      const local = await server.askLocally(configMaps, write);
      if (local.status !== 200) gotIn.push(`a write at the local door gets ${local.status}`);
    }
    for (const session of sessions) session.destroy();
    await server.remove(`${configMaps}?labelSelector=attack%3Dbodies`);
    return { gotIn: [...new Set(gotIn)], says: `${streams.length} bodies that never came` };
  },
};
