/** Proves that of a long answer only some warnings and annotations are decoded, also where others would be invalid. */
import { expect, it } from 'vitest';
import type { Hook } from './hook.ts';
import { annotationsMax, responseOf, warningsMax } from './review.ts';

it('takes the first warnings and annotations of an answer', () => {
  const warnings = Array.from({ length: 500 }, (_, i) => (i < warningsMax ? String(i) : i));
  const auditAnnotations = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${i}`, 'v']));
  const answer = {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: 'u', allowed: true, warnings, auditAnnotations },
  };
  const response = responseOf(answer, { reviewVersion: 'v1' } as Hook, 'u', true);
  expect(response.warnings).toHaveLength(warningsMax);
  expect(Object.keys(response.auditAnnotations ?? {})).toHaveLength(annotationsMax);
});
