/**
 * The approver: approves requests of nodes for client certificates if the requesting user may have one, and requests
 * for serving certificates if all names in them belong to the node. All other requests wait for an administrator.
 */

import type { CertificateSigningRequest, Node } from '../../api/generated/types.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import { conditionsOf, hasCondition } from '../../api/rules/access/signing-conditions.ts';
import { kubeletServingSigner } from '../../api/values/node-identity.ts';
import type { User } from '../../api/values/user.ts';
import type { SigningRequest } from '../../pki/signing-request.ts';
import { requestIn, signingRequestId } from '../../registry/admission/signing-requests.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import {
  type Controller,
  idle,
  ifUnchanged,
  observe,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { areOwnNames } from './serving-names.ts';
import { kubeletClientSigner, nodeNamed, signerProblem } from './signer-rules.ts';

/** Waiting requests are checked again after this time: permissions may change without a write to the request. */
const lookAgainMs = 10_000;

const group = 'certificates.k8s.io';

export const certificateApprover: Controller = {
  name: 'csrapproving',
  housekeeping: true,
  writer: 'certificate-controller',
  start(context) {
    if (!context.trust) return idle;
    const queue: WorkQueue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => decide(context, queue, name),
      onError: (_, error) => context.onError(error),
    });
    const waiting = (): Entry[] =>
      context.registry.view.collection(signingRequestId).select(everything).entries.filter(isWaiting);
    const observations = [
      observe(context, signingRequestId, (entry) => {
        if (entry && isWaiting(entry)) queue.add(entry.name);
      }),
      observe(context, 'core/nodes', (entry) => {
        if (!entry) return;
        for (const request of waiting())
          if ((request.peek() as CertificateSigningRequest).spec?.username === `system:node:${entry.name}`)
            queue.add(request.name);
      }),
    ];
    return running(observations, [queue]);
  },
};

function isWaiting(entry: Entry): boolean {
  const request = entry.peek() as CertificateSigningRequest;
  return (
    [kubeletClientSigner, kubeletServingSigner].includes(request.spec?.signerName ?? '') &&
    !request.status?.certificate &&
    !hasCondition(request, 'Approved') &&
    !hasCondition(request, 'Denied')
  );
}

async function decide(context: SharedContext, queue: WorkQueue, name: string): Promise<void> {
  const { registry, writing } = context;
  const entry = registry.view.collection(signingRequestId).get('', name);
  if (!entry || !isWaiting(entry)) return;
  const object = entry.peek() as CertificateSigningRequest;
  const { signerName = '', usages = [] } = object.spec ?? {};
  const request = requestIn(object);
  if (signerProblem(signerName, request, usages) !== undefined) return;
  const message =
    signerName === kubeletClientSigner
      ? await clientApproval(writing.authorizer, object, request)
      : servingApproval(context, object, request);
  if (message === undefined) return queue.addAfter(name, lookAgainMs);
  await approve(context, entry, message);
}

async function clientApproval(
  authorizer: Authorizer,
  object: CertificateSigningRequest,
  { read }: SigningRequest,
): Promise<string | undefined> {
  const user = userOf(object);
  const may = async (subresource: string): Promise<boolean> => {
    const resource = {
      group,
      version: '*',
      resource: 'certificatesigningrequests',
      subresource,
      namespace: undefined,
      name: undefined,
    };
    return (await authorizer.decide({ user, info: { verb: 'create', path: '', resource } })).allowed;
  };
  if (user.name === read.commonName && (await may('selfnodeclient')))
    return 'Auto approving self kubelet client certificate after SubjectAccessReview.';
  if (await may('nodeclient')) return 'Auto approving kubelet client certificate after SubjectAccessReview.';
  return undefined;
}

const userOf = ({ spec }: CertificateSigningRequest): User => ({
  name: spec?.username ?? '',
  ...(spec?.uid ? { uid: spec.uid } : {}),
  groups: spec?.groups ?? [],
  extra: (spec?.extra ?? {}) as Record<string, string[]>,
});

function servingApproval(
  { registry, trust }: SharedContext,
  object: CertificateSigningRequest,
  { read, names }: SigningRequest,
): string | undefined {
  const user = userOf(object);
  if (user.name !== read.commonName || !user.groups.includes('system:nodes')) return undefined;
  const node = registry.view.collection('core/nodes').get('', nodeNamed(read))?.peek() as Node | undefined;
  return node && areOwnNames(registry, trust!, node, object, names)
    ? 'Auto approving kubelet serving certificate: all its names are those of the node.'
    : undefined;
}

async function approve(
  { registry, writing, request }: SharedContext,
  entry: Entry,
  message: string,
): Promise<void> {
  const approved = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message,
    lastUpdateTime: registry.now(),
  };
  await ifUnchanged(
    modify(writing, request('update'), targetOf(entry, 'approval'), () => {
      // With its resourceVersion, so that another decision is not overwritten.
      const object = entry.object() as CertificateSigningRequest;
      object.status = { ...object.status, conditions: [...conditionsOf(object), approved] };
      return object;
    }),
  );
}
