/** Objects with as many labels as fit into a request, which are read, merged, checked and written with each change. */
import { type Attack, codesText } from '../attack.ts';

const path = '/api/v1/namespaces/attack/configmaps';
const name = 'attack-labels';

export const attack: Attack = {
  name: 'objects with many labels',
  longOnly: true,
  run: async (server) => {
    const labels = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`label-${i}`, 'v']));
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } };
    const codes: number[] = [];
    const send = async (method: string, place: string, type: string, body: object): Promise<void> => {
      const headers = { 'content-type': type };
      codes.push((await server.ask('tenant', place, { method, headers, body })).status);
    };
    await send('POST', path, 'application/json', object);
    await send('PATCH', `${path}/${name}`, 'application/strategic-merge-patch+json', {
      metadata: { labels },
    });
    await send('PATCH', `${path}/${name}`, 'application/merge-patch+json', { data: { more: 'v' } });
    for (const manager of ['a', 'b'])
      await send(
        'PATCH',
        `${path}/${name}?fieldManager=${manager}&force=true`,
        'application/apply-patch+yaml',
        object,
      );
    await send('PUT', `${path}/${name}`, 'application/json', object);
    await server.remove(`${path}/${name}`);
    return { gotIn: server.isAlive ? [] : ['it ended the process'], says: codesText(codes) };
  },
};
