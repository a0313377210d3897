/** Proves that the last line of a log is asked for once, of the newest problems alone, and for users who may read logs. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LastLines } from './last-lines.ts';
import type { Grouped } from './problem.ts';

let node: Server;
const asked: string[] = [];

beforeAll(async () => {
  node = createServer((request, response) => {
    asked.push(request.url!);
    if (request.url!.includes('/gone/')) response.writeHead(404).end('no log');
    else response.end('starting\n\u001b[31mno database\u001b[0m\n\n');
  });
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
});
afterAll(() => node.close());

const lines = (allowed: boolean) => {
  const { port } = node.address() as AddressInfo;
  const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] };
  const object = () => ({ metadata: { name: 'n' }, status });
  const view = { collection: () => ({ get: () => ({ object }) }) };
  const nodes = { isLocal: () => true, connect: async () => connect(port, '127.0.0.1') };
  const authorizer = { decide: () => ({ allowed }) };
  return new LastLines(
    { registry: { view }, nodes, addressTypes: ['InternalIP'] } as any,
    authorizer as any,
    {} as any,
  );
};

const problem = (name: string, id: string): Grouped => ({
  problem: { severity: 'error', message: `Pod shop/${name}: crash loop`, count: 1, objects: [] },
  newest: {
    object: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name, uid: name },
    finding: {
      cause: '',
      text: '',
      severity: 'error',
      since: '',
      log: { node: 'n', container: 'main', isPrevious: true, id },
    },
  },
});
const messages = async (problems: Grouped[], allowed = true) =>
  (await lines(allowed).addTo(problems)).map(({ message }) => message);

it('ends the sentence, without colours, and is asked for once for each run', async () => {
  const expected = ['Pod shop/web: crash loop, last line: no database'];
  expect(await messages([problem('web', 'run-1')])).toEqual(expected);
  expect(await messages([problem('web', 'run-1')])).toEqual(expected);
  expect(asked).toEqual(['/containerLogs/shop/web/main?tailLines=5&previous=true']);
  await messages([problem('web', 'run-2')]);
  expect(asked).toHaveLength(2);
});

it('is left out for users who may not read logs, and where there is no log', async () => {
  expect(await messages([problem('web', 'run-1')], false)).toEqual(['Pod shop/web: crash loop']);
  expect(await messages([problem('gone', 'run-3')])).toEqual(['Pod shop/gone: crash loop']);
});

it('is asked for the newest problems alone', async () => {
  const before = asked.length;
  await messages(Array.from({ length: 30 }, (_, i) => problem(`p${i}`, `many-${i}`)));
  expect(asked.length - before).toBe(20);
});
