/** Authorizers: whether a user may do what a request asks for. */

import type { User } from '../../api/user.ts';
import type { RequestInfo } from '../http/requestinfo.ts';

/** What a decision is made from: who asks for what. A request itself has these fields, so nothing is made to ask. */
export interface Attributes {
  readonly user: User;
  readonly info: RequestInfo;
}

export interface Decision {
  readonly allowed: boolean;
  /** Why, for the audit log and, when it is not allowed, for the client. May be ''. */
  readonly reason: string;
}

export interface Authorizer {
  decide(attributes: Attributes): Decision | Promise<Decision>;
}

export const allowed: Decision = { allowed: true, reason: '' };

/** For doors whose users may do everything. */
export const allowAll: Authorizer = { decide: () => allowed };
