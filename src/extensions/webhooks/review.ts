/** AdmissionReview: the request to a webhook, and its response. Fields are in the order of Kubernetes. */
import { type StatusDetails, StatusError } from '../../api/errors/errors.ts';
import type { AdmissionResponse, AdmissionReview } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { isJsonObject, type JsonObject, setKey } from '../../api/text/object.ts';
import { annotationsMax } from '../calls/hook-client.ts';
import { readReview, typeProblem } from '../calls/review-answer.ts';
import { requestOptions, requestParts } from '../writes/admission-request.ts';
import type { AskedWrite } from '../writes/asked-write.ts';
import type { Hook } from './hook.ts';

const group = 'admission.k8s.io';
const reviewKind = 'AdmissionReview';

/** Status codes with which a webhook may refuse. */
const refusalCodes = { min: 400, max: 599 } as const;

/** Maximum length of a refusal that is passed on, and how many of its causes, which length of each. */
const refusalCharsMax = 65_536;
const causesMax = 100;
const causeCharsMax = 4_096;

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

/**
 * Warnings and annotations that are taken from one answer; further ones are dropped before they are looked at, because
 * an answer has room for some hundred thousand.
 */
export const warningsMax = 100;

function withFewer({ response }: JsonObject): void {
  if (!isJsonObject(response)) return;
  const { warnings, auditAnnotations } = response;
  if (Array.isArray(warnings)) warnings.length = Math.min(warnings.length, warningsMax);
  if (!isJsonObject(auditAnnotations)) return;
  const names = Object.keys(auditAnnotations);
  if (names.length <= annotationsMax) return;
  response.auditAnnotations = {};
  for (const name of names.slice(0, annotationsMax))
    setKey(response.auditAnnotations as JsonObject, name, auditAnnotations[name]);
}

/** The response in a webhook's answer. Throws when the answer has no valid response. */
export function responseOf(
  answer: JsonObject,
  { reviewVersion }: Hook,
  uid: string,
  mutating: boolean,
): AdmissionResponse {
  const type = { group, version: reviewVersion, kind: reviewKind, table: 'admission-v1' };
  withFewer(answer);
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

/** The first causes, without the end of long texts: an answer has room for a hundred thousand. */
function withFewerCauses(details: StatusDetails | undefined): StatusDetails | undefined {
  if (!details?.causes) return details;
  const causes = details.causes.slice(0, causesMax).map(({ message, ...cause }) => ({
    ...cause,
    ...(message === undefined ? {} : { message: message.slice(0, causeCharsMax) }),
  }));
  return { ...details, causes };
}

/** What the client gets when a webhook refuses a write. */
export function refusal(hook: Hook, { status }: AdmissionResponse): StatusError {
  const denied = `admission webhook ${JSON.stringify(hook.name)} denied the request`;
  const { code = 0, reason, message, details } = status ?? {};
  const why = (message || reason)?.slice(0, refusalCharsMax);
  return new StatusError(
    Math.min(Math.max(code, refusalCodes.min), refusalCodes.max),
    reason?.slice(0, refusalCharsMax),
    why ? `${denied}: ${why}` : `${denied} without explanation`,
    withFewerCauses(details as StatusDetails | undefined),
  );
}
