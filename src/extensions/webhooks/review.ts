/** AdmissionReview: what a webhook is asked, and what its answer says. Fields are in the order of Kubernetes. */
import type { AdmissionResponse, AdmissionReview } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { JsonObject } from '../../api/text/object.ts';
import type { Admission } from '../../registry/admission-chain.ts';
import type { AskedWrite } from './asked-write.ts';
import type { Hook, Operation } from './hook.ts';
import { readReview, typeProblem } from './review-answer.ts';

const group = 'admission.k8s.io';
const reviewKind = 'AdmissionReview';

/** Why an answer is not accepted. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

export function reviewText(write: AskedWrite, version: Kind, hook: Hook, uid: string): string {
  const parts = [
    `"uid":${JSON.stringify(uid)}`,
    ...requestParts(write, version),
    `"object":${write.objectText(version)}`,
    `"oldObject":${write.oldText(version)}`,
    `"dryRun":${write.admission.request.dryRun}`,
    `"options":${JSON.stringify(requestOptions(write.admission, write.question.operation))}`,
  ];
  return `{"kind":"${reviewKind}","apiVersion":"${group}/${hook.reviewVersion}","request":{${parts.join(',')}}}`;
}

/** What expressions see as `request`: all but the uid and the objects. */
export function requestText(write: AskedWrite, version: Kind): string {
  const { admission, question } = write;
  const parts = [
    ...requestParts(write, version),
    `"dryRun":${admission.request.dryRun}`,
    `"options":${JSON.stringify(requestOptions(admission, question.operation))}`,
  ];
  return `{${parts.join(',')}}`;
}

/** What a request is about. */
function requestParts(write: AskedWrite, version: Kind): string[] {
  const { question, admission, name, namespace } = write;
  const { kind: requested, subresource, operation } = question;
  const { user } = admission.request;
  const part = (key: string): string[] => (subresource ? [member(key, subresource)] : []);
  return [
    member('kind', write.kindIn(version)),
    member('resource', resourceOf(version)),
    ...part('subResource'),
    member('requestKind', write.kindIn(requested)),
    member('requestResource', resourceOf(requested)),
    ...part('requestSubResource'),
    ...(name ? [member('name', name)] : []),
    ...(namespace ? [member('namespace', namespace)] : []),
    member('operation', operation),
    member('userInfo', {
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      groups: user.groups,
      ...(user.extra && Object.keys(user.extra).length ? { extra: user.extra } : {}),
    }),
  ];
}

const member = (key: string, value: string | object): string => `"${key}":${JSON.stringify(value)}`;

const resourceOf = ({ group: of, version, resource }: Kind) => ({ group: of, version, resource });

function requestOptions({ request, options }: Admission, operation: Operation): object | null {
  const meta = { apiVersion: 'meta.k8s.io/v1' };
  const dryRun = request.dryRun ? { dryRun: ['All'] } : {};
  if (operation === 'CONNECT') return null;
  if (operation === 'DELETE') {
    const { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy } = options ?? {};
    const asked = { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy };
    return { kind: 'DeleteOptions', ...meta, ...asked, ...dryRun };
  }
  const { askedManager, askedValidation } = request;
  return {
    kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
    ...meta,
    ...dryRun,
    ...(askedManager ? { fieldManager: askedManager } : {}),
    ...(askedValidation ? { fieldValidation: askedValidation } : {}),
  };
}

/** The response in a webhook's answer. Throws when the answer has no valid response. */
export function responseOf(
  answer: JsonObject,
  { reviewVersion }: Hook,
  uid: string,
  mutating: boolean,
): AdmissionResponse {
  const type = { group, version: reviewVersion, kind: reviewKind, table: 'admission-v1' };
  const { response } = readReview(answer, type) as AdmissionReview;
  if (!response) throw new InvalidAnswer('webhook response was absent');
  if (reviewVersion !== 'v1') return response;
  if ((response.uid ?? '') !== uid)
    throw new InvalidAnswer(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`,
    );
  const problem = typeProblem(answer, type) ?? patchProblem(response, mutating);
  if (problem) throw new InvalidAnswer(problem);
  return response;
}

function patchProblem({ patch, patchType }: AdmissionResponse, mutating: boolean): string | undefined {
  if (!mutating) {
    if (patch) return 'validating webhook may not return response.patch';
    return patchType === undefined ? undefined : 'validating webhook may not return response.patchType';
  }
  if (patch && patchType === undefined) return 'webhook returned response.patch but not response.patchType';
  if (!patch && patchType !== undefined) return 'webhook returned response.patchType but not response.patch';
  if (patchType === '') return 'webhook returned invalid response.patchType of ""';
  return undefined;
}
