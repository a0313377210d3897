/** Proves that audit events reach another server in batches, are sent again when it fails, and are bounded in number. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { remoteAgent } from '../../access/shared/remote-call.ts';
import { AuditWebhook, type AuditWebhookOptions } from './audit-webhook.ts';

let server: Server;
let lists: { kind: string; apiVersion: string; items: { n: number }[] }[];
let codes: number[];
let errors: Error[];
let webhook: AuditWebhook;

beforeEach(async () => {
  lists = [];
  codes = [];
  errors = [];
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      lists.push(JSON.parse(text));
      response.writeHead(codes.shift() ?? 200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await webhook.close();
  server.close();
  server.closeAllConnections();
});

function open(options: Partial<AuditWebhookOptions> = {}): void {
  const { port } = server.address() as AddressInfo;
  const service = { url: `http://127.0.0.1:${port}/`, headers: {}, agent: remoteAgent({}) };
  webhook = new AuditWebhook(service, { configFile: '', retryMs: 1, ...options }, (error) =>
    errors.push(error),
  );
}

const append = (...numbers: number[]): void => {
  for (const n of numbers) webhook.append(`{"n":${n}}\n`);
};
const numbers = (): number[][] => lists.map(({ items }) => items.map(({ n }) => n));

describe('events', () => {
  it('are sent together, in order, when there are enough of them', async () => {
    open({ batchEventsMax: 2, batchWaitMs: 1_000_000 });
    append(1, 2, 3);
    expect(await webhook.flushed()).toBe(true);
    expect(numbers()).toEqual([[1, 2], [3]]);
    expect(lists[0]).toMatchObject({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1' });
    expect([webhook.written, webhook.dropped]).toEqual([3, 0]);
  });

  it('are sent after a while, when they are few', async () => {
    open({ batchWaitMs: 1 });
    append(1);
    await expect.poll(() => webhook.written).toBe(1);
  });

  it('are sent again when the server fails, and given up when it refuses', async () => {
    open();
    codes = [503, 429];
    append(1);
    expect(await webhook.flushed()).toBe(true);
    expect(numbers()).toEqual([[1], [1], [1]]);
    codes = [400];
    append(2);
    expect(await webhook.flushed()).toBe(false);
    expect([webhook.written, webhook.dropped]).toEqual([1, 1]);
    expect(errors.map(({ message }) => message)).toEqual(['the audit webhook answers with status 400']);
  });

  it('are lost and counted beyond the buffer, and when the server stays away', async () => {
    open({ bufferEventsMax: 2, batchWaitMs: 1_000_000 });
    append(1, 2, 3);
    expect(webhook.dropped).toBe(1);
    codes = [500, 500, 500, 500, 500];
    expect(await webhook.flushed()).toBe(false);
    expect([webhook.written, webhook.dropped]).toEqual([0, 3]);
  });

  it('that wait are sent when it closes, and later ones are lost', async () => {
    open({ batchWaitMs: 1_000_000 });
    append(1);
    await webhook.close();
    append(2);
    expect(numbers()).toEqual([[1]]);
    expect(webhook.dropped).toBe(1);
  });
});
