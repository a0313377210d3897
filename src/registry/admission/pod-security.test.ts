/** Proves whom pod security exempts, what it notes for the audit log, and how it treats labels that are wrong. */

import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { ConfigurationValue } from '../../api/text/configuration.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import type { AdmissionChain } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import { Request } from '../request.ts';
import { ensureSystemNamespaces } from '../system/system-namespaces.ts';
import { collectionOf, targetOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { modify } from '../verbs/modify.ts';
import { View } from '../view/view.ts';
import { actingAs } from '../writers.ts';
import { type AdmissionParts, makeWriting, type Writing } from '../writing.ts';
import { admissionChain } from './plugins.ts';
import { type PodSecuritySettings, readPodSecuritySettings } from './pod-security-settings.ts';

const kinds = new KindTable();
const pods = kinds.resource('v1', 'pods')!;
const namespaces = kinds.resource('v1', 'namespaces')!;
const runtimeClasses = kinds.resource('node.k8s.io/v1', 'runtimeclasses')!;
const label = (name: string): string => `pod-security.kubernetes.io/${name}`;

let store: Store;
let registry: Registry;
let writing: Writing;
let annotations: Record<string, string>;
let warnings: string[];

async function open(podSecurity?: PodSecuritySettings): Promise<void> {
  store = openMemoryStore();
  const sources = { nowMs: Date.now, uid: randomUUID, randomBelow: () => 0 };
  const admission = (made: AdmissionParts): AdmissionChain => admissionChain(made, {}, { podSecurity });
  writing = makeWriting(store, await View.open(store, kinds), kinds, sources, { admission });
  ({ registry } = writing);
  await ensureSystemNamespaces(writing);
}

async function close(): Promise<void> {
  registry.view.close();
  await store.close();
}

beforeEach(() => open());
afterEach(close);

/** A request of a user, whose annotations and warnings are kept. */
function request(verb: 'create' | 'update', user = 'alice'): Request {
  annotations = {};
  warnings = [];
  const annotated = { annotations };
  return new Request({ user: { name: user, groups: [] }, verb, userAgent: '', warnings, annotated });
}

const makeNamespace = (name: string, labels: Record<string, string>) =>
  create(writing, request('create'), collectionOf(namespaces, ''), { metadata: { name, labels } });

function relabel(name: string, labels: Record<string, string>) {
  const target = targetOf({ kind: namespaces, namespace: '', name });
  return modify(writing, request('update'), target, (current) => {
    const object = current.object();
    object.metadata.labels = { ...object.metadata.labels, ...labels };
    return object;
  });
}

const makePod = (namespace: string, spec: Pod['spec'] = {}, user?: string, name = 'p') =>
  create(writing, request('create', user), collectionOf(pods, namespace), {
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i' }], hostPID: true, ...spec },
  } as ApiObject);

/** Puts an object into the store as a server without this plugin would have. */
async function plantNamespace(name: string, labels: Record<string, string>): Promise<void> {
  await registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(namespaces, ''), {
    metadata: { name, labels },
  });
}

const settings = (document: object) =>
  readPodSecuritySettings(
    new ConfigurationValue(
      {
        apiVersion: 'pod-security.admission.config.k8s.io/v1',
        kind: 'PodSecurityConfiguration',
        ...document,
      },
      '',
    ),
  );

