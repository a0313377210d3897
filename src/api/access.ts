/** What authorizers decide from and what they answer. */
import type { User } from './user.ts';

/** What is asked for. A request info of the server has these fields, so that nothing is made to ask. */
export interface Action {
  readonly verb: string;
  /** Of what is not about a resource; otherwise it is not looked at. */
  readonly path: string;
  readonly resource: ResourceAction | undefined;
}

export interface ResourceAction {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  /** undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
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
  /** What kept an authorizer from deciding. */
  readonly error?: string;
}

export interface Authorizer {
  decide(attributes: Attributes): Decision | Promise<Decision>;
}

export const allowed: Decision = { allowed: true, reason: '' };

/** For doors whose users may do everything. */
export const allowAll: Authorizer = { decide: () => allowed };
