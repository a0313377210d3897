/** Lists of many megabytes in every form: none of them may hold the server up while it is made. */
import { type Attack, codesText } from '../attack.ts';

const path = '/api/v1/namespaces/default/configmaps';
/** A list that costs the server this many milliseconds of CPU must not cost them in one turn. */
const longMs = 500;

const forms: readonly (readonly [string, string, Record<string, string>])[] = [
  ['JSON', '', { accept: 'application/json' }],
  ['pretty JSON', '?pretty=true', { accept: 'application/json' }],
  ['YAML', '', { accept: 'application/yaml' }],
  ['protobuf', '', { accept: 'application/vnd.kubernetes.protobuf' }],
  ['a table', '', { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }],
  [
    'a table with objects',
    '?includeObject=Object',
    { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  ],
  [
    'pretty metadata',
    '?pretty=true',
    { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
  ],
  [
    'metadata in protobuf',
    '',
    { accept: 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
  ],
];

export const attack: Attack = {
  name: 'lists of many megabytes',
  run: async (server, isShort) => {
    const count = isShort ? 200 : 600;
    const data = Object.fromEntries(
      Array.from({ length: 600 }, (_, i) => [`key-${i}`, 'some text: "quoted"'.repeat(2)]),
    );
    for (let i = 0; i < count; i++)
      await server.askLocally(path, {
        method: 'POST',
        body: { metadata: { name: `attack-long-${i}`, labels: { attack: 'long' } }, data },
      });
    const gotIn: string[] = [];
    const codes: number[] = [];
    const told: string[] = [];
    for (const [name, query, headers] of forms) {
      let isDone = false;
      const list = server.ask('admin', `${path}${query}`, { headers }).finally(() => {
        isDone = true;
      });
      let longest = 0;
      const begun = server.cpuMs;
      while (!isDone) {
        const before = server.cpuMs;
        await server.askLocally('/healthz');
        longest = Math.max(longest, server.cpuMs - before);
      }
      const { status } = await list;
      codes.push(status);
      told.push(`${name} ${Math.round(longest)}`);
      const all = server.cpuMs - begun;
      if (all > longMs && longest > all * 0.7)
        gotIn.push(`${name} holds the loop for ${Math.round(longest)} of ${Math.round(all)} ms`);
    }
    await server.remove(`${path}?labelSelector=attack%3Dlong`);
    return { gotIn, says: `${codesText(codes)}, longest turns in ms: ${told.join(', ')}` };
  },
};
