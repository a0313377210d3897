/**
 * The answers of a real server to users with different rights, replayed in order: what is allowed, how the rest is refused,
 * and what reviews tell. The door takes users at their word here; credentials have tests of their own.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticated, type User } from '../../src/api/values/user.ts';
import { sentBy } from '../../src/server/doors/named-door.fixture.ts';
import type { Reply } from '../support/http.ts';
import { AccessServer } from './access-server.ts';
import { answerDifference, type Case, cases, filled, valueAt } from './recorded-answers.ts';

/** Users of the recording by their short names. */
const users: Readonly<Record<string, readonly [name: string, ...groups: string[]]>> = {
  admin: ['admin', 'system:masters'],
  alice: ['alice', 'dev', 'qa'],
  bob: ['bob'],
  carol: ['carol', 'ops'],
  dave: ['dave'],
  eve: ['eve'],
  'node-a': ['system:node:node-a', 'system:nodes'],
  'node-b': ['system:node:node-b', 'system:nodes'],
  badnode: ['nodelike', 'system:nodes'],
  mallory: ['mallory'],
};

/** Those of the bootstrap token that signing requests are sent with. */
const bootstrapGroups = ['system:bootstrappers', 'system:bootstrappers:a', 'system:bootstrappers:workers'];

function userOf(as = 'anonymous'): User | undefined {
  const account = /^sa:(.+)\/(.+)$/.exec(as);
  if (account) {
    const [, namespace, name] = account;
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticated];
    return { name: `system:serviceaccount:${namespace}:${name}`, groups };
  }
  const certificate = /^cert:([^/]+)\/(.+)$/.exec(as);
  if (certificate) return { name: certificate[1]!, groups: [...certificate[2]!.split(','), authenticated] };
  const token = /^token:([a-z0-9]{6})\.[a-z0-9]{16}$/.exec(as);
  if (token) return { name: `system:bootstrap:${token[1]}`, groups: [...bootstrapGroups, authenticated] };
  const known = users[as];
  if (!known) return undefined;
  const [name, ...groups] = known;
  return { name, uid: `uid-${as}`, groups: [...groups, authenticated] };
}

class Replay {
  readonly saved = new Map<string, string>();

  constructor(private readonly server: AccessServer) {}

  async send(one: Case): Promise<Reply> {
    const user = userOf(one.as);
    const body =
      one.body === undefined
        ? undefined
        : filled(typeof one.body === 'string' ? one.body : JSON.stringify(one.body), this.saved);
    const reply = await this.server.request(one.method, filled(one.path, this.saved), body, {
      ...(body === undefined ? {} : { 'Content-Type': one.contentType ?? 'application/json' }),
      ...(user ? sentBy(user) : {}),
      ...(one.headers as Record<string, string> | undefined),
    });
    for (const [name, place] of Object.entries(one.save ?? {}))
      this.saved.set(name, String(valueAt(reply.body, place)));
    return reply;
  }
}

/** Cases that are about credentials, or about parts of the server that are not authorization. */
const others: readonly RegExp[] = [/^token of alice/, /^by one who may$/, /issuer$|reads the keys$/];
const isOther = ({ name, path: url }: Case): boolean =>
  name === 'created with a certificate: extra too' ||
  (others.some((pattern) => pattern.test(name)) && /tokenreviews|openid/.test(url));

/** Sequences that leave objects behind which later ones need; who may send them is not compared here. */
const preparing = ['identity', 'service account tokens'];

describe('with Node and RBAC', () => {
  const server = new AccessServer();
  const replay = new Replay(server);
  beforeAll(() => server.start());
  afterAll(() => server.close());

  const compared = [
    'defaults',
    'forbidden grammar',
    'rbac',
    'escalation',
    'reviews',
    'certificates',
    'nodes',
  ];
  for (const one of cases.filter(({ run = 'rbac' }) => run === 'rbac')) {
    if (preparing.includes(one.seq)) {
      it(`is prepared: ${one.seq}, ${one.name}`, async () => {
        if (userOf(one.as)) await replay.send(one);
      });
    } else if (compared.includes(one.seq) && !isOther(one))
      it(`${one.seq}: ${one.name}`, async () => {
        expect(answerDifference(one, await replay.send(one))).toBeUndefined();
      });
  }

  it('nothing has failed inside', () => expect(server.failures).toEqual([]));
});

describe('with ABAC', () => {
  const server = new AccessServer();
  const replay = new Replay(server);
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wherry-abac-'));
    const file = path.join(folder, 'policies.jsonl');
    const modern = (spec: object): string =>
      JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
    const lines = [
      '# a comment',
      '{"user":"alice"}',
      '{"user":"bob","readonly":true,"resource":"pods"}',
      '{"group":"ops","namespace":"team"}',
      modern({ user: 'dave', namespace: 'team', resource: '*', apiGroup: '*' }),
      modern({ user: 'dave', nonResourcePath: '/version', readonly: true }),
      modern({ user: 'eve', nonResourcePath: '/api*', readonly: true }),
      modern({ user: 'eve', namespace: '*', resource: 'configmaps', apiGroup: '', readonly: true }),
      modern({ group: 'system:unauthenticated', nonResourcePath: '/healthz', readonly: true }),
      modern({ user: 'carol', group: 'ops', nonResourcePath: '/version', readonly: true }),
      modern({
        user: 'system:serviceaccount:team:robot',
        namespace: 'team',
        resource: 'pods',
        apiGroup: '*',
      }),
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    await server.start({ authorizationModes: ['ABAC'], authorizationPolicyFile: file });
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  for (const one of cases.filter(({ run }) => run === 'abac'))
    it(one.name, async () => expect(answerDifference(one, await replay.send(one))).toBeUndefined());
});

describe('with AlwaysDeny', () => {
  const server = new AccessServer();
  const replay = new Replay(server);
  beforeAll(() => server.start({ authorizationModes: ['AlwaysDeny'] }));
  afterAll(() => server.close());

  for (const one of cases.filter(({ run }) => run === 'deny'))
    it(one.name, async () => expect(answerDifference(one, await replay.send(one))).toBeUndefined());
});
