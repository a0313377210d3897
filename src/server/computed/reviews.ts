/**
 * Reviews (TokenReview, SubjectAccessReview and others): the body of a POST asks who a user is or what the user may
 * do; the answer is the same object with its status filled in. Nothing is stored.
 */
import { normalized } from '../../api/encode.ts';
import {
  badRequest,
  invalid as invalidObject,
  methodNotAllowed,
  resourceNotFound,
} from '../../api/errors.ts';
import { type FieldError, invalid } from '../../api/fielderror.ts';
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectReviewStatus,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewStatus,
  SubjectRulesReviewStatus,
  TokenReview,
  TokenReviewStatus,
} from '../../api/generated/types.ts';
import { modelOf } from '../../api/model.ts';
import type { ApiObject, JsonObject } from '../../api/object.ts';
import type { User } from '../../api/user.ts';
import { settleNamespace } from '../../registry/create.ts';
import { type Expected, readObject } from '../../registry/input.ts';
import type { ComputedVersions, DiscoveryResource } from '../discovery/discovery.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/requestinfo.ts';
import { objectBody, type Serving, writeRequest } from '../objects/objects.ts';

interface Asked {
  readonly serving: Serving;
  readonly context: RequestContext;
  /** '' for cluster-scoped reviews. */
  readonly namespace: string;
}

/** One kind of review: how it is answered. It may reject the request. */
interface Form extends Expected {
  readonly resource: string;
  readonly group: string;
  readonly namespaced: boolean;
  review(object: ApiObject, asked: Asked): object | Promise<object>;
}

const authentication = 'authentication.k8s.io';
const authorization = 'authorization.k8s.io';

function form(group: string, kind: string, review: Form['review'], namespaced = false): Form {
  return {
    kind,
    resource: `${kind.toLowerCase()}s`,
    group,
    apiVersion: `${group}/v1`,
    namespaced,
    model: modelOf(kind, `${group.split('.')[0]}-v1`),
    review,
  };
}

const forms: readonly Form[] = [
  form(authentication, 'SelfSubjectReview', selfReview),
  form(authentication, 'TokenReview', tokenReview),
  form(authorization, 'LocalSubjectAccessReview', localAccessReview, true),
  form(authorization, 'SelfSubjectAccessReview', selfAccessReview),
  form(authorization, 'SelfSubjectRulesReview', rulesReview),
  form(authorization, 'SubjectAccessReview', accessReview),
];

const resourceOf = ({ resource, kind, namespaced }: Form): DiscoveryResource => ({
  name: resource,
  singularName: kind.toLowerCase(),
  namespaced,
  kind,
  verbs: ['create'],
});

/** The discovery entries of reviews. */
export const reviewVersions: ComputedVersions = new Map(
  [authentication, authorization].map((group) => [
    `${group}/v1`,
    forms.filter((one) => one.group === group).map(resourceOf),
  ]),
);

export async function answerReview(
  serving: Serving,
  context: RequestContext,
  info: ResourceInfo,
): Promise<void> {
  const asked = forms.find(
    ({ apiVersion, resource }) => apiVersion === info.apiVersion && resource === info.resource,
  );
  if (!asked || info.name !== undefined || info.watchPrefix) throw resourceNotFound();
  if (!asked.namespaced && info.namespace !== undefined) throw resourceNotFound();
  if (context.info.method !== 'POST') throw methodNotAllowed();
  const { registry, createStatus } = serving;
  const request = writeRequest(serving, context, 'CreateOptions');
  const negotiated = { ...context.negotiate(), transform: undefined };
  const input = await objectBody(serving, context, asked.kind);
  const object = readObject(registry.kinds, asked, input, request);
  const namespace = asked.namespaced ? (info.namespace ?? object.metadata.namespace ?? '') : '';
  settleNamespace(asked, object, namespace);
  const status = await asked.review(object, { serving, context, namespace });
  const answer = normalized(asked.model, { ...object, status } as unknown as JsonObject);
  await answerValue(context, createStatus, answer, negotiated);
}

// Authentication

