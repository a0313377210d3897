/** Proves what is approved, signed, refused, cleaned up and published, with real keys and certificates. */
import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CertificateSigningRequest, ConfigMap } from '../../api/generated/types.ts';
import { type Authorizer, allowAll } from '../../api/kind/access.ts';
import { Authority, makeAuthority } from '../../pki/authority.ts';
import { subjectOf } from '../../pki/certificate.ts';
import { readSubject, type Subject } from '../../pki/distinguished-name.ts';
import { newKeyPair } from '../../pki/key-pair.ts';
import { makeSigningRequest } from '../../pki/signing-request.ts';
import { signingRequestId } from '../../registry/admission/signing-requests.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { Request } from '../../registry/request.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { Harness } from '../shared/harness.fixture.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const clientSigner = 'kubernetes.io/kube-apiserver-client';
const kubeletSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
const servingSigner = 'kubernetes.io/kubelet-serving';
const node = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
const clientUsages = ['digital signature', 'client auth'];
const servingUsages = ['digital signature', 'server auth'];

let harness: Harness;
let authorizer: Authorizer;
let aheadMs: number;
let authority: Authority;
let nodeAuthority: Authority;
let changed: () => void;
const nowMs = (): number => Date.now() + aheadMs;

beforeEach(async () => {
  aheadMs = 0;
  authority = new Authority(makeAuthority('test-ca', Date.now()));
  nodeAuthority = new Authority(makeAuthority('test-node-ca', Date.now()));
  authorizer = allowAll;
  harness = await Harness.open(['default', 'other'], {
    nowMs,
    // So that nodes can ask for what they must not get.
    admission: { disabled: ['NodeRestriction'] },
    authorizer: { decide: (question) => authorizer.decide(question) },
  });
  harness.trust = {
    get authority() {
      return authority;
    },
    nodeAuthority: () => Promise.resolve(nodeAuthority),
    shown: [],
    get rootCertificates() {
      return authority.pem.cert;
    },
    follow: (callback) => {
      changed = callback;
      return () => undefined;
    },
  };
});
afterEach(async () => {
  await harness.close();
  expect(harness.errors).toEqual([]);
});

interface Asked {
  readonly name?: string;
  readonly signerName: string;
  readonly usages: string[];
  readonly subject: Subject;
  readonly hosts?: string[];
  readonly expirationSeconds?: number;
  readonly user?: { name: string; groups: string[] };
  /** The address that the request comes from. */
  readonly from?: string;
}

const kind = () => harness.registry.kinds.resource('certificates.k8s.io/v1', 'certificatesigningrequests')!;

async function ask({ name = 'r', subject, hosts, user, from, ...spec }: Asked): Promise<string> {
  const request = Buffer.from(makeSigningRequest(newKeyPair(), subject, hosts)).toString('base64');
  const asked = user ?? { name: 'tester', groups: [] };
  await create(
    harness.writing,
    new Request({ user: asked, verb: 'create', userAgent: 'test', connection: { remoteAddress: from } }),
    collectionOf(kind(), ''),
    { metadata: { name }, spec: { ...spec, request } } as CertificateSigningRequest,
  );
  return name;
}

const state = (name = 'r'): CertificateSigningRequest =>
  harness.registry.view.collection(signingRequestId).get('', name)!.object() as CertificateSigningRequest;
const exists = (name = 'r'): boolean =>
  harness.registry.view.collection(signingRequestId).get('', name) !== undefined;

const decide = (type: 'Approved' | 'Denied', name = 'r') =>
  modify(
    harness.writing,
    asTester('update'),
    { kind: kind(), namespace: '', name, part: 'approval' },
    (entry) => {
      const object = entry.object() as CertificateSigningRequest;
      object.status = { conditions: [{ type, status: 'True', reason: 'R', message: 'm' }] };
      return object;
    },
  );

const certificate = (name = 'r'): X509Certificate =>
  new X509Certificate(Buffer.from(state(name).status!.certificate!, 'base64'));

