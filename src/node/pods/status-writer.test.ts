/** Proves that a status is written once, in order, retried until it succeeds, and never written to another pod. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { StatusWriter } from './status-writer.ts';

interface Asked {
  readonly path: string;
  readonly body: any;
  answer(code: number, body?: object): void;
}

let server: Server;
let client: Client;
let writer: StatusWriter;
let asked: Asked[] = [];
let errors: Error[] = [];
/** Whether the server answers by itself; a test may answer in its place. */
let answering = true;
let version = 1;

beforeEach(async () => {
  asked = [];
  errors = [];
  answering = true;
  server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const one: Asked = {
      path: request.url!,
      body: JSON.parse(text),
      answer: (code, body = {}) => void response.writeHead(code).end(JSON.stringify(body)),
    };
    asked.push(one);
    if (answering) one.answer(200, pod('a', { ...one.body.status }, ++version));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  writer = new StatusWriter({ client, onError: (error) => errors.push(error) });
});

afterEach(async () => {
  await writer.close();
  client.close();
  server.closeAllConnections();
  server.close();
});

const pod = (name: string, status: object = {}, resourceVersion = 1): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: `${resourceVersion}` },
  status,
});

it('the newest of a moment is written, and what is there already is not', async () => {
  writer.set(pod('a'), { phase: 'Pending' }, () => undefined);
  writer.set(pod('a'), { phase: 'Running' }, () => undefined);
  await writer.settled('uid-a');
  expect(asked.map(({ path, body }) => [path, body])).toEqual([
    ['/api/v1/namespaces/ns/pods/a/status', { metadata: { uid: 'uid-a' }, status: { phase: 'Running' } }],
  ]);
  writer.set(pod('a', { phase: 'Running' }, 9), { phase: 'Running' }, () => undefined);
  await writer.settled('uid-a');
  expect(asked).toHaveLength(1);
});

it('one write of a pod at a time: what comes meanwhile comes after it', async () => {
  answering = false;
  writer.set(pod('a'), { phase: 'Running' }, () => undefined);
  await expect.poll(() => asked.length).toBe(1);
  writer.set(pod('a'), { phase: 'Failed' }, () => undefined);
  writer.set(pod('b'), { phase: 'Running' }, () => undefined);
  await expect.poll(() => asked.map(({ path }) => path.split('/').at(-2))).toEqual(['a', 'b']);
  answering = true;
  asked[1]!.answer(200, pod('b', { phase: 'Running' }, ++version));
  asked[0]!.answer(200, pod('a', { phase: 'Running' }, ++version));
  await writer.settled('uid-a');
  expect(asked.map(({ body }) => body.status.phase)).toEqual(['Running', 'Running', 'Failed']);
});

it('a status that waits for a write is made anew from the pod that was written', async () => {
  answering = false;
  const time = (seconds: number) => ({
    conditions: [{ type: 'Ready', status: 'True', reason: `${seconds}` }],
  });
  writer.set(pod('a'), time(1), (written) =>
    queueMicrotask(() => writer.set(written, { ...written.status }, () => undefined)),
  );
  await expect.poll(() => asked.length).toBe(1);
  // Made while the API shows nothing of the first.
  writer.set(pod('a'), time(2), (written) =>
    queueMicrotask(() => writer.set(written, { ...written.status }, () => undefined)),
  );
  asked[0]!.answer(200, pod('a', time(1), ++version));
  await writer.settled('uid-a');
  expect(asked).toHaveLength(1);
});

it('what fails is tried again, with the newest status', async () => {
  answering = false;
  writer.set(pod('a'), { phase: 'Running' }, () => undefined);
  await expect.poll(() => asked.length).toBe(1);
  asked[0]!.answer(500);
  await expect.poll(() => errors.length).toBe(1);
  writer.set(pod('a'), { phase: 'Succeeded' }, () => undefined);
  answering = true;
  await writer.settled('uid-a');
  expect(asked.map(({ body }) => body.status.phase)).toEqual(['Running', 'Succeeded']);
});

it.each([404, 409])('what is gone (%i) is given up quietly', async (code) => {
  answering = false;
  writer.set(pod('a'), { phase: 'Running' }, () => undefined);
  await expect.poll(() => asked.length).toBe(1);
  asked[0]!.answer(code);
  await writer.settled('uid-a');
  expect([asked.length, errors]).toEqual([1, []]);
});

it('a server that keeps something else is not told the same again', async () => {
  answering = false;
  let known = pod('a');
  const set = () => writer.set(known, { phase: 'Running', message: 'x' }, (written) => (known = written));
  set();
  await expect.poll(() => asked.length).toBe(1);
  asked[0]!.answer(200, pod('a', { phase: 'Running' }, 5));
  await writer.settled('uid-a');
  set();
  await writer.settled('uid-a');
  expect(asked).toHaveLength(1);
  // Another writer has changed the pod: now it is worth another try.
  known = pod('a', { phase: 'Running' }, 6);
  answering = true;
  set();
  await writer.settled('uid-a');
  expect(asked[1]!.body.status).toEqual({ message: 'x' });
});

it('a few at once, whatever waits', async () => {
  answering = false;
  for (let i = 0; i < 20; i++) writer.set(pod(`p${i}`), { phase: 'Running' }, () => undefined);
  await expect.poll(() => asked.length).toBe(8);
  asked[0]!.answer(200, pod('p0', {}, ++version));
  await expect.poll(() => asked.length).toBe(9);
  answering = true;
  for (const one of asked.slice(1)) one.answer(200, pod('x', {}, ++version));
  await writer.close();
  expect(asked).toHaveLength(20);
});