describe('audit', () => {
  it('knows the policy and what broke it', async () => {
    await makeNamespace('a', { [label('audit')]: 'baseline' });
    await makePod('a');
    expect(annotations).toEqual({
      [label('enforce-policy')]: 'privileged:latest',
      [label('audit-violations')]:
        'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    });
    expect(warnings).toEqual([]);
  });

  it('is told also of what is refused, and the client is not warned', async () => {
    await makeNamespace('a', { [label('enforce')]: 'baseline', [label('audit')]: 'restricted' });
    await expect(makePod('a')).rejects.toThrow('violates PodSecurity "baseline:latest"');
    expect(annotations[label('audit-violations')]).toContain('restricted:latest');
    expect(warnings).toEqual([]);
  });

  it('has nothing of namespaces without labels', async () => {
    await makeNamespace('a', { other: 'label' });
    await makePod('a');
    expect(annotations).toEqual({});
  });
});

describe('exemptions', () => {
  beforeEach(async () => {
    await close();
    await open(
      settings({
        defaults: { enforce: 'baseline' },
        exemptions: { usernames: ['bob'], namespaces: ['free'], runtimeClasses: ['sandbox'] },
      }),
    );
  });

  it('are for users, namespaces and runtime classes; the defaults are for the rest', async () => {
    await makeNamespace('a', {});
    await expect(makePod('a')).rejects.toThrow('violates PodSecurity "baseline:latest"');
    await makePod('a', {}, 'bob');
    expect(annotations).toEqual({ [label('exempt')]: 'user' });
    const sandbox = { metadata: { name: 'sandbox' }, handler: 'sandbox' };
    await create(writing, request('create'), collectionOf(runtimeClasses, ''), sandbox);
    await makePod('a', { runtimeClassName: 'sandbox' }, 'alice', 'q');
    expect(annotations).toEqual({ [label('exempt')]: 'runtimeClass' });
    await makeNamespace('free', {});
    await makePod('free');
    expect(annotations).toEqual({ [label('exempt')]: 'namespace' });
  });

  it('of a namespace are told to those who label it', async () => {
    await makeNamespace('free', { [label('enforce')]: 'restricted', [label('warn-version')]: 'v1.30' });
    expect(warnings).toEqual([
      'namespace "free" is exempt from Pod Security, and the policy (enforce=restricted:latest, warn=restricted:latest) will be ignored',
    ]);
  });
});

describe('labels that are wrong', () => {
  it('are refused when they are changed, and stay otherwise', async () => {
    await plantNamespace('a', { [label('enforce')]: 'high', [label('warn')]: 'x' });
    await relabel('a', { other: 'label' });
    await expect(relabel('a', { [label('audit')]: 'y' })).rejects.toThrow('metadata.labels[');
    await relabel('a', { [label('enforce')]: 'baseline', [label('warn')]: 'baseline' });
  });

  it('refuse what the restricted level refuses, and warn of nothing', async () => {
    await plantNamespace('a', { [label('enforce')]: 'high', [label('enforce-version')]: 'old' });
    await expect(makePod('a')).rejects.toThrow('violates PodSecurity "restricted:latest"');
    expect(annotations[label('error')]).toContain('Failed to parse policy: metadata.labels[');
  });
});

describe('a namespace that becomes stricter', () => {
  it('warns of pods by what is wrong with them', async () => {
    await makeNamespace('a', {});
    for (const name of ['z', 'b', 'c']) await makePod('a', {}, 'alice', name);
    const ports = [{ containerPort: 80, hostPort: 80 }];
    await makePod('a', { containers: [{ name: 'c', image: 'i', ports }] }, 'alice', 'x');
    await relabel('a', { [label('enforce')]: 'baseline' });
    expect(warnings).toEqual([
      'existing pods in namespace "a" violate the new PodSecurity enforce level "baseline:latest"',
      'b (and 2 other pods): host namespaces',
      'x: host namespaces, hostPort',
    ]);
  });

  it('does not when only warnings become stricter, or it is relaxed', async () => {
    await makeNamespace('a', { [label('enforce')]: 'privileged' });
    await makePod('a');
    await relabel('a', { [label('warn')]: 'restricted' });
    expect(warnings).toEqual([]);
  });
});

describe('settings', () => {
  it.each([
    [{ default: {} }, 'there is no field "default"'],
    [
      { defaults: { enforce: 'high' } },
      'defaults.enforce must be one of privileged, baseline, restricted, not "high"',
    ],
    [{ defaults: { 'warn-version': '1' } }, 'defaults.warn-version must be "latest" or "v1.x", not "1"'],
    [{ exemptions: { usernames: 'bob' } }, 'exemptions.usernames must be a list'],
    [{ kind: 'Other' }, 'kind must be one of PodSecurityConfiguration, not "Other"'],
  ])('%j', (document, problem) => expect(() => settings(document)).toThrow(problem));
});