describe('the signer', () => {
  it('signs what is approved', async () => {
    harness.start(['csrsigning']);
    await ask({
      signerName: clientSigner,
      usages: ['client auth'],
      subject: { commonName: 'alice', organizations: ['dev', 'qa'] },
      expirationSeconds: 3600,
    });
    await harness.settled();
    expect(state().status?.certificate).toBeUndefined();
    await decide('Approved');
    await harness.settled();
    const made = certificate();
    const root = new X509Certificate(authority.pem.cert);
    expect(made.checkIssued(root) && made.verify(root.publicKey)).toBe(true);
    expect(made.ca).toBe(false);
    expect(made.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(readSubject(subjectOf(made.raw))).toEqual({
      commonName: 'alice',
      organizations: ['dev', 'qa'],
      uids: [],
    });
    const lifeMs = Date.parse(made.validTo) - Date.parse(made.validFrom);
    expect(lifeMs).toBe(hourMs + 5 * 60_000);
    expect(state().status?.conditions).toHaveLength(1);
  });

  it('gives a year when nothing is said', async () => {
    harness.start(['csrsigning']);
    await ask({ signerName: clientSigner, usages: ['client auth'], subject: { commonName: 'a' } });
    await decide('Approved');
    await harness.settled();
    const made = certificate();
    expect(Date.parse(made.validTo) - Date.parse(made.validFrom)).toBe(365 * dayMs);
  });

  it('does not sign what is denied, and nothing of others', async () => {
    harness.start(['csrsigning']);
    await ask({ signerName: clientSigner, usages: ['client auth'], subject: { commonName: 'a' } });
    await decide('Denied');
    await ask({
      name: 'x',
      signerName: 'example.com/ca',
      usages: ['client auth'],
      subject: { commonName: 'a' },
    });
    await decide('Approved', 'x');
    await harness.settled();
    expect([state().status?.certificate, state('x').status?.certificate]).toEqual([undefined, undefined]);
  });

  const kubelet = { signerName: kubeletSigner, usages: clientUsages, subject: node };
  const serving = { signerName: servingSigner, usages: servingUsages, subject: node, hosts: ['10.1.2.3'] };
  it.each<[string, Asked]>([
    [
      'invalid usage for client certificate: server auth',
      { signerName: clientSigner, usages: ['client auth', 'server auth'], subject: { commonName: 'a' } },
    ],
    [
      'missing required usage for client certificate: client auth',
      { signerName: clientSigner, usages: ['digital signature'], subject: { commonName: 'a' } },
    ],
    [
      'subject organization is not system:nodes',
      { ...kubelet, subject: { ...node, organizations: ['system:nodes', 'system:masters'] } },
    ],
    ['DNS subjectAltNames are not allowed', { ...kubelet, hosts: ['n1'] }],
    ['IP subjectAltNames are not allowed', { ...kubelet, hosts: ['10.1.2.3'] }],
    [
      'subject common name does not begin with system:node:',
      { ...kubelet, subject: { ...node, commonName: 'n1' } },
    ],
    [
      'usages did not match [client auth digital signature key encipherment]',
      { ...kubelet, usages: [...clientUsages, 'server auth'] },
    ],
    ['DNS or IP subjectAltName is required', { ...serving, hosts: [] }],
    [
      'usages did not match [digital signature key encipherment server auth]',
      { ...serving, usages: ['server auth'] },
    ],
  ])('fails with: %s', async (message, asked) => {
    harness.start(['csrsigning']);
    await ask(asked);
    await decide('Approved');
    await harness.settled();
    const { certificate: made, conditions } = state().status!;
    expect(made).toBeUndefined();
    expect(conditions).toMatchObject([
      { type: 'Approved' },
      { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message },
    ]);
  });
});

/** Allows what is asked for a subresource of these names. */
const allowing = (...subresources: string[]): Authorizer => ({
  decide: ({ info }) => ({
    allowed: info.verb === 'create' && subresources.includes(info.resource?.subresource ?? ''),
    reason: '',
  }),
});

describe('the approver', () => {
  const joining = { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] };
  const itself = { name: 'system:node:n1', groups: ['system:nodes'] };
  const kubelet = { signerName: kubeletSigner, usages: clientUsages, subject: node };
  const serving = { signerName: servingSigner, usages: servingUsages, subject: node, user: itself };

  it.each([
    ['nodeclient', joining, 'Auto approving kubelet client certificate after SubjectAccessReview.'],
    ['selfnodeclient', itself, 'Auto approving self kubelet client certificate after SubjectAccessReview.'],
  ])('approves with the permission %s', async (permission, user, message) => {
    authorizer = allowing(permission);
    harness.start(['csrapproving', 'csrsigning']);
    await ask({ ...kubelet, user });
    await harness.settled();
    expect(state().status?.conditions).toMatchObject([
      { type: 'Approved', status: 'True', reason: 'AutoApproved', message },
    ]);
    expect(readSubject(subjectOf(certificate().raw)).commonName).toBe('system:node:n1');
  });

  it('leaves others to people', async () => {
    authorizer = allowing('selfnodeclient');
    harness.start(['csrapproving']);
    await ask({ ...kubelet, user: joining });
    await ask({ ...kubelet, name: 'other', user: { ...itself, name: 'system:node:n2' } });
    await ask({ ...kubelet, name: 'wrong', user: itself, hosts: ['n1'] });
    await harness.settled();
    expect(['r', 'other', 'wrong'].map((name) => state(name).status?.conditions)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  const addresses = [
    { type: 'InternalIP', address: '10.1.2.3' },
    { type: 'InternalIP', address: '10.1.2.4' },
    { type: 'Hostname', address: 'n1' },
  ];
  const from = '::ffff:10.1.2.3';

  it('approves a serving certificate for the node that asks, as soon as there is one', async () => {
    harness.start(['csrapproving', 'csrsigning']);
    await ask({ ...serving, hosts: ['n1', '10.1.2.3'], from });
    await harness.settled();
    expect(state().status?.conditions).toBeUndefined();
    await harness.seed('v1', 'nodes', '', { metadata: { name: 'n1' }, status: { addresses } });
    await harness.settled();
    expect(state().status?.conditions).toMatchObject([{ type: 'Approved', reason: 'AutoApproved' }]);
    // The certificate is of the authority for nodes, which comes with it, and not of that of the clients of the API.
    expect(certificate().checkIssued(nodeAuthority.certificate)).toBe(true);
    expect(certificate().verify(authority.certificate.publicKey)).toBe(false);
    expect(Buffer.from(state().status!.certificate!, 'base64').toString()).toContain(nodeAuthority.pem.cert);
  });

  it('approves no serving certificate for addresses that the node merely reports, or by others', async () => {
    await harness.seed('v1', 'nodes', '', { metadata: { name: 'n1' }, status: { addresses } });
    harness.start(['csrapproving']);
    await ask({ ...serving, hosts: ['n1', '10.1.2.4'], from });
    await ask({
      ...serving,
      name: 'foreign',
      user: { name: 'system:node:n2', groups: ['system:nodes'] },
      hosts: ['n1'],
      from,
    });
    await ask({ ...serving, name: 'nogroup', user: { name: 'system:node:n1', groups: [] }, hosts: ['n1'] });
    await harness.settled();
    for (const name of ['r', 'foreign', 'nogroup']) expect(state(name).status?.conditions).toBeUndefined();
  });
});

describe('the cleaner', () => {
  const asked = { signerName: clientSigner, usages: ['client auth'], subject: { commonName: 'a' } };
  const swept = async (): Promise<void> => {
    harness.start(['csrcleaner']);
    await harness.settled();
    await harness.stop();
  };

  it('deletes what is denied for an hour, and what waits for a day', async () => {
    await ask(asked);
    await ask({ ...asked, name: 'denied' });
    await ask({ ...asked, name: 'approved' });
    await decide('Denied', 'denied');
    await decide('Approved', 'approved');
    const left = () => ['r', 'denied', 'approved'].map((name) => exists(name));
    await swept();
    expect(left()).toEqual([true, true, true]);
    aheadMs = hourMs + 60_000;
    await swept();
    expect(left()).toEqual([true, false, true]);
    aheadMs = dayMs + 60_000;
    await swept();
    expect(left()).toEqual([false, false, false]);
  });

  it('deletes what was issued an hour ago', async () => {
    harness.start(['csrsigning']);
    await ask(asked);
    await decide('Approved');
    await harness.settled();
    await harness.stop();
    await swept();
    expect(exists()).toBe(true);
    aheadMs = hourMs + 60_000;
    await swept();
    expect(exists()).toBe(false);
  });
});

describe('the publisher', () => {
  const published = (namespace: string): ConfigMap | undefined =>
    harness.registry.view.collection('core/configmaps').get(namespace, 'kube-root-ca.crt')?.object() as
      | ConfigMap
      | undefined;

  it('gives every namespace the certificates, and puts them right', async () => {
    harness.start(['root-ca-cert-publisher']);
    await harness.settled();
    for (const namespace of ['default', 'other']) {
      expect(published(namespace)?.data).toEqual({ 'ca.crt': authority.pem.cert });
      expect(published(namespace)?.metadata.annotations?.['kubernetes.io/description']).toBeTruthy();
    }
    const configMaps = harness.registry.kinds.resource('v1', 'configmaps')!;
    const target = targetOf({ kind: configMaps, namespace: 'default', name: 'kube-root-ca.crt' });
    await modify(harness.writing, asTester('update'), target, (entry) => {
      const map = entry.object() as ConfigMap;
      map.data = { 'ca.crt': 'forged', more: 'x' };
      return map;
    });
    await remove(harness.writing, asTester('delete'), { ...target, namespace: 'other' }, {});
    await harness.settled();
    for (const namespace of ['default', 'other'])
      expect(published(namespace)?.data).toEqual({ 'ca.crt': authority.pem.cert });
  });

  it('publishes a renewed authority', async () => {
    harness.start(['root-ca-cert-publisher']);
    await harness.settled();
    authority = authority.renewed('test-ca', Date.now());
    changed();
    await harness.settled();
    expect(published('other')?.data).toEqual({ 'ca.crt': authority.pem.cert });
  });

  it('publishes nothing without an authority', async () => {
    harness.trust = undefined;
    harness.start(['root-ca-cert-publisher']);
    await harness.settled();
    expect(published('default')).toBeUndefined();
  });
});
