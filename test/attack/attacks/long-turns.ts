/** Lists of many megabytes in every form: none of them may hold the server up while it is made. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';

const path = '/api/v1/namespaces/default/configmaps';
/**
 * The part of the CPU that a list costs which a request beside it may wait for: a turn that is a few milliseconds long,
 * and what the system and the collection of garbage add. A form that is made in one turn makes it wait for all of it.
 */
const shareMax = 0.25;
/** A form is tried again before it counts: what other programs and garbage cost only adds. */
const triesMax = 4;
/** Milliseconds: what takes no longer is no long turn. */
const turnMinMs = 25;

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

interface Felt {
  /** The most CPU that the server used while one request beside it waited, and all that it used: milliseconds. */
  readonly longestMs: number;
  readonly allMs: number;
  readonly status: number;
}

async function beside(
  server: AttackedServer,
  ask: () => Promise<{ readonly status: number }>,
): Promise<Felt> {
  // A server that was not started here, or a system that does not tell what a process uses: it is asked, no more.
  if (server.url === undefined || Number.isNaN(server.cpuMs))
    return { longestMs: 0, allMs: 1, status: (await ask()).status };
  const workerData = { url: server.url, schedstat: `/proc/${server.pid}/schedstat` };
  const probe = new Worker(join(import.meta.dirname, '../turn-probe.mjs'), { workerData });
  const told = (): Promise<unknown> =>
    new Promise((resolve, reject) => probe.once('message', resolve).once('error', reject));
  try {
    await told();
    const begunMs = server.cpuMs;
    const { status } = await ask();
    const allMs = server.cpuMs - begunMs;
    const longest = told();
    probe.postMessage('stop');
    return { longestMs: (await longest) as number, allMs, status };
  } finally {
    await probe.terminate();
  }
}

export const attack: Attack = {
  name: 'lists of many megabytes',
  longOnly: true,
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
      let least: Felt = { longestMs: Number.POSITIVE_INFINITY, allMs: 1, status: 0 };
      for (let tries = 0; tries < triesMax && least.longestMs > least.allMs * shareMax; tries++) {
        const felt = await beside(server, () => server.ask('admin', `${path}${query}`, { headers }));
        codes.push(felt.status);
        if (felt.longestMs / felt.allMs < least.longestMs / least.allMs) least = felt;
      }
      const { longestMs, allMs } = least;
      const text = `${Math.round(longestMs)} of ${Math.round(allMs)}`;
      told.push(`${name} ${text}`);
      if (longestMs > turnMinMs && longestMs > allMs * shareMax)
        gotIn.push(`${name} holds the loop for ${text} ms`);
    }
    await server.remove(`${path}?labelSelector=attack%3Dlong`);
    return { gotIn, says: `${codesText(codes)}, longest turns in ms: ${told.join(', ')}` };
  },
};
