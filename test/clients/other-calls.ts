/** Calls of the official JavaScript client that fit no common pattern. */
import {
  AppsV1Api,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CertificatesV1Api,
  CoreV1Api,
  NetworkingV1Api,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import type { Json } from '../support/http.ts';
import { type ApiClass, failureOf, type Library } from './library.ts';
import { signingRequest } from './library-kinds.ts';

export type CallTable = Record<string, () => Promise<void>>;

const here = { namespace: 'default' };
/** The library parses this answer as the object that was sent, and drops most of it. */
const success = { kind: 'Status' };

const containers = [{ name: 'web', image: 'registry.example/web:1' }];
const names = ({ items }: Json): string[] => items.map(({ metadata }: Json) => metadata.name);

const to = (name: string) => ({
  ...here,
  body: { metadata: { name }, target: { kind: 'Node', name: 'somewhere' } },
});

/** The calls for the scale subresource of a kind of apps/v1. */
function scaleCalls(library: Library, kind: string): CallTable {
  const stem = `Namespaced${kind}`;
  const apps = (name: string, request?: object) => library.call(AppsV1Api, name, { ...here, ...request });
  async function scaled(name: string): Promise<Json> {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers } };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    await apps(`create${stem}`, { body: { metadata: { name }, spec } });
    return apps(`read${stem}Scale`, { name });
  }
  const replicas = async (name: string): Promise<number> =>
    (await apps(`read${stem}`, { name })).spec.replicas;
  return {
    async [`read${stem}Scale`]() {
      expect(await scaled('apps-read-scaled')).toMatchObject({
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        spec: { replicas: 1 },
        status: { selector: 'app=apps-read-scaled' },
      });
    },
    async [`replace${stem}Scale`]() {
      const scale = await scaled('apps-scaled');
      scale.spec.replicas = 3;
      await apps(`replace${stem}Scale`, { name: 'apps-scaled', body: scale });
      expect(await replicas('apps-scaled')).toBe(3);
    },
    async [`patch${stem}Scale`]() {
      await scaled('apps-patch-scaled');
      const body = [{ op: 'replace', path: '/spec/replicas', value: 2 }];
      await apps(`patch${stem}Scale`, { name: 'apps-patch-scaled', body });
      expect(await replicas('apps-patch-scaled')).toBe(2);
    },
  };
}

/** The calls for addresses, whose names are the addresses. */
function addressCalls(library: Library): CallTable {
  const networking = (name: string, request: object = {}) => library.call(NetworkingV1Api, name, request);
  const parentRef = { resource: 'services', namespace: 'default', name: 'web' };
  const made = (name: string, labels = {}): Promise<Json> =>
    networking('createIPAddress', { body: { metadata: { name, labels }, spec: { parentRef } } });
  return {
    async createIPAddress() {
      expect(await made('198.19.0.1')).toMatchObject({ spec: { parentRef } });
      expect(await failureOf(made('198.19.0.01'))).toMatchObject({ code: 422 });
    },
    async readIPAddress() {
      const address = await made('198.19.0.2');
      expect(await networking('readIPAddress', { name: '198.19.0.2' })).toEqual(address);
    },
    async listIPAddress() {
      await made('2001:db8::3', { listed: 'yes' });
      expect(names(await networking('listIPAddress', { labelSelector: 'listed' }))).toEqual(['2001:db8::3']);
    },
    async replaceIPAddress() {
      const address = await made('198.19.0.4');
      address.metadata.labels = { replaced: 'yes' };
      const replaced = await networking('replaceIPAddress', { name: '198.19.0.4', body: address });
      expect(replaced.metadata.labels).toEqual({ replaced: 'yes' });
    },
    async patchIPAddress() {
      await made('198.19.0.5');
      const body = [{ op: 'add', path: '/metadata/labels', value: { patched: 'yes' } }];
      const patched = await networking('patchIPAddress', { name: '198.19.0.5', body });
      expect(patched.metadata.labels).toEqual({ patched: 'yes' });
    },
    async deleteIPAddress() {
      await made('198.19.0.6');
      expect(await networking('deleteIPAddress', { name: '198.19.0.6' })).toMatchObject(success);
    },
    async deleteCollectionIPAddress() {
      await made('198.19.0.7', { several: 'yes' });
      const some = { labelSelector: 'several' };
      await networking('deleteCollectionIPAddress', some);
      expect(names(await networking('listIPAddress', some))).toEqual([]);
    },
  };
}

