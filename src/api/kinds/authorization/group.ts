/** The authorization group: reviews that say what a user may do (`server/computed/reviews.ts`). */
import type { Group } from '../../kind/group.ts';

export const group: Group = {
  name: 'authorization.k8s.io',
  priority: 17_600,
  versions: {
    v1: {
      bodies: [
        'LocalSubjectAccessReview',
        'SelfSubjectAccessReview',
        'SelfSubjectRulesReview',
        'SubjectAccessReview',
      ],
    },
  },
};
