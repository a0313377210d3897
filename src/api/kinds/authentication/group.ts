/** The authentication group: reviews that say who a user is (`server/computed/reviews.ts`). */
import type { Group } from '../../kind/group.ts';

export const group: Group = {
  name: 'authentication.k8s.io',
  priority: 17_700,
  versions: { v1: { bodies: ['SelfSubjectReview', 'core-v1:TokenRequest', 'TokenReview'] } },
};