function selfReview(object: ApiObject, { serving, context }: Asked): SelfSubjectReviewStatus {
  object.metadata = { creationTimestamp: serving.registry.now() };
  return { userInfo: userInfo(context.user) };
}

async function tokenReview(object: ApiObject, { serving }: Asked): Promise<TokenReviewStatus> {
  const { token, audiences } = (object as TokenReview).spec ?? {};
  if (!token) throw badRequest('token is required for TokenReview in authentication');
  const { registry, reviewToken } = serving;
  await registry.view.caughtUp();
  const asked = audiences?.length ? audiences : registry.tokens.settings.audiences;
  const verdict = await reviewToken(token, asked);
  if ('error' in verdict) return verdict;
  return { authenticated: true, user: userInfo(verdict.user), audiences: [...verdict.audiences] };
}

/** A user as reviews show it: what is empty is left out. */
function userInfo({ name, uid, groups, extra = {} }: User): NonNullable<TokenReviewStatus['user']> {
  const details = Object.entries(extra).map(([key, values]) => [key, [...values]]);
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length ? { groups: [...groups] } : {}),
    ...(details.length ? { extra: Object.fromEntries(details) } : {}),
  };
}

// Authorization

/** Everything is allowed: users of the local door have all rights, and there is no other door yet. */
const allowed: SubjectAccessReviewStatus = { allowed: true };

function accessReview(object: ApiObject): SubjectAccessReviewStatus {
  const { spec = {} } = object as SubjectAccessReview;
  refuse('SubjectAccessReview', [...attributeErrors(spec), ...subjectErrors(spec), ...metaErrors(object)]);
  return allowed;
}

function selfAccessReview(object: ApiObject): SubjectAccessReviewStatus {
  const { spec = {} } = object as SubjectAccessReview;
  refuse('SelfSubjectAccessReview', [...attributeErrors(spec), ...metaErrors(object)]);
  return allowed;
}

function localAccessReview(object: ApiObject, { namespace }: Asked): SubjectAccessReviewStatus {
  if (!namespace) throw badRequest('namespace is required on this type: ');
  const { spec = {} } = object as LocalSubjectAccessReview;
  const errors = [...attributeErrors(spec), ...subjectErrors(spec), ...metaErrors(object)];
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes && resourceAttributes.namespace !== namespace)
    errors.push(
      invalid(
        'spec.resourceAttributes.namespace',
        resourceAttributes.namespace ?? '',
        'must match metadata.namespace',
      ),
    );
  if (nonResourceAttributes)
    errors.push(
      invalid('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request'),
    );
  refuse('LocalSubjectAccessReview', errors);
  return allowed;
}

function rulesReview(object: ApiObject): SubjectRulesReviewStatus {
  if (!(object as SelfSubjectRulesReview).spec?.namespace) throw badRequest('no namespace on request');
  return {
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  };
}

interface Attributes {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

function attributeErrors({ resourceAttributes, nonResourceAttributes }: Attributes): FieldError[] {
  if (resourceAttributes && nonResourceAttributes)
    return [
      invalid(
        'spec.nonResourceAttributes',
        nonResourceAttributes,
        'cannot be specified in combination with resourceAttributes',
      ),
    ];
  if (!resourceAttributes && !nonResourceAttributes)
    return [
      invalid(
        'spec.resourceAttributes',
        undefined,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    ];
  return [];
}

function subjectErrors({ user, groups }: { user?: string; groups?: string[] }): FieldError[] {
  if (user || groups?.length) return [];
  return [invalid('spec.user', '', 'at least one of user or group must be specified')];
}

/** The metadata of a review must be empty, because a review is not stored. */
function metaErrors({ metadata }: ApiObject): FieldError[] {
  const { namespace, managedFields, ...rest } = metadata;
  if (Object.keys(rest).length === 0) return [];
  return [invalid('metadata', rest, `must be empty${namespace ? ' except for namespace' : ''}`)];
}

function refuse(kind: string, errors: readonly FieldError[]): void {
  if (errors.length) throw invalidObject({ kind, group: authorization }, '', errors);
}
