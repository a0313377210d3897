/** Conditions of signing requests: what may become of them, and who may say so. */
import {
  child,
  duplicate,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition as Condition,
} from '../../generated/types.ts';
import type { Findings } from '../shared/findings.ts';

const path = 'status.conditions';
const statuses: readonly string[] = ['False', 'True', 'Unknown'];
/** Conditions whose status can only be True. */
const decisions: readonly string[] = ['Approved', 'Denied', 'Failed'];
/** Conditions that are set by approval; signers may not change them. */
const approvals: readonly string[] = ['Approved', 'Denied'];

export const conditionsOf = ({ status }: CertificateSigningRequest): readonly Condition[] =>
  status?.conditions ?? [];

const ofType = (request: CertificateSigningRequest, type: string): Condition[] =>
  conditionsOf(request).filter((condition) => condition.type === type);

export const hasCondition = (request: CertificateSigningRequest, type: string): boolean =>
  conditionsOf(request).some((condition) => condition.type === type);

export function* signingConditionErrors(request: CertificateSigningRequest): Findings {
  const seen = new Set<string>();
  for (const [i, { type = '', status = '' }] of conditionsOf(request).entries()) {
    const entry = index(path, i);
    if (type === '') yield required(child(entry, 'type'));
    const supported = decisions.includes(type) ? ['True'] : statuses;
    if (status === '') yield required(child(entry, 'status'));
    else if (!supported.includes(status)) yield notSupported(child(entry, 'status'), status, supported);
    const repeated = seen.has(type);
    seen.add(type);
    if (approvals.every((one) => seen.has(one)))
      yield invalid(path, type, 'Approved and Denied conditions are mutually exclusive');
    if (repeated) yield duplicate(child(entry, 'type'), type);
  }
}

/** @param part through which it is changed */
export function* conditionChangeErrors(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  part: 'approval' | 'status',
): Findings {
  for (const type of decisions)
    if (ofType(request, type).length < ofType(old, type).length)
      yield forbidden(path, `updates may not remove a condition of type ${JSON.stringify(type)}`);
  if (part === 'approval') return;
  for (const type of approvals)
    if (ofType(request, type).length > ofType(old, type).length)
      yield forbidden(path, `updates may not add a condition of type ${JSON.stringify(type)}`);
}

/** A signer repeats the approval that it has read; it stays as it is stored, whatever is sent. */
export function keepApprovals(request: CertificateSigningRequest, old: CertificateSigningRequest): void {
  const conditions = request.status?.conditions;
  if (!conditions) return;
  for (const type of approvals) {
    const kept = ofType(old, type);
    if (kept.length !== ofType(request, type).length) continue;
    for (const [i, condition] of conditions.entries())
      if (condition.type === type) conditions[i] = { ...kept.shift()! };
  }
}

/** Fills in times that were not sent. A condition that stays what it was keeps the time of its change. */
export function setConditionTimes(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  now: string,
): void {
  for (const condition of request.status?.conditions ?? []) {
    const { type, status } = condition;
    const before = conditionsOf(old).find((one) => one.type === type && one.status === status);
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= before?.lastTransitionTime ?? now;
  }
}
