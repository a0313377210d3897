/**
 * Reviews (TokenReview, SubjectAccessReview and others): the body of a POST asks who a user is or what the user may
 * do; the answer is the same object with its status filled in. Nothing is stored.
 */

import { badRequest, methodNotAllowed, resourceNotFound } from '../../api/errors/errors.ts';
import type { SelfSubjectReviewStatus, TokenReview, TokenReviewStatus } from '../../api/generated/types.ts';
import { normalized } from '../../api/model/encode.ts';
import { modelOf } from '../../api/model/model.ts';
import type { ApiObject, JsonObject } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import { type Expected, readObject } from '../../registry/input.ts';
import { settleNamespace } from '../../registry/verbs/create.ts';
import type { ComputedVersions, DiscoveryResource } from '../discovery/discovery.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import { objectBody, type Serving, writeRequest } from '../objects/objects.ts';
import { accessReview, localAccessReview, rulesReview, selfAccessReview } from './access-reviews.ts';

export interface Asked {
  readonly serving: Serving;
  readonly context: RequestContext;
  /** The namespace of the request; '' for cluster-scoped reviews. */
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

/** Versions that earlier minors of Kubernetes had, off by default, with the same objects. */
export const formerReviews: ComputedVersions = new Map(
  ['v1alpha1', 'v1beta1'].map((version) => [
    `${authentication}/${version}`,
    forms.filter(({ kind }) => kind === 'SelfSubjectReview').map(resourceOf),
  ]),
);

/** The form of a review as the clients of this cluster see it. */
function formOf({ kinds }: Serving['registry'], { apiVersion, resource }: ResourceInfo): Form | undefined {
  const group = apiVersion.slice(0, apiVersion.indexOf('/'));
  const found = forms.find((one) => one.group === group && one.resource === resource);
  if (!found || !kinds.minor) return found;
  if (!kinds.serves(apiVersion, resource)) return undefined;
  return { ...found, apiVersion, model: kinds.models.of(found.kind, found.model.file) };
}

export async function answerReview(
  serving: Serving,
  context: RequestContext,
  info: ResourceInfo,
): Promise<void> {
  const asked = formOf(serving.registry, info);
  if (!asked || info.name !== undefined || info.watchPrefix) throw resourceNotFound();
  if (!asked.namespaced && info.namespace !== undefined) throw resourceNotFound();
  if (context.info.method !== 'POST') throw methodNotAllowed();
  const { registry, createStatus } = serving;
  const request = writeRequest(serving, context, 'CreateOptions');
  const negotiated = { ...context.negotiate('all', false, false), transform: undefined };
  const input = await objectBody(serving, context, asked.kind);
  const object = readObject(registry.kinds, asked, input, request);
  const namespace = asked.namespaced ? (info.namespace ?? object.metadata.namespace ?? '') : '';
  checkPlace(asked, object, namespace);
  settleNamespace(asked, object, namespace);
  const status = await asked.review(object, { serving, context, namespace });
  const answer = normalized(asked.model, { ...object, status } as unknown as JsonObject);
  await answerValue(context, createStatus, answer, negotiated, asked.model);
}

function checkPlace({ namespaced }: Form, { metadata }: ApiObject, namespace: string): void {
  if (!namespaced) return;
  if (!namespace) throw badRequest('namespace is required on this type: ');
  if (metadata.namespace && metadata.namespace !== namespace)
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
}

// Who a user is

function selfReview(object: ApiObject, { serving, context }: Asked): SelfSubjectReviewStatus {
  object.metadata = { creationTimestamp: serving.registry.now() };
  return { userInfo: userInfo(context.user) };
}

async function tokenReview(object: ApiObject, { serving }: Asked): Promise<TokenReviewStatus> {
  const { token, audiences } = (object as TokenReview).spec ?? {};
  if (!token) throw badRequest('token is required for TokenReview in authentication');
  const { registry, tokens, reviewToken } = serving;
  await registry.view.caughtUp();
  const asked = audiences?.length ? audiences : tokens.settings.audiences;
  const verdict = await reviewToken(token, asked);
  if ('error' in verdict) return verdict;
  return { authenticated: true, user: userInfo(verdict.user), audiences: [...verdict.audiences] };
}

/** A user as reviews show it, without empty fields. */
function userInfo({ name, uid, groups, extra = {} }: User): NonNullable<TokenReviewStatus['user']> {
  const details = Object.entries(extra).map(([key, values]) => [key, [...values]]);
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length ? { groups: [...groups] } : {}),
    ...(details.length ? { extra: Object.fromEntries(details) } : {}),
  };
}
