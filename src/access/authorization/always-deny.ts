/** AlwaysDeny: allows nothing; authorizers beside it may. */
import { type Authorizer, noRules } from '../../api/kind/access.ts';

export const alwaysDeny: Authorizer = {
  decide: () => ({ allowed: false, reason: 'Everything is forbidden.' }),
  rulesFor: () => noRules,
};
