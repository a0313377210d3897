/** Token requests: `POST …/serviceaccounts/{name}/token` answers with a token that expires. Nothing is stored. */

import type { BoundClaims, TokenSettings } from '../../access/tokens/tokens.ts';
import { badRequest, conflict, invalid as invalidObject } from '../../api/errors/errors.ts';
import { invalid } from '../../api/errors/field-error.ts';
import type { Pod, ServiceAccount, TokenRequest } from '../../api/generated/types.ts';
import { modelOf } from '../../api/model/model.ts';
import { formatTime } from '../../api/values/time.ts';
import { readObject } from '../../registry/input.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Target } from '../../registry/target.ts';
import { read } from '../../registry/verbs/list.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { checkPathName, objectBody, type Serving, writeRequest } from '../objects/objects.ts';

const secondsDefault = 3600;
const secondsMin = 600;
const secondsMax = 2 ** 32;
/**
 * The lifetime that kubelets request when a pod does not name one: an hour plus seven seconds, by which Kubernetes
 * recognises such requests.
 */
const agentSeconds = 3607;
/** Lifetime of tokens of pods whose programs may read their token only once. */
const extendedSeconds = 365 * 24 * 3600;

const group = 'authentication.k8s.io';
const kind = 'TokenRequest';
const resource = { kind, resource: kind, group };

export async function requestToken(serving: Serving, context: RequestContext, target: Target): Promise<void> {
  const { namespace, name } = target;
  checkPathName(name);
  const { registry, writing, tokens, createStatus } = serving;
  const asking = writeRequest(serving, context, 'CreateOptions');
  const negotiated = { ...context.negotiate('all', false, false), transform: undefined };
  const input = await objectBody(serving, context, kind);
  const expected = { kind, apiVersion: `${group}/v1`, model: modelOf(kind) };
  const request = readObject(registry.kinds, expected, input, asking) as TokenRequest;
  checkMetadata(request, namespace, name);
  const account = (await read(registry, target, undefined)).object() as ServiceAccount;
  checkUid(request, account);
  await writing.admission.connect(registry, asking, target, request);
  const spec = settledSpec(request, tokens.settings, context.warnings);
  const bound = boundObject(registry, account, spec.boundObjectRef);
  const life = lifeOf(tokens.settings, spec, bound);
  const { token, issuedSeconds, id } = await tokens.bound(account, { ...life, ...bound });
  context.annotations['authentication.kubernetes.io/issued-credential-id'] = `JTI=${id}`;
  const { uid, creationTimestamp } = account.metadata;
  const answer = {
    kind,
    apiVersion: `${group}/v1`,
    metadata: { name, namespace, uid, creationTimestamp },
    spec: { ...spec, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: formatTime((issuedSeconds + spec.expirationSeconds) * 1000) },
  };
  await answerValue(context, createStatus, answer, negotiated, expected.model);
}

function checkMetadata({ metadata }: TokenRequest, namespace: string, name: string): void {
  const errors = [
    ...(metadata.name && metadata.name !== name
      ? [invalid('metadata.name', metadata.name, 'must match the service account name if specified')]
      : []),
    ...(metadata.namespace && metadata.namespace !== namespace
      ? [
          invalid(
            'metadata.namespace',
            metadata.namespace,
            'must match the service account namespace if specified',
          ),
        ]
      : []),
  ];
  if (errors.length) throw invalidObject({ kind, group }, name, errors);
}

function checkUid({ metadata: { uid } }: TokenRequest, { metadata }: ServiceAccount): void {
  if (uid && uid !== metadata.uid)
    throw conflict(
      resource,
      metadata.name!,
      `the UID in the token request (${uid}) does not match the UID of the service account (${metadata.uid})`,
    );
}

type Spec = NonNullable<TokenRequest['spec']>;
type SettledSpec = Spec & { readonly audiences: string[]; readonly expirationSeconds: number };

/** The spec of the request with defaults filled in. */
function settledSpec({ spec = {} }: TokenRequest, settings: TokenSettings, warnings: string[]): SettledSpec {
  const { audiences, expirationMaxSeconds: max } = settings;
  const seconds = spec.expirationSeconds ?? secondsDefault;
  const refuse = (why: string): never => {
    throw invalidObject({ kind, group }, '', [invalid('spec.expirationSeconds', seconds, why)]);
  };
  if (seconds < secondsMin) refuse('may not specify a duration less than 10 minutes');
  if (seconds > secondsMax) refuse('may not specify a duration larger than 2^32 seconds');
  const shortened = max !== undefined && seconds > max;
  if (shortened) warnings.push(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
  return {
    ...spec,
    audiences: spec.audiences?.length ? spec.audiences : [...audiences],
    expirationSeconds: shortened ? max : seconds,
  };
}

type Bound = Pick<BoundClaims, 'pod' | 'secret' | 'node'>;

/** The object that the token is to be bound to. Throws unless it exists and has the requested uid. */
function boundObject(registry: Registry, account: ServiceAccount, reference: Spec['boundObjectRef']): Bound {
  if (!reference) return {};
  const { kind: name = '', apiVersion = '' } = reference;
  const bound = apiVersion === 'v1' && /^(Pod|Secret|Node)$/.test(name) && registry.kinds.kind('v1', name);
  if (!bound) throw badRequest(`cannot bind token to object of type ${typeText(apiVersion, name)}`);
  const namespace = bound.namespaced ? account.metadata.namespace! : '';
  const object = registry.find({ kind: bound, namespace, name: reference.name ?? '' }).object();
  if (name === 'Pod') checkAccount(object as Pod, account);
  const { name: boundName = '', uid } = object.metadata;
  if (reference.uid && reference.uid !== uid)
    throw conflict(
      { kind: name, resource: name, group: '' },
      boundName,
      `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  const claim = { name: boundName, uid };
  if (name === 'Secret') return { secret: claim };
  return name === 'Node' ? { node: claim } : { pod: claim, node: nodeOf(registry, object as Pod) };
}

/** `/v1, Kind=ConfigMap`: as Go writes a kind. */
function typeText(apiVersion: string, name: string): string {
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${name}`;
}

function checkAccount({ spec }: Pod, { metadata }: ServiceAccount): void {
  if (spec?.serviceAccountName !== metadata.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(metadata.name)} to pod running with different serviceaccount name.`,
    );
}

/** The node that a pod is on; without a uid when the node is gone. */
function nodeOf({ view }: Registry, { spec }: Pod): Bound['node'] {
  const name = spec?.nodeName;
  if (!name) return undefined;
  const uid = view.collection('core/nodes').get('', name)?.peek().metadata.uid;
  return uid === undefined ? { name } : { name, uid };
}

function lifeOf(
  settings: TokenSettings,
  { audiences, expirationSeconds }: SettledSpec,
  { pod }: Bound,
): Pick<BoundClaims, 'audiences' | 'lifeSeconds' | 'warnAfterSeconds'> {
  const isExtended =
    settings.extendExpiration &&
    pod !== undefined &&
    expirationSeconds === agentSeconds &&
    audiences.every((audience) => settings.audiences.includes(audience));
  if (!isExtended) return { audiences, lifeSeconds: expirationSeconds };
  return { audiences, lifeSeconds: extendedSeconds, warnAfterSeconds: expirationSeconds };
}
