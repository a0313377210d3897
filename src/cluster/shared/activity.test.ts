/** Proves what the log of a cluster tells: configuration, nodes, events of pods, slow requests, and with debug all of them. */
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../server/http/context.ts';
import { type Cluster, type LogLine, type LogOptions, start } from '../index.ts';
import { requestObserver } from './activity.ts';

let cluster: Cluster | undefined;

afterEach(async () => {
  await cluster?.close();
  cluster = undefined;
});

/** A cluster with a log, and a way to wait for a line of it. */
async function logged(level: LogOptions['level'], simulatedNodes = 0) {
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  const write = (line: LogLine): void => {
    lines.push(line);
    for (const look of waiting) look();
  };
  cluster = await start({ store: 'memory', simulatedNodes, log: { level, write } });
  const line = (wanted: RegExp): Promise<LogLine> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = lines.find(({ message }) => wanted.test(message));
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const send = (path: string, body?: object): Promise<Response> =>
    fetch(`${cluster!.url}${path}`, body && { method: 'POST', body: JSON.stringify(body) });
  return { lines, line, send };
}

const pods = '/api/v1/namespaces/default/pods';

describe('the log of a cluster', () => {
  it('begins with the configuration in force', async () => {
    const { lines } = await logged('info');
    expect(lines[0]).toMatchObject({
      level: 'info',
      message: 'configuration',
      fields: { url: cluster!.url, store: 'memory', serviceNodePortRange: '30000-32767', simulatedNodes: 0 },
    });
    expect(lines[0]!.fields.controllers).toContain('scheduler');
    expect(JSON.parse(String(lines[0]!.fields.limits))).toHaveProperty('bodyBytesMax');
  });

  it('tells of nodes that join, of pods that are scheduled, and of no request', async () => {
    const { lines, line, send } = await logged('info', 1);
    expect((await line(/^node \S+ joined$/)).fields.node).toBeTruthy();
    await send(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
    expect(await line(/^Pod default\/p: Scheduled: Successfully assigned default\/p to /)).toMatchObject({
      level: 'info',
      fields: { type: 'Normal', reason: 'Scheduled', kind: 'Pod', namespace: 'default', name: 'p' },
    });
    expect(lines.filter(({ level }) => level === 'debug')).toEqual([]);
    expect(lines.filter(({ message }) => /request/.test(message))).toEqual([]);
  });

  it('tells why a pod cannot be scheduled', async () => {
    const { line, send } = await logged('info');
    await send(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
    expect((await line(/^Pod default\/p: FailedScheduling: /)).fields).toMatchObject({ type: 'Warning' });
  });

  it('tells of every request when that is asked for', async () => {
    const { line, send } = await logged('debug');
    await send('/api/v1/namespaces/default?pretty=true');
    expect(await line(/^request: GET \/api\/v1\/namespaces\/default\?pretty=true 200 /)).toMatchObject({
      level: 'debug',
      fields: { method: 'GET', verb: 'get', code: 200, user: 'system:unsecured' },
    });
  });
});

describe('a slow request', () => {
  const context = (lasting?: string) =>
    ({
      info: { method: 'GET', verb: 'list', lasting },
      user: { name: 'u' },
      request: { url: '/api/v1/pods', headers: { 'user-agent': 'a' } },
    }) as unknown as RequestContext;

  it('is told of, unless it was made to last', () => {
    const lines: LogLine[] = [];
    const observe = requestObserver({ write: (line) => lines.push(line) });
    observe(context(), 200, 999);
    observe(context('watch'), 200, 60_000);
    observe(context(), 200, 1_234.5);
    expect(lines).toEqual([
      {
        level: 'info',
        message: 'slow request: GET /api/v1/pods 200 1235 ms',
        fields: {
          method: 'GET',
          url: '/api/v1/pods',
          verb: 'list',
          code: 200,
          ms: 1235,
          user: 'u',
          agent: 'a',
        },
      },
    ]);
  });
});
