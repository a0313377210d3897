/** What the tabs of an object's page are given. */
import type { Kind } from '../core/kinds.ts';
import type { ApiObject } from '../core/objects.ts';

export interface TabProps {
  readonly kind: Kind;
  /** The object at the moment that the dashboard shows; it changes as the object does. */
  readonly object: ApiObject;
  /** Whether it can be edited here and now. */
  readonly mayEdit?: boolean;
}
