/**
 * The request in an AdmissionReview, which webhooks and expressions get, with its fields in the order of Kubernetes.
 */
import type { Kind } from '../../api/kind/kind.ts';
import type { Admission } from '../../registry/admission-chain.ts';
import type { AskedWrite } from './asked-write.ts';
import type { Operation } from './write-question.ts';

/** JSON of `request` for expressions: everything but the uid and the objects. */
export function requestText(write: AskedWrite, version: Kind): string {
  const { admission, question } = write;
  const parts = [
    ...requestParts(write, version),
    `"dryRun":${admission.request.dryRun}`,
    `"options":${JSON.stringify(requestOptions(admission, question.operation))}`,
  ];
  return `{${parts.join(',')}}`;
}

/** The fields that describe the target of the request. */
export function requestParts(write: AskedWrite, version: Kind): string[] {
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

export function requestOptions({ request, options }: Admission, operation: Operation): object | null {
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
