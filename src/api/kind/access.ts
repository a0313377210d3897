/** The input and the decisions of authorizers. */

import { masters, type User } from '../values/user.ts';
import type { FieldSelector } from './field-selector.ts';
import type { LabelSelector } from './label-selector.ts';

/** The action that a request asks for. */
export interface Action {
  readonly verb: string;
  /** The path of a request that is not about a resource; ignored for all others. */
  readonly path: string;
  readonly resource: ResourceAction | undefined;
}

export interface ResourceAction {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  /** undefined: all namespaces, or a cluster-scoped resource. A namespace is in itself. */
  readonly namespace: string | undefined;
  /** Also the one that the field selector of a list, watch or deletecollection asks for. */
  readonly name: string | undefined;
  /** The field selector of a list, watch or deletecollection; undefined when it was not sent or cannot be parsed. */
  readonly fieldSelector?: FieldSelector | undefined;
  readonly labelSelector?: LabelSelector | undefined;
}

export interface Attributes {
  readonly user: User;
  readonly info: Action;
}

export interface Decision {
  readonly allowed: boolean;
  /** Refused whatever the authorizers after this one say. */
  readonly denied?: boolean;
  /** Why, for the audit log and, when it is not allowed, for the client. May be ''. */
  readonly reason: string;
  /** Why an authorizer could not decide. */
  readonly error?: string;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface PathRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** What a user may do in a namespace, as far as it can be listed. */
export interface UserRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly pathRules: readonly PathRule[];
  /** The user may be allowed more than is listed. */
  readonly incomplete: boolean;
  /** Why an authorizer could not list everything. */
  readonly errors: readonly string[];
}

export interface Authorizer {
  decide(attributes: Attributes): Decision | Promise<Decision>;

  /** The rules for a user in a namespace, and for cluster-scoped resources; absent when they cannot be listed. */
  rulesFor?(user: User, namespace: string): UserRules | Promise<UserRules>;
}

export const allowed: Decision = { allowed: true, reason: '' };

export const noRules: UserRules = { resourceRules: [], pathRules: [], incomplete: false, errors: [] };

/** For doors whose users may do everything. */
export const allowAll: Authorizer = {
  decide: () => allowed,
  rulesFor: () => ({
    ...noRules,
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    pathRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  }),
};

export const isMaster = ({ groups }: User): boolean => groups.includes(masters);
