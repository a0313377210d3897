/** Access reviews: answer what a user may do, by asking the server's authorizer. */

import { badRequest, invalid as invalidObject } from '../../api/errors/errors.ts';
import { type FieldError, invalid } from '../../api/errors/field-error.ts';
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewStatus,
  SubjectRulesReviewStatus,
} from '../../api/generated/types.ts';
import type { Action, ResourceAction } from '../../api/kind/access.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import { ReviewedSelectors, selectorErrors } from './reviewed-selectors.ts';
import type { Asked } from './reviews.ts';

type Spec = NonNullable<SubjectAccessReview['spec']>;
type Status = SubjectAccessReviewStatus;

export function accessReview(object: ApiObject, asked: Asked): Promise<Status> {
  const { spec = {} } = object as SubjectAccessReview;
  refuse([...attributeErrors(spec), ...subjectErrors(spec), ...metaErrors(object)]);
  return statusOf(subjectOf(spec), spec, asked);
}

export function selfAccessReview(object: ApiObject, asked: Asked): Promise<Status> {
  const { spec = {} } = object as SubjectAccessReview;
  refuse([...attributeErrors(spec), ...metaErrors(object)]);
  return statusOf(asked.context.user, spec, asked);
}

export function localAccessReview(object: ApiObject, asked: Asked): Promise<Status> {
  const { spec = {} } = object as LocalSubjectAccessReview;
  const errors = [...attributeErrors(spec), ...subjectErrors(spec), ...metaErrors(object)];
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes && resourceAttributes.namespace !== asked.namespace)
    errors.push(
      invalid(
        'spec.resourceAttributes.namespace',
        resourceAttributes.namespace ?? '',
        'must match metadata.namespace',
      ),
    );
  if (nonResourceAttributes)
    errors.push(pathError(nonResourceAttributes, 'disallowed on this kind of request'));
  refuse(errors);
  return statusOf(subjectOf(spec), spec, asked);
}

export async function rulesReview(
  object: ApiObject,
  { serving, context }: Asked,
): Promise<SubjectRulesReviewStatus> {
  const namespace = (object as SelfSubjectRulesReview).spec?.namespace;
  if (!namespace) throw badRequest('no namespace on request');
  // Kubernetes leaves the spec out of its answer.
  object.spec = {};
  const found = await serving.writing.authorizer.rulesFor?.(context.user, namespace);
  return {
    resourceRules: (found?.resourceRules ?? []) as SubjectRulesReviewStatus['resourceRules'],
    nonResourceRules: (found?.pathRules ?? []) as SubjectRulesReviewStatus['nonResourceRules'],
    incomplete: found?.incomplete ?? true,
    ...(found?.errors.length ? { evaluationError: joined(found.errors) } : {}),
  };
}

const joined = (errors: readonly string[]): string =>
  errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`;

// The question

const subjectOf = ({ user = '', groups = [], uid, extra }: Spec): User => ({
  name: user,
  ...(uid ? { uid } : {}),
  groups,
  ...(extra ? { extra } : {}),
});

async function statusOf(user: User, spec: Spec, { serving }: Asked): Promise<Status> {
  const selectors = new ReviewedSelectors(spec.resourceAttributes);
  const info = actionOf(spec, selectors);
  const { allowed, denied, reason, error } = await serving.writing.authorizer.decide({ user, info });
  const errors = [...selectors.ignored, ...(error === undefined ? [] : [error])];
  return {
    allowed,
    ...(denied ? { denied } : {}),
    ...(reason ? { reason } : {}),
    ...(errors.length ? { evaluationError: errors.join('; ') } : {}),
  };
}

function actionOf({ resourceAttributes, nonResourceAttributes }: Spec, selectors: ReviewedSelectors): Action {
  if (!resourceAttributes) {
    const { verb = '', path = '' } = nonResourceAttributes ?? {};
    return { verb, path, resource: undefined };
  }
  return {
    verb: resourceAttributes.verb ?? '',
    path: '',
    resource: resourceOf(resourceAttributes, selectors),
  };
}

const resourceOf = (given: ResourceAttributes, selectors: ReviewedSelectors): ResourceAction => ({
  group: given.group ?? '',
  version: given.version || '*',
  resource: given.resource ?? '',
  subresource: given.subresource || undefined,
  namespace: given.namespace || undefined,
  name: given.name || undefined,
  fieldSelector: selectors.field,
  labelSelector: selectors.label,
});

// What is wrong with it

function attributeErrors({ resourceAttributes, nonResourceAttributes }: Spec): FieldError[] {
  if (resourceAttributes && nonResourceAttributes)
    return [pathError(nonResourceAttributes, 'cannot be specified in combination with resourceAttributes')];
  if (!resourceAttributes && !nonResourceAttributes)
    return [
      invalid(
        'spec.resourceAttributes',
        undefined,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    ];
  return selectorErrors(resourceAttributes);
}

/** A field error as Kubernetes writes it here: with the capitalised names of Go's fields. */
const pathError = ({ path: Path = '', verb: Verb = '' }: NonResourceAttributes, why: string): FieldError =>
  invalid('spec.nonResourceAttributes', { Path, Verb }, why);

function subjectErrors({ user, groups }: Spec): FieldError[] {
  if (user || groups?.length) return [];
  return [invalid('spec.user', '', 'at least one of user or group must be specified')];
}

/** Refuses metadata: a review is not stored, so it cannot have a name or labels. */
function metaErrors({ metadata }: ApiObject): FieldError[] {
  const { namespace, managedFields, ...rest } = metadata;
  if (Object.keys(rest).length === 0) return [];
  return [invalid('metadata', rest, `must be empty${namespace ? ' except for namespace' : ''}`)];
}

/** Throws the error for an invalid review. Kubernetes leaves the kind empty here. */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length) throw invalidObject({ kind: '', group: 'authorization.k8s.io' }, '', errors);
}
