/**
 * The answers of a real server to every kind of credential, replayed over TLS in their order: who clients are, whom they may
 * impersonate, and what becomes of service account and bootstrap tokens.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Name, TestAuthority } from '../../src/access/authentication/certificates.fixture.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import type { Json, Reply } from '../support/http.ts';
import { answerDifference, type Case, cases, filled, valueAt } from './recorded-answers.ts';

const life = { fromMs: Date.now() - 3_600_000, untilMs: Date.now() + 3_600_000 };
const authorities = {
  client: new TestAuthority('clients', undefined, life),
  proxy: new TestAuthority('proxies', undefined, life),
  other: new TestAuthority('others', undefined, life),
};

const tokens = `admin-token,admin,uid-admin,system:masters
alice-token,alice,uid-alice,"dev,qa"
bob-token,bob,uid-bob
carol-token,carol,uid-carol,ops
dave-token,dave,uid-dave
eve-token,eve,uid-eve
node-a-token,system:node:node-a,uid-node-a,system:nodes
node-b-token,system:node:node-b,uid-node-b,system:nodes
badnode-token,nodelike,uid-badnode,system:nodes
mallory-token,mallory,uid-mallory
`;

let folder: string;
let cluster: Cluster;
const saved = new Map<string, string>();
const agents = new Map<string, Agent>();
const failures: Error[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-credentials-'));
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(path.join(folder, name), text);
    return path.join(folder, name);
  };
  cluster = await start({
    store: 'memory',
    like: 'kubernetes',
    // The recorded server ran no controllers.
    controllers: false,
    onError: (error) => void failures.push(error),
    secure: {
      tokenAuthFile: await file('tokens.csv', tokens),
      clientCAFile: await file('clients.crt', authorities.client.pem),
      requestHeader: {
        clientCAFile: await file('proxies.crt', authorities.proxy.pem),
        allowedNames: ['front-proxy'],
        uidHeaders: ['X-Remote-Uid'],
      },
    },
  });
});

afterAll(async () => {
  for (const agent of agents.values()) agent.destroy();
  await cluster.close();
  await rm(folder, { recursive: true });
  expect(failures).toEqual([]);
});

/** `cert:CN/O1,O2;uid=U;eku=server;ca=proxy`. */
function agentOf(certificate: string | undefined): Agent {
  const known = agents.get(certificate ?? '');
  if (known) return known;
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, ...certified(certificate) });
  agents.set(certificate ?? '', agent);
  return agent;
}

function certified(text: string | undefined): { cert?: string; key?: string } {
  if (text === undefined) return {};
  const [subject = '', ...options] = text.split(';');
  const set = Object.fromEntries(options.map((option) => option.split('='))) as Record<string, string>;
  const [, name = '', organizations = ''] = /^([^/]*)\/?(.*)$/s.exec(subject) ?? [];
  const parts: Name = [
    ...organizations
      .split(',')
      .filter(Boolean)
      .map((value) => ['O', value] as const),
    ...(set.uid ? [['UID', set.uid] as const] : []),
    ...(name ? [['CN', name] as const] : []),
  ];
  const usages = [set.eku === 'server' ? 'server auth' : 'client auth'];
  return authorities[(set.ca ?? 'client') as keyof typeof authorities].certified(parts, { usages, ...life });
}

/** What a sender shows: a certificate, a token, or both. */
function shownBy(as: string): { certificate?: string; token?: string } {
  const [, certificate, rest] = /^cert:([^+]*)\+?(.*)$/s.exec(as) ?? [];
  const who = certificate === undefined ? as : (rest ?? '');
  if (who === '' || who === 'anonymous') return { certificate };
  if (who.startsWith('token:')) return { certificate, token: who.slice('token:'.length) };
  return { certificate, token: who.startsWith('sa:') ? saved.get(who) : `${who}-token` };
}

function send(one: Case): Promise<Reply> {
  const { certificate, token } = shownBy(filled(one.as ?? 'anonymous', saved));
  const body =
    one.body === undefined
      ? undefined
      : filled(typeof one.body === 'string' ? one.body : JSON.stringify(one.body), saved);
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined
      ? {}
      : { 'content-type': one.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...one.headers,
  };
  const options = { method: one.method, agent: agentOf(certificate), headers };
  return new Promise((resolve, reject) => {
    const sent = request(cluster.secureUrl + filled(one.path, saved), options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = answer.headers['content-type']?.includes('json') ?? false;
        resolve({
          status: answer.statusCode!,
          headers: answer.headers,
          text,
          body: (isJson ? JSON.parse(text) : undefined) as Json,
        } as Reply);
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** A token for a service account, asked for when it is first needed. */
async function prepare(as: string): Promise<void> {
  const [, key, namespace, name] = /(?:^|\+)(sa:([^/]+)\/(.+))$/.exec(as) ?? [];
  if (key === undefined || saved.has(key)) return;
  const { body } = await send({
    name: '',
    seq: '',
    as: 'admin',
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    expect: { code: 201 },
  });
  saved.set(key, body.status.token);
}

const compared = ['identity', 'impersonation', 'service account tokens', 'bootstrap tokens'];
const recorded = cases.filter(({ run = 'rbac' }) => run === 'rbac');
const last = recorded.findLastIndex(({ seq }) => compared.includes(seq));

// Those in between leave behind what later ones need; they are compared in another test.
for (const one of recorded.slice(0, last + 1))
  it(`${compared.includes(one.seq) ? '' : 'prepared: '}${one.seq}: ${one.name}`, async () => {
    await prepare(one.as ?? '');
    const reply = await send(one);
    for (const [name, place] of Object.entries(one.save ?? {}))
      saved.set(name, String(valueAt(reply.body, place)));
    if (compared.includes(one.seq)) expect(answerDifference(one, reply)).toBeUndefined();
  });
