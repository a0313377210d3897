/** AlwaysDeny: nobody may do anything, apart from what other authorizers allow. */
import { type Authorizer, noRules } from '../../api/access.ts';

export const alwaysDeny: Authorizer = {
  decide: () => ({ allowed: false, reason: 'Everything is forbidden.' }),
  rulesFor: () => noRules,
};