/** The calls for the approval of a signing request. */
function approvalCalls(library: Library): CallTable {
  const stem = 'CertificateSigningRequest';
  const certificates = (name: string, request: object) => library.call(CertificatesV1Api, name, request);
  const approved = { type: 'Approved', status: 'True', reason: 'Contract', message: 'contract' };
  const asked = (name: string): Promise<Json> =>
    certificates(`create${stem}`, {
      body: {
        metadata: { name },
        spec: { request: signingRequest, signerName: 'example.com/signer', usages: ['client auth'] },
      },
    });
  return {
    async [`read${stem}Approval`]() {
      await asked('approval-read');
      expect(await certificates(`read${stem}Approval`, { name: 'approval-read' })).toMatchObject({
        kind: stem,
      });
    },
    async [`replace${stem}Approval`]() {
      const body = await asked('approval-replaced');
      body.status = { conditions: [approved] };
      const answer = await certificates(`replace${stem}Approval`, { name: 'approval-replaced', body });
      expect(answer.status.conditions).toMatchObject([approved]);
    },
    async [`patch${stem}Approval`]() {
      await asked('approval-patched');
      const body = [{ op: 'add', path: '/status/conditions', value: [approved] }];
      const answer = await certificates(`patch${stem}Approval`, { name: 'approval-patched', body });
      expect(answer.status.conditions).toMatchObject([approved]);
    },
  };
}

