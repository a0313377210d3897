/** Proves which options make an authorizer, and that others are refused with a sentence. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asks, useRegistry, user } from './authorization.fixture.ts';
import type { AuthorizationOptions } from './authorization-options.ts';
import { makeAuthorizer } from './make-authorizer.ts';

const made = useRegistry();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-authorization-'));
});
afterAll(() => rm(folder, { recursive: true }));

const make = (options: AuthorizationOptions) => makeAuthorizer(options, made.registry);
async function file(text: string): Promise<string> {
  const name = path.join(folder, 'file');
  await writeFile(name, text);
  return name;
}
const configuration = (...authorizers: object[]): Promise<string> =>
  file(
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthorizationConfiguration',
      authorizers,
    }),
  );

describe('modes', () => {
  it('are Node and RBAC unless others are named', async () => {
    expect((await make({})).modes).toEqual(['Node', 'RBAC']);
    const open = await make({ authorizationModes: ['RBAC', 'AlwaysAllow'] });
    expect(await open.authorizer.decide(asks(user('jo'), 'get pods'))).toMatchObject({ allowed: true });
  });

  it.each<[AuthorizationOptions, RegExp]>([
    [{ authorizationModes: [] }, /at least one/],
    [
      { authorizationModes: ['Rbac' as never] },
      /there is no authorization mode "Rbac"; there are Node, RBAC/,
    ],
    [{ authorizationModes: ['RBAC', 'RBAC'] }, /RBAC is there twice/],
    [{ authorizationModes: ['ABAC'] }, /ABAC and its policy file need each other/],
    [{ authorizationPolicyFile: 'x' }, /ABAC and its policy file need each other/],
    [{ authorizationModes: ['Webhook'] }, /Webhook and its configuration file need each other/],
    [
      { authorizationModes: ['ABAC'], authorizationPolicyFile: '/no/such' },
      /\/no\/such cannot be read \(ENOENT\)/,
    ],
    [{ authorizationConfigFile: '/x', authorizationModes: ['RBAC'] }, /excludes/],
  ])('%j are refused', async (options, message) => {
    await expect(make(options)).rejects.toThrow(message);
  });
});

describe('a configuration file', () => {
  it('lists authorizers in order', async () => {
    const name = await configuration({ type: 'Node', name: 'n' }, { type: 'AlwaysDeny', name: 'd' });
    expect((await make({ authorizationConfigFile: name })).modes).toEqual(['Node', 'AlwaysDeny']);
  });

  const webhook = {
    timeout: '3s',
    subjectAccessReviewVersion: 'v1',
    failurePolicy: 'Deny',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/no/such' },
  };

  it.each<[object[], RegExp]>([
    [[], /authorizers must name at least one/],
    [[{ type: 'RBAC' }], /authorizers\[0\]\.name must be a name/],
    [[{ type: 'X', name: 'x' }], /authorizers\[0\]\.type must be one of/],
    [
      [
        { type: 'RBAC', name: 'a' },
        { type: 'RBAC', name: 'b' },
      ],
      /authorizers\[1\]\.type: RBAC is there twice/,
    ],
    [[{ type: 'RBAC', name: 'a', webhook }], /webhook is for the type Webhook only/],
    [[{ type: 'Webhook', name: 'a', webhook: { ...webhook, timeout: '1m' } }], /timeout must be a duration/],
    ...(
      [
        [['request.user'], /matchConditions\[0\]\.expression: must evaluate to bool but got string/],
        [['request.x == 1'], /compilation failed: ERROR: <input>:1:8: undefined field 'x'/],
        [['true', 'true'], /matchConditions\[1\]\.expression: the expression is there twice/],
        [[''], /matchConditions\[0\]\.expression is required/],
        [Array.from({ length: 65 }, (_, at) => `${at} == 0`), /matchConditions has more than 64 items/],
      ] as [string[], RegExp][]
    ).map(([texts, message]): [object[], RegExp] => {
      const matchConditions = texts.map((expression) => ({ expression }));
      const conditions = { matchConditionSubjectAccessReviewVersion: 'v1', matchConditions };
      return [[{ type: 'Webhook', name: 'a', webhook: { ...webhook, ...conditions } }], message];
    }),
    [
      [{ type: 'Webhook', name: 'a', webhook: { ...webhook, matchConditions: [{ expression: 'true' }] } }],
      /matchConditionSubjectAccessReviewVersion must be text/,
    ],
    [
      [{ type: 'Webhook', name: 'a', webhook: { ...webhook, more: 1 } }],
      /there is no field "authorizers\[0\]\.webhook\.more"/,
    ],
    [[{ type: 'Webhook', name: 'a', webhook }], /\/no\/such cannot be read/],
  ])('with %j is refused', async (authorizers, message) => {
    const name = await configuration(...authorizers);
    await expect(make({ authorizationConfigFile: name })).rejects.toThrow(message);
  });

  it('is read again when it changes; what cannot be used leaves the former in place', async () => {
    const told: string[] = [];
    const [node, rbac] = [
      { type: 'Node', name: 'n' },
      { type: 'RBAC', name: 'r' },
    ];
    const name = await configuration(node, { type: 'AlwaysDeny', name: 'd' });
    const { registry } = made;
    const opened = await makeAuthorizer({ authorizationConfigFile: name }, registry, (text) =>
      told.push(text),
    );
    const isAllowed = async () => (await opened.authorizer.decide(asks(user('jo'), 'get pods'))).allowed;
    const change = async (text: RegExp, ...authorizers: object[]): Promise<void> => {
      await configuration(...authorizers);
      await expect.poll(() => told.at(-1) ?? '').toMatch(text);
    };
    expect(await isAllowed()).toBe(false);
    await change(/is decided by Node, AlwaysAllow$/, node, { type: 'AlwaysAllow', name: 'a' });
    expect(opened.modes).toEqual(['Node', 'AlwaysAllow']);
    expect(await isAllowed()).toBe(true);
    await change(/stays: .*must name at least one/);
    await change(/stays: the type RBAC can only be there from the start/, rbac);
    await change(/stays: .*\/no\/such cannot be read/, { type: 'Webhook', name: 'w', webhook });
    expect(await isAllowed()).toBe(true);
    await change(/is decided by AlwaysDeny$/, { type: 'AlwaysDeny', name: 'd' });
    expect(await isAllowed()).toBe(false);
    opened.close();
  });
});
