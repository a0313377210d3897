/** Authorizers: whether a user may do what a request asks for. */

import type { User } from '../../api/user.ts';
import type { RequestInfo } from '../http/requestinfo.ts';

/** The input of a decision. A request context has these fields itself, so no object is allocated per request. */
export interface Attributes {
  readonly user: User;
  readonly info: RequestInfo;
}

export interface Decision {
  readonly allowed: boolean;
  /** The reason, for the audit log and, when denied, for the client. May be ''. */
  readonly reason: string;
}

export interface Authorizer {
  decide(attributes: Attributes): Decision | Promise<Decision>;
}

export const allowed: Decision = { allowed: true, reason: '' };

/** Allows everything. */
export const allowAll: Authorizer = { decide: () => allowed };
