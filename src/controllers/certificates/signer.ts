/**
 * The signer: signs approved requests of the built-in signers with the cluster's authority, and serving certificates of
 * agents with the authority for nodes.
 */
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { conditionsOf, hasCondition } from '../../api/rules/access/signing-conditions.ts';
import { kubeletServingSigner } from '../../api/values/node-identity.ts';
import { type Grant, yearMs } from '../../pki/authority.ts';
import { requestIn, signingRequestId } from '../../registry/admission/signing-requests.ts';
import {
  type ClusterTrust,
  type Controller,
  idle,
  observe,
  running,
  type SharedContext,
  writeStatus,
} from '../shared/controller.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { addNodeProxier } from './node-proxiers.ts';
import { isOwnSigner, kubeletClientSigner, signerProblem } from './signer-rules.ts';

const lifeMinMs = 10 * 60_000;
const lifeMaxMs = yearMs;

export const certificateSigner: Controller = {
  name: 'csrsigning',
  housekeeping: true,
  writer: 'certificate-controller',
  start(context) {
    const { trust } = context;
    if (!trust) return idle;
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => sign(context, trust, name),
      onError: (_, error) => context.onError(error),
    });
    const observation = observe(context, signingRequestId, (entry) => {
      if (entry && isDue(entry.peek() as CertificateSigningRequest)) queue.add(entry.name);
    });
    return running([observation], [queue]);
  },
};

const isDue = (request: CertificateSigningRequest): boolean =>
  isOwnSigner(request.spec?.signerName ?? '') &&
  !request.status?.certificate &&
  hasCondition(request, 'Approved') &&
  !hasCondition(request, 'Denied') &&
  !hasCondition(request, 'Failed');

async function sign(context: SharedContext, trust: ClusterTrust, name: string): Promise<void> {
  const { registry } = context;
  const entry = registry.view.collection(signingRequestId).get('', name);
  const object = entry?.peek() as CertificateSigningRequest | undefined;
  if (!entry || !object || !isDue(object)) return;
  const { signerName = '', usages = [], expirationSeconds } = object.spec ?? {};
  const request = requestIn(object);
  const problem = signerProblem(signerName, request, usages);
  const nowMs = registry.sources.nowMs();
  if (problem !== undefined) {
    const failed = {
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message: problem,
      lastUpdateTime: registry.now(),
    };
    await writeStatus(context, entry, { conditions: [...conditionsOf(object), failed] });
    return;
  }
  // Done here, too, because an administrator may have approved the request instead of the approver.
  if (signerName === kubeletClientSigner) await addNodeProxier(context, request.read.commonName);
  const askedMs = expirationSeconds === undefined ? lifeMaxMs : expirationSeconds * 1000;
  const lifeMs = Math.min(Math.max(askedMs, lifeMinMs), lifeMaxMs);
  const grant = { request, usages, lifeMs };
  const certificate =
    signerName === kubeletServingSigner
      ? await servingCertificate(trust, grant, nowMs)
      : trust.authority.sign(grant, nowMs);
  await writeStatus(context, entry, {
    ...object.status,
    certificate: Buffer.from(certificate).toString('base64'),
  });
}

/** Signs a serving certificate, and appends the authority by which the agent recognises the API server. */
async function servingCertificate(
  { nodeAuthority }: ClusterTrust,
  grant: Grant,
  nowMs: number,
): Promise<string> {
  const authority = await nodeAuthority();
  return authority.sign(grant, nowMs) + authority.pem.cert;
}
