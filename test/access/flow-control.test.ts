/**
 * The answers of a real server about flow schemas and priority levels, replayed over TLS; and that the levels limit: every
 * answer tells its flow, and a client that asks for too much is refused while another is served.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority } from '../../src/access/authentication/certificates.fixture.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import type { Json, Reply } from '../support/http.ts';
import { parseMetrics } from '../support/metrics.ts';
import { answerDifference, cases } from './recorded-answers.ts';

const tokens = `admin-token,admin,uid-admin,system:masters
alice-token,alice,uid-alice
bob-token,bob,uid-bob
`;
const group = '/apis/flowcontrol.apiserver.k8s.io/v1';
const schemaHeader = 'x-kubernetes-pf-flowschema-uid';
const levelHeader = 'x-kubernetes-pf-prioritylevel-uid';

let folder: string;
let cluster: Cluster;
const failures: Error[] = [];
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-flows-'));
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const proxies = new TestAuthority('proxies', undefined, {
    fromMs: Date.now() - 3_600_000,
    untilMs: Date.now() + 3_600_000,
  });
  cluster = await start({
    like: 'kubernetes',
    controllers: false,
    onError: (error) => void failures.push(error),
    secure: {
      tokenAuthFile: await file('tokens.csv', tokens),
      requestHeader: {
        clientCAFile: await file('proxies.crt', proxies.pem),
        allowedNames: ['front-proxy'],
        uidHeaders: ['X-Remote-Uid'],
      },
    },
  });
});

afterAll(async () => {
  agent.destroy();
  await cluster.close();
  await rm(folder, { recursive: true });
  expect(failures).toEqual([]);
});

function send(
  as: string | undefined,
  method: string,
  where: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(cluster.secureUrl + where, {
      method,
      agent,
      headers: {
        ...(as === undefined ? {} : { Authorization: `Bearer ${as}-token` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
    });
    sent.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const isJson = response.headers['content-type'] === 'application/json';
        const parsed = (isJson ? JSON.parse(text) : undefined) as Json;
        resolve({ status: response.statusCode!, headers: response.headers, text, body: parsed } as Reply);
      });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('recorded', () => {
  for (const one of cases.filter(({ seq }) => seq === 'flow control'))
    it(one.name, async () => {
      const reply = await send(one.as, one.method, one.path, one.body, one.headers as Record<string, string>);
      expect(answerDifference(one, reply)).toBeUndefined();
    });
});

const uidOf = async (resource: string, name: string): Promise<string> =>
  (await send('admin', 'GET', `${group}/${resource}/${name}`)).body.metadata.uid;

describe('answers', () => {
  it('tell the schema and the level, also when they are refusals', async () => {
    const schema = await uidOf('flowschemas', 'global-default');
    const level = await uidOf('prioritylevelconfigurations', 'global-default');
    for (const [where, code] of [
      ['/api/v1/namespaces/default/pods', 403],
      ['/no/such/path', 403],
      ['/version', 200],
      ['/api', 200],
    ] as const) {
      const { status, headers } = await send('alice', 'GET', where);
      expect(status, where).toBe(code);
      expect([headers[schemaHeader], headers[levelHeader]], where).toEqual([schema, level]);
    }
    const missing = await send('admin', 'GET', '/api/v1/namespaces/none');
    expect(missing.headers[schemaHeader]).toBe(await uidOf('flowschemas', 'exempt'));
  });

  it('are of the user that is impersonated', async () => {
    const { headers } = await send('admin', 'GET', '/version', undefined, { 'Impersonate-User': 'carol' });
    expect(headers[schemaHeader]).toBe(await uidOf('flowschemas', 'global-default'));
  });

  it('without a good credential tell nothing, and those of the local door neither', async () => {
    const { status, headers } = await send('nobody', 'GET', '/version');
    expect(status).toBe(401);
    expect(headers).not.toHaveProperty(schemaHeader);
    const local = await fetch(`${cluster.url}/version`);
    expect(local.headers.get(schemaHeader)).toBeNull();
  });
});

describe('a level', () => {
  it('refuses the client that asks for too much, and no other', async () => {
    // Proves the answer of an overload. One seat, no queue: of requests that come together, one or a few are served.
    await send('admin', 'POST', `${group}/prioritylevelconfigurations`, {
      metadata: { name: 'narrow' },
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
      },
    });
    await send('admin', 'POST', `${group}/flowschemas`, {
      metadata: { name: 'narrow' },
      spec: {
        priorityLevelConfiguration: { name: 'narrow' },
        matchingPrecedence: 50,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'alice' } }],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/version'] }],
          },
        ],
      },
    });
    const refused = await send('alice', 'GET', '/version');
    expect(refused.status).toBe(429);
    expect(refused.text).toBe('Too many requests, please try again later.\n');
    expect(refused.headers).toMatchObject({
      'retry-after': '1',
      'content-type': 'text/plain; charset=utf-8',
      [schemaHeader]: await uidOf('flowschemas', 'narrow'),
    });
    expect((await send('alice', 'GET', '/api')).status).toBe(200);
    expect((await send('bob', 'GET', '/version')).status).toBe(200);
    const metrics = parseMetrics((await send('admin', 'GET', '/metrics')).text);
    const flow = (name: string, labels: Record<string, string>) =>
      metrics.value(`apiserver_flowcontrol_${name}`, labels);
    const narrow = { priority_level: 'narrow' };
    expect(flow('rejected_requests_total', { ...narrow, reason: 'concurrency-limit' })).toBe(1);
    expect(flow('dispatched_requests_total', narrow)).toBe(0);
    expect(flow('nominal_limit_seats', narrow)).toBe(0);
    expect(flow('nominal_limit_seats', { priority_level: 'global-default' })).toBeGreaterThan(0);
    expect(flow('dispatched_requests_total', { priority_level: 'global-default' })).toBeGreaterThan(0);
    // The scrape itself.
    expect(flow('current_executing_requests', { priority_level: 'exempt' })).toBe(1);
    expect(flow('current_inqueue_requests', {})).toBe(0);
  });
});
