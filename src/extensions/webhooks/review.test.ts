/**
 * Proves that of a long answer only some warnings and annotations are decoded, also where others would be invalid, and
 * that of a long refusal the beginning is passed on.
 */
import { expect, it } from 'vitest';
import type { AdmissionResponse } from '../../api/generated/types.ts';
import { annotationsMax } from '../calls/hook-client.ts';
import type { Hook } from './hook.ts';
import { refusal, responseOf, warningsMax } from './review.ts';

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

it('passes on the beginning of a refusal without an end', () => {
  const causes = Array.from({ length: 5_000 }, () => ({ message: 'm'.repeat(10_000), field: 'spec' }));
  const status = {
    message: 'x'.repeat(2_000_000),
    reason: 'r'.repeat(2_000_000),
    code: 403,
    details: { causes },
  };
  const refused = refusal({ name: 'a.example' } as Hook, { allowed: false, status } as AdmissionResponse);
  expect(refused.code).toBe(403);
  expect(refused.message).toMatch(/^admission webhook "a.example" denied the request: xxx/);
  expect(JSON.stringify(refused.status).length).toBeLessThan(1_000_000);
  expect(refused.status.details?.causes?.[0]?.field).toBe('spec');
});
