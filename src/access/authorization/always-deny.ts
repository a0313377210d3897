/** AlwaysDeny: allows nothing; other authorizers may still allow a request. */
import { type Authorizer, noRules } from '../../api/kind/access.ts';

export const alwaysDeny: Authorizer = {
  decide: () => ({ allowed: false, reason: 'Everything is forbidden.' }),
  rulesFor: () => noRules,
};
