/** Token requests: `POST …/serviceaccounts/{name}/token` answers with a token that expires. Nothing is stored. */
import { invalid as invalidObject, StatusError } from '../../api/errors.ts';
import { type FieldError, invalid, notSupported } from '../../api/fielderror.ts';
import type { ServiceAccount, TokenRequest } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind.ts';
import { modelOf } from '../../api/model.ts';
import { formatTime } from '../../api/time.ts';
import { readObject } from '../../registry/input.ts';
import { read } from '../../registry/list.ts';
import type { Target } from '../../registry/target.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { checkPathName, objectBody, type Serving, writeRequest } from '../objects/objects.ts';

const secondsDefault = 3600;
const secondsMin = 600;
const secondsMax = 2 ** 32;

export async function requestToken(
  serving: Serving,
  context: RequestContext,
  accounts: Kind,
  namespace: string,
  name: string,
): Promise<void> {
  checkPathName(name);
  const { registry, createStatus } = serving;
  const asking = writeRequest(serving, context, 'CreateOptions');
  const account = (
    await read(registry, { kind: accounts, namespace, name }, undefined)
  ).object() as ServiceAccount;
  const input = await objectBody(serving, context, 'TokenRequest');
  const expected = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    model: modelOf('TokenRequest'),
  };
  const request = readObject(registry.kinds, expected, input, asking) as TokenRequest;
  const target: Target = { kind: accounts, namespace, name, part: 'token' };
  await registry.admission.connect(registry, asking, target, request);
  const spec = (request.spec ??= {});
  spec.expirationSeconds ??= secondsDefault;
  spec.audiences = spec.audiences?.length ? spec.audiences : [...registry.tokens.defaultAudiences];
  const errors = specErrors(spec);
  if (errors.length)
    throw invalidObject({ kind: 'TokenRequest', group: 'authentication.k8s.io' }, name, errors);
  const { token, expiresMs } = await registry.tokens.bound(account, {
    audiences: spec.audiences,
    expirationSeconds: spec.expirationSeconds,
    boundObject: boundObject(serving, namespace, spec.boundObjectRef),
  });
  const answer = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: registry.now() },
    spec: { ...spec, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: formatTime(expiresMs) },
  };
  await answerValue(context, createStatus, answer, { ...context.negotiate(), transform: undefined });
}

function specErrors({
  expirationSeconds = 0,
  boundObjectRef,
}: NonNullable<TokenRequest['spec']>): FieldError[] {
  const errors: FieldError[] = [];
  if (expirationSeconds < secondsMin)
    errors.push(
      invalid('spec.expirationSeconds', expirationSeconds, 'may not specify a duration less than 10 minutes'),
    );
  if (expirationSeconds > secondsMax)
    errors.push(
      invalid(
        'spec.expirationSeconds',
        expirationSeconds,
        'may not specify a duration larger than 2^32 seconds',
      ),
    );
  if (boundObjectRef && !['Pod', 'Secret', 'Node'].includes(boundObjectRef.kind ?? ''))
    errors.push(
      notSupported('spec.boundObjectRef.kind', boundObjectRef.kind ?? '', ['Pod', 'Secret', 'Node']),
    );
  return errors;
}

/** The object that a token is to be bound to must exist and have the given uid. */
function boundObject(
  { registry }: Serving,
  namespace: string,
  reference: NonNullable<TokenRequest['spec']>['boundObjectRef'],
): { kind: string; name: string; uid: string } | undefined {
  if (!reference) return undefined;
  const kind = registry.kinds.kind('v1', reference.kind!)!;
  const object = registry
    .find({ kind, namespace: kind.namespaced ? namespace : '', name: reference.name ?? '' })
    .object();
  if (reference.uid && reference.uid !== object.metadata.uid)
    throw new StatusError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${kind.kind} "${reference.name}": the UID in the bound object reference (${reference.uid}) does not match the UID in record (${object.metadata.uid}). The object might have been deleted and then recreated`,
      { name: reference.name, kind: kind.kind },
    );
  return { kind: kind.kind, name: reference.name!, uid: object.metadata.uid! };
}