/** How each call is tested, by class and name. */
export function otherCalls(library: Library): [ApiClass, CallTable][] {
  const core = (name: string, request?: object) => library.call(CoreV1Api, name, request);
  /** A pod without a node. */
  const pod = (name: string): Promise<Json> =>
    core('createNamespacedPod', { ...here, body: { metadata: { name }, spec: { containers } } });

  const sizedPod = (name: string): Promise<Json> => {
    const sized = containers.map((one) => ({ ...one, resources: { requests: { cpu: '100m' } } }));
    return core('createNamespacedPod', {
      ...here,
      body: { metadata: { name }, spec: { containers: sized } },
    });
  };

  const token = (): Promise<Json> =>
    core('createNamespacedServiceAccountToken', {
      ...here,
      name: 'default',
      body: { spec: { audiences: ['tests'] } },
    });

  function replicationController(name: string): Promise<Json> {
    const labels = { app: name };
    const spec = { replicas: 1, selector: labels, template: { metadata: { labels }, spec: { containers } } };
    return core('createNamespacedReplicationController', { ...here, body: { metadata: { name }, spec } });
  }

  return [
    [CertificatesV1Api, approvalCalls(library)],
    [NetworkingV1Api, addressCalls(library)],
    [
      CoreV1Api,
      {
        async createNamespacedBinding() {
          await pod('bound-one');
          expect(await core('createNamespacedBinding', to('bound-one'))).toMatchObject(success);
          const { spec } = await core('readNamespacedPod', { ...here, name: 'bound-one' });
          expect(spec.nodeName).toBe('somewhere');
        },
        async createNamespacedPodBinding() {
          await pod('bound-two');
          const request = { ...to('bound-two'), name: 'bound-two' };
          expect(await core('createNamespacedPodBinding', request)).toMatchObject(success);
          const again = await failureOf(core('createNamespacedPodBinding', request));
          expect(again).toMatchObject({ code: 409, status: { reason: 'Conflict' } });
        },
        async createNamespacedPodEviction() {
          await pod('evicted');
          const request = { ...here, name: 'evicted', body: { metadata: { name: 'evicted', ...here } } };
          expect(await core('createNamespacedPodEviction', request)).toMatchObject(success);
          const gone = await failureOf(core('readNamespacedPod', { ...here, name: 'evicted' }));
          expect(gone.code).toBe(404);
        },
        async createNamespacedServiceAccountToken() {
          const { spec, status } = await token();
          expect(spec.audiences).toEqual(['tests']);
          expect(status.expirationTimestamp).toBeInstanceOf(Date);
          const claims = JSON.parse(Buffer.from(status.token.split('.')[1], 'base64url').toString());
          expect(claims).toMatchObject({ aud: ['tests'], sub: 'system:serviceaccount:default:default' });
        },
        async listComponentStatus() {
          expect(names(await core('listComponentStatus'))).toContain('etcd-0');
        },
        async readComponentStatus() {
          const { conditions } = await core('readComponentStatus', { name: 'etcd-0' });
          expect(conditions).toMatchObject([{ type: 'Healthy', status: 'True' }]);
        },
        async readNamespacedPodEphemeralcontainers() {
          const made = await pod('read-helped');
          const request = { ...here, name: 'read-helped' };
          expect(await core('readNamespacedPodEphemeralcontainers', request)).toEqual(made);
        },
        async replaceNamespacedPodEphemeralcontainers() {
          const made = await pod('helped');
          made.spec.ephemeralContainers = [{ name: 'help', image: 'registry.example/help:1' }];
          const request = { ...here, name: 'helped', body: made };
          const { spec } = await core('replaceNamespacedPodEphemeralcontainers', request);
          expect(spec.ephemeralContainers).toMatchObject([{ name: 'help' }]);
        },
        async patchNamespacedPodEphemeralcontainers() {
          await pod('patch-helped');
          const value = [{ name: 'help', image: 'registry.example/help:1' }];
          const body = [{ op: 'add', path: '/spec/ephemeralContainers', value }];
          const request = { ...here, name: 'patch-helped', body };
          const { spec } = await core('patchNamespacedPodEphemeralcontainers', request);
          expect(spec.ephemeralContainers).toMatchObject(value);
        },
        async readNamespacedPodResize() {
          const made = await sizedPod('read-sized');
          expect(await core('readNamespacedPodResize', { ...here, name: 'read-sized' })).toEqual(made);
        },
        async replaceNamespacedPodResize() {
          const made = await sizedPod('sized');
          made.spec.containers[0].resources.requests.cpu = '200m';
          const request = { ...here, name: 'sized', body: made };
          const { spec, metadata } = await core('replaceNamespacedPodResize', request);
          expect(spec.containers[0].resources.requests).toEqual({ cpu: '200m' });
          expect(metadata.generation).toBe(2);
        },
        async patchNamespacedPodResize() {
          await sizedPod('patch-sized');
          const path = '/spec/containers/0/resources/requests/cpu';
          const body = [{ op: 'replace', path, value: '300m' }];
          const { spec } = await core('patchNamespacedPodResize', { ...here, name: 'patch-sized', body });
          expect(spec.containers[0].resources.requests).toEqual({ cpu: '300m' });
        },
        async readNamespacedReplicationControllerScale() {
          await replicationController('read-scaled');
          const scale = await core('readNamespacedReplicationControllerScale', {
            ...here,
            name: 'read-scaled',
          });
          expect(scale).toMatchObject({
            kind: 'Scale',
            apiVersion: 'autoscaling/v1',
            spec: { replicas: 1 },
            status: { selector: 'app=read-scaled' },
          });
        },
        async replaceNamespacedReplicationControllerScale() {
          await replicationController('scaled');
          const request = { ...here, name: 'scaled' };
          const scale = await core('readNamespacedReplicationControllerScale', request);
          scale.spec.replicas = 3;
          await core('replaceNamespacedReplicationControllerScale', { ...request, body: scale });
          expect((await core('readNamespacedReplicationController', request)).spec.replicas).toBe(3);
        },
        async patchNamespacedReplicationControllerScale() {
          await replicationController('patch-scaled');
          const body = [{ op: 'replace', path: '/spec/replicas', value: 2 }];
          const request = { ...here, name: 'patch-scaled' };
          await core('patchNamespacedReplicationControllerScale', { ...request, body });
          expect((await core('readNamespacedReplicationController', request)).spec.replicas).toBe(2);
        },
        async replaceNamespaceFinalize() {
          const made = await core('createNamespace', { body: { metadata: { name: 'finalized' } } });
          expect(made.spec.finalizers).toEqual(['kubernetes']);
          const body = { ...made, spec: { finalizers: ['kubernetes', 'example.com/held'] } };
          const { spec } = await core('replaceNamespaceFinalize', { name: 'finalized', body });
          expect(spec.finalizers).toEqual(['kubernetes', 'example.com/held']);
        },
      },
    ],
    ...['Deployment', 'ReplicaSet', 'StatefulSet'].map((kind): [ApiClass, CallTable] => [
      AppsV1Api,
      scaleCalls(library, kind),
    ]),
    [
      AuthenticationV1Api,
      {
        async createSelfSubjectReview() {
          const { status } = await library.call(AuthenticationV1Api, 'createSelfSubjectReview', { body: {} });
          expect(status.userInfo.groups).toContain('system:masters');
        },
        async createTokenReview() {
          const review = async (token: string) =>
            (
              await library.call(AuthenticationV1Api, 'createTokenReview', {
                body: { spec: { token, audiences: ['tests'] } },
              })
            ).status;
          expect(await review((await token()).status.token)).toMatchObject({
            authenticated: true,
            user: { username: 'system:serviceaccount:default:default' },
          });
          expect((await review('nonsense')).authenticated).not.toBe(true);
        },
      },
    ],
    [
      AuthorizationV1Api,
      {
        async createSelfSubjectAccessReview() {
          const resourceAttributes = { verb: 'create', resource: 'pods', ...here };
          const { status } = await library.call(AuthorizationV1Api, 'createSelfSubjectAccessReview', {
            body: { spec: { resourceAttributes } },
          });
          expect(status.allowed).toBe(true);
        },
        async createSelfSubjectRulesReview() {
          const { status } = await library.call(AuthorizationV1Api, 'createSelfSubjectRulesReview', {
            body: { spec: here },
          });
          expect(status.resourceRules).not.toHaveLength(0);
        },
        async createSubjectAccessReview() {
          const resourceAttributes = { verb: 'get', resource: 'pods', ...here };
          const { status } = await library.call(AuthorizationV1Api, 'createSubjectAccessReview', {
            body: { spec: { user: 'somebody', groups: ['system:masters'], resourceAttributes } },
          });
          expect(status.allowed).toBe(true);
        },
        async createNamespacedLocalSubjectAccessReview() {
          const resourceAttributes = { verb: 'get', resource: 'pods', ...here };
          const { status } = await library.call(
            AuthorizationV1Api,
            'createNamespacedLocalSubjectAccessReview',
            {
              ...here,
              body: {
                metadata: here,
                spec: { user: 'somebody', groups: ['system:masters'], resourceAttributes },
              },
            },
          );
          expect(status.allowed).toBe(true);
        },
      },
    ],
  ];
}
